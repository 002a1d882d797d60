package collector

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"hash"
	"net/http"
	"slices"
	"time"

	"github.com/newsfork/seed-engine/contract"
	"github.com/newsfork/seed-engine/discovery"
	"github.com/newsfork/seed-engine/epoch"
	"github.com/newsfork/seed-engine/fetch"
	"github.com/newsfork/seed-engine/frontier"
	"github.com/newsfork/seed-engine/frontier/client"
	"github.com/newsfork/seed-engine/markup"
	"github.com/newsfork/seed-engine/robots"
	"github.com/newsfork/seed-engine/usage"
)

// validators tell whether an entry point has changed since it was read.
type validators struct {
	etag, lastModified string // as received
	sha256             string // of the content, in hexadecimal
	charset            string // of the content
}

// canonical returns a URL in the form used in documents.
func canonical(link string) string {
	if b, ok := markup.AppendCanonical(nil, []byte(link)); ok {
		return string(b)
	}
	return link
}

// noteValidators keeps the validators of an entry point. sum is the digest of its content, or nil. Truncated content
// has no digest.
func (f *findings) noteValidators(a *fetch.Answer, sum hash.Hash, charset string, truncated bool) {
	v := validators{etag: a.Header.Get("ETag"), lastModified: a.Header.Get("Last-Modified"), charset: charset}
	if sum != nil && !truncated && !a.Body.Truncated() {
		v.sha256 = hex.EncodeToString(sum.Sum(nil))
	}
	if f.queue.validators == nil {
		f.queue.validators = map[string]validators{}
	}
	f.queue.validators[canonical(a.URL)] = v
}

const (
	putTries = 3 // attempts; if all fail, the message is retried, which costs the domain a second collection
	putPause = time.Second
)

// queue puts the best pages of the analysis and the document's entry points into the frontier; a merge puts only those
// that it adds. It runs before the document is written: otherwise a merge killed between the two would find nothing
// new when repeated. The frontier recognises duplicates.
func (s *saving) queue(ctx context.Context, old, doc *contract.Document, how *discovery.FetchContract,
	a *analysis) error {
	if s.found != nil && s.found.queue.done {
		return nil
	}
	put := frontier.Put{Domain: doc.Domain, Partition: s.message.Partition, Since: s.collectedBefore(old, doc)}
	of := doc.Technical.MirrorOf
	switch {
	case of != nil:
		put.MirrorOf = *of // its pages are fetched from there
	case doc.Reachable:
		put.Entries = s.entries(old, doc, how)
	}
	if s.found != nil {
		put.Owner, put.Visits = s.visit.lease.Owner, s.batch.Hosts(doc.Domain)
		for i := range put.Visits {
			v := &put.Visits[i]
			if group := s.found.robots.hosts[v.Host]; group != nil && v.RobotsExpires > 0 {
				rules := shortRules(group)
				v.Rules = &rules
			}
			if u := s.found.site.usage; u != nil && slices.Contains(s.found.site.usageHosts, v.Host) {
				text := usage.Encode(u)
				v.Usage = &text
			}
		}
		put.Entries = append(put.Entries, s.domainEntries(old, doc, how)...)
	}
	if of == nil && doc.Reachable {
		all := a.Pages()
		s.watch.lap(choiceStage)
		if err := s.queueMoved(ctx, doc, how, all); err != nil {
			return err
		}
		pages := pagesOf(all, doc.Domain)
		put.Pages = newPages(pages[:min(len(pages), frontier.MaxPut-len(put.Entries))], put.Since > 0)
		more := len(all) >= s.batch.collector.Limits.URLsPerDomain || len(put.Pages) < len(pages)
		if more || !s.merging() { // a merge puts only what it adds
			put.Stored = &frontier.StoredPages{Collected: true, More: more}
		}
		if s.found != nil {
			s.found.queue.details.describe(put.Pages)
		}
	}
	if len(put.Pages)+len(put.Entries) > 0 || put.Owner != "" && put.MirrorOf != "" {
		answer, err := s.batch.put(ctx, put)
		if err != nil {
			return err
		}
		s.states, s.observed = statesOf(put.Entries, answer.States), answer.Observed
	}
	if s.found != nil {
		s.found.queue.done, s.found.queue.states, s.found.queue.observed = true, s.states, s.observed
	}
	return nil
}

// put is like client.Shard.Put, with retries if the shard does not answer.
func (b *Batch) put(ctx context.Context, p frontier.Put) (answer frontier.PutAnswer, err error) {
	err = b.callShard(ctx, p.Domain, func(shard client.Shard) (err error) {
		answer, err = shard.Put(ctx, p)
		return err
	})
	return answer, err
}

// callShard calls the shard of a domain, with retries if it does not answer.
func (b *Batch) callShard(ctx context.Context, domain string, call func(client.Shard) error) error {
	c := b.collector
	for try := 1; ; try++ {
		err := call(c.Frontier.Of(domain))
		if err == nil {
			return nil
		}
		c.Log.Error("frontier_failed", "error_type", contract.KindOf(err), "error", err.Error(),
			"registrable_domain", domain)
		switch kind := contract.KindOf(err); {
		case kind != contract.Storage && kind != contract.Timeout:
			return err
		case try == putTries:
			return &contract.Error{Kind: kind, Op: "collector.put",
				Message: "the frontier did not accept the findings about " + domain,
				Err:     errors.Join(fetch.ErrFrontier, err)}
		}
		if err := c.Clock.Sleep(ctx, putPause); err != nil {
			return err
		}
	}
}

// collectedBefore returns when the domain was last collected, or 0 if there is no record of that.
func (s *saving) collectedBefore(old, doc *contract.Document) epoch.Millis {
	var at time.Time
	if s.visit != nil {
		at = s.visit.evidence.At
	}
	if old != nil && old.Reachable && old.CollectedAt.After(at) {
		at = old.CollectedAt.Time
	}
	return epoch.MillisOf(at)
}

// Bounds of the time after which an unchanged domain is collected again.
const (
	minCollectInterval = robots.MaxAge // while its entry points are refreshed
	maxCollectInterval = 30 * epoch.Day
)

// domainEntries returns the entry point that stands for the domain, and the removal of an outdated one. It is due when
// the document expires or, while entry points are refreshed, when robots.txt expires. An unreachable domain is due
// sooner.
func (s *saving) domainEntries(old, doc *contract.Document, how *discovery.FetchContract) []frontier.NewEntry {
	e := collectEntry(doc, how, s.found.at)
	if e.Failed = !doc.Reachable; !e.Failed {
		e.Status, e.SHA256 = http.StatusOK, termsDigest(how)
		e.NoRobots = doc.Technical.RobotsTxt.Error != nil && !doc.Technical.RobotsTxt.AllowsCrawling && !doc.Excluded
	}
	if bare := robotsURL(doc.Domain); old != nil && !old.Reachable && e.URL != bare {
		// another host answers now, so the entry point of the old one is removed
		return []frontier.NewEntry{e, {NewPage: frontier.NewPage{URL: bare}}}
	}
	return []frontier.NewEntry{e}
}

// collectEntry returns the entry point that schedules the next collection of a domain collected at a time.
func collectEntry(doc *contract.Document, how *discovery.FetchContract, at time.Time) frontier.NewEntry {
	e := frontier.NewEntry{NewPage: frontier.NewPage{URL: collectURL(doc)}, Method: frontier.MethodCollect}
	valid := doc.ValidUntil.Sub(at)
	if how != nil && len(how.EntryPoints) > 0 {
		valid = max(valid, minCollectInterval)
	}
	e.Interval = int64(min(max(valid, time.Second), maxCollectInterval) / time.Second)
	return e
}

// collectURL returns the URL of the entry point that stands for the whole domain.
func collectURL(doc *contract.Document) string {
	if host := doc.Technical.ServerInfo.EffectiveHost; host != nil {
		return robotsURL(*host)
	}
	return robotsURL(doc.Domain)
}

func robotsURL(host string) string { return "https://" + host + "/robots.txt" }

// termsDigest returns a digest of the terms for scrapers. A domain whose terms change is collected more often.
func termsDigest(how *discovery.FetchContract) string {
	sum := sha256.New()
	fmt.Fprintln(sum, how.Allowed, how.CrawlDelaySeconds)
	var entries []string
	for _, e := range how.EntryPoints {
		entries = append(entries, string(e.Method)+" "+e.URL)
	}
	slices.Sort(entries)
	fmt.Fprintln(sum, entries)
	return hex.EncodeToString(sum.Sum(nil))
}

// announce publishes the document to readers of changes. It may be called twice.
func (s *saving) announce(ctx context.Context, doc *contract.Document) error {
	change := Announcement(s.message.Partition, doc)
	if s.visit.deferred(change) {
		return nil
	}
	return s.batch.callShard(ctx, doc.Domain, func(shard client.Shard) error {
		return shard.Changed(ctx, change)
	})
}

// Announcement returns the change that announces the document of a partition.
func Announcement(p contract.Partition, doc *contract.Document) frontier.Changed {
	return frontier.Changed{Domain: doc.Domain, Changes: []frontier.Change{
		{Partition: p, Revision: doc.Revision, ChangedAt: max(epoch.MillisOf(doc.Processing.ProcessedAt.Time), 1),
			Reachable: doc.Reachable},
	}}
}

// newPages converts pages for the frontier. An undated feed item is new if the domain was collected before.
func newPages(pages []discovery.Page, before bool) []frontier.NewPage {
	list := make([]frontier.NewPage, len(pages))
	for i, p := range pages {
		list[i] = frontier.NewPage{URL: p.URL, Title: p.Title, Type: string(p.Type), Priority: p.Priority,
			FoundBy: string(p.Method)}
		if !p.Lastmod.IsZero() {
			list[i].LastMod = epoch.SecondsOf(p.Lastmod)
		} else {
			list[i].Fresh = before && p.Method == discovery.FromFeed
		}
	}
	return list
}

// entries returns the document's entry points that the previous document lacks. After a complete collection it
// returns all of them, and the removals of lost ones.
func (s *saving) entries(old, doc *contract.Document, how *discovery.FetchContract) []frontier.NewEntry {
	var before []frontier.NewEntry
	switch {
	case s.reused != nil: // the frontier has the entries of that document
		before = entriesOf(howToFetch(s.reused.document), doc.Domain)
	case old != nil:
		before = entriesOf(howToFetch(old), doc.Domain)
	}
	named := func(list []frontier.NewEntry, url string) bool {
		return slices.ContainsFunc(list, func(e frontier.NewEntry) bool { return e.URL == url })
	}
	var list []frontier.NewEntry
	now := entriesOf(how, doc.Domain)
	for _, e := range now {
		if s.found != nil {
			v := s.found.queue.validators[e.URL]
			if e.Method == string(discovery.HTMLEntry) {
				v = validators{} // its links were not put
			}
			e.ETag, e.LastModified, e.SHA256 = v.etag, v.lastModified, v.sha256
			if s.found.deferred && v == (validators{}) {
				e.Interval = 1 // not read yet: due after the least interval
			}
		} else if named(before, e.URL) {
			continue
		}
		list = append(list, e)
	}
	if s.found != nil && !doc.Partial {
		for _, e := range before {
			if !named(now, e.URL) {
				e.Interval = 0
				list = append(list, e)
			}
		}
	}
	return list
}

// entriesOf returns the entry points of a contract on hosts of a registrable domain. Other shards have the rest.
func entriesOf(how *discovery.FetchContract, domain string) []frontier.NewEntry {
	if how == nil {
		return nil
	}
	var list []frontier.NewEntry
	for _, e := range how.EntryPoints {
		if !contract.WithinDomain(markup.HostOf(e.URL), domain) {
			continue
		}
		n := frontier.NewEntry{NewPage: frontier.NewPage{URL: canonical(e.URL), Priority: e.Confidence},
			Method: string(e.Method), Interval: 60 * int64(e.IntervalMinutes)}
		if e.ContentType != nil {
			n.Type = string(*e.ContentType)
		}
		list = append(list, n)
	}
	return list
}

// Refill returns what a document contributes to the frontier: the entry point that schedules its next collection, its
// entry points, and at most limit of its best URLs. An unreachable domain or a mirror only has the first.
func Refill(d *contract.Document, limit int) frontier.Put {
	put := frontier.Put{Domain: d.Domain, Partition: d.Processing.Partition}
	how := howToFetch(d)
	put.Entries = []frontier.NewEntry{collectEntry(d, how, d.CollectedAt.Time)}
	if !d.Reachable || d.Technical.MirrorOf != nil {
		return put
	}
	put.Entries = append(put.Entries, entriesOf(how, d.Domain)...)
	var found discovery.Discovery
	_ = json.Unmarshal(d.Discovery, &found) // empty if the document has none
	at := map[string]int{}
	add := func(p frontier.NewPage) {
		if i, there := at[p.URL]; there {
			put.Pages[i].Title = cmp.Or(put.Pages[i].Title, p.Title)
			return
		}
		at[p.URL] = len(put.Pages)
		put.Pages = append(put.Pages, p)
	}
	for _, u := range found.URLs {
		if u.Action != discovery.Ignore {
			add(frontier.NewPage{URL: u.URL, Type: string(u.Classification.PrimaryType), Priority: u.Priority})
		}
	}
	for i := range d.URLs {
		u := &d.URLs[i]
		if u.Type == nil || u.Priority == nil || u.Action == nil || *u.Action == string(discovery.Ignore) ||
			u.Allowed != nil && !*u.Allowed {
			continue
		}
		p := frontier.NewPage{URL: u.URL, Type: *u.Type, Priority: *u.Priority}
		if u.Title != nil {
			p.Title = *u.Title
		}
		add(p)
	}
	slices.SortStableFunc(put.Pages, func(a, b frontier.NewPage) int { return cmp.Compare(b.Priority, a.Priority) })
	put.Pages = put.Pages[:min(len(put.Pages), limit, frontier.MaxPut-len(put.Entries))]
	return put
}
