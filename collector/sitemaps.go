package collector

import (
	"cmp"
	"context"
	"crypto/md5"
	"crypto/sha256"
	"errors"
	"hash"
	"net/http"

	"github.com/newsfork/seed-engine/contract"
	"github.com/newsfork/seed-engine/discovery"
	"github.com/newsfork/seed-engine/fetch"
	"github.com/newsfork/seed-engine/sitemap"
)

// sitemaps reads the sitemaps named by robots.txt and the sitemaps that they list, or else those at well-known paths.
// It reserves requests for the home page and feeds.
func (g *gathering) sitemaps(ctx context.Context, named []string) error {
	f := g.found
	f.sitemap.Documents = []contract.SitemapDocument{}
	f.sitemap.code = http.StatusNotFound
	walk := sitemap.NewWalk(g.base(), named, g.collector.Limits.MaxRequestsPerDomain, g.collector.Clock.Now())
	more := true
	for more && (len(f.sitemap.Documents) == 0 ||
		g.session.Stats().Requests+afterSitemaps < g.collector.Limits.MaxRequestsPerDomain) {
		var c sitemap.Candidate
		if c, more = walk.Next(); !more {
			break
		}
		err := g.found.puts.err()
		if err != nil {
			return err
		}
		if more, err = g.sitemap(ctx, walk, c); err != nil {
			return err
		}
		g.reserve = afterSitemaps
	}
	g.reserve = 0
	g.storeChildren(ctx)
	f.sitemap.NotRead += walk.Unread()
	if more { // the budget ended it, perhaps the search for one at well-known paths
		_, more = walk.Next()
	}
	f.partial = f.partial || more || f.sitemap.NotRead > 0
	return nil
}

// sitemap requests and reads one sitemap. It reports whether more requests may be sent. Its errors are the bucket's.
func (g *gathering) sitemap(ctx context.Context, walk *sitemap.Walk, c sitemap.Candidate) (more bool, err error) {
	f := g.found
	if len(c.URL) > contract.MaxLinkBytes {
		f.sitemap.DocumentsOmitted++
		return true, nil
	}
	began := g.collector.Clock.Now()
	spare := walk.Spare(c)
	a, failure := g.session.Fetch(ctx, fetch.Target{
		URL: c.URL, Accept: "application/xml, text/xml, */*;q=0.5",
		Timeout: g.collector.Limits.SitemapTimeout, MaxBytes: g.collector.Limits.MaxSitemapBytes, Once: spare,
	})
	more = !g.noteLimit(failure)
	if spare && more && (retryable(failure) && !postponed(failure) || unwilling(a.Status)) {
		walk.EndGuesses() // others would take the time and patience that the home page and feeds need
		why := refusal(a.Status)
		if failure != nil {
			why = failed(failure)
		}
		f.noteSitemap(contract.SitemapDocument{URL: c.URL, FoundBy: string(c.Source), StatusCode: a.Status,
			Error: why.Error})
		return true, nil
	}
	if !more && a.Requests == 0 {
		g.sitemapNotRead(c, failed(failure))
		return false, nil
	}
	if !f.sitemap.Exists && a.Requests > 0 {
		f.sitemap.at = began
	}
	d := contract.SitemapDocument{URL: c.URL, FoundBy: string(c.Source), StatusCode: a.Status}
	var why contract.Failure
	other := false // the response is something else than a sitemap
	switch {
	case failure != nil:
		why = failed(failure)
	case a.Status != http.StatusOK:
		why = refusal(a.Status)
	case !walk.Redirect(c, a.URL):
		return true, nil // it redirects to one that was read before
	default:
		if why, other, err = g.receivedSitemap(ctx, walk, c, a, &d); err != nil {
			return false, err
		}
		if f.sitemap.url == a.URL {
			f.sitemap.at = began
		}
	}
	f.site.refusals.note(a, why.Error == nil)
	d.Error = why.Error
	// A guess that returns something else is merely missing: some sites have a page for every path.
	if missing := other && c.Source == sitemap.FromWellKnown; more && !missing {
		g.noteFailure(c.URL, a.Retries, why)
	}
	f.noteSitemap(d)
	f.partial = f.partial || errors.Is(failure, fetch.ErrRobotsUnknown) || postponed(failure) || retryable(failure) ||
		c.Source != sitemap.FromWellKnown && withheld(a.Status, why)
	f.failed = f.failed || more && retryable(failure)
	// The last failure is the most informative, but a missing file does not replace another failure.
	if !f.sitemap.Exists && (f.sitemap.Error == nil || why.ErrorType != nil) {
		f.sitemap.Failure, f.sitemap.code = why, cmp.Or(a.Status, http.StatusNotFound)
	}
	return more, nil
}

// unwilling reports whether a status asks for fewer requests, or says that the server is in trouble.
func unwilling(status int) bool {
	return status == http.StatusTooManyRequests || status >= http.StatusInternalServerError
}

// withheld reports whether a sitemap that the site names probably lists URLs, but its server did not send all of it.
func withheld(status int, why contract.Failure) bool {
	if status == http.StatusTooManyRequests {
		return true
	}
	return why.ErrorType != nil && (*why.ErrorType == string(contract.Network) ||
		*why.ErrorType == string(contract.Timeout))
}

// sitemapNotRead records a sitemap that was not requested because of a limit.
func (g *gathering) sitemapNotRead(c sitemap.Candidate, why contract.Failure) {
	f := g.found
	if c.Source != sitemap.FromWellKnown {
		f.sitemap.NotRead++
	}
	if !f.sitemap.Exists && f.sitemap.Error == nil {
		f.sitemap.Failure = why
	}
}

// receivedSitemap reads a sitemap and completes d. Its entries go to the walk and the analysis. why is the reason if
// it cannot be used. other is true if the response is not a sitemap at all, rather than a broken one. err is the
// bucket's.
func (g *gathering) receivedSitemap(ctx context.Context, walk *sitemap.Walk, c sitemap.Candidate, a *fetch.Answer,
	d *contract.SitemapDocument) (why contract.Failure, other bool, err error) {
	// The entries of an index's children count for the index.
	entry := discovery.Source{Method: discovery.SitemapEntry, URL: cmp.Or(g.roots[c.Parent], a.URL), Read: true}
	var source discovery.SourceID
	s, why, err := g.read(ctx, c, a, func(e *sitemap.Entry) {
		if e.Child {
			walk.Child(c, e.Loc, e.Lastmod)
			return
		}
		if source == 0 {
			if e.News.Present {
				entry.Method, entry.URL = discovery.NewsSitemapEntry, a.URL
			}
			source = g.found.analysis.analyser.Source(entry)
		}
		g.addSitemapEntry(e, a.URL, source)
	})
	if err != nil {
		return why, false, err
	}
	d.Kind, d.URLCount, d.NewsCount, d.LastUpdated = contract.Text(string(s.Kind)), s.URLs, s.NewsTitles,
		contract.At(s.Newest)
	if why != (contract.Failure{}) {
		return why, s.Problem != "" && why.Error != nil && *why.Error == *contract.ShortText(s.Problem), nil
	}
	walk.Read(c, a.URL, s)
	g.roots[c.URL] = entry.URL
	if entry.URL == a.URL {
		g.found.analysis.analyser.Source(discovery.Source{Method: entryMethod(s), URL: a.URL, Read: true})
	}
	if s.Kind.IsFeed() { // sites submit feeds as sitemaps
		g.noteFeed(contract.Feed{
			URL: a.URL, Kind: string(s.Kind), Title: contract.ShortText(s.Title), FoundBy: string(c.Source),
			ItemCount: s.URLs + s.Skipped, LastUpdated: contract.At(s.Newest),
		})
	}
	f := &g.found.sitemap
	f.URLCount += s.URLs
	f.Truncated = f.Truncated || s.Truncated || a.Body.Truncated()
	f.LastUpdated = newest(f.LastUpdated, d.LastUpdated)
	return why, false, nil
}

// read parses the answer to c. If it might be the root sitemap, read also stores it as evidence: the first sitemap is
// the root, until one of more worth is found that no index names. why is the reason if it cannot be used; err is the
// bucket's.
func (g *gathering) read(ctx context.Context, c sitemap.Candidate, a *fetch.Answer,
	fn func(*sitemap.Entry)) (s *sitemap.Summary, why contract.Failure, err error) {
	options := sitemap.Options{ContentType: a.Header.Get("Content-Type"), MaxBytes: g.collector.Limits.MaxSitemapBytes,
		Now: g.collector.Clock.Now(), Details: true}
	var e *bodyUpload
	var sum hash.Hash
	if c.Parent == "" { // children of an index are not entry points, except for news
		sum = sha256.New()
		options.Tee = sum
	}
	if !g.found.sitemap.Exists || c.Source != sitemap.FromIndex && g.rootWorth < sitemap.OfSite {
		if e, err = g.batch.store.createUpload(ctx, g.dir.Sitemap()); err != nil {
			return nil, why, err
		}
		if g.message.Force { // an earlier collection might have stored the same
			e.etag = md5.New()
		}
		options.Tee, sum = e, e.sum
	}
	urls := &urlDigest{Hash: sha256.New(), domain: g.message.Domain}
	entry := fn
	fn = func(entered *sitemap.Entry) {
		if e != nil {
			urls.add(entered.Loc)
		} else if !entered.Child {
			g.found.sitemap.children.add(entered.Loc)
		}
		entry(entered)
	}
	summary, broken := g.parse(a.Body, a.URL, options, fn)
	switch {
	case e != nil && e.err != nil:
		return nil, why, e.abort(e.err)
	case broken != nil:
		why = failed(broken)
	case summary.Kind == sitemap.Invalid:
		why = contract.Failure{Error: contract.ShortText(cmp.Or(summary.Problem, "it is not a sitemap")),
			ErrorType: contract.Text(string(contract.Parse))}
	}
	if why.Error == nil {
		g.found.noteValidators(a, sum, summary.Charset, summary.Truncated)
	}
	worth := c.Worth(a.URL, &summary)
	switch {
	case e == nil:
	case why.Error != nil, g.found.sitemap.Exists && worth <= g.rootWorth:
		err = e.abort(nil)
	default:
		g.rootWorth = worth
		g.found.site.fingerprint.setSitemap(urls)
		g.root(ctx, a, &summary, e)
	}
	return &summary, why, err
}

// noteSitemap adds a sitemap that was requested to the document, up to contract.MaxSitemapDocuments.
func (f *findings) noteSitemap(d contract.SitemapDocument) {
	if len(f.sitemap.Documents) == contract.MaxSitemapDocuments {
		f.sitemap.DocumentsOmitted++
		return
	}
	f.sitemap.Documents = append(f.sitemap.Documents, d)
}

func newest(a, b *contract.Time) *contract.Time {
	if a == nil || b != nil && b.After(a.Time) {
		return b
	}
	return a
}

// root records the root sitemap and starts storing it.
func (g *gathering) root(ctx context.Context, a *fetch.Answer, s *sitemap.Summary, e *bodyUpload) {
	f := g.found
	f.sitemap.url, f.sitemap.code = a.URL, a.Status
	f.sitemap.Exists, f.sitemap.Size, f.sitemap.Failure = true, e.size, contract.Failure{}
	f.sitemap.Kind, f.sitemap.SHA256 = contract.Text(string(s.Kind)), hexDigest(e.sum.Sum(nil))
	f.sitemap.LastModified, f.sitemap.ETag = lastModified(a.Header), contract.ShortText(a.Header.Get("ETag"))
	g.found.puts.begin(ctx, g.collector.Clock, g.dir.Sitemap(), func() error {
		return g.batch.store.commitEvidence(ctx, g.dir.Sitemap(), e)
	})
}

func (g *gathering) logSitemap() {
	f := g.found
	g.collector.Log.Info("sitemap_fetched", "domain_id", g.message.DomainID, "status", f.sitemap.code,
		"content_length", f.sitemap.Size, "url_count", f.sitemap.URLCount)
}
