package sources

import (
	"context"
	"net/http"
	"net/url"
	"regexp"
	"strconv"
	"strings"
	"time"

	"github.com/tidwall/gjson"

	"github.com/newsfork/seed-engine/info"
)

// NewsData is the latest news of NewsData.io (newsdata.io/documentation). A call costs a credit and returns ten
// articles on the free plan.
type NewsData struct {
	Endpoint string // NEWSDATA_BASE_URL
	Key      string
	Queries  []string // NEWSDATA_QUERIES, one call each and page
	Daily    int      // NEWSDATA_DAILY_LIMIT: calls a day
	Window   int      // NEWSDATA_WINDOW_LIMIT: calls in 15 minutes
}

var _ info.Source = (*NewsData)(nil)

// Name implements info.Source.
func (n *NewsData) Name() string { return info.NewsData }

// Limits implements info.Source.
func (n *NewsData) Limits() []info.Limit {
	return []info.Limit{{Calls: n.Daily}, {Calls: n.Window, Length: 15 * time.Minute}}
}

// Collect implements info.Source.
func (n *NewsData) Collect(ctx context.Context, c info.Client, state []byte, now time.Time) (info.Batch, error) {
	return queries{n.Queries, func(query, position string) (info.Batch, string, error) {
		return n.search(ctx, c, query, position, now)
	}}.collect(c, state)
}

// Replay implements info.Source. A request is a query.
func (n *NewsData) Replay(ctx context.Context, c info.Client, query string, now time.Time) (b info.Batch, err error) {
	b, _, err = n.search(ctx, c, query, "", now)
	return b, err
}

// search reads a page. Its position is the provider's.
func (n *NewsData) search(ctx context.Context, c info.Client, query, position string, now time.Time) (b info.Batch,
	next string, err error) {
	parameters := url.Values{"q": {query}, "size": {"10"}}
	if position != "" {
		parameters.Set("page", position)
	}
	answer, err := c.Do(ctx, info.Call{
		URL: withQuery(n.Endpoint, parameters),
		// As a parameter the key would end up in logs.
		Header:   http.Header{"X-Access-Key": {n.Key}},
		MaxBytes: maxAnswer, Trusted: true,
	})
	if err != nil {
		return b, "", err
	}
	doc := gjson.ParseBytes(answer.Body)
	valid := gjson.ValidBytes(answer.Body)
	switch {
	case answer.Status != http.StatusOK, valid && doc.Get("status").Str == "error": // errors can come with 200
		return b, "", n.failure(answer, doc, now)
	case !valid || !isList(doc.Get("results")):
		return b, "", unreadable(info.NewsData, answer)
	}
	var drafts []info.Draft
	doc.Get("results").ForEach(func(_, r gjson.Result) bool {
		drafts = append(drafts, draft(r))
		return true
	})
	b.Take(info.NewsData, now, drafts...)
	b.Left = []int{remaining(answer.Header, "X-Api-Limit-Remaining"),
		remaining(answer.Header, "X-Ratelimit-Remaining")}
	return b, doc.Get("nextPage").String(), nil
}

func draft(r gjson.Result) info.Draft {
	d := info.Draft{
		ID: text(r, "article_id"), URL: text(r, "link"), Title: text(r, "title"), Snippet: text(r, "description"),
		SourceName: text(r, "source_name"), SourceIconURL: text(r, "source_icon"),
		ThumbnailURL: text(r, "image_url"), VideoURL: text(r, "video_url"),
		Published: text(r, "pubDate"), Zone: text(r, "pubDateTZ"),
		Keywords: texts(r, "keywords"), Categories: texts(r, "category"),
		AITag: strings.Join(texts(r, "ai_tag"), ", "),
	}
	if d.Snippet == "" {
		d.Snippet = text(r, "content")
	}
	if d.SourceName == "" {
		d.SourceName = text(r, "source_id")
	}
	return d
}

// placeholder is NewsData.io's text in fields that the plan excludes.
var placeholder = regexp.MustCompile(`(?i)^\s*ONLY AVAILABLE IN .* PLANS?\s*$`)

// text returns a string field, "" for a placeholder or another type.
func text(r gjson.Result, name string) string {
	s := r.Get(name).Str
	if placeholder.MatchString(s) {
		return ""
	}
	return s
}

// texts returns a field with a list of strings. On the free plan several are one string with commas.
func texts(r gjson.Result, name string) (list []string) {
	switch v := r.Get(name); {
	case v.IsArray():
		for _, e := range v.Array() {
			if e.Type == gjson.String && !placeholder.MatchString(e.Str) {
				list = append(list, e.Str)
			}
		}
	case v.Type == gjson.String && !placeholder.MatchString(v.Str):
		for s := range strings.SplitSeq(v.Str, ",") {
			list = append(list, strings.TrimSpace(s))
		}
	}
	return list
}

// failure classifies an error by its code, which is in an object or a list, else by its message.
func (n *NewsData) failure(a *info.Answer, doc gjson.Result, now time.Time) error {
	detail := doc.Get("results")
	if detail.IsArray() {
		detail = detail.Get("0")
	}
	code, message := detail.Get("code").String(), detail.Get("message").String()+doc.Get("message").String()
	class := searchClass(a.Status)
	switch {
	case code == "ApiLimitExceeded", code == "ApiKeyLimitExceeded":
		class = info.Spent
	case code == "RateLimitExceeded", code == "TooManyRequests":
		class = info.Throttled
	case a.Status == http.StatusTooManyRequests && code == "" && strings.Contains(strings.ToLower(message), "credit"):
		class = info.Spent
	case a.Status == http.StatusOK:
		class = info.BadRequest
		switch code {
		case "InternalServerError", "ServerError":
			class = info.Broken
		case "Unauthorized", "AccessDenied", "Forbidden":
			class = info.Refused
		}
	}
	return failed(info.NewsData, class, a, code, now)
}

// remaining returns the calls left, -1 if the header is absent.
func remaining(h http.Header, name string) int {
	if n, err := strconv.Atoi(strings.TrimSpace(h.Get(name))); err == nil && n >= 0 {
		return n
	}
	return -1
}
