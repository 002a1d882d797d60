// Package collector is step 3 of the pipeline: it requests robots.txt, sitemaps, home page and feeds of a domain, and
// writes its findings as one document. Later URLs are merged into the document without another request.
//
// A Visit collects one domain for its messages. Batch.Refresh reads one entry point for the frontier.
package collector

import (
	"context"
	"log/slog"
	"sync"
	"time"

	"github.com/newsfork/seed-engine/classify"
	"github.com/newsfork/seed-engine/contract"
	"github.com/newsfork/seed-engine/epoch"
	"github.com/newsfork/seed-engine/fetch"
	"github.com/newsfork/seed-engine/frontier"
	"github.com/newsfork/seed-engine/frontier/client"
	"github.com/newsfork/seed-engine/r2"
)

// Collector runs step 3.
type Collector struct {
	Bucket    r2.Bucket
	Transport fetch.Transport
	Frontier  client.Frontier
	Clock     fetch.Clock
	Model     func(context.Context) (*classify.Model, error)
	UserAgent string // sent with every request; its product token selects the group of robots.txt
	Limits    Limits
	Timed     func(Stages) // is told how long each collection took; may be nil
	Log       *slog.Logger
}

// Limits bound the collection of one domain. README's table documents them under the names of their variables.
type Limits struct {
	RequestInterval      time.Duration
	MaxCrawlDelay        time.Duration
	MaxRequestsPerDomain int
	RobotsTimeout        time.Duration
	SitemapTimeout       time.Duration
	PageTimeout          time.Duration
	MaxSitemapBytes      int64
	FetchRetries         int
	FetchRetryBase       time.Duration
	DomainDeadline       time.Duration // without politeness waits
	PageProbes           int           // pages that a collection fetches to learn their type, see probe
	URLsPerDomain        int           // pages that a collection or a merge puts into the frontier
	ReuseWindow          time.Duration // for which other partitions reuse a domain's evidence
}

// Batch is the work of one event: visits to domains, and refreshes. They share its connections: at most
// fetch.MaxConnections requests and calls of the bucket wait for an answer at once.
type Batch struct {
	collector *Collector
	store     *store
	excluded  func(link string) bool
	limiter   *fetch.Limiter
	mu        sync.Mutex
	begun     map[*contract.Refresh]begunRefresh // guarded by mu
	merging   chan struct{}                      // one URL list too large for a message is in memory at once
}

// NewBatch starts the work of one event. URLs for which excluded returns true are not requested.
func (c *Collector) NewBatch(excluded func(link string) bool) *Batch {
	limiter := fetch.NewLimiter(fetch.MaxConnections)
	return &Batch{
		collector: c, store: newStore(c.Bucket, c.Clock, limiter), excluded: excluded, limiter: limiter,
		begun: map[*contract.Refresh]begunRefresh{}, merging: make(chan struct{}, 1),
	}
}

// model returns the classifier's model. Failing to read it is our own fault and says nothing about a domain.
func (b *Batch) model(ctx context.Context) (*classify.Model, error) {
	m, err := b.collector.Model(ctx)
	return m, contract.Wrap(contract.Storage, "collector.model", err)
}

// maxHosts caps the hosts that a release reports. A collection sends requests to fewer.
const maxHosts = 64

// Hosts returns what this event learned about the hosts of a registrable domain, for the frontier.
func (b *Batch) Hosts(domain string) (visits []frontier.HostFindings) {
	now := b.collector.Clock.Now()
	for _, v := range b.limiter.Visits(func(host string) bool {
		return contract.WithinDomain(host, domain) &&
			contract.CheckDomain("", host) == nil
	}) {
		retry := v.RetryAt.Sub(now)
		visits = append(visits, frontier.HostFindings{
			Host: v.Host, Delay: v.Delay.Milliseconds(), AskedAt: epoch.MillisOf(v.AskedAt),
			RetryAfter: int64(max(0, (retry+time.Second-1)/time.Second)),
			Throttled:  v.Throttled, RobotsExpires: epoch.MillisOf(v.RobotsExpires), Unresolved: v.Unresolved,
		})
	}
	return visits[:min(len(visits), maxHosts)]
}
