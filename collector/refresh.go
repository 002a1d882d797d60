package collector

import (
	"cmp"
	"context"
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"hash"
	"io"
	"net/http"
	"net/url"
	"slices"
	"time"

	"github.com/newsfork/seed-engine/classify"
	"github.com/newsfork/seed-engine/contract"
	"github.com/newsfork/seed-engine/discovery"
	"github.com/newsfork/seed-engine/epoch"
	"github.com/newsfork/seed-engine/feed"
	"github.com/newsfork/seed-engine/fetch"
	"github.com/newsfork/seed-engine/frontier"
	"github.com/newsfork/seed-engine/markup"
	"github.com/newsfork/seed-engine/robots"
	"github.com/newsfork/seed-engine/sitemap"
)

// Bounds of one refresh. It has to end within the time for which the frontier gives it the host.
const (
	maxRefreshTime     = 60 * time.Second // without politeness waits
	maxRefreshWall     = 90 * time.Second
	maxRefreshRun      = 3 * time.Minute // after which no further entry point of the host is begun
	maxRefreshRequests = 8               // requests: robots.txt, redirects, sitemaps of an index
	maxChildren        = 3               // sitemaps of an index that are read
	maxRefreshPages    = 1000            // URLs that are put into the frontier
	maxRefreshSeen     = 5 * maxRefreshPages
)

// Refreshed is the result of a refresh.
type Refreshed struct {
	// Again is the delay until the message is delivered again if the host is busy; otherwise zero.
	Again time.Duration
	// Collect is a message to be queued, if the domain is due as a whole or its robots.txt has changed.
	Collect *contract.DomainMessage
	// Rewritten lists the documents that were written.
	Rewritten []*contract.Document
}

// begunRefresh is the grant of a refresh that began with others.
type begunRefresh struct {
	frontier.RefreshGrant
	owner string
	at    time.Time
}

// refreshTime is the longest time that a refresh takes of its grant, with the wait for its host.
const refreshTime = 2 * time.Minute

// usable reports whether the grant lasts as long as the refresh may.
func (g *begunRefresh) usable(now time.Time) bool {
	return !g.Granted || now.Sub(g.at)+refreshTime <= time.Duration(g.Seconds)*time.Second
}

// BeginRefreshes requests the hosts of refreshes that are performed next, all at once: that costs one call of their
// shard, and one row. Refresh requests any other host by itself, also if the shard did not answer here, or runs an
// earlier version.
func (b *Batch) BeginRefreshes(ctx context.Context, list []*contract.Refresh) {
	shards := map[string][]*contract.Refresh{}
	for _, r := range list {
		if r.Method != frontier.MethodRefill && r.Method != frontier.MethodCollect {
			name := b.collector.Frontier.Of(r.Domain).Name()
			shards[name] = append(shards[name], r)
		}
	}
	for _, list := range shards {
		requests := make([]frontier.RefreshRequest, len(list))
		for i, r := range list {
			requests[i] = frontier.RefreshRequest{Domain: r.Domain, URL: r.URL, Owner: rand.Text()}
		}
		at := b.collector.Clock.Now()
		grants, err := b.collector.Frontier.Of(list[0].Domain).BeginRefreshes(ctx, requests)
		if err != nil {
			continue
		}
		b.mu.Lock()
		for i, r := range list {
			b.begun[r] = begunRefresh{grants[i], requests[i].Owner, at}
		}
		b.mu.Unlock()
	}
}

// begin requests the host of a refresh, unless BeginRefreshes has. If other refreshes left too little time of that
// grant, the host is busy until it expires.
func (b *Batch) begin(ctx context.Context, r *contract.Refresh) (begunRefresh, error) {
	b.mu.Lock()
	begun, ok := b.begun[r]
	b.mu.Unlock()
	if ok && begun.usable(b.collector.Clock.Now()) {
		return begun, nil
	}
	owner := rand.Text()
	grant, err := b.collector.Frontier.Of(r.Domain).BeginRefresh(ctx,
		frontier.RefreshRequest{Domain: r.Domain, URL: r.URL, Owner: owner})
	return begunRefresh{RefreshGrant: grant, owner: owner}, err
}

// Refresh reads one entry point and puts its new pages into the frontier. It continues with other due entry points of
// the host as long as the frontier grants it the host. On error nothing is saved, and the frontier schedules the
// refresh again.
func (b *Batch) Refresh(ctx context.Context, r *contract.Refresh) (Refreshed, error) {
	if r.Method == frontier.MethodRefill {
		return Refreshed{}, b.refill(ctx, r)
	}
	if r.Method == frontier.MethodCollect {
		m, err := b.collectAgain(ctx, r)
		return Refreshed{Collect: m}, err
	}
	begun, err := b.begin(ctx, r)
	switch {
	case err != nil || begun.Over:
		return Refreshed{}, err
	case !begun.Granted:
		return Refreshed{Again: time.Duration(begun.RetryIn) * time.Millisecond}, nil
	}
	started := b.collector.Clock.Now()
	var rewritten []*contract.Document
	f := &refresh{batch: b, message: r, begun: &begun.RefreshGrant, owner: begun.owner}
	for {
		if b.collector.Clock.Now().Sub(started) < maxRefreshRun {
			f.next = rand.Text()
		}
		next, failure := f.do(ctx)
		if f.rewritten != nil {
			rewritten = append(rewritten, f.rewritten)
		}
		if err = errors.Join(err, failure); next == nil {
			return Refreshed{Collect: f.collect, Rewritten: rewritten}, err
		}
		f = &refresh{batch: b, begun: &next.RefreshGrant, owner: f.next, message: &contract.Refresh{
			Domain: r.Domain, URL: next.URL, Method: next.Method, Partition: next.Partition, QueuedAt: r.QueuedAt,
		}}
	}
}

// do performs a refresh that has begun, and returns the next one of its host, if any.
func (f *refresh) do(ctx context.Context) (next *frontier.NextRefresh, err error) {
	c, r := f.batch.collector, f.message
	result, err := f.run(ctx)
	if err != nil {
		return nil, err
	}
	if f.begun.Rewrite {
		err = f.rewrite(ctx, true)
		result.Rewritten = err == nil
	}
	if !f.outdated { // otherwise the whole domain is collected next
		result.Next = f.next
	}
	ended, failure := c.Frontier.Of(r.Domain).EndRefresh(ctx, result)
	if failure != nil {
		return nil, errors.Join(err, failure)
	}
	c.Log.Info("refresh_complete", "registrable_domain", r.Domain, "url", r.URL, "method", r.Method,
		"status", result.Status,
		"changed", ended.Changed, "accepted", ended.Accepted, "added", ended.Added, "announced", ended.Announced,
		"interval_seconds", ended.Interval)
	if f.outdated {
		f.collect, failure = f.batch.collectAgain(ctx, r)
		return nil, errors.Join(err, failure)
	}
	if ended.Rewrite && err == nil {
		err = f.rewrite(ctx, false) // if that fails, the next refresh does it
	}
	return ended.Next, err
}

// collectAgain returns the message that collects a domain again. If its document is gone, it removes the domain from
// the schedule and returns nil.
func (b *Batch) collectAgain(ctx context.Context, r *contract.Refresh) (*contract.DomainMessage, error) {
	doc, _, err := b.store.document(ctx, contract.DomainDir{Partition: r.Partition, Domain: r.Domain})
	if err != nil {
		return nil, err
	}
	if doc == nil {
		return nil, b.unschedule(ctx, r)
	}
	m := doc.Again(r.Partition, r.QueuedAt.Time())
	m.Scheduled = true
	return m, m.Validate()
}

// unschedule removes the entry points of a domain whose newest document is gone. Entry points of other partitions,
// put by a later collection, stay.
func (b *Batch) unschedule(ctx context.Context, r *contract.Refresh) error {
	shard := b.collector.Frontier.Of(r.Domain)
	entries, err := shard.Entries(ctx, r.Domain)
	if err != nil {
		return err
	}
	put := frontier.Put{Domain: r.Domain, Partition: r.Partition}
	for _, e := range entries {
		if e.Partition == r.Partition {
			put.Entries = append(put.Entries, frontier.NewEntry{NewPage: frontier.NewPage{URL: e.URL}})
		}
	}
	if _, err := shard.Put(ctx, put); err != nil {
		return err
	}
	b.collector.Log.Info("domain_unscheduled", "registrable_domain", r.Domain, "partition_info", r.Partition,
		"entry_points", len(put.Entries))
	return nil
}

// refresh is one refresh under way.
type refresh struct {
	batch   *Batch
	message *contract.Refresh
	begun   *frontier.RefreshGrant
	owner   string
	next    string // owner of the refresh that may follow this one; "" when there is no time for one

	session     *fetch.Session
	group       *robots.Group // of robots.txt, if it was read now
	outdated    bool          // robots.txt has changed: the domain must be collected
	collect     *contract.DomainMessage
	robotsRules *robotsRules // of the last collection, once they are needed
	authority   string       // of the domain, as stored
	children    []child
	pages       []frontier.NewPage
	rewritten   *contract.Document
	undated     int // number of listed URLs without a date
}

// child is a sitemap that an index lists.
type child struct {
	url     string
	lastmod time.Time
}

func (f *refresh) run(ctx context.Context) (result frontier.RefreshResult, err error) {
	c := f.batch.collector
	result = frontier.RefreshResult{Domain: f.message.Domain, URL: f.message.URL, Owner: f.owner}
	host := &f.begun.Host
	if wait := host.ReadyAt.Time().Sub(c.Clock.Now()); wait > 0 {
		if err := c.Clock.Sleep(ctx, wait); err != nil {
			return result, err
		}
	}
	f.session = fetch.NewSession(fetch.Config{
		UserAgent: c.UserAgent, Excluded: f.batch.excluded, Rules: f.rules, Admit: f.admit,
		Interval:      max(c.Limits.RequestInterval, time.Duration(host.Delay)*time.Millisecond),
		MaxCrawlDelay: c.Limits.MaxCrawlDelay, MaxRequests: maxRefreshRequests, MaxRedirects: maxRedirects,
		Deadline: maxRefreshTime, MaxWall: maxRefreshWall,
	}, c.Transport, c.Clock, f.batch.limiter)
	defer f.session.Close()
	if host.RobotsExpires <= epoch.MillisOf(c.Clock.Now()) {
		a, failure, err := f.robots(ctx, &result)
		if err != nil {
			return result, err
		}
		if failure != nil {
			return f.finish(result, a, failure)
		}
	}
	a, failure := f.session.Fetch(ctx, fetch.Target{
		URL: f.message.URL, Accept: accepts[f.message.Method], IfNoneMatch: f.begun.Entry.ETag,
		IfModifiedSince: f.begun.Entry.LastModified,
		Timeout:         c.Limits.SitemapTimeout, MaxBytes: f.maxBytes(), Once: true,
	})
	if failure != nil || a.Status != http.StatusOK {
		return f.finish(result, a, failure)
	}
	sum := sha256.New()
	why, err := f.read(ctx, a, sum)
	if err != nil {
		return result, err
	}
	result.ETag, result.LastModified = a.Header.Get("ETag"), a.Header.Get("Last-Modified")
	if !a.Body.Truncated() {
		result.SHA256 = hex.EncodeToString(sum.Sum(nil))
	}
	if why != nil {
		return f.finish(result, a, why)
	}
	if f.unchanged(&result) {
		return f.finish(result, a, nil)
	}
	if err := f.readChildren(ctx); err != nil {
		return result, err
	}
	result.Pages, err = f.assess(ctx)
	if err != nil {
		return result, err
	}
	return f.finish(result, a, nil)
}

// accepts are the Accept headers of requests for entry points.
var accepts = map[string]string{
	string(discovery.RSSEntry):         "application/rss+xml, application/atom+xml, application/feed+json, */*;q=0.5",
	string(discovery.AtomEntry):        "application/atom+xml, application/rss+xml, application/feed+json, */*;q=0.5",
	string(discovery.JSONFeedEntry):    "application/feed+json, application/rss+xml, application/atom+xml, */*;q=0.5",
	string(discovery.NewsSitemapEntry): "application/xml, text/xml, */*;q=0.5",
	string(discovery.SitemapEntry):     "application/xml, text/xml, */*;q=0.5",
	string(discovery.HTMLEntry):        "text/html, application/xhtml+xml, */*;q=0.5",
}

func (f *refresh) maxBytes() int64 {
	switch discovery.EntryMethod(f.message.Method) {
	case discovery.NewsSitemapEntry, discovery.SitemapEntry:
		return f.batch.collector.Limits.MaxSitemapBytes
	case discovery.HTMLEntry:
		return maxPageBytes
	}
	return maxFeedBytes
}

// finish completes the result from the last answer and from failure, the reason why the entry point could not be read.
// Only our own failures are errors: those of the host are results.
func (f *refresh) finish(result frontier.RefreshResult, a *fetch.Answer, failure error) (frontier.RefreshResult,
	error) {
	now := f.batch.collector.Clock.Now()
	if errors.Is(failure, context.Canceled) {
		return result, failure
	}
	// it stays due
	result.Skipped = errors.Is(failure, fetch.ErrExcluded) || errors.Is(failure, fetch.ErrCrawlDelay) ||
		postponed(failure)
	if f.session.Stats().Requests > 0 {
		result.Visit.AskedAt = epoch.MillisOf(now)
	}
	if a == nil {
		return result, nil
	}
	result.Status = a.Status
	if failure != nil {
		result.Status = 0
	}
	if f.session.Stats().Answered == 0 {
		result.Visit.Unresolved = errors.Is(failure, fetch.ErrNotResolved)
	}
	if a.Status == http.StatusTooManyRequests || a.Status == http.StatusServiceUnavailable {
		d, _ := fetch.RetryAfter(a.Header.Get("Retry-After"), a.Header.Get("Date"), now)
		result.Visit.RetryAfter, result.Visit.Throttled = int64(d/time.Second), true
	}
	return result, nil
}

// robots reads an expired robots.txt of the entry point's host. failure is the reason why the entry point must not be
// requested, with its answer, if any; err is the bucket's.
func (f *refresh) robots(ctx context.Context, result *frontier.RefreshResult) (a *fetch.Answer, failure, err error) {
	c := f.batch.collector
	authority := authorityOf(f.message.URL)
	a, failure = f.session.Fetch(ctx, fetch.Target{
		URL: authority + "/robots.txt", Accept: "text/plain, */*;q=0.5", Timeout: c.Limits.RobotsTimeout,
		MaxBytes: robots.MaxBytes + 1, Whole: true, Robots: true, Once: true,
	})
	if failure != nil && ctx.Err() != nil {
		return nil, failure, nil
	}
	if postponed(failure) {
		return a, failure, f.robotsElsewhere(ctx)
	}
	evaluated := evaluate(a, failure)
	if evaluated.Access == robots.Unreachable {
		return a, cmp.Or(failure, errUnreadable), nil
	}
	f.group = evaluated.File.Agent(c.UserAgent)
	if _, err := f.stored(ctx); err != nil {
		return nil, nil, err
	}
	allowed := f.group.Allowed(f.message.URL)
	f.outdated = f.outdated || !allowed
	var expires time.Time
	if !f.outdated { // otherwise every refresh reads it until the domain is collected
		expires = c.Clock.Now().Add(robots.MaxAge)
	}
	delay, _ := f.group.CrawlDelay()
	result.Visit.RobotsExpires, result.Visit.Delay = epoch.MillisOf(expires), delay.Milliseconds()
	if rules := shortRules(f.group); expires != (time.Time{}) {
		result.Visit.Rules = &rules
	}
	f.session.SetRobots(markup.HostOf(f.message.URL), delay, expires)
	f.session.SetRules(authority, f.group.Allowed)
	if !allowed {
		return nil, fetch.ErrDisallowed, nil
	}
	return a, nil, nil
}

// robotsElsewhere handles a robots.txt on another host. A collection can lease that host, so the domain is collected
// unless that was done since the file expired.
func (f *refresh) robotsElsewhere(ctx context.Context) error {
	doc, _, err := f.batch.store.document(ctx, contract.DomainDir{Partition: f.message.Partition,
		Domain: f.message.Domain})
	f.outdated = doc != nil && f.batch.collector.Clock.Now().Sub(doc.CollectedAt.Time) >= robots.MaxAge
	return err
}

// admit implements fetch.Admit: only the host that the frontier granted is admitted.
func (f *refresh) admit(_ context.Context, host string) (fetch.Admission, error) {
	if host != markup.HostOf(f.message.URL) {
		return fetch.Admission{}, &contract.Error{Kind: contract.Timeout, Op: "collector.Refresh",
			Message: "host busy: a refresh sends requests to one host, not to " + host, Err: fetch.ErrHostBusy}
	}
	return fetch.Admission{}, nil
}

var errUnreadable = errors.New("its robots.txt cannot be read")

// rules implements fetch.Rules. It allows the entry point, and redirects on the same host that the last collection's
// robots.txt allows.
func (f *refresh) rules(ctx context.Context, authority *url.URL) (func(link string) bool, error) {
	if authority.String() != authorityOf(f.message.URL) {
		return nil, unread(contract.Validation, "a refresh sends requests to one host only")
	}
	return func(link string) bool {
		if link == f.message.URL {
			return true
		}
		r, err := f.stored(ctx)
		if err != nil {
			return false
		}
		allowed, ok := r.verdict(link)
		return allowed && ok
	}, nil
}

// read collects the URLs that the entry point lists. why is what is wrong with it; err is the bucket's, or that time
// is up.
func (f *refresh) read(ctx context.Context, a *fetch.Answer, sum hash.Hash) (why, err error) {
	options := sitemap.Options{ContentType: a.Header.Get("Content-Type"), MaxBytes: f.maxBytes(),
		Now: f.batch.collector.Clock.Now(), Tee: sum, Details: true}
	switch m := discovery.EntryMethod(f.message.Method); m {
	case discovery.RSSEntry, discovery.AtomEntry, discovery.JSONFeedEntry:
		s, err := feed.Parse(a.Body, a.URL, options, func(i *feed.Item) {
			if p := f.take(i.Link, i.Title, i.Date, discovery.FromFeed); p != nil {
				p.Snippet = snippetOf(i.Summary, i.SummaryText)
				p.Image, _ = markup.Resolve(a.URL, i.Image)
			}
		})
		if err == nil && s.Kind == "" {
			err = errors.New(cmp.Or(s.Problem, "it is not a feed"))
		}
		return err, nil
	case discovery.HTMLEntry:
		page, err := readAll(a, sum)
		for _, link := range pageLinks(page, a.URL) {
			f.take([]byte(link.URL), nil, time.Time{}, discovery.FromLink)
		}
		return err, nil
	default:
		method := discovery.FromSitemap
		if m == discovery.NewsSitemapEntry {
			method = discovery.FromNewsSitemap
		}
		return f.readSitemap(a, options, method), nil
	}
}

func (f *refresh) readSitemap(a *fetch.Answer, o sitemap.Options, method discovery.Method) error {
	s, err := sitemap.Parse(a.Body, a.URL, o, func(e *sitemap.Entry) {
		switch {
		case e.Child:
			f.children = append(f.children, child{string(e.Loc), e.Lastmod})
		case e.News.Present:
			date := e.News.Date
			if date.IsZero() {
				date = e.Lastmod
			}
			if p := f.take(e.Loc, e.News.Title, date, discovery.FromNewsSitemap); p != nil {
				p.Image, _ = markup.Resolve(a.URL, e.Image)
			}
		default:
			f.take(e.Loc, e.Title, e.Lastmod, method)
		}
	})
	if err == nil && s.Kind == sitemap.Invalid {
		err = errors.New(cmp.Or(s.Problem, "it is not a sitemap"))
	}
	return err
}

// unchanged reports whether an entry point is the same as when it was last read.
func (f *refresh) unchanged(result *frontier.RefreshResult) bool {
	known := f.begun.SHA256
	return known != "" && len(result.SHA256) >= len(known) && result.SHA256[:len(known)] == known &&
		len(f.children) == 0
}

// take adds a URL that might be new: one dated since the entry point was last read, or without a date. It returns nil
// for any other.
func (f *refresh) take(loc, title []byte, date time.Time, method discovery.Method) *frontier.NewPage {
	now := f.batch.collector.Clock.Now()
	p := frontier.NewPage{URL: string(loc), Title: string(title), FoundBy: string(method)}
	switch {
	case !markup.Plausible(date, now):
		f.undated++
		p.Fresh = f.begun.Since > 0
	case date.Before(f.since(now)):
		return nil
	default:
		p.LastMod = epoch.SecondsOf(date)
	}
	if len(f.pages) >= maxRefreshSeen || !contract.WithinDomain(markup.HostOf(p.URL), f.message.Domain) {
		return nil
	}
	f.pages = append(f.pages, p)
	return &f.pages[len(f.pages)-1]
}

// since returns the date from which a page might be new.
func (f *refresh) since(now time.Time) time.Time {
	since := now.Add(-frontier.FreshFor)
	if before := f.begun.Since.Time(); f.begun.Since > 0 && before.Before(since) {
		return before
	}
	return since
}

// readChildren reads the changed sitemaps of an index that are on the same host, newest first.
func (f *refresh) readChildren(ctx context.Context) error {
	c := f.batch.collector
	now := c.Clock.Now()
	authority := authorityOf(f.message.URL)
	list := slices.DeleteFunc(f.children, func(k child) bool {
		return authorityOf(k.url) != authority || markup.Plausible(k.lastmod, now) && k.lastmod.Before(f.since(now))
	})
	slices.SortStableFunc(list, func(a, b child) int { return b.lastmod.Compare(a.lastmod) })
	for _, k := range list[:min(len(list), maxChildren)] {
		a, failure := f.session.Fetch(ctx, fetch.Target{
			URL: k.url, Accept: accepts[string(discovery.SitemapEntry)], Timeout: c.Limits.SitemapTimeout,
			MaxBytes: c.Limits.MaxSitemapBytes, Once: true,
		})
		if err := ctx.Err(); err != nil {
			return err
		}
		if failure == nil && a.Status == http.StatusOK {
			o := sitemap.Options{ContentType: a.Header.Get("Content-Type"), MaxBytes: c.Limits.MaxSitemapBytes,
				Now: now, Details: true}
			_ = f.readSitemap(a, o, discovery.FromSitemap) // the next collection reports what is wrong
		}
	}
	return nil
}

// assess selects and classifies the pages for the frontier. In a long list without dates nothing can be recognised as
// new.
func (f *refresh) assess(ctx context.Context) ([]frontier.NewPage, error) {
	pages := f.pages
	if f.undated > maxRefreshPages {
		pages = slices.DeleteFunc(pages, func(p frontier.NewPage) bool { return p.LastMod == 0 })
	}
	slices.SortStableFunc(pages, func(a, b frontier.NewPage) int { return cmp.Compare(b.LastMod, a.LastMod) })
	pages = pages[:min(len(pages), maxRefreshPages)]
	if len(pages) == 0 {
		return nil, nil
	}
	rulings, err := f.stored(ctx)
	if err != nil {
		return nil, err
	}
	analyser, err := f.analyser(ctx, rulings)
	if err != nil {
		return nil, err
	}
	chosen := pages[:0]
	for _, p := range pages {
		if allowed, ok := rulings.verdict(p.URL); ok && !allowed || f.batch.excluded(p.URL) {
			continue
		}
		t, priority := analyser.Assess(p.URL, discovery.Method(p.FoundBy), p.LastMod.Time(), "")
		p.Type, p.Priority = string(t), priority
		chosen = append(chosen, p)
	}
	return chosen, nil
}

// stored returns the robots.txt rules of the last collection, updated with the robots.txt read now.
func (f *refresh) stored(ctx context.Context) (*robotsRules, error) {
	if f.robotsRules != nil {
		return f.robotsRules, nil
	}
	s := &saving{batch: f.batch, dir: contract.DomainDir{Partition: f.message.Partition, Domain: f.message.Domain}}
	doc, _, err := f.batch.store.document(ctx, s.dir)
	if err != nil {
		return nil, err
	}
	c := f.batch.collector
	r := newRobotsRules(newPace(ctx, c.Clock, f.session.Expired))
	if doc != nil {
		data, err := f.batch.store.storedState(ctx, s.dir, doc)
		if err != nil {
			return nil, err
		}
		if r, err = s.storedRobots(ctx, doc, data); err != nil {
			return nil, err
		}
		if doc.Authority != nil {
			f.authority = *doc.Authority
		}
	}
	if f.group != nil {
		name := authorityOf(f.message.URL)
		before := cmp.Or(r.groups[name], r.hosts[markup.HostOf(name)])
		f.outdated = before != nil && !sameRules(before, f.group)
		r.replace(name, f.group)
	}
	f.robotsRules = r
	return r, nil
}

// analyser returns an analyser that assesses the domain's pages.
func (f *refresh) analyser(ctx context.Context, r *robotsRules) (*discovery.Analyser, error) {
	model, err := f.batch.model(ctx)
	if err != nil {
		return nil, err
	}
	return discovery.NewAnalyser(discovery.Options{
		Domain: f.message.Domain, Now: f.batch.collector.Clock.Now(),
		Context: classify.Context{Authority: f.authority}, Model: model,
		Robots: r.verdict, Excluded: f.batch.excluded,
	}), nil
}

// sameRules reports whether two groups have the same rules in the same order. Other changes, such as a timestamp, are
// no reason to collect a domain.
func sameRules(a, b *robots.Group) bool {
	return slices.EqualFunc(a.Rules(), b.Rules(), func(a, b robots.Rule) bool {
		return a.Allow == b.Allow &&
			a.Pattern == b.Pattern
	})
}

// readAll reads a page and its digest.
func readAll(a *fetch.Answer, sum hash.Hash) ([]byte, error) {
	page, err := io.ReadAll(a.Body)
	sum.Write(page)
	return page, err
}
