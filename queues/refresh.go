package queues

import (
	"context"
	"math/rand/v2"
	"time"

	"github.com/newsfork/seed-engine/contract"
	"github.com/newsfork/seed-engine/frontier"
	"github.com/newsfork/seed-engine/ledger"
)

// maxRefreshWait ends the requeuing of a refresh whose host is busy. By then the frontier has sent it again.
const maxRefreshWait = 10 * time.Minute

// isRefresh reports whether a message requests a refresh. It needs no retries: the frontier sends it again.
func isRefresh(queue string, m Message) bool {
	_, ok, err := contract.ParseRefresh(m.Body())
	return ok && err == nil && contract.QueueRole(queue) == contract.DomainQueue
}

// refreshDelivery is a delivery of a message that requests a refresh.
type refreshDelivery struct {
	Message
	work *contract.Refresh
}

// refresh refreshes one entry point. It acknowledges the message in any case: the frontier sends a refresh again that
// did not finish.
func (e *domainEvent) refresh(ctx context.Context, d refreshDelivery) {
	c := e.consumer
	if e.exclusions.Domain(d.work.Domain) || d.work.Method != frontier.MethodRefill && e.exclusions.URL(d.work.URL) {
		d.Ack()
		return
	}
	err := recovered(func() error {
		done, err := e.batch.Refresh(ctx, d.work)
		for _, doc := range done.Rewritten {
			e.settlement.record(func(l *ledger.Changes) {
				l.Domains = append(l.Domains, ledger.DomainChange{
					Partition: doc.Processing.Partition, Domain: doc.Domain, Revision: doc.Revision,
					ChangedAt: doc.Processing.ProcessedAt.Time,
				})
			})
		}
		switch {
		case err != nil:
			return err
		case done.Collect != nil:
			return c.Domains.SendOne(ctx, contract.Encode(done.Collect), 0)
		case done.Again > 0 && c.Now().Sub(d.work.QueuedAt.Time()) < maxRefreshWait:
			return c.Domains.SendOne(ctx, contract.AsJSON(d.Body()), done.Again+rand.N(time.Second))
		}
		return nil
	})
	if err != nil {
		c.logFailure("refresh_failed", d, err, "registrable_domain", d.work.Domain, "url", d.work.URL)
	}
	d.Ack()
}
