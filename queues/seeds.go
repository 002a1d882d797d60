package queues

import (
	"context"

	"github.com/newsfork/seed-engine/contract"
	"github.com/newsfork/seed-engine/ledger"
	"github.com/newsfork/seed-engine/processor"
)

// handleSeeds works through a batch of SEED_QUEUE, one message after the other.
func (c *Consumer) handleSeeds(ctx context.Context, queue string, messages []Message) {
	s := c.newSettlement(queue)
	for _, m := range messages {
		start := c.Now()
		s.end(m, start, c.seed(ctx, s, m))
	}
	s.settle(ctx)
}

// seed continues an orchestration or processes a raw file.
func (c *Consumer) seed(ctx context.Context, s *settlement, m Message) error {
	work, err := contract.ParseSeed(m.Body())
	if err == nil {
		err = recovered(func() error {
			switch {
			case work.Continue != nil:
				_, err := c.Orchestrator.Run(ctx, *work.Continue)
				return err
			case work.File != nil:
				return c.file(ctx, s, m, work.File)
			}
			return nil // an event about another object
		})
	}
	switch {
	case err == nil:
	case work.File != nil:
		c.logFailure("file_processing_failed", m, err, "file_path", work.File.FilePath)
	default:
		c.logFailure("seed_message_failed", m, err)
	}
	return err
}

// file processes a raw file, and records the result and the domains that were sent.
func (c *Consumer) file(ctx context.Context, s *settlement, m Message, work *contract.SeedMessage) error {
	raw := work.RawFile()
	if work.Force && work.RequestedAt.IsZero() {
		work.RequestedAt = m.Sent()
	}
	required := requiredSince(work.Force, work.RequestedAt)
	sender := c.newSender(ledger.Queued{Partition: work.Partition, At: c.Now(), RequiredSince: required})
	change := ledger.FileChange{RawFile: raw, Queued: m.Sent()}
	var result processor.Result
	defer func() { // also after a panic: some domains may have been sent
		s.record(func(l *ledger.Changes) {
			l.QueuedDomains = append(l.QueuedDomains, sender.unrecorded()...)
			switch {
			case result.Deleted: // there is nothing to record
			case result.Skipped:
				l.FoundFiles = append(l.FoundFiles, change)
			default:
				l.Files = append(l.Files, change)
			}
		})
	}()
	var err error
	if result, err = c.Processor.Process(ctx, work, sender); err != nil {
		return err
	}
	if result.Discarded {
		change.Discarded = c.Now()
		return nil
	}
	change.Records = result.Records()
	change.Processed, change.SatisfiedUpTo, change.Duration = c.Now(), required, result.Duration
	return nil
}
