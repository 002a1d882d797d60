//go:build js && wasm

// Command fill is a Worker that stores a corpus of articles and fills the cache, for the bench.
package main

import (
	"fmt"
	"net/http"
	"strconv"
	"time"

	"github.com/newsfork/seed-engine/bindings"
	"github.com/newsfork/seed-engine/info/cache"
	"github.com/newsfork/seed-engine/info/infotest"
	"github.com/newsfork/seed-engine/info/store"
	"github.com/newsfork/seed-engine/worker"
)

func main() { worker.Run(http.HandlerFunc(fill), nil, nil) }

func fill(w http.ResponseWriter, r *http.Request) {
	worker.ExtendDeadline(10 * time.Minute)
	n, err := strconv.Atoi(r.URL.Query().Get("articles"))
	if err != nil {
		panic(err)
	}
	s, now := store.NewD1(bindings.NewDatabase("INFO_DB")), time.Now()
	var list []store.New
	for a := range infotest.Corpus(n, now) {
		list = append(list, store.New{Article: a})
	}
	saved, err := s.Upsert(r.Context(), list, now)
	if err != nil {
		panic(err)
	}
	if _, err := cache.FillNow(r.Context(), cache.NewKV(bindings.NewNamespace("INFO_CACHE")), s, "bench", now); err != nil {
		panic(err)
	}
	fmt.Fprintf(w, `{"inserted":%d}`, saved.Inserted)
}
