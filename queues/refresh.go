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

// refreshAll refreshes the entry points of all messages, in groups that begin together: the frontier reserves their
// hosts for as long as two refreshes take, one after the other. It acknowledges each message in any case: the frontier
// sends a refresh again that did not finish, as it does with those for which the event has no time.
func (e *domainEvent) refreshAll(ctx context.Context, list []refreshDelivery) {
	var wg sync.WaitGroup
	slots := make(chan struct{}, refreshesAtOnce)
	work := e.refreshes(list)
	for i, r := range work {
		if slots <- struct{}{}; e.consumer.Now().Sub(e.start) > latestStart {
			break
		}
		if i%contract.MaxRefreshes == 0 {
			e.beginRefreshes(ctx, work[i:min(i+contract.MaxRefreshes, len(work))])
		}
		wg.Go(func() {
			defer func() { <-slots }()
			e.refresh(ctx, r.Message, r.work)
		})
	}
	wg.Wait()
	for _, d := range list {
		d.Ack()
	}
}

// oneRefresh is a refresh of a message.
type oneRefresh struct {
	Message
	work *contract.Refresh
}

// refreshes returns the refreshes of all messages that operators have not excluded.
func (e *domainEvent) refreshes(list []refreshDelivery) (all []oneRefresh) {
	for _, d := range list {
		for i := range d.work {
			r := &d.work[i]
			if !e.exclusions.Domain(r.Domain) && (r.Method == frontier.MethodRefill || !e.exclusions.URL(r.URL)) {
				all = append(all, oneRefresh{d.Message, r})
			}
		}
	}
	return all
}

// beginRefreshes requests the hosts of the next refreshes, if there are several.
func (e *domainEvent) beginRefreshes(ctx context.Context, next []oneRefresh) {
	if len(next) == 1 {
		return
	}
	list := make([]*contract.Refresh, len(next))
	for i, r := range next {
		list[i] = r.work
	}
	e.batch.BeginRefreshes(ctx, list)
}

// refresh refreshes one entry point of a message. If its host is busy, it is sent again by itself.
func (e *domainEvent) refresh(ctx context.Context, m Message, r *contract.Refresh) {
	c := e.consumer
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
		c.logFailure("refresh_failed", m, err, "registrable_domain", r.Domain, "url", r.URL)
	}
}
