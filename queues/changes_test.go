package queues_test

import (
	"errors"
	"testing"
	"time"

	"github.com/newsfork/seed-engine/contract"
	"github.com/newsfork/seed-engine/frontier"
	"github.com/newsfork/seed-engine/ledger"
)

// Releasing the lease also announces the contracts that were written. If the release fails, the message is requeued
// without using up an attempt.
func TestLease_ReleaseReportsChanges(t *testing.T) {
	p := contract.Partition{Country: "sg", Category: "news", Date: "2026-01-28"}
	for name, away := range map[string]bool{"released": false, "release fails": true} {
		t.Run(name, func(t *testing.T) {
			f := newFixture(t)
			f.steps.collect = func(*contract.DomainMessage, bool) error { return nil }
			f.steps.document = func(*contract.DomainMessage) *contract.Document {
				return &contract.Document{Reachable: true, CollectedAt: contract.Time{Time: time.Now()}}
			}
			f.steps.changes = []frontier.Change{{Partition: p, Revision: 3, ChangedAt: 1, Reachable: true}}
			f.shards.fail = func(operation string) error {
				if away && operation == "release" {
					return errors.New("as the test wants it")
				}
				return nil
			}
			m := &message{id: "1", body: domainBody("a.sg"), attempts: 1}
			f.handle(t, domainQueue, m)
			page, err := f.shards.remotes().Shard(0).Changes(t.Context(), frontier.ChangesRequest{Limit: 10})
			if err != nil || m.settled != "ack" || len(f.steps.begun) != 1 {
				t.Fatal(err, m.settled, f.steps.begun)
			}
			sent, n := len(f.domains.Sent()), processed(t, f)
			if away {
				if len(page.Items) != 0 || sent != 1 || n != 0 {
					t.Errorf("%+v, sent %d times, %d rows", page.Items, sent, n)
				}
				return
			}
			if len(page.Items) != 1 || page.Items[0].Revision != 3 || sent != 0 || n != 1 {
				t.Errorf("%+v, sent %d times, %d rows", page.Items, sent, n)
			}
			if c := f.shards.calls; c["acquire"] != 1 || c["release"] != 1 || c["changed"] != 0 {
				t.Errorf("calls %v", c)
			}
		})
	}
}

// processed returns the number of processed domains in the ledger.
func processed(t *testing.T, f *fixture) int64 {
	t.Helper()
	s, err := ledger.New(f.db).Status(t.Context(), ledger.StatusQuery{Now: time.Now()})
	if err != nil {
		t.Fatal(err)
	}
	return s.Processing.DomainsProcessed
}
