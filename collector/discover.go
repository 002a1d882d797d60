package collector

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"time"

	"github.com/newsfork/seed-engine/contract"
	"github.com/newsfork/seed-engine/discovery"
	"github.com/newsfork/seed-engine/fetch"
	"github.com/newsfork/seed-engine/r2"
	"github.com/newsfork/seed-engine/robots"
	"github.com/newsfork/seed-engine/sitemap"
)

// analyse begins the analysis of the domain, once robots.txt is known.
func (g *gathering) analyse() {
	g.facts.analyser = discovery.NewAnalyser(discovery.Options{
		Domain: g.message.Domain, Now: g.Clock.Now(),
		Context: discovery.Context{Authority: g.message.Authority}, Robots: g.rulings.verdict,
	})
}

// listed takes in what a sitemap lists. source is the entry point that the sitemap belongs to.
func (g *gathering) listed(e *sitemap.Entry, source discovery.SourceID) {
	f := discovery.Fact{Loc: e.Loc, Lastmod: e.Lastmod, Method: discovery.FromSitemap, Source: source}
	if e.News.Present {
		f.Method = discovery.FromNewsSitemap
		if f.Lastmod.IsZero() {
			f.Lastmod = e.News.Date
		}
	}
	g.facts.analyser.Add(&f)
}

// entryMethod says how a sitemap is read as an entry point.
func entryMethod(s *sitemap.Summary) discovery.EntryMethod {
	switch {
	case s.Kind == sitemap.RSS:
		return discovery.RSSEntry
	case s.Kind == sitemap.Atom:
		return discovery.AtomEntry
	case s.IsNews():
		return discovery.NewsSitemapEntry
	}
	return discovery.SitemapEntry
}

// crawl looks at a few pages that the home page links to or that patterns suggest, within the
// request budget. a is the answer of the home page.
func (g *gathering) crawl(ctx context.Context, home string, a *fetch.Answer) {
	g.crawling = true
	c := g.facts.analyser.Crawl(home)
	if _, ok := c.Next(); !ok {
		return
	}
	c.Answer(a.Status, a.Header.Get("Content-Type"), pageLinks(a.Content, a.URL))
	for g.session.Stats().Requests < g.Settings.MaxRequestsPerDomain {
		next, ok := c.Next()
		if !ok {
			return
		}
		a, failure := g.session.Fetch(ctx, fetch.Target{
			Method: next.Method, URL: next.URL, Accept: "text/html, */*;q=0.5", Timeout: g.Settings.PageTimeout, Once: true,
		})
		if failure != nil {
			if !g.missed(next.URL, a, failure) {
				return
			}
			continue
		}
		c.Answer(a.Status, a.Header.Get("Content-Type"), nil)
	}
}

// pageLinks are the absolute links of a page, in its order.
func pageLinks(page []byte, base string) []string {
	var links []string
	for i := 0; ; {
		t, next := sitemap.NextTag(page, i)
		if next < 0 {
			return links
		}
		i = next
		if t.Closing || !t.Is("a") {
			continue
		}
		if u, ok := sitemap.Resolve(base, []byte(t.Attr("href"))); ok {
			links = append(links, u)
		}
	}
}

// restore continues the analysis of a domain that was collected earlier, from what is stored. It
// returns nil when nothing usable is: the document then keeps what it says.
func (b *Batch) restore(ctx context.Context, dir r2.DomainDir, d *contract.Document) (*discovery.Analyser, error) {
	data, err := b.read(ctx, dir.Discovery())
	if err != nil || data == nil {
		return nil, err
	}
	var body []byte
	if d.Robots.Exists {
		if body, err = b.read(ctx, dir.Robots()); err != nil {
			return nil, err
		}
	}
	known := newRulings()
	if d.Robots.StatusCode != 0 {
		result := robots.Evaluate(robots.Fetched{Status: d.Robots.StatusCode, Failed: d.Robots.ErrorType != nil, Body: body})
		group := result.File.Agent(b.Settings.UserAgent)
		known.standIn(d.Domain, group)
		if h := d.Technical.ServerInfo.EffectiveHost; h != nil {
			known.standIn(*h, group)
		}
	}
	known.load(storedRules(data), b.Settings.UserAgent)
	state, err := discovery.ParseState(data)
	if err == nil {
		var a *discovery.Analyser
		if a, err = discovery.Restore(state, known.verdict); err == nil {
			return a, nil
		}
	}
	b.Log.Warn("discovery_failed", "error_type", contract.KindOf(err), "error", err.Error(), "key", dir.Discovery())
	return nil, nil
}

// read gives the content of a stored object, nil when there is none.
func (b *Batch) read(ctx context.Context, key string) ([]byte, error) {
	body, err := b.Bucket.Get(ctx, key)
	if errors.Is(err, r2.ErrNotFound) {
		return nil, nil
	}
	if err != nil {
		return nil, contract.Wrap(contract.Storage, "collector.read", err)
	}
	defer body.Close()
	data, err := io.ReadAll(body)
	return data, contract.Wrap(contract.Storage, "collector.read", err)
}

// discovered writes into a document what the analysis found, and how its raw URLs are to be treated.
func (b *Batch) discovered(d *contract.Document, a *discovery.Analyser, took time.Duration) {
	for i := range d.URLs {
		e := &d.URLs[i]
		s := a.Score(e.URL)
		t, action := string(s.Type), string(s.Action)
		e.Type, e.Priority, e.Action, e.Allowed = &t, &s.Priority, &action, s.Allowed
	}
	found := a.Result()
	found.Stats.ProcessingTimeMS = took.Milliseconds()
	d.Discovery = marshal(found)

	r := d.Technical.RobotsTxt
	terms := discovery.Terms{
		UserAgent: b.Settings.UserAgent, Allowed: r.AllowsCrawling,
		CrawlDelay: b.Settings.RequestInterval, ContentSignals: r.ContentSignals,
	}
	if r.CrawlDelaySeconds != nil {
		asked := time.Duration(*r.CrawlDelaySeconds * float64(time.Second))
		terms.CrawlDelay = max(terms.CrawlDelay, min(asked, b.Settings.MaxCrawlDelay))
	}
	if d.Robots.FetchedAt != nil && d.Robots.StatusCode != 0 {
		terms.RobotsExpires = d.Robots.FetchedAt.Add(robots.MaxAge)
	}
	c := a.Contract(terms)
	d.Contract = marshal(c)
	d.ValidUntil = contract.Time{Time: c.ValidUntil(d.CollectedAt.Time)}
}

func marshal(v any) json.RawMessage {
	b, err := json.Marshal(v)
	if err != nil {
		panic(err) // plain data
	}
	return b
}

// isPage reports whether an answer is a page whose links may be followed.
func isPage(failure error, a *fetch.Answer) bool { return failure == nil && a.Status == http.StatusOK }
