package shard_test

import (
	"fmt"
	"os"
	"regexp"
	"strings"
	"testing"

	"github.com/newsfork/seed-engine/contract"
	"github.com/newsfork/seed-engine/frontier"
	"github.com/newsfork/seed-engine/frontier/shard"
	"github.com/newsfork/seed-engine/frontier/shard/store"
)

// damages change the bytes of a row.
var damages = map[string]string{
	"first byte":  "X'FF' || substr(COLUMN, 2)",
	"second byte": "substr(COLUMN, 1, 1) || X'FF' || substr(COLUMN, 3)",
	"middle": "substr(COLUMN, 1, length(COLUMN) / 2) || X'FFFFFFFFFFFFFFFFFF'" +
		" || substr(COLUMN, length(COLUMN) / 2 + 10)",
	"last byte": "substr(COLUMN, 1, length(COLUMN) - 1) || X'FF'",
	"cut off":   "substr(COLUMN, 1, length(COLUMN) / 2)",
	"empty":     "X''",
}

// tolerated matches the inconsistencies that damage may leave: wrong counts, pages that are not remembered, and a host
// whose pointer was damaged but still looks like one.
var tolerated = regexp.MustCompile(`counted|counts|is remembered as \{0 false false false 0 0\}|counts as waiting|` +
	`not sorted|a place and no pointer`)

// feedBlock is a block of the feed before those of storeShard, of which the shard's state has the only one.
func feedBlock(t *testing.T) string {
	t.Helper()
	text, err := os.ReadFile("testdata/stored-4.sql")
	if err != nil {
		t.Fatal(err)
	}
	block := regexp.MustCompile(`(?m)^(INSERT INTO feed .* VALUES \()\d+(, .*\n)`)
	found := block.FindString(string(text))
	if found == "" {
		t.Fatal("stored-4.sql has no feed")
	}
	return block.ReplaceAllString(found, "${1}1000${2}")
}

// One damaged row must not stop its shard: whatever the row, all operations go on.
func TestDamage_EveryRow(t *testing.T) {
	needsNoRace(t)
	t.Parallel()
	text := storeShard(t) + feedBlock(t)
	for _, table := range storedTables {
		column := table.columns[len(table.columns)-1]
		var keys []int64
		w := newWorld(t)
		w.load(text)
		each := func(r *store.Rows) { keys = append(keys, r.Int()) }
		if err := w.db.Query("SELECT "+table.columns[0]+" FROM "+table.name, each); err != nil {
			t.Fatal(err)
		}
		if len(keys) == 0 {
			t.Errorf("the table %s is empty", table.name)
		}
		for _, key := range keys {
			for name, damage := range damages {
				t.Run(fmt.Sprintf("%s/%d/%s", table.name, key, name), func(t *testing.T) {
					w := newWorld(t)
					w.shard.PerMinute = 60
					w.load(text)
					w.do(func() error {
						_, err := w.db.Run(fmt.Sprintf("UPDATE %s SET %s = CAST(%s AS BLOB) WHERE %s = %d", table.name,
							column, strings.ReplaceAll(damage, "COLUMN", column), table.columns[0], key))
						return err
					})
					w.now += 60_000
					w.everything()
					for range 2 {
						w.now += 7_200_000
						w.everything()
					}
					w.auditDamaged()
				})
			}
		}
	}
}

// everything runs all operations. None may fail.
func (w *world) everything() {
	w.Helper()
	s := &w.shard
	must := func(what string, f func() error) {
		w.Helper()
		if err := w.db.Transaction(f); err != nil {
			w.Errorf("%s: %v", what, err)
		}
	}
	must("tick", func() error { _, err := s.Tick(w.now, shard.TickRequest{Shard: "shard-0"}); return err })
	var leases []frontier.Lease
	for _, r := range []frontier.LeaseRequest{{Max: 5, PerHost: 3}, {Max: 5, Types: []string{"policy"}},
		{Max: 5, Country: "kr"}, {Max: 5, Kinds: []string{frontier.KindEntry}}} {
		must("lease", func() error {
			r.Seconds = 60
			l, err := s.Lease(w.now, r)
			leases = append(leases, l)
			return err
		})
	}
	for _, l := range leases {
		r := frontier.Report{Lease: l.ID}
		for _, item := range l.Items {
			r.Results = append(r.Results, frontier.Result{ID: item.ID, Status: 200})
		}
		if len(l.Items) > 0 {
			must("report", func() error { _, err := s.Report(w.now, r); return err })
		}
	}
	for _, domain := range []string{"a.example", "b.example", "c.example"} {
		must("put", func() error {
			pages := articles(domain, int(w.now.Seconds()%1e6), 60)
			_, err := s.Put(w.now, frontier.Put{Domain: domain, Partition: partition, Pages: pages})
			return err
		})
		must("refresh", func() error {
			r := frontier.RefreshRequest{Domain: domain, URL: "https://" + domain + "/feed", Owner: "refresh"}
			several := frontier.RefreshRequests{Refreshes: []frontier.RefreshRequest{r}}
			if g, err := s.BeginRefreshes(w.now, several); err != nil || !g.Grants[0].Granted {
				return err
			}
			end := frontier.RefreshResult{Domain: r.Domain, URL: r.URL, Owner: r.Owner, Status: 304}
			_, err := s.EndRefresh(w.now, end)
			return err
		})
		must("acquire", func() error {
			_, err := s.Acquire(w.now, frontier.AcquireRequest{Domain: domain, Owner: "other", Seconds: 60,
				Hosts: []string{domain}, Unless: &partition})
			return err
		})
		must("release", func() error {
			change := frontier.Change{Partition: partition, Revision: int(w.now.Seconds()), ChangedAt: w.now}
			_, err := s.Release(w.now, frontier.ReleaseRequest{Domain: domain, Owner: "other",
				Changes: []frontier.Change{change}})
			return err
		})
		must("entries", func() error { _, err := s.Entries(w.now, domain); return err })
		must("pages", func() error {
			_, err := s.Pages(w.now, frontier.PagesRequest{Domain: domain, At: w.now.Seconds()})
			return err
		})
		must("url", func() error { _, err := s.URL(w.now, "https://"+domain+"/news/x"); return err })
		must("mirror", func() error {
			_, err := s.Mirror(w.now, frontier.MirrorRequest{Domain: domain, Digest: strings.Repeat("0f", 32)})
			return err
		})
		must("set_host", func() error {
			delay := int64(2000)
			_, err := s.SetHost(w.now, domain, frontier.HostChange{Delay: &delay})
			return err
		})
	}
	excluded := frontier.Exclusion{Kind: "domain", Value: "b.example"}
	must("exclude", func() error { return s.Exclude(w.now, excluded, true) })
	must("allow", func() error { return s.Exclude(w.now, excluded, false) })
	must("feed", func() error { _, err := s.Feed(w.now, frontier.FeedRequest{Limit: 10}); return err })
	must("changes", func() error { _, err := s.Changes(w.now, frontier.ChangesRequest{Limit: 10}); return err })
	must("hosts", func() error { _, err := s.Hosts(w.now, frontier.HostsRequest{Limit: 10}); return err })
	must("stats", func() error { _, err := s.Stats(w.now); return err })
	must("export", func() error {
		for from := int64(0); ; {
			page, err := s.Export(w.now, from)
			if from = page.Next; err != nil || from == 0 {
				return err
			}
		}
	})
	must("stored", func() error { return s.Stored(w.now, frontier.StoredRequest{Date: "2026-01-28"}) })
}

// auditDamaged checks the rows of a shard of which some were damaged.
func (w *world) auditDamaged() {
	w.Helper()
	for _, err := range store.Audit(w.db, w.db.Transaction) {
		if !tolerated.MatchString(err.Error()) {
			w.Error(err)
		}
	}
}

// stored4 fills an empty shard with one of version 4, whose tables are as that version left them.
func (w *world) stored4() {
	w.Helper()
	text, err := os.ReadFile("testdata/stored-4.sql")
	if err != nil {
		w.Fatal(err)
	}
	w.load(string(text))
	w.run("ALTER TABLE state DROP COLUMN feed")
}

// TestDamage_CountersBefore5: a shard of an earlier version whose row of counters is damaged gets the tables of this
// version.
func TestDamage_CountersBefore5(t *testing.T) {
	w := newWorld(t)
	w.shard.PerMinute = 60
	w.stored4()
	w.run("UPDATE state SET data = X'FF' WHERE key = 0")
	for range 2 {
		w.now += 60_000
		w.everything()
	}
	w.auditDamaged()
}

// TestDamage_LastOfFeed: what cannot be read of the last block of the feed is lost, and the feed goes on with larger
// numbers.
func TestDamage_LastOfFeed(t *testing.T) {
	for name, damage := range damages {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t)
			put := func(n int) int64 {
				w.put("a.example", []frontier.NewPage{{URL: fmt.Sprintf("https://a.example/%d", n), Fresh: true}})
				page, err := frontier.FeedPage{}, error(nil)
				w.do(func() error { page, err = w.shard.Feed(w.now, frontier.FeedRequest{Limit: 10}); return err })
				lost := n == 3 && name == "last byte" // with the item before it, which cannot be read
				if !lost && (len(page.Items) == 0 ||
					!strings.HasSuffix(page.Items[len(page.Items)-1].URL, fmt.Sprint("/", n))) {
					t.Fatalf("after page %d the feed has %+v", n, page.Items)
				}
				return page.Next
			}
			put(1)
			last := put(2)
			w.now += 1000
			w.run("UPDATE state SET feed = CAST(" + strings.ReplaceAll(damage, "COLUMN", "feed") +
				" AS BLOB) WHERE key = 0")
			if next := put(3); next <= last && name != "last byte" {
				t.Errorf("number %d follows %d", next, last)
			}
			rows := w.quarantined()
			if damaged := name == "middle" || name == "last byte" || name == "cut off"; damaged && len(rows) != 1 ||
				len(rows) == 1 && rows[0].Table != "feed" {
				t.Errorf("the quarantine has %+v", rows)
			}
			w.now += 3_600_000
			put(4)
		})
	}
}

// TestDamage_FeedBefore5: the last block that an earlier version has written of the feed goes to the quarantine if the
// first page that is announced finds it damaged.
func TestDamage_FeedBefore5(t *testing.T) {
	w := newWorld(t)
	w.stored4()
	w.run("UPDATE feed SET data = CAST(data || X'FF' AS BLOB)")
	w.now += 60_000
	w.put("a.example", []frontier.NewPage{{URL: "https://a.example/fresh", Fresh: true}})
	if rows := w.quarantined(); len(rows) != 1 || rows[0].Table != "feed" {
		t.Errorf("the quarantine has %+v", rows)
	}
	if n := w.count("SELECT count(*) FROM feed"); n != 0 {
		t.Errorf("%d blocks are left", n)
	}
}

// An operator sees damaged rows, restores those that can be read after all, and drops the others.
func TestDamage_RestoreAndDrop(t *testing.T) {
	text := storeShard(t) + feedBlock(t)
	for _, table := range []string{"hosts", "domains", "parts", "mirrors", "feed", "changes"} {
		t.Run(table, func(t *testing.T) {
			w := newWorld(t)
			w.shard.PerMinute = 60
			w.load(text)
			w.expire()
			column, id := "data", "key"
			if table == "hosts" || table == "domains" {
				column, id = "record", "id"
			}
			var key int64
			var whole []byte
			longest := fmt.Sprintf("SELECT %s, %s FROM %s ORDER BY length(%s) DESC LIMIT 1", id, column, table, column)
			if err := w.db.Query(longest, func(r *store.Rows) { key, whole = r.Int(), r.Blob() }); err != nil {
				t.Fatal(err)
			}
			w.do(func() error {
				_, err := w.db.Run(fmt.Sprintf("UPDATE %s SET %s = X'FFFF' WHERE %s = ?1", table, column, id), key)
				return err
			})
			before := w.stats()
			w.touch(table)
			rows := w.quarantined()
			if len(rows) != 1 || rows[0].Table != table || rows[0].Key != key || rows[0].At != w.now ||
				rows[0].Bytes == 0 || w.stats().Quarantined != 1 {
				t.Fatalf("the quarantine has %+v", rows)
			}
			restore := func() (found bool, err error) {
				err = w.db.Transaction(func() error {
					found, err = w.shard.RestoreRow(w.now, frontier.QuarantinedID{ID: rows[0].ID})
					return err
				})
				return found, err
			}
			if _, err := restore(); contract.KindOf(err) != contract.Validation {
				t.Errorf("restored as it was damaged: %v", err)
			}
			w.do(func() error { // as if this version had misread it
				if table == "parts" {
					_, err := w.db.Run("UPDATE quarantine SET data = substr(data, 1, length(data) - 2) || ?1", whole)
					return err
				}
				_, err := w.db.Run("UPDATE quarantine SET data = ?1 WHERE owner = 0", whole)
				return err
			})
			if found, err := restore(); !found || err != nil {
				t.Errorf("restored: %v, %v", found, err)
			}
			after := w.stats()
			if after.URLs != before.URLs || after.Quarantined != 0 || len(w.quarantined()) != 0 {
				t.Errorf("after the restore %+v, before %+v", after, before)
			}
			w.auditDamaged()
			if found, err := restore(); found || err != nil {
				t.Errorf("restored again: %v, %v", found, err)
			}
		})
	}
	w := newWorld(t)
	w.load(text)
	w.expire()
	w.do(func() error { _, err := w.db.Run("UPDATE hosts SET record = X''"); return err })
	w.touch("hosts")
	rows := w.quarantined()
	if len(rows) != 4 {
		t.Fatalf("%d rows", len(rows))
	}
	for _, row := range rows {
		w.do(func() error {
			found, err := w.shard.DropRow(w.now, frontier.QuarantinedID{ID: row.ID})
			if !found {
				t.Error("the row was not found")
			}
			return err
		})
	}
	if n := w.stats().Quarantined; n != 0 || len(w.quarantined()) != 0 {
		t.Errorf("%d rows", n)
	}
	if err := w.db.Query("SELECT count(*) FROM quarantine", func(r *store.Rows) {
		if n := r.Int(); n != 0 {
			t.Errorf("%d rows are left", n)
		}
	}); err != nil {
		t.Fatal(err)
	}
}

// expire ends the stored lease, after which the rows of its hosts count.
func (w *world) expire() {
	w.Helper()
	w.now += 601_000
	w.do(func() error {
		_, err := w.shard.Tick(w.now, shard.TickRequest{Shard: "shard-0", Paused: true})
		return err
	})
}

// touch reads a table.
func (w *world) touch(table string) {
	w.Helper()
	w.do(func() (err error) {
		switch table {
		case "parts":
			_, err = w.shard.Pages(w.now, frontier.PagesRequest{Domain: "a.example", At: w.now.Seconds()})
		case "mirrors":
			digest := "0f0f" + strings.Repeat("ab", 30) // of the same row
			_, err = w.shard.Mirror(w.now, frontier.MirrorRequest{Domain: "x.example", Digest: digest})
			if err == nil { // it took the place
				_, err = w.db.Run("DELETE FROM mirrors")
			}
		case "feed":
			_, err = w.shard.Feed(w.now, frontier.FeedRequest{Limit: 10})
		case "changes":
			_, err = w.shard.Changes(w.now, frontier.ChangesRequest{Limit: 10})
		default:
			_, err = w.shard.Hosts(w.now, frontier.HostsRequest{Limit: 10})
		}
		return err
	})
}

func (w *world) quarantined() (rows []frontier.QuarantinedRow) {
	w.Helper()
	w.do(func() error {
		page, err := w.shard.Quarantine(w.now, frontier.QuarantineRequest{Limit: 100})
		rows = page.Rows
		return err
	})
	return rows
}

// TestDamage_KeepsDelays: a host whose row is damaged keeps the delays that can still be read, so nobody asks it
// too often.
func TestDamage_KeepsDelays(t *testing.T) {
	w := newWorld(t)
	w.put("a.example", articles("a.example", 0, 1))
	delay := int64(3_600_000)
	w.do(func() error {
		_, err := w.shard.SetHost(w.now, "a.example", frontier.HostChange{Delay: &delay})
		return err
	})
	w.do(func() error {
		_, err := w.db.Run("UPDATE hosts SET record = substr(record, 1, length(record) - 4)")
		return err
	})
	w.do(func() error {
		page, err := w.shard.Hosts(w.now, frontier.HostsRequest{Limit: 1})
		if err == nil && (len(page.Hosts) != 1 || page.Hosts[0].Delay != delay) {
			t.Errorf("%+v", page.Hosts)
		}
		return err
	})
}
