package sources

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/newsfork/seed-engine/info"
)

// provider answers as Naver and NewsData.io do, with the numbered articles of a query, newest first, one a minute.
type provider struct {
	newest map[string]int // number of the newest article, by query
	broken map[int]bool   // pages by the position of their first article
}

func (p *provider) at(n int) time.Time { return now.Add(time.Duration(n-3000) * time.Minute) }

func (p *provider) answer(c info.Call) (*info.Answer, error) {
	u, _ := url.Parse(c.URL)
	q := u.Query()
	if query := q.Get("query"); query != "" {
		start, _ := strconv.Atoi(q.Get("start"))
		if p.broken[start] {
			return nil, errors.New("reset")
		}
		var items []string
		for n := p.newest[query] - start + 1; n > 0 && len(items) < 100; n-- {
			items = append(items, fmt.Sprintf(`{"title":"%d","originallink":"https://n.example/%s/%d","pubDate":%q}`,
				n, query, n, p.at(n).Format(time.RFC1123Z)))
		}
		return &info.Answer{Status: 200, Body: []byte(`{"items":[` + strings.Join(items, ",") + `]}`)}, nil
	}
	start, _ := strconv.Atoi(q.Get("page"))
	var items []string
	for n := p.newest[q.Get("q")] - start; n > 0 && len(items) < 10; n-- {
		items = append(items, fmt.Sprintf(`{"title":"%d","link":"https://d.example/%s/%d","pubDate":%q}`, n,
			q.Get("q"), n, p.at(n).Format(time.DateTime)))
	}
	return &info.Answer{Status: 200, Body: fmt.Appendf(nil, `{"status":"success","results":[%s],"nextPage":"%d"}`,
		strings.Join(items, ","), start+10)}, nil
}

// Whatever came since the previous collection is taken, page by page, and what could not be taken is counted.
func TestQueries_Pages(t *testing.T) {
	for name, c := range map[string]struct {
		source info.Source
		page   int
		most   int // articles per query
	}{"naver": {naver("a", "b"), 100, 1000}, "newsdata": {newsData("a", "b"), 10, 100}} {
		p := &provider{newest: map[string]int{"a": 1000, "b": 7}}
		u := &upstream{answer: p.answer}
		var state []byte
		run := func(what string, spare, articles, calls, gaps int) info.Batch {
			t.Helper()
			u.calls, u.spare = nil, spare
			b, err := c.source.Collect(context.Background(), u, state, now)
			if state = b.State; err != nil || len(b.Articles) != articles || len(u.calls) != calls || b.Gaps != gaps {
				t.Errorf("%s, %s: %v, %d articles, %d calls, %d gaps", name, what, err, len(b.Articles), len(u.calls),
					b.Gaps)
			}
			return b
		}
		b := 7
		run("first, without spare calls", 0, c.page+b, 2, 0)
		p.newest["a"] += c.page - 2 // the page reaches what is known
		run("a page", 99, c.page+b, 2, 0)
		p.newest["a"] += 3 * c.page
		got := run("three pages", 99, 4*c.page+b, 5, 0)
		for i, a := range got.Articles[:4*c.page] {
			if a.Title != strconv.Itoa(p.newest["a"]-i) {
				t.Fatalf("%s: article %d is %s", name, i, a.Title)
			}
		}
		p.newest["a"] += 3 * c.page
		run("three pages, and calls for two", 1, 2*c.page+b, 3, 1)
		run("nothing new", 99, c.page+b, 2, 0)
		p.newest["a"] += 2 * c.most
		run("more than a provider gives", 99, c.most+b, 11, 1)
	}
}

// What a failed page had is read in the next collection.
func TestQueries_BrokenPage(t *testing.T) {
	p := &provider{newest: map[string]int{"a": 500}, broken: map[int]bool{}}
	u := &upstream{answer: p.answer}
	first, err := naver("a").Collect(context.Background(), u, nil, now)
	if err != nil {
		t.Fatal(err)
	}
	p.newest["a"], p.broken[101], u.spare = 750, true, 99
	second, err := naver("a").Collect(context.Background(), u, first.State, now)
	if err != nil || len(second.Articles) != 100 || len(second.Failures) != 1 {
		t.Errorf("%v, %d articles, %v", err, len(second.Articles), second.Failures)
	}
	p.broken = nil
	third, err := naver("a").Collect(context.Background(), u, second.State, now)
	if err != nil || len(third.Articles) < 250 || third.Gaps != 0 {
		t.Errorf("%v, %d articles, %d gaps", err, len(third.Articles), third.Gaps)
	}
}

// A silent query delays no other, and queries are asked one after the other as long as they are answered.
func TestQueries_Silent(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var mu sync.Mutex
		at := map[string]time.Duration{}
		began := time.Now()
		page := fixture(t, "naver_page1_ok.json")
		u := &upstream{answer: func(c info.Call) (*info.Answer, error) {
			u, _ := url.Parse(c.URL)
			query := u.Query().Get("query")
			mu.Lock()
			at[query] = time.Since(began)
			mu.Unlock()
			if strings.HasPrefix(query, "silent") {
				time.Sleep(20 * time.Second)
				return nil, errors.New("no answer")
			}
			time.Sleep(100 * time.Millisecond)
			return &info.Answer{Status: 200, Body: page}, nil
		}}
		b, err := naver("silent", "a", "b", "silent 2", "silent 3", "c").Collect(t.Context(), u, nil, now)
		if took := time.Since(began); err != nil || len(b.Articles) != 30 || len(b.Failures) != 3 ||
			took > 30*time.Second {
			t.Errorf("%v, %d articles, %v after %v", err, len(b.Articles), b.Failures, took)
		}
		got := []time.Duration{at["silent"], at["a"], at["b"], at["silent 2"], at["silent 3"], at["c"]}
		const s, ms = time.Second, time.Millisecond
		if want := []time.Duration{0, s, s + 100*ms, s + 200*ms, 2*s + 200*ms, 3*s + 200*ms}; !slices.Equal(got, want) {
			t.Errorf("asked after %v, not %v", got, want)
		}
	})
}
