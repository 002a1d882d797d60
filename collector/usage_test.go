package collector_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/newsfork/seed-engine/collector"
	"github.com/newsfork/seed-engine/epoch"
	"github.com/newsfork/seed-engine/fetch/fetchtest"
	"github.com/newsfork/seed-engine/frontier"
)

const tdmFile = "https://example.com/.well-known/tdmrep.json"

// TestUsage: what a site says about the use of its content is in its contract, and leased with its pages.
func TestUsage(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		pages := healthy()
		home := pages["https://example.com/"]
		home.Header = map[string]string{"Content-Type": "text/html", "X-Robots-Tag": "noai, GPTBot: noindex",
			"Tdm-Reservation": "1"}
		pages["https://example.com/"] = home
		text := pages["https://example.com/robots.txt"]
		text.Body = "User-agent: *\nContent-Signal: ai-train=no\n" + text.Body
		pages["https://example.com/robots.txt"] = text
		pages[tdmFile] = fetchtest.Page{Body: `[{"location":"/free/*","tdm-reservation":0}]`}
		w := newWorld(pages, nil)
		w.frontier.open(t)
		v := w.NewBatch(nil).Visit("example.com")
		v.Begin(collector.Lease{Domain: "example.com", Owner: "c"})
		shard := w.Frontier.Of("example.com")
		if a, err := shard.Acquire(t.Context(), frontier.AcquireRequest{Domain: "example.com", Owner: "c",
			Seconds: 600}); err != nil || !a.Granted {
			t.Fatal(a, err)
		}
		if _, err := v.Collect(t.Context(), message(1, "https://example.com/a"), false); err != nil {
			t.Fatal(err)
		}
		got := w.document(t).Usage
		want := `{"directives":[{"name":"noai","source":"header"}],"tdm":[` +
			`{"location":"/free/*","reserved":false,"policy":null,"source":"tdmrep.json"},` +
			`{"location":"/","reserved":true,"policy":null,"source":"header"}],"tdmrep_checked_at":`
		if got == nil || !strings.HasPrefix(asJSON(got), want) || got.CheckedAt == nil {
			t.Errorf("%s, want %s…", asJSON(got), want)
		}
		a, err := shard.Acquire(t.Context(), frontier.AcquireRequest{Domain: "example.com", Owner: "c", Seconds: 600,
			Hosts: []string{"example.com"}})
		if err != nil || !strings.HasSuffix(a.Hosts[0].Usage, "\nheader noai\ntdmrep.json 0 /free/*\nheader 1 /") {
			t.Errorf("%+v, %v", a, err)
		}
		h, err := shard.Host(t.Context(), "example.com")
		if err != nil || !strings.HasPrefix(h.Rules, "User-agent:*\nContent-Signal:ai-train=no\n") {
			t.Errorf("rules %q, %v", h.Rules, err)
		}
	})
}

// TestUsage_Asked: tdmrep.json is requested once in 30 days, and what it said stands until then.
func TestUsage_Asked(t *testing.T) {
	const rule = "\ntdmrep.json 1 /"
	for name, c := range map[string]struct {
		kept  string
		age   time.Duration
		page  fetchtest.Page
		asked bool
		rules int
	}{
		"first":           {"", 0, fetchtest.Page{Body: `[{"location":"/","tdm-reservation":1}]`}, true, 1},
		"lately":          {rule, 29 * epoch.Day, fetchtest.Page{Status: 404}, false, 1},
		"lately, nothing": {" ", 29 * epoch.Day, fetchtest.Page{Status: 404}, false, 0},
		"long ago":        {rule, 31 * epoch.Day, fetchtest.Page{Status: 404}, true, 0},
		"overloaded":      {rule, 31 * epoch.Day, fetchtest.Page{Status: 503}, true, 1},
		"a web page":      {rule, 31 * epoch.Day, fetchtest.Page{Body: "<!doctype html>"}, true, 0},
		"too large": {rule, 31 * epoch.Day,
			fetchtest.Page{Body: `[{"location":"/a","tdm-reservation":1}` + strings.Repeat(" ", 70_000)}, true, 1},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				pages := healthy()
				pages[tdmFile] = c.page
				w := newWorld(pages, nil)
				v := w.NewBatch(nil).Visit("example.com")
				v.Begin(collector.Lease{Usage: func(host string) string {
					if host != "example.com" || c.kept == "" {
						return ""
					}
					return fmt.Sprint(time.Now().Add(-c.age).Unix()) + strings.TrimRight(c.kept, " ")
				}})
				if _, err := v.Collect(t.Context(), message(1, "https://example.com/a"), false); err != nil {
					t.Fatal(err)
				}
				d := w.document(t)
				if asked := slices.Contains(w.web.URLs(), tdmFile); asked != c.asked || len(d.Usage.TDM) != c.rules ||
					d.Partial {
					t.Errorf("asked %v, want %v; %s", asked, c.asked, asJSON(d.Usage))
				}
			})
		})
	}
}
