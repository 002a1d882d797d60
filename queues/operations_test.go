package queues_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/newsfork/seed-engine/collector"
	"github.com/newsfork/seed-engine/contract"
	"github.com/newsfork/seed-engine/ledger"
	"github.com/newsfork/seed-engine/processor"
	"github.com/newsfork/seed-engine/queues"
)

var place = contract.Partition{Country: "sg", Category: "news", Date: "2026-01-28"}

func (f *fixture) change(t *testing.T, change func(c *contract.Controls)) {
	t.Helper()
	if _, err := f.Controls.Change(t.Context(),
		func(c *contract.Controls) error { change(c); return nil }); err != nil {
		t.Fatal(err)
	}
}

func (f *fixture) stats(t *testing.T) contract.Stats {
	t.Helper()
	s, err := ledger.New(f.db).Status(t.Context(), ledger.StatusQuery{Now: time.Now()})
	if err != nil {
		t.Fatal(err)
	}
	return s.Stats
}

func document(reachable bool) *contract.Document {
	d := &contract.Document{Reachable: reachable, CollectedAt: contract.Time{Time: time.Date(2026, 1, 28, 9, 30, 0, 0,
		time.UTC)}}
	d.Robots.Exists, d.Processing.ProcessingDurationMS = reachable, 1250
	return d
}

func TestLedger_Records(t *testing.T) {
	f := newFixture(t)
	send := func(sender processor.Sender, domains ...string) {
		t.Helper()
		var b contract.Batch
		for _, d := range domains {
			b.Add([]byte(domainBody(d)))
		}
		if err := sender.Send(t.Context(), &b); err != nil {
			t.Fatal(err)
		}
	}
	broken := false
	f.steps.process = func(_ *contract.SeedMessage, sender processor.Sender) error {
		send(sender, "a.sg", "b.sg")
		if broken {
			return errors.New("fails half-way")
		}
		send(sender, "a.sg", "c.sg", "d.sg", "out.sg")
		return nil
	}
	expect := func(what string, want contract.ProcessingStats) {
		t.Helper()
		want.FilesTotal = want.FilesProcessed + want.FilesFailed + want.FilesPending
		want.DomainsTotal = want.DomainsProcessed + want.DomainsFailed + want.DomainsPending
		if got := f.stats(t).Processing; got != want {
			t.Errorf("%s: %+v, want %+v", what, got, want)
		}
	}
	broken = true
	f.handle(t, "newsfork-seed-dev", &message{id: "1", body: seedBody(), attempts: 1})
	expect("the file failed half-way", contract.ProcessingStats{FilesPending: 1, DomainsPending: 2})
	f.giveUp(t, "newsfork-seed-dev", "1", seedBody())
	expect("it was given up", contract.ProcessingStats{FilesFailed: 1, DomainsPending: 2})
	broken = false
	f.handle(t, "newsfork-seed-dev", &message{id: "2", body: seedBody(), attempts: 1})
	expect("it was processed at last", contract.ProcessingStats{FilesProcessed: 1, DomainsPending: 5})

	f.change(t, func(c *contract.Controls) {
		c.Exclusions = []contract.Exclusion{{Kind: contract.ExcludeDomain, Value: "out.sg"}}
	})
	f.steps.collect = func(m *contract.DomainMessage, last bool) error {
		if m.Domain == "c.sg" && !last {
			return &contract.Error{Kind: contract.Network, Message: "refused"}
		}
		if m.Domain == "d.sg" {
			return &contract.Error{Kind: contract.Storage, Message: "R2 is away"}
		}
		return nil
	}
	f.steps.document = func(m *contract.DomainMessage) *contract.Document { return document(m.Domain != "c.sg") }
	f.handle(t, "newsfork-domain-dev",
		&message{id: "a", body: domainBody("a.sg"), attempts: 1},
		&message{id: "b", body: domainBody("b.sg"), attempts: 1},
		&message{id: "c", body: domainBody("c.sg"), attempts: 1}, &message{id: "o", body: domainBody("out.sg"),
			attempts: 1})
	expect("two collected, one retried, one excluded", contract.ProcessingStats{FilesProcessed: 1, DomainsProcessed: 2,
		DomainsPending: 2})
	f.handle(t, "newsfork-domain-dev", &message{id: "c", body: domainBody("c.sg"), attempts: 4})
	f.giveUp(t, "newsfork-domain-dev", "d", domainBody("d.sg"))
	expect("one unreachable, one given up", contract.ProcessingStats{FilesProcessed: 1, DomainsProcessed: 2,
		DomainsFailed: 2})
	s := f.stats(t)
	if s.Excluded != 1 || s.Collection != (contract.CollectionStats{RobotsFound: 2, RobotsRate: 0.5,
		AvgProcessingMS: 1250}) {
		t.Errorf("collection: %+v, excluded %d", s.Collection, s.Excluded)
	}
}

func TestLedger_ForcedWorkIsPending(t *testing.T) {
	f := newFixture(t)
	f.steps.collect = func(*contract.DomainMessage, bool) error { return nil }
	collected := time.Date(2026, 1, 28, 9, 30, 0, 0, time.UTC)
	f.steps.document = func(*contract.DomainMessage) *contract.Document {
		d := document(true)
		d.CollectedAt.Time = collected
		return d
	}
	f.handle(t, "newsfork-domain-dev", &message{id: "1", body: domainBody("a.sg"), attempts: 1})
	forced := strings.TrimSuffix(seedBody(), "}") + `,"force":true,"requested_at":"2026-01-28T09:45:00Z"}`
	f.steps.process = func(m *contract.SeedMessage, sender processor.Sender) error {
		var b contract.Batch
		b.Add([]byte(domainBody("a.sg")))
		return sender.Send(t.Context(), &b)
	}
	f.handle(t, "newsfork-seed-dev", &message{id: "2", body: forced, attempts: 1})
	if s := f.stats(t).Processing; s.DomainsPending != 1 || s.FilesProcessed != 1 {
		t.Errorf("after the forced file: %+v", s)
	}
	// By its own clock the collection ended before the request. The collector still reports it as an answer.
	body := strings.TrimSuffix(domainBody("a.sg"), "}") + `,"force":true,"requested_at":"2026-01-28T09:45:00Z"}`
	f.handle(t, "newsfork-domain-dev", &message{id: "3", body: body, attempts: 1})
	if s := f.stats(t).Processing; s.DomainsProcessed != 1 || s.DomainsPending != 0 {
		t.Errorf("after the forced domain: %+v", s)
	}
}

func TestExclusion_Domains(t *testing.T) {
	f := newFixture(t)
	var collected []string
	var mu sync.Mutex
	f.steps.collect = func(m *contract.DomainMessage, _ bool) error {
		mu.Lock()
		defer mu.Unlock()
		collected = append(collected, m.Domain)
		return nil
	}
	f.change(t, func(c *contract.Controls) {
		c.Exclusions = []contract.Exclusion{{Kind: contract.ExcludeDomain, Value: "out.sg"},
			{Kind: contract.ExcludeHost, Value: "www.half.sg"},
			{Kind: contract.ExcludeURL, Value: "https://half.sg/private/*"}}
	})
	messages := []*message{
		{id: "1", body: domainBody("out.sg"), attempts: 1}, {id: "2", body: domainBody("half.sg"), attempts: 1},
		{id: "3", body: domainBody("out.sg"), attempts: 4},
	}
	f.handle(t, "newsfork-domain-dev", messages...)
	if !slices.Equal(collected, []string{"half.sg"}) {
		t.Errorf("collected %v", collected)
	}
	for _, m := range messages {
		if m.settled != "ack" {
			t.Errorf("message %s was %s", m.id, m.settled)
		}
	}
	for link, want := range map[string]bool{"https://www.half.sg/": true, "https://half.sg/private/x": true,
		"https://half.sg/": false, "https://cdn.out.sg/": true} {
		if got := f.steps.excluded(link); got != want {
			t.Errorf("%s: the collector gets %v", link, got)
		}
	}
	f.change(t, func(c *contract.Controls) { c.Exclusions = nil })
	f.handle(t, "newsfork-domain-dev", &message{id: "4", body: domainBody("out.sg"), attempts: 1})
	if !slices.Contains(collected, "out.sg") {
		t.Error("out.sg is not collected after its exclusion was removed")
	}
}

// A domain whose hosts are all excluded counts as excluded, regardless of its own name.
func TestExclusion_AllHostsOfADomain(t *testing.T) {
	f := newFixture(t)
	f.steps.collect = func(*contract.DomainMessage, bool) error {
		return fmt.Errorf("%w: www.half.sg is not asked", collector.ErrExcluded)
	}
	f.steps.process = func(_ *contract.SeedMessage, sender processor.Sender) error {
		var b contract.Batch
		b.Add([]byte(domainBody("half.sg")))
		return sender.Send(t.Context(), &b)
	}
	f.handle(t, "newsfork-seed-dev", &message{id: "1", body: seedBody(), attempts: 1})
	m := &message{id: "2", body: domainBody("half.sg"), attempts: 4}
	f.handle(t, "newsfork-domain-dev", m)
	if s := f.stats(t); m.settled != "ack" || s.Excluded != 1 || s.Processing.DomainsFailed != 0 ||
		s.Processing.DomainsPending != 0 {
		t.Errorf("%s, excluded %d, %+v", m.settled, s.Excluded, s.Processing)
	}
}

// Deliveries during a pause requeue each message once and use up none of its retries.
func TestPause_LosesNothing(t *testing.T) {
	f := newFixture(t)
	f.steps.process = func(_ *contract.SeedMessage,
		_ processor.Sender) error {
		t.Error("a file was processed")
		return nil
	}
	f.steps.collect = func(*contract.DomainMessage, bool) error { t.Error("a domain was collected"); return nil }
	since := f.now
	f.change(t, func(c *contract.Controls) { c.Pipeline = contract.Pipeline{Paused: true, Since: contract.At(since)} })
	bodies := map[string][]string{
		"newsfork-seed-dev":   {seedBody(), `{"orchestrate":{"cursor":"raw/x"}}`, `not JSON`},
		"newsfork-domain-dev": {domainBody("a.sg"), domainBody("b.sg"), `{"wrong":"shape"}`},
	}
	for _, c := range []struct {
		elapsed, delay time.Duration
	}{{0, 30 * time.Second}, {time.Minute, 30 * time.Second}, {10 * time.Minute, 5 * time.Minute}, {240 * time.Hour,
		30 * time.Minute}} {
		f.now = since.Add(c.elapsed)
		for queue, list := range bodies {
			sent := map[string]*queues.Memory{"newsfork-seed-dev": f.seeds, "newsfork-domain-dev": f.domains}[queue]
			for i, body := range list {
				before := len(sent.Sent())
				m := &message{id: fmt.Sprint(i), body: body, attempts: 4} // the last delivery
				f.handle(t, queue, m)
				if m.settled != "ack" || len(sent.Sent()) != before+1 {
					t.Fatalf("%s: %s, sent %d", body, m.settled, len(sent.Sent())-before)
				}
				again := sent.Sent()[before]
				var text string
				if json.Unmarshal(again.Body, &text) != nil {
					text = string(again.Body)
				}
				if text != body || again.Delay != c.delay {
					t.Errorf("after %v: sent %s after %v, want after %v", c.elapsed, again.Body, again.Delay, c.delay)
				}
			}
		}
	}
	f.RetryDelay = 2 * time.Minute
	f.now = since
	f.handle(t, "newsfork-domain-dev", &message{id: "x", body: domainBody("a.sg"), attempts: 1})
	if sent := f.domains.Sent(); sent[len(sent)-1].Delay != 30*time.Second {
		t.Errorf("after a short pause it is redelivered after %v", sent[len(sent)-1].Delay)
	}
	f.RetryDelay = 0
	f.handle(t, "newsfork-domain-dev", &message{id: "x", body: domainBody("a.sg"), attempts: 1})
	if sent := f.domains.Sent(); sent[len(sent)-1].Delay != time.Second {
		t.Errorf("without a retry delay it is redelivered after %v", sent[len(sent)-1].Delay)
	}

	f.domains.Fail = func([]queues.Sent) error { return errors.New("the queue is away") }
	m := &message{id: "x", body: domainBody("a.sg"), attempts: 1}
	f.handle(t, "newsfork-domain-dev", m)
	if m.settled != "retry" {
		t.Errorf("a message that could not be requeued: %s, want retry", m.settled)
	}
	if keys := len(f.seeds.Sent()); keys == 0 || f.stats(t).Processing != (contract.ProcessingStats{}) {
		t.Errorf("a pause left traces: %+v", f.stats(t).Processing)
	}

	f.dlq.Fail = nil
	dead := &message{id: "dead", body: seedBody(), attempts: 1}
	f.handle(t, "newsfork-dlq-dev", dead)
	if _, err := f.bucket.Head(t.Context(), "dlq/queue=newsfork-seed-dev/date=2026-01-28/dead.json"); err != nil {
		t.Errorf("a dead letter is not stored during a pause: %v", err)
	}
}

func TestControls_Fail(t *testing.T) {
	f := newFixture(t)
	f.steps.collect = func(*contract.DomainMessage, bool) error { t.Error("a domain was collected"); return nil }
	f.bucket.Fail = func(op, key string) error {
		if key == "control/pipeline.json" {
			return errors.New("R2 is away")
		}
		return nil
	}
	m := &message{id: "1", body: domainBody("a.sg"), attempts: 2}
	f.handle(t, "newsfork-domain-dev", m)
	if m.settled != "retry" || m.delay != 20*time.Second {
		t.Errorf("%s after %v", m.settled, m.delay)
	}
	work := ledger.Work{Queue: "newsfork-domain-dev",
		Key: "prod/country=sg/category=news/date=2026-01-28/a.sg/urls/raw_0001-0.json"}
	reasons, err := ledger.New(f.db).Reasons(t.Context(), []ledger.Work{work})
	if err != nil || len(reasons[work]) != 1 || reasons[work][0].ErrorType != contract.Storage {
		t.Errorf("reasons: %+v, %v", reasons, err)
	}
}

// Two files processed at once share no state in the consumer.
func TestSeed_ConcurrentFiles(t *testing.T) {
	f := newFixture(t)
	var both, sent sync.WaitGroup
	both.Add(2)
	f.steps.process = func(m *contract.SeedMessage, sender processor.Sender) error {
		both.Done()
		both.Wait() // both files are being processed
		var b contract.Batch
		b.Add([]byte(strings.ReplaceAll(domainBody("of-"+m.Partition.Category+".sg"), "news", m.Partition.Category)))
		return sender.Send(t.Context(), &b)
	}
	for _, category := range []string{"news", "finance"} {
		sent.Go(func() {
			f.handle(t, "newsfork-seed-dev", &message{id: category,
				body: strings.ReplaceAll(seedBody(), "news", category), attempts: 1})
		})
	}
	sent.Wait()
	for _, category := range []string{"news", "finance"} {
		page, err := ledger.New(f.db).Domains(t.Context(),
			ledger.DomainQuery{Filter: contract.Filter{Category: category}, Limit: 9})
		if err != nil {
			t.Fatal(err)
		}
		var got []string
		for _, d := range page.Domains {
			got = append(got, d.Domain)
		}
		if !slices.Equal(got, []string{"of-" + category + ".sg"}) {
			t.Errorf("the ledger says that %s sent %v", category, got)
		}
	}
}
