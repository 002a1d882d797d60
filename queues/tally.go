package queues

import (
	"context"
	"hash/maphash"
	"log/slog"
	"sync"

	"github.com/tidwall/gjson"

	"github.com/newsfork/seed-engine/contract"
	"github.com/newsfork/seed-engine/ledger"
	"github.com/newsfork/seed-engine/processor"
)

// maxTallied is how many domains are noted before they go to the ledger: a file with more of them
// costs one write for each so many, every other file one in all.
const maxTallied = 20_000

// maxKnown is how many domains of a file are remembered so that its later parts do not tell of them
// again. Of further ones the ledger is told with every part, which is only slower.
const maxKnown = 100_000

// Tally is DOMAIN_QUEUE as the processor sees it. It notes which domains were sent, for the ledger.
type Tally struct {
	Queue  processor.Sender
	Ledger Recorder
	Log    *slog.Logger

	mu     sync.Mutex
	queued ledger.Queued       // from the file that is being processed
	known  map[uint64]struct{} // hashes of the domains noted
}

// start begins a file.
func (t *Tally) start(q ledger.Queued) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.queued = q
	t.known = map[uint64]struct{}{}
}

var hashSeed = maphash.MakeSeed()

// Send sends a batch of domain messages.
func (t *Tally) Send(ctx context.Context, b *contract.Batch) error {
	if err := t.Queue.Send(ctx, b); err != nil {
		return err
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	for message := range b.Messages() {
		name := gjson.GetBytes(message, "domain").String()
		hash := maphash.String(hashSeed, name)
		if _, ok := t.known[hash]; ok {
			continue
		}
		if len(t.known) < maxKnown {
			t.known[hash] = struct{}{}
		}
		t.queued.Names = append(t.queued.Names, name)
	}
	if len(t.queued.Names) < maxTallied {
		return nil
	}
	if err := t.Ledger.Record(ctx, ledger.Changes{QueuedDomains: []ledger.Queued{t.queued}}); err != nil {
		t.Log.Warn("ledger_failed", "error_type", contract.KindOf(err), "error", err.Error(), "domains", len(t.queued.Names))
	}
	t.queued.Names = nil
	return nil
}

// rest ends a file, and gives what the ledger was not told yet.
func (t *Tally) rest() []ledger.Queued {
	t.mu.Lock()
	defer t.mu.Unlock()
	if len(t.queued.Names) == 0 {
		return nil
	}
	q := t.queued
	t.queued = ledger.Queued{}
	return []ledger.Queued{q}
}
