package handlers_test

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/newsfork/seed-engine/contract"
)

var laterDir = contract.DomainDir{Partition: contract.Partition{Country: "sg", Category: "news", Date: "2026-01-29"},
	Domain: "a.sg"}

// Stored files are sent byte for byte, and not again to a caller that has them.
func TestDomain_Files(t *testing.T) {
	f := open(t)
	for path, want := range map[string][2]string{
		"robots.txt":  {"text/plain; charset=utf-8", "User-agent: *\nDisallow:\n"},
		"sitemap.xml": {"application/xml", "<urlset/>"},
	} {
		w := f.raw(t, "GET", "/api/v1/seeds/domains/a.sg/"+path, "")
		if w.Code != 200 || w.Header().Get("Content-Type") != want[0] || w.Body.String() != want[1] ||
			w.Header().Get("Content-Security-Policy") != "sandbox" {
			t.Errorf("%s: %d %v %q", path, w.Code, w.Header(), w.Body)
		}
		again := f.raw(t, "GET", "/api/v1/seeds/domains/a.sg/"+path, "", "If-None-Match", w.Header().Get("ETag"))
		if again.Code != 304 || again.Body.Len() != 0 {
			t.Errorf("%s again: %d", path, again.Code)
		}
		if w := f.raw(t, "GET", "/api/v1/seeds/domains/a.sg/"+path+"?date=2026-01-28", ""); w.Code != 404 {
			t.Errorf("%s of the partition before: %d", path, w.Code)
		}
	}
}

// Every URL is listed once, best first, from the document and its lists.
func TestDomainURLs(t *testing.T) {
	f := open(t)
	random := rand.New(rand.NewPCG(1, 2))
	allowed, all := true, 0
	made := func(n int) (list []contract.DocumentURL) {
		for range n {
			u := contract.DocumentURL{URL: fmt.Sprintf("https://a.sg/%d/%d", random.IntN(1000), all),
				Allowed: &allowed}
			if p := float64(random.IntN(11)) / 10; p > 0 {
				u.Priority = &p
			}
			list = append(list, u)
			all++
		}
		return list
	}
	keys := []string{laterDir.SortedList("one"), laterDir.SortedList("two")}
	doc := contract.Document{Domain: "a.sg", Revision: 3,
		URLs:      append(made(700), contract.DocumentURL{URL: "https://a.sg/private/x", Allowed: &allowed}),
		URLsFiles: keys}
	all++
	store := func(key string, v any) {
		t.Helper()
		data, err := json.Marshal(v)
		if err != nil {
			t.Fatal(err)
		}
		f.store(t, key, string(data))
	}
	for i, key := range keys {
		store(key, made(4200+i))
	}
	store(laterDir.Document(), doc)
	if r := f.do(t, "PUT", "/api/v1/exclusions/url/https%3A%2F%2Fa.sg%2Fprivate%2F*", "{}"); r.status != 201 &&
		r.status != 200 {
		t.Fatalf("%d %+v", r.status, r.Error)
	}
	scores := func(query string) (got []float64) {
		cursor := ""
		last := ""
		for {
			page := get[contract.URLsPage](t, f, "GET", "/api/v1/seeds/domains/a.sg/urls?"+query+cursor, "")
			if page.Revision != 3 || len(page.URLs) > 1000 {
				t.Fatalf("revision %d, %d URLs", page.Revision, len(page.URLs))
			}
			for _, u := range page.URLs {
				p := 0.0
				if u.Priority != nil {
					p = *u.Priority
				}
				if u.Source == "frontier" {
					if u.URL != "https://a.sg/1" || u.Allowed != nil { // the fixture's; no robots.txt was read
						t.Errorf("%+v", u)
					}
				} else if private := u.URL == "https://a.sg/private/x"; *u.Allowed == private || private &&
					*u.Action != "ignore" {
					t.Errorf("%s, allowed %v", u.URL, *u.Allowed)
				}
				if n := len(got); n > 0 && (p > got[n-1] || p == got[n-1] && u.URL <= last) {
					t.Fatalf("%s with %v comes after %s with %v", u.URL, p, last, got[n-1])
				}
				got, last = append(got, p), u.URL
			}
			if page.Cursor == nil {
				return got
			}
			cursor = "&cursor=" + *page.Cursor
		}
	}
	if got := scores("date=2026-01-29"); len(got) != all+1 {
		t.Errorf("%d URLs, want %d of the document and one that waits", len(got), all)
	}
	if got := scores("min_score=0.5"); len(got) == 0 || got[len(got)-1] < 0.5 {
		t.Errorf("%d URLs from 0.5 on, the last with %v", len(got), got)
	}
	for query, field := range map[string]string{"min_score=2": "min_score", "cursor=x": "cursor",
		"limit=5": "limit"} {
		if r := f.do(t, "GET", "/api/v1/seeds/domains/a.sg/urls?"+query, ""); r.status != 400 ||
			r.Error.Field != field {
			t.Errorf("%s: %d %+v", query, r.status, r.Error)
		}
	}
	if err := f.bucket.Delete(t.Context(), keys[1]); err != nil {
		t.Fatal(err)
	}
	if r := f.do(t, "GET", "/api/v1/seeds/domains/a.sg/urls", ""); r.status != 503 {
		t.Errorf("without a list: %d %+v", r.status, r.Error)
	}
}

// Discovered URLs are sorted among those of Research, each page once.
func TestDomainURLs_Discovered(t *testing.T) {
	f := open(t)
	document := func(discovered string) {
		f.store(t, laterDir.Document(), `{"domain": "a.sg", "revision": 4, "urls": [
			{"url": "https://a.sg/news/both", "title": "As Research has it", "path": "/news/both", "confidence": 0.5, "type": "news", "priority_score": 0.7},
			{"url": "https://a.sg/about", "path": "/about", "priority_score": 0.2}], "intelligent_discovery": `+
			discovered+`}`)
	}
	document(`{"discovered_urls": [
		{"url": "https://a.sg/news/caf%C3%A9?id=1", "raw_url": "https://a.sg/news/café?id=1", "allowed": false, "title": "Found", "language": "en",
		 "lastmod": "2026-01-28T00:00:00Z", "classification": {"primary_type": "press_release"}, "discovery_method": "sitemap",
		 "priority_score": 0.9, "recommended_action": "ignore"},
		{"url": "https://a.sg/news/both", "title": "As found", "classification": {"primary_type": "faq"}, "priority_score": 0.8},
		{"url": "https://a.sg/private/x", "classification": {"primary_type": "news"}, "priority_score": 0.9},
		{"url": "https://a.sg/low", "classification": {"primary_type": "unknown"}, "priority_score": 0.1}]}`)
	if r := f.do(t, "PUT", "/api/v1/exclusions/url/https%3A%2F%2Fa.sg%2Fprivate%2F*", "{}"); r.status != 201 &&
		r.status != 200 {
		t.Fatalf("%d %+v", r.status, r.Error)
	}
	const route = "/api/v1/seeds/domains/a.sg/urls"
	f.shards.frozen[""] = true // without the frontier's pages
	page := get[contract.URLsPage](t, f, "GET", route+"?min_score=0.2", "")
	if len(page.Unavailable) != 1 || page.Omitted != nil || page.Total != 3 {
		t.Errorf("unavailable %v, omitted %v, total %d: the state of this document is lost", page.Unavailable,
			page.Omitted, page.Total)
	}
	got, err := json.Marshal(page.URLs)
	if err != nil {
		t.Fatal(err)
	}
	const want = `[{"url":"https://a.sg/news/caf%C3%A9?id=1","raw_url":"https://a.sg/news/café?id=1","title":"Found",` +
		`"path":"/news/caf%C3%A9",` +
		`"discovery_method":"sitemap","language":"en","discovered_at":null,"confidence":null,"type":"press_release",` +
		`"priority_score":0.9,"recommended_action":"ignore","allowed":false,"source":"discovery",` +
		`"lastmod":"2026-01-28T00:00:00Z","score_why":null,"state":null},` +
		`{"url":"https://a.sg/news/both","raw_url":null,"title":"As Research has it","path":"/news/both",` +
		`"discovery_method":null,"language":null,"discovered_at":null,"confidence":0.5,` +
		`"type":"news","priority_score":0.7,"recommended_action":null,"allowed":null,"source":"research",` +
		`"lastmod":null,"score_why":null,"state":null},` +
		`{"url":"https://a.sg/about","raw_url":null,"title":null,"path":"/about","discovery_method":null,` +
		`"language":null,"discovered_at":null,"confidence":null,` +
		`"type":null,"priority_score":0.2,"recommended_action":null,"allowed":null,"source":"research",` +
		`"lastmod":null,"score_why":null,"state":null}]`
	if string(got) != want {
		t.Errorf("%s", got)
	}
	document(`{"discovered_urls": 1}`)
	if r := f.do(t, "GET", route, ""); r.status != 500 {
		t.Errorf("with a list that cannot be read: %d %+v", r.status, r.Error)
	}
}

// One parameter can name a partition, as in a key or in short.
func TestDomain_Partition(t *testing.T) {
	f := open(t)
	const domain = "/api/v1/seeds/domains/a.sg"
	for _, route := range []string{"", "/robots.txt", "/sitemap.xml", "/urls"} {
		for query, status := range map[string]int{
			"?partition=sg/news/2026-01-29":                             200,
			"?partition=SG/news/2026-01-29/":                            200,
			"?partition=country=sg/category=news/date=2026-01-29":       200,
			"?partition=sg/news/2020-01-01":                             404,
			"?partition=sg/news":                                        400,
			"?partition=sg/news/2026-13-29":                             400,
			"?partition=sg/news/2026-01-29&date=2026-01-29":             400,
			"?partition=sg/news/2026-01-29&partition=sg/news/2026-01-2": 400,
		} {
			if w := f.raw(t, "GET", domain+route+query, ""); w.Code != status {
				t.Errorf("%s%s: %d, want %d: %.200s", route, query, w.Code, status, w.Body)
			}
		}
	}
	if d := get[contract.DomainDetail](t, f, "GET", domain+"?partition=sg/news/2026-01-29",
		""); d.Partition != laterDir.Partition {
		t.Errorf("%+v", d.Partition)
	}
}
