package collector_test

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/newsfork/seed-engine/collector"
	"github.com/newsfork/seed-engine/contract"
	"github.com/newsfork/seed-engine/discovery"
	"github.com/newsfork/seed-engine/epoch"
	"github.com/newsfork/seed-engine/fetch"
	"github.com/newsfork/seed-engine/fetch/fetchtest"
	"github.com/newsfork/seed-engine/frontier"
	"github.com/newsfork/seed-engine/frontier/sqlite"
)

// shards are a frontier: of real shards after open, before that one that takes everything and has nothing.
type shards struct{ real *sqlite.Shards }

// open makes the shards real from now on.
func (s *shards) open(t *testing.T) {
	s.real = &sqlite.Shards{}
	t.Cleanup(s.real.Close)
}

func (s *shards) Call(ctx context.Context, shard, operation string, request []byte) (answer []byte, err error) {
	if s.real == nil {
		return []byte(`{"answer":{}}`), nil
	}
	return s.real.Call(ctx, shard, operation, request)
}

var errFrozen = errors.New("the shard does not answer")

// freeze keeps an operation from being answered, "" none.
func (s *shards) freeze(operation string) {
	s.real.Fail = func(_, called string) error {
		if called == operation {
			return errFrozen
		}
		return nil
	}
}

// state asks what the frontier has of a URL.
func (w *world) state(t *testing.T, domain, url string) frontier.URLState {
	t.Helper()
	u, err := w.Frontier.Of(domain).URL(t.Context(), url)
	if err != nil {
		t.Fatal(err)
	}
	return u
}

// stats returns the statistics of the domain's shard.
func (w *world) stats(t *testing.T, domain string) frontier.Stats {
	t.Helper()
	s, err := w.Frontier.Of(domain).Stats(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// entries leases what entry points of a domain are due, one after another, and reports what answer makes of each.
func (w *world) entries(t *testing.T, domain string,
	answer func(*frontier.Item) frontier.Result) map[string]frontier.Item {
	t.Helper()
	leased := map[string]frontier.Item{}
	for {
		lease, err := w.Frontier.Of(domain).Lease(t.Context(),
			frontier.LeaseRequest{Max: 20, Seconds: 60, Kinds: []string{frontier.KindEntry}})
		if err != nil {
			t.Fatal(err)
		}
		if len(lease.Items) == 0 {
			return leased
		}
		report := frontier.Report{Lease: lease.ID}
		for _, i := range lease.Items {
			leased[i.URL] = i
			r := answer(&i)
			r.ID = i.ID
			report.Results = append(report.Results, r)
		}
		if _, err := w.Frontier.Of(domain).Report(t.Context(), report); err != nil {
			t.Fatal(err)
		}
	}
}

// newsSite returns a site with n articles in its sitemap, a robots.txt that forbids some, and a feed.
func newsSite(n int) map[string]fetchtest.Page {
	pages := healthy()
	var urls strings.Builder
	for i := range n {
		fmt.Fprintf(&urls,
			"<url><loc>https://example.com/news/2026/01/story-number-%d</loc><lastmod>2026-01-%02d</lastmod></url>", i,
			1+i%31)
	}
	for i := range 50 {
		fmt.Fprintf(&urls, "<url><loc>https://example.com/private/%d</loc></url>", i)
	}
	pages["https://example.com/sitemap.xml"] = fetchtest.Page{
		Body: "<urlset>" + urls.String() + "<url><loc>https://elsewhere.org/news/story</loc></url></urlset>",
		Header: map[string]string{"Content-Type": "application/xml", "ETag": `"s1"`,
			"Last-Modified": "Thu, 29 Jan 2026 09:00:00 GMT"},
	}
	pages["https://example.com/"] = fetchtest.Page{
		Body: `<html><head><link rel="alternate" type="application/rss+xml" href="/feed.xml"></head><body><a ` +
			`href="/about">About</a></body></html>`,
		Header: map[string]string{"Content-Type": "text/html"},
	}
	pages["https://example.com/feed.xml"] = fetchtest.Page{
		Body: `<rss version="2.0"><channel><title>News</title><item><link>https://example.com/news/2026/01/` +
			`story-number-3</link><title>The third story</title>` +
			`<pubDate>Sat, 31 Jan 2026 20:00:00 GMT</pubDate></item></channel></rss>`,
		Header: map[string]string{"Content-Type": "application/rss+xml", "ETag": `"f1"`},
	}
	return pages
}

// TestFrontier_BestPages: a collection puts its best pages, and entry points with what was just seen of them.
func TestFrontier_BestPages(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(newsSite(2000), nil)
		w.frontier.open(t)
		if err := w.collect(t, message(1, "https://example.com/raw/minister-opens-bridge",
			"https://example.com/private/raw"), false); err != nil {
			t.Fatal(err)
		}
		if n := w.frontier.real.Calls("put"); n != 1 {
			t.Errorf("%d puts", n)
		}
		s := w.stats(t, "example.com")
		if s.URLs != 500 || s.Hosts != 1 {
			t.Errorf("%+v", s)
		}
		lease, err := w.Frontier.Of("example.com").Lease(t.Context(),
			frontier.LeaseRequest{Max: 20, Seconds: 60, PerHost: 20})
		if err != nil || len(lease.Items) != 20 {
			t.Fatal(lease, err)
		}
		titled := false
		for _, i := range lease.Items {
			if raw := i.URL == "https://example.com/raw/minister-opens-bridge"; (i.Type != "news") != raw ||
				strings.Contains(i.URL, "/private/") || i.Partition != partition {
				t.Errorf("leased %+v", i)
			}
			titled = titled || i.Title == "The third story"
		}
		if !titled {
			t.Error("the newest story is not among the first, or has no title")
		}
		for url, state := range map[string]string{
			"https://example.com/private/1": "unknown", "https://example.com/private/raw": "unknown",
			"https://elsewhere.org/news/story": "unknown",
		} {
			if got := w.state(t, "example.com", url); got.State != state {
				t.Errorf("%s: %+v", url, got)
			}
		}
		time.Sleep(100 * 24 * time.Hour)
		got := w.entries(t, "example.com",
			func(i *frontier.Item) frontier.Result { return frontier.Result{Status: 304} })
		if f := got["https://example.com/feed.xml"]; f.Method != "rss" || f.ETag != `"f1"` {
			t.Errorf("feed %+v", f)
		}
		if m := got["https://example.com/sitemap.xml"]; m.Method != "sitemap" || m.ETag != `"s1"` ||
			m.LastModified != "Thu, 29 Jan 2026 09:00:00 GMT" {
			t.Errorf("sitemap %+v", m)
		}
	})
}

// TestFrontier_HasTheDocumentsURLs: the URLs of the document are put, although the sections to which they belong
// have fewer pages than others that look the same.
func TestFrontier_HasTheDocumentsURLs(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		pages := healthy()
		var urls strings.Builder
		for i := range 3000 {
			day := time.Date(2026, 1, 31, 0, 0, 0, 0, time.UTC).Add(-time.Duration(i) * time.Hour)
			section := []string{"national", "world", "sport"}[i/1000]
			fmt.Fprintf(&urls, "<url><loc>https://example.com/%s/story-%d</loc><lastmod>%s</lastmod></url>", section,
				1+i%1000, day.Format(time.DateOnly))
		}
		pages["https://example.com/sitemap.xml"] = fetchtest.Page{Body: "<urlset>" + urls.String() + "</urlset>",
			Header: map[string]string{"Content-Type": "application/xml"}}
		w := newWorld(pages, nil)
		w.frontier.open(t)
		raw := []string{"https://example.com/national/story-1", "https://example.com/sport/story-999",
			"https://example.com/about/what-we-do"}
		if err := w.collect(t, message(1, raw...), false); err != nil {
			t.Fatal(err)
		}
		if s := w.stats(t, "example.com"); s.URLs != 500 {
			t.Errorf("%d pages wait", s.URLs)
		}
		doc := w.document(t)
		var found discovery.Discovery
		if err := json.Unmarshal(doc.Discovery, &found); err != nil || len(found.URLs) != 50 {
			t.Fatal(len(found.URLs), err)
		}
		for _, u := range found.URLs {
			if got := w.state(t, "example.com", u.URL); u.Action != discovery.Ignore && got.State == "unknown" {
				t.Errorf("%s, of priority %v, is unknown to the frontier", u.URL, u.Priority)
			}
		}
		for _, u := range doc.URLs {
			if got := w.state(t, "example.com", u.URL); *u.Action != "ignore" && got.State == "unknown" {
				t.Errorf("%s, a raw URL, is unknown to the frontier", u.URL)
			}
		}
	})
}

// TestFrontier_RowsOfACollection: the put of a collection, and the look for mirrors, write few rows. What a shard has
// once is written by the first.
func TestFrontier_RowsOfACollection(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		site := newsSite(2000)
		maps.Copy(site, mirror(site, "example.com", "second.com"))
		w := newWorld(site, nil)
		w.frontier.open(t)
		w.Frontier.Shards = 1
		if err := w.collect(t, message(1), false); err != nil {
			t.Fatal(err)
		}
		before := w.frontier.real.Written()
		m := message(1)
		m.Domain, m.RegistrableDomain, m.DomainURL = "second.com", "second.com", "https://second.com/"
		h := site["https://second.com/"]
		h.Body += "<p>Not the same</p>"
		site["https://second.com/"] = h
		if err := w.collect(t, m, false); err != nil {
			t.Fatal(err)
		}
		// two of them for the readers of changes
		if rows := w.frontier.real.Written() - before; rows > 12 || rows < 3 {
			t.Errorf("%d rows were written, want at most 12", rows)
		}
	})
}

// TestFrontier_Digests: an entry point that has not changed since the collection is recognised by its digest.
func TestFrontier_Digests(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		site := newsSite(3)
		w := newWorld(site, nil)
		w.frontier.open(t)
		if err := w.collect(t, message(1), false); err != nil {
			t.Fatal(err)
		}
		time.Sleep(100 * 24 * time.Hour)
		w.entries(t, "example.com", func(i *frontier.Item) frontier.Result {
			sum := sha256.Sum256([]byte(site[i.URL].Body))
			return frontier.Result{Status: 200, SHA256: hex.EncodeToString(sum[:])}
		})
		for _, url := range []string{"https://example.com/feed.xml", "https://example.com/sitemap.xml"} {
			if u := w.state(t, "example.com", url); u.Entry == nil || len(u.Entry.Checks) != 2 ||
				u.Entry.Checks[1].Changed {
				t.Errorf("%+v", u)
			}
		}
	})
}

// TestFrontier_Merge: and only that.
func TestFrontier_Merge(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(newsSite(3), nil)
		w.frontier.open(t)
		for n, url := range []string{"https://example.com/news/first-raw-story",
			"https://example.com/news/second-raw-story"} {
			if err := w.collect(t, message(n+1, url), false); err != nil {
				t.Fatal(err)
			}
			if got := w.state(t, "example.com", url); got.State != "due" && got.State != "waiting" {
				t.Errorf("%s: %+v", url, got)
			}
		}
		puts, rows := w.frontier.real.Calls("put"), w.frontier.real.Written()
		if err := w.collect(t, message(2, "https://example.com/news/second-raw-story"), false); err != nil {
			t.Fatal(err)
		}
		if w.frontier.real.Calls("put") != puts || w.frontier.real.Written() != rows {
			t.Errorf("a message that adds nothing costs %d puts", w.frontier.real.Calls("put")-puts)
		}
	})
}

// TestFrontier_BeforeCheckpoint: while the shard does not answer the message fails; repeated, nothing is missing.
func TestFrontier_BeforeCheckpoint(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(newsSite(3), nil)
		w.frontier.open(t)
		w.frontier.freeze("put")
		err := w.collect(t, message(1), false)
		if contract.KindOf(err) != contract.Storage || !errors.Is(err, errFrozen) {
			t.Fatalf("got %v", err)
		}
		if w.exists(t, dir.Checkpoint()) {
			t.Fatal("there is a checkpoint although nothing was put")
		}
		w.frontier.freeze("")
		if err := w.collect(t, message(1), false); err != nil {
			t.Fatal(err)
		}
		if s := w.stats(t, "example.com"); s.URLs < 3 {
			t.Errorf("%+v", s)
		}
		// The same for a merge: it must not store the URLs that it did not put.
		w.frontier.freeze("put")
		const late = "https://example.com/news/late-story"
		if err := w.collect(t, message(2, late), false); err == nil {
			t.Fatal("no error")
		}
		w.frontier.freeze("")
		if err := w.collect(t, message(2, late), false); err != nil {
			t.Fatal(err)
		}
		if got := w.state(t, "example.com", late); got.State == "unknown" {
			t.Errorf("%+v", got)
		}
	})
}

// TestFrontier_Unreachable: nobody is to ask for the raw URLs of a domain whose robots.txt nobody has seen.
func TestFrontier_Unreachable(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(nil, func(l *collector.Limits) { l.FetchRetries = 0 })
		w.frontier.open(t)
		if err := w.collect(t, message(1, "https://example.com/news/story"), true); err != nil {
			t.Fatal(err)
		}
		inAnHour := time.Now().Add(time.Hour)
		if d := w.document(t); d.Reachable || w.stats(t, "example.com").URLs != 0 ||
			!d.ValidUntil.Equal(inAnHour.Truncate(time.Second)) {
			t.Errorf("reachable %v, valid until %v, %+v", d.Reachable, d.ValidUntil, w.stats(t, "example.com"))
		}
		if e := w.state(t, "example.com", "https://example.com/robots.txt"); e.Entry == nil ||
			e.Entry.Method != frontier.MethodCollect || e.DueAt != epoch.MillisOf(inAnHour) {
			t.Errorf("it is to be asked again in an hour: %+v", e)
		}
		// A merge does not promise anything else.
		if err := w.collect(t, message(2, "https://example.com/news/another"), true); err != nil {
			t.Fatal(err)
		}
		if d := w.document(t); d.Revision != 2 || !d.ValidUntil.Equal(inAnHour.Truncate(time.Second)) {
			t.Errorf("revision %d, valid until %v", d.Revision, d.ValidUntil)
		}
	})
}

// TestFrontier_UnreadableRobots: the frontier learns that a robots.txt answers with an error, and that it was read.
func TestFrontier_UnreadableRobots(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		pages := healthy()
		robots := pages["https://example.com/robots.txt"]
		pages["https://example.com/robots.txt"] = fetchtest.Page{Status: 500}
		w := newWorld(pages, func(l *collector.Limits) { l.FetchRetries = 0 })
		w.frontier.open(t)
		for n, want := range []bool{true, false} {
			m := reusing(message(1, "https://example.com/news/story"), fmt.Sprint("2026-01-2", n))
			if err := w.collect(t, m, true); err != nil {
				t.Fatal(err)
			}
			h, err := w.Frontier.Of("example.com").Host(t.Context(), "example.com")
			if err != nil || h.NoRobots != want {
				t.Errorf("collection %d: %t, %+v, %v", n, h.NoRobots, h.Fault, err)
			}
			pages["https://example.com/robots.txt"] = robots
			time.Sleep(25 * time.Hour)
		}
	})
}

// reusing is a message of another partition.
func reusing(m *contract.DomainMessage, date string) *contract.DomainMessage {
	m.Partition.Date = date
	m.SourceFilePath = strings.Replace(m.SourceFilePath, "2026-01-28", date, 1)
	return m
}

// TestReuse: another partition gets the evidence without a request, and its own URLs.
func TestReuse(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(newsSite(3), nil)
		w.frontier.open(t)
		v := w.NewBatch(nil).Visit("example.com")
		if _, err := v.Collect(t.Context(), message(1, "https://example.com/news/of-the-28th"), false); err != nil {
			t.Fatal(err)
		}
		source, requests := w.document(t), len(w.web.Visits())
		e := v.End().Evidence
		if e.Partition != partition || e.At.IsZero() {
			t.Fatalf("gathered %+v", e)
		}
		time.Sleep(59 * time.Minute)
		v = w.NewBatch(nil).Visit("example.com")
		v.Begin(collector.Lease{Domain: "example.com", Evidence: e})
		m := reusing(message(1, "https://example.com/news/of-the-29th", "https://example.com/private/29"),
			"2026-01-29")
		got, err := v.Collect(t.Context(), m, false)
		if err != nil {
			t.Fatal(err)
		}
		if n := len(w.web.Visits()); n != requests {
			t.Errorf("%d requests were sent", n-requests)
		}
		if from := got.Technical.ReusedFrom; from == nil || *from != dir.Document() {
			t.Errorf("reused from %v", from)
		}
		there := contract.DomainDir{Partition: m.Partition, Domain: "example.com"}
		for _, name := range []func(contract.DomainDir) string{contract.DomainDir.Robots, contract.DomainDir.Sitemap} {
			if string(w.read(t, name(there))) != string(w.read(t, name(dir))) {
				t.Errorf("%s is no copy", name(there))
			}
		}
		checkSchema(t, w.read(t, there.Document()))
		if got.State == "" || got.State != w.document(t).State {
			t.Error("the state of the discovery is no copy")
		}
		if !w.exists(t, there.Checkpoint()) {
			t.Error("no checkpoint")
		}
		if len(got.URLs) != 2 || *got.URLs[0].Type != "news" || !*got.URLs[0].Allowed || *got.URLs[1].Allowed {
			t.Errorf("urls %+v", got.URLs)
		}
		if !got.CollectedAt.Equal(source.CollectedAt.Truncate(time.Second)) || got.Revision != 1 ||
			got.Technical.ServerInfo.Requests != 0 || !got.Processing.ProcessedAt.After(got.CollectedAt.Time) {
			t.Errorf("%+v", got)
		}
		var ours, theirs struct {
			Entries []any `json:"entry_points"`
		}
		if json.Unmarshal(got.Contract, &ours) != nil || json.Unmarshal(source.Contract, &theirs) != nil ||
			len(ours.Entries) != 2 || !reflect.DeepEqual(ours, theirs) {
			t.Errorf("entry points %v, want %v", ours, theirs)
		}
		if s := w.state(t, "example.com", "https://example.com/news/of-the-29th"); s.State == "unknown" {
			t.Errorf("its own URL is not in the frontier: %+v", s)
		}
		if e := v.End().Evidence; !e.At.IsZero() {
			t.Errorf("copying counts as a collection: %+v", e)
		}
		// A further raw file of that partition is merged as always.
		second := reusing(message(2, "https://example.com/news/more-of-the-29th"), "2026-01-29")
		if got, err = w.NewBatch(nil).Visit("example.com").Collect(t.Context(), second, false); err != nil ||
			len(got.URLs) != 3 || got.Technical.ReusedFrom == nil {
			t.Errorf("%v %+v", err, got)
		}
	})
}

// TestReuse_WithinAVisit: the messages of one event share what it collected.
func TestReuse_WithinAVisit(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(newsSite(3), nil)
		w.frontier.open(t)
		v := w.NewBatch(nil).Visit("example.com")
		for day := 1; day <= 28; day++ {
			if _, err := v.Collect(t.Context(), reusing(message(1), fmt.Sprintf("2026-01-%02d", day)),
				false); err != nil {
				t.Fatal(err)
			}
		}
		if n := len(w.web.Visits()); n != 5 {
			t.Errorf("%d requests, want those of one collection", n)
		}
	})
}

// The domain is collected if the evidence is old, older than the request, changed or gone.
func TestReuse_NotIf(t *testing.T) {
	for name, change := range map[string]func(*testing.T, *world, *contract.DomainMessage){
		"an hour is over": func(*testing.T, *world, *contract.DomainMessage) { time.Sleep(61 * time.Minute) },
		"requested since": func(_ *testing.T, _ *world, m *contract.DomainMessage) {
			m.Force, m.RequestedAt = true,
				time.Now()
		},
		"document gone":       func(t *testing.T, w *world, _ *contract.DomainMessage) { w.delete(t, dir.Document()) },
		"robots.txt gone":     func(t *testing.T, w *world, _ *contract.DomainMessage) { w.delete(t, dir.Robots()) },
		"sitemap.xml gone":    func(t *testing.T, w *world, _ *contract.DomainMessage) { w.delete(t, dir.Sitemap()) },
		"discovery.json gone": func(t *testing.T, w *world, _ *contract.DomainMessage) { w.keepState(t, "") },
		"document damaged": func(t *testing.T, w *world, _ *contract.DomainMessage) {
			w.put(t, dir.Document(),
				"{")
		},
		"robots.txt changed": func(t *testing.T, w *world, _ *contract.DomainMessage) {
			w.put(t, dir.Robots(),
				"User-agent: *")
		},
		"sitemap.xml changed": func(t *testing.T, w *world, _ *contract.DomainMessage) {
			w.put(t, dir.Sitemap(),
				"<urlset/>")
		},
		"discovery.json of a later collection": func(t *testing.T, w *world, _ *contract.DomainMessage) {
			time.Sleep(time.Minute)
			w.keepState(t, fmt.Sprintf(`{"version":1,"now":%q}`, time.Now().UTC().Format(time.RFC3339Nano)))
		},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				w := newWorld(newsSite(3), nil)
				w.frontier.open(t)
				v := w.NewBatch(nil).Visit("example.com")
				if _, err := v.Collect(t.Context(), message(1), false); err != nil {
					t.Fatal(err)
				}
				time.Sleep(time.Second)
				e, requests := v.End().Evidence, len(w.web.Visits())
				m := reusing(message(1, "https://example.com/news/story"), "2026-01-29")
				change(t, w, m)
				v = w.NewBatch(nil).Visit("example.com")
				v.Begin(collector.Lease{Domain: "example.com", Evidence: e})
				got, err := v.Collect(t.Context(), m, false)
				if err != nil || got.Technical.ReusedFrom != nil || len(w.web.Visits()) != 2*requests {
					t.Errorf("%v, reused from %v, %d requests", err, got.Technical.ReusedFrom,
						len(w.web.Visits())-requests)
				}
				if again := v.End().Evidence; again.Partition != m.Partition || !again.At.After(e.At) {
					t.Errorf("gathered %+v", again)
				}
			})
		})
	}
}

// TestReuse_AfterAFailure: what a failure left unread is asked for again by the next partition.
func TestReuse_AfterAFailure(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		site := newsSite(3)
		feed := site["https://example.com/feed.xml"]
		delete(site, "https://example.com/feed.xml")
		site["https://example.com/feed.xml"] = fetchtest.Fail(fetch.ErrReset)
		w := newWorld(site, func(l *collector.Limits) { l.FetchRetries = 0 })
		w.frontier.open(t)
		v := w.NewBatch(nil).Visit("example.com")
		if _, err := v.Collect(t.Context(), message(1), false); err != nil {
			t.Fatal(err)
		}
		if e := v.End().Evidence; !e.At.IsZero() {
			t.Errorf("gathered %+v", e)
		}
		site["https://example.com/feed.xml"] = feed
		got, err := v.Collect(t.Context(), reusing(message(1), "2026-01-29"), false)
		if err != nil || len(got.Technical.Feeds) != 1 {
			t.Errorf("%v %+v", err, got)
		}
	})
}

// TestReuse_Excluded: neither a host nor a URL that operators excluded since gets into a new document.
func TestReuse_Excluded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(newsSite(3), nil)
		w.frontier.open(t)
		v := w.NewBatch(nil).Visit("example.com")
		if _, err := v.Collect(t.Context(), message(1), false); err != nil {
			t.Fatal(err)
		}
		e := v.End().Evidence
		v = w.NewBatch(func(link string) bool {
			return strings.Contains(link, "/feed.xml") || strings.Contains(link, "story-number-1")
		}).Visit("example.com")
		v.Begin(collector.Lease{Domain: "example.com", Evidence: e})
		got, err := v.Collect(t.Context(), reusing(message(1), "2026-01-29"), false)
		if err != nil || got.Technical.ReusedFrom == nil {
			t.Fatal(err, got)
		}
		if strings.Contains(string(got.Contract), "feed.xml") ||
			strings.Contains(string(got.Discovery), "story-number-1\"") {
			t.Errorf("%s\n%s", got.Contract, got.Discovery)
		}
		v = w.NewBatch(func(link string) bool {
			return strings.HasPrefix(link, "https://example.com/") || strings.HasPrefix(link, "http://example.com/")
		}).Visit("example.com")
		v.Begin(collector.Lease{Domain: "example.com", Evidence: e})
		if _, err := v.Collect(t.Context(), reusing(message(1), "2026-01-30"), false); !errors.Is(err,
			collector.ErrExcluded) {
			t.Errorf("an excluded host: %v", err)
		}
	})
}

// TestReuse_StorageFails: wherever the bucket fails, the message is retried without asking the domain, and the
// next delivery finishes.
func TestReuse_StorageFails(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(newsSite(3), nil)
		w.frontier.open(t)
		v := w.NewBatch(nil).Visit("example.com")
		if _, err := v.Collect(t.Context(), message(1), false); err != nil {
			t.Fatal(err)
		}
		e, requests := v.End().Evidence, len(w.web.Visits())
		left := 0
		w.bucket.Fail = func(op, key string) error {
			if left--; left < 0 {
				return errors.New("it fails")
			}
			return nil
		}
		failures := 0
		for n := 0; ; n++ {
			left = n
			time.Sleep(2 * time.Second)
			v = w.NewBatch(nil).Visit("example.com")
			v.Begin(collector.Lease{Domain: "example.com", Evidence: e})
			_, err := v.Collect(t.Context(), reusing(message(1), "2026-01-29"), false)
			if err == nil {
				break
			}
			if failures++; contract.KindOf(err) != contract.Storage {
				t.Errorf("call %d: %v", n, err)
			}
		}
		w.bucket.Fail = nil
		if n := len(w.web.Visits()); n != requests || failures < 10 {
			t.Errorf("%d requests were sent because the bucket failed, %d times", n-requests, failures)
		}
		there := contract.DomainDir{Partition: contract.Partition{Country: "sg", Category: "news", Date: "2026-01-29"},
			Domain: "example.com"}
		checkSchema(t, w.read(t, there.Document()))
		if !w.exists(t, there.Checkpoint()) || w.bucket.OpenUploads() != 0 {
			t.Errorf("checkpoint %v, %d uploads are open", w.exists(t, there.Checkpoint()), w.bucket.OpenUploads())
		}
	})
}

func (w *world) delete(t *testing.T, key string) {
	t.Helper()
	if err := w.bucket.Delete(t.Context(), key); err != nil {
		t.Fatal(err)
	}
}

func (w *world) put(t *testing.T, key, content string) {
	t.Helper()
	if _, err := w.bucket.Put(t.Context(), key, []byte(content), nil); err != nil {
		t.Fatal(err)
	}
}

// mirror is a site under another domain, whose name it uses in URLs.
func mirror(site map[string]fetchtest.Page, from, to string) map[string]fetchtest.Page {
	copied := map[string]fetchtest.Page{}
	for url, p := range site {
		p.Body = strings.ReplaceAll(p.Body, "//"+from, "//"+to)
		copied[strings.Replace(url, "//"+from, "//"+to, 1)] = p
	}
	return copied
}

// TestMirrors: what shows the home page and the sitemap of another domain is noted, and not given out.
func TestMirrors(t *testing.T) {
	site := newsSite(20)
	home := site["https://example.com/"]
	home.Body = `<html><head><link rel="canonical" href="https://example.com/"><title>The News of Today</title>` +
		`</head><body><a href="//example.com/about">About</a></body></html>`
	site["https://example.com/"] = home
	for name, c := range map[string]struct {
		domain string
		change func(pages map[string]fetchtest.Page)
		mirror bool
	}{
		"the same": {"copy.net", func(map[string]fetchtest.Page) {}, true},
		"other headers": {"copy.net", func(p map[string]fetchtest.Page) {
			h := p["https://copy.net/"]
			h.Header = map[string]string{"Content-Type": "text/html", "Server": "x"}
			p["https://copy.net/"] = h
		}, true},
		"another home page": {"copy.net", func(p map[string]fetchtest.Page) {
			h := p["https://copy.net/"]
			h.Body += "<p>Ours</p>"
			p["https://copy.net/"] = h
		}, false},
		"another sitemap": {"copy.net", func(p map[string]fetchtest.Page) {
			m := p["https://copy.net/sitemap.xml"]
			m.Body = strings.Replace(m.Body, "story-number-7<", "story-number-x<", 1)
			p["https://copy.net/sitemap.xml"] = m
		}, false},
		"a name in the text": {"copy.net", func(p map[string]fetchtest.Page) {
			h := p["https://copy.net/"]
			h.Body = strings.Replace(h.Body, "The News of Today", "copy.net", 1)
			p["https://copy.net/"] = h
		}, false},
		"no sitemap": {"copy.net", func(p map[string]fetchtest.Page) {
			delete(p,
				"https://copy.net/sitemap.xml")
		}, false},
		"the domain once more": {"example.com", func(map[string]fetchtest.Page) {}, false},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				pages := maps.Clone(site)
				copied := mirror(site, "example.com", c.domain)
				c.change(copied)
				maps.Copy(pages, copied)
				w := newWorld(pages, nil)
				w.frontier.open(t)
				collect := func(domain, date string) *contract.Document { return collectAs(t, w, domain, date) }
				if d := collect("example.com", "2026-01-28"); d.Technical.MirrorOf != nil {
					t.Errorf("the first is a mirror of %s", *d.Technical.MirrorOf)
				}
				d := collect(c.domain, "2026-01-29")
				if of := d.Technical.MirrorOf; c.mirror != (of != nil) || c.mirror && *of != "example.com" {
					t.Errorf("mirror of %v", of)
				}
				want := "due"
				if c.mirror {
					want = "unknown"
				}
				if got := w.state(t, c.domain, "https://"+c.domain+"/news/2026/01/story-number-3"); got.State != want {
					t.Errorf("its page is %s, want %s", got.State, want)
				}
			})
		})
	}
}

// collectAs collects a domain on a day, under a lease of its own.
func collectAs(t *testing.T, w *world, domain, date string) *contract.Document {
	t.Helper()
	m := reusing(message(1), date)
	m.Domain, m.RegistrableDomain, m.DomainURL = domain, domain, "https://"+domain+"/"
	lease, err := w.Frontier.Of(domain).Acquire(t.Context(),
		frontier.AcquireRequest{Domain: domain, Owner: date, Seconds: 60})
	if err != nil || !lease.Granted {
		t.Fatal(lease, err)
	}
	v := w.NewBatch(nil).Visit(domain)
	v.Begin(collector.Lease{Owner: date})
	d, err := v.Collect(t.Context(), m, false)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := w.Frontier.Of(domain).Release(t.Context(),
		frontier.ReleaseRequest{Domain: domain, Owner: date}); err != nil {
		t.Fatal(err)
	}
	checkSchema(t, w.read(t, contract.DomainDir{Partition: m.Partition, Domain: domain}.Document()))
	return d
}

// A copy that is collected first gives way to the domain that its canonical links and redirects name, wherever they
// stand.
func TestMirrors_OriginalLater(t *testing.T) {
	const home = "https://copy.net/"
	canonical := func(url string) string { return `<html><head><link rel="canonical" href="` + url + `">` }
	articles := func(p map[string]fetchtest.Page, page func(path string) fetchtest.Page) {
		for i := range 20 {
			path := fmt.Sprintf("news/2026/01/story-number-%d", i)
			p[home+path] = page(path)
		}
	}
	for name, c := range map[string]struct {
		change func(copied map[string]fetchtest.Page)
		copied bool // the first domain turns out to be the copy
	}{
		"Link header of the home page": {func(p map[string]fetchtest.Page) {
			h := p[home]
			h.Header = map[string]string{"Content-Type": "text/html", "Link": `<https://copy.net/x>; rel=next, ` +
				`<https://www.example.com/>; title="a, b"; rel="canonical"`}
			p[home] = h
		}, true},
		"Link header of articles": {func(p map[string]fetchtest.Page) {
			articles(p, func(path string) fetchtest.Page {
				return fetchtest.Page{Body: "<html>", Header: map[string]string{"Content-Type": "text/html",
					"Link": "<https://example.com/" + path + ">; rel=canonical"}}
			})
		}, true},
		"articles": {func(p map[string]fetchtest.Page) {
			articles(p, func(path string) fetchtest.Page {
				return fetchtest.Page{Body: canonical("https://example.com/" + path)}
			})
		}, true},
		"redirects of articles": {func(p map[string]fetchtest.Page) {
			articles(p, func(path string) fetchtest.Page {
				return fetchtest.Page{Status: 302, Header: map[string]string{"Location": "https://example.com/" + path}}
			})
		}, true},
		"nothing": {func(map[string]fetchtest.Page) {}, false},
		"articles name their own": {func(p map[string]fetchtest.Page) {
			articles(p, func(path string) fetchtest.Page { return fetchtest.Page{Body: canonical("/" + path)} })
		}, false},
		"articles name a third": {func(p map[string]fetchtest.Page) {
			articles(p, func(path string) fetchtest.Page {
				return fetchtest.Page{Body: canonical("https://else.org/" + path)}
			})
		}, false},
		"forbidden by its robots.txt": {func(p map[string]fetchtest.Page) {
			articles(p, func(path string) fetchtest.Page {
				return fetchtest.Page{Body: canonical("https://example.com/" + path)}
			})
			p[home+"robots.txt"] = fetchtest.Page{Body: "User-agent: *\nDisallow: /news/\n"}
		}, false},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				pages := newsSite(20)
				copied := mirror(pages, "example.com", "copy.net")
				w := newWorld(pages, nil)
				w.frontier.open(t)
				maps.Copy(pages, copied)
				if d := collectAs(t, w, "copy.net", "2026-01-28"); d.Technical.MirrorOf != nil {
					t.Errorf("the first is a mirror of %s", *d.Technical.MirrorOf)
				}
				c.change(pages) // the first collection looked at none of it
				var want, of *string
				first, second := "copy.net", "example.com"
				if c.copied {
					of = &second
				} else {
					want = &first
				}
				for _, date := range []string{"2026-01-29", "2026-01-30"} {
					time.Sleep(24 * time.Hour)
					if got := collectAs(t, w, "example.com", date).Technical.MirrorOf; asJSON(got) != asJSON(want) {
						t.Errorf("%s: the second is a mirror of %s, want %s", date, asJSON(got), asJSON(want))
					}
					time.Sleep(time.Hour)
					if got := collectAs(t, w, "copy.net", date).Technical.MirrorOf; asJSON(got) != asJSON(of) {
						t.Errorf("%s: the first is a mirror of %s, want %s", date, asJSON(got), asJSON(of))
					}
				}
				state := map[bool]string{true: "due", false: "unknown"}[c.copied]
				got := w.state(t, "example.com", "https://example.com/news/2026/01/story-number-3")
				if got.State != state {
					t.Errorf("a page of the second is %s, want %s", got.State, state)
				}
			})
		})
	}
}

// TestMirrors_OpenRedirect: a copy cannot claim the original by listing a page of which it knows that it redirects
// wherever its query or the rest of its path says.
func TestMirrors_OpenRedirect(t *testing.T) {
	const thief, victim = "example.com", "copy.net" // newsSite is of the first
	const story = "example.com/minister-opens-new-hospital-in-the-north"
	for _, trick := range []string{"/news/2026/01/28/minister-opens-new-hospital?to=https://" + story,
		"/news/2026/01/28/to-" + story} {
		synctest.Test(t, func(t *testing.T) {
			pages := newsSite(20)
			maps.Copy(pages, mirror(pages, thief, victim))
			w := newWorld(pages, nil)
			w.frontier.open(t)
			if d := collectAs(t, w, victim, "2026-01-28"); d.Technical.MirrorOf != nil {
				t.Fatalf("the first is a mirror of %s", *d.Technical.MirrorOf)
			}
			pages["https://"+victim+trick] = fetchtest.Page{Status: 302,
				Header: map[string]string{"Location": "https://" + story}}
			for i := range 20 { // they name nobody
				page := fmt.Sprintf("https://%s/news/2026/01/story-number-%d", victim, i)
				pages[page] = fetchtest.Page{Body: "<html>"}
			}
			time.Sleep(24 * time.Hour)
			pages["https://"+thief+"/feed.xml"] = fetchtest.Page{
				Header: map[string]string{"Content-Type": "application/rss+xml"},
				Body: `<rss version="2.0"><channel><title>News</title><item>` +
					`<link>https://` + thief + trick + `</link>` +
					`<title>Minister opens new hospital in the north</title><pubDate>` +
					time.Now().Format(time.RFC1123Z) + `</pubDate></item></channel></rss>`}
			of := collectAs(t, w, thief, "2026-01-29").Technical.MirrorOf
			if of == nil || *of != victim {
				t.Errorf("%s: the copy is a mirror of %s", trick, asJSON(of))
			}
		})
	}
}

// TestMirrors_ShardFails: without the shard of the digest the collection goes on.
func TestMirrors_ShardFails(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		site := newsSite(20)
		w := newWorld(site, nil)
		w.frontier.open(t)
		w.frontier.freeze("mirror")
		if err := w.collect(t, message(1), false); err != nil || w.frontier.real.Calls("mirror") != 1 {
			t.Errorf("%v after %d calls", err, w.frontier.real.Calls("mirror"))
		}
	})
}

// TestFrontier_Rules: after a collection the frontier refuses what robots.txt forbids, whoever names it.
func TestFrontier_Rules(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		pages := healthy()
		pages["https://example.com/robots.txt"] = fetchtest.Page{
			Body:   "User-agent: *\nDisallow: /search\nDisallow: /private/\nAllow: /private/open\n",
			Header: map[string]string{"Content-Type": "text/plain"}}
		w := newWorld(pages, nil)
		w.frontier.open(t)
		shard := w.Frontier.Of("example.com")
		a, err := shard.Acquire(t.Context(), frontier.AcquireRequest{Domain: "example.com", Owner: "ours", Seconds: 60})
		if err != nil || !a.Granted {
			t.Fatal(a, err)
		}
		v := w.NewBatch(nil).Visit("example.com")
		v.Begin(collector.Lease{Owner: "ours"})
		if _, err := v.Collect(t.Context(), message(1), false); err != nil {
			t.Fatal(err)
		}
		var put []frontier.NewPage
		for _, path := range []string{"search?q=news", "private/x", "private/open", "news/x"} {
			put = append(put, frontier.NewPage{URL: "https://example.com/" + path})
		}
		answer, err := shard.Put(t.Context(), frontier.Put{Domain: "example.com", Partition: partition, Pages: put})
		want := []frontier.Verdict{frontier.Disallowed, frontier.Disallowed, frontier.Accepted, frontier.Accepted}
		if err != nil || !slices.Equal(answer.Pages, want) {
			t.Errorf("%v, %v", answer.Pages, err)
		}
	})
}
