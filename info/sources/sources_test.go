package sources

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/newsfork/seed-engine/info"
	"github.com/newsfork/seed-engine/markup"
)

// now is later than the collection of the fixtures.
var now = time.Date(2026, 1, 17, 10, 10, 0, 0, time.UTC)

func fixture(t *testing.T, name string) []byte {
	t.Helper()
	b, err := os.ReadFile(filepath.Join("../testdata", name))
	if err != nil {
		t.Fatal(err)
	}
	return b
}

// upstream is an info.Client that answers from a function and records calls.
type upstream struct {
	answer func(c info.Call) (*info.Answer, error)
	spare  int // calls beside the needed ones

	mu    sync.Mutex
	calls []info.Call
}

func (u *upstream) Do(_ context.Context, c info.Call) (*info.Answer, error) {
	u.mu.Lock()
	u.calls = append(u.calls, c)
	u.mu.Unlock()
	a, err := u.answer(c)
	if a != nil {
		a.URL = c.URL
		if a.Header == nil {
			a.Header = http.Header{}
		}
	}
	return a, err
}

// Spare implements info.Client.
func (u *upstream) Spare(int) bool {
	u.mu.Lock()
	defer u.mu.Unlock()
	u.spare--
	return u.spare >= 0
}

// answers returns an upstream with one answer for all calls.
func answers(status int, body []byte) *upstream {
	return &upstream{answer: func(info.Call) (*info.Answer, error) {
		return &info.Answer{Status: status, Body: body},
			nil
	}}
}

func naver(queries ...string) *Naver {
	return &Naver{
		Endpoint: "https://openapi.naver.com/v1/search/news.json", IDHeader: "X-Naver-Client-Id",
		SecretHeader: "X-Naver-Client-Secret",
		ID:           "id", Secret: "secret", Queries: queries, Daily: 25000,
	}
}

func newsData(queries ...string) *NewsData {
	return &NewsData{Endpoint: "https://newsdata.io/api/1/latest", Key: "key", Queries: queries, Daily: 200,
		Window: 30}
}

func collect(t *testing.T, s info.Source, c info.Client) info.Batch {
	t.Helper()
	b, err := s.Collect(context.Background(), c, nil, now)
	if err != nil || len(b.Failures) > 0 {
		t.Fatal(err, b.Failures)
	}
	return b
}

func byURL(articles []info.Article) map[string]info.Article {
	m := map[string]info.Article{}
	for _, a := range articles {
		m[a.URL] = a
	}
	return m
}

func TestNaver(t *testing.T) {
	u := answers(200, fixture(t, "naver_page1_ok.json"))
	b := collect(t, naver("환경 재활용"), u)
	if len(b.Articles) != 10 || len(b.Drops) != 0 {
		t.Fatalf("%d articles, drops %v", len(b.Articles), b.Drops)
	}
	call, _ := url.Parse(u.calls[0].URL)
	if q := call.Query(); q.Get("query") != "환경 재활용" || q.Get("sort") != "date" || q.Get("display") != "100" ||
		q.Get("start") != "1" {
		t.Errorf("%s", u.calls[0].URL)
	}
	if h := u.calls[0].Header; h.Get("X-Naver-Client-Id") != "id" || h.Get("X-Naver-Client-Secret") != "secret" {
		t.Errorf("%v", h)
	}
	first := b.Articles[0]
	if first.Title != `환경부, 분리배출 표시 기준 전면 개편…"투명 페트병 별도 수거 확대"` || first.Category != info.Environment ||
		!first.PublishedAt.Equal(time.Date(2026, 1, 17, 10, 0, 0, 0, time.UTC)) ||
		first.SourceName != "hani.example" {
		t.Errorf("%+v", first)
	}
	if b.Articles[2].Title != "태양광 REC 가격 3% 하락 → <재생에너지 고시> 개정 영향?" ||
		b.Articles[2].URL != "https://biz.energytimes.example/news/articleView.html?idxno=190233&fbclid=IwAR0test" {
		t.Errorf("%+v", b.Articles[2])
	}
	if sixth := b.Articles[5]; sixth.URL != "https://n.news.naver.com/mnews/article/055/0001220006?sid=102" {
		t.Errorf("without an originallink: %s", sixth.URL)
	}
	if eighth := b.Articles[7]; eighth.URL != "https://WWW.SeoulDaily.example:443/News/2026/0117/77812.html#reply" ||
		eighth.Key != "seouldaily.example/News/2026/0117/77812.html" {
		t.Errorf("%s %s", eighth.URL, eighth.Key)
	}

	second := collect(t, naver("x"), answers(200, fixture(t, "naver_page2_overlap.json")))
	if merged, repeated := info.Merge(append(b.Articles, second.Articles...)); len(merged) != 18 || repeated != 2 {
		t.Errorf("both pages: %d articles, %d repeated", len(merged), repeated)
	}
	if empty := collect(t, naver("x"), answers(200, fixture(t, "naver_empty.json"))); len(empty.Articles) != 0 {
		t.Errorf("%+v", empty)
	}
}

func TestNaver_Hub(t *testing.T) {
	n := naver("x")
	n.Endpoint, n.IDHeader, n.SecretHeader = "https://naverapihub.apigw.ntruss.com/search/v1/news?format=json",
		"X-NCP-APIGW-API-KEY-ID", "X-NCP-APIGW-API-KEY"
	u := answers(200, fixture(t, "naver_page1_ok.json"))
	collect(t, n, u)
	if h := u.calls[0].Header; h.Get("X-NCP-APIGW-API-KEY-ID") != "id" || h.Get("X-NCP-APIGW-API-KEY") != "secret" ||
		!strings.Contains(u.calls[0].URL, "format=json&") {
		t.Errorf("%s %v", u.calls[0].URL, h)
	}
}

func TestNaver_EdgeURLs(t *testing.T) {
	b := collect(t, naver("x"), answers(200, fixture(t, "naver_edge_urls.json")))
	if want := (info.Drops{info.BadURL: 1, info.NoURL: 1}); !reflect.DeepEqual(b.Drops, want) {
		t.Errorf("%v", b.Drops)
	}
	merged, repeated := info.Merge(b.Articles)
	if len(merged) != 9 || repeated != 1 {
		t.Errorf("%d articles, %d repeated", len(merged), repeated)
	}
	ids := map[string]bool{}
	for _, a := range merged {
		ids[a.ID] = true
	}
	if len(ids) != len(merged) || ids["naver_d41d8cd98f00"] {
		t.Errorf("ids %v", ids) // the last one belongs to every empty link
	}
	articles := byURL(merged)
	for _, u := range []string{"https://noscheme.example/a", "http://plain.example/a?x=1&y=2",
		"https://한국신문.example/기사/환경?제목=가나", "https://track.example/n?idxno=8"} {
		if _, ok := articles[u]; !ok {
			t.Errorf("%s is missing", u)
		}
	}
}

func TestNewsData(t *testing.T) {
	var said map[string]string
	if err := json.Unmarshal(fixture(t, "newsdata_headers_ok.json"), &said); err != nil {
		t.Fatal(err)
	}
	header := http.Header{}
	for name, v := range said {
		header.Set(name, v)
	}
	u := &upstream{answer: func(info.Call) (*info.Answer, error) {
		return &info.Answer{Status: 200, Body: fixture(t, "newsdata_page1_free.json"), Header: header}, nil
	}}
	b := collect(t, newsData("climate"), u)
	if len(b.Articles) != 10 || len(b.Drops) != 0 || !slices.Equal(b.Left, []int{187, 29}) {
		t.Fatalf("%d articles, drops %v, left %v", len(b.Articles), b.Drops, b.Left)
	}
	if u.calls[0].Header.Get("X-ACCESS-KEY") != "key" || strings.Contains(u.calls[0].URL, "key") {
		t.Errorf("%s %v", u.calls[0].URL, u.calls[0].Header)
	}
	articles := byURL(b.Articles)
	for link, want := range map[string]info.Category{
		"https://www.koreapress.example/news/2026/01/17/landfill-ban": info.Environment,
		"https://weather.example/rain":                                "", // said, again, every
		"https://weather.example/port":                                "",
		"https://technews.example/2026/01/ai-recycling":               info.AI,
		"https://sci.example/perovskite":                              info.Energy,
		"https://life.example/zero-waste":                             info.Environment,
		"https://www.globalwire.example/eu-cbam":                      info.Environment,
	} {
		if got := articles[link].Category; got != want {
			t.Errorf("%s: %q (%v)", link, got, articles[link].Evidence)
		}
	}
	for _, a := range b.Articles {
		if a.AITag != "" || strings.Contains(strings.ToUpper(a.Snippet), "ONLY AVAILABLE") {
			t.Errorf("a placeholder in %+v", a)
		}
	}
	cbam := articles["https://www.globalwire.example/eu-cbam"]
	if cbam.Snippet != "Steel makers face a carbon levy. Read more" ||
		cbam.ThumbnailURL != "https://cdn.globalwire.example/x.jpg" || cbam.VideoURL == "" {
		t.Errorf("%+v", cbam)
	}
	model := articles["https://technews.example/2026/01/ai-recycling"]
	if !slices.Equal(model.Keywords, []string{"ai", "recycling, ml"}) ||
		model.Snippet != "Researchers & engineers said “the model reads labels”." || model.SourceIconURL != "" {
		t.Errorf("%+v", model)
	}
	if first := b.Articles[0]; first.ID != "9f3c1a77d2e4b6508c1d2e3f4b5b6e10" || first.SourceName != "Korea Press" ||
		first.SourceIconURL == "" {
		t.Errorf("%+v", first)
	}

	// The same two stories from Naver, spelled differently.
	other := collect(t, naver("x"), answers(200, fixture(t, "naver_cross_source_dup.json")))
	merged, repeated := info.Merge(append(other.Articles, b.Articles...))
	if len(merged) != 10 || repeated != 2 {
		t.Fatalf("%d articles, %d repeated", len(merged), repeated)
	}
	for i := range 2 {
		if merged[i].ID != other.Articles[i].ID || merged[i].ThumbnailURL == "" {
			t.Errorf("%+v", merged[i])
		}
	}
	if empty := collect(t, newsData("x"), answers(200, fixture(t, "newsdata_empty.json"))); len(empty.Articles) != 0 {
		t.Errorf("%+v", empty)
	}
}

// Fields that are placeholders or strings on the free plan are lists on the paid one.
func TestNewsData_PaidPlan(t *testing.T) {
	b := collect(t, newsData("x"), answers(200, []byte(`{"status":"success","results":[
{"article_id":"a1","link":"https://paid.example/1","title":"Quarterly results","pubDate":"2026-01-17 03:00:00","pubDateTZ":"UTC",
"ai_tag":["renewable energy","markets"],"keywords":["solar","wind"],"category":["business"],"content":"All of it."},
{"article_id":"a2","link":"https://paid.example/2","title":"More","pubDate":"2026-01-17 03:00:00","pubDateTZ":"UTC","ai_tag":7,"keywords":{"a":1},"category":null}]}`)))
	if len(b.Articles) != 2 {
		t.Fatalf("%+v", b)
	}
	first, second := b.Articles[0], b.Articles[1]
	if first.AITag != "renewable energy, markets" || !slices.Equal(first.Keywords, []string{"solar", "wind"}) ||
		first.Category != info.Energy || first.Snippet != "All of it." {
		t.Errorf("%+v", first)
	}
	if second.AITag != "" || second.Keywords != nil || second.Category != "" {
		t.Errorf("%+v", second)
	}
}

func TestNewsData_Edges(t *testing.T) {
	b := collect(t, newsData("x"), answers(200, fixture(t, "newsdata_edge.json")))
	if b.Drops[info.NoTitle] != 1 || b.Drops[info.NoURL] != 1 || b.Drops[info.BadDate] < 2 ||
		b.Drops[info.NoDate] < 2 {
		t.Errorf("%v", b.Drops)
	}
	articles := byURL(b.Articles)
	if a := articles["https://edge.example/nd/d5"]; !a.PublishedAt.Equal(time.Date(2026, 1, 17, 3, 0, 0, 0,
		time.UTC)) {
		t.Errorf("pubDateTZ: %s", a.PublishedAt)
	}
	if a := articles["https://edge.example/nd/d6"]; !a.PublishedAt.Equal(time.Date(2026, 1, 17, 3, 0, 9, 0,
		time.UTC)) {
		t.Errorf("ISO: %s", a.PublishedAt)
	}
	if a := articles["https://edge.example/nd/types"]; !slices.Equal(a.Keywords, []string{"climate", "energy"}) {
		t.Errorf("%q", a.Keywords)
	}
	if a := articles["https://edge.example/nd/noid"]; !strings.HasPrefix(a.ID, "newsdata_") {
		t.Errorf("%q", a.ID)
	}
	if a := articles["https://edge.example/nd/img"]; a.ThumbnailURL != "" ||
		a.SourceIconURL != "http://icons.example/a.ico" {
		t.Errorf("%+v", a)
	}
	plans := 0
	for _, a := range b.Articles {
		if strings.HasPrefix(strings.ToUpper(a.Snippet), "ONLY AVAILABLE IN") {
			t.Errorf("a placeholder in %+v", a)
		}
		if strings.Contains(strings.ToLower(a.Snippet), "paid plans remain") {
			plans++ // a sentence about plans is not a placeholder
		}
	}
	if plans != 1 {
		t.Errorf("%d snippets mention plans", plans)
	}
	merged, _ := info.Merge(b.Articles)
	ids, keys := map[string]bool{}, map[string]bool{}
	for _, a := range merged {
		if ids[a.ID] || keys[a.Key] {
			t.Errorf("%s %s is there twice", a.ID, a.Key)
		}
		ids[a.ID], keys[a.Key] = true, true
	}
}

func TestSources_Failures(t *testing.T) {
	page := []byte("<html><body>Bad Gateway</body></html>")
	for _, c := range []struct {
		source info.Source
		status int
		file   string
		body   []byte
		want   info.Class
		code   string
	}{
		{naver("x"), 400, "naver_error_400_se01.json", nil, info.BadRequest, "SE01"},
		{naver("x"), 400, "naver_error_400_se02.json", nil, info.BadRequest, "SE02"},
		{naver("x"), 400, "naver_error_400_se04.json", nil, info.BadRequest, "SE04"},
		{naver("x"), 401, "naver_error_401.json", nil, info.Refused, "024"},
		{naver("x"), 401, "naver_error_401_scope.json", nil, info.Refused, "024"},
		{naver("x"), 403, "naver_error_401_scope.json", nil, info.Refused, "024"},
		{naver("x"), 404, "naver_error_404_se05.json", nil, info.Refused, "SE05"},
		{naver("x"), 429, "naver_error_429_quota_010.json", nil, info.Spent, "010"},
		{naver("x"), 429, "naver_error_429_rate_012.json", nil, info.Throttled, "012"},
		{naver("x"), 500, "naver_error_500_se99.json", nil, info.Broken, "SE99"},
		{naver("x"), 500, "", page, info.Broken, ""},
		{naver("x"), 200, "", page, info.Broken, ""},
		{naver("x"), 200, "", fixture(t, "naver_page1_ok.json")[:900], info.Broken, ""},
		{naver("x"), 401, "naver_hub_error_401.json", nil, info.Refused, "200"},
		{naver("x"), 429, "naver_hub_error_429_throttle.json", nil, info.Throttled, "410"},
		{naver("x"), 429, "", []byte(`{"error":{"errorCode":"400","message":"Quota Exceeded"}}`), info.Spent, "400"},
		{naver("x"), 429, "", page, info.Throttled, ""},
		{newsData("x"), 400, "newsdata_error_400.json", nil, info.BadRequest, "ParameterMissing"},
		{newsData("x"), 401, "newsdata_error_401.json", nil, info.Refused, "Unauthorized"},
		{newsData("x"), 403, "newsdata_error_403.json", nil, info.Refused, "AccessDenied"},
		{newsData("x"), 422, "newsdata_error_422_object.json", nil, info.BadRequest, "UnsupportedQuery"},
		{newsData("x"), 422, "", []byte(`{"status":"error","results":[{"message":"no","code":"UnsupportedQuery"}]}`),
			info.BadRequest, "UnsupportedQuery"},
		{newsData("x"), 429, "newsdata_error_429_quota.json", nil, info.Spent, "ApiLimitExceeded"},
		{newsData("x"), 429, "newsdata_error_429_transient.json", nil, info.Throttled, "RateLimitExceeded"},
		{newsData("x"), 429, "", []byte(
			`{"status":"error","message":"You have exceeded your assigned API credits."}`), info.Spent, ""},
		{newsData("x"), 429, "", []byte(`{"status":"error","message":"Slow down."}`), info.Throttled, ""},
		{newsData("x"), 500, "newsdata_error_500.json", nil, info.Broken, "InternalServerError"},
		{newsData("x"), 200, "newsdata_error_200_in_band.json", nil, info.BadRequest, "UnsupportedFilter"},
		{newsData("x"), 200, "", page, info.Broken, ""},
	} {
		body := c.body
		if c.file != "" {
			body = fixture(t, c.file)
		}
		u := answers(c.status, body)
		_, err := c.source.Collect(context.Background(), u, nil, now)
		var e *info.UpstreamError
		if info.ClassOf(err) != c.want || !asUpstream(err, &e) || e.Code != c.code || e.Status != c.status {
			t.Errorf("%d %s%.60s: %v, not %s %s", c.status, c.file, c.body, err, c.want, c.code)
		}
		if len(u.calls) != 1 || strings.Contains(err.Error(), "secret") {
			t.Errorf("%d calls, %v", len(u.calls), err)
		}
	}
}

func asUpstream(err error, e **info.UpstreamError) (ok bool) {
	*e, ok = err.(*info.UpstreamError)
	return ok
}

// A failed query does not affect the others, but a source that refuses is not called repeatedly.
func TestQueries_OneFails(t *testing.T) {
	page := fixture(t, "naver_page1_ok.json")
	flaky := &upstream{answer: func(c info.Call) (*info.Answer, error) {
		if strings.Contains(c.URL, "query=b") {
			return &info.Answer{Status: 500}, nil
		}
		return &info.Answer{Status: 200, Body: page}, nil
	}}
	b, err := naver("a", "b", "c").Collect(context.Background(), flaky, nil, now)
	if err != nil || len(b.Articles) != 20 || len(b.Failures) != 1 || b.Failures[0].Request != "b" ||
		len(flaky.calls) != 3 {
		t.Errorf("%v %d %v", err, len(b.Articles), b.Failures)
	}
	spent := answers(429, fixture(t, "naver_error_429_quota_010.json"))
	if _, err := naver("a", "b", "c").Collect(context.Background(), spent, nil,
		now); info.ClassOf(err) != info.Spent || len(spent.calls) != 1 {
		t.Errorf("%v after %d calls", err, len(spent.calls))
	}
	late := &upstream{answer: func(info.Call) (*info.Answer, error) {
		return &info.Answer{Status: 429, Header: http.Header{"Retry-After": {"120"}}}, nil
	}}
	_, err = newsData("x").Collect(context.Background(), late, nil, now)
	if e, ok := err.(*info.UpstreamError); !ok || e.RetryAfter != 2*time.Minute {
		t.Errorf("%v", err)
	}
}

// One bad query must not silence the others: neither those after it nor, as the first one, the whole source.
func TestQueries_BadQuery(t *testing.T) {
	bad := map[string][]byte{"naver": fixture(t, "naver_error_400_se01.json"),
		"newsdata": fixture(t, "newsdata_error_422_object.json")}
	page := map[string][]byte{"naver": fixture(t, "naver_page1_ok.json"),
		"newsdata": fixture(t, "newsdata_page1_free.json")}
	for _, position := range []string{"a", "b", "c"} {
		for name, source := range map[string]info.Source{"naver": naver("a", "b", "c"),
			"newsdata": newsData("a", "b", "c")} {
			u := &upstream{answer: func(c info.Call) (*info.Answer, error) {
				if strings.Contains(c.URL, "query="+position) || strings.Contains(c.URL, "q="+position) {
					return &info.Answer{Status: map[string]int{"naver": 400, "newsdata": 422}[name], Body: bad[name]},
						nil
				}
				return &info.Answer{Status: 200, Body: page[name]}, nil
			}}
			b, err := source.Collect(context.Background(), u, nil, now)
			if err != nil || len(b.Articles) == 0 || len(b.Failures) != 1 || b.Failures[0].Request != position ||
				len(u.calls) != 3 {
				t.Errorf("%s, bad query %s: %v, %d articles, failures %v, %d calls", name, position, err,
					len(b.Articles), b.Failures, len(u.calls))
			}
		}
	}
	refused := answers(401, fixture(t, "naver_error_401.json"))
	if _, err := naver("a", "b").Collect(context.Background(), refused, nil, now); len(refused.calls) != 1 ||
		info.ClassOf(err) != info.Refused {
		t.Errorf("a wrong key: %v after %d calls", err, len(refused.calls))
	}
}

const newsSitemap = `<urlset xmlns="http://www.sitemaps.org/schemas/sitemap/0.9" xmlns:news="http://www.google.com/schemas/sitemap-news/0.9">
<url><loc>https://b.example/1</loc><news:news><news:publication><news:name>The B</news:name></news:publication>
<news:publication_date>2026-01-17T08:00:00Z</news:publication_date><news:title>Solar &amp; wind</news:title></news:news></url></urlset>`

func TestFeeds(t *testing.T) {
	docs := map[string]string{
		"https://a.example/rss": `<rss><channel><title>The A</title><item><title>AI &amp;amp; law</title><link>/1</link><description>&lt;p&gt;1 &amp;lt; 2&lt;/p&gt;</description><enclosure type="image/png" url="/i.png"/><pubDate>Sat, 17 Jan 2026 08:00:00 GMT</pubDate></item>
			<item><title>No date</title><link>/2</link></item></channel></rss>`,
		"https://b.example/news.xml": newsSitemap,
		"https://c.example/feed.json": `{"version":"https://jsonfeed.org/version/1.1","title":"The C",` +
			`"items":[{"id":"1","url":"/x","title":"3 < 5","date_published":"2026-01-17T07:00:00Z"}]}`,
		"https://d.example/":        "<!DOCTYPE html><html>",
		"https://e.example/map.xml": "<urlset><url><loc>https://e.example/1</loc></url></urlset>",
	}
	f := &Feeds{}
	for u := range docs {
		f.URLs = append(f.URLs, u)
	}
	f.URLs = append(f.URLs, "https://gone.example/")
	slices.Sort(f.URLs)
	u := &upstream{answer: func(c info.Call) (*info.Answer, error) {
		doc, ok := docs[c.URL]
		switch {
		case !ok:
			return &info.Answer{Status: 404}, nil
		case c.Header.Get("If-None-Match") == `"v1"`:
			return &info.Answer{Status: 304}, nil
		}
		return &info.Answer{Status: 200, Body: []byte(doc), Header: http.Header{"Etag": {`"v1"`}}}, nil
	}}
	b, err := f.Collect(context.Background(), u, nil, now)
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, a := range b.Articles {
		got = append(got, fmt.Sprintf("%s|%s|%s|%s", a.URL, a.Title, a.SourceName, a.PublishedAt.Format("15:04")))
	}
	want := []string{"https://a.example/1|AI & law|The A|08:00", "https://b.example/1|Solar & wind|The B|08:00",
		"https://c.example/x|3 < 5|The C|07:00"}
	if !slices.Equal(got, want) {
		t.Errorf("%q", got)
	}
	if a := b.Articles[0]; a.Snippet != "1 < 2" || a.ThumbnailURL != "https://a.example/i.png" {
		t.Errorf("%+v", a)
	}
	if b.Drops[info.NoDate] != 1 || len(b.Failures) != 3 {
		t.Errorf("%v %v", b.Drops, b.Failures)
	}

	again, err := f.Collect(context.Background(), u, b.State, now)
	if err != nil || len(again.Articles) != 0 || string(again.State) != string(b.State) {
		t.Errorf("nothing new: %v, %d articles, %s", err, len(again.Articles), again.State)
	}
	if _, err := (&Feeds{URLs: []string{"https://gone.example/"}}).Collect(context.Background(), u, nil,
		now); info.ClassOf(err) != info.Refused {
		t.Errorf("%v", err)
	}
	one, err := f.Replay(context.Background(), u, "https://a.example/rss", now)
	if err != nil || len(one.Articles) != 1 {
		t.Errorf("%v %d", err, len(one.Articles))
	}
}

// A Korean feed without zones, read in the morning: its articles are of this morning and stand in the feed's order.
func TestFeeds_Zones(t *testing.T) {
	seoul, _ := markup.Zone("Asia/Seoul")
	rss := "<rss><channel>"
	for i, at := range []string{"2026-01-17 19:08:00", "Sat, 17 Jan 2026 19:05:00", "2026-01-17T19:00:00+09:00",
		"2026-01-17 10:00:00 GMT", "2026-01-17 18:00"} {
		rss += fmt.Sprintf("<item><title>%d</title><link>https://a.kr/%d</link><pubDate>%s</pubDate></item>", i, i, at)
	}
	rss += "</channel></rss>"
	for url, doc := range map[string]string{"https://a.kr/rss": rss,
		"https://a.kr/feed.json": `{"version":"https://jsonfeed.org/version/1","items":[{"url":"https://a.kr/1",` +
			`"title":"1","date_published":"2026-01-17T19:08:00"}]}`,
		"https://a.kr/news.xml": strings.ReplaceAll(newsSitemap, "T08:00:00Z", " 19:08:00")} {
		f := &Feeds{URLs: []string{url}, Zones: map[string]*time.Location{url: seoul}}
		b := collect(t, f, answers(200, []byte(doc)))
		want := []string{"10:08:00", "10:05:00", "10:00:00", "10:00:00", "09:00:00"}[:len(b.Articles)]
		var got []string
		for _, a := range b.Articles {
			got = append(got, a.PublishedAt.Format(time.TimeOnly))
		}
		if !slices.Equal(got, want) || len(got) == 0 || b.Drops[info.Clamped] != 0 {
			t.Errorf("%s: %v, not %v; %v", url, got, want, b.Drops)
		}
	}
}

func TestFeeds_Limit(t *testing.T) {
	var items strings.Builder
	for i := range maxItems + 7 {
		fmt.Fprintf(&items, "<item><title>%d</title><link>https://a.example/%d</link><pubDate>Sat, 17 Jan 2026 "+
			"08:00:00 GMT</pubDate></item>", i, i)
	}
	f := &Feeds{URLs: []string{"https://a.example/rss"}}
	b := collect(t, f, answers(200, []byte("<rss><channel>"+items.String()+"</channel></rss>")))
	if len(b.Articles) != maxItems || b.Drops[overLimit] != 7 {
		t.Errorf("%d, %v", len(b.Articles), b.Drops)
	}
}

func TestSeed(t *testing.T) {
	pages := map[string]string{
		"": `{"success":true,"data":{"items":[
			{"url":"https://a.example/1","title":"AI & law","type":"news","lastmod":"2026-01-17T08:00:00Z","found_at":"2026-01-17T09:00:00Z","snippet":"s","image":"https://a.example/i.jpg"},
			{"url":"https://a.example/2","title":"Form","type":"form","lastmod":null,"found_at":"2026-01-17T09:00:00Z"}],"next_cursor":"c1","has_more":true}}`,
		"c1": `{"success":true,"data":{"items":[{"url":"https://a.example/3","title":"Release",` +
			`"type":"press_release","lastmod":null,"found_at":"2026-01-17T09:30:00Z","snippet":null,"image":null}],` +
			`"next_cursor":"c2","has_more":false}}`,
		"c2": `{"success":true,"data":{"items":[],"next_cursor":"c2","has_more":false}}`,
	}
	u := &upstream{answer: func(c info.Call) (*info.Answer, error) {
		at, _ := url.Parse(c.URL)
		page, ok := pages[at.Query().Get("cursor")]
		if !ok {
			return &info.Answer{Status: 400, Body: []byte(`{"success":false,"error":{"code":"validation_error"}}`)},
				nil
		}
		return &info.Answer{Status: 200, Body: []byte(page)}, nil
	}}
	s := &Seed{Endpoint: "https://engine.example/", Token: "t", All: true}
	b := collect(t, s, u)
	if len(b.Articles) != 2 || string(b.State) != "c2" || b.Articles[0].Snippet != "s" ||
		b.Articles[0].ThumbnailURL != "https://a.example/i.jpg" ||
		!b.Articles[1].PublishedAt.Equal(time.Date(2026, 1, 17, 9, 30, 0, 0, time.UTC)) {
		t.Errorf("%s %+v", b.State, b.Articles)
	}
	if u.calls[0].Header.Get("Authorization") != "Bearer t" ||
		!strings.HasPrefix(u.calls[0].URL, "https://engine.example/api/v1/feed?") {
		t.Errorf("%+v", u.calls[0])
	}
	if b, err := s.Collect(context.Background(), u, []byte("c2"), now); err != nil || len(b.Articles) != 0 ||
		string(b.State) != "c2" {
		t.Errorf("%v %s", err, b.State)
	}
	if b, err := s.Collect(context.Background(), u, []byte("expired"), now); err != nil || b.State == nil ||
		len(b.State) > 0 || len(b.Failures) != 1 {
		t.Errorf("%v %s", err, b.State)
	}
	// By default only articles on the topics are taken.
	topics := &Seed{Endpoint: "https://engine.example/", Token: "t"}
	if b := collect(t, topics, u); len(b.Articles) != 1 || b.Articles[0].Category != info.AI ||
		b.Drops[info.NoTopic] != 1 || string(b.State) != "c2" {
		t.Errorf("%s %v %+v", b.State, b.Drops, b.Articles)
	}
	// Pages before a failure are kept, and the next collection continues after them.
	delete(pages, "c1")
	pages["c1"] = "<html>"
	if b, err := s.Collect(context.Background(), u, nil, now); err != nil || len(b.Articles) != 1 ||
		string(b.State) != "c1" || len(b.Failures) != 1 {
		t.Errorf("%v %s %d", err, b.State, len(b.Articles))
	}
}
