package queues_test

import (
	"errors"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/newsfork/seed-engine/collector"
	"github.com/newsfork/seed-engine/contract"
	"github.com/newsfork/seed-engine/epoch"
)

// refreshBody is a message that requests the refresh of feeds of some domains.
func refreshBody(at time.Time, domains ...string) string {
	var m contract.RefreshMessage
	for _, domain := range domains {
		m.Refreshes = append(m.Refreshes, contract.Refresh{
			Domain: domain, URL: "https://" + domain + "/feed", Method: "rss", QueuedAt: epoch.MillisOf(at),
			Partition: contract.Partition{Country: "sg", Category: "news", Date: "2026-01-28"},
		})
	}
	return string(contract.Encode(m))
}

// TestRefresh_ManyInOneMessage: each look of a message has an outcome of its own, and an event has five under way.
func TestRefresh_ManyInOneMessage(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFixture(t)
		var mu sync.Mutex
		var seen []string
		now, highest := 0, 0
		f.steps.refresh = func(r *contract.Refresh) (collector.Refreshed, error) {
			mu.Lock()
			now++
			highest, seen = max(highest, now), append(seen, r.Domain)
			mu.Unlock()
			time.Sleep(time.Second)
			mu.Lock()
			now--
			mu.Unlock()
			switch r.Domain {
			case "busy.sg":
				return collector.Refreshed{Again: 7 * time.Second}, nil
			case "fails.sg":
				return collector.Refreshed{}, errors.New("as the test wants it")
			case "panics.sg":
				panic("as the test wants it")
			case "changed.sg":
				return collector.Refreshed{Collect: &contract.DomainMessage{Domain: "changed.sg"}}, nil
			}
			return collector.Refreshed{}, nil
		}
		all := []string{
			"a.sg", "busy.sg", "fails.sg", "b.sg", "panics.sg", "changed.sg", "c.sg", "d.sg", "e.sg", "f.sg",
		}
		one := `{"refresh":{"domain":"g.sg","url":"https://g.sg/feed","method":"rss",` + partition + `,"queued_at":1}}`
		messages := []*message{
			{id: "1", body: refreshBody(f.now, all...), attempts: 1},
			{id: "2", body: one, attempts: 1}, // as earlier versions sent it
		}
		f.handle(t, "newsfork-domain-dev", messages...)
		for _, m := range messages {
			if m.settled != "ack" {
				t.Errorf("message %s: %s", m.id, m.settled)
			}
		}
		if slices.Sort(seen); !slices.Equal(seen, slices.Sorted(slices.Values(append(all, "g.sg")))) {
			t.Errorf("refreshed %q", seen)
		}
		if want := append(slices.Clone(all), "g.sg")[:10]; !slices.Equal(f.steps.together, want) {
			t.Errorf("%q began together, want %q", f.steps.together, want)
		}
		if highest != 5 {
			t.Errorf("%d refreshes at once", highest)
		}
		var again []string
		for _, sent := range f.domains.Sent() {
			if sent.Delay > 0 {
				again = append(again, string(sent.Body))
			}
		}
		if len(f.domains.Sent()) != 2 || len(again) != 1 || again[0] != refreshBody(f.now, "busy.sg") {
			t.Errorf("sent %+v, again %q", f.domains.Sent(), again)
		}
	})
}

// TestRefresh_LateInEvent: an event that lasts does not begin another refresh. The frontier sends it again.
func TestRefresh_LateInEvent(t *testing.T) {
	f := newFixture(t)
	var begun atomic.Int64
	f.steps.refresh = func(*contract.Refresh) (collector.Refreshed, error) {
		begun.Add(1)
		f.passed.Add(int64(3 * time.Minute))
		return collector.Refreshed{}, nil
	}
	domains := slices.Repeat([]string{"a.sg"}, 10)
	f.handle(t, "newsfork-domain-dev", &message{id: "1", body: refreshBody(f.now, domains...), attempts: 1})
	if n := begun.Load(); n < 1 || n > 5 {
		t.Errorf("%d of 10 refreshes", n)
	}
	if sent := f.domains.Sent(); len(sent) > 0 {
		t.Errorf("sent %+v", sent)
	}
}
