package ledger_test

import (
	"fmt"
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
