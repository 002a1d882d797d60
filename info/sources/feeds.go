package sources

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"net/http"
	"slices"
	"sync"
	"time"

	"github.com/newsfork/seed-engine/contract"
	"github.com/newsfork/seed-engine/epoch"
	"github.com/newsfork/seed-engine/feed"
	"github.com/newsfork/seed-engine/info"
	"github.com/newsfork/seed-engine/sitemap"
)

// Feeds are RSS, Atom and JSON feeds and news sitemaps. Conditional requests make feeds without news cheap.
type Feeds struct {
	URLs  []string                  // FEEDS
	Zones map[string]*time.Location // of dates that name none, by URL; nil: UTC
}

var _ info.Source = (*Feeds)(nil)

const (
	feedsAtOnce = 6       // the platform's limit of connections per event
	maxFeed     = 8 << 20 // bytes
	maxItems    = 500     // first ones per feed and collection: feeds begin with the newest
)

// overLimit counts items beyond maxItems.
const overLimit info.Drop = "over_limit"

// validators are those of a feed's last answer (RFC 9110, 8.8).
type validators struct {
	ETag         string `json:"etag,omitempty"`
	LastModified string `json:"last_modified,omitempty"`
	// NotBefore is the end of a feed's Retry-After (RFC 9110, 10.2.3).
	NotBefore epoch.Seconds `json:"not_before,omitempty"`

	// What operators see of the feed.
	SucceededAt epoch.Seconds `json:"succeeded_at,omitempty"`
	FailedAt    epoch.Seconds `json:"failed_at,omitempty"` // since the last success
	Error       string        `json:"error,omitempty"`
	Items       int           `json:"items,omitempty"` // of its last answer that was not 304
}

// rests returns the time left until NotBefore.
func (v validators) rests(now time.Time) time.Duration { return v.NotBefore.Time().Sub(now) }

// leave keeps the validators and stores the Retry-After of a failure.
func (v validators) leave(err error, now time.Time) validators {
	var e *info.UpstreamError
	if errors.As(err, &e) && e.RetryAfter > 0 {
		v.NotBefore = epoch.SecondsOf(now.Add(e.RetryAfter))
	}
	if !errors.Is(err, errLeftAlone) {
		v.FailedAt, v.Error = epoch.SecondsOf(now), contract.Reason(err)
	}
	return v
}

// Status returns a row per feed from the source's state.
func (f *Feeds) Status(state []byte) []info.FeedStatus {
	seen := map[string]validators{}
	_ = json.Unmarshal(state, &seen) // unreadable state: nothing is known
	list := []info.FeedStatus{}
	for _, url := range f.URLs {
		v := seen[url]
		list = append(list, info.FeedStatus{URL: url, SucceededAt: contract.At(v.SucceededAt.Time()),
			FailedAt: contract.At(v.FailedAt.Time()), Error: contract.Text(v.Error), Items: v.Items,
			NotBefore: contract.At(v.NotBefore.Time())})
	}
	return list
}

var errLeftAlone = errors.New("its Retry-After has not passed yet")

// Name implements info.Source.
func (f *Feeds) Name() string { return info.Feed }

// Limits implements info.Source: none.
func (f *Feeds) Limits() []info.Limit { return nil }

// Collect implements info.Source. The state holds validators by URL. Feeds belong to different hosts, so one that
// rests does not affect the others.
func (f *Feeds) Collect(ctx context.Context, c info.Client, state []byte, now time.Time) (info.Batch, error) {
	seen := map[string]validators{}
	if len(state) > 0 {
		_ = json.Unmarshal(state, &seen) // unreadable state: fetch again
	}
	answers := make([]reading, len(f.URLs))
	var running sync.WaitGroup
	turns := make(chan struct{}, feedsAtOnce)
	for _, i := range rand.Perm(len(f.URLs)) { // no feed is always the last
		url := f.URLs[i]
		running.Add(1)
		turns <- struct{}{}
		go func() {
			defer func() { <-turns; running.Done() }()
			defer func() { // a panic in this goroutine would end the program
				if thrown := recover(); thrown != nil {
					answers[i].err = info.Recovered(thrown)
				}
			}()
			answers[i] = f.read(ctx, c, url, seen[url], now)
		}()
	}
	running.Wait()

	var b info.Batch
	versions := map[string]validators{}
	for i, url := range f.URLs {
		a := answers[i]
		if a.err != nil {
			versions[url] = seen[url].leave(a.err, now)
			b.Failures = append(b.Failures, info.Failure{Request: url, Err: a.err, Alone: true})
			continue
		}
		version := a.version
		version.SucceededAt = epoch.SecondsOf(now)
		if !a.unchanged {
			version.Items = len(a.drafts) + a.beyond
		}
		versions[url] = version
		b.Take(info.Feed, now, a.drafts...)
		if a.beyond > 0 {
			b.Drops[overLimit] += a.beyond
		}
	}
	b.State, _ = json.Marshal(versions) // maps of strings always marshal
	if len(f.URLs) > 0 && len(b.Failures) == len(f.URLs) {
		return b, soonest(b.Failures)
	}
	return b, nil
}

// soonest returns the error of the feed that may be fetched first.
func soonest(failures []info.Failure) error {
	wait := func(f info.Failure) time.Duration {
		var e *info.UpstreamError
		if errors.As(f.Err, &e) {
			return e.RetryAfter
		}
		return 0
	}
	return slices.MinFunc(failures, func(a, b info.Failure) int { return cmp.Compare(wait(a), wait(b)) }).Err
}

// Replay implements info.Source. A request is the URL of a feed.
func (f *Feeds) Replay(ctx context.Context, c info.Client, url string, now time.Time) (b info.Batch, err error) {
	a := f.read(ctx, c, url, validators{}, now)
	if a.err == nil {
		b.Take(info.Feed, now, a.drafts...)
	}
	return b, a.err
}

// reading is the result of fetching a feed.
type reading struct {
	drafts  []info.Draft
	beyond  int // items beyond the limit
	version validators
	// unchanged is true if the feed has nothing new.
	unchanged bool
	err       error
}

func (f *Feeds) read(ctx context.Context, c info.Client, url string, known validators, now time.Time) reading {
	if d := known.rests(now); d > 0 {
		return reading{err: &info.UpstreamError{Class: info.Throttled, Source: info.Feed, RetryAfter: d,
			Err: errLeftAlone}}
	}
	header := http.Header{"Accept": {"application/rss+xml, application/atom+xml, application/feed+json, " +
		"application/xml;q=0.9, */*;q=0.5"}}
	if known.ETag != "" {
		header.Set("If-None-Match", known.ETag)
	}
	if known.LastModified != "" {
		header.Set("If-Modified-Since", known.LastModified)
	}
	answer, err := c.Do(ctx, info.Call{URL: url, Header: header, MaxBytes: maxFeed, Trusted: true, Follow: true})
	switch {
	case err != nil:
		return reading{err: err}
	case answer.Status == http.StatusNotModified:
		known.NotBefore, known.FailedAt, known.Error = 0, 0, ""
		return reading{version: known, unchanged: true}
	case answer.Status != http.StatusOK:
		return reading{err: failed(info.Feed, byStatus(answer.Status), answer, "", now)}
	}
	r, problem := parse(answer, f.Zones[url], now)
	if problem != "" {
		e := unreadable(info.Feed, answer)
		e.Err = fmt.Errorf("%s: %s", url, problem)
		return reading{err: e}
	}
	r.version = validators{ETag: answer.Header.Get("ETag"), LastModified: answer.Header.Get("Last-Modified")}
	return r
}

// parse parses a feed or news sitemap. problem says why a document is neither.
func parse(a *info.Answer, zone *time.Location, now time.Time) (r reading, problem string) {
	options := sitemap.Options{ContentType: a.Header.Get("Content-Type"), MaxBytes: maxFeed, Now: now, Zone: zone,
		Details: true}
	take := func(d info.Draft) {
		if len(r.drafts) < maxItems {
			r.drafts = append(r.drafts, d)
		} else {
			r.beyond++
		}
	}
	if body := bytes.TrimLeft(bytes.TrimPrefix(a.Body, []byte("\ufeff")), " \t\r\n"); len(body) > 0 &&
		body[0] == '{' {
		s, _ := feed.Parse(bytes.NewReader(a.Body), a.URL, options, func(i *feed.Item) {
			take(info.Draft{Plain: true, URL: string(i.Link), Title: string(i.Title), PublishedAt: i.Date,
				Snippet: snippet(i.Summary, i.SummaryText), ThumbnailURL: string(i.Image)})
		})
		r.name(s.Title)
		return r, s.Problem
	}
	s, _ := sitemap.Parse(bytes.NewReader(a.Body), a.URL, options, func(e *sitemap.Entry) {
		if e.Child {
			return
		}
		d := info.Draft{Plain: true, URL: string(e.Loc), Title: string(e.Title), PublishedAt: e.Lastmod,
			Snippet: snippet(e.Summary, e.SummaryText), ThumbnailURL: string(e.Image)}
		if e.News.Present {
			d.Title, d.SourceName = string(e.News.Title), string(e.News.Name)
			if !e.News.Date.IsZero() {
				d.PublishedAt = e.News.Date
			}
		}
		take(d)
	})
	switch {
	case !s.Kind.IsFeed() && !s.IsNews():
		if s.Problem == "" {
			s.Problem = "neither a feed nor a news sitemap"
		}
		return reading{}, s.Problem
	case s.Problem != "" && len(r.drafts) == 0:
		return reading{}, s.Problem
	}
	r.name(s.Title)
	return r, ""
}

func snippet(summary []byte, isText bool) string {
	if isText {
		return string(summary)
	}
	return info.Text(string(summary), info.MaxSnippet)
}

// name sets the feed's name on items without a name of their own.
func (r *reading) name(title string) {
	for i := range r.drafts {
		if r.drafts[i].SourceName == "" {
			r.drafts[i].SourceName = title
		}
	}
}
