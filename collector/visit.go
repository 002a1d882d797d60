package collector

import (
	"context"
	"errors"
	"maps"
	"sync"
	"time"

	"github.com/newsfork/seed-engine/contract"
	"github.com/newsfork/seed-engine/fetch"
	"github.com/newsfork/seed-engine/frontier"
	"github.com/newsfork/seed-engine/r2"
)

// Visit is the work of one event on one domain. Done may be called at any time. Begin starts collections under the
// domain's lease, Collect is then called for each message in turn, and End returns what to report with the release.
type Visit struct {
	batch  *Batch
	domain string
	lease  Lease

	evidence  Evidence          // newest that other partitions may reuse: the lease's, then the visit's own
	collected Evidence          // of the visit's last complete collection
	changes   []frontier.Change // deferred until End

	mu          sync.Mutex
	checkpoints map[string]checkpoint // by key
}

// checkpoint is the state of the domain in one partition, as far as the visit knows.
type checkpoint struct {
	written time.Time // zero if none was seen
	looked  time.Time // when the bucket was last read; zero if never
	silent  *findings // of a collection that got no answer and was not written
}

// Lease is the right to collect a domain, as the frontier granted it.
type Lease struct {
	Domain    string // registrable
	Owner     string
	LastOwned time.Time   // when the lease before this one ended; zero if there was none
	Evidence  Evidence    // of the domain's last complete collection
	Admit     fetch.Admit // decides whether requests may be sent to a host
	// Usage returns what the frontier has of what a host says about the use of its content, as usage.Encode writes it.
	Usage func(host string) string
}

// Visit starts the visit to a domain. Without a lease it may send requests to every host.
func (b *Batch) Visit(domain string) *Visit {
	return &Visit{batch: b, domain: domain, checkpoints: map[string]checkpoint{}}
}

// Begin starts collections under the domain's lease.
func (v *Visit) Begin(l Lease) {
	v.lease = l
	if v.ownsLease() {
		v.evidence = l.Evidence
	}
}

// ownsLease reports whether the visit has the lease of its own domain. A domain that is not registrable is collected
// under the lease of another.
func (v *Visit) ownsLease() bool { return v.lease.Domain == v.domain }

// Outcome is the part of a release that concerns collections.
type Outcome struct {
	Evidence Evidence          // of the last complete collection; zero if there was none
	Changes  []frontier.Change // contracts that were rewritten and not announced yet
}

// End ends the visit. Its messages are done only when the frontier has taken the outcome: one that is redelivered
// announces the document that it finds.
func (v *Visit) End() Outcome { return Outcome{v.collected, v.changes} }

// maxDeferred caps the changes that wait for End; further ones are announced at once.
const maxDeferred = 32

// deferred keeps an announcement until End if it can, and reports whether it did.
func (v *Visit) deferred(c frontier.Changed) bool {
	if v == nil || !v.ownsLease() || len(v.changes)+len(c.Changes) > maxDeferred {
		return false
	}
	v.changes = append(v.changes, c.Changes...)
	return true
}

// ReadyAt returns when every host of the domain to which this event sent requests is ready for the next one.
func (v *Visit) ReadyAt() time.Time {
	b, domain := v.batch, v.domain
	if v.lease.Domain != "" {
		domain = v.lease.Domain
	}
	return b.limiter.ReadyAt(b.collector.Limits.RequestInterval,
		func(host string) bool { return contract.WithinDomain(host, domain) })
}

// Collect updates the document of the message's domain, and returns it as stored. It fails with the cause if no
// request got an HTTP response, or robots.txt is on a host that is not ready, so that an outage does not become a
// contract. On the last attempt it writes the partial result instead, unless the cause is ErrExcluded or that the
// domain's own hosts are not ready.
func (v *Visit) Collect(ctx context.Context, m *contract.DomainMessage, last bool) (*contract.Document, error) {
	c := v.batch.collector
	c.Log.Info("domain_collector_start", "domain_id", m.DomainID, "registrable_domain", m.Domain)
	s := &saving{batch: v.batch, visit: v, dir: m.Dir(), message: m, watch: newStopwatch(c.Clock)}
	doc, err := v.bringUpToDate(ctx, s, last)
	if err != nil {
		return nil, err
	}
	if f := s.found; f != nil && !f.reachable {
		c.Log.Error("domain_unreachable_failed", "error_type", contract.KindOf(f.failure), "domain_id", m.DomainID,
			"registrable_domain", m.Domain)
	}
	fields := []any{"domain_id", doc.DomainID, "robots_exists", doc.Robots.Exists,
		"sitemap_exists", doc.Sitemap.Exists,
		"total_urls", doc.Processing.TotalURLs, "merged", s.merging(), "reachable", doc.Reachable}
	if s.found != nil {
		fields = append(fields, "stages_ms", s.watch.spent)
		if c.Timed != nil {
			c.Timed(s.watch.spent)
		}
	}
	c.Log.Info("domain_collector_complete", fields...)
	return doc, nil
}

// bringUpToDate merges the message into the domain's document if there is one, or writes one from the evidence of
// another partition, or else from what the domain answers now.
func (v *Visit) bringUpToDate(ctx context.Context, s *saving, last bool) (doc *contract.Document, err error) {
	defer func() {
		if s.found != nil { // after a panic, too, nothing goes on in the background
			_ = s.found.puts.wait()
		}
	}()
	done, err := v.Done(ctx, s.message)
	if err == nil && !done {
		s.reused, err = v.reuse(ctx, s.message)
		if err == nil && s.reused == nil {
			s.found, err = v.collectOnce(ctx, s, last)
		}
	}
	if err == nil && ctx.Err() != nil { // the findings may be those of a lease that was lost half-way
		err = contract.Wrap(contract.Timeout, "collector.Collect", ctx.Err())
	}
	if err == nil {
		doc, err = v.update(ctx, s)
	}
	return doc, err
}

// collectOnce returns new findings about the domain. If the domain does not answer, the visit's other messages share
// the failure without further requests.
func (v *Visit) collectOnce(ctx context.Context, s *saving, last bool) (*findings, error) {
	m := s.message
	if m.URLsPath != "" { // a missing list should not cost the domain a request
		if _, err := v.batch.store.Head(ctx, m.URLsPath); err != nil {
			return nil, missingList(m.URLsPath, err)
		}
	}
	f := v.checkpoint(m).silent
	if f == nil {
		var err error
		if f, err = v.gather(ctx, m, s.watch); err != nil {
			return nil, err
		}
	}
	if f.failure == nil {
		return f, nil
	}
	if err := f.puts.wait(); err != nil {
		return nil, err
	}
	if last && !errors.Is(f.failure, ErrExcluded) && !postponed(f.failure) {
		return f, nil
	}
	if ctx.Err() == nil { // if our own time ran out, the domain may well answer
		v.remember(m, func(c *checkpoint) { c.silent = f })
	}
	return nil, f.failure
}

// update saves the document with the message's URLs, and then the checkpoint unless there is one. Only one URL list
// that is too large for a message is in memory at a time, so a collection may wait here after its requests.
func (v *Visit) update(ctx context.Context, s *saving) (*contract.Document, error) {
	b, m := v.batch, s.message
	if m.URLsPath != "" {
		select {
		case b.merging <- struct{}{}:
			defer func() { <-b.merging }()
		case <-ctx.Done():
			return nil, ctx.Err()
		}
		s.watch.restart()
	}
	var err error
	if s.added, err = b.urls(ctx, m, m.SourceFile().Name); err != nil {
		return nil, err
	}
	doc, err := s.save(ctx)
	if err != nil || s.merging() {
		return doc, err
	}
	if err := v.storeCheckpoint(ctx, m, doc); err != nil {
		return nil, err
	}
	s.watch.lap(documentStage)
	if s.found != nil && s.found.complete() {
		v.collected = Evidence{m.Partition, s.found.began}
		if v.collected.At.After(v.evidence.At) {
			v.evidence = v.collected
		}
	}
	return doc, nil
}

// urls returns the message's URLs as entries of a document, those that it has and those in the store.
func (b *Batch) urls(ctx context.Context, m *contract.DomainMessage, rawName string) ([]contract.DocumentURL, error) {
	list := m.URLs
	if m.URLsPath != "" {
		var stored []contract.URL
		if err := b.store.readJSON(ctx, m.URLsPath, &stored); err != nil {
			return nil, err
		}
		list = append(stored, list...)
	}
	return documentURLs(list, rawName), nil
}

// checkpoint returns what is known about the checkpoint of a message.
func (v *Visit) checkpoint(m *contract.DomainMessage) checkpoint {
	v.mu.Lock()
	defer v.mu.Unlock()
	return v.checkpoints[m.Dir().Checkpoint()]
}

// remember changes what is known about the checkpoint of a message.
func (v *Visit) remember(m *contract.DomainMessage, change func(*checkpoint)) {
	v.mu.Lock()
	defer v.mu.Unlock()
	key := m.Dir().Checkpoint()
	c := v.checkpoints[key]
	change(&c)
	v.checkpoints[key] = c
}

// clockError is the largest expected difference between the clocks of a shard and of an event.
const clockError = 10 * time.Second

// Done reports whether the domain was collected, for a forced message since it was requested: Collect then only
// merges URLs and sends no requests. A visit remembers a checkpoint that it saw. It remembers that there was none
// unless another event may have written one before the domain was leased.
func (v *Visit) Done(ctx context.Context, m *contract.DomainMessage) (bool, error) {
	c := v.checkpoint(m)
	done := !c.written.IsZero() && satisfies(c.written, m)
	if current := !c.looked.IsZero() && v.lease.LastOwned.Before(c.looked.Add(-clockError)); done || current {
		return done, nil
	}
	return v.readCheckpoint(ctx, m)
}

// readCheckpoint is like Done, but always reads the bucket.
func (v *Visit) readCheckpoint(ctx context.Context, m *contract.DomainMessage) (bool, error) {
	began := v.batch.collector.Clock.Now()
	o, err := v.batch.store.Head(ctx, m.Dir().Checkpoint())
	switch {
	case err == nil:
		v.remember(m, func(c *checkpoint) { c.looked, c.written, c.silent = began, o.Uploaded, nil })
	case errors.Is(err, r2.ErrNotFound):
		v.remember(m, func(c *checkpoint) { c.looked = began })
		return false, nil
	default:
		return false, contract.Wrap(contract.Storage, "collector.Done", err)
	}
	return satisfies(o.Uploaded, m), nil
}

// satisfies reports whether a checkpoint written then is recent enough for a message.
func satisfies(written time.Time, m *contract.DomainMessage) bool {
	return !m.Force || !written.Before(m.RequestedAt)
}

// storeCheckpoint marks the domain as collected.
func (v *Visit) storeCheckpoint(ctx context.Context, m *contract.DomainMessage, d *contract.Document) error {
	metadata := contract.CheckpointMetadata(v.batch.collector.Clock.Now(), contract.Version)
	maps.Copy(metadata, contract.OutcomeOf(d).Metadata())
	o, err := v.batch.store.putRetry(ctx, m.Dir().Checkpoint(), nil, &r2.PutOptions{Metadata: metadata})
	if err == nil {
		v.remember(m, func(c *checkpoint) { c.written, c.silent = o.Uploaded, nil })
	}
	return err
}
