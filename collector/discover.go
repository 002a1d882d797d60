package collector

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"time"

	"github.com/newsfork/seed-engine/classify"
	"github.com/newsfork/seed-engine/contract"
	"github.com/newsfork/seed-engine/discovery"
	"github.com/newsfork/seed-engine/feed"
	"github.com/newsfork/seed-engine/fetch"
	"github.com/newsfork/seed-engine/markup"
	"github.com/newsfork/seed-engine/r2"
	"github.com/newsfork/seed-engine/robots"
	"github.com/newsfork/seed-engine/sitemap"
)

// analyse begins the analysis of the domain, once robots.txt is known.
func (g *gathering) analyse() {
	g.facts.analyser = discovery.NewAnalyser(discovery.Options{
		Domain: g.message.Domain, Now: g.Clock.Now(),
		Context: classify.Context{Authority: g.message.Authority}, Robots: g.rulings.verdict, Excluded: g.excluded,
	})
}

// listed takes in what a sitemap lists. source is the entry point that the sitemap belongs to.
func (g *gathering) listed(e *sitemap.Entry, source discovery.SourceID) {
	f := discovery.Sighting{
		Loc: e.Loc, Lastmod: e.Lastmod, Method: discovery.FromSitemap, Source: source,
		Hint: discovery.SitemapHint(e.Changefreq, e.Priority),
	}
	if e.News.Present {
		f.Method = discovery.FromNewsSitemap
		if f.Lastmod.IsZero() {
			f.Lastmod = e.News.Date
		}
	}
	g.take(&f)
}

// maxLearned is how many URLs of a list too large for a message are learned from before the crawl.
const maxLearned = 5_000

// learn takes in the raw URLs, whose patterns suggest pages to look at. Of a list too large for a message
// the first ones do; it is read whole, and missed if it cannot be, when the document is written.
func (g *gathering) learn(ctx context.Context) {
	see := func(url string) { g.take(&discovery.Sighting{Loc: []byte(url), Method: discovery.FromResearch}) }
	for i := range g.message.URLs {
		see(g.message.URLs[i].URL)
	}
	if g.message.URLsPath == "" {
		return
	}
	body, err := g.Bucket.Get(ctx, g.message.URLsPath)
	if err != nil {
		return
	}
	defer body.Close()
	list := json.NewDecoder(body)
	if start, err := list.Token(); err != nil || start != json.Delim('[') {
		return
	}
	for range maxLearned {
		var u contract.URL
		if !list.More() || list.Decode(&u) != nil {
			return
		}
		see(u.URL)
	}
}

// entryMethod says how a sitemap is read as an entry point.
func entryMethod(s *sitemap.Summary) discovery.EntryMethod {
	switch {
	case s.Kind.IsFeed():
		return feedMethod(feed.Kind(s.Kind))
	case s.IsNews():
		return discovery.NewsSitemapEntry
	}
	return discovery.SitemapEntry
}

// crawl looks at a few pages that the home page links to or that patterns suggest, within the
// request budget. a is the answer of the home page.
func (g *gathering) crawl(ctx context.Context, home string, a *fetch.Answer) {
	g.crawling = true
	first := reply(a)
	first.Links = pageLinks(a.Content, a.URL)
	c := g.facts.analyser.Crawl(home, first)
	for g.session.Stats().Requests < g.Limits.MaxRequestsPerDomain {
		next, ok := c.Next()
		if !ok {
			return
		}
		a, failure := g.session.Fetch(ctx, fetch.Target{
			Method: http.MethodHead, URL: next, Accept: "text/html, */*;q=0.5", Timeout: g.Limits.PageTimeout, Once: true,
		})
		if failure != nil {
			if !g.missed(next, a, failure) {
				return
			}
			continue
		}
		c.Answer(reply(a))
	}
}

// reply is an answer as the crawl wants to know it.
func reply(a *fetch.Answer) discovery.Reply {
	r := discovery.Reply{Status: a.Status, ContentType: a.Header.Get("Content-Type"), URL: a.URL}
	if t := lastModified(a.Header); t != nil {
		r.LastModified = t.Time
	}
	return r
}

// pageLinks are the absolute links of a page, in its order.
func pageLinks(page []byte, base string) []string {
	var links []string
	for i := 0; ; {
		t, next := markup.NextTag(page, i)
		if next < 0 {
			return links
		}
		i = next
		if t.Closing || !t.Is("a") {
			continue
		}
		if u, ok := markup.Resolve(base, []byte(t.Attr("href"))); ok {
			links = append(links, u)
		}
	}
}

// analysis is what discovery knows of a domain when its document is written.
type analysis struct {
	*discovery.Analyser
	// rebuilt: what was known is lost, and this comes from the document, whose own words stand therefore.
	rebuilt bool
}

// see takes in a raw URL.
func (a *analysis) see(url string) {
	a.Add(&discovery.Sighting{Loc: []byte(url), Method: discovery.FromResearch})
}

// score says how a raw URL is to be treated.
func (a *analysis) score(e *contract.DocumentURL) {
	if a.rebuilt && e.Type != nil {
		if a.Excludes(e.URL) {
			ignore := string(discovery.Ignore)
			e.Action, e.Allowed = &ignore, new(bool)
		}
		return
	}
	s := a.Score(e.URL)
	t, action := string(s.Type), string(s.Action)
	e.Type, e.Priority, e.Action, e.Allowed = &t, &s.Priority, &action, s.Allowed
}

// analysis gives what discovery knows of the domain: fresh, or as stored when it was collected, or what
// the document still says where that is lost. The URLs that came since are seen again by who merges them,
// so what is stored never has to change.
func (b *Batch) analysis(ctx context.Context, dir contract.DomainDir, old *contract.Document, f *facts) (*analysis, error) {
	if f != nil {
		return &analysis{Analyser: f.analyser}, nil
	}
	data, err := b.read(ctx, dir.Discovery())
	if err != nil {
		return nil, err
	}
	known, err := b.storedRulings(ctx, dir, old, data)
	if err != nil {
		return nil, err
	}
	o := discovery.Options{Robots: known.verdict, Excluded: b.excluded}
	a, err := restore(data, o)
	if err == nil {
		return &analysis{Analyser: a}, nil
	}
	b.Log.Warn("discovery_failed", "error_type", contract.KindOf(err), "error", err.Error(), "key", dir.Discovery())
	return &analysis{Analyser: rebuild(old, o), rebuilt: true}, nil
}

// storedRulings are those of a collection: of the robots.txt that is stored as evidence, and of the other
// ones in state, which is discovery.json. Of what is lost nothing is known.
func (b *Batch) storedRulings(ctx context.Context, dir contract.DomainDir, d *contract.Document, state []byte) (*rulings, error) {
	known := newRulings(b.newPace(ctx, func() error { return nil }))
	var body []byte
	if d.Robots.Exists {
		var err error
		if body, err = b.read(ctx, dir.Robots()); err != nil {
			return nil, err
		}
	}
	if d.Robots.StatusCode != 0 && (body != nil || !d.Robots.Exists) {
		result := robots.Evaluate(robots.Fetched{Status: d.Robots.StatusCode, Failed: d.Robots.ErrorType != nil, Body: asFetched(body)})
		group := result.File.Agent(b.UserAgent)
		known.standIn(d.Domain, group)
		if h := d.Technical.ServerInfo.EffectiveHost; h != nil {
			known.standIn(*h, group)
		}
	}
	known.load(storedRules(state), b.UserAgent)
	return known, nil
}

// restore continues the analysis of a domain that was collected earlier from what is stored of it.
func restore(data []byte, o discovery.Options) (*discovery.Analyser, error) {
	state, err := discovery.ParseState(data)
	if err != nil {
		return nil, err
	}
	return discovery.Restore(state, o)
}

// rebuild begins the analysis again with what the document shows of it.
func rebuild(d *contract.Document, o discovery.Options) *discovery.Analyser {
	o.Domain, o.Now = d.Domain, d.CollectedAt.Time
	if d.Authority != nil {
		o.Context.Authority = *d.Authority
	}
	a := discovery.NewAnalyser(o)
	var shown discovery.Discovery
	if json.Unmarshal(d.Discovery, &shown) == nil {
		for _, u := range shown.URLs {
			a.Add(&discovery.Sighting{Loc: []byte(u.URL), Method: u.Method})
		}
	}
	return a
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

// discovered writes into a document what the analysis found, and how to fetch the domain. A merge asks
// for nothing, so the time that discovery took stays that of the collection.
func (b *Batch) discovered(d *contract.Document, a *analysis, f *facts) {
	if a.rebuilt {
		strikeExcluded(d, a.Excludes)
		return
	}
	found := a.Result()
	if f != nil {
		found.Stats.ProcessingTimeMS = f.analysing.Milliseconds()
	} else {
		found.Stats.ProcessingTimeMS = processingTime(d.Discovery)
	}
	d.Discovery = marshal(found)

	r := d.Technical.RobotsTxt
	terms := discovery.Terms{
		UserAgent: b.UserAgent, Allowed: r.AllowsCrawling,
		CrawlDelay: b.Limits.RequestInterval, ContentSignals: r.ContentSignals,
	}
	if r.CrawlDelaySeconds != nil {
		asked := time.Duration(*r.CrawlDelaySeconds * float64(time.Second))
		terms.CrawlDelay = max(terms.CrawlDelay, min(asked, b.Limits.MaxCrawlDelay))
	}
	if d.Robots.FetchedAt != nil && d.Robots.StatusCode != 0 {
		terms.RobotsExpires = d.Robots.FetchedAt.Add(robots.MaxAge)
	}
	c := a.Contract(terms)
	d.Contract = marshal(c)
	d.ValidUntil = contract.Time{Time: c.ValidUntil(d.CollectedAt.Time)}
}

// strikeExcluded takes what operators excluded out of what a document says already.
func strikeExcluded(d *contract.Document, excluded func(url string) bool) {
	var found discovery.Discovery
	if json.Unmarshal(d.Discovery, &found) == nil && found.Strike(excluded) {
		d.Discovery = marshal(found)
	}
	var how discovery.FetchContract
	if json.Unmarshal(d.Contract, &how) == nil && how.Strike(excluded) {
		d.Contract = marshal(how)
	}
}

// processingTime is processing_time_ms of an intelligent_discovery.
func processingTime(found json.RawMessage) int64 {
	var d struct {
		Stats struct {
			ProcessingTimeMS int64 `json:"processing_time_ms"`
		} `json:"discovery_stats"`
	}
	_ = json.Unmarshal(found, &d) // 0 for none
	return d.Stats.ProcessingTimeMS
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
