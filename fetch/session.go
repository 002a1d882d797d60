package fetch

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math"
	"net/http"
	"net/url"
	"time"

	"github.com/newsfork/seed-engine/contract"
)

// Config is the limits of a Session, named after the variables. Intervals, delays
// and Retries may be 0; a limit of 0 is none, except MaxRequests and MaxRedirects, which are exact.
type Config struct {
	UserAgent     string                // USER_AGENT, sent with every request
	Excluded      func(url string) bool // what operators ruled out; nil: nothing
	Rules         Rules                 // what robots.txt of other authorities says; nil: everything is allowed
	Admit         Admit                 // the right to ask hosts; nil: all may be asked
	Interval      time.Duration         // REQUEST_INTERVAL_MS: minimum pause between two requests to one host
	MaxCrawlDelay time.Duration         // MAX_CRAWL_DELAY_MS: a longer delay is not waited for, see ErrCrawlDelay
	MaxRequests   int                   // MAX_REQUESTS_PER_DOMAIN: redirects and retries counted
	MaxRedirects  int                   // per Fetch; RFC 9309, 2.3.1.2 asks for five
	Retries       int                   // FETCH_RETRIES: per Fetch, over all its hops
	RetryBase     time.Duration         // FETCH_RETRY_BASE_MS: pause before the first retry, doubled each time
	Deadline      time.Duration         // DOMAIN_DEADLINE_MS: for everything but Stats.PolitenessWait
	MaxWall       time.Duration         // for everything
}

// Rules reads the robots.txt of an authority, such as https://www.example.com (RFC 9309, 2.3: another
// scheme or port is another one), and says what it allows. A Session calls it before its first request
// there, unless SetRules came first, and may be used by it for a Target with Robots set. After an error
// the request is not made, and the next one calls it again.
type Rules func(ctx context.Context, authority *url.URL) (allowed func(url string) bool, err error)

// Admit is asked for the right to send requests to a host before the first one of a Session. Its errors
// match ErrHostBusy, ErrFrontier or ErrNotResolved. After an error the request is not
// made, and the next one asks again.
type Admit func(ctx context.Context, host string) (Admission, error)

// Admission is the right to send requests to a host.
type Admission struct {
	Lease   context.Context // ends with the right: a request that is under way is cancelled then
	Delay   time.Duration   // between two requests, at least
	ReadyAt time.Time       // there is to be no request before
}

// The errors of a Session that say: do not ask. They have the kind Validation (ErrDeadline, ErrHostBusy
// and ErrCrawlDelay: Timeout; ErrFrontier: Storage; ErrRobotsUnknown: that of what went wrong), and no
// request was made for the URL they name, or with ErrHostBusy it was cancelled.
var (
	// ErrHostBusy: somebody else may ask the host at the moment, or it is to be left alone for long.
	ErrHostBusy = errors.New("host busy")
	// ErrFrontier: who may ask the host at the moment could not be found out.
	ErrFrontier = errors.New("frontier unavailable")
	// ErrCrawlDelay: the host wants longer pauses than MaxCrawlDelay, and this one is not over.
	ErrCrawlDelay = errors.New("crawl delay above the limit")
	// ErrDisallowed: robots.txt forbids the URL.
	ErrDisallowed = errors.New("robots_disallowed")
	// ErrExcluded: an operator excluded the URL.
	ErrExcluded = errors.New("excluded")
	// ErrRobotsUnknown is for Rules that cannot say what robots.txt allows.
	ErrRobotsUnknown = errors.New("robots_unknown")
	// ErrBudget: MaxRequests requests were made.
	ErrBudget = errors.New("request budget spent")
	// ErrDeadline: Deadline or MaxWall has passed, or would before the host may be asked again.
	ErrDeadline = errors.New("deadline passed")
)

// ErrRedirects (kind Network) marks a redirect that leads in a circle, or one too many.
var ErrRedirects = errors.New("redirects lead nowhere")

// DefaultMaxBytes is the cap of a body whose Target names none.
const DefaultMaxBytes = 1 << 20

// Target is what a Session is to fetch.
type Target struct {
	Method          string // GET when empty, or HEAD
	URL             string
	Accept          string        // */* when empty
	IfNoneMatch     string        // an ETag, quotes included
	IfModifiedSince string        // an HTTP date
	Timeout         time.Duration // of each request, from its start to the end of its body
	MaxBytes        int64         // of the decoded content; DefaultMaxBytes when 0
	Whole           bool          // read the body before Fetch returns: a failure in it is then retried too
	Once            bool          // no retries: for probes that may fail
	Robots          bool          // it is a robots.txt: no rules apply to it, nor where it redirects to (RFC 9309, 2.3.1.2)
}

// Stats is what a Session did so far.
type Stats struct {
	Requests        int           // exchanges started
	Answered        int           // of them, those that got an HTTP status
	AvgResponseTime time.Duration // of the answered ones, to their headers
	PolitenessWait  time.Duration // spent in pauses of Interval, SetRobots and Admission, or while another session had its turn at a host
	Elapsed         time.Duration // since NewSession, PolitenessWait included
}

// Session fetches for the collection of one domain.
//
// The pause between two requests to one host is measured from the end of the first, its body
// included, to the start of the second, so that the origin sees them at least that far apart however long
// either takes on the network. PolitenessWait does not count against Deadline;
// back-off and Retry-After do.
//
// A Session is used by one goroutine at a time and has at most one open Answer: the next Fetch
// closes the body of the one before, so that no session waits for a host that it occupies itself.
// Close it when the collection is over.
type Session struct {
	cfg       Config
	transport Transport
	clock     Clock
	limiter   *Limiter

	rules    map[string]func(url string) bool // by authority
	admitted map[string]Admission             // by host name
	open     *Body

	start        time.Time
	polite       time.Duration
	requests     int
	answered     int
	responseTime time.Duration
}

// NewSession starts the clock of Deadline and MaxWall. Sessions of one event share l.
func NewSession(cfg Config, t Transport, c Clock, l *Limiter) *Session {
	return &Session{
		cfg: cfg, transport: t, clock: c, limiter: l,
		rules: map[string]func(string) bool{}, admitted: map[string]Admission{},
		open: emptyBody(), start: c.Now(),
	}
}

// Close closes an Answer that is still open.
func (s *Session) Close() { s.open.Close() }

// SetRules makes every later request to an authority, redirects included, ask allowed first. The
// authority is scheme and host as in Answer.URL, such as https://www.example.com.
func (s *Session) SetRules(authority string, allowed func(url string) bool) {
	s.rules[authority] = allowed
}

// SetRobots says what the robots.txt of a host means for when it may be asked: its Crawl-delay, 0 without
// one, and when the file is to be read again. The pause between two requests is never made shorter than
// Interval, nor than another session set it.
func (s *Session) SetRobots(host string, delay time.Duration, expires time.Time) {
	h := s.limiter.host(host)
	s.limiter.learn(h, func() {
		h.delay = max(h.delay, delay)
		h.learned.Delay, h.learned.RobotsExpires = max(h.learned.Delay, delay), expires
	})
}

// Slow reports whether a host that was asked wants longer pauses than MaxCrawlDelay: see ErrCrawlDelay.
func (s *Session) Slow(host string) bool {
	return s.limiter.delay(s.limiter.host(host)) > max(s.cfg.MaxCrawlDelay, s.cfg.Interval)
}

// Stats returns what the Session did so far.
func (s *Session) Stats() Stats {
	st := Stats{Requests: s.requests, Answered: s.answered, PolitenessWait: s.polite, Elapsed: s.clock.Now().Sub(s.start)}
	if s.answered > 0 {
		st.AvgResponseTime = s.responseTime / time.Duration(s.answered)
	}
	return st
}

// Fetch asks for t.URL and follows redirects, with the Guard, the rules and the pause before every
// request. Network errors, timeouts and 5xx answers are tried again after RetryBase, 2·RetryBase, …
// or what Retry-After says, as long as retries, requests and time are left; 429 only when it brings
// a Retry-After; other answers never. An answer of any status is no error.
func (s *Session) Fetch(ctx context.Context, t Target) (*Answer, error) {
	s.open.Close()
	a := &Answer{URL: t.URL, Body: emptyBody()}
	u, err := Guard(t.URL)
	if err == nil {
		r := &run{Session: s, ctx: ctx, target: t, answer: a}
		err = r.follow(u)
	}
	return a, err
}

// run is one Fetch under way.
type run struct {
	*Session
	ctx    context.Context
	target Target
	answer *Answer
	tries  int       // retries used
	after  time.Time // the next request waits until then
	probe  bool      // while nothing has answered there are no retries
}

// follow asks u and wherever it redirects to.
func (r *run) follow(u *url.URL) error {
	a := r.answer
	seen := map[string]bool{}
	for {
		a.URL = u.String()
		if seen[a.URL] {
			return stop(contract.Network, ErrRedirects, "the redirects of %s lead in a circle", a.Hops[0].URL)
		}
		seen[a.URL] = true
		if err := r.ask(u); err != nil {
			a.Body.Close()
			a.Body, a.Content = emptyBody(), nil
			return err
		}
		location, ok := redirect(a)
		if !ok {
			r.open = a.Body
			return nil
		}
		a.Body.Close()
		a.Body = emptyBody()
		a.Hops = append(a.Hops, Hop{a.URL, a.Status})
		if len(a.Hops) > r.cfg.MaxRedirects {
			return stop(contract.Network, ErrRedirects, "%s redirects more than %d times", a.Hops[0].URL, r.cfg.MaxRedirects)
		}
		next, err := resolve(u, location)
		if err != nil {
			return located(err, a.URL)
		}
		u = next
	}
}

// redirect returns the Location of an answer that is a redirect (RFC 9110, 15.4).
func redirect(a *Answer) (location string, ok bool) {
	switch a.Status {
	case http.StatusMovedPermanently, http.StatusFound, http.StatusSeeOther, http.StatusTemporaryRedirect, http.StatusPermanentRedirect:
		location = a.Header.Get("Location")
	}
	return location, location != ""
}

// ask asks one URL, with retries.
func (r *run) ask(u *url.URL) error {
	var failure error // of the request before
	for {
		sent := r.answer.Requests
		err := r.exchange(u)
		if r.answer.Requests == sent { // it was not asked
			if failure != nil {
				return failure
			}
			return err
		}
		if err == nil && r.target.Whole {
			if _, ok := redirect(r.answer); !ok {
				r.answer.Content, err = io.ReadAll(r.answer.Body)
			}
		}
		pause, ok := r.retry(u.Hostname(), err)
		if !ok {
			return err
		}
		r.answer.Body.Close()
		r.again(pause)
		failure = err
	}
}

// again makes the next request a retry, after a pause.
func (r *run) again(pause time.Duration) {
	r.tries++
	r.answer.Retries++
	r.after = r.clock.Now().Add(pause)
}

// retry says whether to ask host again after an exchange that ended with err, and how much later.
func (r *run) retry(host string, err error) (pause time.Duration, ok bool) {
	a := r.answer
	switch {
	case r.target.Once, r.tries >= r.cfg.Retries, r.requests >= r.cfg.MaxRequests:
		return 0, false
	case r.probe && a.Status == 0:
		return 0, false
	case err != nil, a.Status >= 500:
	case a.Status == http.StatusTooManyRequests && a.Header.Get("Retry-After") != "":
	default:
		return 0, false
	}
	_, notBefore := r.limiter.times(r.limiter.host(host), 0)
	pause = max(r.cfg.RetryBase<<r.tries, notBefore.Sub(r.clock.Now()))
	return pause, pause < r.left()
}

// exchange makes one request as soon as its host may be asked.
func (r *run) exchange(u *url.URL) error {
	a, name := r.answer, u.Hostname()
	if err := r.permitted(u, a.URL); err != nil {
		return err
	}
	ctx, end := r.under(r.admitted[name].Lease)
	h := r.limiter.host(name)
	if err := r.turn(ctx, h, a.URL); err != nil {
		end()
		return r.unlessLost(name, a.URL, err)
	}
	leave := func() {
		end()
		r.limiter.leave(h, r.clock.Now())
	}
	occupied := false // by a body
	defer func() {
		if !occupied {
			leave()
		}
	}()
	resp, err := r.send(ctx, a.URL)
	if err != nil {
		if errors.Is(err, ErrNotResolved) {
			r.limiter.learn(h, func() { h.learned.Unresolved = true })
		}
		return r.unlessLost(name, a.URL, located(err, a.URL))
	}
	r.limiter.answered(h, resp, r.clock.Now())
	limit := r.target.MaxBytes
	if limit == 0 {
		limit = DefaultMaxBytes
	}
	a.Status, a.Header, a.answered = resp.Status, resp.Header, a.URL
	a.Body = &Body{url: a.URL, content: resp.Body, left: limit, done: leave}
	occupied = true
	if r.target.Method == http.MethodHead || a.Status == http.StatusNoContent || a.Status == http.StatusNotModified {
		a.Body.end(io.EOF)
	}
	return nil
}

// under returns the context of a request, which ends with the right to ask the host, too. end frees it.
func (r *run) under(lease context.Context) (ctx context.Context, end func()) {
	ctx, cancel := context.WithCancel(r.ctx)
	if lease == nil {
		return ctx, cancel
	}
	stop := context.AfterFunc(lease, cancel)
	return ctx, func() {
		stop()
		cancel()
	}
}

// unlessLost returns err, unless the reason is that the right to ask the host was lost.
func (r *run) unlessLost(host, link string, err error) error {
	if lost := r.admitted[host].lost(link); lost != nil {
		return lost
	}
	return err
}

// lost returns the error for a link once the right to ask its host is lost.
func (a Admission) lost(link string) error {
	if a.Lease == nil || a.Lease.Err() == nil {
		return nil
	}
	return stop(contract.Timeout, ErrHostBusy, "%s is not asked: host busy, the right to ask it was lost", link)
}

// permitted refuses what must not be asked, or not any more.
func (r *run) permitted(u *url.URL, link string) error {
	if err := r.ctx.Err(); err != nil {
		return contract.Wrap(contract.Timeout, "fetch.Session", err)
	}
	if r.cfg.Excluded != nil && r.cfg.Excluded(link) {
		return stop(contract.Validation, ErrExcluded, "%s is not asked: an operator excluded it", link)
	}
	if !r.target.Robots {
		if err := r.obey(u, link); err != nil {
			return err
		}
	}
	if r.requests >= r.cfg.MaxRequests {
		return r.spent(link)
	}
	return r.admit(u.Hostname(), link)
}

// admit gets the right to ask a host.
func (r *run) admit(host, link string) error {
	a, admitted := r.admitted[host]
	if !admitted && r.cfg.Admit != nil {
		var err error
		if a, err = r.cfg.Admit(r.ctx, host); err != nil {
			return located(err, link)
		}
		r.limiter.admit(r.limiter.host(host), a)
		r.admitted[host] = a
	}
	return a.lost(link)
}

// obey refuses what the robots.txt of its authority forbids. One that was not read yet is read first.
func (r *run) obey(u *url.URL, link string) error {
	authority := url.URL{Scheme: u.Scheme, Host: u.Host}
	allowed := r.rules[authority.String()]
	if allowed == nil && r.cfg.Rules != nil {
		if r.requests >= r.cfg.MaxRequests {
			return r.spent(link)
		}
		var err error
		if allowed, err = r.cfg.Rules(r.ctx, &authority); err != nil {
			return located(err, link)
		}
		r.SetRules(authority.String(), allowed)
	}
	if allowed != nil && !allowed(link) {
		return stop(contract.Validation, ErrDisallowed, "%s is not asked: robots.txt forbids it", link)
	}
	return nil
}

func (r *run) spent(link string) error {
	return stop(contract.Validation, ErrBudget, "%s is not asked: the domain's requests are spent, of which MAX_REQUESTS_PER_DOMAIN allows %d", link, r.requests)
}

// turn waits until h may be asked, and takes its turn.
func (r *run) turn(ctx context.Context, h *host, link string) error {
	if r.left() <= 0 {
		return late(link, "the time for its domain is over")
	}
	if !tryAcquire(h.turn) {
		began := r.clock.Now()
		err := acquire(ctx, h.turn)
		r.polite += r.clock.Now().Sub(began)
		if err != nil {
			return err
		}
	}
	err := r.wait(ctx, h, link)
	if err != nil {
		release(h.turn)
	}
	return err
}

// wait returns when h may be asked.
func (r *run) wait(ctx context.Context, h *host, link string) error {
	due, notBefore := r.limiter.times(h, r.cfg.Interval)
	if r.after.After(notBefore) {
		notBefore = r.after
	}
	if delay := r.limiter.delay(h); delay > max(r.cfg.MaxCrawlDelay, r.cfg.Interval) && due.After(r.clock.Now()) {
		return stop(contract.Timeout, ErrCrawlDelay, "%s is not asked: its host wants %v between two requests, longer than MAX_CRAWL_DELAY_MS", link, delay)
	}
	slept, err := r.sleepUntil(ctx, due, link)
	r.polite += slept
	if err == nil && notBefore.Sub(r.clock.Now()) >= r.left() {
		err = late(link, "its host may be asked again at "+notBefore.UTC().Format(time.RFC3339)+", when the time for its domain is over")
	}
	if err == nil {
		_, err = r.sleepUntil(ctx, notBefore, link)
	}
	if err == nil && r.left() <= 0 {
		err = late(link, "the time for its domain is over")
	}
	return err
}

// sleepUntil returns at t, unless MaxWall has passed by then, and says how long it slept.
func (r *run) sleepUntil(ctx context.Context, t time.Time, link string) (slept time.Duration, err error) {
	if limit := r.cfg.MaxWall; limit > 0 && t.Sub(r.start) >= limit {
		return 0, late(link, "its host may be asked again at "+t.UTC().Format(time.RFC3339)+", when the time for its domain is over")
	}
	began := r.clock.Now()
	for now := began; now.Before(t); now = r.clock.Now() { // a timer may fire early
		err := r.clock.Sleep(ctx, t.Sub(now))
		slept = r.clock.Now().Sub(began)
		if err != nil {
			return slept, contract.Wrap(contract.Timeout, "fetch.Session", err)
		}
	}
	return slept, nil
}

// forever stands for a limit that is not set.
const forever = time.Duration(math.MaxInt64)

// Expired fails with ErrDeadline once Deadline or MaxWall has passed.
func (s *Session) Expired() error {
	if s.left() > 0 {
		return nil
	}
	return stop(contract.Timeout, ErrDeadline, "the time for the domain is over")
}

// left is the time until Deadline or MaxWall, whichever is nearer.
func (s *Session) left() time.Duration {
	gone, left := s.clock.Now().Sub(s.start), forever
	if s.cfg.Deadline > 0 {
		left = s.cfg.Deadline - (gone - s.polite)
	}
	if s.cfg.MaxWall > 0 {
		left = min(left, s.cfg.MaxWall-gone)
	}
	return left
}

// send makes the request when it has a connection, and measures it.
func (r *run) send(ctx context.Context, link string) (*Response, error) {
	t := &r.target
	req := &Request{Method: t.Method, URL: link, Header: http.Header{}, Timeout: t.Timeout}
	if req.Method == "" {
		req.Method = http.MethodGet
	}
	accept := t.Accept
	if accept == "" {
		accept = "*/*"
	}
	for _, h := range [...][2]string{{"User-Agent", r.cfg.UserAgent}, {"Accept", accept}, {"If-None-Match", t.IfNoneMatch}, {"If-Modified-Since", t.IfModifiedSince}} {
		if h[1] != "" {
			req.Header.Set(h[0], h[1])
		}
	}
	disconnect, err := r.limiter.connectFetch(ctx)
	if err != nil {
		return nil, err
	}
	defer disconnect()
	if left := r.left(); left < forever && (req.Timeout == 0 || left < req.Timeout) {
		req.Timeout = max(left, time.Millisecond)
	}
	r.requests++
	r.answer.Requests++
	start := r.clock.Now()
	resp, err := r.transport.Do(ctx, req)
	if err == nil {
		r.answered++
		r.answer.Elapsed = r.clock.Now().Sub(start)
		r.responseTime += r.answer.Elapsed
	}
	return resp, err
}

func late(link, why string) *contract.Error {
	return stop(contract.Timeout, ErrDeadline, "%s is not asked: %s", link, why)
}

func stop(kind contract.Kind, why error, format string, args ...any) *contract.Error {
	return &contract.Error{Kind: kind, Op: "fetch.Session", Message: fmt.Sprintf(format, args...), Err: why}
}
