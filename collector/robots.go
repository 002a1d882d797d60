package collector

import (
	"context"
	"crypto/sha256"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/newsfork/seed-engine/contract"
	"github.com/newsfork/seed-engine/robots"
)

// robots requests robots.txt, which shows where the domain answers, stores the file, and makes the session obey it.
// It reports whether more requests may be sent.
func (g *gathering) robots(ctx context.Context) (open bool) {
	f := g.found
	origin, failure := g.session.Origin(ctx, g.message.Domain, altHost(g.message), "/robots.txt", g.robotsTarget(""))
	a := origin.Answer
	f.site.origin, f.robots.code, f.robots.at = origin, a.Status, g.collector.Clock.Now()
	g.noteLimit(failure)
	body := a.Content
	switch {
	case a.Status == 0:
		f.failure = failure
	case postponed(failure): // a host that it redirects to; the domain's own lease is not at fault
		f.failure = &contract.Error{Kind: contract.KindOf(failure), Op: "collector.robots", Message: failure.Error()}
	}
	result := evaluate(a, failure)
	g.policy.group = result.File.Agent(g.collector.UserAgent)
	f.robots.RobotsTxt = contract.RobotsTxt{
		Exists: result.Exists, AllowsCrawling: g.policy.group.Allowed("/"), SitemapURLs: []string{},
	}
	f.robots.ContentSignals, f.robots.SignalsOmitted = contentSignals(g.policy.group)
	switch {
	case result.Exists:
		body = body[:min(len(body), robots.MaxBytes)]
		sum := sha256.Sum256(body)
		f.robots.Size, f.robots.SHA256 = int64(len(body)), hexDigest(sum[:])
		f.robots.LastModified, f.robots.ETag = lastModified(a.Header), contract.ShortText(a.Header.Get("ETag"))
		g.policy.named = result.File.Sitemaps(a.URL)
		f.robots.SitemapURLs, f.robots.URLsOmitted = shortList(g.policy.named)
		if delay, ok := g.policy.group.CrawlDelay(); ok {
			seconds := delay.Seconds()
			f.robots.CrawlDelaySeconds = &seconds
		}
		g.found.puts.begin(ctx, g.collector.Clock, g.dir.Robots(), func() error {
			return g.batch.store.putEvidence(ctx, g.dir.Robots(), body, g.message.Force)
		})
	case failure != nil:
		f.robots.Failure = failed(failure)
	case result.File.IsHTML:
		f.robots.Failure = contract.Failure{Error: contract.Text("a web page is served in its place")}
	default:
		f.robots.Failure = refusal(a.Status)
	}
	g.collector.Log.Info("robots_fetched", "domain_id", g.message.DomainID, "status", a.Status,
		"content_length", f.robots.Size)
	if a.Status != 0 {
		expires := time.Time{}
		if result.Access != robots.Unreachable {
			expires = f.robots.at.Add(robots.MaxAge)
		}
		g.adopt(a, g.policy.group, expires)
		g.slow = g.session.Slow(origin.Host)
		// The host that answered stands for those of the domain that do not.
		g.policy.rules.setFallback(origin.Host, g.policy.group)
		g.policy.rules.setFallback(g.message.Domain, g.policy.group)
	}
	return result.Access != robots.Unreachable && g.leavesAnything()
}

// leavesAnything reports whether robots.txt allows any of the next requests.
func (g *gathering) leavesAnything() bool {
	return slices.ContainsFunc(append([]string{"/", "/sitemap.xml"}, g.policy.named...), g.policy.group.Allowed)
}

// shortList returns the sitemaps of robots.txt that a document lists, and the number of omitted ones.
func shortList(urls []string) (listed []string, omitted int) {
	listed = []string{}
	for _, u := range urls {
		if len(listed) == contract.MaxSitemapURLs || len(u) > contract.MaxSitemapURLBytes {
			omitted++
			continue
		}
		listed = append(listed, u)
	}
	return listed, omitted
}

// contentSignals returns the signals of a group that a document lists, and the number of omitted ones.
func contentSignals(group *robots.Group) (listed map[string]string, omitted int) {
	listed = map[string]string{}
	all := group.ContentSignals()
	for _, name := range slices.Sorted(maps.Keys(all)) {
		if len(listed) == contract.MaxContentSignals || len(name) > contract.MaxTextBytes {
			omitted++
			continue
		}
		listed[name] = all[name]
	}
	return listed, omitted
}

// refusal describes an answer that is not a success. Only a 5xx is a failure, of the server.
func refusal(status int) contract.Failure {
	f := contract.Failure{Error: contract.Text(fmt.Sprintf("HTTP %d", status))}
	if status >= 500 {
		f.ErrorType = contract.Text(string(contract.Network))
	}
	return f
}
