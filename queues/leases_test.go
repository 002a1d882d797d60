package queues_test

import (
	"context"
	"encoding/json"
	"errors"
	"strings"
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

// TestALostLeaseEndsTheLane: what is left of a domain's messages belongs to the event that has the domain now.
func TestALostLeaseEndsTheLane(t *testing.T) {
	f := newFixture(t)
	f.Leases.Ledger = leaseAway{Ledger: ledger.New(f.db), onlyRenew: true, lost: []string{"a.sg"}}
	began, stopped := make(chan struct{}), make(chan struct{})
	f.Leases.Sleep = func(ctx context.Context, _ time.Duration) error { // the lease is lost while it is collected
		select {
		case <-began:
		case <-ctx.Done():
		}
		return ctx.Err()
	}
	f.steps.under = func(ctx context.Context) { close(began); <-ctx.Done(); close(stopped) }
	collected := 0
	f.steps.collect = func(*contract.DomainMessage, bool) error {
		if collected++; collected == 1 {
			<-stopped
		}
		f.steps.under = nil
		return context.Canceled
	}
	a, b := &message{id: "1", body: domainBody("a.sg"), attempts: 1}, &message{id: "2", body: domainBody("a.sg"), attempts: 1}
	f.handle(t, "newsfork-domain-dev", a, b)
	if collected != 1 || a.settled != "retry" || b.settled != "ack" {
		t.Errorf("collected %d times, %s, %s", collected, a.settled, b.settled)
	}
	if sent := f.domains.Sent(); len(sent) != 1 || sent[0].Delay < 30*time.Second {
		t.Errorf("sent %+v, want the second message, for when the other event's lease may be over", sent)
	}
}

// TestACollectionBeginsEarlyEnough: an event that is over before its last collection is killed with it.
func TestACollectionBeginsEarlyEnough(t *testing.T) {
	for _, c := range []struct {
		name      string
		took      time.Duration // by the first collection
		done      bool          // and the second message asks for nothing more
		collected int
	}{
		{"a short collection before it", time.Minute, false, 2},
		{"a long one", 5 * time.Minute, false, 1},
		{"a long one that leaves nothing to ask", 5 * time.Minute, true, 2},
	} {
		t.Run(c.name, func(t *testing.T) {
			f := newFixture(t)
			collected := 0
			f.steps.collect = func(*contract.DomainMessage, bool) error {
				collected++
				f.now = f.now.Add(c.took)
				f.steps.done = c.done
				return nil
			}
			other := strings.ReplaceAll(domainBody("a.sg"), "2026-01-28", "2026-01-29")
			a, b := &message{id: "1", body: domainBody("a.sg"), attempts: 1}, &message{id: "2", body: other, attempts: 1}
			f.handle(t, "newsfork-domain-dev", a, b)
			if collected != c.collected || a.settled != "ack" || b.settled != "ack" {
				t.Errorf("collected %d times, %s, %s", collected, a.settled, b.settled)
			}
			sent := f.domains.Sent()
			if len(sent) != 2-c.collected {
				t.Fatalf("sent %+v", sent)
			}
			if len(sent) == 1 && string(contract.WithoutBusySince(sent[0].Body)) != other {
				t.Errorf("sent %s", sent[0].Body)
			}
		})
	}
}
