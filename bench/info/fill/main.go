//go:build js && wasm

// Command fill is a Worker that stores a part of a corpus of articles, and fills the cache with the last one, for the
// bench.
package main

import (
	"encoding/json"
	"iter"
	"net/http"
	"strconv"
	"time"

	"github.com/newsfork/seed-engine/bindings"
	"github.com/newsfork/seed-engine/epoch"
	"github.com/newsfork/seed-engine/info"
	"github.com/newsfork/seed-engine/info/cache"
	"github.com/newsfork/seed-engine/info/infotest"
	"github.com/newsfork/seed-engine/info/store"
	"github.com/newsfork/seed-engine/worker"
)

func main() { worker.Run(http.HandlerFunc(fill), nil, nil) }

func fill(w http.ResponseWriter, r *http.Request) {
	worker.ExtendDeadline(10 * time.Minute)
	number := func(name string) int {
		n, err := strconv.Atoi(r.URL.Query().Get(name))
		if err != nil {
			panic(err)
		}
		return n
	}
	n, first, last, newest := number("articles"), number("first"), number("last"),
		time.UnixMilli(int64(number("newest")))
	s, inserted := store.NewD1(bindings.NewDatabase("INFO_DB")), 0
	for piece := range chunks(infotest.Part(n, first, last, newest), 500) {
		saved, err := s.Upsert(r.Context(), piece)
		if err != nil {
			panic(err)
		}
		inserted += saved.Inserted
	}
	if last == n {
		if _, err := cache.FillNow(r.Context(), cache.NewKV(bindings.NewNamespace("INFO_CACHE")), s, "bench",
			time.Now()); err != nil {
			panic(err)
		}
	}
	answer := map[string]any{
		"inserted": inserted,
		"deep":     info.Cursor{At: epoch.MillisOf(infotest.Deep(n, newest))}.String(),
		"searches": infotest.Searches,
	}
	if err := json.NewEncoder(w).Encode(answer); err != nil {
		panic(err)
	}
}

func chunks(articles iter.Seq[info.Article], size int) iter.Seq[[]store.New] {
	return func(yield func([]store.New) bool) {
		var list []store.New
		for a := range articles {
			if list = append(list, store.New{Article: a}); len(list) == size {
				if !yield(list) {
					return
				}
				list = nil
			}
		}
		if len(list) > 0 {
			yield(list)
		}
	}
}
