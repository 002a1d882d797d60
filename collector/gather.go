package collector

import (
	"context"
	"encoding/hex"
	"errors"
	"net/http"
	"time"

	"github.com/newsfork/seed-engine/classify"
	"github.com/newsfork/seed-engine/contract"
	"github.com/newsfork/seed-engine/discovery"
	"github.com/newsfork/seed-engine/fetch"
	"github.com/newsfork/seed-engine/frontier"
	"github.com/newsfork/seed-engine/robots"
	"github.com/newsfork/seed-engine/sitemap"
)

const (
	maxRedirects  = 5                // RFC 9309, 2.3.1.2
	maxWall       = 10 * time.Minute // of one collection, politeness waits included
	maxPageBytes  = 1 << 20          // of the home page, whose head declares feeds
	maxFeeds      = 3                // feeds read per domain
	maxFeedBytes  = 5 << 20          // of one feed
	afterSitemaps = 1 + maxFeeds     // requests reserved for the home page and feeds
)

// findings is the result of visiting a domain.
type findings struct {
	began, at time.Time // of the first request and after the last
	reachable bool      // some request got an HTTP response
	failure   error     // of robots.txt, if nothing answered or a host on the way to it is not ready
	partial   bool      // something that the site has was not read
	failed    bool      // a failure rather than a limit kept something from being read
	deferred  bool      // the rest was left to refreshes, see deferRest

	robots   robotsFindings
	sitemap  sitemapFindings
	feeds    feedFindings
	site     siteFindings
	analysis analysisFindings
	queue    queueFindings
	puts     backgroundPuts // of robots.txt and sitemaps
}

// robotsFindings is the robots.txt of the host that answered.
type robotsFindings struct {
	contract.RobotsTxt
	code  int
	at    time.Time
	hosts map[string]*robots.Group // our group, by host
}

// sitemapFindings is the root sitemap, with a summary of all requested ones.
type sitemapFindings struct {
	contract.SitemapXML
	url      string
	code     int
	at       time.Time
	children childPages
}

// feedFindings are the feeds that were read.
type feedFindings struct {
	list    []contract.Feed
	omitted int // feeds that the site declares or submits, but the list lacks
}

// siteFindings describes the site and its server.
type siteFindings struct {
	origin      *fetch.Origin
	server      contract.ServerInfo
	stats       fetch.Stats
	refusals    refusals
	fingerprint fingerprint
	original    string // domain that the home page names as its original, "" for none
	mirrorOf    string
	movedTo     string          // host of another domain, to which the site redirects permanently
	usage       *contract.Usage // of its content; nil if its home page was not requested
	usageHosts  []string        // to which usage applies
}

// analysisFindings is the analysis of the site's URLs, and what is stored of it.
type analysisFindings struct {
	analyser *discovery.Analyser
	took     time.Duration     // for requests that only discovery needed
	rules    map[string]string // robots.txt of other hosts, see robotsRules.store
	state    []byte            // see storeState; nil until it is made
	stored   bool              // state is in discovery.json
}

// queueFindings is sent to the frontier, or returned by it.
type queueFindings struct {
	validators map[string]validators // of feeds and sitemaps that were read, by URL
	details    details
	done       bool                           // pages and entry points are in the frontier
	states     map[string]frontier.EntryState // of entry points, by URL
	observed   []frontier.ObservedPattern     // of the hosts of the entry points
}

// gathering is one collection under way.
type gathering struct {
	collector *Collector
	batch     *Batch
	model     *classify.Model
	message   *contract.DomainMessage
	dir       contract.DomainDir
	session   *fetch.Session
	pace      *pace
	watch     *stopwatch
	policy    policy
	found     *findings

	slow     bool // the host's crawl delay is longer than the collection waits
	crawling bool // only pages of the site's own host are still requested
	reserve  int  // requests kept for later steps

	roots     map[string]string // entry point of each sitemap that was read, by the URL that was requested
	rootWorth sitemap.Worth     // of the root sitemap
	asked     []string          // URLs of requested feeds, before redirects

	usageKept func(host string) string // see Lease.Usage
}

// policy holds the rules of the robots.txt files that were read.
type policy struct {
	group      *robots.Group       // our group for the host that answered
	named      []string            // all its Sitemap lines
	rules      *robotsRules        // of all hosts whose robots.txt was read
	elsewhere  map[string][]string // the Sitemap lines of other authorities' robots.txt
	unread     map[string]error    // why robots.txt of other authorities could not be read
	otherHosts int                 // authorities beside the site's own whose robots.txt was requested
}

// gather requests robots.txt, sitemaps, home page and feeds of the domain, in this order. Evidence is stored in the
// background: the caller waits for findings.puts. Only failures of our stores are errors; those of the domain are
// findings.
func (v *Visit) gather(ctx context.Context, m *contract.DomainMessage, watch *stopwatch) (*findings, error) {
	b, c, l := v.batch, v.batch.collector, v.batch.collector.Limits
	model, err := b.model(ctx)
	if err != nil {
		return nil, err
	}
	g := &gathering{
		collector: c, batch: b, model: model, message: m, dir: m.Dir(), watch: watch, roots: map[string]string{},
		usageKept: v.lease.Usage,
		policy:    policy{elsewhere: map[string][]string{}, unread: map[string]error{}},
		found: &findings{feeds: feedFindings{list: []contract.Feed{}},
			site: siteFindings{fingerprint: fingerprint{domain: m.Domain}}},
	}
	session := fetch.NewSession(fetch.Config{
		UserAgent: c.UserAgent, Excluded: b.excluded, Rules: g.rules, Admit: v.lease.Admit,
		Interval: l.RequestInterval, MaxCrawlDelay: l.MaxCrawlDelay,
		MaxRequests: l.MaxRequestsPerDomain, MaxRedirects: maxRedirects,
		Retries: l.FetchRetries, RetryBase: l.FetchRetryBase,
		Deadline: l.DomainDeadline, MaxWall: maxWall,
	}, c.Transport, c.Clock, b.limiter)
	defer session.Close()
	g.session = session
	g.found.began = c.Clock.Now()
	g.watch.restart()
	g.watch.session, g.watch.waited = session, 0
	g.pace = newPace(ctx, c.Clock, session.Expired)
	g.policy.rules = newRobotsRules(g.pace)
	gathered := false
	defer func() {
		if !gathered { // after a panic, too, nothing goes on in the background
			_ = g.found.puts.wait()
		}
	}()
	err = g.run(ctx)
	g.found.analysis.rules, g.found.robots.hosts = g.policy.rules.store(g.policy.group), g.policy.rules.hosts
	if err != nil {
		return nil, err
	}
	g.found.site.mirrorOf = g.mirrorOf(ctx)
	g.watch.lap(frontierStage)
	g.found.site.stats = session.Stats()
	g.found.reachable = g.found.site.stats.Answered > 0
	g.found.at = c.Clock.Now()
	gathered = true
	return g.found, nil
}

func (g *gathering) run(ctx context.Context) error {
	open := g.robots(ctx)
	g.watch.lap(robotsStage)
	g.startAnalysis()
	g.moved(g.found.site.origin.Answer)
	g.noteFailure(g.found.site.origin.Answer.URL, g.found.site.origin.Answer.Retries, g.found.robots.Failure)
	if !open {
		g.found.sitemap.Documents = []contract.SitemapDocument{}
		g.found.site.server = serverInfo(g.found.site.origin.Answer.Header)
		g.found.sitemap.code = http.StatusNotFound
		if g.found.robots.code != 0 {
			g.found.sitemap.Failure = contract.Failure{Error: contract.Text("robots.txt allows no requests"),
				ErrorType: contract.Text(disallowed)}
		} else {
			g.found.sitemap.Failure = g.found.robots.Failure
		}
		g.logSitemap()
		return nil
	}
	if err := g.sitemaps(ctx, g.policy.named); err != nil {
		return err
	}
	g.logSitemap()
	g.watch.lap(sitemapsStage)
	if err := g.found.puts.err(); err != nil {
		return err
	}
	g.learn(ctx)
	if err := g.homePage(ctx); err != nil {
		return err
	}
	g.probe(ctx)
	g.watch.lap(pagesStage)
	if g.slow {
		g.deferRest()
	}
	if g.policy.rules.exhausted() {
		g.found.partial = true
		g.noteFailure(g.found.site.origin.Answer.URL, 0, contract.Failure{
			Error:     contract.Text("matching robots.txt took too long; some URLs were not checked"),
			ErrorType: contract.Text(string(contract.Timeout)),
		})
	}
	return nil
}

// noteLimit records that a limit of the session ended the collection, and reports whether err is one.
func (g *gathering) noteLimit(err error) bool {
	if errors.Is(err, fetch.ErrDeadline) || errors.Is(err, fetch.ErrBudget) || g.slow &&
		errors.Is(err, fetch.ErrCrawlDelay) {
		g.found.partial = true
		return true
	}
	return false
}

// deferRest ends a collection whose host has a longer crawl delay than it waits. The URLs that are left become entry
// points of the contract.
func (g *gathering) deferRest() {
	f := g.found
	f.partial, f.deferred = true, true
	base := f.site.origin.Scheme + "://" + f.site.origin.Host
	g.noteFailure(base+"/", 0, contract.Failure{
		Error: contract.Text("its Crawl-delay is above MAX_CRAWL_DELAY_MS; the rest is fetched " +
			"later, at that pace"),
		ErrorType: contract.Text(string(contract.Timeout)),
	})
	wanted := []discovery.Source{{Method: discovery.HTMLEntry, URL: base + "/"}}
	for _, link := range g.policy.named {
		wanted = append(wanted, discovery.Source{Method: discovery.SitemapEntry, URL: link})
	}
	if len(g.policy.named) == 0 {
		wanted = append(wanted, discovery.Source{Method: discovery.SitemapEntry, URL: base + "/sitemap.xml"})
	}
	for _, s := range wanted[:min(len(wanted), contract.MaxSitemapURLs)] {
		f.analysis.analyser.Source(s)
	}
}

// altHost returns the host of the message's URL if it is below the domain.
func altHost(m *contract.DomainMessage) string {
	u, err := fetch.Guard(m.DomainURL)
	if err != nil || u.Hostname() == m.Domain || !contract.WithinDomain(u.Hostname(), m.Domain) {
		return ""
	}
	return u.Hostname()
}

func hexDigest(sum []byte) *string { return contract.Text(hex.EncodeToString(sum)) }

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
	d.Blocked, d.BlockedReason = f.site.refusals.verdict()
	d.MovedTo, d.Usage = contract.Text(f.site.movedTo), f.site.usage
	d.CollectedAt = contract.Time{Time: f.at}
	d.Robots = contract.RobotsSummary{
		StatusCode: f.robots.code, ContentLength: f.robots.Size, Exists: f.robots.Exists,
		FetchedAt: contract.At(f.robots.at), SitemapURLs: f.robots.SitemapURLs, URLsOmitted: f.robots.URLsOmitted,
		Failure: f.robots.Failure,
	}
	d.Sitemap = contract.SitemapSummary{
		StatusCode: f.sitemap.code, ContentLength: f.sitemap.Size, Exists: f.sitemap.Exists,
		FetchedAt: contract.At(f.sitemap.at), URLCount: f.sitemap.URLCount, URL: contract.Text(f.sitemap.url),
		Failure: f.sitemap.Failure,
	}
	if f.sitemap.LastUpdated == nil {
		f.sitemap.LastUpdated = f.sitemap.LastModified
	}
	f.site.server.Requests = f.site.stats.Requests
	if f.site.stats.Answered > 0 {
		ms := f.site.stats.AvgResponseTime.Milliseconds()
		f.site.server.ResponseTimeAvgMS = &ms
		f.site.server.SupportsHTTPS = f.site.origin.HTTPS
		f.site.server.EffectiveHost = contract.Text(f.site.origin.Host)
	}
	d.Technical = contract.Technical{RobotsTxt: f.robots.RobotsTxt, SitemapXML: f.sitemap.SitemapXML,
		Feeds: f.feeds.list, FeedsOmitted: f.feeds.omitted, ServerInfo: f.site.server,
		MirrorOf: contract.Text(f.site.mirrorOf)}
	d.Processing.PolitenessWaitMS = f.site.stats.PolitenessWait.Milliseconds()
	d.Processing.ProcessingDurationMS = (f.site.stats.Elapsed - f.site.stats.PolitenessWait).Milliseconds()
}
