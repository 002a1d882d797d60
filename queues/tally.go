package queues

import (
	"bytes"
	"context"
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

// Tally is DOMAIN_QUEUE as the processor sees it. It notes which domains were sent, for the ledger.
type Tally struct {
	Queue  processor.Sender
	Ledger Ledger
	Log    *slog.Logger

	mu     sync.Mutex
	queued ledger.Queued // from the file that is being processed
}

// start begins a file.
func (t *Tally) start(q ledger.Queued) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.queued = q
}

// Send sends a batch of domain messages.
func (t *Tally) Send(ctx context.Context, b *contract.Batch) error {
	if err := t.Queue.Send(ctx, b); err != nil {
		return err
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	for line := range bytes.SplitSeq(b.Bytes(), []byte("\n")) {
		t.queued.Names = append(t.queued.Names, gjson.GetBytes(line, "domain").String())
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
