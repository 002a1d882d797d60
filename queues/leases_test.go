package queues_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/newsfork/seed-engine/collector"
	"github.com/newsfork/seed-engine/contract"
	"github.com/newsfork/seed-engine/controls"
	"github.com/newsfork/seed-engine/epoch"
	"github.com/newsfork/seed-engine/fetch"
	"github.com/newsfork/seed-engine/frontier"
	"github.com/newsfork/seed-engine/queues"
)

const domainQueue = "newsfork-domain-dev"

func TestLease_BusyDomainIsRequeued(t *testing.T) {
	f := newFixture(t)
	f.lease(t, "a.sg")
	var collected []string
	f.steps.collect = func(m *contract.DomainMessage, _ bool) error {
		collected = append(collected,
			m.Domain)
		return nil
	}
	a, b := &message{id: "1", body: domainBody("a.sg"), attempts: 3}, &message{id: "2", body: domainBody("b.sg"),
		attempts: 1}
	f.handle(t, domainQueue, a, b)
	if a.settled != "ack" || b.settled != "ack" || !slices.Equal(collected, []string{"b.sg"}) {
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

	// The delay stays short even after weeks.
	c := &message{id: "3", body: string(contract.WithBusySince(sent[0].Body, time.Now().Add(-1000*time.Hour))),
		attempts: 1}
	f.handle(t, domainQueue, c)
	if sent := f.domains.Sent(); c.settled != "ack" || len(sent) != 2 || sent[1].Delay > 80*time.Second {
		t.Errorf("after a long time: %s, sent %+v", c.settled, sent[1])
	}
}

func TestLease_RequeueFails(t *testing.T) {
	f := newFixture(t)
	f.lease(t, "a.sg")
	f.domains.Fail = func([]queues.Sent) error { return errors.New("the queue is away") }
	m := &message{id: "1", body: domainBody("a.sg"), attempts: 1}
	f.handle(t, domainQueue, m)
	if m.settled != "retry" {
		t.Errorf("got %s", m.settled)
	}
}

func TestLease_LastsAsLongAsTheWork(t *testing.T) {
	f := newFixture(t)
	f.steps.collect = func(m *contract.DomainMessage, _ bool) error {
		if f.shards.acquire(t, m.Domain).Granted {
			t.Errorf("%s is not leased while it is worked on", m.Domain)
		}
		switch m.Domain {
		case "panics.sg":
			panic("as the test wants it")
		case "fails.sg":
			return errors.New("as the test wants it")
		}
		return nil
	}
	domains := []string{"a.sg", "panics.sg", "fails.sg"}
	var batch []*message
	for _, d := range domains {
		batch = append(batch, &message{id: d, body: domainBody(d), attempts: 1})
	}
	f.handle(t, domainQueue, batch...)
	for _, d := range domains {
		if !f.shards.acquire(t, d).Granted {
			t.Errorf("%s is still leased afterwards", d)
		}
	}
	if c := f.shards.calls; c["release"] != 3 || c["acquire"] != 3+6 {
		t.Errorf("calls %v", c)
	}
}

// A merge sends no request, so it needs no lease. The shard refuses the speculative lease if it knows the contract;
// otherwise the event releases the lease at once.
func TestLease_NotForCollectedDomains(t *testing.T) {
	f := newFixture(t)
	f.steps.done = true
	f.steps.collect = func(*contract.DomainMessage, bool) error { return nil }
	for n, known := range []bool{false, true} {
		clear(f.shards.calls)
		m := &message{id: fmt.Sprint(n), body: domainBody("a.sg"), attempts: 1}
		work, err := contract.ParseDomain([]byte(m.body))
		if err != nil {
			t.Fatal(err)
		}
		if known {
			change := frontier.Change{Partition: work.Partition, Revision: 1, ChangedAt: 1}
			if err := f.shards.remotes().Of("a.sg").Changed(t.Context(),
				frontier.Changed{Domain: "a.sg", Changes: []frontier.Change{change}}); err != nil {
				t.Fatal(err)
			}
		}
		f.handle(t, domainQueue, m)
		if m.settled != "ack" || f.shards.calls["acquire"] != 1 || (f.shards.calls["release"] != 0) == known {
			t.Errorf("known to have its contract: %t: %s, calls %v", known, m.settled, f.shards.calls)
		}
		if !f.shards.acquire(t, "a.sg").Granted {
			t.Error("it is leased afterwards")
		}
		f.shards.release(t, "a.sg")
	}
}

func TestLease_SpeculativeIsReleased(t *testing.T) {
	for name, decide := range map[string]func(*contract.Controls){
		"paused": func(c *contract.Controls) { c.Pipeline.Paused = true },
		"excluded": func(c *contract.Controls) {
			c.Exclusions = []contract.Exclusion{{Kind: "domain",
				Value: "a.sg"}}
		},
	} {
		f := newFixture(t)
		f.change(t, decide)
		f.Controls = &controls.Store{Bucket: f.bucket} // an instance that has not read the controls yet
		f.steps.collect = func(*contract.DomainMessage, bool) error { t.Error("it was collected"); return nil }
		// an instance that knows of the pause acquires no speculative lease
		for n, want := range map[string][]int{"paused": {1, 1}, "excluded": {1, 2}}[name] {
			f.handle(t, domainQueue, &message{id: fmt.Sprint(n), body: domainBody("a.sg"), attempts: 1})
			if c := f.shards.calls; c["acquire"] != want || c["release"] != want {
				t.Errorf("%s, event %d: calls %v", name, n+1, c)
			}
		}
	}
}

// A shard keeps scrapers off a busy domain that an event is waiting for. An event that no longer needs the domain must
// not have that effect.
func TestLease_SpeculativeDoesNotBlockScrapers(t *testing.T) {
	for name, c := range map[string]struct {
		done, paused, waits bool
	}{"a merge": {done: true}, "a pause": {paused: true}, "a collection": {waits: true}} {
		f := newFixture(t)
		f.steps.done = c.done
		f.steps.collect = func(*contract.DomainMessage, bool) error { return nil }
		if c.paused {
			f.change(t, func(c *contract.Controls) { c.Pipeline.Paused = true })
			f.Controls = &controls.Store{Bucket: f.bucket} // an instance that has not read the controls yet
		}
		shard := f.shards.remotes().Of("a.sg")
		page := frontier.NewPage{URL: "https://a.sg/news/1", Type: "news", Priority: 1}
		if _, err := shard.Put(t.Context(), frontier.Put{Domain: "a.sg",
			Partition: contract.Partition{Country: "sg", Category: "news", Date: "2026-01-28"},
			Pages:     []frontier.NewPage{page}}); err != nil {
			t.Fatal(err)
		}
		f.lease(t, "a.sg")
		f.handle(t, domainQueue, &message{id: "1", body: domainBody("a.sg"), attempts: 1})
		f.shards.release(t, "a.sg")
		given, err := shard.Lease(t.Context(), frontier.LeaseRequest{Max: 1, Seconds: frontier.MinLeaseSeconds})
		if err != nil || (len(given.Items) == 0) != c.waits {
			t.Errorf("%s: scrapers lease %v, %v", name, given.Items, err)
		}
	}
}

// The shard refuses the speculative lease because it knows a contract, but that contract was deleted. The event then
// requests the lease unconditionally.
func TestLease_CollectedDomainIsForced(t *testing.T) {
	f := newFixture(t)
	collected := 0
	f.steps.collect = func(*contract.DomainMessage, bool) error { collected++; return nil }
	m := &message{id: "1", body: domainBody("a.sg"), attempts: 1}
	work, err := contract.ParseDomain([]byte(m.body))
	if err != nil {
		t.Fatal(err)
	}
	change := frontier.Change{Partition: work.Partition, Revision: 1, ChangedAt: 1}
	if err := f.shards.remotes().Of("a.sg").Changed(t.Context(),
		frontier.Changed{Domain: "a.sg", Changes: []frontier.Change{change}}); err != nil {
		t.Fatal(err)
	}
	f.handle(t, domainQueue, m)
	if c := f.shards.calls; m.settled != "ack" || collected != 1 || c["acquire"] != 2 || c["release"] != 1 {
		t.Errorf("%s, collected %d times, calls %v", m.settled, collected, c)
	}
}

// The next collector or scraper respects what this one learned about the hosts.
func TestLease_ReleaseReportsHosts(t *testing.T) {
	f := newFixture(t)
	f.steps.visits = []frontier.HostFindings{{Host: "www.a.sg", AskedAt: epoch.Now(), RetryAfter: 300, Delay: 5000,
		RobotsExpires: 1}}
	f.steps.collect = func(*contract.DomainMessage, bool) error { return errors.New("as the test wants it") }
	f.handle(t, domainQueue, &message{id: "1", body: domainBody("a.sg"), attempts: 1})
	host := f.shards.acquire(t, "a.sg", "www.a.sg").Hosts[0]
	if ready := time.Until(host.ReadyAt.Time()); host.Delay != 10_000 || ready < 290*time.Second ||
		ready > 300*time.Second {
		t.Errorf("%+v", host)
	}
}

// The collector learns where the domain was collected before, and the frontier where it has been now.
func TestLease_CarriesEvidence(t *testing.T) {
	f := newFixture(t)
	at := time.Now().Add(-time.Hour).Truncate(time.Millisecond)
	earlier := contract.Partition{Country: "sg", Category: "news", Date: "2026-01-01"}
	f.steps.collect = func(m *contract.DomainMessage, _ bool) error {
		if f.steps.reuse != (collector.Evidence{}) {
			t.Errorf("evidence of a domain that was never collected: %+v", f.steps.reuse)
		}
		f.steps.gathered = collector.Evidence{Partition: earlier, At: at}
		// The lease's owner may put into its own domain.
		visit := frontier.HostFindings{Host: "a.sg", Delay: 7000, RobotsExpires: 1}
		_, err := f.shards.remotes().Of(m.Domain).Put(t.Context(),
			frontier.Put{Domain: m.Domain, Partition: earlier, Owner: f.steps.owner,
				Visits: []frontier.HostFindings{visit}})
		return err
	}
	f.handle(t, domainQueue, &message{id: "1", body: domainBody("a.sg"), attempts: 1})
	if host := f.shards.acquire(t, "a.sg", "a.sg").Hosts[0]; host.Delay != 7000 {
		t.Errorf("a put under the lease was ignored: %+v", host)
	}
	f.shards.release(t, "a.sg")
	f.steps.gathered = collector.Evidence{}
	f.steps.collect = func(*contract.DomainMessage, bool) error {
		if e := f.steps.reuse; e.Partition != earlier || !e.At.Equal(at) {
			t.Errorf("the next collection gets %+v", e)
		}
		return nil
	}
	for n := range 2 { // releasing without evidence keeps the old evidence
		f.handle(t, domainQueue, &message{id: fmt.Sprint(n), body: domainBody("a.sg"), attempts: 1})
	}
}

// An event waits up to half a minute for a host; otherwise it requeues the message.
func TestLease_HostsNotReady(t *testing.T) {
	for _, c := range []struct {
		name      string
		visit     frontier.HostFindings
		collected int
		wait      time.Duration
	}{
		{"short wait", frontier.HostFindings{Host: "a.sg", RetryAfter: 20}, 1, 0},
		{"long wait", frontier.HostFindings{Host: "a.sg", RetryAfter: 600}, 0, 10 * time.Minute},
		{"the fallback host", frontier.HostFindings{Host: "www.a.sg", RetryAfter: 600}, 1, 0},
		{"another host of the domain", frontier.HostFindings{Host: "other.a.sg", RetryAfter: 600}, 1, 0},
		{"unresolved name", frontier.HostFindings{Host: "a.sg", Unresolved: true}, 1, 0},
	} {
		t.Run(c.name, func(t *testing.T) {
			f := newFixture(t)
			f.lease(t, "a.sg")
			f.shards.release(t, "a.sg", c.visit)
			collected := 0
			f.steps.collect = func(*contract.DomainMessage, bool) error { collected++; return nil }
			m := &message{id: "1", body: domainBody("a.sg"), attempts: 1}
			f.handle(t, domainQueue, m)
			sent := f.domains.Sent()
			if collected != c.collected || m.settled != "ack" || len(sent) != 1-c.collected {
				t.Fatalf("collected %d times, %s, sent %+v", collected, m.settled, sent)
			}
			if len(sent) == 1 && (sent[0].Delay < c.wait-time.Second || sent[0].Delay > c.wait*5/4+time.Second) {
				t.Errorf("sent for in %v", sent[0].Delay)
			}
			if !f.shards.acquire(t, "a.sg").Granted {
				t.Error("the domain is still leased")
			}
		})
	}
}

// A message for a blocked host is requeued until the block ends. If the frontier and the controls disagree about an
// exclusion, the message is requeued briefly, so that both have caught up by the next delivery.
func TestLease_ExcludedHosts(t *testing.T) {
	f := newFixture(t)
	f.steps.collect = func(m *contract.DomainMessage, _ bool) error {
		if m.Domain != "host.sg" {
			t.Errorf("%s was collected", m.Domain)
		}
		_, err := f.steps.ask("host.sg", "host.sg")
		return err
	}
	r := f.shards.remotes()
	until := epoch.Now().Add(3 * time.Hour)
	for _, domain := range []string{"blocked.sg", "host.sg", "domain.sg"} {
		f.lease(t, domain)
		f.shards.release(t, domain, frontier.HostFindings{Host: domain, AskedAt: 1})
	}
	_, err := r.SetHost(t.Context(), "blocked.sg", frontier.HostChange{BlockUntil: &until})
	err = errors.Join(err, r.Exclude(t.Context(), frontier.Exclusion{Kind: "host", Value: "host.sg"}, true),
		r.Exclude(t.Context(), frontier.Exclusion{Kind: "domain", Value: "domain.sg"}, true))
	if err != nil {
		t.Fatal(err)
	}
	for domain, least := range map[string]time.Duration{"blocked.sg": 179 * time.Minute, "host.sg": 30 * time.Second,
		"domain.sg": 30 * time.Second} {
		m := &message{id: domain, body: domainBody(domain), attempts: 4}
		before := len(f.domains.Sent())
		f.handle(t, domainQueue, m)
		sent := f.domains.Sent()[before:]
		if m.settled != "ack" || len(sent) != 1 || sent[0].Delay < least || sent[0].Delay > least*5/4+time.Minute {
			t.Errorf("%s: %s, sent %+v", domain, m.settled, sent)
		}
	}
}

// A Retry-After received while collecting the first message also delays the second.
func TestLease_HostsOfThisEvent(t *testing.T) {
	f := newFixture(t)
	collected := 0
	f.steps.collect = func(*contract.DomainMessage, bool) error {
		collected++
		f.steps.readyAt = time.Now().Add(time.Hour)
		return nil
	}
	other := strings.ReplaceAll(domainBody("a.sg"), "2026-01-28", "2026-01-29")
	f.handle(t, domainQueue, &message{id: "1", body: domainBody("a.sg"), attempts: 1},
		&message{id: "2", body: other, attempts: 1})
	if sent := f.domains.Sent(); collected != 1 || len(sent) != 1 || sent[0].Delay < 59*time.Minute {
		t.Errorf("collected %d times, sent %+v", collected, sent)
	}
}

// A failing shard does not use up an attempt of the message, and the delay grows.
func TestLease_ShardFails(t *testing.T) {
	f := newFixture(t)
	f.shards.fail = func(string) error { return &contract.Error{Kind: contract.Timeout} }
	f.steps.collect = func(*contract.DomainMessage, bool) error { t.Error("it was collected"); return nil }
	for since, least := range map[time.Duration]time.Duration{0: 30 * time.Second, 10 * time.Minute: 5 * time.Minute,
		100 * time.Hour: 30 * time.Minute} {
		body := domainBody("a.sg")
		if since > 0 {
			body = string(contract.WithBusySince([]byte(body), time.Now().Add(-since)))
		}
		m := &message{id: "1", body: body, attempts: 4}
		f.handle(t, domainQueue, m)
		sent := f.domains.Sent()
		if delay := sent[len(sent)-1].Delay; m.settled != "ack" || delay < least || delay > least*5/4+2*time.Second {
			t.Errorf("after %v: %s, sent for in %v", since, m.settled, delay)
		}
	}

	// A damaged record is not a passing failure, so it does use up an attempt.
	f.shards.fail = nil
	f.shards.lie = func(string) []byte {
		return []byte(`{"error":{"code":"internal_error","message":"a record is damaged"}}`)
	}
	m := &message{id: "2", body: domainBody("a.sg"), attempts: 1}
	f.handle(t, domainQueue, m)
	if m.settled != "retry" {
		t.Errorf("with a damaged record: %s", m.settled)
	}
}

// A failing put does not use up an attempt of the message.
func TestLease_PutFails(t *testing.T) {
	f := newFixture(t)
	f.steps.collect = func(*contract.DomainMessage, bool) error {
		return &contract.Error{Kind: contract.Storage, Err: fetch.ErrFrontier}
	}
	m := &message{id: "1", body: domainBody("a.sg"), attempts: 4}
	f.handle(t, domainQueue, m)
	if m.settled != "ack" || len(f.domains.Sent()) != 1 {
		t.Errorf("%s, sent %+v", m.settled, f.domains.Sent())
	}
}

// simulate runs a test in simulated time.
func simulate(t *testing.T, test func(t *testing.T, f *fixture)) {
	synctest.Test(t, func(t *testing.T) { test(t, newFixture(t)) })
}

// untilStopped makes collections run until they are cancelled, for at most 10 minutes. took is set when one ends.
func (f *fixture) untilStopped(t *testing.T) (took *time.Duration) {
	took = new(time.Duration)
	ended := make(chan struct{})
	began := time.Now()
	f.steps.under = func(ctx context.Context) {
		select {
		case <-ctx.Done():
		case <-time.After(10 * time.Minute):
		}
		*took = time.Since(began)
		close(ended)
	}
	f.steps.collect = func(*contract.DomainMessage, bool) error {
		<-ended
		f.steps.under = nil
		return context.Canceled
	}
	return took
}

// Losing the lease cancels the collection and requeues all of the domain's messages.
func TestLease_LostStopsTheWork(t *testing.T) {
	simulate(t, func(t *testing.T, f *fixture) {
		took := f.untilStopped(t)
		f.shards.lie = func(operation string) []byte {
			if operation == "renew" {
				return []byte(`{"answer":false}`)
			}
			return nil
		}
		a, b := &message{id: "1", body: domainBody("a.sg"), attempts: 4}, &message{id: "2", body: domainBody("a.sg"),
			attempts: 1}
		f.handle(t, domainQueue, a, b)
		if a.settled != "ack" || b.settled != "ack" || *took != 10*time.Second {
			t.Errorf("%s, %s after %v", a.settled, b.settled, *took)
		}
		if sent := f.domains.Sent(); len(sent) != 2 || sent[0].Delay < 30*time.Second ||
			sent[1].Delay < 30*time.Second {
			t.Errorf("sent %+v, want both messages, for when the other event's lease may be over", sent)
		}
	})
}

// The lease ends on time by our clock, even while a renewal is pending.
func TestLease_RenewalFails(t *testing.T) {
	for name, away := range map[string]func(){"errors": func() {}, "no answer": func() { time.Sleep(time.Hour) }} {
		t.Run(name, func(t *testing.T) {
			simulate(t, func(t *testing.T, f *fixture) {
				took := f.untilStopped(t)
				f.shards.fail = func(operation string) error {
					if operation != "renew" {
						return nil
					}
					away()
					return errors.New("the shard is away")
				}
				m := &message{id: "1", body: domainBody("a.sg"), attempts: 4}
				f.handle(t, domainQueue, m)
				if m.settled != "ack" || *took != 30*time.Second || len(f.domains.Sent()) != 1 {
					t.Errorf("%s after %v, sent %+v", m.settled, *took, f.domains.Sent())
				}
			})
		})
	}
}

// The lease is renewed for as long as the work takes, even if some renewals fail.
func TestLease_Renewal(t *testing.T) {
	simulate(t, func(t *testing.T, f *fixture) {
		took := f.untilStopped(t)
		n := 0
		f.shards.fail = func(operation string) error {
			if n++; operation == "renew" && n%2 == 0 {
				return errors.New("as the test wants it")
			}
			return nil
		}
		f.handle(t, domainQueue, &message{id: "1", body: domainBody("a.sg"), attempts: 1})
		if *took != 10*time.Minute || f.shards.calls["renew"] < 29 {
			t.Errorf("it was stopped after %v, calls %v", *took, f.shards.calls)
		}
	})
}

// A collection that requests a host of another domain leases that domain until it ends, unless the domain is busy.
func TestLease_HostsOfOtherDomains(t *testing.T) {
	f := newFixture(t)
	f.lease(t, "busy.sg")
	f.lease(t, "slow.sg")
	f.shards.release(t, "slow.sg", frontier.HostFindings{Host: "www.slow.sg", RetryAfter: 600},
		frontier.HostFindings{Host: "gone.slow.sg", Unresolved: true})
	f.steps.visits = []frontier.HostFindings{}
	f.steps.collect = func(*contract.DomainMessage, bool) error {
		ask := func(host string) error {
			_, err := f.steps.ask("a.sg", host)
			return err
		}
		for host, want := range map[string]error{
			"a.sg": nil, "feeds.a.sg": nil, "free.sg": nil, "www.free.sg": nil,
			"busy.sg": fetch.ErrHostBusy, "www.slow.sg": fetch.ErrHostBusy, "gone.slow.sg": fetch.ErrNotResolved,
		} {
			if err := ask(host); !errors.Is(err, want) {
				t.Errorf("%s: %v, want %v", host, err, want)
			}
		}
		for domain, ours := range map[string]bool{"a.sg": true, "free.sg": true, "slow.sg": false} {
			if f.shards.acquire(t, domain).Granted == ours {
				t.Errorf("%s is ours: %v", domain, !ours)
			}
			if !ours {
				f.shards.release(t, domain)
			}
		}
		f.shards.fail = func(string) error { return errors.New("the shard is away") }
		if err := ask("www.free.sg"); err != nil {
			t.Errorf("a host admitted earlier: %v", err)
		}
		if err := ask("away.sg"); !errors.Is(err, fetch.ErrFrontier) {
			t.Errorf("while the shard is away: %v", err)
		}
		f.shards.fail = nil
		return nil
	}
	m := &message{id: "1", body: domainBody("a.sg"), attempts: 1}
	f.handle(t, domainQueue, m)
	if m.settled != "ack" {
		t.Error(m.settled)
	}
	for _, domain := range []string{"a.sg", "free.sg"} {
		if !f.shards.acquire(t, domain).Granted {
			t.Errorf("%s is still leased", domain)
		}
	}
}

// A domain that two collections use is released when both have finished.
func TestLease_SharedWithinAnEvent(t *testing.T) {
	f := newFixture(t)
	taken, first, both := make(chan struct{}), make(chan struct{}), sync.WaitGroup{}
	both.Add(1)
	f.steps.collect = func(m *contract.DomainMessage, _ bool) error {
		if m.Domain == "a.sg" {
			<-taken
		}
		a, err := f.steps.ask(m.Domain, "shared.sg")
		if err != nil {
			t.Error(err)
			return nil
		}
		if m.Domain == "b.sg" { // leases shared.sg first and ends first
			close(taken)
			both.Wait()
			time.AfterFunc(50*time.Millisecond, func() { close(first) })
			return nil
		}
		both.Done()
		<-first
		if f.shards.acquire(t, "shared.sg").Granted || a.Lease.Err() != nil {
			t.Errorf("it was released too early: %v", a.Lease.Err())
		}
		return nil
	}
	f.handle(t, domainQueue, &message{id: "1", body: domainBody("a.sg"), attempts: 1},
		&message{id: "2", body: domainBody("b.sg"), attempts: 1})
	if !f.shards.acquire(t, "shared.sg").Granted {
		t.Error("it is still leased")
	}
}

// A collection that starts too late would be killed with its event.
func TestDomain_LatestStart(t *testing.T) {
	for _, c := range []struct {
		name      string
		took      time.Duration // by the first collection
		done      bool          // the second message needs no collection
		collected int
	}{
		{"a short collection before it", time.Minute, false, 2},
		{"a long collection before it", 5 * time.Minute, false, 1},
		{"a long collection that covers the second message", 5 * time.Minute, true, 2},
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
			a, b := &message{id: "1", body: domainBody("a.sg"), attempts: 1}, &message{id: "2", body: other,
				attempts: 1}
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
