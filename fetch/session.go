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

// Config holds the limits of a Session, named after the variables. 0 means no limit, except for MaxRequests,
// MaxRedirects and Retries.
type Config struct {
	UserAgent     string                // USER_AGENT, sent with every request
	Excluded      func(url string) bool // by operators; nil excludes nothing
	Rules         Rules                 // robots.txt of other authorities; nil allows everything
	Admit         Admit                 // the right to send requests to hosts; nil admits to all
	Interval      time.Duration         // REQUEST_INTERVAL_MS: minimum pause between two requests to one host
	MaxCrawlDelay time.Duration         // MAX_CRAWL_DELAY_MS: longer delays are not waited for, see ErrCrawlDelay
	MaxRequests   int                   // MAX_REQUESTS_PER_DOMAIN: includes redirects and retries
	MaxRedirects  int                   // per Fetch; RFC 9309, 2.3.1.2 asks for five
	Retries       int                   // FETCH_RETRIES: per Fetch, over all its hops
	RetryBase     time.Duration         // FETCH_RETRY_BASE_MS: pause before the first retry, doubled each time
	Deadline      time.Duration         // DOMAIN_DEADLINE_MS: for everything but Stats.PolitenessWait
	MaxWall       time.Duration         // for everything
}

// Rules reads the robots.txt of an authority, such as https://www.example.com, and returns its rules (RFC 9309, 2.3:
// another scheme or port is another authority). A Session calls it before its first request there, unless SetRules
// was called. Rules may use the Session for a Target with Robots set. After an error the request is not sent, and the
// next one calls Rules again.
type Rules func(ctx context.Context, authority *url.URL) (allowed func(url string) bool, err error)

// Admit acquires the right to send requests to a host. A Session calls it before its first request there. Its errors
// match ErrHostBusy, ErrFrontier or ErrNotResolved. After an error the request is not sent, and the next one calls
// Admit again.
type Admit func(ctx context.Context, host string) (Admission, error)

// Admission is the right to send requests to a host.
type Admission struct {
	Lease   context.Context // ends with the right, and cancels a pending request
	Delay   time.Duration   // least pause between two requests
	ReadyAt time.Time       // of the first request
}

// The errors for requests that a Session did not send, or cancelled in the case of ErrHostBusy. ErrDeadline,
// ErrHostBusy and ErrCrawlDelay have the kind Timeout, ErrFrontier has Storage, ErrRobotsUnknown that of its cause,
// and all others have Validation.
var (
	// ErrHostBusy: the host is leased to somebody else, or not ready for long.
	ErrHostBusy = errors.New("host busy")
	// ErrFrontier: the host's shard of the frontier did not answer.
	ErrFrontier = errors.New("frontier unavailable")
	// ErrCrawlDelay: the host wants longer pauses than MaxCrawlDelay.
	ErrCrawlDelay = errors.New("crawl delay above the limit")
	// ErrDisallowed: robots.txt forbids the URL.
	ErrDisallowed = errors.New("robots_disallowed")
	// ErrExcluded: an operator excluded the URL.
	ErrExcluded = errors.New("excluded")
	// ErrRobotsUnknown: Rules could not read the robots.txt.
	ErrRobotsUnknown = errors.New("robots_unknown")
	// ErrBudget: MaxRequests requests were sent.
	ErrBudget = errors.New("request budget spent")
	// ErrDeadline: Deadline or MaxWall has passed, or will before the host is ready.
	ErrDeadline = errors.New("deadline passed")
)

// ErrRedirects is returned for a redirect loop and for too many redirects. Its kind is Network.
var ErrRedirects = errors.New("too many redirects")

// DefaultMaxBytes caps a body if Target.MaxBytes is 0.
const DefaultMaxBytes = 1 << 20

// Target describes a request of a Session.
type Target struct {
	Method          string // GET (the default) or HEAD
	URL             string
	Accept          string        // default */*
	IfNoneMatch     string        // an ETag, quotes included
	IfModifiedSince string        // an HTTP date
	Timeout         time.Duration // of each request, from its start to the end of its body
	MaxBytes        int64         // of the decoded content; default DefaultMaxBytes
	Whole           bool          // read the body before Fetch returns, so that failures in it are retried, too
	Once            bool          // no retries
	Robots          bool          // it is a robots.txt: no rules apply, nor to its redirects (RFC 9309, 2.3.1.2)
}

// Stats counts the work of a Session.
type Stats struct {
	Requests        int           // sent
	Answered        int           // of them
	AvgResponseTime time.Duration // of answered requests, to their headers
	// for pauses of Interval, SetRobots and Admission, and for other sessions' turns at a host
	PolitenessWait time.Duration
	Elapsed        time.Duration // since NewSession, PolitenessWait included
}

// Session fetches for the collection of one domain.
//
// The pause between two requests to one host is measured from the end of the first body to the start of the second
// request, so that the origin sees at least that pause. PolitenessWait does not count against Deadline; back-off and
// Retry-After do.
//
// A Session is used by one goroutine at a time and has at most one open Answer: Fetch closes the previous body, so
// that no session waits for a host that it occupies itself. Close the session after the collection.
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

// NewSession returns a Session whose Deadline and MaxWall start now. Sessions of one event share l.
func NewSession(cfg Config, t Transport, c Clock, l *Limiter) *Session {
	return &Session{
		cfg: cfg, transport: t, clock: c, limiter: l,
		rules: map[string]func(string) bool{}, admitted: map[string]Admission{},
		open: emptyBody(), start: c.Now(),
	}
}

// Close closes an Answer that is still open.
func (s *Session) Close() { s.open.Close() }

// SetRules sets the rules for all later requests to an authority, redirects included. The authority is scheme and
// host as in Answer.URL, such as https://www.example.com.
func (s *Session) SetRules(authority string, allowed func(url string) bool) {
	s.rules[authority] = allowed
}

// SetRobots sets the Crawl-delay of a host, 0 for none, and when its robots.txt expires. The pause between two
// requests is never shorter than Interval or another session's delay.
func (s *Session) SetRobots(host string, delay time.Duration, expires time.Time) {
	h := s.limiter.host(host)
	s.limiter.learn(h, func() {
		h.delay = max(h.delay, delay)
		h.learned.Delay, h.learned.RobotsExpires = max(h.learned.Delay, delay), expires
	})
}

// Slow reports whether a host wants longer pauses than MaxCrawlDelay, see ErrCrawlDelay.
func (s *Session) Slow(host string) bool {
	return s.limiter.delay(s.limiter.host(host)) > max(s.cfg.MaxCrawlDelay, s.cfg.Interval)
}

// Stats returns the counts so far.
func (s *Session) Stats() Stats {
	st := Stats{Requests: s.requests, Answered: s.answered, PolitenessWait: s.polite,
		Elapsed: s.clock.Now().Sub(s.start)}
	if s.answered > 0 {
		st.AvgResponseTime = s.responseTime / time.Duration(s.answered)
	}
	return st
}

// Fetch requests t.URL and follows redirects, with Guard, rules and pause before every request. It retries network
// errors, timeouts, 5xx, and 429 with a Retry-After, after RetryBase, 2·RetryBase, … or the Retry-After, as long as
// retries, requests and time are left. A response of any status is a success.
func (s *Session) Fetch(ctx context.Context, t Target) (*Answer, error) {
	s.open.Close()
	a := &Answer{URL: t.URL, Body: emptyBody()}
	u, err := Guard(t.URL)
	if err == nil {
		r := &chain{Session: s, ctx: ctx, target: t, answer: a}
		err = r.follow(u)
	}
	return a, err
}

// chain is one Fetch under way: its requests, redirects and retries.
type chain struct {
	*Session
	ctx    context.Context
	target Target
	answer *Answer
	tries  int       // retries used
	after  time.Time // of the next request
	probe  bool      // no retries until something has answered
}

// follow requests u and follows its redirects.
func (r *chain) follow(u *url.URL) error {
	a := r.answer
	seen := map[string]bool{}
	for {
		a.URL = u.String()
		if seen[a.URL] {
			return stop(contract.Network, ErrRedirects, "%s redirects in a loop", a.Hops[0].URL)
		}
		seen[a.URL] = true
		if err := r.request(u); err != nil {
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
			return stop(contract.Network, ErrRedirects, "%s redirects more than %d times", a.Hops[0].URL,
				r.cfg.MaxRedirects)
		}
		next, err := resolve(u, location)
		if err != nil {
			return located(err, a.URL)
		}
		u = next
	}
}

// validStatus returns status, or 500 if it is of no class: that counts as a fault of the server (RFC 9110, 15).
func validStatus(status int) int {
	if status < 100 || status > 599 {
		return http.StatusInternalServerError
	}
	return status
}

// redirect returns the Location of a redirect (RFC 9110, 15.4).
func redirect(a *Answer) (location string, ok bool) {
	switch a.Status {
	case http.StatusMovedPermanently, http.StatusFound, http.StatusSeeOther, http.StatusTemporaryRedirect,
		http.StatusPermanentRedirect:
		location = a.Header.Get("Location")
	}
	return location, location != ""
}

// request requests one URL, with retries.
func (r *chain) request(u *url.URL) error {
	var failure error // of the previous request
	for {
		sent := r.answer.Requests
		err := r.exchange(u)
		if r.answer.Requests == sent { // none was sent
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

// again makes the next request a retry after a pause.
func (r *chain) again(pause time.Duration) {
	r.tries++
	r.answer.Retries++
	r.after = r.clock.Now().Add(pause)
}

// retry reports whether to retry an exchange that ended with err, and after which pause.
func (r *chain) retry(host string, err error) (pause time.Duration, ok bool) {
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

// exchange sends one request as soon as its host is ready.
func (r *chain) exchange(u *url.URL) error {
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
	a.Status, a.Header, a.answered = validStatus(resp.Status), resp.Header, a.URL
	a.Body = &Body{url: a.URL, content: resp.Body, left: limit, done: leave}
	occupied = true
	if r.target.Method == http.MethodHead || a.Status == http.StatusNoContent || a.Status == http.StatusNotModified {
		a.Body.end(io.EOF)
	}
	return nil
}

// under returns the context of a request, which also ends with the host's lease. end releases it.
func (r *chain) under(lease context.Context) (ctx context.Context, end func()) {
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

// unlessLost returns err, or the error for the lost lease that caused it.
func (r *chain) unlessLost(host, link string, err error) error {
	if lost := r.admitted[host].lost(link); lost != nil {
		return lost
	}
	return err
}

// lost returns the error for a link whose host's lease is lost, or nil.
func (a Admission) lost(link string) error {
	if a.Lease == nil || a.Lease.Err() == nil {
		return nil
	}
	return stop(contract.Timeout, ErrHostBusy, "%s was not requested: host busy: its lease was lost", link)
}

// permitted returns why a request must not be sent, or nil.
func (r *chain) permitted(u *url.URL, link string) error {
	if err := r.ctx.Err(); err != nil {
		return contract.Wrap(contract.Timeout, "fetch.Session", err)
	}
	if r.cfg.Excluded != nil && r.cfg.Excluded(link) {
		return stop(contract.Validation, ErrExcluded, "%s was not requested: an operator excluded it", link)
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

// admit acquires the right to send requests to a host.
func (r *chain) admit(host, link string) error {
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

// obey returns an error for a URL that the robots.txt of its authority forbids. It reads the file first if necessary.
func (r *chain) obey(u *url.URL, link string) error {
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
		return stop(contract.Validation, ErrDisallowed, "%s was not requested: robots.txt forbids it", link)
	}
	return nil
}

func (r *chain) spent(link string) error {
	return stop(contract.Validation, ErrBudget, "%s was not requested: MAX_REQUESTS_PER_DOMAIN allows %d requests",
		link, r.requests)
}

// turn waits until h is free and ready, and acquires it.
func (r *chain) turn(ctx context.Context, h *host, link string) error {
	if r.left() <= 0 {
		return tooLate(link, "the domain's deadline has passed")
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

// wait waits until h is ready.
func (r *chain) wait(ctx context.Context, h *host, link string) error {
	due, notBefore := r.limiter.times(h, r.cfg.Interval)
	if r.after.After(notBefore) {
		notBefore = r.after
	}
	if delay := r.limiter.delay(h); delay > max(r.cfg.MaxCrawlDelay, r.cfg.Interval) && due.After(r.clock.Now()) {
		return stop(contract.Timeout, ErrCrawlDelay,
			"%s was not requested: its host wants %v between two requests, longer than MAX_CRAWL_DELAY_MS", link,
			delay)
	}
	slept, err := r.sleepUntil(ctx, due, link)
	r.polite += slept
	if err == nil && notBefore.Sub(r.clock.Now()) >= r.left() {
		err = tooLate(link, "its host is ready at "+notBefore.UTC().Format(time.RFC3339)+
			", after the domain's deadline")
	}
	if err == nil {
		_, err = r.sleepUntil(ctx, notBefore, link)
	}
	if err == nil && r.left() <= 0 {
		err = tooLate(link, "the domain's deadline has passed")
	}
	return err
}

// sleepUntil sleeps until t and returns for how long. It fails at once if MaxWall ends before t.
func (r *chain) sleepUntil(ctx context.Context, t time.Time, link string) (slept time.Duration, err error) {
	if limit := r.cfg.MaxWall; limit > 0 && t.Sub(r.start) >= limit {
		return 0, tooLate(link, "its host is ready at "+t.UTC().Format(time.RFC3339)+", after the domain's deadline")
	}
	began := r.clock.Now()
	for now := began; now.Before(t); now = r.clock.Now() { // a timer might fire early
		err := r.clock.Sleep(ctx, t.Sub(now))
		slept = r.clock.Now().Sub(began)
		if err != nil {
			return slept, contract.Wrap(contract.Timeout, "fetch.Session", err)
		}
	}
	return slept, nil
}

// forever is the time left without a limit.
const forever = time.Duration(math.MaxInt64)

// Expired returns ErrDeadline once Deadline or MaxWall has passed.
func (s *Session) Expired() error {
	if s.left() > 0 {
		return nil
	}
	return stop(contract.Timeout, ErrDeadline, "the domain's deadline has passed")
}

// left returns the time until Deadline or MaxWall, whichever is sooner.
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

// send waits for a connection, sends the request and measures the response time.
func (r *chain) send(ctx context.Context, link string) (*Response, error) {
	t := &r.target
	req := &Request{Method: t.Method, URL: link, Header: http.Header{}, Timeout: t.Timeout}
	if req.Method == "" {
		req.Method = http.MethodGet
	}
	accept := t.Accept
	if accept == "" {
		accept = "*/*"
	}
	for _, h := range [...][2]string{{"User-Agent", r.cfg.UserAgent}, {"Accept", accept},
		{"If-None-Match", t.IfNoneMatch}, {"If-Modified-Since", t.IfModifiedSince}} {
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

func tooLate(link, why string) *contract.Error {
	return stop(contract.Timeout, ErrDeadline, "%s was not requested: %s", link, why)
}

func stop(kind contract.Kind, why error, format string, args ...any) *contract.Error {
	return &contract.Error{Kind: kind, Op: "fetch.Session", Message: fmt.Sprintf(format, args...), Err: why}
}
