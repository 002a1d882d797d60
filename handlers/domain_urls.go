package handlers

import (
	"context"
	"encoding/json"
	"net/http"
	"time"

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
	all := &domainList{excluded: exclusions.URL, min: min, best: collector.Ranking{From: from, Limit: urlsPerPage + 1}}
	if page.Unavailable, err = a.gather(r.Context(), all,
		contract.DomainDir{Partition: detail.Partition, Domain: detail.Domain}, &doc); err != nil {
		return err
	}
	page.Total, page.Omitted, page.URLs = all.total, all.stored.Omitted(), all.best.Sorted()
	if len(page.URLs) > urlsPerPage {
		page.URLs = page.URLs[:urlsPerPage]
		last := &page.URLs[urlsPerPage-1]
		page.Cursor = contract.EncodeCursor(collector.RankOf(last))
	}
	all.explain(&page, doc.CollectedAt.Time)
	a.states(r.Context(), detail.Domain, &page)
	return sendTagged(w, r, "application/json; charset=utf-8",
		encodeJSON(httpapi.Envelope{Success: true, Data: page}))
}

// states sets the state of each URL of a page, if their shard answers.
func (a domainRoutes) states(ctx context.Context, domain string, page *contract.URLsPage) {
	if len(page.Unavailable) > 0 {
		return
	}
	urls := make([]string, len(page.URLs))
	for i := range page.URLs {
		urls[i] = page.URLs[i].URL
	}
	states, err := a.Frontier.Of(domain).URLs(ctx, domain, urls)
	if err != nil {
		a.Log.Warn("frontier_failed", "error_type", contract.KindOf(err), "error", err.Error(), "registrable_domain",
			domain)
		page.Unavailable = append(page.Unavailable, a.Frontier.Of(domain).Name())
		return
	}
	for i := range page.URLs {
		u := &page.URLs[i]
		if u.State = &states[i]; u.Allowed != nil && !*u.Allowed && states[i] != contract.URLExcluded &&
			states[i] != contract.URLLeased {
			u.State = new(string)
			*u.State = contract.URLForbidden
		}
	}
}

// gather fills a list. It returns the name of the frontier's shard if that did not answer.
func (a domainRoutes) gather(ctx context.Context, all *domainList, dir contract.DomainDir,
	doc *contract.Document) (unavailable []string, err error) {
	if all.stored, err = a.Evidence.Stored(ctx, dir, doc, all.excluded); err != nil {
		return nil, err
	}
	unavailable = []string{}
	shard := a.Frontier.Of(dir.Domain)
	waiting, err := shard.Pages(ctx,
		frontier.PagesRequest{Domain: dir.Domain, At: epoch.SecondsOf(doc.CollectedAt.Time)})
	if err != nil {
		a.Log.Warn("frontier_failed", "error_type", contract.KindOf(err), "error", err.Error(), "registrable_domain",
			dir.Domain)
		unavailable = append(unavailable, shard.Name())
	}
	all.waiting = make(map[string]frontier.PageInfo, len(waiting))
	for _, p := range waiting {
		all.waiting[p.URL] = p
	}
	if err := all.stored.URLs(ctx, func(u *contract.ListedURL) {
		delete(all.waiting, u.URL)
		all.take(u)
	}); err != nil {
		return nil, err
	}
	all.others()
	return unavailable, nil
}

// domainList collects one page of a domain's URLs.
type domainList struct {
	stored   *collector.Stored
	excluded func(url string) bool
	waiting  map[string]frontier.PageInfo // not listed yet

	min   float64 // minimum score
	best  collector.Ranking
	total int // URLs with at least min
}

// others adds the URLs that only the frontier has.
func (l *domainList) others() {
	for url, p := range l.waiting {
		if l.excluded(url) {
			l.stored.Count(url)
			continue
		}
		look, ok := l.stored.Look(url)
		switch {
		case look.Allowed != nil && !*look.Allowed: // forbidden since it was put
			continue
		case !ok:
			look = frontierLook(&p, look.Allowed)
		case look.Title == nil:
			look.Title = contract.Text(p.Title)
		}
		l.stored.Count(url)
		l.take(collector.ListedURL(url, collector.FromFrontier, &look))
	}
}

// take offers a URL to the page.
func (l *domainList) take(u *contract.ListedURL) {
	if collector.RankOf(u).Score >= l.min {
		l.total++
		l.best.Add(u)
	}
}

// learntSince names what a score differs by from the sum of its parts: scrapers' reports, and the collections since it
// was put.
const learntSince = "learnt since then"

// explain sets the summands of the scores of a page, as of a collection.
func (l *domainList) explain(page *contract.URLsPage, collected time.Time) {
	for i := range page.URLs {
		u := &page.URLs[i]
		method := discovery.Generated
		if u.Source == collector.FromResearch {
			method = discovery.FromResearch
		}
		parts, date, ok := l.stored.Parts(u.URL, method)
		if u.Priority == nil || !ok || l.stored.Lost {
			continue
		}
		why := discovery.Sum(append(parts, discovery.Dated(date, collected)), *u.Priority, learntSince)
		u.ScoreWhy = &why
	}
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

// rank returns the position in the cursor, or nil for the first page.
func (q *query) rank() *collector.Rank {
	cursor := q.text("cursor")
	if cursor == "" {
		return nil
	}
	var r collector.Rank
	if err := contract.DecodeCursor(cursor, &r); err != nil {
		q.fail(err)
	}
	return &r
}
