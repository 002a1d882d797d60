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

	"github.com/newsfork/seed-engine/feed"
	"github.com/newsfork/seed-engine/info"
	"github.com/newsfork/seed-engine/sitemap"
)

// Feeds are the RSS, Atom and JSON feeds and news sitemaps of a list. Each is asked for with the validators
// of its last answer, so that one without news costs no more than a request.
type Feeds struct {
	URLs []string // FEEDS
}

var _ info.Source = (*Feeds)(nil)

const (
	feedsAtOnce = 6       // the connections that the platform opens for one event
	maxFeed     = 8 << 20 // bytes
	maxItems    = 500     // of one feed and collection, its first ones: feeds begin with the newest
)

// overLimit counts the items of a feed beyond maxItems.
const overLimit info.Drop = "over_limit"

// validators are what a feed said of its version (RFC 9110, 8.8).
type validators struct {
	ETag         string `json:"etag,omitempty"`
	LastModified string `json:"last_modified,omitempty"`
	// NotBefore is until when the feed wants to be left alone (RFC 9110, 10.2.3), in seconds since 1970.
	NotBefore int64 `json:"not_before,omitempty"`
}

// rests reports how long a feed still wants to be left alone.
func (v validators) rests(now time.Time) time.Duration { return time.Unix(v.NotBefore, 0).Sub(now) }

// leave notes when a feed that failed wants to be asked again, and keeps what was known of its version.
func (v validators) leave(err error, now time.Time) validators {
	var e *info.UpstreamError
	if errors.As(err, &e) && e.RetryAfter > 0 {
		v.NotBefore = now.Add(e.RetryAfter).Unix()
	}
	return v
}

var errLeftAlone = errors.New("it asked to be left alone for longer")

// Name implements info.Source.
func (f *Feeds) Name() string { return info.Feed }

// Limits implements info.Source: there are none.
func (f *Feeds) Limits() []info.Limit { return nil }

// Collect implements info.Source. The state holds the validators by URL. Each feed has a host of its own to care for:
// one that wants to be left alone does not keep the others from being asked.
func (f *Feeds) Collect(ctx context.Context, c info.Client, state []byte, now time.Time) (info.Batch, error) {
	seen := map[string]validators{}
	if len(state) > 0 {
		_ = json.Unmarshal(state, &seen) // what cannot be read is asked for again
	}
	answers := make([]reading, len(f.URLs))
	var running sync.WaitGroup
	turns := make(chan struct{}, feedsAtOnce)
	for _, i := range rand.Perm(len(f.URLs)) { // so that it is not always the same for which there is no time left
		url := f.URLs[i]
		running.Add(1)
		turns <- struct{}{}
		go func() {
			defer func() { <-turns; running.Done() }()
			defer func() { // a panic outside of the event's own goroutine would end the program
				if thrown := recover(); thrown != nil {
					answers[i].err = fmt.Errorf("panic: %v", thrown)
				}
			}()
			answers[i] = read(ctx, c, url, seen[url], now)
		}()
	}
	running.Wait()

	var b info.Batch
	versions := map[string]validators{}
	for i, url := range f.URLs {
		a := answers[i]
		versions[url] = a.version
		if a.err != nil {
			versions[url] = seen[url].leave(a.err, now)
			b.Failures = append(b.Failures, info.Failure{Request: url, Err: a.err, Alone: true})
			continue
		}
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

// soonest is the error of the feed that may be asked again first.
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

// Replay implements info.Source; a request is the URL of a feed.
func (f *Feeds) Replay(ctx context.Context, c info.Client, url string, now time.Time) (b info.Batch, err error) {
	a := read(ctx, c, url, validators{}, now)
	if a.err == nil {
		b.Take(info.Feed, now, a.drafts...)
	}
	return b, a.err
}

// reading is what came of asking for one feed.
type reading struct {
	drafts  []info.Draft
	beyond  int // items not read
	version validators
	err     error
}

func read(ctx context.Context, c info.Client, url string, known validators, now time.Time) reading {
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
		known.NotBefore = 0
		return reading{version: known}
	case answer.Status != http.StatusOK:
		return reading{err: failed(info.Feed, byStatus(answer.Status), answer, "", now)}
	}
	r, problem := parse(answer, now)
	if problem != "" {
		e := unreadable(info.Feed, answer)
		e.Err = fmt.Errorf("%s: %s", url, problem)
		return reading{err: e}
	}
	r.version = validators{ETag: answer.Header.Get("ETag"), LastModified: answer.Header.Get("Last-Modified")}
	return r
}

// parse reads a feed or a news sitemap. problem says why a document is neither.
func parse(a *info.Answer, now time.Time) (r reading, problem string) {
	options := sitemap.Options{ContentType: a.Header.Get("Content-Type"), MaxBytes: maxFeed, Now: now, Details: true}
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

// name gives the items the name of their feed where they have none of their own.
func (r *reading) name(title string) {
	for i := range r.drafts {
		if r.drafts[i].SourceName == "" {
			r.drafts[i].SourceName = title
		}
	}
}
