package collector

import (
	"context"
	"errors"
	"net/http"
	"net/url"
	"path"
	"strings"

	"github.com/newsfork/seed-engine/contract"
	"github.com/newsfork/seed-engine/discovery"
	"github.com/newsfork/seed-engine/fetch"
	"github.com/newsfork/seed-engine/page"
)

func (g *gathering) probing() discovery.Probing {
	return discovery.Probing{Analyser: g.found.analysis.analyser}
}

// probes returns the number of requests that the crawl leaves for probe.
func (g *gathering) probes() int {
	return len(g.probing().Probes(g.collector.Limits.PageProbes))
}

// probe fetches one page of each pattern whose URLs do not show their type, unless an earlier collection did.
func (g *gathering) probe(ctx context.Context) {
	if blocked, _ := g.found.site.refusals.verdict(); blocked || g.slow || g.probes() == 0 {
		return
	}
	g.recall(ctx)
	began := g.collector.Clock.Now()
	for _, p := range g.probing().Probes(g.collector.Limits.PageProbes) {
		if g.session.Stats().Requests >= g.collector.Limits.MaxRequestsPerDomain || !g.probePage(ctx, p) {
			break
		}
	}
	g.found.analysis.took += g.collector.Clock.Now().Sub(began)
}

// recall adds what earlier collections learnt from pages. It ignores errors: the pages are then fetched again.
func (g *gathering) recall(ctx context.Context) {
	doc, _, err := g.batch.store.document(ctx, g.dir)
	if err != nil || doc == nil {
		return
	}
	data, err := g.batch.store.storedState(ctx, g.dir, doc)
	if err != nil || data == nil {
		return
	}
	if state, err := discovery.ParseState(data); err == nil {
		g.probing().Recall(state)
	}
}

// probePage fetches one page. It reports whether more requests may be sent.
func (g *gathering) probePage(ctx context.Context, p discovery.Probe) bool {
	a, failure := g.session.Fetch(ctx, fetch.Target{URL: p.URL, Accept: "text/html, application/xhtml+xml, */*;q=0.5",
		Timeout: g.collector.Limits.PageTimeout, MaxBytes: page.MaxBytes, Once: true})
	if failure != nil {
		g.noteFailure(p.URL, a.Retries, failed(failure))
		return !errors.Is(failure, fetch.ErrBudget) && !errors.Is(failure, fetch.ErrDeadline) && !postponed(failure)
	}
	g.found.site.refusals.note(a, true)
	if unwilling(a.Status) {
		g.noteFailure(p.URL, a.Retries, refusal(a.Status))
		return a.Status != http.StatusTooManyRequests && a.Status != http.StatusServiceUnavailable
	}
	var ev *page.Evidence
	if isHTML(a) && sameDirectory(a.URL, p.URL) {
		var err error
		ev, err = page.Extract(a.Body, page.Source{URL: a.URL, ContentType: a.Header.Get("Content-Type")})
		if err != nil {
			g.noteFailure(p.URL, a.Retries, failed(err))
			return true
		}
	}
	g.probing().Saw(p.URL, ev, g.collector.Clock.Now())
	g.collector.Log.Info("page_probed", "domain_id", g.message.DomainID, "pattern", p.Pattern, "url", p.URL,
		"status", a.Status, "read", ev != nil)
	return true
}

// isHTML reports whether an answer is an HTML page.
func isHTML(a *fetch.Answer) bool {
	media, _, _ := strings.Cut(a.Header.Get("Content-Type"), ";")
	switch strings.ToLower(strings.TrimSpace(media)) {
	case "text/html", "application/xhtml+xml", "":
		return a.Status == http.StatusOK
	}
	return false
}

// sameDirectory reports whether two URLs of pages are in one directory of a site: a page that redirects elsewhere says
// nothing about its pattern.
func sameDirectory(x, y string) bool {
	directory := func(link string) string {
		u, err := url.Parse(link)
		if err != nil {
			return link
		}
		return path.Dir(strings.TrimSuffix(u.EscapedPath(), "/"))
	}
	return contract.WithinDomain(hostname(x), fetch.Registrable(hostname(y))) && directory(x) == directory(y)
}

func hostname(link string) string {
	u, err := url.Parse(link)
	if err != nil {
		return ""
	}
	return u.Hostname()
}
