package collector

import (
	"context"
	"encoding/hex"
	"errors"
	"log/slog"
	"net/http"
	"time"

	"github.com/newsfork/seed-engine/classify"
	"github.com/newsfork/seed-engine/contract"
	"github.com/newsfork/seed-engine/discovery"
	"github.com/newsfork/seed-engine/fetch"
	"github.com/newsfork/seed-engine/frontier"
	"github.com/newsfork/seed-engine/robots"
)

const (
	maxRedirects  = 5                // RFC 9309, 2.3.1.2
	maxWall       = 10 * time.Minute // of one collection, politeness waits included
	maxPageBytes  = 1 << 20          // of the home page; feeds are declared in its head
	maxFeeds      = 3                // feeds read of one domain
	maxFeedBytes  = 5 << 20          // of one feed
	afterSitemaps = 1 + maxFeeds     // requests kept for the home page and feeds while sitemaps are read
)

// findings is the result of asking a domain.
type findings struct {
	reachable bool  // some request got an HTTP answer
	failure   error // of robots.txt, when nothing answered or a host on the way to it may not be asked now
	partial   bool
	began, at time.Time // when asking began, and when it ended
	failed    bool      // a failure, rather than a limit, left something unread that may exist

	origin      *fetch.Origin
	robots      contract.RobotsTxt
	robotsCode  int
	robotsAt    time.Time
	sitemap     contract.SitemapXML
	sitemapURL  string // of the root sitemap
	sitemapCode int
	sitemapAt   time.Time
	feeds       []contract.Feed
	// feedsOmitted counts those that the site declares or submits and that are not listed.
	feedsOmitted int
	server       contract.ServerInfo
	stats        fetch.Stats
	analyser     *discovery.Analyser
	analysing    time.Duration                  // spent on pages that only discovery needed
	rules        map[string]string              // of other hosts, see rulings.store
	state        []byte                         // see storeState; nil: it was not made yet
	stored       bool                           // it was written as discovery.json
	states       map[string]frontier.EntryState // of entry points, by URL
	queued       bool                           // pages and entry points were put into the frontier
	validators   map[string]validators          // of feeds and sitemaps that were read, by URL
	likeness     likeness
	mirrorOf     string
	details      details
	refusals     refusals
	movedTo      string  // host of another domain to which the site leads for good
	later        bool    // what is left to ask was left to refreshes, see leaveToLater
	storing      storing // of the evidence
}

// gathering is one collection under way.
type gathering struct {
	userAgent string
	limits    Limits
	store     *store
	clock     fetch.Clock
	log       *slog.Logger
	excluded  func(link string) bool
	model     *classify.Model
	message   *contract.DomainMessage
	dir       contract.DomainDir
	session   *fetch.Session
	group     *robots.Group // our group of the effective host's robots.txt
	rulings   *rulings      // of all hosts whose robots.txt was read
	pace      *pace
	named     []string            // the Sitemap lines of that robots.txt, all of them
	roots     map[string]string   // entry point of each sitemap that was read, by the URL it was asked under
	elsewhere map[string][]string // the Sitemap lines of other authorities' robots.txt
	found     *findings
	storing   *storing // of robots.txt and the root sitemap

	slow     bool // the site's own host wants longer pauses than the collection waits
	newsRoot bool // the root sitemap is a news sitemap that was found at a well-known path

	asked      []string         // feeds that were requested, as they were named
	unread     map[string]error // why robots.txt of other authorities could not be read
	otherHosts int              // authorities beside the site's own whose robots.txt was requested
	reserve    int              // requests kept for later steps
	crawling   bool             // from now on only the site's own pages are of interest
}

// gather asks the domain for robots.txt, sitemaps, home page and feeds, in this order. Evidence is stored
// meanwhile; findings.storing says when it is. Only failures of our stores are errors; those of the domain are findings.
func (v *Visit) gather(ctx context.Context, m *contract.DomainMessage) (*findings, error) {
	b, c, l := v.batch, v.batch.collector, v.batch.collector.Limits
	model, err := b.model(ctx)
	if err != nil {
		return nil, err
	}
	g := &gathering{
		userAgent: c.UserAgent, limits: l, store: b.store, clock: c.Clock, log: c.Log, excluded: b.excluded, model: model,
		message: m, dir: m.Dir(), roots: map[string]string{}, elsewhere: map[string][]string{}, unread: map[string]error{},
		found: &findings{feeds: []contract.Feed{}, likeness: likeness{domain: m.Domain}},
	}
	g.storing = &g.found.storing
	session := fetch.NewSession(fetch.Config{
		UserAgent: c.UserAgent, Excluded: b.excluded, Rules: g.rules, Admit: v.lease.Admit, Interval: l.RequestInterval, MaxCrawlDelay: l.MaxCrawlDelay,
		MaxRequests: l.MaxRequestsPerDomain, MaxRedirects: maxRedirects,
		Retries: l.FetchRetries, RetryBase: l.FetchRetryBase,
		Deadline: l.DomainDeadline, MaxWall: maxWall,
	}, c.Transport, c.Clock, b.limiter)
	defer session.Close()
	g.session = session
	g.found.began = c.Clock.Now()
	g.pace = newPace(ctx, c.Clock, session.Expired)
	g.rulings = newRulings(g.pace)
	gathered := false
	defer func() {
		if !gathered { // also after a panic nothing is left of it when its event ends
			_ = g.storing.wait()
		}
	}()
	err = g.run(ctx)
	g.found.rules = g.rulings.store(g.group)
	g.found.stats = session.Stats()
	g.found.reachable = g.found.stats.Answered > 0
	g.found.at = c.Clock.Now()
	if err != nil {
		return nil, err
	}
	g.found.mirrorOf = b.mirrorOf(ctx, m.Domain, g.found)
	gathered = true
	return g.found, nil
}

func (g *gathering) run(ctx context.Context) error {
	open := g.robots(ctx)
	g.analyse()
	g.moved(g.found.origin.Answer)
	g.undiscovered(g.found.origin.Answer.URL, g.found.origin.Answer.Retries, g.found.robots.Failure)
	if !open {
		g.found.sitemap.Documents = []contract.SitemapDocument{}
		g.found.server = serverInfo(g.found.origin.Answer.Header)
		g.found.sitemapCode = http.StatusNotFound
		if g.found.robotsCode != 0 {
			g.found.sitemap.Failure = contract.Failure{Error: contract.Text("robots.txt does not let us ask"), ErrorType: contract.Text(disallowed)}
		} else {
			g.found.sitemap.Failure = g.found.robots.Failure
		}
		g.logSitemap()
		return nil
	}
	if err := g.sitemaps(ctx, g.named); err != nil {
		return err
	}
	g.logSitemap()
	if err := g.storing.err(); err != nil {
		return err
	}
	g.learn(ctx)
	if err := g.homePage(ctx); err != nil {
		return err
	}
	if g.slow {
		g.leaveToLater()
	}
	if g.rulings.exhausted() {
		g.found.partial = true
		g.undiscovered(g.found.origin.Answer.URL, 0, contract.Failure{
			Error:     contract.Text("its rules take too long to match: not all URLs were"),
			ErrorType: contract.Text(string(contract.Timeout)),
		})
	}
	return nil
}

// stopped reports whether err is a limit of the session that ends the collection, and records that it did.
func (g *gathering) stopped(err error) bool {
	if errors.Is(err, fetch.ErrDeadline) || errors.Is(err, fetch.ErrBudget) || g.slow && errors.Is(err, fetch.ErrCrawlDelay) {
		g.found.partial = true
		return true
	}
	return false
}

// leaveToLater records that the site's own host wants longer pauses than a collection waits. What it would
// have been asked for are entry points of the contract all the same.
func (g *gathering) leaveToLater() {
	f := g.found
	f.partial, f.later = true, true
	base := f.origin.Scheme + "://" + f.origin.Host
	g.undiscovered(base+"/", 0, contract.Failure{
		Error:     contract.Text("its Crawl-delay is above MAX_CRAWL_DELAY_MS: what is left to ask is fetched later, at that pace"),
		ErrorType: contract.Text(string(contract.Timeout)),
	})
	wanted := []discovery.Source{{Method: discovery.HTMLEntry, URL: base + "/"}}
	for _, link := range g.named {
		wanted = append(wanted, discovery.Source{Method: discovery.SitemapEntry, URL: link})
	}
	if len(g.named) == 0 {
		wanted = append(wanted, discovery.Source{Method: discovery.SitemapEntry, URL: base + "/sitemap.xml"})
	}
	for _, s := range wanted[:min(len(wanted), contract.MaxSitemapURLs)] {
		f.analyser.Source(s)
	}
}

// altHost returns the host of the message's URL if it is below the domain.
func altHost(m *contract.DomainMessage) string {
	u, err := fetch.Guard(m.DomainURL)
	if err != nil || u.Hostname() == m.Domain || !within(u.Hostname(), m.Domain) {
		return ""
	}
	return u.Hostname()
}

// within reports whether host is the domain or below it.
func within(host, domain string) bool {
	return host == domain || len(host) > len(domain) && host[len(host)-len(domain)-1:] == "."+domain
}

func digest(sum []byte) *string { return contract.Text(hex.EncodeToString(sum)) }

// lastModified returns the Last-Modified header, nil if it is missing or malformed.
func lastModified(h http.Header) *contract.Time {
	t, err := http.ParseTime(h.Get("Last-Modified"))
	if err != nil {
		return nil
	}
	return contract.At(t)
}

// describe writes the findings into a document.
func (f *findings) describe(d *contract.Document) {
	d.Reachable, d.Partial = f.reachable, f.partial
	d.Blocked, d.BlockedReason = f.refusals.verdict()
	d.MovedTo = contract.Text(f.movedTo)
	d.CollectedAt = contract.Time{Time: f.at}
	d.Robots = contract.RobotsSummary{
		StatusCode: f.robotsCode, ContentLength: f.robots.Size, Exists: f.robots.Exists,
		FetchedAt: contract.At(f.robotsAt), SitemapURLs: f.robots.SitemapURLs, URLsOmitted: f.robots.URLsOmitted, Failure: f.robots.Failure,
	}
	d.Sitemap = contract.SitemapSummary{
		StatusCode: f.sitemapCode, ContentLength: f.sitemap.Size, Exists: f.sitemap.Exists,
		FetchedAt: contract.At(f.sitemapAt), URLCount: f.sitemap.URLCount, URL: contract.Text(f.sitemapURL), Failure: f.sitemap.Failure,
	}
	if f.sitemap.LastUpdated == nil {
		f.sitemap.LastUpdated = f.sitemap.LastModified
	}
	f.server.Requests = f.stats.Requests
	if f.stats.Answered > 0 {
		ms := f.stats.AvgResponseTime.Milliseconds()
		f.server.ResponseTimeAvgMS = &ms
		f.server.SupportsHTTPS = f.origin.HTTPS
		f.server.EffectiveHost = contract.Text(f.origin.Host)
	}
	d.Technical = contract.Technical{RobotsTxt: f.robots, SitemapXML: f.sitemap, Feeds: f.feeds, FeedsOmitted: f.feedsOmitted, ServerInfo: f.server, MirrorOf: contract.Text(f.mirrorOf)}
	d.Processing.PolitenessWaitMS = f.stats.PolitenessWait.Milliseconds()
	d.Processing.ProcessingDurationMS = (f.stats.Elapsed - f.stats.PolitenessWait).Milliseconds()
}
