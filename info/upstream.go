package info

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net/http"
	"time"

	"github.com/newsfork/seed-engine/contract"
)

// Class says what to do about a failed call of an upstream.
type Class string

const (
	// Spent: the quota of the day is used up; nothing is asked before the next one.
	Spent Class = "quota_spent"
	// Throttled: too many calls in a short time; the source rests until its window ends.
	Throttled Class = "rate_limited"
	// Refused: the request or the key is wrong; the same call fails again until someone mends it.
	Refused Class = "refused"
	// Broken: the upstream failed, or answered what cannot be read; it is asked again later.
	Broken Class = "upstream_error"
)

// UpstreamError is a failed call. Its message names no key and holds no more of the answer than the
// upstream's own code.
type UpstreamError struct {
	Class      Class
	Source     string
	Status     int           // 0 when nothing answered
	Code       string        // of the upstream, "" when it gave none
	RetryAfter time.Duration // that the upstream asked for; 0 when it did not
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

// ClassOf returns the class of an error of a source; Broken for what has none.
func ClassOf(err error) Class {
	var e *UpstreamError
	if errors.As(err, &e) {
		return e.Class
	}
	return Broken
}

// Kind returns the kind by which an error of a source is logged.
func Kind(err error) contract.Kind {
	var e *UpstreamError
	var of *contract.Error
	switch {
	case errors.As(err, &of):
		return of.Kind
	case errors.As(err, &e) && e.Class == Refused:
		return contract.Validation
	case errors.As(err, &e) && e.Status == http.StatusOK:
		return contract.Parse
	}
	return cmp.Or(contract.KindOf(err), contract.Network)
}

// Call is one request to an upstream: a GET.
type Call struct {
	URL      string
	Header   http.Header // has the keys; never logged
	MaxBytes int64       // of the answer; what is longer fails
	Trusted  bool        // the URL is a setting, not something found on the web
	Follow   bool        // redirects, if they lead to a public website; the header goes along, so it has no keys
}

// Answer is what an upstream answered.
type Answer struct {
	URL    string // after redirects
	Status int
	Header http.Header
	Body   []byte
}

// Client makes calls. It counts each against the source's limits before it is made; a call that they
// forbid fails with an UpstreamError of the class Spent or Throttled. No answer in time is one of the class
// Broken.
type Client interface {
	Do(ctx context.Context, c Call) (*Answer, error)
}

// Batch is what a source gave.
type Batch struct {
	Articles []Article
	Drops    Drops
	// State is what the source wants to be given next time, such as a cursor. It is saved together with the articles,
	// so that what was lost with them is asked for again. Nil keeps what it was given; an empty one forgets it.
	State []byte
	// Left is how many calls the provider says are left in the windows of its limits, in their order; -1
	// where it does not say.
	Left []int
	// Failures are the requests that failed while others succeeded.
	Failures []Failure
}

// Failure is one request of a source that failed. Request names it, so that it can be made again.
type Failure struct {
	Request string
	Err     error
	Alone   bool // it says nothing of the source's other requests, which have providers of their own
}

// Source is where articles come from.
type Source interface {
	// Name is one of Sources.
	Name() string
	// Limits are what its provider allows.
	Limits() []Limit
	// Collect asks for the newest articles. state is that of the batch before, nil at first. An error means
	// that nothing came of it.
	Collect(ctx context.Context, c Client, state []byte, now time.Time) (Batch, error)
	// Replay makes one request again, named as in Failure.
	Replay(ctx context.Context, c Client, request string, now time.Time) (Batch, error)
}

// Take adds what is right of drafts to the batch, and counts what is not.
func (b *Batch) Take(source string, now time.Time, drafts ...Draft) {
	if b.Drops == nil {
		b.Drops = Drops{}
	}
	for _, d := range drafts {
		a, clamped, drop := d.Article(source, now)
		if drop != "" {
			b.Drops[drop]++
			continue
		}
		if clamped {
			b.Drops[Clamped]++
		}
		b.Articles = append(b.Articles, a)
	}
}
