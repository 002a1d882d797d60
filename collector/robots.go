package collector

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"slices"

	"github.com/newsfork/seed-engine/contract"
	"github.com/newsfork/seed-engine/fetch"
	"github.com/newsfork/seed-engine/r2"
	"github.com/newsfork/seed-engine/robots"
)

// robots finds where the domain answers by asking for robots.txt, stores the file, and makes the
// session obey it. It reports whether anything more may be asked.
func (g *gathering) robots(ctx context.Context) (open bool, err error) {
	f := g.facts
	origin, failure := g.session.Origin(ctx, g.message.Domain, altHost(g.message), "/robots.txt", fetch.Target{
		Accept: "text/plain, */*;q=0.5", Timeout: g.Settings.RobotsTimeout,
		MaxBytes: robots.MaxBytes + 1, Whole: true,
	})
	a := origin.Answer
	f.origin, f.robotsCode, f.robotsAt = origin, a.Status, g.Clock.Now()
	g.stopped(failure)
	body := a.Content
	if a.Status == 0 {
		f.failure = failure
	}
	result := robots.Evaluate(robots.Fetched{
		Status: a.Status, Redirects: len(a.Hops), ContentType: a.Header.Get("Content-Type"), Body: body,
		Failed: failure != nil && !errors.Is(failure, fetch.ErrRedirects),
	})
	g.group = result.File.Agent(g.Settings.UserAgent)
	f.robots = contract.RobotsTxt{
		Exists: result.Exists, AllowsCrawling: g.group.Allowed("/"),
		ContentSignals: g.group.ContentSignals(), SitemapURLs: []string{},
	}
	switch {
	case result.Exists:
		body = body[:min(len(body), robots.MaxBytes)]
		sum := sha256.Sum256(body)
		f.robots.Size, f.robots.SHA256 = int64(len(body)), digest(sum[:])
		f.robots.LastModified, f.robots.ETag = lastModified(a.Header), contract.Text(a.Header.Get("ETag"))
		f.robots.SitemapURLs = append(f.robots.SitemapURLs, result.File.Sitemaps(a.URL)...)
		if delay, ok := g.group.CrawlDelay(); ok {
			seconds := delay.Seconds()
			f.robots.CrawlDelaySeconds = &seconds
			g.session.SetDelay(origin.Host, delay)
		}
		_, err = g.put(ctx, g.dir.Robots(), body, &r2.PutOptions{ContentType: "text/plain"})
	case failure != nil:
		f.robots.Failure = failed(failure)
	case result.File.IsHTML:
		f.robots.Failure = contract.Failure{Error: contract.Text("a web page is served in its place")}
	default:
		f.robots.Failure = refusal(a.Status)
	}
	g.Log.Info("robots_fetched", "domain_id", g.message.DomainID, "status", a.Status, "content_length", f.robots.Size)
	for _, host := range []string{g.message.Domain, origin.Host} {
		g.session.SetRules(host, g.group.Allowed)
	}
	return result.Access != robots.Unreachable && g.leavesAnything(), err
}

// leavesAnything reports whether robots.txt allows any of what would be asked for next.
func (g *gathering) leavesAnything() bool {
	return slices.ContainsFunc(append([]string{"/", "/sitemap.xml"}, g.facts.robots.SitemapURLs...), g.group.Allowed)
}

// refusal describes an answer that is not a success. A 4xx is a fact, a 5xx is the server failing.
func refusal(status int) contract.Failure {
	f := contract.Failure{Error: contract.Text(fmt.Sprintf("HTTP %d", status))}
	if status >= 500 {
		f.ErrorType = contract.Text(string(contract.Network))
	}
	return f
}
