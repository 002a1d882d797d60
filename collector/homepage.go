package collector

import (
	"bytes"
	"cmp"
	"context"
	"crypto/sha256"
	"errors"
	"net/http"
	"slices"

	"github.com/newsfork/seed-engine/contract"
	"github.com/newsfork/seed-engine/discovery"
	"github.com/newsfork/seed-engine/feed"
	"github.com/newsfork/seed-engine/fetch"
	"github.com/newsfork/seed-engine/markup"
	"github.com/newsfork/seed-engine/sitemap"
)

// homePage requests the home page, which shows the server, declares feeds and links to pages. A site without sitemap
// and declared feed is searched for feeds at well-known paths.
//
// It returns the bucket's errors.
func (g *gathering) homePage(ctx context.Context) error {
	f := g.found
	base := f.site.origin.Scheme + "://" + f.site.origin.Host
	a, failure := g.session.Fetch(ctx, fetch.Target{
		URL: base + "/", Accept: "text/html, application/xhtml+xml, */*;q=0.5",
		Timeout:  g.collector.Limits.PageTimeout,
		MaxBytes: maxPageBytes, Whole: true,
	})
	if failure != nil {
		g.noteMiss(base+"/", a, failure)
	} else {
		g.noteFailure(base+"/", a.Retries, refusal(a.Status))
		f.site.fingerprint.setHomePage(a, f.site.origin.Host)
		f.site.original = originalOf(a)
		_, charset := markup.Decode(bytes.NewReader(a.Content), a.Header.Get("Content-Type"))
		f.noteValidators(a, nil, charset, false)
	}
	f.site.refusals.note(a, true)
	g.watch.lap(homeStage)
	if isPage(failure, a) && g.moved(a) && !f.sitemap.Exists {
		if err := g.sitemaps(ctx, g.policy.elsewhere[authorityOf(a.URL)]); err != nil {
			return err
		}
		g.watch.lap(sitemapsStage)
	}
	f.site.server = serverInfo(a.Header)
	if a.Status == 0 {
		f.site.server = serverInfo(f.site.origin.Answer.Header)
	}
	if blocked, _ := f.site.refusals.verdict(); blocked {
		return nil // no further requests
	}
	g.findFeeds(ctx, g.base(), a, failure)
	g.watch.lap(feedsStage)
	var links []discovery.Link
	crawls := mayCrawl(failure, a)
	if crawls {
		links = pageLinks(a.Content, a.URL)
	}
	g.usage(ctx, a, failure, links)
	if crawls {
		began := g.collector.Clock.Now()
		g.crawl(ctx, g.base()+"/", a, links)
		f.analysis.took = g.collector.Clock.Now().Sub(began)
	}
	return nil
}

// mayCrawl reports whether pages of a host may be requested after its home page. They may if the home page answered
// and the host is not overloaded, or if only the home page itself is forbidden.
func mayCrawl(failure error, home *fetch.Answer) bool {
	if failure != nil {
		return errors.Is(failure, fetch.ErrDisallowed) || errors.Is(failure, fetch.ErrExcluded)
	}
	return home.Status != http.StatusTooManyRequests && home.Status != http.StatusServiceUnavailable
}

// declaredBy is the found_by of a feed that the home page declares.
const declaredBy = "link"

// findFeeds reads the feeds that the home page declares, or looks for one at well-known paths.
func (g *gathering) findFeeds(ctx context.Context, base string, home *fetch.Answer, failure error) {
	f := g.found
	if isPage(failure, home) {
		links := feed.Links(home.Content, home.URL)
		for i, c := range links {
			if len(f.feeds.list) >= maxFeeds || i >= 2*maxFeeds {
				// Declared but not read.
				f.feeds.omitted += len(links) - i
				for _, c := range links[i:min(len(links), contract.MaxFeeds)] {
					if _, err := fetch.Guard(c.URL); err != nil {
						continue
					}
					f.analysis.analyser.Source(discovery.Source{Method: feedMethod(c.Kind), URL: c.URL})
				}
				break
			}
			if !g.feed(ctx, c.URL, declaredBy) {
				f.feeds.omitted += len(links) - i
				return
			}
		}
	}
	if len(f.feeds.list) > 0 || f.sitemap.Exists {
		return
	}
	for _, path := range feed.WellKnown {
		if !g.feed(ctx, base+path, string(sitemap.FromWellKnown)) || len(f.feeds.list) > 0 {
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

// feed requests a feed and records it if it is one. It reports whether more requests may be sent.
func (g *gathering) feed(ctx context.Context, link, foundBy string) bool {
	if g.hasFeed(link) || slices.Contains(g.asked, link) {
		return true
	}
	g.asked = append(g.asked, link)
	a, failure := g.session.Fetch(ctx, fetch.Target{
		URL: link, Accept: "application/rss+xml, application/atom+xml, application/feed+json, */*;q=0.5",
		Timeout: g.collector.Limits.PageTimeout, MaxBytes: maxFeedBytes,
	})
	g.found.site.refusals.note(a, false)
	if failure != nil {
		return g.noteMiss(link, a, failure)
	}
	if a.Status >= 500 {
		g.noteFailure(link, a.Retries, refusal(a.Status))
	}
	if a.Status != http.StatusOK || g.hasFeed(a.URL) {
		return true
	}
	var items []discovery.Sighting
	sum := sha256.New()
	s, err := feed.Parse(a.Body, a.URL, sitemap.Options{ContentType: a.Header.Get("Content-Type"),
		MaxBytes: maxFeedBytes, Tee: sum, Now: g.collector.Clock.Now(), Details: true}, func(i *feed.Item) {
		g.found.queue.details.note(g.found.began, i.Link, i.Date, a.URL, i.Summary, i.SummaryText, i.Image)
		items = append(items, discovery.Sighting{Loc: slices.Clone(i.Link), Lastmod: i.Date,
			Method: discovery.FromFeed, Title: slices.Clone(i.Title)})
	})
	if err != nil {
		return g.noteMiss(link, a, err)
	}
	switch {
	case s.Kind == "" && foundBy == declaredBy:
		g.noteFailure(link, a.Retries, contract.Failure{Error: contract.ShortText(cmp.Or(s.Problem,
			"it is not a feed")), ErrorType: contract.Text(string(contract.Parse))})
	case s.Kind != "":
		g.found.site.refusals.note(a, true)
		source := g.found.analysis.analyser.Source(discovery.Source{Method: feedMethod(s.Kind), URL: a.URL,
			Read: true})
		for i := range items {
			items[i].Source, items[i].Language = source, s.Language
			g.addSighting(&items[i])
		}
		g.found.noteValidators(a, sum, s.Charset, s.Truncated)
		g.noteFeed(contract.Feed{
			URL: a.URL, Kind: string(s.Kind), Title: contract.ShortText(s.Title), FoundBy: foundBy,
			ItemCount: s.Items, LastUpdated: contract.At(s.Newest),
		})
	}
	return true
}

func (g *gathering) hasFeed(link string) bool {
	return slices.ContainsFunc(g.found.feeds.list, func(f contract.Feed) bool { return f.URL == link })
}

// noteFeed adds a feed that was read to the document, up to contract.MaxFeeds.
func (g *gathering) noteFeed(f contract.Feed) {
	if len(g.found.feeds.list) == contract.MaxFeeds {
		g.found.feeds.omitted++
		return
	}
	g.found.feeds.list = append(g.found.feeds.list, f)
}

func serverInfo(h http.Header) contract.ServerInfo {
	return contract.ServerInfo{Server: contract.ShortText(h.Get("Server")),
		ContentEncoding: contract.ShortText(h.Get("Content-Encoding"))}
}
