package collect

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/newsfork/seed-engine/contract"
	"github.com/newsfork/seed-engine/epoch"
	"github.com/newsfork/seed-engine/fetch"
	"github.com/newsfork/seed-engine/info"
	"github.com/newsfork/seed-engine/info/store"
	"github.com/newsfork/seed-engine/markup"
	"github.com/newsfork/seed-engine/robots"
)

// Pictures that no source gave are looked for on the articles' pages, as politely as the engine fetches: robots.txt
// is obeyed, a host gets one request at a time with its pauses, also between collections, and nothing that operators
// of the bound engine excluded is fetched.

const (
	pagesAtOnce    = 6 // the platform's limit of connections per event
	pagesPerDomain = 10
	maxPages       = 100 // per run; the next one goes on
	pageTimeout    = 5 * time.Second
	pagesTimeout   = 45 * time.Second // for all pages
	maxPageBytes   = 1 << 20
	// visitTime is the time for which hosts are reserved. Pauses that end before it need no record.
	visitTime = time.Minute
	// maxPause is the longest Crawl-delay that is waited for. A host with a longer one gives a page a run.
	maxPause = 10 * time.Second
	// unreadFor is the time until a robots.txt that could not be read is requested again.
	unreadFor = time.Hour
)

// looking are the requests of one run to websites: for feeds, and for pages with pictures.
type looking struct {
	*Collector
	visits   store.Visits
	limiter  *fetch.Limiter
	excluded *contract.Exclusions // of the engine; nil if unknown

	mu       sync.Mutex
	engine   *Engine // nil: not bound, or it failed
	claimed  map[string]bool
	visited  map[string]bool // hosts that the engine granted
	rules    map[string]*robots.Group
	expires  map[string]time.Time
	read     []store.Rules // in this run
	pictures []store.Picture
	found    map[string]int // pictures by source
}

func (c *Collector) looking() *looking {
	return &looking{Collector: c, visits: c.Store.Visits(), limiter: fetch.NewLimiter(pagesAtOnce), engine: c.Engine,
		claimed: map[string]bool{}, visited: map[string]bool{}, rules: map[string]*robots.Group{},
		expires: map[string]time.Time{}, found: map[string]int{}}
}

// illustrate looks for pictures and counts them in the reports. It ends the run's visits.
func (l *looking) illustrate(ctx context.Context, reports []info.Report) {
	c := l.Collector
	if err := l.look(ctx); err != nil {
		c.Log.Warn("info_store_failed", "error_type", contract.KindOf(err), "error", err.Error())
	}
	pauses := l.endVisits(context.WithoutCancel(ctx))
	if err := l.visits.Leave(context.WithoutCancel(ctx), pauses); err != nil {
		c.Log.Warn("info_store_failed", "error_type", contract.KindOf(err), "error", err.Error())
	}
	for i := range reports {
		r := &reports[i]
		if r.Counts.Thumbnails = l.found[r.Source]; r.Counts.Thumbnails > 0 && r.Error == "" && r.Skipped == "" {
			if err := l.visits.SetCounts(ctx, r.Source, r.Counts); err != nil {
				c.Log.Warn("info_store_failed", "error_type", contract.KindOf(err), "error", err.Error())
			}
		}
	}
}

func (l *looking) look(ctx context.Context) error {
	wanting, err := l.visits.Wanting(ctx, l.Now(), 3*maxPages)
	if err != nil || len(wanting) == 0 {
		return err
	}
	domains := byDomain(wanting)
	if l.excluded, err = l.engine.exclusions(ctx); err != nil {
		l.engineFailed(err)
	}
	if err := l.prepare(ctx, domains); err != nil {
		return err
	}
	hurried, cancel := context.WithTimeout(ctx, pagesTimeout)
	defer cancel()
	turns := make(chan struct{}, pagesAtOnce)
	var running sync.WaitGroup
	for _, pages := range domains {
		turns <- struct{}{}
		running.Go(func() {
			defer func() { <-turns }()
			defer func() { // a panic in this goroutine would end the program
				if thrown := recover(); thrown != nil {
					l.panicked(pages[0].Source, pages[0].URL, info.Recovered(thrown))
				}
			}()
			l.domain(hurried, pages)
		})
	}
	running.Wait()
	ctx = context.WithoutCancel(ctx)
	return errors.Join(l.visits.SetRobots(ctx, l.read), l.visits.SetPictures(ctx, l.pictures, l.Now()))
}

// turn waits until the host of a feed is ready. robots.txt is not for feeds, which their publishers offer to be read.
// Without the engine, only the requests of this run wait for each other.
func (l *looking) turn(ctx context.Context, target string) (leave func(*fetch.Response), err error) {
	u, err := url.Parse(target)
	if err != nil {
		return nil, err
	}
	var a fetch.Admission
	l.mu.Lock()
	engine := l.engine
	l.mu.Unlock()
	if engine != nil && contract.CheckDomain("host", u.Hostname()) == nil {
		if a, err = l.visit(ctx, engine, u.Hostname()); err != nil {
			return nil, err
		}
	}
	return l.limiter.Turn(ctx, clock{l.Collector}, u.Hostname(), a, l.Interval)
}

// visit asks the engine for a host. Without an answer the host is admitted: see engineFailed.
func (l *looking) visit(ctx context.Context, engine *Engine, host string) (fetch.Admission, error) {
	answer, err := engine.visit(ctx, host, l.Owner, visitTime)
	if err == nil {
		return l.granted(host, answer)
	}
	l.engineFailed(err)
	return fetch.Admission{}, ctx.Err()
}

// byDomain returns the articles whose pages are fetched, by registrable domain. Their order is kept.
func byDomain(wanting []info.Article) (domains [][]info.Article) {
	place := map[string]int{}
	pages := 0
	for _, a := range wanting {
		name := fetch.Registrable(markup.HostOf(a.URL))
		at, ok := place[name]
		if !ok {
			at = len(domains)
			place[name] = at
			domains = append(domains, nil)
		}
		if pages < maxPages && len(domains[at]) < pagesPerDomain {
			domains[at] = append(domains[at], a)
			pages++
		}
	}
	return slices.DeleteFunc(domains, func(pages []info.Article) bool { return len(pages) == 0 })
}

// prepare reads the known robots.txt files, and reserves the hosts unless the engine decides about them.
func (l *looking) prepare(ctx context.Context, domains [][]info.Article) error {
	hosts, authorities := map[string]bool{}, map[string]bool{}
	for _, pages := range domains {
		for _, a := range pages {
			if u, err := fetch.Guard(a.URL); err == nil {
				hosts[u.Hostname()], authorities[authorityOf(u)] = true, true
			}
		}
	}
	now := l.Now()
	known, err := l.visits.Robots(ctx, slices.Sorted(maps.Keys(authorities)), now)
	if err != nil {
		return err
	}
	for authority, r := range known {
		l.rules[authority] = robots.Parse([]byte(r.Text)).Agent(l.UserAgent)
		l.expires[authority] = r.Expires.Time()
	}
	if l.engine != nil {
		return nil
	}
	claimed, err := l.visits.Claim(ctx, slices.Sorted(maps.Keys(hosts)), now, now.Add(visitTime))
	for _, host := range claimed {
		l.claimed[host] = true
	}
	return err
}

func authorityOf(u *url.URL) string { return u.Scheme + "://" + u.Host }

// domain fetches the pages of one domain, one after the other.
func (l *looking) domain(ctx context.Context, pages []info.Article) {
	var session *fetch.Session
	session = fetch.NewSession(fetch.Config{
		UserAgent: l.UserAgent, Interval: l.Interval, MaxCrawlDelay: maxPause, MaxRequests: 5 * pagesPerDomain,
		MaxRedirects: maxHops, Deadline: pagesTimeout, Admit: l.admit,
		Excluded: func(url string) bool { return l.excluded != nil && l.excluded.URL(url) },
		Rules: func(ctx context.Context, authority *url.URL) (func(string) bool, error) {
			return l.robots(ctx, session, authority)
		},
	}, l.Transport, clock{l.Collector}, l.limiter)
	defer session.Close()
	for _, a := range pages {
		image, err := l.picture(ctx, session, a.URL)
		l.panicked(a.Source, a.URL, err)
		if ctx.Err() != nil {
			return // not fetched, so not tried
		}
		switch {
		case contract.KindOf(err) == contract.Storage:
			l.Log.Warn("info_store_failed", "error_type", contract.Storage, "error", err.Error(), "source", a.Source)
			return
		case errors.Is(err, fetch.ErrHostBusy), errors.Is(err, fetch.ErrFrontier), errors.Is(err, fetch.ErrDeadline),
			errors.Is(err, fetch.ErrBudget), errors.Is(err, fetch.ErrCrawlDelay),
			errors.Is(err, fetch.ErrRobotsUnknown):
			return // the next run goes on
		}
		l.mu.Lock()
		l.pictures = append(l.pictures, store.Picture{ID: a.ID, URL: image})
		if image != "" {
			l.found[a.Source]++
		}
		l.mu.Unlock()
	}
}

// picture returns the picture of a page, or "".
func (l *looking) picture(ctx context.Context, session *fetch.Session, page string) (image string, err error) {
	defer func() { // a page that breaks the reader is not fetched again and again
		if thrown := recover(); thrown != nil {
			image, err = "", info.Recovered(thrown)
		}
	}()
	answer, err := session.Fetch(ctx, fetch.Target{URL: page, Accept: "text/html,application/xhtml+xml;q=0.9",
		Timeout: pageTimeout, MaxBytes: maxPageBytes, Once: true})
	if err != nil {
		return "", err
	}
	kind := strings.ToLower(answer.Header.Get("Content-Type"))
	if answer.Status != http.StatusOK || kind != "" && !strings.Contains(kind, "html") {
		return "", errNotAPage
	}
	return info.PageImage(answer.Body, kind, answer.URL)
}

// robots implements fetch.Rules.
func (l *looking) robots(ctx context.Context, session *fetch.Session, authority *url.URL) (func(string) bool, error) {
	name := authority.String()
	l.mu.Lock()
	group, expires := l.rules[name], l.expires[name]
	l.mu.Unlock()
	if group == nil {
		answer, err := session.Fetch(ctx, fetch.Target{URL: name + "/robots.txt", Accept: "text/plain, */*;q=0.5",
			Timeout: pageTimeout, MaxBytes: robots.MaxBytes + 1, Whole: true, Once: true, Robots: true})
		if ctx.Err() != nil || errors.Is(err, fetch.ErrHostBusy) || errors.Is(err, fetch.ErrFrontier) ||
			errors.Is(err, fetch.ErrExcluded) || errors.Is(err, fetch.ErrDeadline) ||
			contract.KindOf(err) == contract.Storage {
			return nil, err
		}
		result := robots.Evaluate(robots.Fetched{Status: answer.Status, Redirects: len(answer.Hops),
			ContentType: answer.Header.Get("Content-Type"), Body: answer.Content,
			Failed: err != nil && !errors.Is(err, fetch.ErrRedirects)})
		group, expires = result.File.Agent(l.UserAgent), l.Now().Add(robots.MaxAge)
		if result.Access == robots.Unreachable {
			expires = l.Now().Add(unreadFor)
		}
		l.mu.Lock()
		l.rules[name], l.expires[name] = group, expires
		l.read = append(l.read, store.Rules{Authority: name, Text: rulesText(group), Expires: epoch.MillisOf(expires)})
		l.mu.Unlock()
	}
	delay, _ := group.CrawlDelay()
	session.SetRobots(authority.Hostname(), delay, expires)
	return group.Allowed, nil
}

// rulesText writes a group as a robots.txt.
func rulesText(group *robots.Group) string {
	var b strings.Builder
	b.WriteString("User-agent: *\n")
	if delay, ok := group.CrawlDelay(); ok {
		fmt.Fprintf(&b, "Crawl-delay: %g\n", delay.Seconds())
	}
	for _, r := range group.Rules() {
		if r.Allow {
			b.WriteString("Allow: " + r.Pattern + "\n")
		} else {
			b.WriteString("Disallow: " + r.Pattern + "\n")
		}
	}
	return b.String()
}

// admit implements fetch.Admit: the engine decides, or if it does not answer, the store.
func (l *looking) admit(ctx context.Context, host string) (fetch.Admission, error) {
	l.mu.Lock()
	engine, claimed := l.engine, l.claimed[host]
	l.mu.Unlock()
	if engine != nil {
		visit, err := engine.visit(ctx, host, l.Owner, visitTime)
		if err == nil {
			return l.granted(host, visit)
		}
		if ctx.Err() != nil {
			return fetch.Admission{}, err
		}
		l.engineFailed(err)
	}
	if claimed {
		return fetch.Admission{}, nil
	}
	now := l.Now()
	hosts, err := l.visits.Claim(ctx, []string{host}, now, now.Add(visitTime))
	if err != nil {
		return fetch.Admission{}, err
	}
	if len(hosts) == 0 {
		return fetch.Admission{}, refused(fetch.ErrHostBusy, host)
	}
	l.mu.Lock()
	l.claimed[host] = true
	l.mu.Unlock()
	return fetch.Admission{}, nil
}

// granted turns the engine's answer into an admission.
func (l *looking) granted(host string, visit contract.FrontierVisit) (a fetch.Admission, err error) {
	switch {
	case visit.Granted:
		l.mu.Lock()
		l.visited[host] = true
		l.mu.Unlock()
		a.Delay = time.Duration(visit.Delay * float64(time.Second))
		if visit.ReadyAt != nil {
			a.ReadyAt = visit.ReadyAt.Time
		}
		return a, nil
	case visit.Reason != nil && *visit.Reason == contract.VisitExcluded:
		return a, refused(fetch.ErrExcluded, host)
	case visit.Reason != nil && *visit.Reason == contract.VisitUnresolved:
		return a, fetch.Failure(fetch.ErrNotResolved, errors.New("it did not resolve within the last hour"))
	}
	return a, refused(fetch.ErrHostBusy, host)
}

func refused(why error, host string) error {
	return &contract.Error{Kind: contract.Timeout, Op: "collect.admit", Message: host + " gets no request now",
		Err: why}
}

// engineFailed makes the rest of the run do without the engine.
func (l *looking) engineFailed(err error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.engine != nil {
		l.engine = nil
		l.Log.Warn("info_engine_failed", "error_type", contract.KindOf(err), "error", err.Error())
	}
}

// endVisits returns hosts to the engine, with what was learned about them. It returns when each of the others gets
// the next request.
func (l *looking) endVisits(ctx context.Context) map[string]time.Time {
	now := l.Now()
	pauses := map[string]time.Time{}
	for _, v := range l.limiter.Visits(func(string) bool { return true }) {
		ready := v.RetryAt
		if !v.AskedAt.IsZero() {
			ready = latest(ready, v.AskedAt.Add(max(v.Delay, l.Interval)))
		}
		if l.visited[v.Host] {
			if err := l.Engine.end(ctx, v, l.Owner, now); err != nil {
				l.Log.Warn("info_engine_failed", "error_type", contract.KindOf(err), "error", err.Error(), "host",
					v.Host)
			}
			delete(l.visited, v.Host)
		}
		if l.claimed[v.Host] {
			pauses[v.Host] = ready
		}
	}
	for host := range l.visited { // nothing was learned
		if err := l.Engine.end(ctx, fetch.Visit{Host: host}, l.Owner, now); err != nil {
			l.Log.Warn("info_engine_failed", "error_type", contract.KindOf(err), "error", err.Error(), "host", host)
		}
	}
	clear(l.visited)
	return pauses
}

func latest(a, b time.Time) time.Time {
	if a.After(b) {
		return a
	}
	return b
}

// clock is the collector's as a fetch.Clock.
type clock struct{ *Collector }

func (c clock) Now() time.Time { return c.Collector.Now() }

func (c clock) Sleep(ctx context.Context, d time.Duration) error { return c.Collector.Sleep(ctx, d) }
