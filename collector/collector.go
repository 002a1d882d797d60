// Package collector is step 3 of the pipeline: it asks one domain for robots.txt, sitemaps, its home
// page and feeds, and writes its findings as one document. URLs that arrive later are merged into
// the document without sending the domain another request.
package collector

import (
	"context"
	"errors"
	"log/slog"
	"maps"
	"sync"
	"time"

	"github.com/newsfork/seed-engine/classify"
	"github.com/newsfork/seed-engine/contract"
	"github.com/newsfork/seed-engine/fetch"
	"github.com/newsfork/seed-engine/frontier"
	"github.com/newsfork/seed-engine/r2"
)

// Collector runs step 3.
type Collector struct {
	Bucket    r2.Bucket
	Transport fetch.Transport
	Frontier  frontier.Remotes
	Clock     fetch.Clock
	Model     func(context.Context) (*classify.Model, error)
	UserAgent string // sent with every request; its product token picks the group of robots.txt
	Limits    Limits
	Log       *slog.Logger
}

// Limits bound the collection of one domain. README's table gives their meaning, under the names of the
// variables that they come from.
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
	DomainDeadline       time.Duration // politeness waits left out
	URLsPerDomain        int           // pages of a domain that a collection or a merge puts into the frontier
	ReuseWindow          time.Duration // how long the evidence of a domain serves other partitions
}

// Batch runs the collections of one event. They share its connections: at most fetch.MaxConnections
// requests and calls of the bucket wait for an answer at once.
type Batch struct {
	collector *Collector
	store     *store
	excluded  func(link string) bool
	limiter   *fetch.Limiter
	merging   chan struct{} // one URL list too large for a message is in memory at once

	mu          sync.Mutex
	checkpoints map[string]time.Time // when they were written, by key, of those that were seen
	looked      map[string]time.Time // when one was last looked for, by key
	silent      map[string]*findings // of domains that did not answer and are not written yet, by checkpoint
	owners      map[string]ownership // by domain
	admit       map[string]fetch.Admit
	evidence    map[string]Evidence          // by domain: what may be reused
	gathered    map[string]Evidence          // by domain: what this event has collected itself
	deferred    map[string][]frontier.Change // by domain, of those whose changes are not announced at once
}

// NewBatch starts the collections of one event. URLs for which excluded returns true are not requested.
func (c *Collector) NewBatch(excluded func(link string) bool) *Batch {
	limiter := fetch.NewLimiter(fetch.MaxConnections)
	return &Batch{
		collector: c, store: newStore(c.Bucket, c.Clock, limiter), excluded: excluded, limiter: limiter, merging: make(chan struct{}, 1),
		checkpoints: map[string]time.Time{}, looked: map[string]time.Time{}, silent: map[string]*findings{}, owners: map[string]ownership{},
		admit: map[string]fetch.Admit{}, evidence: map[string]Evidence{}, gathered: map[string]Evidence{},
		deferred: map[string][]frontier.Change{},
	}
}

// model returns what the classifier goes by. That it cannot be read is a fault of ours, and no finding about a domain.
func (b *Batch) model(ctx context.Context) (*classify.Model, error) {
	m, err := b.collector.Model(ctx)
	return m, contract.Wrap(contract.Storage, "collector.model", err)
}

// ReadyAt returns when all hosts of a registrable domain that were asked may be asked again; zero when none was.
func (b *Batch) ReadyAt(domain string) time.Time {
	return b.limiter.ReadyAt(b.collector.Limits.RequestInterval, func(host string) bool { return within(host, domain) })
}

// maxVisits is how many hosts a release may report on; a collection asks fewer.
const maxVisits = 64

// Visits returns what was learned of the hosts of a registrable domain, for the frontier.
func (b *Batch) Visits(domain string) (visits []frontier.Visit) {
	now := b.collector.Clock.Now()
	for _, v := range b.limiter.Visits(func(host string) bool { return within(host, domain) && contract.CheckDomain("", host) == nil }) {
		retry := v.RetryAt.Sub(now)
		visits = append(visits, frontier.Visit{
			Host: v.Host, Delay: v.Delay.Milliseconds(), AskedAt: contract.Millis(v.AskedAt), RetryAfter: int64(max(0, (retry+time.Second-1)/time.Second)),
			Throttled: v.Throttled, RobotsExpires: contract.Millis(v.RobotsExpires), Unresolved: v.Unresolved,
		})
	}
	return visits[:min(len(visits), maxVisits)]
}

// Admit has the collections of a domain ask for the right to send requests to each host, its own among them.
// Without it they may ask all hosts.
func (b *Batch) Admit(domain string, admit fetch.Admit) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.admit[domain] = admit
}

func (b *Batch) admission(domain string) fetch.Admit {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.admit[domain]
}

// Collect brings the document of the message's domain up to date. It may be called for several
// different domains at once. When no request got an HTTP response, or robots.txt is on a host that may not be
// asked now, it fails with the cause, so that an outage does not become a contract. With last, the last
// attempt, it writes what it has instead, unless the cause is ErrExcluded or that the domain's own hosts may not be
// asked now. It returns the document as stored.
func (b *Batch) Collect(ctx context.Context, m *contract.DomainMessage, last bool) (*contract.Document, error) {
	b.collector.Log.Info("domain_collector_start", "domain_id", m.DomainID, "registrable_domain", m.Domain)
	dir := m.Dir()
	done, err := b.Done(ctx, m)
	if err != nil {
		return nil, err
	}
	s := &saving{batch: b, dir: dir, message: m}
	if !done {
		if s.reused, err = b.reuse(ctx, m, dir); err != nil {
			return nil, err
		}
		if s.reused == nil {
			if s.found, err = b.ask(ctx, m, dir, last); err != nil {
				return nil, err
			}
			defer func() { _ = s.found.storing.wait() }() // as in gather
		}
	}
	if ctx.Err() != nil { // the findings may be those of a lease that was lost half-way
		return nil, contract.Wrap(contract.Timeout, "collector.Collect", ctx.Err())
	}
	doc, err := b.update(ctx, s)
	if err != nil {
		return nil, err
	}
	f := s.found
	if f != nil && !f.reachable {
		b.collector.Log.Error("domain_unreachable_failed", "error_type", contract.KindOf(f.failure), "domain_id", m.DomainID, "registrable_domain", m.Domain)
	}
	b.collector.Log.Info("domain_collector_complete", "domain_id", doc.DomainID, "robots_exists", doc.Robots.Exists, "sitemap_exists", doc.Sitemap.Exists,
		"total_urls", doc.Processing.TotalURLs, "merged", done, "reachable", doc.Reachable)
	return doc, nil
}

// ask collects the findings about the domain. A domain that does not answer is asked once a batch: its
// other messages share the failure.
func (b *Batch) ask(ctx context.Context, m *contract.DomainMessage, dir contract.DomainDir, last bool) (*findings, error) {
	if m.URLsPath != "" { // a missing list should not cost the domain a request
		if _, err := b.store.Head(ctx, m.URLsPath); err != nil {
			return nil, missingList(m.URLsPath, err)
		}
	}
	b.mu.Lock()
	f := b.silent[dir.Checkpoint()]
	b.mu.Unlock()
	if f == nil {
		var err error
		if f, err = b.gather(ctx, m, dir); err != nil {
			return nil, err
		}
	}
	if f.failure != nil {
		if err := f.storing.wait(); err != nil {
			return nil, err
		}
	}
	if f.failure == nil || last && !errors.Is(f.failure, ErrExcluded) && !postponed(f.failure) {
		return f, nil
	}
	if ctx.Err() == nil { // when our own time ran out, the domain may well answer
		b.mu.Lock()
		b.silent[dir.Checkpoint()] = f
		b.mu.Unlock()
	}
	return nil, f.failure
}

// update saves the document with the message's URLs, and then the checkpoint unless it is there already. URL lists
// too large for a message are in memory one at a time; a collection waits for its turn after the domain was
// asked, which may take minutes.
func (b *Batch) update(ctx context.Context, s *saving) (*contract.Document, error) {
	m := s.message
	if m.URLsPath != "" {
		select {
		case b.merging <- struct{}{}:
			defer func() { <-b.merging }()
		case <-ctx.Done():
			return nil, ctx.Err()
		}
	}
	var err error
	if s.added, err = b.urls(ctx, m, m.SourceFile().Name); err != nil {
		return nil, err
	}
	doc, err := s.save(ctx)
	if err != nil || s.merging() {
		return doc, err
	}
	if err := b.checkpoint(ctx, s.dir, doc); err != nil {
		return nil, err
	}
	if s.found != nil && s.found.complete() {
		b.collected(m, s.found)
	}
	return doc, nil
}

// urls returns the message's URLs as entries of a document, from the message or from the store.
func (b *Batch) urls(ctx context.Context, m *contract.DomainMessage, rawName string) ([]contract.DocumentURL, error) {
	list := m.URLs
	if m.URLsPath != "" {
		if err := b.store.readJSON(ctx, m.URLsPath, &list); err != nil {
			return nil, err
		}
	}
	return describe(list, rawName), nil
}

// Done reports whether the domain was collected, for a forced message since it was requested. Collect then
// only merges URLs and sends no requests. What was seen is remembered for the batch: a checkpoint that satisfies the
// message, and also that there was none, unless another event may have written it before the domain was leased.
func (b *Batch) Done(ctx context.Context, m *contract.DomainMessage) (bool, error) {
	key := m.Dir().Checkpoint()
	b.mu.Lock()
	written, seen := b.checkpoints[key]
	at, looked := b.looked[key]
	looked = looked && b.owners[m.Domain].before.Before(at.Add(-clockError))
	b.mu.Unlock()
	switch {
	case seen && satisfies(written, m):
		return true, nil
	case looked:
		return false, nil
	}
	return b.Look(ctx, m)
}

// clockError is by how much the clocks of a shard and of an event may differ.
const clockError = 10 * time.Second

// Look is Done as the bucket says it now.
func (b *Batch) Look(ctx context.Context, m *contract.DomainMessage) (bool, error) {
	key := m.Dir().Checkpoint()
	began := b.collector.Clock.Now()
	o, err := b.store.Head(ctx, key)
	if err == nil || errors.Is(err, r2.ErrNotFound) {
		b.mu.Lock()
		b.looked[key] = began
		b.mu.Unlock()
	}
	switch {
	case errors.Is(err, r2.ErrNotFound):
		return false, nil
	case err != nil:
		return false, contract.Wrap(contract.Storage, "collector.Look", err)
	}
	b.checkpointed(key, o.Uploaded)
	return satisfies(o.Uploaded, m), nil
}

// satisfies reports whether a checkpoint written then is recent enough for a message.
func satisfies(written time.Time, m *contract.DomainMessage) bool {
	return !m.Force || !written.Before(m.RequestedAt)
}

func (b *Batch) checkpointed(key string, written time.Time) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.checkpoints[key] = written
	delete(b.silent, key)
}

func (b *Batch) checkpoint(ctx context.Context, dir contract.DomainDir, d *contract.Document) error {
	metadata := contract.CheckpointMetadata(b.collector.Clock.Now(), contract.Version)
	maps.Copy(metadata, contract.OutcomeOf(d).Metadata())
	o, err := b.store.putRetry(ctx, dir.Checkpoint(), nil, &r2.PutOptions{Metadata: metadata})
	if err == nil {
		b.checkpointed(dir.Checkpoint(), o.Uploaded)
	}
	return err
}
