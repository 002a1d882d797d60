package sources

import (
	"context"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/tidwall/gjson"

	"github.com/newsfork/seed-engine/info"
)

// Seed is the Seed Engine's feed of new URLs (its GET /api/v1/feed).
type Seed struct {
	Endpoint string // SEED_ENGINE_URL, without a path
	Token    string // SEED_ENGINE_TOKEN, "" for a local engine
	// All takes articles that fit no topic as well: of every press release of every site, most do not.
	All bool // SEED_ENGINE_ITEMS
}

var _ info.Source = (*Seed)(nil)

const (
	seedPage  = 200
	seedPages = 25 // per collection; the next one continues
)

// seedTypes are the content types that are articles.
var seedTypes = map[string]bool{"news": true, "press_release": true}

// Name implements info.Source.
func (s *Seed) Name() string { return info.Seed }

// Limits implements info.Source: none.
func (s *Seed) Limits() []info.Limit { return nil }

// Collect implements info.Source. The state is the cursor of the feed.
func (s *Seed) Collect(ctx context.Context, c info.Client, state []byte, now time.Time) (b info.Batch, err error) {
	b.State = state
	for range seedPages {
		more, err := s.page(ctx, c, string(b.State), now, &b)
		switch {
		case err == nil && !more:
			return b, nil
		case err != nil && len(b.State) > 0 && statusOf(err) == http.StatusBadRequest:
			// The engine no longer knows the cursor. Empty, not nil: the next collection starts over.
			b.State = []byte{}
			b.Failures = append(b.Failures, info.Failure{Request: "feed", Err: err, Alone: true})
			return b, nil
		case err != nil && string(b.State) == string(state):
			return b, err
		case err != nil:
			b.Failures = append(b.Failures, info.Failure{Request: "feed", Err: err})
			return b, nil
		}
	}
	return b, nil
}

// Replay implements info.Source. Collections continue where the last one stopped, so there is nothing to repeat.
func (s *Seed) Replay(ctx context.Context, c info.Client, _ string, now time.Time) (info.Batch, error) {
	return info.Batch{}, nil
}

func (s *Seed) page(ctx context.Context, c info.Client, cursor string, now time.Time, b *info.Batch) (more bool,
	err error) {
	query := url.Values{"limit": {strconv.Itoa(seedPage)}}
	if cursor != "" {
		query.Set("cursor", cursor)
	}
	header := http.Header{"Accept": {"application/json"}}
	if s.Token != "" {
		header.Set("Authorization", "Bearer "+s.Token)
	}
	answer, err := c.Do(ctx, info.Call{
		URL:    withQuery(strings.TrimRight(s.Endpoint, "/")+"/api/v1/feed", query),
		Header: header, MaxBytes: maxAnswer, Trusted: true,
	})
	if err != nil {
		return false, err
	}
	doc := gjson.ParseBytes(answer.Body)
	data := doc.Get("data")
	switch {
	case answer.Status != http.StatusOK:
		return false, failed(info.Seed, byStatus(answer.Status), answer, doc.Get("error.code").String(), now)
	case !gjson.ValidBytes(answer.Body) || !isList(data.Get("items")):
		return false, unreadable(info.Seed, answer)
	}
	var drafts []info.Draft
	data.Get("items").ForEach(func(_, item gjson.Result) bool {
		if !seedTypes[item.Get("type").Str] {
			return true
		}
		d := info.Draft{
			Plain: true, URL: item.Get("url").Str, Title: item.Get("title").Str, Snippet: item.Get("snippet").Str,
			ThumbnailURL: item.Get("image").Str, Published: item.Get("lastmod").Str,
		}
		if d.Published == "" {
			d.Published = item.Get("found_at").Str
		}
		drafts = append(drafts, d)
		return true
	})
	var page info.Batch
	page.Take(info.Seed, now, drafts...)
	if !s.All {
		taken := len(page.Articles)
		page.Articles = slices.DeleteFunc(page.Articles, func(a info.Article) bool { return a.Category == "" })
		if n := taken - len(page.Articles); n > 0 {
			page.Drops[info.NoTopic] += n
		}
	}
	b.Add(page)
	next := data.Get("next_cursor").Str
	if next == "" || next == cursor {
		return false, nil
	}
	b.State = []byte(next)
	return data.Get("has_more").Bool(), nil
}
