package info

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net/http"
	"runtime/debug"
	"slices"
	"time"

	"github.com/newsfork/seed-engine/contract"
)

// PanicError is a panic that was recovered in a goroutine, where it would have ended the program.
type PanicError struct {
	Thrown any
	Stack  []byte
}

// Recovered returns the error for a value that was thrown. The deferred function that recovered it calls it.
func Recovered(thrown any) error { return &PanicError{thrown, debug.Stack()} }

func (e *PanicError) Error() string { return fmt.Sprintf("panic: %v", e.Thrown) }

// Class is a class of failed upstream calls, by what to do about them.
type Class string

const (
	// Spent: the day's quota is used up; no calls before the next day.
	Spent Class = "quota_spent"
	// Throttled: too many calls in a short time; no calls before the window ends.
	Throttled Class = "rate_limited"
	// Refused: the key or the endpoint is wrong; all calls fail until somebody fixes it.
	Refused Class = "refused"
	// BadRequest: this request is wrong and fails until somebody fixes it; others can succeed.
	BadRequest Class = "bad_request"
	// Broken: the upstream failed or its answer is unreadable; the call is repeated later.
	Broken Class = "upstream_error"
)

// StopsSource reports whether other requests of the source would fail as well.
func (c Class) StopsSource() bool { return c == Spent || c == Throttled || c == Refused }

// UpstreamError is a failed call. Its message contains no key, and of the answer only the upstream's own code.
type UpstreamError struct {
	Class      Class
	Source     string
	Status     int           // 0 if nothing answered
	Code       string        // the upstream's own, or ""
	RetryAfter time.Duration // as in the answer; 0 if absent
	Err        error
}

func (e *UpstreamError) Error() string {
	s := fmt.Sprintf("%s: %s", e.Source, e.Class)
	if e.Status > 0 {
		s += fmt.Sprintf(", status %d", e.Status)
	}
	if e.Code != "" {
		s += ", code " + line(e.Code, 60)
	}
	if e.Err != nil {
		s += ": " + e.Err.Error()
	}
	return s
}

func (e *UpstreamError) Unwrap() error { return e.Err }

// ClassOf returns the class of a source's error, Broken by default.
func ClassOf(err error) Class {
	var e *UpstreamError
	if errors.As(err, &e) {
		return e.Class
	}
	return Broken
}

// Kind returns the kind under which a source's error is logged.
func Kind(err error) contract.Kind {
	var e *UpstreamError
	var of *contract.Error
	switch {
	case errors.As(err, &of):
		return of.Kind
	case errors.As(err, &e) && (e.Class == Refused || e.Class == BadRequest):
		return contract.Validation
	case errors.As(err, &e) && e.Status == http.StatusOK:
		return contract.Parse
	}
	return cmp.Or(contract.KindOf(err), contract.Network)
}

// Call is a GET request to an upstream.
type Call struct {
	URL      string
	Header   http.Header // contains keys; never logged
	MaxBytes int64       // of the answer; longer ones fail
	Trusted  bool        // the URL is a setting, not found on the web
	Follow   bool        // follow redirects to public websites; they get Header, so it must not contain keys
}

// Answer is an upstream's answer.
type Answer struct {
	URL    string // after redirects
	Status int
	Header http.Header
	Body   []byte
}

// Client makes calls. It counts each call before making it. Calls over the source's limits fail with an
// UpstreamError of class Spent or Throttled, calls without an answer in time with class Broken.
type Client interface {
	Do(ctx context.Context, c Call) (*Answer, error)
	// Spare reports whether the limits of the source leave a call, beside those that this collection and the later ones
	// in each window need at least.
	Spare(needed int) bool
}

// Batch is the result of asking a source.
type Batch struct {
	Articles []Article
	Drops    Drops
	// State is passed to the source's next collection, such as a cursor. It is saved together with the articles, so
	// that both are lost or neither. Nil keeps the previous state; an empty one clears it.
	State []byte
	// Left is the number of calls left in the windows of the limits, in order, according to the provider; -1 if
	// unknown.
	Left []int
	// Gaps is the number of queries with more new articles than were taken.
	Gaps int
	// Failures are the failed requests of a batch in which others succeeded.
	Failures []Failure
}

// Failure is a failed request of a source. Request names it for a replay.
type Failure struct {
	Request string
	Err     error
	Alone   bool // says nothing about other requests, which go to other providers
}

// Source is a provider of articles.
type Source interface {
	// Name is one of Sources.
	Name() string
	// Limits are those of its provider.
	Limits() []Limit
	// Collect fetches the newest articles. state is that of the previous batch, nil at first. On error there is no
	// batch.
	Collect(ctx context.Context, c Client, state []byte, now time.Time) (Batch, error)
	// Replay repeats one request, named as in Failure.
	Replay(ctx context.Context, c Client, request string, now time.Time) (Batch, error)
}

// Add adds the articles and counts of another batch, and takes its Left.
func (b *Batch) Add(o Batch) {
	if b.Drops == nil {
		b.Drops = Drops{}
	}
	for drop, n := range o.Drops {
		b.Drops[drop] += n
	}
	b.Articles, b.Gaps = append(b.Articles, o.Articles...), b.Gaps+o.Gaps
	if o.Left != nil {
		b.Left = o.Left
	}
}

// Take adds the valid drafts of one document to the batch and counts the others. Those whose dates are in the future
// keep their order, a millisecond apart.
func (b *Batch) Take(source string, now time.Time, drafts ...Draft) {
	if b.Drops == nil {
		b.Drops = Drops{}
	}
	type early struct {
		index int
		ahead time.Duration
	}
	var clamped []early
	for _, d := range drafts {
		a, ahead, drop := d.Article(source, now)
		if drop != "" {
			b.Drops[drop]++
			continue
		}
		if ahead > 0 {
			b.Drops[Clamped]++
			clamped = append(clamped, early{len(b.Articles), ahead})
		}
		b.Articles = append(b.Articles, a)
	}
	slices.SortStableFunc(clamped, func(x, y early) int { return cmp.Compare(y.ahead, x.ahead) })
	for i, c := range clamped {
		at := &b.Articles[c.index].PublishedAt
		*at = at.Add(-time.Duration(i) * time.Millisecond)
	}
}
