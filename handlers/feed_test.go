package handlers_test

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/newsfork/seed-engine/contract"
	"github.com/newsfork/seed-engine/epoch"
	"github.com/newsfork/seed-engine/frontier"
)

// news puts new pages into the frontier, and reports a changed contract of their domain.
func news(t *testing.T, f *fixture, domain string, revision int, pages ...frontier.NewPage) {
	t.Helper()
	for i := range pages {
		pages[i].Fresh = true
	}
	shard := f.api.Frontier.Of(domain)
	_, err := shard.Put(t.Context(), frontier.Put{Domain: domain, Partition: place, Pages: pages})
	if err == nil {
		change := frontier.Change{Partition: place, Revision: revision, ChangedAt: epoch.MillisOf(f.now),
			Reachable: true}
		err = shard.Changed(t.Context(), frontier.Changed{Domain: domain, Changes: []frontier.Change{change}})
	}
	if err != nil {
		t.Fatal(err)
	}
	f.now = f.now.Add(time.Second)
}

func linksOf(p contract.FeedPage) (urls []string) {
	for _, i := range p.Items {
		urls = append(urls, i.URL)
	}
	return urls
}

// Pages reported by scrapers are news by the date in their URL, the only one available.
func TestFeed_ReportedNews(t *testing.T) {
	f := open(t)
	put := `{"urls":[{"url":"https://www.a.sg/list","type":"news"}],"partition_info":{"country":"sg",` +
		`"category":"news","date":"2026-01-28"}}`
	get[contract.FrontierPut](t, f, "POST", "/api/v1/frontier/urls", put)
	l := lease(t, f, `{"max":1,"lease_seconds":60}`)
	today, old := "https://www.a.sg/"+f.now.Format("2006/01/02")+"/bridge-opens",
		"https://www.a.sg/2025/11/02/bridge-closes"
	get[contract.FrontierReported](t, f, "POST", "/api/v1/frontier/report",
		encode(t, map[string]any{"lease_id": l.LeaseID, "results": []any{
			map[string]any{"id": l.Items[0].ID, "status": 200,
				"urls": []any{map[string]any{"url": today}, map[string]any{"url": old},
					map[string]any{"url": "https://www.a.sg/undated"}}},
		}}))
	p := get[contract.FeedPage](t, f, "GET", "/api/v1/feed", "")
	if got := linksOf(p); len(got) != 1 || got[0] != today || p.Items[0].FoundBy == nil ||
		*p.Items[0].FoundBy != "scraper" {
		t.Errorf("%+v", p.Items)
	}
}

func TestFeed(t *testing.T) {
	f := open(t)
	empty := get[contract.FeedPage](t, f, "GET", "/api/v1/feed", "")
	if len(empty.Items) != 0 || empty.NextCursor == "" || empty.HasMore {
		t.Errorf("an empty feed: %+v", empty)
	}
	news(t, f, "a.sg", 1, frontier.NewPage{URL: "https://www.a.sg/1?x=1&y=2", Title: "One & two", Type: "news",
		Priority: 0.8, LastMod: epoch.SecondsOf(f.now) - 60, FoundBy: "feed", Snippet: "It says",
		Image: "https://a.sg/i.png"})
	news(t, f, "b.sg", 1, frontier.NewPage{URL: "https://b.sg/2", Type: "policy", Priority: 0.3})
	news(t, f, "c.sg", 1, frontier.NewPage{URL: "https://c.sg/3", Type: "news", Priority: 0.5})
	first := get[contract.FeedPage](t, f, "GET", "/api/v1/feed?limit=2", "")
	if got := linksOf(first); len(got) != 2 || got[0] != "https://www.a.sg/1?x=1&y=2" || got[1] != "https://b.sg/2" ||
		!first.HasMore {
		t.Errorf("%+v", first)
	}
	i := first.Items[0]
	if i.Domain != "a.sg" || i.Host != "www.a.sg" || *i.Title != "One & two" || i.Type != "news" ||
		i.Priority != 0.8 || i.LastMod == nil || *i.FoundBy != "feed" ||
		*i.Snippet != "It says" || *i.Image != "https://a.sg/i.png" || i.Partition != place || i.FoundAt.IsZero() {
		t.Errorf("%+v", i)
	}
	second := get[contract.FeedPage](t, f, "GET", "/api/v1/feed?limit=2&cursor="+first.NextCursor, "")
	if got := linksOf(second); len(got) != 1 || got[0] != "https://c.sg/3" || second.HasMore {
		t.Errorf("%+v", second)
	}
	for query, want := range map[string]int{"type=news": 2, "type=news,policy": 3, "min_score=0.5": 2,
		"country=sg": 3, "country=KR": 0, "category=news&type=policy": 1} {
		if p := get[contract.FeedPage](t, f, "GET", "/api/v1/feed?"+query, ""); len(p.Items) != want {
			t.Errorf("%s: %d items, want %d", query, len(p.Items), want)
		}
	}
	get[contract.Exclusion](t, f, "PUT", "/api/v1/exclusions/domain/b.sg", "")
	if p := get[contract.FeedPage](t, f, "GET", "/api/v1/feed", ""); len(p.Items) != 2 {
		t.Errorf("with an excluded domain: %v", linksOf(p))
	}
	for query, field := range map[string]string{"type=newz": "type", "min_score=2": "min_score",
		"min_score=NaN": "min_score", "limit=201": "limit", "cursor=x": "cursor", "country=sgp": "country",
		"typ=news": "typ"} {
		if r := f.do(t, "GET", "/api/v1/feed?"+query, ""); r.status != 400 || r.Error.Field != field {
			t.Errorf("%s: %d %+v", query, r.status, r.Error)
		}
	}
}

func TestFeed_Forms(t *testing.T) {
	f := open(t)
	news(t, f, "a.sg", 1, frontier.NewPage{URL: "https://a.sg/new1", Title: "One", Type: "news", Snippet: "It says"},
		frontier.NewPage{URL: "https://a.sg/new2"})
	w := f.raw(t, "GET", "/api/v1/feed?type=news", "", "Accept", "application/feed+json")
	var feed contract.JSONFeed
	if err := json.Unmarshal(w.Body.Bytes(), &feed); err != nil || len(feed.Items) != 1 ||
		feed.Items[0].ContentText != "It says" || feed.Items[0].Newsfork.Domain != "a.sg" ||
		!strings.Contains(feed.NextURL, "type=news") || !strings.Contains(feed.NextURL, "cursor=") {
		t.Errorf("%s %v", w.Body, err)
	}
	w = f.raw(t, "GET", "/api/v1/feed", "", "Accept", "application/x-ndjson, */*;q=0.1")
	cursor := w.Header().Get("X-Next-Cursor")
	if lines := strings.Split(strings.TrimSpace(w.Body.String()), "\n"); len(lines) != 2 || cursor == "" ||
		w.Header().Get("Content-Type") != "application/x-ndjson" {
		t.Errorf("%s", w.Body)
	}
	w = f.raw(t, "GET", "/api/v1/feed?cursor="+cursor, "", "Accept", "application/x-ndjson")
	if w.Code != 200 || w.Body.Len() != 0 {
		t.Errorf("the end: %d %s", w.Code, w.Body)
	}
}

func TestFeed_ETag(t *testing.T) {
	f := open(t)
	news(t, f, "a.sg", 1, frontier.NewPage{URL: "https://a.sg/1"})
	tags := map[string]bool{}
	for _, path := range []string{"/api/v1/feed", "/api/v1/seeds/changes"} {
		for _, accept := range []string{"application/json", "application/feed+json", "application/x-ndjson"} {
			w := f.raw(t, "GET", path, "", "Accept", accept)
			tag := w.Header().Get("ETag")
			tags[tag] = true
			if again := f.raw(t, "GET", path, "", "Accept", accept, "If-None-Match",
				`"x", W/`+tag); again.Code != 304 || again.Body.Len() != 0 || again.Header().Get("ETag") != tag {
				t.Errorf("%s %s: %d %s", path, accept, again.Code, again.Body)
			}
			news(t, f, "a.sg", len(tags)+1, frontier.NewPage{URL: fmt.Sprintf("https://a.sg/more/%d", len(tags))})
			if again := f.raw(t, "GET", path, "", "Accept", accept, "If-None-Match", tag); again.Code != 200 {
				t.Errorf("%s %s with more: %d", path, accept, again.Code)
			}
		}
	}
	if len(tags) != 6 {
		t.Errorf("%d tags", len(tags))
	}
}

func TestChanges(t *testing.T) {
	f := open(t)
	news(t, f, "a.sg", 1)
	news(t, f, "b.sg", 1)
	news(t, f, "a.sg", 2)
	p := get[contract.ChangesPage](t, f, "GET", "/api/v1/seeds/changes", "")
	if len(p.Items) != 2 || p.HasMore || p.Items[0].Domain != "b.sg" || p.Items[1].Revision != 2 ||
		!p.Items[1].Reachable || p.Items[1].Excluded ||
		p.Items[1].Key != (contract.DomainDir{Partition: place, Domain: "a.sg"}).Document() {
		t.Errorf("%+v", p)
	}
	get[contract.Exclusion](t, f, "PUT", "/api/v1/exclusions/domain/a.sg", "")
	if p := get[contract.ChangesPage](t, f, "GET", "/api/v1/seeds/changes", ""); !p.Items[1].Excluded {
		t.Errorf("%+v", p)
	}
	if p := get[contract.ChangesPage](t, f, "GET", "/api/v1/seeds/changes?cursor="+p.NextCursor,
		""); len(p.Items) > 1 || p.NextCursor == "" {
		t.Errorf("the end: %+v", p)
	}
}

// The shard supplies the entry points; the rest of the answer works without it.
func TestDomain_EntryPoints(t *testing.T) {
	f := open(t)
	feed := frontier.NewEntry{NewPage: frontier.NewPage{URL: "https://a.sg/feed"}, Method: "rss", Interval: 7200,
		Status: 200}
	if _, err := f.api.Frontier.Of("a.sg").Put(t.Context(),
		frontier.Put{Domain: "a.sg", Partition: place, Entries: []frontier.NewEntry{feed}}); err != nil {
		t.Fatal(err)
	}
	d := get[contract.DomainDetail](t, f, "GET", "/api/v1/seeds/domains/a.sg", "")
	if len(d.EntryPoints) != 1 || d.EntryPoints[0].URL != feed.URL || d.EntryPoints[0].Interval != 7200 ||
		!d.EntryPoints[0].CheckedAt.Equal(f.now) ||
		!d.EntryPoints[0].NextCheckAt.Equal(f.now.Add(2*time.Hour)) || len(d.EntryPoints[0].Checks) != 1 {
		t.Errorf("%+v", d.EntryPoints)
	}
	for _, exclusion := range []string{"url/https%3A%2F%2Fa.sg%2Ffeed", "domain/a.sg"} {
		f.do(t, "PUT", "/api/v1/exclusions/"+exclusion, "")
		if d := get[contract.DomainDetail](t, f, "GET", "/api/v1/seeds/domains/a.sg", ""); d.EntryPoints == nil ||
			len(d.EntryPoints) != 0 {
			t.Errorf("with the exclusion %s: %+v", exclusion, d.EntryPoints)
		}
		f.do(t, "DELETE", "/api/v1/exclusions/"+exclusion, "")
	}
	f.shards.frozen[""] = true
	if d := get[contract.DomainDetail](t, f, "GET", "/api/v1/seeds/domains/a.sg", ""); d.EntryPoints != nil ||
		d.Record == nil {
		t.Errorf("with a frozen shard: %+v", d)
	}
}

// The other shards are read; items of the frozen one appear once it answers again.
func TestFeed_FrozenShard(t *testing.T) {
	f := open(t)
	for i := range 12 {
		news(t, f, fmt.Sprintf("d%d.sg", i), 1, frontier.NewPage{URL: fmt.Sprintf("https://d%d.sg/1", i)})
	}
	f.shards.frozen["shard-1"] = true
	read := map[string]int{}
	cursor := ""
	for range 4 {
		p := get[contract.FeedPage](t, f, "GET", "/api/v1/feed?cursor="+cursor, "")
		for _, i := range p.Items {
			read[i.URL]++
		}
		cursor = p.NextCursor
		if !slices.Equal(p.Unavailable, []string{"shard-1"}) || p.Expired {
			t.Errorf("%v did not answer, expired: %t", p.Unavailable, p.Expired)
		}
	}
	lines := f.raw(t, "GET", "/api/v1/feed?cursor="+cursor, "", "Accept", "application/x-ndjson").Header()
	if lines.Get("X-Unavailable-Shards") != "shard-1" || lines.Get("X-Expired") != "false" {
		t.Errorf("%v", lines)
	}
	if len(read) == 0 || len(read) == 12 {
		t.Errorf("with a frozen shard %d were read", len(read))
	}
	delete(f.shards.frozen, "shard-1")
	if w := f.raw(t, "GET", "/api/v1/feed?cursor="+cursor, "", "Accept", "application/x-ndjson", "If-None-Match",
		lines.Get("ETag")); w.Code != 200 {
		t.Errorf("once it answers again: %d", w.Code)
	}
	for _, i := range get[contract.FeedPage](t, f, "GET", "/api/v1/feed?cursor="+cursor, "").Items {
		read[i.URL]++
	}
	for url, n := range read {
		if n != 1 {
			t.Errorf("%s was read %d times", url, n)
		}
	}
	if len(read) != 12 {
		t.Errorf("%d were read", len(read))
	}
	f.shards.frozen[""] = true
	if w := f.raw(t, "GET", "/api/v1/feed", ""); w.Code != 503 || w.Header().Get("Retry-After") == "" {
		t.Errorf("with all of them frozen: %d", w.Code)
	}
}
