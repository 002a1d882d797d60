package revisit

import (
	"math"
	"testing"
	"time"

	"github.com/newsfork/seed-engine/epoch"
)

const now epoch.Seconds = 1_760_000_000

func fetched(contentType string, ago time.Duration) *Page {
	return &Page{Profile: ProfileOf(contentType), Published: now.Add(-1000 * day), Fetched: now.Add(-ago)}
}

func TestValue_GrowsWithTheAgeOfTheCopy(t *testing.T) {
	last := 0.0
	for _, ago := range []time.Duration{time.Hour, day, 7 * day, 30 * day, 365 * day} {
		v := fetched("policy", ago).Value(&Trust{}, 0.7, now)
		if v <= last {
			t.Errorf("after %v: %g, not above %g", ago, v, last)
		}
		last = v
	}
}

// A page that changes at every look, such as one with a clock on it, must not eat the budget.
func TestValue_DampsPagesThatAlwaysChange(t *testing.T) {
	p := fetched("news", day)
	var trust Trust
	for at := now; at < now.Add(20*day); at = at.Add(time.Hour) {
		p.Look(&trust, at, true)
	}
	if v, calm := p.Value(&trust, 1, p.Fetched.Add(day)),
		fetched("policy", 30*day).Value(&Trust{}, 0.7, now); v >= calm {
		t.Errorf("a page that changes every hour is worth %g, a policy after a month %g", v, calm)
	}
}

func TestValue_BelievesLastmodOnlyOfHostsWhereItProvedTrue(t *testing.T) {
	page := func(newer bool) *Page {
		p := fetched("about", day)
		p.Newer = newer
		return p
	}
	truthful, always := Trust{}, Trust{}
	for range 20 {
		truthful.learn(true, 0.01, true)
		always.learn(true, 0.01, false)
	}
	if got, without := page(true).Value(&truthful, 1, now), page(false).Value(&truthful, 1, now); got < 10*without {
		t.Errorf("a newer lastmod of a truthful host is worth %g, without it %g", got, without)
	}
	if got, without := page(true).Value(&always, 1, now), page(false).Value(&always, 1, now); got > without*1.01 {
		t.Errorf("a newer lastmod of a host that always has one is worth %g, without it %g", got, without)
	}
}

func TestDue_IsWhenTheValueReachesHalfOfTheThreshold(t *testing.T) {
	p := fetched("policy", 0)
	weight := func(epoch.Seconds) float64 { return 0.7 }
	due := p.Due(&Trust{}, weight, 0.5, now, 0)
	before := now.Add(time.Duration(float64(due.Sub(now)) * 0.85))
	if v := p.Value(&Trust{}, 0.7, due); v < Early*0.5 {
		t.Errorf("worth %g when due, want at least %g", v, Early*0.5)
	}
	if v := p.Value(&Trust{}, 0.7, before); v >= Early*0.5 {
		t.Errorf("worth %g well before it is due", v)
	}
	if far := p.Due(&Trust{}, weight, 1e9, now, 0); far != now.Add(maxWait) {
		t.Errorf("what is never due is reconsidered after %v", far.Sub(now))
	}
}

func TestLook_LearnsTheRate(t *testing.T) {
	often, never := fetched("policy", 10*day), fetched("policy", 10*day)
	var trust Trust
	for i := range 20 {
		at := now.Add(time.Duration(i) * 10 * day)
		often.Look(&trust, at, true)
		never.Look(&trust, at, false)
	}
	if f := often.History.mean(); f < 5 {
		t.Errorf("a page that changed 20 times in 200 days has factor %g of 1 in 90 days", f)
	}
	if f := never.History.mean(); f > 0.4 {
		t.Errorf("a page that never changed in 200 days has factor %g", f)
	}
}

func TestTrust_ForgetsSlowly(t *testing.T) {
	var trust Trust
	for range 1000 {
		trust.learn(true, 0.1, true)
	}
	if trust.Newer > memory {
		t.Errorf("%g looks are remembered, want at most %d", trust.Newer, memory)
	}
	for range 200 {
		trust.learn(true, 0.1, false)
	}
	if b := trust.Belief(); b > 0.2 {
		t.Errorf("belief %g in a host that stopped telling the truth", b)
	}
}

func TestThreshold_FollowsDemand(t *testing.T) {
	if up, down := Start.Adjust(100, 10), Start.Adjust(0, 10); up <= Start || down >= Start {
		t.Errorf("with demand %g, without %g, from %g", up, down, Start)
	}
	if got := Start.Adjust(100, 0); got != Start {
		t.Errorf("without a budget it moved to %g", got)
	}
}

// FuzzPage: whatever is stored and whenever it is asked, values are numbers and dates lie ahead.
func FuzzPage(f *testing.F) {
	f.Add("news", uint8(0), uint8(0), int64(0), int64(0), int64(0), true, 0.5)
	f.Add("about", uint8(255), uint8(255), int64(now), int64(now), int64(now), false, 1.0)
	f.Add("", uint8(1), uint8(1), int64(-1), int64(1<<40), int64(5), true, 0.0)
	f.Fuzz(func(t *testing.T, contentType string, shape, factor uint8, published, fetched, at int64, newer bool,
		weight float64) {
		const latest = 1 << 40
		if !(weight >= 0 && weight <= 1) || max(published, fetched, at) > latest ||
			min(published, fetched, at) < -latest {
			return
		}
		p := Page{Profile: ProfileOf(contentType), History: HistoryOf(shape, factor),
			Published: epoch.Seconds(published),
			Fetched:   epoch.Seconds(fetched), Newer: newer}
		var trust Trust
		now := epoch.Seconds(at)
		for _, changed := range []bool{true, false, true} {
			if v := p.Value(&trust, weight, now); !(v >= 0) || math.IsInf(v, 0) {
				t.Fatalf("value %g", v)
			}
			if due := p.Due(&trust, func(epoch.Seconds) float64 { return weight }, float64(Start), now, 0); due < now {
				t.Fatalf("due %d, before %d", due, now)
			}
			p.Look(&trust, now, changed)
			now += 3600
		}
		if b := trust.Belief(); !(b >= 0 && b <= 0.99) {
			t.Fatalf("belief %g", b)
		}
	})
}
