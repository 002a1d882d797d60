package sources

import (
	"context"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"

	"github.com/tidwall/gjson"

	"github.com/newsfork/seed-engine/info"
)

// Naver is the news search of Naver Developers, which ends on 2027-06-30, and of its successor NAVER API
// HUB: they differ in the endpoint and the names of the headers
// (developers.naver.com/docs/serviceapi/search/news/news.md,
// api.ncloud-docs.com/docs/naver-api-hub-search-news).
type Naver struct {
	Endpoint     string // NAVER_BASE_URL
	IDHeader     string // NAVER_ID_HEADER
	SecretHeader string // NAVER_SECRET_HEADER
	ID, Secret   string
	Queries      []string // NAVER_QUERIES, one call each and page
	Daily        int      // NAVER_DAILY_LIMIT: calls a day over all search services of the account
}

var _ info.Source = (*Naver)(nil)

// Name implements info.Source.
func (n *Naver) Name() string { return info.Naver }

// Limits implements info.Source: the day begins at midnight in Korea.
func (n *Naver) Limits() []info.Limit { return []info.Limit{{Calls: n.Daily, Zone: info.Korea}} }

// Collect implements info.Source.
func (n *Naver) Collect(ctx context.Context, c info.Client, state []byte, now time.Time) (info.Batch, error) {
	return queries{n.Queries, func(query, position string) (info.Batch, string, error) {
		return n.search(ctx, c, query, position, now)
	}}.collect(c, state)
}

// Replay implements info.Source. A request is a query.
func (n *Naver) Replay(ctx context.Context, c info.Client, query string, now time.Time) (b info.Batch, err error) {
	b, _, err = n.search(ctx, c, query, "", now)
	return b, err
}

// naverPage is the length of a page. maxPages of them begin within the 1,000 positions that the provider allows.
const naverPage = 100

// search reads a page. Its position is the number of its first article.
func (n *Naver) search(ctx context.Context, c info.Client, query, position string, now time.Time) (b info.Batch,
	next string, err error) {
	start := 1
	if position != "" {
		start, _ = strconv.Atoi(position) // our own
	}
	answer, err := c.Do(ctx, info.Call{
		URL: withQuery(n.Endpoint, url.Values{"query": {query}, "display": {strconv.Itoa(naverPage)},
			"start": {strconv.Itoa(start)}, "sort": {"date"}}),
		Header: http.Header{http.CanonicalHeaderKey(n.IDHeader): {n.ID},
			http.CanonicalHeaderKey(n.SecretHeader): {n.Secret}},
		MaxBytes: maxAnswer, Trusted: true,
	})
	if err != nil {
		return b, "", err
	}
	doc := gjson.ParseBytes(answer.Body)
	items := doc.Get("items")
	switch {
	case answer.Status != http.StatusOK:
		return b, "", n.failure(answer, doc, now)
	case !gjson.ValidBytes(answer.Body) || !isList(items):
		return b, "", unreadable(info.Naver, answer)
	}
	var drafts []info.Draft
	items.ForEach(func(_, item gjson.Result) bool {
		link := item.Get("originallink").Str
		if strings.TrimSpace(link) == "" {
			link = item.Get("link").Str
		}
		drafts = append(drafts, info.Draft{
			URL: link, Title: item.Get("title").Str, Snippet: item.Get("description").Str,
			Published: item.Get("pubDate").Str, Zone: "Asia/Seoul",
		})
		return true
	})
	b.Take(info.Naver, now, drafts...)
	if len(drafts) == naverPage {
		next = strconv.Itoa(start + naverPage)
	}
	return b, next, nil
}

// failure classifies an error by the code of Naver or of the HUB's gateway. Codes of three digits mean different
// things in the two.
func (n *Naver) failure(a *info.Answer, doc gjson.Result, now time.Time) error {
	code, gateway := doc.Get("errorCode").String(), doc.Get("error.errorCode").String()
	class := searchClass(a.Status)
	switch {
	case a.Status != http.StatusTooManyRequests:
	case code == "010", gateway == "400":
		class = info.Spent
	}
	if code == "" {
		code = gateway
	}
	return failed(info.Naver, class, a, code, now)
}

// withQuery adds parameters to an endpoint that might have some already.
func withQuery(endpoint string, values url.Values) string {
	separator := "?"
	if strings.Contains(endpoint, "?") {
		separator = "&"
	}
	return endpoint + separator + values.Encode()
}
