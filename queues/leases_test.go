package queues_test

import (
	"context"
	"encoding/json"
	"errors"
	"testing"
	"time"

	"github.com/newsfork/seed-engine/contract"
	"github.com/newsfork/seed-engine/ledger"
	"github.com/newsfork/seed-engine/queues"
)

func TestMessagesOfABusyDomainAreRequeued(t *testing.T) {
	f := newFixture(t)
	l := ledger.New(f.db)
	if _, err := l.Acquire(t.Context(), "another event", []string{"a.sg"}, time.Minute); err != nil {
		t.Fatal(err)
	}
	var collected []string
	f.steps.collect = func(m *contract.DomainMessage, _ bool) error { collected = append(collected, m.Domain); return nil }
	a, b := &message{id: "1", body: domainBody("a.sg"), attempts: 3}, &message{id: "2", body: domainBody("b.sg"), attempts: 1}
	f.handle(t, "newsfork-domain-dev", a, b)
	if a.settled != "ack" || b.settled != "ack" || len(collected) != 1 || collected[0] != "b.sg" {
		t.Fatalf("busy: %s, free: %s, collected %v", a.settled, b.settled, collected)
	}
	sent := f.domains.Sent()
	if len(sent) != 1 || sent[0].Delay < 50*time.Second || sent[0].Delay > 80*time.Second {
		t.Fatalf("sent %+v, want the message once, for when the lease is over", sent)
	}
	again, err := contract.ParseDomain(sent[0].Body)
	if err != nil || again.Domain != "a.sg" || again.BusySince.IsZero() || len(again.URLs) != 1 {
		t.Errorf("got %+v, %v", again, err)
	}

	// It is not sent again for ever.
	again.BusySince = time.Now().Add(-61 * time.Minute)
	body, err := json.Marshal(again)
	if err != nil {
		t.Fatal(err)
	}
	c := &message{id: "3", body: string(body), attempts: 1}
	f.handle(t, "newsfork-domain-dev", c)
	if c.settled != "retry" {
		t.Errorf("after an hour: %s", c.settled)
	}
}

func TestAMessageThatCannotBeRequeuedIsRetried(t *testing.T) {
	f := newFixture(t)
	if _, err := ledger.New(f.db).Acquire(t.Context(), "another event", []string{"a.sg"}, time.Minute); err != nil {
		t.Fatal(err)
	}
	f.domains.Fail = func([]queues.Sent) error { return errors.New("the queue is away") }
	m := &message{id: "1", body: domainBody("a.sg"), attempts: 1}
	f.handle(t, "newsfork-domain-dev", m)
	if m.settled != "retry" {
		t.Errorf("got %s", m.settled)
	}
}

func TestLeasesLastAsLongAsTheWork(t *testing.T) {
	f := newFixture(t)
	l := ledger.New(f.db)
	f.steps.collect = func(m *contract.DomainMessage, _ bool) error {
		busy, err := l.Acquire(t.Context(), "another event", []string{m.Domain}, time.Minute)
		if err != nil || busy[m.Domain] == 0 {
			t.Errorf("%s is not leased while it is worked on: %v", m.Domain, err)
		}
		if m.Domain == "panics.sg" {
			panic("as the test wants it")
		}
		return nil
	}
	f.handle(t, "newsfork-domain-dev", &message{id: "1", body: domainBody("a.sg"), attempts: 1}, &message{id: "2", body: domainBody("panics.sg"), attempts: 1})
	if busy, err := l.Acquire(t.Context(), "another event", []string{"a.sg", "panics.sg"}, time.Minute); err != nil || len(busy) != 0 {
		t.Errorf("still leased afterwards: %v, %v", busy, err)
	}
}

func TestThePauseOutlivesTheLease(t *testing.T) {
	f := newFixture(t)
	f.steps.freeAt = time.Now().Add(5 * time.Second)
	f.steps.collect = func(*contract.DomainMessage, bool) error { return nil }
	f.handle(t, "newsfork-domain-dev", &message{id: "1", body: domainBody("a.sg"), attempts: 1})
	busy, err := ledger.New(f.db).Acquire(t.Context(), "another event", []string{"a.sg"}, time.Minute)
	if err != nil || busy["a.sg"] < 3*time.Second || busy["a.sg"] > 5*time.Second {
		t.Errorf("busy for %v, %v; want until the host may be asked again", busy["a.sg"], err)
	}
}

// leaseAway fails every call, or only renewals.
type leaseAway struct {
	*ledger.Ledger
	onlyRenew bool
	lost      []string
}

func (l leaseAway) Acquire(ctx context.Context, owner string, domains []string, ttl time.Duration) (map[string]time.Duration, error) {
	if l.onlyRenew {
		return l.Ledger.Acquire(ctx, owner, domains, ttl)
	}
	return nil, errors.New("D1 is away")
}

func (l leaseAway) Renew(context.Context, string, []string, time.Duration) ([]string, error) {
	return l.lost, nil
}

func TestWithoutD1TheWorkGoesOnUnleased(t *testing.T) {
	f := newFixture(t)
	f.Leases.Ledger = leaseAway{}
	done := 0
	f.steps.collect = func(*contract.DomainMessage, bool) error { done++; return nil }
	m := &message{id: "1", body: domainBody("a.sg"), attempts: 1}
	f.handle(t, "newsfork-domain-dev", m)
	if done != 1 || m.settled != "ack" {
		t.Errorf("done %d times, %s", done, m.settled)
	}
}

func TestWorkWhoseLeaseIsLostStops(t *testing.T) {
	f := newFixture(t)
	f.Leases.Ledger = leaseAway{Ledger: ledger.New(f.db), onlyRenew: true, lost: []string{"a.sg"}}
	f.Leases.Sleep = func(ctx context.Context, _ time.Duration) error { // renewals follow one another
		time.Sleep(time.Millisecond)
		return ctx.Err()
	}
	stopped := make(chan struct{})
	f.steps.collect = func(*contract.DomainMessage, bool) error { <-stopped; return context.Canceled }
	f.steps.under = func(ctx context.Context) { <-ctx.Done(); close(stopped) }
	m := &message{id: "1", body: domainBody("a.sg"), attempts: 1}
	f.handle(t, "newsfork-domain-dev", m)
	if m.settled != "retry" {
		t.Errorf("got %s", m.settled)
	}
}

// TestALeaseLostTwice: a renewal that reports a domain again, after its work was stopped, changes nothing.
func TestALeaseLostTwice(t *testing.T) {
	f := newFixture(t)
	f.Leases.Ledger = leaseAway{Ledger: ledger.New(f.db), onlyRenew: true, lost: []string{"a.sg"}}
	renewals := make(chan struct{})
	f.Leases.Sleep = func(ctx context.Context, _ time.Duration) error {
		select {
		case renewals <- struct{}{}:
		case <-ctx.Done():
		}
		return ctx.Err()
	}
	f.steps.collect = func(*contract.DomainMessage, bool) error {
		for range 4 {
			<-renewals
		}
		return context.Canceled
	}
	m := &message{id: "1", body: domainBody("a.sg"), attempts: 1}
	f.handle(t, "newsfork-domain-dev", m)
	if m.settled != "retry" {
		t.Errorf("got %s", m.settled)
	}
}
