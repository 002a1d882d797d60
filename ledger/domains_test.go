package ledger_test

import (
	"cmp"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/newsfork/seed-engine/contract"
	"github.com/newsfork/seed-engine/ledger"
)

// Concurrent events never lose a count.
func TestCounts_Concurrency(t *testing.T) {
	db := open(t)
	l := ledger.New(db)
	var wg sync.WaitGroup
	for worker := range 8 {
		wg.Go(func() {
			for i := range 30 {
				d := ledger.DomainChange{Partition: place, Domain: fmt.Sprintf("d%d.sg", (worker+i)%20), Queued: noon}
				switch (worker * i) % 3 {
				case 1:
					d.Outcome = &contract.Outcome{CollectedAt: noon.Add(time.Duration(worker*i) * time.Second),
						Reachable: i%2 == 0, Robots: true, Duration: time.Duration(i) * time.Millisecond}
				case 2:
					d.GaveUp = noon.Add(time.Duration(i) * time.Second)
				}
				if err := l.Record(ctx, ledger.Changes{Domains: []ledger.DomainChange{d}}); err != nil {
					t.Error(err)
				}
			}
		})
	}
	wg.Wait()
	kept := rows(t, db, `SELECT domains_processed, domains_failed, domains_pending, robots_found,
domains_duration_ms FROM partitions`)
	counted := rows(t, db, `SELECT sum(state = 'processed') AS domains_processed,
sum(state = 'failed') AS domains_failed, sum(state = 'pending') AS domains_pending,
  sum(iif(state = 'processed', robots, 0)) AS robots_found, sum(iif(state = 'processed', duration_ms,
0)) AS domains_duration_ms FROM domains`)
	if fmt.Sprint(kept) != fmt.Sprint(counted) {
		t.Errorf("kept %v, counted %v", kept, counted)
	}
	if kept[0]["domains_processed"].(float64) == 0 || kept[0]["domains_failed"].(float64) == 0 {
		t.Errorf("the test is of no use: %v", kept)
	}
}

// A page of the slowest domains reads only those that took slowMS, unless they do not fill it.
func TestDomains_Slowest(t *testing.T) {
	const limit = 20
	for _, c := range []struct {
		slow  int64
		reads bool // the others
	}{{limit + 1, false}, {500, false}, {limit, true}, {0, true}} {
		work := func(domains int64) int {
			db := open(t)
			rows(t, db, `INSERT INTO partitions (country, category, date) VALUES ('sg', 'news', '2026-01-28')`)
			rows(t, db, `WITH RECURSIVE n(i) AS (SELECT 0 UNION ALL SELECT i + 1 FROM n WHERE i + 1 < ?1)
INSERT INTO domains (partition, domain, queued_at, needed_at, collected_at, met_at, gave_up_at, excluded_at,
reachable, robots, sitemap, duration_ms)
SELECT 1, 'd' || i || '.sg', 1, 0, 2, 2, 0, 0, 1, 1, 1, iif(i < ?2, 5000 + i, i % 5000) FROM n`, domains, c.slow)
			began := db.Steps()
			page, err := ledger.New(db).Domains(ctx, ledger.DomainQuery{SlowestFirst: true, Limit: limit})
			must(t, err)
			if len(page.Domains) != limit || *page.Domains[0].DurationMS < c.slow {
				t.Errorf("%d of %d slow: %+v", c.slow, domains, page)
			}
			return db.Steps() - began
		}
		if few, many := work(1000), work(8000); many > few+few/10 != c.reads {
			t.Errorf("%d slow: %d steps among 1,000 domains, %d among 8,000", c.slow, few, many)
		}
	}
}

// An event changes the rows of its domains, one of their partition and one of the minute. An index would write more.
func TestRecord_RowsOfAnEvent(t *testing.T) {
	db := &recorder{DB: open(t)}
	l := ledger.New(db)
	var c ledger.Changes
	q := ledger.Queued{Partition: place, At: noon}
	for i := range 5 {
		q.Names = append(q.Names, fmt.Sprintf("d%d.sg", i))
		c.Domains = append(c.Domains, ledger.DomainChange{Partition: place, Domain: q.Names[i],
			Outcome: &contract.Outcome{CollectedAt: noon.Add(time.Duration(i) * time.Second), Reachable: true,
				Robots: true, Sitemap: true, Duration: time.Second}})
	}
	must(t, l.Record(ctx, ledger.Changes{QueuedDomains: []ledger.Queued{q}}))
	for _, want := range []int64{5 + 2, 5} { // recorded again, nothing is counted
		db.changes = 0
		must(t, l.Record(ctx, c))
		if db.changes != want {
			t.Errorf("%d rows, want %d", db.changes, want)
		}
	}
	for _, row := range rows(t, db, `SELECT sql FROM sqlite_schema WHERE type = 'index' AND tbl_name = 'domains'
AND sql IS NOT NULL`) {
		_, condition, _ := strings.Cut(strings.ReplaceAll(row["sql"].(string), "\n", " "), " WHERE ")
		found := rows(t, db, `SELECT count(*) AS n FROM domains WHERE `+cmp.Or(condition, "true"))
		if found[0]["n"].(float64) > 0 {
			t.Errorf("a domain with robots.txt and a sitemap has a row in an index: %s", row["sql"])
		}
	}
}
