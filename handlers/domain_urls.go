package handlers

import (
	"cmp"
	"context"
	"encoding/json"
	"net/http"
	"net/url"
	"slices"
	"time"

	"github.com/newsfork/seed-engine/classify"
	"github.com/newsfork/seed-engine/collector"
	"github.com/newsfork/seed-engine/contract"
	"github.com/newsfork/seed-engine/discovery"
	"github.com/newsfork/seed-engine/frontier"
	"github.com/newsfork/seed-engine/httpapi"
)

// urlsPerPage is how many URLs of a domain one answer has.
const urlsPerPage = 1000

// domainURLs gives all URLs of a domain by score, a page once: those of Research, with the lists for which the
// document has no room, the others among discovered_urls, what the stored sitemap names, and what waits in the
// frontier. What operators excluded is as in the document: among the first it is marked, of the others it is left
// out, and so is what robots.txt forbids. A page reads everything again, the document's lists one at a time.
func (a *API) domainURLs(w http.ResponseWriter, r *http.Request) error {
	q, f, err := readPartition(r, "min_score", "cursor")
	if err != nil {
		return err
	}
	min, from := q.share("min_score"), q.ranked()
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

// gather fills a list. It returns the shard of the frontier that did not answer, if so.
func (a *API) gather(ctx context.Context, all *domainList, dir contract.DomainDir,
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
	waiting, err := shard.Pages(ctx, frontier.PagesRequest{Domain: dir.Domain, At: doc.CollectedAt.Unix()})
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

// The lists in which a URL may stand. It comes from the first of them that has it.
const (
	ofResearch  = "research"  // a raw file
	ofDiscovery = "discovery" // the document's discovered_urls
	ofSitemap   = "sitemap"   // the stored root sitemap
	ofFrontier  = "frontier"  // what waits to be fetched
)

// domainList goes through all URLs of a domain.
type domainList struct {
	stored   *collector.Stored
	excluded func(url string) bool

	// What was not taken yet, by URL.
	discovered map[string]contract.ListedURL
	named      map[string]struct{} // in the sitemap
	waiting    map[string]frontier.PageInfo

	min      float64 // least score
	best     ranking
	total    int // URLs of that score
	recorded int // URLs, whatever their score, that the analysis of the collection counts
}

// research takes URLs as Research describes them.
func (l *domainList) research(list []contract.DocumentURL) {
	for _, u := range list {
		delete(l.discovered, u.URL)
		delete(l.named, u.URL)
		delete(l.waiting, u.URL)
		if l.excluded(u.URL) {
			collector.StrikeURL(&u)
		}
		l.take(&contract.ListedURL{DocumentURL: u, Source: ofResearch})
	}
}

// others takes what is left.
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
		l.take(found(url, ofSitemap, &look))
	}
	for url, p := range l.waiting {
		look, ok := l.stored.Look(url)
		switch {
		case look.Allowed != nil && !*look.Allowed: // since it was put there
			continue
		case !ok:
			look = assessed(&p, look.Allowed)
		case look.Title == nil:
			look.Title = contract.Text(p.Title)
		}
		l.take(found(url, ofFrontier, &look))
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

// record counts a URL among those of the analysis, if it is one.
func (l *domainList) record(url string) {
	if l.stored.Has(url) {
		l.recorded++
	}
}

// omitted is how many URLs of the analysis are in no list that is stored; nil when it is lost.
func (l *domainList) omitted() *int {
	if l.stored.Lost {
		return nil
	}
	n := max(0, l.stored.Analysed()-l.recorded)
	return &n
}

// assessed is what the frontier says of a page that the analysis has no record of: scrapers found it, or a refresh.
func assessed(p *frontier.PageInfo, allowed *bool) discovery.Look {
	t := classify.Type(p.Type)
	look := discovery.Look{Scored: discovery.Scored{Type: t, Priority: p.Priority,
		Action: discovery.Advise(p.URL, t, p.Priority), Allowed: allowed}, Title: contract.Text(p.Title)}
	if p.LastMod > 0 {
		look.Lastmod = time.Unix(p.LastMod, 0)
	}
	return look
}

// found is a URL that Research does not name. What only Research says is null.
func found(link, source string, look *discovery.Look) *contract.ListedURL {
	t, action := string(look.Type), string(look.Action)
	return &contract.ListedURL{
		DocumentURL: contract.DocumentURL{
			URL: link, Title: look.Title, Path: pathOf(link), DiscoveryMethod: contract.Text(string(look.Method)),
			Type: &t, Priority: &look.Priority, Action: &action, Allowed: look.Allowed,
		},
		Source: source, Lastmod: contract.At(look.Lastmod),
	}
}

// pathOf is the escaped path of a URL.
func pathOf(link string) string {
	at, err := url.Parse(link)
	if err != nil {
		return ""
	}
	return at.EscapedPath()
}

// discoveredURLs are a document's discovered_urls, by URL.
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
		u.Path, u.Source = pathOf(u.URL), ofDiscovery
		urls[u.URL] = u
	}
	return urls, nil
}

// urlList reads one of a document's lists. A rewritten document has other lists, so one that is gone means that the
// caller should ask again.
func (a *API) urlList(ctx context.Context, key string) (list []contract.DocumentURL, err error) {
	data, err := a.document(ctx, key)
	if err != nil {
		return nil, err
	}
	if data == nil || json.Unmarshal(data, &list) != nil {
		return nil, &contract.Error{Kind: contract.Storage, Op: "handlers.urlList", Field: key,
			Message: "a list of the document is not there; it is being rewritten: ask again"}
	}
	return list, nil
}

// rank is the place of a URL among those of its domain.
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

// compare is negative when r comes before o: the higher score, then by URL.
func (r rank) compare(o rank) int {
	return cmp.Or(cmp.Compare(o.Score, r.Score), cmp.Compare(r.URL, o.URL))
}

// ranked reads a cursor; nil is that of the first page.
func (q *query) ranked() *rank {
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

// sorted leaves the first in their order.
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
