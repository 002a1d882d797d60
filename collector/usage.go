package collector

import (
	"context"
	"net/http"

	"github.com/newsfork/seed-engine/contract"
	"github.com/newsfork/seed-engine/discovery"
	"github.com/newsfork/seed-engine/epoch"
	"github.com/newsfork/seed-engine/fetch"
	"github.com/newsfork/seed-engine/robots"
	"github.com/newsfork/seed-engine/usage"
)

// usageMaxAge is the age up to which a tdmrep.json is not requested again. Publishers that have one hardly ever change
// it, and the header fields and meta elements of pages, which scrapers read, win over it.
const usageMaxAge = 30 * epoch.Day

// usage finds out what the site says about the use of its content, from its home page and its tdmrep.json. A home page
// without links is a placeholder.
func (g *gathering) usage(ctx context.Context, home *fetch.Answer, failure error, links []discovery.Link) {
	g.crawling = true
	u := contract.Usage{Directives: []contract.UsageDirective{}, TDM: []contract.TDMRule{}}
	host := hostname(g.base())
	if g.usageKept != nil {
		known := usage.Decode(g.usageKept(host))
		for _, rule := range known.TDM {
			if rule.Source == contract.UsageFile {
				u.TDM = append(u.TDM, rule)
			}
		}
		u.CheckedAt = known.CheckedAt
	}
	now := g.collector.Clock.Now()
	if len(links) > 0 && (u.CheckedAt == nil || now.Sub(u.CheckedAt.Time) >= usageMaxAge) {
		if rules, ok := tdmRules(ctx, g); ok {
			u.TDM, u.CheckedAt = rules, contract.At(now)
		}
	}
	if isPage(failure, home) {
		list, rule := usage.OfPage(home.Header, home.Content, robots.ProductToken(g.collector.UserAgent))
		if u.Directives = append(u.Directives, list...); rule != nil {
			u.TDM = append(u.TDM, *rule)
		}
	}
	g.found.site.usage, g.found.site.usageHosts = &u, []string{host}
	if failure == nil {
		g.found.site.usageHosts = append(g.found.site.usageHosts, hostname(home.URL))
	}
}

// tdmRules requests tdmrep.json. ok is false unless the server answered, mostly with 404.
func tdmRules(ctx context.Context, g *gathering) (rules []contract.TDMRule, ok bool) {
	a, failure := g.session.Fetch(ctx, fetch.Target{URL: g.base() + usage.FilePath, Accept: "application/json",
		Timeout: g.collector.Limits.PageTimeout, MaxBytes: usage.MaxFileBytes + 1, Whole: true, Once: true})
	if failure != nil || unwilling(a.Status) {
		return nil, false
	}
	if a.Status == http.StatusOK {
		if rules, err := usage.OfFile(a.Content); err == nil {
			return rules, true
		}
	}
	return []contract.TDMRule{}, true // with 200 and no rules, it is a page
}
