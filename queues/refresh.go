package queues

import (
	"context"
	"math/rand/v2"
	"sync"
	"time"

	"github.com/newsfork/seed-engine/contract"
	"github.com/newsfork/seed-engine/frontier"
	"github.com/newsfork/seed-engine/ledger"
)

// maxRefreshWait ends the requeuing of a refresh whose host is busy. By then the frontier has sent it again.
const maxRefreshWait = 10 * time.Minute

// isRefresh reports whether a message requests refreshes. It needs no retries: the frontier sends them again.
func isRefresh(queue string, m Message) bool {
	_, ok, err := contract.ParseRefreshes(m.Body())
	return ok && err == nil && contract.QueueRole(queue) == contract.DomainQueue
}

// refreshesAtOnce is the number of refreshes that one event has under way: as many as it has messages.
const refreshesAtOnce = 5

// refreshDelivery is a delivery of a message that requests refreshes.
type refreshDelivery struct {
	Message
	work []contract.Refresh
}

// refreshAll refreshes the entry points of all messages. It acknowledges each message in any case: the frontier sends a
// refresh again that did not finish, as it does with those for which the event has no time.
func (e *domainEvent) refreshAll(ctx context.Context, list []refreshDelivery) {
	var wg sync.WaitGroup
	slots := make(chan struct{}, refreshesAtOnce)
	for _, d := range list {
		for i := range d.work {
			slots <- struct{}{}
			if e.consumer.Now().Sub(e.start) > latestStart {
				<-slots
				continue
			}
			wg.Go(func() {
				defer func() { <-slots }()
				e.refresh(ctx, d, &d.work[i])
			})
		}
	}
	wg.Wait()
	for _, d := range list {
		d.Ack()
	}
}

// refresh refreshes one entry point of a message. If its host is busy, it is sent again by itself.
func (e *domainEvent) refresh(ctx context.Context, d refreshDelivery, r *contract.Refresh) {
	c := e.consumer
	if e.exclusions.Domain(r.Domain) || r.Method != frontier.MethodRefill && e.exclusions.URL(r.URL) {
		return
	}
	err := recovered(func() error {
		done, err := e.batch.Refresh(ctx, r)
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
		case done.Again > 0 && c.Now().Sub(r.QueuedAt.Time()) < maxRefreshWait:
			alone := contract.Encode(contract.RefreshMessage{Refreshes: []contract.Refresh{*r}})
			return c.Domains.SendOne(ctx, alone, done.Again+rand.N(time.Second))
		}
		return nil
	})
	if err != nil {
		c.logFailure("refresh_failed", d, err, "registrable_domain", r.Domain, "url", r.URL)
	}
}
