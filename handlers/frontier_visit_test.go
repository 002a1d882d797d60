package handlers_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/newsfork/seed-engine/contract"
)

func visit(t *testing.T, f *fixture, host, visitor string) contract.FrontierVisit {
	t.Helper()
	return get[contract.FrontierVisit](t, f, "POST", "/api/v1/frontier/visit",
		fmt.Sprintf(`{"host":%q,"visitor":%q,"seconds":60}`, host, visitor))
}

func endVisit(t *testing.T, f *fixture, host, visitor, learned string) bool {
	t.Helper()
	return get[contract.FrontierVisitEnded](t, f, "POST", "/api/v1/frontier/visit/end",
		fmt.Sprintf(`{"host":%q,"visitor":%q%s}`, host, visitor, learned)).Ended
}

// Visitors and scrapers exclude each other, and the pause after a visit holds for both.
func TestFrontierVisit(t *testing.T) {
	f := newFixture(t, nil)
	const host, one, two = "www.h00.example", "visitor-1", "visitor-2"
	put(t, f, hosts(1)...)

	v := visit(t, f, host, one)
	if !v.Granted || v.Reason != nil || v.ExpiresAt == nil || v.Delay != 1 {
		t.Errorf("%+v", v)
	}
	if l := lease(t, f, `{"max":10,"lease_seconds":60}`); len(l.Items) != 0 {
		t.Errorf("a scraper was given a host that is visited: %+v", l.Items)
	}
	if v := visit(t, f, host, two); v.Granted || *v.Reason != contract.VisitBusy || v.RetryAfter == nil ||
		*v.RetryAfter > 60 {
		t.Errorf("two visitors at once: %+v", v)
	}
	if v := visit(t, f, host, one); !v.Granted {
		t.Errorf("a visitor cannot prolong its visit: %+v", v)
	}
	asked := f.now.UTC().Format(time.RFC3339)
	expires := f.now.Add(time.Hour).UTC().Format(time.RFC3339)
	if !endVisit(t, f, host, one,
		fmt.Sprintf(`,"asked_at":%q,"crawl_delay_seconds":20,"robots_expires_at":%q`, asked, expires)) {
		t.Error("the visit was over")
	}
	if endVisit(t, f, host, one, "") {
		t.Error("a visit ended twice")
	}
	if v := visit(t, f, host, two); !v.Granted || v.ReadyAt == nil || v.ReadyAt.Before(f.now.Add(15*time.Second)) ||
		v.Delay != 20 {
		t.Errorf("after a visit, with a crawl delay of 20 s: %+v", v)
	}
	endVisit(t, f, host, two, "")
	if l := lease(t, f, `{"max":10,"lease_seconds":60}`); len(l.Items) != 0 {
		t.Errorf("a scraper was given a host before its delay: %+v", l.Items)
	}
	f.now = f.now.Add(25 * time.Second)
	if l := lease(t, f, `{"max":10,"lease_seconds":60}`); len(l.Items) != 1 {
		t.Errorf("a scraper was not given a host after its delay: %+v", l)
	}
	if v := visit(t, f, host, two); v.Granted || *v.Reason != contract.VisitBusy {
		t.Errorf("a visitor was given the host of a scraper: %+v", v)
	}
}

func TestFrontierVisit_Refused(t *testing.T) {
	f := newFixture(t, nil)
	f.do(t, "PUT", "/api/v1/exclusions/domain/out.example", `{}`)
	if v := visit(t, f, "www.out.example", "visitor-1"); v.Granted || *v.Reason != contract.VisitExcluded ||
		v.RetryAfter != nil {
		t.Errorf("%+v", v)
	}
	visit(t, f, "gone.example", "visitor-1")
	endVisit(t, f, "gone.example", "visitor-1", `,"unresolved":true`)
	if v := visit(t, f, "gone.example", "visitor-1"); v.Granted || *v.Reason != contract.VisitUnresolved {
		t.Errorf("%+v", v)
	}
	visit(t, f, "slow.example", "visitor-1")
	endVisit(t, f, "slow.example", "visitor-1",
		fmt.Sprintf(`,"asked_at":%q,"retry_after_seconds":600,"throttled":true`, f.now.UTC().Format(time.RFC3339)))
	if v := visit(t, f, "slow.example", "visitor-1"); v.Granted || *v.Reason != contract.VisitBusy ||
		*v.RetryAfter < 500 {
		t.Errorf("within a Retry-After of ten minutes: %+v", v)
	}
	f.do(t, "POST", "/api/v1/pipeline/pause", `{}`)
	if v := visit(t, f, "a.example", "visitor-1"); v.Granted || *v.Reason != contract.VisitBusy {
		t.Errorf("while the pipeline is paused: %+v", v)
	}
	for _, body := range []string{`{}`, `{"host":"UPPER.example","visitor":"visitor-1","seconds":60}`,
		`{"host":"a.example","visitor":"short","seconds":60}`,
		`{"host":"a.example","visitor":"visitor-1","seconds":4}`,
		`{"host":"a.example","visitor":"visitor-1"}`} {
		if w := f.do(t, "POST", "/api/v1/frontier/visit", body); w.status != 400 {
			t.Errorf("%s: %d", body, w.status)
		}
	}
	if w := f.do(t, "POST", "/api/v1/frontier/visit/end",
		`{"host":"a.example","visitor":"visitor-1","crawl_delay_seconds":-1}`); w.status != 400 {
		t.Errorf("a negative delay: %d", w.status)
	}
}
