package handlers

import (
	"cmp"
	"context"
	"encoding/json"
	"net/http"
	"net/url"
	"slices"

	"github.com/newsfork/seed-engine/classify"
	"github.com/newsfork/seed-engine/collector"
	"github.com/newsfork/seed-engine/contract"
	"github.com/newsfork/seed-engine/discovery"
	"github.com/newsfork/seed-engine/epoch"
	"github.com/newsfork/seed-engine/frontier"
	"github.com/newsfork/seed-engine/httpapi"
)

// urlsPerPage is the page size of a domain's URLs.
const urlsPerPage = 1000

// domainURLs lists all URLs of a domain by score, each once: those of Research (including the separate lists of
// large documents), the document's discovered_urls, those of the stored sitemap, and those that wait in the
// frontier.
// Excluded URLs of Research are marked; other excluded URLs, and those that robots.txt forbids, are left out. Every
// page reads all sources again, one list at a time.
func (a domainRoutes) domainURLs(w http.ResponseWriter, r *http.Request) error {
	q, f, err := readPartition(r, "min_score", "cursor")
	if err != nil {
		return err
	}
	min, from := q.share("min_score"), q.rank()
	if q.err != nil {
		return q.err
	}
	detail, err := a.locate(r, f)
	if err != nil {
		return err
	}
	document, err := a.document(r.Context(), detail.Key)
	if err != nil {
		return err
	}
	if document == nil {
		return httpapi.NotFound("%s has no document in this partition yet", detail.Domain)
	}
	var doc contract.Document
	if err := json.Unmarshal(document, &doc); err != nil {
		return &contract.Error{Kind: contract.Internal, Op: "handlers.domainURLs", Field: detail.Key,
			Message: "the stored document cannot be read; collect the domain again", Err: err}
	}
	_, exclusions, err := a.Controls.Read(r.Context())
	if err != nil {
		return err
	}
	page := contract.URLsPage{Domain: detail.Domain, Partition: detail.Partition, Revision: doc.Revision}
	all := &domainList{excluded: exclusions.URL, min: min, best: ranking{from: from, limit: urlsPerPage + 1}}
	if page.Unavailable, err = a.gather(r.Context(), all,
		contract.DomainDir{Partition: detail.Partition, Domain: detail.Domain}, &doc); err != nil {
		return err
	}
	page.Total, page.Omitted, page.URLs = all.total, all.omitted(), all.best.sorted()
	if len(page.URLs) > urlsPerPage {
		page.URLs = page.URLs[:urlsPerPage]
		last := &page.URLs[urlsPerPage-1]
		page.Cursor = contract.EncodeCursor(rank{score(last), last.URL})
	}
	return sendTagged(w, r, "application/json; charset=utf-8",
		encodeJSON(httpapi.Envelope{Success: true, Data: page}))
}

// gather fills a list. It returns the name of the frontier's shard if that did not answer.
func (a domainRoutes) gather(ctx context.Context, all *domainList, dir contract.DomainDir,
	doc *contract.Document) (unavailable []string, err error) {
	if all.stored, err = a.Evidence.Stored(ctx, dir, doc, all.excluded); err != nil {
		return nil, err
	}
	if all.discovered, err = discoveredURLs(doc); err != nil {
		return nil, err
	}
	all.named = map[string]struct{}{}
	if err := all.stored.Sitemap(ctx, func(url string) { all.named[url] = struct{}{} }); err != nil {
		return nil, err
	}
	unavailable = []string{}
	shard := a.Frontier.Of(dir.Domain)
	waiting, err := shard.Pages(ctx, frontier.PagesRequest{Domain: dir.Domain, At: epoch.SecondsOf(doc.CollectedAt.Time)})
	if err != nil {
		a.Log.Warn("frontier_failed", "error_type", contract.KindOf(err), "error", err.Error(), "registrable_domain",
			dir.Domain)
		unavailable = append(unavailable, shard.Name())
	}
	all.waiting = make(map[string]frontier.PageInfo, len(waiting))
	for _, p := range waiting {
		all.waiting[p.URL] = p
	}
	all.research(doc.URLs)
	for _, key := range doc.URLsFiles {
		list, err := a.urlList(ctx, key)
		if err != nil {
			return nil, err
		}
		all.research(list)
	}
	all.others()
	return unavailable, nil
}

// Sources of URLs. A URL in several sources is listed under the first one.
const (
	fromResearch  = "research"  // a raw file
	fromDiscovery = "discovery" // the document's discovered_urls
	fromSitemap   = "sitemap"   // the stored root sitemap
	fromFrontier  = "frontier"  // what waits to be fetched
)

// domainList collects one page of a domain's URLs.
type domainList struct {
	stored   *collector.Stored
	excluded func(url string) bool

	// URLs that are not listed yet.
	discovered map[string]contract.ListedURL
	named      map[string]struct{} // in the sitemap
	waiting    map[string]frontier.PageInfo

	min      float64 // minimum score
	best     ranking
	total    int // URLs with at least min
	recorded int // listed URLs that the collection's analysis counted, with any score
}

// research adds URLs as Research describes them.
func (l *domainList) research(list []contract.DocumentURL) {
	for _, u := range list {
		delete(l.discovered, u.URL)
		delete(l.named, u.URL)
		delete(l.waiting, u.URL)
		if l.excluded(u.URL) {
			collector.StrikeURL(&u)
		}
		l.take(&contract.ListedURL{DocumentURL: u, Source: fromResearch})
	}
}

// others adds the URLs of the other sources.
func (l *domainList) others() {
	for url, u := range l.discovered {
		delete(l.named, url)
		delete(l.waiting, url)
		if l.excluded(url) {
			l.record(url)
			continue
		}
		l.take(&u)
	}
	for url := range l.named {
		look, ok := l.stored.Look(url)
		if !ok {
			l.record(url)
			continue
		}
		delete(l.waiting, url)
		l.take(listedURL(url, fromSitemap, &look))
	}
	for url, p := range l.waiting {
		look, ok := l.stored.Look(url)
		switch {
		case look.Allowed != nil && !*look.Allowed: // forbidden since it was put
			continue
		case !ok:
			look = frontierLook(&p, look.Allowed)
		case look.Title == nil:
			look.Title = contract.Text(p.Title)
		}
		l.take(listedURL(url, fromFrontier, &look))
	}
}

// take offers a URL to the page.
func (l *domainList) take(u *contract.ListedURL) {
	l.record(u.URL)
	if score(u) >= l.min {
		l.total++
		l.best.add(*u)
	}
}

// record counts a URL that the analysis counted.
func (l *domainList) record(url string) {
	if l.stored.Has(url) {
		l.recorded++
	}
}

// omitted returns the number of analysed URLs that no stored list has, or nil if the analysis is lost.
func (l *domainList) omitted() *int {
	if l.stored.Lost {
		return nil
	}
	n := max(0, l.stored.Analysed()-l.recorded)
	return &n
}

// frontierLook returns the frontier's view of a page that the analysis has no record of: a scraper or a refresh
// found it.
func frontierLook(p *frontier.PageInfo, allowed *bool) discovery.Look {
	t := classify.Type(p.Type)
	look := discovery.Look{Scored: discovery.Scored{Type: t, Priority: p.Priority,
		Action: discovery.Advise(p.URL, t, p.Priority), Allowed: allowed}, Title: contract.Text(p.Title),
		Lastmod: p.LastMod.Time()}
	return look
}

// listedURL describes a URL that Research does not name. Fields that only Research knows are null.
func listedURL(link, source string, look *discovery.Look) *contract.ListedURL {
	t, action := string(look.Type), string(look.Action)
	return &contract.ListedURL{
		DocumentURL: contract.DocumentURL{
			URL: link, Title: look.Title, Path: pathOf(link), DiscoveryMethod: contract.Text(string(look.Method)),
			Type: &t, Priority: &look.Priority, Action: &action, Allowed: look.Allowed,
		},
		Source: source, Lastmod: contract.At(look.Lastmod),
	}
}

// pathOf returns the escaped path of a URL.
func pathOf(link string) string {
	at, err := url.Parse(link)
	if err != nil {
		return ""
	}
	return at.EscapedPath()
}

// discoveredURLs returns a document's discovered_urls, by URL.
func discoveredURLs(doc *contract.Document) (map[string]contract.ListedURL, error) {
	var d struct {
		URLs []struct {
			contract.ListedURL
			Classification struct {
				Type string `json:"primary_type"`
			} `json:"classification"`
		} `json:"discovered_urls"`
	}
	if len(doc.Discovery) > 0 {
		if err := json.Unmarshal(doc.Discovery, &d); err != nil {
			return nil, &contract.Error{Kind: contract.Internal, Op: "handlers.discoveredURLs", Field: doc.Domain,
				Message: "the stored document cannot be read; collect the domain again", Err: err}
		}
	}
	urls := make(map[string]contract.ListedURL, len(d.URLs))
	for i := range d.URLs {
		u := d.URLs[i].ListedURL
		u.Type = contract.Text(d.URLs[i].Classification.Type)
		u.Path, u.Source = pathOf(u.URL), fromDiscovery
		urls[u.URL] = u
	}
	return urls, nil
}

// urlList reads one of a document's lists. A missing list means that the document is being rewritten, so callers
// retry.
func (a domainRoutes) urlList(ctx context.Context, key string) (list []contract.DocumentURL, err error) {
	data, err := a.document(ctx, key)
	if err != nil {
		return nil, err
	}
	if data == nil || json.Unmarshal(data, &list) != nil {
		return nil, &contract.Error{Kind: contract.Storage, Op: "handlers.urlList", Field: key,
			Message: "a list of the document is missing while it is rewritten; try again"}
	}
	return list, nil
}

// rank is the position of a URL in its domain's list.
type rank struct {
	Score float64
	URL   string
}

func score(u *contract.ListedURL) float64 {
	if u.Priority == nil {
		return 0
	}
	return *u.Priority
}

// compare is negative if r comes first: higher scores come first, ties in order of URL.
func (r rank) compare(o rank) int {
	return cmp.Or(cmp.Compare(o.Score, r.Score), cmp.Compare(r.URL, o.URL))
}

// rank returns the position in the cursor, or nil for the first page.
func (q *query) rank() *rank {
	cursor := q.text("cursor")
	if cursor == "" {
		return nil
	}
	var r rank
	if err := contract.DecodeCursor(cursor, &r); err != nil {
		q.fail(err)
	}
	return &r
}

// ranking keeps the first limit URLs after from.
type ranking struct {
	from  *rank
	limit int
	urls  []contract.ListedURL
}

func (k *ranking) add(u contract.ListedURL) {
	if k.from != nil && (rank{score(&u), u.URL}).compare(*k.from) <= 0 {
		return
	}
	if k.urls = append(k.urls, u); len(k.urls) >= 4*k.limit {
		k.sorted()
	}
}

// sorted returns the kept URLs in order.
func (k *ranking) sorted() []contract.ListedURL {
	slices.SortFunc(k.urls, func(x, y contract.ListedURL) int {
		return rank{score(&x), x.URL}.compare(rank{score(&y), y.URL})
	})
	if len(k.urls) > k.limit {
		clear(k.urls[k.limit:])
		k.urls = k.urls[:k.limit]
	}
	return append([]contract.ListedURL{}, k.urls...)
}
