package collector

import (
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/newsfork/seed-engine/fetch"
)

func TestOriginalOf(t *testing.T) {
	const self = "https://www.copy.net/story"
	page := func(content string, links ...string) *fetch.Answer {
		return &fetch.Answer{URL: self, Status: 200, Header: http.Header{"Link": links}, Content: []byte(content)}
	}
	for name, c := range map[string]struct {
		answer *fetch.Answer
		want   string
	}{
		"nothing": {page("<html><head></head>"), ""},
		"header":  {page("", `<https://news.example.com/x>; rel="canonical"`), "example.com"},
		"second header": {page("", `</style.css>; rel=preload`, `<https://example.com/>; rel=canonical`),
			"example.com"},
		"second link": {page("", `</a,b>; rel=preload; as="x", <https://example.com/>; type="a/b"; rel="canonical"`),
			"example.com"},
		"several relations": {page("", `<https://example.com/>; REL="Shortlink Canonical"`), "example.com"},
		"other relations":   {page("", `<https://example.com/>; rel=alternate; title="canonical"`), ""},
		"broken header":     {page("", "<", "<>", "rel=canonical", "<https://example.com/>", "<<<;;;=,rel"), ""},
		"relative header":   {page("", "</story>; rel=canonical"), "copy.net"},
		"element":           {page(`<head><link href="https://example.com/x" rel=CANONICAL></head>`), "example.com"},
		"relative element":  {page(`<link rel="canonical" href="/story">`), "copy.net"},
		"in the body":       {page(`<head></head><body><link rel="canonical" href="https://example.com/">`), ""},
		"in a script":       {page(`<script>'<link rel="canonical" href="https://example.com/">'</script>`), ""},
		"no URL":            {page(`<link rel="canonical" href="mailto:a@example.com">`), ""},
		"header before element": {page(`<link rel="canonical" href="https://else.org/">`,
			"<https://example.com/>; rel=canonical"), "example.com"},
		"missing": {&fetch.Answer{URL: self, Status: 404, Content: []byte(
			`<link rel="canonical" href="https://example.com/">`)}, ""},
		"redirect": {&fetch.Answer{URL: "https://example.com/story", Status: 404,
			Hops: []fetch.Hop{{URL: self, Status: 302}}}, "example.com"},
		"redirect within": {&fetch.Answer{URL: "https://copy.net/story", Status: 200,
			Hops: []fetch.Hop{{URL: self, Status: 301}}}, ""},
	} {
		if got := originalOf(c.answer); got != c.want {
			t.Errorf("%s: %q, want %q", name, got, c.want)
		}
	}
}

// A hostile header costs in proportion to its length.
func TestOriginalOf_LongHeader(t *testing.T) {
	began := time.Now()
	for _, s := range []string{"<", "<>;", ";", ",", "<a>; rel="} {
		canonicalHeader([]string{strings.Repeat(s, 1<<20/len(s))})
	}
	if took := time.Since(began); took > 5*time.Second {
		t.Errorf("took %v", took)
	}
}
