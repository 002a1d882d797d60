package collector

import (
	"context"
	"net/http"
	"slices"

	"github.com/newsfork/seed-engine/contract"
	"github.com/newsfork/seed-engine/discovery"
	"github.com/newsfork/seed-engine/feed"
	"github.com/newsfork/seed-engine/fetch"
	"github.com/newsfork/seed-engine/sitemap"
)

// homePage asks for the home page: what the server says of itself, the feeds it declares, and the
// pages it leads to. A site that has neither a sitemap nor a declared feed is asked for feeds at
// well-known paths.
func (g *gathering) homePage(ctx context.Context) {
	f := g.facts
	base := f.origin.Scheme + "://" + f.origin.Host
	a, failure := g.session.Fetch(ctx, fetch.Target{
		URL: base + "/", Accept: "text/html, application/xhtml+xml, */*;q=0.5", Timeout: g.Settings.PageTimeout,
		MaxBytes: maxPageBytes, Whole: true,
	})
	g.missed(failure)
	f.server = serverInfo(a.Header)
	if a.Status == 0 {
		f.server = serverInfo(f.origin.Answer.Header)
	}
	g.findFeeds(ctx, base, a, failure)
	if isPage(failure, a) {
		began := g.Clock.Now()
		g.crawl(ctx, base+"/", a)
		f.analysing = g.Clock.Now().Sub(began)
	}
}

// findFeeds reads the feeds that the home page declares, or looks for one.
func (g *gathering) findFeeds(ctx context.Context, base string, home *fetch.Answer, failure error) {
	f := g.facts
	if isPage(failure, home) {
		for i, c := range feed.Links(home.Content, home.URL) {
			if len(f.feeds) >= maxFeeds || i >= 2*maxFeeds {
				f.analyser.Source(discovery.Source{Method: feedMethod(c.Kind), URL: c.URL}) // declared, not read
			} else if !g.feed(ctx, c.URL, "link") {
				return
			}
		}
	}
	if len(f.feeds) > 0 || f.sitemap.Exists {
		return
	}
	for _, path := range feed.WellKnown {
		if !g.feed(ctx, base+path, string(sitemap.FromWellKnown)) || len(f.feeds) > 0 {
			return
		}
	}
}

func feedMethod(k feed.Kind) discovery.EntryMethod {
	switch k {
	case feed.Atom:
		return discovery.AtomEntry
	case feed.JSON:
		return discovery.JSONFeedEntry
	}
	return discovery.RSSEntry
}

// feed asks for one feed and notes it when it is one. It reports whether others may be asked for still.
func (g *gathering) feed(ctx context.Context, link, foundBy string) bool {
	if g.hasFeed(link) {
		return true
	}
	a, failure := g.session.Fetch(ctx, fetch.Target{
		URL: link, Accept: "application/rss+xml, application/atom+xml, application/feed+json, */*;q=0.5",
		Timeout: g.Settings.PageTimeout, MaxBytes: maxFeedBytes,
	})
	if failure != nil {
		return g.missed(failure)
	}
	if a.Status != http.StatusOK || g.hasFeed(a.URL) {
		return true
	}
	var items []discovery.Fact
	facts, err := feed.Parse(a.Body, a.URL, sitemap.Options{ContentType: a.Header.Get("Content-Type"), MaxBytes: maxFeedBytes, Now: g.Clock.Now()}, func(i *feed.Item) {
		items = append(items, discovery.Fact{Loc: slices.Clone(i.Link), Lastmod: i.Date, Method: discovery.FromFeed})
	})
	if err != nil {
		return g.missed(err)
	}
	if facts.Kind != "" {
		source := g.facts.analyser.Source(discovery.Source{Method: feedMethod(facts.Kind), URL: a.URL, Read: true})
		for i := range items {
			items[i].Source = source
			g.facts.analyser.Add(&items[i])
		}
		g.noteFeed(contract.Feed{
			URL: a.URL, Kind: string(facts.Kind), Title: contract.Text(facts.Title), FoundBy: foundBy,
			ItemCount: facts.Items, LastUpdated: contract.At(facts.Newest),
		})
	}
	return true
}

// missed notes that the home page or a feed was not read although it may be there: nothing else in the
// document says so. It reports whether anything more may be asked.
func (g *gathering) missed(failure error) bool {
	switch contract.KindOf(failure) {
	case contract.Network, contract.Timeout:
		g.facts.partial = true
	}
	return !g.stopped(failure)
}

func (g *gathering) hasFeed(link string) bool {
	return slices.ContainsFunc(g.facts.feeds, func(f contract.Feed) bool { return f.URL == link })
}

func (g *gathering) noteFeed(f contract.Feed) { g.facts.feeds = append(g.facts.feeds, f) }

func serverInfo(h http.Header) contract.ServerInfo {
	return contract.ServerInfo{Server: contract.Text(h.Get("Server")), ContentEncoding: contract.Text(h.Get("Content-Encoding"))}
}
