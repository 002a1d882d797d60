package queues

import (
	"context"
	"slices"
	"testing"

	"github.com/newsfork/seed-engine/contract"
	"github.com/newsfork/seed-engine/ledger"
)

type taken struct{}

func (taken) Send(context.Context, *contract.Batch) error { return nil }

func TestADomainOfSeveralPartsIsToldOnce(t *testing.T) {
	tally := &Tally{Queue: taken{}}
	for range 2 { // files
		tally.start(ledger.Queued{})
		for range 3 { // parts
			var b contract.Batch
			b.Add([]byte(`{"domain":"a.sg","urls":[]}`))
			b.Add([]byte(`{"domain":"b.sg","urls":[]}`))
			if err := tally.Send(t.Context(), &b); err != nil {
				t.Fatal(err)
			}
		}
		if q := tally.rest(); len(q) != 1 || !slices.Equal(q[0].Names, []string{"a.sg", "b.sg"}) {
			t.Errorf("told %v", q)
		}
	}
}
