package collector

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"io"
	"time"

	"github.com/tidwall/gjson"

	"github.com/newsfork/seed-engine/contract"
	"github.com/newsfork/seed-engine/r2"
)

// Evidence locates the stored files of a collection, which other partitions reuse for a while. The zero value means
// that no such files exist.
type Evidence struct {
	Partition contract.Partition
	At        time.Time // before the first request
}

// MayReuse reports whether there is evidence of another partition that is recent enough for a message. Collect
// then sends requests only if what is stored there has changed.
func (v *Visit) MayReuse(m *contract.DomainMessage) bool {
	e, c := v.evidence, v.batch.collector
	return !e.At.IsZero() && e.Partition != m.Partition && c.Clock.Now().Sub(e.At) <= c.Limits.ReuseWindow &&
		!(m.Force && e.At.Before(m.RequestedAt))
}

// complete reports whether another collection would have the same result: limits may have ended this one, but no
// failure.
func (f *findings) complete() bool { return f.reachable && !f.failed }

// reused is evidence of another partition, copied into that of a message.
type reused struct {
	from     string             // key of the document that it belongs to
	document *contract.Document // that document
	copying  time.Duration
}

// describe writes the findings of the other collection into a document.
func (r *reused) describe(d *contract.Document) {
	o := r.document
	d.Reachable, d.Partial, d.CollectedAt, d.ValidUntil = o.Reachable, o.Partial, o.CollectedAt, o.ValidUntil
	d.Blocked, d.BlockedReason, d.MovedTo, d.Usage = o.Blocked, o.BlockedReason, o.MovedTo, o.Usage
	d.Robots, d.Sitemap, d.Technical = o.Robots, o.Sitemap, o.Technical
	d.Technical.ServerInfo.Requests = 0 // none was sent for this document
	d.Technical.ReusedFrom = &r.from
	d.Discovery, d.Contract, d.State = o.Discovery, o.Contract, o.State
	d.Processing.PolitenessWaitMS, d.Processing.ProcessingDurationMS = 0, r.copying.Milliseconds()
}

// errChanged is returned if evidence is gone or does not match its document.
var errChanged = errors.New("collector: the evidence has changed")

// reuse copies the evidence of the domain's last complete collection in another partition to the message's. It
// returns nil without recent evidence, or if the evidence was changed or deleted since.
func (v *Visit) reuse(ctx context.Context, m *contract.DomainMessage) (*reused, error) {
	if !v.MayReuse(m) {
		return nil, nil
	}
	b, c, e, dir := v.batch, v.batch.collector, v.evidence, m.Dir()
	began := c.Clock.Now()
	from := contract.DomainDir{Partition: e.Partition, Domain: m.Domain}
	d, _, err := b.store.document(ctx, from)
	if contract.KindOf(err) == contract.Parse {
		return nil, nil
	}
	if err != nil || d == nil || !d.Reachable || d.CollectedAt.Before(e.At.Truncate(time.Second)) ||
		hostExcluded(d, b.excluded) {
		return nil, err
	}
	for _, copyOf := range []func() error{
		func() error { return b.copyRobots(ctx, from, dir, d) },
		func() error { return b.copySitemap(ctx, from, dir, d) },
		func() error { return b.copyChildren(ctx, from, dir, d) },
		func() error { return b.copyState(ctx, from, dir, d) },
	} {
		switch err := copyOf(); {
		case errors.Is(err, errChanged) || errors.Is(err, r2.ErrNotFound):
			return nil, nil
		case err != nil:
			return nil, contract.Wrap(contract.Storage, "collector.reuse", err)
		}
	}
	c.Log.Info("evidence_reused", "domain_id", m.DomainID, "registrable_domain", m.Domain,
		"reused_from", from.Document())
	return &reused{from.Document(), d, c.Clock.Now().Sub(began)}, nil
}

func (b *Batch) copyRobots(ctx context.Context, from, to contract.DomainDir, d *contract.Document) error {
	if !d.Robots.Exists {
		return nil
	}
	body, err := b.store.read(ctx, from.Robots())
	if err != nil {
		return err
	}
	sum := sha256.Sum256(body)
	if want := d.Technical.RobotsTxt.SHA256; want == nil || hex.EncodeToString(sum[:]) != *want {
		return errChanged
	}
	_, err = b.store.putRetry(ctx, to.Robots(), body, &r2.PutOptions{ContentType: "text/plain"})
	return err
}

// copySitemap copies the root sitemap as a stream, because it might be large.
func (b *Batch) copySitemap(ctx context.Context, from, to contract.DomainDir, d *contract.Document) error {
	if !d.Sitemap.Exists {
		return nil
	}
	body, err := b.store.Get(ctx, from.Sitemap())
	if err != nil {
		return err
	}
	defer body.Close()
	e, err := b.store.createUpload(ctx, to.Sitemap())
	if err != nil {
		return err
	}
	if _, err := io.CopyBuffer(e, struct{ io.Reader }{body}, make([]byte, 64<<10)); err != nil {
		return e.abort(err)
	}
	if sum := d.Technical.SitemapXML.SHA256; sum == nil || hex.EncodeToString(e.sum.Sum(nil)) != *sum {
		return e.abort(errChanged)
	}
	_, err = e.upload.Commit()
	return err
}

// copyState copies discovery.json, unless it belongs to a collection that began after the document was written. A
// state inside the document needs no copy.
func (b *Batch) copyState(ctx context.Context, from, to contract.DomainDir, d *contract.Document) error {
	if d.State != "" {
		return nil
	}
	data, err := b.store.read(ctx, from.Discovery())
	if err != nil {
		return err
	}
	now, err := time.Parse(time.RFC3339, gjson.GetBytes(data, "now").Str)
	if err != nil || now.Truncate(time.Second).After(d.CollectedAt.Time) {
		return errChanged
	}
	_, err = b.store.putRetry(ctx, to.Discovery(), data, &r2.PutOptions{ContentType: "application/json"})
	return err
}
