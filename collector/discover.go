package collector

import (
	"context"
	"encoding/json"
	"net/http"

	"github.com/newsfork/seed-engine/classify"
	"github.com/newsfork/seed-engine/contract"
	"github.com/newsfork/seed-engine/discovery"
	"github.com/newsfork/seed-engine/feed"
	"github.com/newsfork/seed-engine/fetch"
	"github.com/newsfork/seed-engine/sitemap"
)

// startAnalysis starts the analysis of the domain, once robots.txt has been read.
func (g *gathering) startAnalysis() {
	g.found.analysis.analyser = discovery.NewAnalyser(discovery.Options{
		Domain: g.message.Domain, Now: g.collector.Clock.Now(), Model: g.model,
		Context: classify.Context{Authority: g.message.Authority}, Robots: g.policy.rules.verdict,
		Excluded: g.batch.excluded,
		Pages:    g.collector.Limits.URLsPerDomain,
	})
}

// addSitemapEntry adds a sitemap entry to the analysis. source is the entry point of the sitemap.
func (g *gathering) addSitemapEntry(e *sitemap.Entry, base string, source discovery.SourceID) {
	f := discovery.Sighting{
		Loc: e.Loc, Lastmod: e.Lastmod, Method: discovery.FromSitemap, Source: source,
		Hint: discovery.SitemapHint(e.Changefreq, e.Priority), Title: e.Title,
	}
	if e.News.Present {
		f.Title, f.Language = e.News.Title, string(e.News.Language)
		f.Method = discovery.FromNewsSitemap
		if f.Lastmod.IsZero() {
			f.Lastmod = e.News.Date
		}
	}
	g.found.queue.details.note(g.found.began, e.Loc, f.Lastmod, base, e.Summary, e.SummaryText, e.Image)
	g.addSighting(&f)
}

// maxLearned caps the URLs from a large list that the analysis learns from before the crawl.
const maxLearned = 5_000

// learn adds the raw URLs to the analysis, so that their patterns suggest pages to look at. The first part of a large
// list is enough, and errors are ignored: the whole list is read when the document is written.
func (g *gathering) learn(ctx context.Context) {
	see := func(u *contract.URL) { g.addSighting(researched(u.URL, u.Title, u.Language)) }
	for i := range g.message.URLs {
		see(&g.message.URLs[i])
	}
	if g.message.URLsPath == "" {
		return
	}
	body, err := g.batch.store.Get(ctx, g.message.URLsPath)
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
		see(&u)
	}
}

// researched returns the sighting of a raw URL.
func researched(url string, title, language *string) *discovery.Sighting {
	s := &discovery.Sighting{Loc: []byte(url), Method: discovery.FromResearch}
	if title != nil {
		s.Title = []byte(*title)
	}
	if language != nil {
		s.Language = *language
	}
	return s
}

// entryMethod returns the method by which scrapers read a sitemap as an entry point.
func entryMethod(s *sitemap.Summary) discovery.EntryMethod {
	switch {
	case s.Kind.IsFeed():
		return feedMethod(feed.Kind(s.Kind))
	case s.IsNews():
		return discovery.NewsSitemapEntry
	}
	return discovery.SitemapEntry
}

// crawl sends HEAD requests for a few pages that the home page links to or that patterns suggest, within the request
// budget. a is the answer for the home page, which has the links.
func (g *gathering) crawl(ctx context.Context, home string, a *fetch.Answer, links []discovery.Link) {
	first := reply(a)
	first.Links = links
	c := g.found.analysis.analyser.Crawl(home, first)
	budget := g.collector.Limits.MaxRequestsPerDomain - g.probes()
	for g.session.Stats().Requests < budget {
		next, ok := c.Next()
		if !ok {
			return
		}
		a, failure := g.session.Fetch(ctx, fetch.Target{
			Method: http.MethodHead, URL: next, Accept: "text/html, */*;q=0.5",
			Timeout: g.collector.Limits.PageTimeout, Once: true,
		})
		if failure != nil {
			if !g.noteMiss(next, a, failure) {
				return
			}
			continue
		}
		g.found.site.refusals.note(a, true)
		c.Answer(reply(a))
	}
}

// reply converts an answer for the crawl.
func reply(a *fetch.Answer) discovery.Reply {
	r := discovery.Reply{Status: a.Status, ContentType: a.Header.Get("Content-Type"), URL: a.URL}
	if t := lastModified(a.Header); t != nil {
		r.LastModified = t.Time
	}
	return r
}

// isPage reports whether a request was answered with status 200.
func isPage(failure error, a *fetch.Answer) bool { return failure == nil && a.Status == http.StatusOK }
