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

const (
	// maxUnrecorded caps the domains of a file that wait for a write to the ledger. A file with fewer costs one write.
	maxUnrecorded = 20_000

	// maxSeen caps the domains of a file that are remembered so as not to be recorded twice. Beyond it recording is
	// only slower.
	maxSeen = 100_000
)

// recordingSender sends the messages of one file and records their domains in the ledger. It is safe for concurrent
// use.
type recordingSender struct {
	queue  processor.Sender // DOMAIN_QUEUE
	ledger Recorder
	log    *slog.Logger

	mu   sync.Mutex
	sent ledger.Queued       // not recorded yet
	seen map[uint64]struct{} // hashes of the domains that were sent
}

// newSender returns a sender for one file. queued holds what its domains have in common.
func (c *Consumer) newSender(queued ledger.Queued) *recordingSender {
	return &recordingSender{queue: c.Domains, ledger: c.Ledger, log: c.Log, sent: queued, seen: map[uint64]struct{}{}}
}

var hashSeed = maphash.MakeSeed()

// Send implements processor.Sender.
func (s *recordingSender) Send(ctx context.Context, b *contract.Batch) error {
	if err := s.queue.Send(ctx, b); err != nil {
		return err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	for message := range b.Messages() {
		s.note(gjson.GetBytes(message, "domain").String())
	}
	if len(s.sent.Names) < maxUnrecorded {
		return nil
	}
	if err := s.ledger.Record(ctx, ledger.Changes{QueuedDomains: []ledger.Queued{s.sent}}); err != nil {
		s.log.Warn("ledger_failed", "error_type", contract.KindOf(err), "error", err.Error(),
			"domains", len(s.sent.Names))
	}
	s.sent.Names = nil
	return nil
}

func (s *recordingSender) note(domain string) {
	hash := maphash.String(hashSeed, domain)
	if _, ok := s.seen[hash]; ok {
		return
	}
	if len(s.seen) < maxSeen {
		s.seen[hash] = struct{}{}
	}
	s.sent.Names = append(s.sent.Names, domain)
}

// unrecorded returns the domains that are sent and not yet in the ledger.
func (s *recordingSender) unrecorded() []ledger.Queued {
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(s.sent.Names) == 0 {
		return nil
	}
	return []ledger.Queued{s.sent}
}
