package shard_test

import (
	"testing"

	"github.com/newsfork/seed-engine/frontier/frontiertest"
	"github.com/newsfork/seed-engine/frontier/shard"
	"github.com/newsfork/seed-engine/frontier/shard/store"
	"github.com/newsfork/seed-engine/frontier/sqlite"
)

func open(t testing.TB) *sqlite.DB {
	t.Helper()
	db, err := sqlite.Open()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := db.Close(); err != nil {
			t.Error(err)
		}
	})
	return db
}

func init() {
	shard.OpenTwin = func(t testing.TB) (store.DB, func(func() error) error) {
		db := open(t)
		return db, db.Transaction
	}
}

func TestConformance(t *testing.T) {
	t.Parallel()
	for _, c := range frontiertest.Cases {
		t.Run(c.Name, func(t *testing.T) { c.Run(t, open(t)) })
	}
}
