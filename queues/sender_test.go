package queues

import (
	"context"
	"slices"
	"testing"
	"time"

	"github.com/newsfork/seed-engine/contract"
	"github.com/newsfork/seed-engine/ledger"
)

type taken struct{}

func (taken) Send(context.Context, *contract.Batch) error          { return nil }
func (taken) SendOne(context.Context, []byte, time.Duration) error { return nil }

func TestSender_RecordsDomainsOnce(t *testing.T) {
	c := &Consumer{Domains: taken{}}
	for range 2 { // files
		sender := c.newSender(ledger.Queued{})
		for range 3 { // parts
			var b contract.Batch
			b.Add([]byte(`{"domain":"a.sg","urls":[]}`))
			b.Add([]byte(`{"domain":"b.sg","urls":[]}`))
			if err := sender.Send(t.Context(), &b); err != nil {
				t.Fatal(err)
			}
		}
		if q := sender.unrecorded(); len(q) != 1 || !slices.Equal(q[0].Names, []string{"a.sg", "b.sg"}) {
			t.Errorf("recorded %v", q)
		}
	}
}
