package handlers_test

import (
	"encoding/json"
	"fmt"
	"net/http/httptest"
	"net/url"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/newsfork/seed-engine/contract"
	"github.com/newsfork/seed-engine/epoch"
	"github.com/newsfork/seed-engine/frontier"
	"github.com/newsfork/seed-engine/frontier/client"
	"github.com/newsfork/seed-engine/frontier/placement"
	"github.com/newsfork/seed-engine/frontier/shard/store"
	"github.com/newsfork/seed-engine/settings"
)

// put queues pages of some hosts and returns the outcome.
func put(t *testing.T, f *fixture, urls ...string) contract.FrontierPut {
	t.Helper()
	list := make([]map[string]string, len(urls))
	for i, u := range urls {
		list[i] = map[string]string{"url": u}
	}
	return get[contract.FrontierPut](t, f, "POST", "/api/v1/frontier/urls",
		encode(t, map[string]any{"urls": list, "partition_info": place}))
}

func lease(t *testing.T, f *fixture, body string) contract.FrontierLease {
	t.Helper()
	return get[contract.FrontierLease](t, f, "POST", "/api/v1/frontier/lease", body)
}

func encode(t *testing.T, v any) string {
	t.Helper()
	b, err := json.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

// report reports every item of a lease with a status.
func report(t *testing.T, f *fixture, l contract.FrontierLease, status int) contract.FrontierReported {
	t.Helper()
	return get[contract.FrontierReported](t, f, "POST", "/api/v1/frontier/report", reportBody(t, l, status))
}

func reportBody(t *testing.T, l contract.FrontierLease, status int) string {
	t.Helper()
	results := make([]map[string]any, len(l.Items))
	for i, item := range l.Items {
		results[i] = map[string]any{"id": item.ID, "status": status}
	}
	return encode(t, map[string]any{"lease_id": l.LeaseID, "results": results})
}

func urlsOf(l contract.FrontierLease) []string {
	urls := make([]string, len(l.Items))
	for i, item := range l.Items {
		urls[i] = item.URL
	}
	slices.Sort(urls)
	return urls
}

// hosts returns n URLs on hosts of different domains.
func hosts(n int) []string {
	urls := make([]string, n)
	for i := range urls {
		urls[i] = fmt.Sprintf("https://www.h%02d.example/news/2026/article-%d", i, i)
	}
	return urls
}

// A scraper leases, fetches, reports, and leases what it found.
func TestFrontier_Scraper(t *testing.T) {
	f := newFixture(t, nil)
	if l := lease(t, f, `{"max":10,"lease_seconds":60}`); len(l.Items) != 0 || l.LeaseID != nil ||
		l.ExpiresAt != nil || l.RetryAfter == nil || *l.RetryAfter < 1 {
		t.Errorf("of an empty frontier: %+v", l)
	}
	body := `{"urls":[
		{"url":"https://www.mom.gov.sg/newsroom/press-releases/2026/rules","title":"Rules","type":"press_release","priority":0.75,"lastmod":"2026-01-27"},
		{"url":"http://www.mom.gov.sg/newsroom/press-releases/2026/rules#top"},
		{"url":"https://news.example/news/2026/01/28/article"},
		{"url":"ftp://news.example/file"},
		{"url":"https://10.0.0.1/"}],
		"partition_info":{"country":"sg","category":"news","date":"2026-01-28"}}`
	added := get[contract.FrontierPut](t, f, "POST", "/api/v1/frontier/urls", body)
	if added.Accepted != 2 || added.Duplicates != 1 || len(added.Rejected) != 2 ||
		added.Rejected[0] != (contract.RejectedURL{URL: "ftp://news.example/file", Reason: "invalid_url"}) {
		t.Errorf("put: %+v", added)
	}
	if again := get[contract.FrontierPut](t, f, "POST", "/api/v1/frontier/urls", body); again.Accepted != 0 ||
		again.Duplicates != 3 {
		t.Errorf("put again: %+v", again)
	}

	l := lease(t, f, `{"max":10,"lease_seconds":60,"country":"SG","category":"news"}`)
	if got := urlsOf(l); !slices.Equal(got,
		[]string{"https://news.example/news/2026/01/28/article",
			"https://www.mom.gov.sg/newsroom/press-releases/2026/rules"}) {
		t.Fatalf("leased %v", got)
	}
	if l.LeaseID == nil || l.ExpiresAt == nil || !l.ExpiresAt.Equal(f.now.Add(time.Minute)) || l.RetryAfter != nil {
		t.Errorf("lease: %+v", l)
	}
	slices.SortFunc(l.Items, func(a, b contract.FrontierItem) int { return strings.Compare(a.Domain, b.Domain) })
	item := l.Items[0]
	item.ID = ""
	lastmod := contract.Time{Time: time.Date(2026, 1, 27, 0, 0, 0, 0, time.UTC)}
	first := 1
	want := contract.FrontierItem{
		URL: "https://www.mom.gov.sg/newsroom/press-releases/2026/rules", Host: "www.mom.gov.sg",
		Domain: "mom.gov.sg", Kind: "page", Type: "press_release",
		Priority: 0.75, Title: contract.Text("Rules"), LastMod: &lastmod, CrawlDelay: 1,
		UserAgent: f.api.Settings.UserAgent, Partition: place, Reason: contract.Text("new"), Visit: &first,
	}
	if encode(t, item) != encode(t, want) {
		t.Errorf("item: %s\nwant %s", encode(t, item), encode(t, want))
	}
	if other := l.Items[1]; other.Type != "news" || other.Priority < 0.5 || other.Title != nil ||
		other.LastMod != nil {
		t.Errorf("classified and scored: %+v", other)
	}
	if others := lease(t, f, `{"max":10,"lease_seconds":60}`); len(others.Items) != 0 {
		t.Errorf("given twice: %+v", others)
	}

	reported := get[contract.FrontierReported](t, f, "POST", "/api/v1/frontier/report",
		encode(t, map[string]any{"lease_id": l.LeaseID, "results": []any{
			map[string]any{"id": l.Items[0].ID, "status": 200, "fetched_at": "2026-01-28T10:00:01+09:00",
				"etag":          `"1"`,
				"last_modified": "x", "sha256": strings.Repeat("aB", 32), "retry_after_seconds": 0,
				"redirected_to": "https://www.mom.gov.sg/newsroom/rules", "urls": []any{
					map[string]any{"url": "https://www.mom.gov.sg/newsroom/press-releases/2026/more",
						"title": "More"},
					map[string]any{"url": "https://www.mom.gov.sg/newsroom/rules"},
					map[string]any{"url": "https://elsewhere.example/news/2026/found"},
					map[string]any{"url": "mailto:a@b.example"},
				}},
			map[string]any{"id": l.Items[1].ID, "error": "timeout_error"},
			map[string]any{"id": "7.x.0000000001-000000000001", "status": 200},
			map[string]any{"id": "nonsense", "error": "unresolved"},
		}}))
	if reported.Accepted != 2 || reported.Unknown != 2 || reported.Added != 2 {
		t.Errorf("reported: %+v", reported)
	}
	f.now = f.now.Add(2 * time.Second)
	found := lease(t, f, `{"max":10,"lease_seconds":60}`)
	if got := urlsOf(found); !slices.Equal(got,
		[]string{"https://elsewhere.example/news/2026/found",
			"https://www.mom.gov.sg/newsroom/press-releases/2026/more"}) {
		t.Errorf("leased what was found: %v", got)
	}
	if title := found.Items[slices.IndexFunc(found.Items,
		func(i contract.FrontierItem) bool { return i.Domain == "mom.gov.sg" })].Title; title == nil ||
		*title != "More" {
		t.Errorf("title of what was found: %v", title)
	}
}

// A lease has only URLs that pass its filters.
func TestLease_Filters(t *testing.T) {
	f := newFixture(t, nil)
	kr := contract.Partition{Country: "kr", Category: "government", Date: "2026-01-28"}
	for i, p := range []contract.Partition{place, kr} {
		get[contract.FrontierPut](t, f, "POST", "/api/v1/frontier/urls",
			encode(t, map[string]any{"partition_info": p, "urls": []any{
				map[string]any{"url": fmt.Sprintf("https://a%d.example/1", i), "type": "news"},
				map[string]any{"url": fmt.Sprintf("https://a%d.example/2", i), "type": "news"},
				map[string]any{"url": fmt.Sprintf("https://b%d.example/1", i), "type": "faq"},
			}}))
	}
	for _, c := range []struct {
		body string
		want []string
	}{
		{`{"max":1,"lease_seconds":60,"types":["faq"],"country":"kr"}`, []string{"https://b1.example/1"}},
		{`{"max":9,"lease_seconds":60,"kinds":["entry"]}`, []string{}},
		{`{"max":9,"lease_seconds":60,"country":"kr","category":"news"}`, []string{}},
		{`{"max":9,"lease_seconds":60,"types":["event"]}`, []string{}},
		{`{"max":9,"lease_seconds":60,"category":"government","per_host":5}`,
			[]string{"https://a1.example/1", "https://a1.example/2"}},
		{`{"max":9,"lease_seconds":60,"types":["news","event"],"kinds":["page","entry"]}`,
			[]string{"https://a0.example/1"}},
	} {
		got := urlsOf(lease(t, f, c.body))
		if c.body[len(c.body)-10:] == `"entry"]}` && len(got) == 1 { // either page of the host is fine
			got[0] = c.want[0]
		}
		if !slices.Equal(got, c.want) {
			t.Errorf("%s: %v, want %v", c.body, got, c.want)
		}
	}
}

// A lease of a domain or a host has only its items, best first.
func TestLease_OfDomain(t *testing.T) {
	f := newFixture(t, nil)
	get[contract.FrontierPut](t, f, "POST", "/api/v1/frontier/urls",
		encode(t, map[string]any{"partition_info": place, "urls": []any{
			map[string]any{"url": "https://a.example/low", "priority": 0.3},
			map[string]any{"url": "https://www.a.example/high", "priority": 0.9},
			map[string]any{"url": "https://b.example/middle", "priority": 0.6},
			map[string]any{"url": "https://c.example/low", "priority": 0.3},
		}}))
	for _, c := range []struct {
		body string
		want []string
	}{
		{`"host":"www.a.example","min_score":0.95`, nil},
		{`"domain":"a.example"`, []string{"https://www.a.example/high", "https://a.example/low"}},
		{`"min_score":0.5`, []string{"https://b.example/middle"}},
		{`"host":"C.example"`, []string{"https://c.example/low"}},
	} {
		var got []string
		for _, item := range lease(t, f, `{"max":9,"lease_seconds":60,`+c.body+`}`).Items {
			got = append(got, item.URL)
		}
		if !slices.Equal(got, c.want) {
			t.Errorf("%s: %v, want %v", c.body, got, c.want)
		}
	}
	for field, value := range map[string]string{"domain": `"www.a.example"`, "host": `"10.0.0.1"`, "min_score": "1.5"} {
		if r := f.do(t, "POST", "/api/v1/frontier/lease",
			`{"max":9,"lease_seconds":60,"`+field+`":`+value+`}`); r.status != 400 || r.Error.Field != field {
			t.Errorf("%s %s: %d %+v", field, value, r.status, r.Error)
		}
	}
}

// A scraper gets the robots.txt that the engine has read, and is told when it must read it itself.
func TestLease_Robots(t *testing.T) {
	f := newFixture(t, nil)
	put(t, f, "https://a.example/1", "https://b.example/1", "https://c.example/1")
	expires := contract.AtMillis(epoch.MillisOf(f.now.Add(time.Hour)))
	for host, rules := range map[string]string{"a.example": "User-agent:*\nDisallow:/private\n", "b.example": "",
		"c.example": frontier.PartialRules} {
		f.readRobots(t, host, f.now.Add(time.Hour), rules)
	}
	path := "/api/v1/frontier/hosts/%s/robots.txt"
	l := lease(t, f, `{"max":9,"lease_seconds":60}`)
	for host, want := range map[string]contract.FrontierRobots{
		"a.example": {Status: contract.RobotsFresh, ExpiresAt: expires,
			URL: contract.Text(fmt.Sprintf(path, "a.example"))},
		"b.example": {Status: contract.RobotsFresh, ExpiresAt: expires,
			URL: contract.Text(fmt.Sprintf(path, "b.example"))},
		"c.example": {Status: contract.RobotsPartial},
	} {
		if got := l.Hosts[host]; encode(t, got) != encode(t, contract.FrontierLeasedHost{Delay: 1, Robots: want}) {
			t.Errorf("%s: %s", host, encode(t, got))
		}
	}
	if len(l.Hosts) != 3 {
		t.Errorf("hosts: %v", l.Hosts)
	}
	read := func(host string, header ...string) *httptest.ResponseRecorder {
		return f.raw(t, "GET", fmt.Sprintf(path, host), "", header...)
	}
	a := read("a.example")
	if a.Code != 200 || a.Body.String() != "User-agent:*\nDisallow:/private\n" ||
		a.Header().Get("Cache-Control") != "private, max-age=3600" || a.Header().Get("ETag") == "" {
		t.Errorf("a: %d %q %v", a.Code, a.Body, a.Header())
	}
	if r := read("a.example", "If-None-Match", a.Header().Get("ETag")); r.Code != 304 {
		t.Errorf("with its ETag: %d", r.Code)
	}
	if b := read("b.example"); b.Code != 200 || b.Body.String() != "User-agent: *\nAllow: /\n" {
		t.Errorf("b: %d %q", b.Code, b.Body)
	}
	for _, host := range []string{"c.example", "unknown.example"} {
		if r := read(host); r.Code != 404 {
			t.Errorf("%s: %d", host, r.Code)
		}
	}
	f.api.Settings.ScraperUserAgent = "OtherBot/2.0"
	if r := read("a.example"); r.Code != 404 {
		t.Errorf("for another user agent: %d", r.Code)
	}
	f.now = f.now.Add(2 * time.Minute)
	l = lease(t, f, `{"max":9,"lease_seconds":60}`)
	if got := l.Hosts["a.example"].Robots.Status; got != contract.RobotsUnread {
		t.Errorf("for another user agent: %s", got)
	}
	f.api.Settings.ScraperUserAgent = f.api.Settings.UserAgent
	f.now = f.now.Add(time.Hour)
	if r := read("a.example"); r.Code != 404 {
		t.Errorf("expired: %d", r.Code)
	}
}

// Scrapers are counted by name over all shards, those without one together.
func TestStats_Scrapers(t *testing.T) {
	f := newFixture(t, nil)
	put(t, f, "https://a.example/1", "https://b.example/1", "https://c.example/1")
	for name, want := range map[string]int{"one.1": 200, "-x": 400, "two words": 400, strings.Repeat("x", 41): 400} {
		if r := f.raw(t, "POST", "/api/v1/frontier/lease", `{"max":9,"lease_seconds":60}`, "X-Scraper",
			name); r.Code != want {
			t.Errorf("%s: %d %s", name, r.Code, r.Body)
		} else if want == 400 && !strings.Contains(r.Body.String(), "40") {
			t.Errorf("%s: the limit is not named: %s", name, r.Body)
		}
	}
	body := f.raw(t, "GET", "/api/v1/frontier/stats", "").Body.String()
	if !strings.Contains(body, `"scrapers":[{"name":"one.1",`) ||
		!strings.Contains(body, `"leased":3,"fetched":0,"failed":0}]`) {
		t.Error(body)
	}
}

// Items say what the site says about the use of its content.
func TestLease_Usage(t *testing.T) {
	f := newFixture(t, nil)
	put(t, f, "https://a.example/1", "https://b.example/1", "https://c.example/1")
	f.readRobots(t, "a.example", f.now.Add(time.Hour), "User-agent:*\nContent-Signal:ai-train=no,search=yes\n")
	said := "1764340000\nheader noai\ntdmrep.json 1 / https://b.example/policy"
	shard := f.api.Frontier.Of("b.example")
	if a, err := shard.Acquire(t.Context(), frontier.AcquireRequest{Domain: "b.example", Owner: "c",
		Seconds: 9}); err != nil || !a.Granted {
		t.Fatal(a, err)
	}
	if _, err := shard.Release(t.Context(), frontier.ReleaseRequest{Domain: "b.example", Owner: "c",
		Hosts: []frontier.HostFindings{{Host: "b.example", Usage: &said}}}); err != nil {
		t.Fatal(err)
	}
	want := map[string]string{
		"a.example": `{"content_signals":{"ai-train":"no","search":"yes"},"noai":false,"noimageai":false,` +
			`"tdm_reserved":null,"tdm_policy":null}`,
		"b.example": `{"content_signals":{},"noai":true,"noimageai":false,"tdm_reserved":true,` +
			`"tdm_policy":"https://b.example/policy"}`,
		"c.example": "null",
	}
	l := lease(t, f, `{"max":9,"lease_seconds":60}`)
	for i := range l.Items {
		item := &l.Items[i]
		if got := encode(t, item.Usage); got != want[item.Host] {
			t.Errorf("%s: %s", item.Host, got)
		}
		delete(want, item.Host)
	}
	if len(want) > 0 {
		t.Errorf("not leased: %v", want)
	}
}

// One link without an address is counted, and loses nothing of the report.
func TestReport_EmptyURL(t *testing.T) {
	f := newFixture(t, nil)
	put(t, f, "https://a.example/1")
	l := lease(t, f, `{"max":9,"lease_seconds":60}`)
	got := get[contract.FrontierReported](t, f, "POST", "/api/v1/frontier/report",
		encode(t, map[string]any{"lease_id": l.LeaseID, "results": []any{map[string]any{"id": l.Items[0].ID,
			"status": 200, "urls": []any{map[string]any{"url": ""}, map[string]any{"url": "https://a.example/2"},
				map[string]any{"title": "no address"}}}}}))
	if got.Accepted != 1 || got.Added != 1 || got.Found.Invalid != 2 {
		t.Errorf("%+v", got)
	}
}

// Repeated and foreign reports change nothing. A late one counts for the hosts that nobody else was given.
func TestReport_Idempotent(t *testing.T) {
	f := newFixture(t, nil)
	put(t, f, hosts(4)...)
	first := lease(t, f, `{"max":4,"lease_seconds":60}`)
	if len(first.Items) != 4 {
		t.Fatalf("leased %d", len(first.Items))
	}
	f.now = f.now.Add(61 * time.Second)
	second := lease(t, f, `{"max":2,"lease_seconds":60}`)
	if len(second.Items) != 2 {
		t.Fatalf("leased %d again", len(second.Items))
	}
	before := get[contract.FrontierStats](t, f, "GET", "/api/v1/frontier/stats", "")
	if late := report(t, f, first, 200); late.Accepted != 0 || late.Late != 2 || late.Unknown != 2 ||
		len(late.Results) != 4 ||
		late.Results[0].ID != first.Items[0].ID {
		t.Errorf("after the lease: %+v", late)
	}
	if after := get[contract.FrontierStats](t, f, "GET", "/api/v1/frontier/stats", ""); after.Done != before.Done+2 ||
		after.Leased > before.Leased || after.URLs != before.URLs-2 {
		t.Errorf("a late report changes %+v to %+v", before, after)
	}
	stolen := second
	stolen.LeaseID = first.LeaseID
	if got := report(t, f, stolen, 200); got.Accepted != 0 || got.Unknown != 2 {
		t.Errorf("of another's lease: %+v", got)
	}
	for range 2 {
		if got := report(t, f, second, 200); got.Accepted != 2 || got.Unknown != 0 {
			t.Errorf("reported: %+v", got)
		}
	}
	if s := get[contract.FrontierStats](t, f, "GET", "/api/v1/frontier/stats", ""); s.Done != 4 || s.URLs != 0 ||
		s.AnsweredToday != 4 {
		t.Errorf("after two reports of two pages: %+v", s)
	}
	if got := get[contract.FrontierReported](t, f, "POST", "/api/v1/frontier/report",
		`{"lease_id":"never given","results":[]}`); got.Accepted != 0 || got.Unknown != 0 {
		t.Errorf("nothing of no lease: %+v", got)
	}
}

// Some errors mean more than "no answer".
func TestReport_Errors(t *testing.T) {
	f := newFixture(t, nil)
	urls := hosts(5)
	put(t, f, urls...)
	l := lease(t, f, `{"max":5,"lease_seconds":60}`)
	errs := map[string]string{urls[0]: "unresolved", urls[1]: "robots_disallowed", urls[2]: "not_fetched",
		urls[3]: "connection reset", urls[4]: "robots_unknown"}
	results := make([]map[string]any, len(l.Items))
	for i, item := range l.Items {
		results[i] = map[string]any{"id": item.ID, "error": errs[item.URL]}
	}
	get[contract.FrontierReported](t, f, "POST", "/api/v1/frontier/report",
		encode(t, map[string]any{"lease_id": l.LeaseID, "results": results}))
	if s := get[contract.FrontierURL](t, f, "GET", "/api/v1/frontier/url?url="+url.QueryEscape(urls[3]),
		""); s.LastFailure == nil || s.LastFailure.Status != nil || s.LastFailure.Error == nil ||
		*s.LastFailure.Error != "connection reset" || !strings.Contains(s.Why, "connection reset") {
		t.Errorf("a URL that failed: %+v, %q", s.LastFailure, s.Why)
	}
	name, _, _ := strings.Cut(strings.TrimPrefix(urls[3], "https://"), "/")
	d := get[contract.FrontierHostDetail](t, f, "GET", "/api/v1/frontier/hosts/"+name, "")
	page := get[contract.FrontierHostPage](t, f, "GET", "/api/v1/frontier/hosts", "")
	i := slices.IndexFunc(page.Hosts, func(h contract.FrontierHost) bool { return h.Host == name })
	for _, h := range []contract.FrontierHost{d.FrontierHost, page.Hosts[i]} {
		if h.Failures != 1 || h.LastFailure == nil || h.LastFailure.Error == nil ||
			*h.LastFailure.Error != "connection reset" {
			t.Errorf("its host: %+v", h)
		}
	}
	again := func(after time.Duration) []string {
		t.Helper()
		f.now = f.now.Add(after)
		l := lease(t, f, `{"max":4,"lease_seconds":600}`)
		return urlsOf(l)
	}
	if got := again(2 * time.Second); !slices.Equal(got, []string{urls[2]}) {
		t.Errorf("at once: %v", got)
	}
	if got := again(2 * time.Minute); !slices.Equal(got, []string{urls[3]}) {
		t.Errorf("after minutes: %v", got)
	}
	if got := again(2 * time.Hour); !slices.Contains(got, urls[0]) || !slices.Contains(got, urls[4]) ||
		slices.Contains(got, urls[1]) {
		t.Errorf("after hours: %v", got)
	}
}

// Not even a shard that does not know of the exclusion yet leases the URL.
func TestLease_Excluded(t *testing.T) {
	f := newFixture(t, nil)
	put(t, f, "https://a.example/1", "https://www.b.example/1", "https://c.example/private/1", "https://d.example/1")
	for _, x := range []string{"domain/a.example", "host/www.b.example",
		"url/https%3A%2F%2Fc.example%2Fprivate%2F*"} {
		f.do(t, "PUT", "/api/v1/exclusions/"+x, "")
	}
	if got := urlsOf(lease(t, f, `{"max":10,"lease_seconds":60}`)); !slices.Equal(got,
		[]string{"https://d.example/1"}) {
		t.Errorf("leased %v", got)
	}
	added := put(t, f, "https://a.example/2", "https://C.example/private/2", "https://d.example/2")
	if added.Accepted != 1 || len(added.Rejected) != 2 ||
		added.Rejected[1] != (contract.RejectedURL{URL: "https://C.example/private/2", Reason: "excluded"}) {
		t.Errorf("put: %+v", added)
	}
	f.now = f.now.Add(2 * time.Minute)
	if l := lease(t, f, `{"max":1,"lease_seconds":60,"types":["event"]}`); len(l.Items) != 0 || *l.RetryAfter < 1 {
		t.Errorf("leased %+v", l)
	}
}

// A paused pipeline leases nothing but accepts reports that found nothing.
func TestLease_Paused(t *testing.T) {
	f := newFixture(t, nil)
	put(t, f, hosts(2)...)
	l := lease(t, f, `{"max":1,"lease_seconds":60}`)
	f.do(t, "POST", "/api/v1/pipeline/pause", "")
	calls := f.shards.calls
	if none := lease(t, f, `{"max":9,"lease_seconds":60}`); len(none.Items) != 0 || none.LeaseID != nil ||
		*none.RetryAfter != 60 || f.shards.calls != calls {
		t.Errorf("leased %+v", none)
	}
	if got := report(t, f, l, 200); got.Accepted != 1 {
		t.Errorf("reported %+v", got)
	}
	f.do(t, "POST", "/api/v1/pipeline/resume", "")
	if l := lease(t, f, `{"max":9,"lease_seconds":60}`); len(l.Items) != 1 {
		t.Errorf("leased %+v", l)
	}
}

// While the pipeline is paused, domains might be moving between shards. New URLs are refused as a whole, before
// anything of a report is applied, and are taken afterwards.
func TestPut_Paused(t *testing.T) {
	f := newFixture(t, nil)
	put(t, f, hosts(2)...)
	l := lease(t, f, `{"max":1,"lease_seconds":600}`)
	f.do(t, "POST", "/api/v1/pipeline/pause", "")
	puts := encode(t, map[string]any{"urls": []map[string]string{{"url": "https://late.example/a"}},
		"partition_info": place})
	reports := encode(t, map[string]any{"lease_id": l.LeaseID, "results": []map[string]any{{"id": l.Items[0].ID,
		"status": 200, "urls": []map[string]string{{"url": l.Items[0].URL + "/found"}}}}})
	calls := f.shards.calls
	for target, body := range map[string]string{"/api/v1/frontier/urls": puts, "/api/v1/frontier/report": reports} {
		if r := f.do(t, "POST", target, body); r.status != 503 || r.header.Get("Retry-After") != "60" ||
			r.Error.Code != "paused" {
			t.Errorf("%s: %d %+v %v", target, r.status, r.Error, r.header)
		}
	}
	if f.shards.calls != calls {
		t.Error("a shard was called")
	}
	f.do(t, "POST", "/api/v1/pipeline/resume", "")
	if got := get[contract.FrontierReported](t, f, "POST", "/api/v1/frontier/report", reports); got.Accepted != 1 ||
		got.Added != 1 {
		t.Errorf("reported %+v", got)
	}
	if got := get[contract.FrontierPut](t, f, "POST", "/api/v1/frontier/urls", puts); got.Accepted != 1 {
		t.Errorf("put %+v", got)
	}
}

// Errors name the wrong field, down to the element of a list.
func TestFrontier_Requests(t *testing.T) {
	f := newFixture(t, nil)
	result := func(s string) string {
		return `{"lease_id":"0.1","results":[{"id":"a","status":200},{"id":"b","error":"x"},` + s + `]}`
	}
	urls := func(s string) string {
		return `{"urls":[{"url":"https://a.example/"},` + s +
			`],"partition_info":{"country":"sg","category":"news","date":"2026-01-28"}}`
	}
	for _, c := range []struct{ route, body, field string }{
		{"lease", ``, "max"},
		{"lease", `{"lease_seconds":60}`, "max"},
		{"lease", `{"max":0,"lease_seconds":60}`, "max"},
		{"lease", `{"max":501,"lease_seconds":60}`, "max"},
		{"lease", `{"max":1.5,"lease_seconds":60}`, "max"},
		{"lease", `{"max":"1","lease_seconds":60}`, "max"},
		{"lease", `{"max":1}`, "lease_seconds"},
		{"lease", `{"max":1,"lease_seconds":9}`, "lease_seconds"},
		{"lease", `{"max":1,"lease_seconds":901}`, "lease_seconds"},
		{"lease", `{"max":1,"lease_seconds":60,"country":"sgp"}`, "country"},
		{"lease", `{"max":1,"lease_seconds":60,"category":"a/b"}`, "category"},
		{"lease", `{"max":1,"lease_seconds":60,"types":"news"}`, "types"},
		{"lease", `{"max":1,"lease_seconds":60,"types":["news","newz"]}`, "types[1]"},
		{"lease", `{"max":1,"lease_seconds":60,"types":[` + strings.Repeat(`"news",`, 23) + `"news"]}`, "types"},
		{"lease", `{"max":1,"lease_seconds":60,"kinds":["page","feed"]}`, "kinds[1]"},
		{"lease", `{"max":1,"lease_seconds":60,"kinds":["page","entry","page"]}`, "kinds"},
		{"lease", `{"max":1,"lease_seconds":60,"per_host":0}`, "per_host"},
		{"lease", `{"max":1,"lease_seconds":60,"per_host":21}`, "per_host"},
		{"lease", `{"max":1,"lease_seconds":60,"max_hosts":0}`, "max_hosts"},
		{"lease", `{"max":1,"lease_seconds":60,"max_hosts":501}`, "max_hosts"},
		{"lease", `{"max":1,"lease_seconds":60,"date":"2026-01-28"}`, "date"},
		{"lease", `[]`, "body"},
		{"lease", `{`, "body"},
		{"report", `{"results":[]}`, "lease_id"},
		{"report", `{"lease_id":7,"results":[]}`, "lease_id"},
		{"report", `{"lease_id":"0.1"}`, "results"},
		{"report", `{"lease_id":"0.1","results":{}}`, "results"},
		{"report", `{"lease_id":"0.1","results":[` + strings.Repeat(`{"id":"a","status":200},`, 500) +
			`{"id":"a","status":200}]}`, "results"},
		{"report", result(`{"status":200}`), "results[2].id"},
		{"report", result(`{"id":"a"}`), "results[2].status"},
		{"report", result(`{"id":"a","status":99}`), "results[2].status"},
		{"report", result(`{"id":"a","status":1000}`), "results[2].status"},
		{"report", result(`{"id":"a","status":"200"}`), "results[2].status"},
		{"report", result(`{"id":"a","status":200,"error":"x"}`), "results[2].error"},
		{"report", result(`{"id":"a","error":""}`), "results[2].status"},
		{"report", result(`{"id":"a","error":"` + strings.Repeat("x", 501) + `"}`), "results[2].error"},
		{"report", result(`{"id":"a","status":200,"fetched_at":"yesterday"}`), "results[2].fetched_at"},
		{"report", result(`{"id":"a","status":200,"sha256":"abc"}`), "results[2].sha256"},
		{"report", result(`{"id":"a","status":200,"retry_after_seconds":-1}`), "results[2].retry_after_seconds"},
		{"report", result(`{"id":"a","status":200,"nonsense":1}`), "results[2].nonsense"},
		{"report", result(`{"id":"a","status":200,"urls":[{"url":"https://a.example/"},{"url":1}]}`),
			"results[2].urls[1].url"},
		{"report", result(`{"id":"a","status":200,"urls":[{"url":"https://a.example/","href":"x"}]}`),
			"results[2].urls[0].href"},
		{"report", result(`{"id":"a","status":200,"urls":["https://a.example/"]}`), "results[2].urls[0]"},
		{"report", result(`7`), "results[2]"},
		{"report", result(`null`), "results[2]"},
		{"urls", `{"partition_info":{"country":"sg","category":"news","date":"2026-01-28"}}`, "urls"},
		{"urls", `{"urls":[],"partition_info":{"country":"sg","category":"news","date":"2026-01-28"}}`, "urls"},
		{"urls", `{"urls":[{"url":"https://a.example/"}]}`, "partition_info.country"},
		{"urls",
			`{"urls":[{"url":"https://a.example/"}],"partition_info":{"country":"sg","category":"news",` +
				`"date":"2026-02-30"}}`,
			"partition_info.date"},
		{"urls",
			`{"urls":[{"url":"https://a.example/"}],"partition_info":{"country":"sg","category":"news",` +
				`"day":"2026-01-28"}}`,
			"day"},
		{"urls", urls(`{"title":"x"}`), "urls[1].url"},
		{"urls", urls(`{"url":"https://a.example/","type":"newz"}`), "urls[1].type"},
		{"urls", urls(`{"url":"https://a.example/","priority":1.1}`), "urls[1].priority"},
		{"urls", urls(`{"url":"https://a.example/","priority":-0.1}`), "urls[1].priority"},
		{"urls", urls(`{"url":"https://a.example/","priority":"high"}`), "urls[1].priority"},
		{"urls", urls(`{"url":"https://a.example/","lastmod":"soon"}`), "urls[1].lastmod"},
		{"urls", urls(`{"url":"https://a.example/","interval":60}`), "urls[1].interval"},
		{"urls", urls(`"https://a.example/"`), "urls[1]"},
		{"hosts/a.example", ``, "body"},
		{"hosts/a.example", `{}`, "body"},
		{"hosts/a.example", `{"empty":false}`, "body"},
		{"hosts/a.example", `{"empty":"yes"}`, "empty"},
		{"hosts/a.example", `{"block_until":"tomorrow"}`, "block_until"},
		{"hosts/a.example", `{"block_until":"9999-01-01T00:00:00Z"}`, "block_until"},
		{"hosts/a.example", `{"delay_seconds":-1}`, "delay_seconds"},
		{"hosts/a.example", `{"delay_seconds":86401}`, "delay_seconds"},
		{"hosts/a..example", `{"empty":true}`, "host"},
		{"hosts/a.example:x", `{"empty":true}`, "host"},
	} {
		r := f.do(t, "POST", "/api/v1/frontier/"+c.route, c.body)
		if r.status != 400 || r.Error.Field != c.field || r.Error.Message == "" {
			t.Errorf("%s %.200s: %d %+v, want the field %s", c.route, c.body, r.status, r.Error, c.field)
		}
	}
	for target, field := range map[string]string{
		"url": "url", "url?url=ftp%3A%2F%2Fa.example%2F": "url", "url?url=a&url=b": "url", "hosts?sort=name": "sort",
		"hosts?blocked=maybe": "blocked", "hosts?limit=201": "limit",
		"hosts?cursor=nonsense": "cursor", "stats?x=1": "x", "shards/shard-0/export?cursor=-1": "cursor",
		"shards/shard-0/export?from=1": "from",
	} {
		if r := f.do(t, "GET", "/api/v1/frontier/"+target, ""); r.status != 400 || r.Error.Field != field {
			t.Errorf("%s: %d %+v", target, r.status, r.Error)
		}
	}
	for _, target := range []string{"shards/shard-3/export", "shards/shard--1/export", "shards/shard-00/export",
		"shards/1/export"} {
		if r := f.do(t, "GET", "/api/v1/frontier/"+target, ""); r.status != 404 {
			t.Errorf("%s: %d", target, r.status)
		}
	}
	for route, most := range map[string]int{"lease": 64, "report": 1024, "urls": 1024, "hosts/a.example": 64} {
		r := f.do(t, "POST", "/api/v1/frontier/"+route, strings.Repeat(" ", most<<10+1))
		if r.status != 413 || !strings.Contains(r.Error.Message, fmt.Sprint(most, " KB")) {
			t.Errorf("%s: a large body gives %d %+v", route, r.status, r.Error)
		}
		if r := f.do(t, "POST", "/api/v1/frontier/"+route, strings.Repeat(" ", most<<10)); r.status != 400 {
			t.Errorf("%s: the largest body gives %d %+v", route, r.status, r.Error)
		}
	}
}

// What a report has too much of is refused, not the report.
func TestReport_SurplusURLs(t *testing.T) {
	f := newFixture(t, nil)
	put(t, f, "https://a.example/1")
	l := lease(t, f, `{"max":1,"lease_seconds":600}`)
	body := `{"lease_id":` + encode(t, l.LeaseID) + `,"results":[{"id":` + encode(t, l.Items[0].ID) +
		`,"status":200,"crawl_delay_seconds":2.5,"urls":[` +
		strings.Repeat(`{"url":"https://a.example/2"},`, 5006) + `{"url":"https://a.example/3"}]}]}`
	got := get[contract.FrontierReported](t, f, "POST", "/api/v1/frontier/report", body)
	if got.Accepted != 1 || got.Added != 1 || got.Refused != 7 {
		t.Errorf("%+v", got)
	}
}

// TestReport_OddHosts: what a host says in its answer and its robots.txt, however odd, is not the scraper's fault, and
// must not have its report refused: the page would come back, and with it the next refused report.
func TestReport_OddHosts(t *testing.T) {
	f := newFixture(t, nil)
	put(t, f, "https://a.example/1", "https://b.example/1", "https://c.example/1", "https://d.example/1",
		"https://e.example/1")
	l := lease(t, f, `{"max":5,"lease_seconds":600}`)
	of := map[string]string{"a.example": `"status":999,"crawl_delay_seconds":-1`,
		"b.example": `"status":200,"crawl_delay_seconds":1e300`, "c.example": `"status":600`,
		"d.example": `"status":429,"retry_after_seconds":1e23`, "e.example": `"status":101`}
	var results []string
	for _, i := range l.Items {
		results = append(results, `{"id":`+encode(t, i.ID)+`,`+of[i.Host]+`}`)
	}
	got := get[contract.FrontierReported](t, f, "POST", "/api/v1/frontier/report",
		`{"lease_id":`+encode(t, l.LeaseID)+`,"results":[`+strings.Join(results, ",")+`]}`)
	if got.Accepted != 5 {
		t.Errorf("%+v", got)
	}
	for host, want := range map[string]float64{"a.example": 0, "b.example": 86400} {
		h := get[contract.FrontierHost](t, f, "GET", "/api/v1/frontier/hosts/"+host, "")
		if h.Delay < want || h.Delay > want+1 {
			t.Errorf("%s is asked every %v s, want %v", host, h.Delay, want)
		}
	}
	for host, want := range map[string]string{"a.example": "waiting", "b.example": "fetched", "c.example": "waiting",
		"d.example": "waiting", "e.example": "waiting"} {
		u := get[contract.FrontierURL](t, f, "GET", "/api/v1/frontier/url?url=https://"+host+"/1", "")
		if u.State != want { // the status of no class is a server's fault (RFC 9110, 15)
			t.Errorf("the page of %s is %s, want %s", host, u.State, want)
		}
	}
}

// SCRAPER_TOKEN is enough for scrapers; READ_TOKEN only reads.
func TestFrontier_Tokens(t *testing.T) {
	f := newFixture(t, func(s *settings.Settings) {
		s.Environment, s.APIToken, s.ScraperToken, s.ReadToken = "production", "secret", "scraper", "reader"
	})
	l := encode(t, map[string]any{"max": 1, "lease_seconds": 60})
	for _, c := range []struct {
		method, target, body string
		scraper, reader      int
	}{
		{"POST", "lease", l, 200, 403},
		{"POST", "report", `{"lease_id":"0.1","results":[]}`, 200, 403},
		{"POST", "urls",
			`{"urls":[{"url":"https://a.example/1"}],"partition_info":{"country":"sg","category":"news",` +
				`"date":"2026-01-28"}}`,
			200, 403},
		{"GET", "stats", "", 200, 200},
		{"GET", "url?url=https://a.example/1", "", 200, 200},
		{"GET", "hosts", "", 200, 200},
		{"POST", "hosts/a.example", `{"empty":true}`, 403, 403},
		{"GET", "shards/shard-0/export", "", 403, 403},
	} {
		for token, want := range map[string]int{"": 401, "wrong": 401, "scraper": c.scraper, "reader": c.reader,
			"secret": 200} {
			r := f.do(t, c.method, "/api/v1/frontier/"+c.target, c.body, "Authorization", "Bearer "+token)
			if r.status != want {
				t.Errorf("%s %s with %q: %d %+v, want %d", c.method, c.target, token, r.status, r.Error, want)
			}
		}
	}
}

// A frozen shard does not affect the others, and the answer names what it missed.
func TestFrontier_FrozenShard(t *testing.T) {
	f := newFixture(t, nil)
	urls := hosts(30)
	put(t, f, urls...)
	l := lease(t, f, `{"max":30,"lease_seconds":600}`)
	if len(l.Items) != 30 {
		t.Fatalf("leased %d", len(l.Items))
	}
	f.shards.frozen["shard-1"] = true
	there := 0
	for _, u := range urls {
		if placement.ShardOf(strings.TrimPrefix(strings.Split(u, "/")[2], "www."), 3) == 1 {
			there++
		}
	}
	if there == 0 || there == 30 {
		t.Fatalf("%d domains in the shard", there)
	}
	away := func(r reply) {
		t.Helper()
		if r.status != 503 || r.Error.Code != "storage_error" || r.header.Get("Retry-After") != "5" ||
			strings.Contains(r.Error.Message, "secret") {
			t.Errorf("without a shard: %d %+v %v", r.status, r.Error, r.header)
		}
	}
	body := reportBody(t, l, 200)
	r := f.do(t, "POST", "/api/v1/frontier/report", body)
	away(r)
	var reported contract.FrontierReported
	if err := json.Unmarshal(r.Data, &reported); err != nil || reported.Accepted != 30-there ||
		len(reported.NotTaken) != there || reported.Unknown != 0 {
		t.Errorf("reported: %s", r.Data)
	}
	next := make([]string, len(urls))
	for i := range urls {
		next[i] = urls[i] + "-next"
	}
	list := make([]map[string]string, len(next))
	for i, u := range next {
		list[i] = map[string]string{"url": u}
	}
	again := encode(t, map[string]any{"urls": list, "partition_info": place})
	r = f.do(t, "POST", "/api/v1/frontier/urls", again)
	away(r)
	var added contract.FrontierPut
	if err := json.Unmarshal(r.Data, &added); err != nil || added.Accepted != 30-there ||
		len(added.NotTaken) != there {
		t.Errorf("put: %s", r.Data)
	}
	f.now = f.now.Add(2 * time.Second)
	some := lease(t, f, `{"max":500,"lease_seconds":60}`)
	if len(some.Items) != 30-there {
		t.Errorf("leased %d without the shard", len(some.Items))
	}
	stats := get[contract.FrontierStats](t, f, "GET", "/api/v1/frontier/stats", "")
	if len(stats.Shards) != 2 || !slices.Equal(stats.Unavailable, []string{"shard-1"}) ||
		stats.Leased != int64(30-there) {
		t.Errorf("stats: %+v", stats)
	}
	page := get[contract.FrontierHostPage](t, f, "GET", "/api/v1/frontier/hosts?limit=200", "")
	if len(page.Hosts) != 30-there || !slices.Equal(page.Unavailable, []string{"shard-1"}) {
		t.Errorf("hosts: %d %v", len(page.Hosts), page.Unavailable)
	}

	f.shards.frozen["shard-1"] = false // and the scraper repeats its report
	if got := get[contract.FrontierReported](t, f, "POST", "/api/v1/frontier/report", body); got.Accepted != 30 ||
		got.NotTaken != nil {
		t.Errorf("reported again: %+v", got)
	}
	if got := get[contract.FrontierPut](t, f, "POST", "/api/v1/frontier/urls", again); got.Accepted != there ||
		got.Duplicates != 30-there {
		t.Errorf("put again: %+v", got)
	}
	if s := get[contract.FrontierStats](t, f, "GET", "/api/v1/frontier/stats", ""); s.Done != 30 || s.URLs != 30 ||
		s.Leased != int64(30-there) {
		t.Errorf("nothing is lost and nothing done twice: %+v", s)
	}

	f.shards.frozen[""] = true
	for _, c := range [][3]string{
		{"POST", "lease", `{"max":1,"lease_seconds":60}`}, {"POST", "report", reportBody(t, some, 200)},
		{"POST", "urls", again}, {"GET", "stats", ""}, {"GET", "url?url=https://a.example/", ""},
		{"GET", "hosts", ""}, {"POST", "hosts/a.example", `{"empty":true}`}, {"GET", "shards/shard-2/export", ""},
	} {
		away(f.do(t, c[0], "/api/v1/frontier/"+c[1], c[2]))
	}
}

// Operators' views and changes.
func TestFrontier_Operators(t *testing.T) {
	f := newFixture(t, nil)
	stats := get[contract.FrontierStats](t, f, "GET", "/api/v1/frontier/stats", "")
	if len(stats.Shards) != 3 || stats.Shards[2].Name != "shard-2" || stats.Hosts != 0 || stats.OldestDue != nil ||
		stats.Unavailable == nil {
		t.Errorf("empty shards are listed: %+v", stats)
	}
	put(t, f, "https://big.example/1", "https://big.example/2", "https://big.example/3", "https://mid.example/1",
		"https://mid.example/2", "https://small.example/1")
	_, err := f.api.Frontier.Of("small.example").Put(t.Context(),
		frontier.Put{Domain: "small.example", Partition: place,
			Entries: []frontier.NewEntry{{NewPage: frontier.NewPage{URL: "https://small.example/feed"}, Method: "rss",
				Interval: 7200, ETag: `"1"`}}})
	if err != nil {
		t.Fatal(err)
	}
	start := f.now
	f.now = f.now.Add(time.Minute)
	stats = get[contract.FrontierStats](t, f, "GET", "/api/v1/frontier/stats", "")
	if stats.Hosts != 3 || stats.URLs != 6 || stats.Entries != 1 || stats.Due != 3 || stats.OldestDue == nil ||
		!stats.OldestDue.Equal(start) {
		t.Errorf("stats: %+v", stats)
	}

	var names []string
	for cursor, pages := "", 0; pages == 0 || cursor != ""; pages++ {
		page := get[contract.FrontierHostPage](t, f, "GET", "/api/v1/frontier/hosts?sort=size&limit=1&cursor="+cursor,
			"")
		for _, h := range page.Hosts {
			names = append(names, fmt.Sprint(h.Host, " ", h.URLs, " ", h.Due))
		}
		if cursor = ""; page.Cursor != nil {
			cursor = *page.Cursor
		}
		if pages > 9 {
			t.Fatal("pages without end")
		}
	}
	if !slices.Equal(names, []string{"big.example 3 3", "mid.example 2 2", "small.example 1 1"}) {
		t.Errorf("hosts by size: %v", names)
	}

	until := f.now.Add(time.Hour)
	change := func(host, body string, status int) {
		t.Helper()
		if r := f.do(t, "POST", "/api/v1/frontier/hosts/"+host, body); r.status != status {
			t.Errorf("%s %s: %d %+v", host, body, r.status, r.Error)
		}
	}
	change("BIG.example", `{"block_until":"`+until.Format(time.RFC3339)+`","delay_seconds":2.5}`, 200)
	change("mid.example", `{"empty":true}`, 200)
	change("none.example", `{"empty":true}`, 404)
	blocked := get[contract.FrontierHostPage](t, f, "GET", "/api/v1/frontier/hosts?blocked=true", "")
	if len(blocked.Hosts) != 1 || blocked.Hosts[0].Host != "big.example" || blocked.Hosts[0].Delay != 2.5 ||
		!blocked.Hosts[0].BlockedUntil.Equal(until) {
		t.Errorf("blocked: %+v", blocked.Hosts)
	}
	if got := urlsOf(lease(t, f, `{"max":9,"lease_seconds":60}`)); !slices.Equal(got,
		[]string{"https://small.example/1"}) {
		t.Errorf("leased %v", got)
	}
	change("big.example", `{"block_until":null}`, 200)
	if got := urlsOf(lease(t, f, `{"max":9,"lease_seconds":60}`)); len(got) != 1 ||
		!strings.HasPrefix(got[0], "https://big.example/") {
		t.Errorf("leased %v", got)
	}

	for url, want := range map[string]string{"https://small.example/1": "leased", "https://mid.example/1": "gone",
		"https://none.example/": "unknown", "https://small.example/feed": "waiting"} {
		s := get[contract.FrontierURL](t, f, "GET", "/api/v1/frontier/url?url="+url, "")
		if s.State != want || s.URL != url || (s.LeaseUntil != nil) != (want == "leased") ||
			(s.DueAt != nil) != (want == "waiting") || (s.Entry != nil) != strings.HasSuffix(url, "feed") {
			t.Errorf("%s: %+v", url, s)
		}
	}
	f.now = f.now.Add(2 * time.Hour)
	entry := lease(t, f, `{"max":9,"lease_seconds":60,"kinds":["entry"]}`)
	if len(entry.Items) != 1 || *entry.Items[0].Method != "rss" || *entry.Items[0].ETag != `"1"` ||
		entry.Items[0].Kind != "entry" {
		t.Fatalf("entry points: %+v", entry)
	}
	report(t, f, entry, 304)
	s := get[contract.FrontierURL](t, f, "GET", "/api/v1/frontier/url?url=https://small.example/feed", "")
	if last := len(s.Checks) - 1; *s.LastStatus != 304 || last < 0 || *s.Checks[last].Status != 304 ||
		s.Checks[last].Changed || s.Entry.Interval <= 7200 || s.Entry.Failures != 0 {
		t.Errorf("after a check: %+v %+v", s, s.Entry)
	}
}

// Outcomes of pages are counted by host, and the frontier remembers the outcome of each page.
func TestFrontier_DoneURLs(t *testing.T) {
	f := newFixture(t, nil)
	for host, status := range map[string]int{"fine.example": 200, "missing.example": 404} {
		url := "https://" + host + "/1"
		put(t, f, url)
		report(t, f, lease(t, f, `{"max":1,"lease_seconds":60}`), status)
		s := get[contract.FrontierURL](t, f, "GET", "/api/v1/frontier/url?url="+url, "")
		if s.State != map[int]string{200: "fetched", 404: "gone"}[status] || s.LastStatus != nil || len(s.Checks) > 0 ||
			s.Entry != nil {
			t.Errorf("after %d: %+v", status, s)
		}
	}
	for _, h := range get[contract.FrontierHostPage](t, f, "GET", "/api/v1/frontier/hosts", "").Hosts {
		if want := map[string][2]int64{"fine.example": {1, 0},
			"missing.example": {0, 1}}[h.Host]; h.Done != want[0] || h.Failed != want[1] {
			t.Errorf("%s: %d done, %d failed", h.Host, h.Done, h.Failed)
		}
	}
}

// Exports of all shards contain every host and can be restored.
func TestFrontier_Export(t *testing.T) {
	f, other := newFixture(t, nil), newFixture(t, nil)
	empty := get[contract.FrontierExport](t, f, "GET", "/api/v1/frontier/shards/shard-0/export", "")
	if !strings.Contains(string(empty.Snapshot), `"hosts":[]`) {
		t.Errorf("a shard without hosts: %s", empty.Snapshot)
	}
	put(t, f, hosts(20)...)
	restored := 0
	for n := range 3 {
		for cursor, pages := "", 0; pages == 0 || cursor != ""; pages++ {
			e := get[contract.FrontierExport](t, f, "GET",
				fmt.Sprintf("/api/v1/frontier/shards/shard-%d/export?cursor=%s", n, cursor), "")
			var snapshot frontier.Snapshot
			if err := json.Unmarshal(e.Snapshot, &snapshot); err != nil || e.Shard != fmt.Sprint("shard-", n) {
				t.Fatal(e.Shard, err)
			}
			some, err := other.api.Frontier.Shard(n).Restore(t.Context(), snapshot)
			if err != nil {
				t.Fatal(err)
			}
			restored += some
			if cursor = ""; e.Cursor != nil {
				cursor = *e.Cursor
			}
		}
	}
	if restored != 20 {
		t.Errorf("%d hosts restored", restored)
	}
	if l := lease(t, other, `{"max":500,"lease_seconds":60}`); len(l.Items) != 20 {
		t.Errorf("leased %d", len(l.Items))
	}
}

// Operators list damaged rows, and drop or restore them.
func TestFrontier_Quarantine(t *testing.T) {
	f := newFixture(t, nil)
	put(t, f, "https://a.example/1")
	name := client.Frontier{Shards: 3}.Of("a.example").Name()
	path := "/api/v1/frontier/shards/" + name + "/quarantine"
	if q := get[contract.FrontierQuarantine](t, f, "GET", path, ""); q.Shard != name || q.Rows == nil ||
		len(q.Rows) > 0 {
		t.Errorf("without damage: %+v", q)
	}
	if err := f.shards.databases[name].Query("UPDATE hosts SET record = X'FF'", func(*store.Rows) {}); err != nil {
		t.Fatal(err)
	}
	get[contract.FrontierHostPage](t, f, "GET", "/api/v1/frontier/hosts", "")
	q := get[contract.FrontierQuarantine](t, f, "GET", path, "")
	if len(q.Rows) != 1 || q.Rows[0].Table != "hosts" || q.Rows[0].Name != "a.example" || q.Rows[0].Bytes != 1 {
		t.Fatalf("the quarantine: %+v", q)
	}
	if s := get[contract.FrontierStats](t, f, "GET", "/api/v1/frontier/stats", ""); s.Quarantined != 1 {
		t.Errorf("stats: %+v", s)
	}
	row := fmt.Sprintf("%s/%d", path, q.Rows[0].ID)
	for _, c := range []struct {
		method, target string
		status         int
	}{
		{"POST", row + "/restore", 400}, // it is still damaged
		{"DELETE", path + "/x", 400}, {"DELETE", path + "/9", 404}, {"POST", path + "/9/restore", 404},
		{"DELETE", "/api/v1/frontier/shards/shard-7/quarantine/1", 404}, {"GET", path + "?x=1", 400},
		{"DELETE", row, 200}, {"DELETE", row, 404},
	} {
		if r := f.do(t, c.method, c.target, ""); r.status != c.status {
			t.Errorf("%s %s: %d %+v, want %d", c.method, c.target, r.status, r.Error, c.status)
		}
	}
}

// A report may say what a page says about itself. Dates come in any form; wrong values are named.
func TestFrontierReport_Page(t *testing.T) {
	f := newFixture(t, nil)
	put(t, f, hosts(1)...)
	l := lease(t, f, `{"max":1,"lease_seconds":60}`)
	body := func(more string) string {
		return fmt.Sprintf(`{"lease_id":%q,"results":[{"id":%q,"status":200,%s}]}`, *l.LeaseID, l.Items[0].ID, more)
	}
	for more, field := range map[string]string{
		`"type":"nonsense"`:                      "results[0].type",
		`"page":{"words":-1}`:                    "results[0].page.words",
		`"page":{"published":"yesterday"}`:       "results[0].page.published",
		`"page":{"modified":"2026-13-45"}`:       "results[0].page.modified",
		`"page":{"h1":1}`:                        "results[0].page.h1",
		`"page":{"unheard_of":1}`:                "results[0].unheard_of",
		`"page":{"headings":"one"}`:              "results[0].page.headings",
		`"page":{"h1":"x"},"paywalled":"partly"`: "results[0].paywalled",
	} {
		if r := f.do(t, "POST", "/api/v1/frontier/report", body(more)); r.status != 400 ||
			r.Error.Field != field {
			t.Errorf("%s: %d %+v", more, r.status, r.Error)
		}
	}
	got := get[contract.FrontierReported](t, f, "POST", "/api/v1/frontier/report",
		body(`"type":"report","paywalled":true,"page":{"h1":"`+strings.Repeat("long ", 1000)+
			`","published":"Wed, 28 Jan 2026 09:00:00 GMT","headings":["a","b"],"words":12}`))
	if got.Accepted != 1 {
		t.Errorf("%+v", got)
	}
	d := get[contract.FrontierHostDetail](t, f, "GET", "/api/v1/frontier/hosts/"+l.Items[0].Host, "")
	if len(d.Patterns) != 1 || d.Patterns[0].Fetched != 1 || d.Patterns[0].Closed != 1 {
		t.Errorf("%+v", d.Patterns)
	}
}
