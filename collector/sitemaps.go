package collector

import (
	"context"
	"crypto/sha256"
	"errors"
	"hash"
	"net/http"

	"github.com/newsfork/seed-engine/contract"
	"github.com/newsfork/seed-engine/fetch"
	"github.com/newsfork/seed-engine/r2"
	"github.com/newsfork/seed-engine/sitemap"
)

// candidate is a sitemap to ask for.
type candidate struct {
	url     string
	foundBy string
}

func (g *gathering) sitemaps(ctx context.Context) error {
	f := g.facts
	base := f.origin.Scheme + "://" + f.origin.Host
	var queue []candidate
	for _, u := range f.robots.SitemapURLs {
		queue = append(queue, candidate{u, "robots"})
	}
	if len(queue) == 0 {
		for _, p := range []string{"/sitemap.xml", "/sitemap_index.xml", "/wp-sitemap.xml"} {
			queue = append(queue, candidate{base + p, "well_known"})
		}
	}
	f.sitemap.Documents = []contract.SitemapDocument{}
	f.sitemapCode = http.StatusNotFound
	seen := map[string]bool{}
	for len(queue) > 0 {
		c := queue[0]
		queue = queue[1:]
		if seen[c.url] || c.foundBy == "well_known" && f.sitemap.Exists {
			continue
		}
		seen[c.url] = true
		if g.session.Stats().Requests+afterSitemaps >= g.Settings.MaxRequestsPerDomain {
			break
		}
		children, err := g.sitemap(ctx, c)
		if err != nil {
			return err
		}
		for _, u := range children {
			queue = append(queue, candidate{u, "index"})
		}
	}
	return nil
}

// sitemap asks for one sitemap and reads it. The first one that is one is stored while it is read.
func (g *gathering) sitemap(ctx context.Context, c candidate) (children []string, err error) {
	f := g.facts
	d := contract.SitemapDocument{URL: c.url, FoundBy: c.foundBy}
	f.sitemapAt = g.Clock.Now()
	a, failure := g.session.Fetch(ctx, fetch.Target{
		URL: c.url, Accept: "application/xml, text/xml, */*;q=0.5",
		Timeout: g.Settings.SitemapTimeout, MaxBytes: g.Settings.MaxSitemapBytes,
	})
	if a.Status != 0 {
		f.sitemapCode = a.Status
		d.StatusCode = a.Status
	}
	why := contract.Failure{}
	switch {
	case failure != nil:
		g.stopped(failure)
		why = failed(failure)
	case a.Status != http.StatusOK:
		why = refusal(a.Status)
	default:
		var s sitemap.Summary
		var evidence *evidence
		options := sitemap.Options{ContentType: a.Header.Get("Content-Type"), MaxBytes: g.Settings.MaxSitemapBytes, Now: g.Clock.Now()}
		if !f.sitemap.Exists {
			if evidence, err = g.evidence(ctx, g.dir.Sitemap()); err != nil {
				return nil, err
			}
			options.Tee = evidence
		}
		s, failure = sitemap.Parse(a.Body, a.URL, options, func(e *sitemap.Entry) {
			if e.Child {
				children = append(children, string(e.Loc))
			}
		})
		if failure != nil {
			if evidence != nil && evidence.err != nil {
				return nil, evidence.abort(evidence.err)
			}
			why = failed(failure)
		}
		d.Kind, d.URLCount, d.NewsCount, d.LastUpdated = contract.Text(string(s.Kind)), s.URLs, s.NewsTitles, contract.At(s.Newest)
		usable := failure == nil && s.Kind != sitemap.Invalid
		if failure == nil && !usable {
			why = contract.Failure{Error: contract.Text(s.Problem), ErrorType: contract.Text(string(contract.Parse))}
		}
		if evidence != nil {
			if !usable {
				err = evidence.abort(nil)
			} else {
				err = g.root(a, s, evidence)
			}
			if err != nil {
				return nil, err
			}
		}
		if usable {
			f.sitemap.URLCount += s.URLs
			f.sitemap.Truncated = f.sitemap.Truncated || s.Truncated
			if t := contract.At(s.Newest); t != nil && (f.sitemap.LastUpdated == nil || f.sitemap.LastUpdated.Before(t.Time)) {
				f.sitemap.LastUpdated = t
			}
		}
	}
	d.Error = why.Error
	f.sitemap.Documents = append(f.sitemap.Documents, d)
	if !f.sitemap.Exists && (f.sitemap.Error == nil || why.ErrorType != nil) {
		f.sitemap.Failure = why
	}
	return children, nil
}

// root notes the root sitemap, whose content is stored.
func (g *gathering) root(a *fetch.Answer, s sitemap.Summary, e *evidence) error {
	f := g.facts
	f.sitemapURL = a.URL
	f.sitemapCode = a.Status
	f.sitemap.Exists, f.sitemap.Size, f.sitemap.Failure = true, e.size, contract.Failure{}
	f.sitemap.Kind, f.sitemap.SHA256 = contract.Text(string(s.Kind)), digest(e.sum.Sum(nil))
	f.sitemap.LastModified, f.sitemap.ETag = lastModified(a.Header), contract.Text(a.Header.Get("ETag"))
	_, err := e.upload.Commit()
	return contract.Wrap(contract.Storage, "collector.sitemap", err)
}

func (g *gathering) logSitemap() {
	f := g.facts
	g.Log.Info("sitemap_fetched", "domain_id", g.message.DomainID, "status", f.sitemapCode, "content_length", f.sitemap.Size, "url_count", f.sitemap.URLCount)
}

// evidence is a body being stored while it is read.
type evidence struct {
	upload r2.Upload
	sum    hash.Hash
	size   int64
	err    error // of the bucket
}

func (g *gathering) evidence(ctx context.Context, key string) (*evidence, error) {
	u, err := g.Bucket.Create(ctx, key, &r2.PutOptions{ContentType: "application/xml"})
	if err != nil {
		return nil, contract.Wrap(contract.Storage, "collector.evidence", err)
	}
	return &evidence{upload: u, sum: sha256.New()}, nil
}

func (e *evidence) Write(p []byte) (int, error) {
	e.sum.Write(p)
	e.size += int64(len(p))
	n, err := e.upload.Write(p)
	if err != nil {
		e.err = contract.Wrap(contract.Storage, "collector.evidence", err)
		return n, e.err
	}
	return n, nil
}

// abort gives up the body, and returns cause or else what went wrong with that.
func (e *evidence) abort(cause error) error {
	return errors.Join(cause, contract.Wrap(contract.Storage, "collector.evidence", e.upload.Abort()))
}
