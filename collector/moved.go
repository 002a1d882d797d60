package collector

import (
	"context"
	"net/http"
	"slices"

	"github.com/newsfork/seed-engine/contract"
	"github.com/newsfork/seed-engine/discovery"
	"github.com/newsfork/seed-engine/fetch"
	"github.com/newsfork/seed-engine/frontier"
	"github.com/newsfork/seed-engine/markup"
)

// moved notes where an answer says that the site is now: on a host of another registrable domain, to which it
// redirects for good. What is found there counts as the site's own from then on. It reports whether that is news.
func (g *gathering) moved(a *fetch.Answer) bool {
	host := markup.HostOf(a.URL)
	domain := fetch.Registrable(host)
	if a.Status == 0 || a.Status >= 300 && a.Status < 400 || g.found.site.movedTo != "" || host == "" || domain == "" || within(host, g.message.Domain) {
		return false
	}
	status := 0 // of the redirect that leaves the domain
	for _, hop := range a.Hops {
		if within(markup.HostOf(hop.URL), g.message.Domain) {
			status = hop.Status
		}
	}
	if status != http.StatusMovedPermanently && status != http.StatusPermanentRedirect {
		return false
	}
	g.found.site.movedTo = host
	g.found.analysis.analyser.Include(domain)
	return true
}

// queueMoved puts what a site has on the host to which it has moved into the frontier, where another shard may have it.
func (s *saving) queueMoved(ctx context.Context, doc *contract.Document, how *discovery.FetchContract, pages []discovery.Page) error {
	if doc.MovedTo == nil || s.found == nil {
		return nil
	}
	put := frontier.Put{Domain: fetch.Registrable(*doc.MovedTo), Partition: s.message.Partition}
	put.Entries = entriesOf(how, put.Domain)
	pages = pagesOf(pages, put.Domain)
	put.Pages = newPages(pages[:min(len(pages), frontier.MaxPut-len(put.Entries))], false)
	if len(put.Entries)+len(put.Pages) == 0 {
		return nil
	}
	_, err := s.batch.put(ctx, put)
	return err
}

// pagesOf are the pages on hosts of a registrable domain.
func pagesOf(pages []discovery.Page, domain string) []discovery.Page {
	return slices.DeleteFunc(slices.Clone(pages), func(p discovery.Page) bool { return !within(markup.HostOf(p.URL), domain) })
}

// base is the origin of the site's pages.
func (g *gathering) base() string {
	f := g.found
	if f.site.movedTo != "" {
		return "https://" + f.site.movedTo
	}
	return f.site.origin.Scheme + "://" + f.site.origin.Host
}
