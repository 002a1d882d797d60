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

// moved records the host of another registrable domain to which the site redirects permanently, and whose URLs count
// as the site's own from then on. It reports whether that is new.
func (g *gathering) moved(a *fetch.Answer) bool {
	host := markup.HostOf(a.URL)
	domain := fetch.Registrable(host)
	if a.Status == 0 || a.Status >= 300 && a.Status < 400 || g.found.site.movedTo != "" || host == "" ||
		domain == "" || contract.WithinDomain(host, g.message.Domain) {
		return false
	}
	status := 0 // of the redirect that leaves the domain
	for _, hop := range a.Hops {
		if contract.WithinDomain(markup.HostOf(hop.URL), g.message.Domain) {
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

// queueMoved puts entry points and pages on the site's new host into the frontier, which may be in another shard.
func (s *saving) queueMoved(ctx context.Context, doc *contract.Document, how *discovery.FetchContract,
	pages []discovery.Page) error {
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

// pagesOf returns the pages on hosts of a registrable domain.
func pagesOf(pages []discovery.Page, domain string) []discovery.Page {
	return slices.DeleteFunc(slices.Clone(pages), func(p discovery.Page) bool {
		return !contract.WithinDomain(markup.HostOf(p.URL),
			domain)
	})
}

// base returns the origin of the site's pages.
func (g *gathering) base() string {
	f := g.found
	if f.site.movedTo != "" {
		return "https://" + f.site.movedTo
	}
	return f.site.origin.Scheme + "://" + f.site.origin.Host
}
