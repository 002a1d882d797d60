package collector_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/newsfork/seed-engine/collector"
	"github.com/newsfork/seed-engine/contract"
	"github.com/newsfork/seed-engine/fetch/fetchtest"
)

// yields counts the pauses in which timers fire and other goroutines run, and does something in them.
type yields struct {
	clock
	count int
	do    func(n int)
}

func (c *yields) Sleep(ctx context.Context, d time.Duration) error {
	if d <= time.Millisecond {
		c.count++
		if c.do != nil {
			c.do(c.count)
		}
	}
	return c.clock.Sleep(ctx, d)
}

// long is a site with a sitemap of n URLs.
func long(n int) map[string]fetchtest.Page {
	pages := healthy()
	var b strings.Builder
	b.WriteString("<urlset>")
	for i := range n {
		fmt.Fprintf(&b, "<url><loc>https://example.com/news/story-%d</loc></url>", i)
	}
	b.WriteString("</urlset>")
	pages["https://example.com/sitemap.xml"] = fetchtest.Page{Body: b.String(),
		Header: map[string]string{"Content-Type": "application/xml"}}
	return pages
}

// TestPace_LongWorkRests: the URLs of a sitemap are analysed with pauses, so that leases are renewed and
// timeouts come meanwhile; so are those of a raw file that is merged.
func TestPace_LongWorkRests(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(long(40_000), nil)
		c := &yields{}
		w.Clock = c
		if _, err := w.NewBatch(nil).Visit("example.com").Collect(t.Context(), message(1), false); err != nil {
			t.Fatal(err)
		}
		if c.count < 8 || c.count > 40 {
			t.Errorf("%d pauses while 40,000 URLs were analysed", c.count)
		}
		c.count = 0
		m := message(2)
		for i := range 30_000 {
			m.URLs = append(m.URLs, contract.URL{URL: fmt.Sprintf("https://example.com/press/%d", i)})
		}
		if _, err := w.NewBatch(nil).Visit("example.com").Collect(t.Context(), m, false); err != nil {
			t.Fatal(err)
		}
		if c.count < 5 {
			t.Errorf("%d pauses while 30,000 URLs were merged", c.count)
		}
	})
}

// TestPace_LongWorkEnds: when the time for a domain is over, or its lease is lost, the analysis of a sitemap
// ends with it.
func TestPace_LongWorkEnds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(long(40_000), nil)
		w.Clock = &yields{do: func(n int) {
			if n == 3 {
				time.Sleep(w.Limits.DomainDeadline)
			}
		}}
		doc, err := w.NewBatch(nil).Visit("example.com").Collect(t.Context(), message(1), false)
		if err != nil {
			t.Fatal(err)
		}
		d, _ := found(t, doc)
		if !doc.Partial || d.Stats.Analyzed < 1_000 || d.Stats.Analyzed > 30_000 {
			t.Errorf("partial %v, %d URLs analysed", doc.Partial, d.Stats.Analyzed)
		}
		if len(d.Errors) != 1 || d.Errors[0].URL != "https://example.com/sitemap.xml" ||
			d.Errors[0].ErrorType != "timeout_error" {
			t.Errorf("%+v", d.Errors)
		}
	})
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(long(40_000), nil)
		ctx, cancel := context.WithCancel(t.Context())
		c := &yields{do: func(n int) {
			if n == 3 {
				cancel()
			}
		}}
		w.Clock = c
		if _, err := w.NewBatch(nil).Visit("example.com").Collect(ctx, message(1), false); err == nil {
			t.Error("a domain was collected whose lease was lost")
		}
		if c.count > 4 {
			t.Errorf("%d pauses, of which the third said that it is over", c.count)
		}
	})
}

// TestPace_SlowRules: rules made to be slow cost a domain a bounded time; of the URLs beyond it the document
// says that they were not matched, and none of them is asked for.
func TestPace_SlowRules(t *testing.T) {
	defer collector.SetMaxSteps(5_000_000)()
	synctest.Test(t, func(t *testing.T) {
		pages := healthy()
		letters := strings.Repeat("abcdefghijklmnopqrstuvw", 10)
		random := rand.New(rand.NewPCG(1, 1))
		spread := func(n int) (s string) {
			for range n {
				s += "*" + string(letters[random.IntN(len(letters))])
			}
			return s
		}
		var rules, urls strings.Builder
		rules.WriteString("User-agent: *\nDisallow: /private\nSitemap: https://example.com/sitemap.xml\n")
		for range 3_000 { // in the URLs y comes first
			fmt.Fprintf(&rules, "Disallow: %s*x*y%s\n", spread(5), spread(3))
		}
		urls.WriteString("<urlset>")
		for i := range 2_000 {
			fmt.Fprintf(&urls, "<url><loc>https://example.com/%d%sy-x%s</loc></url>", i, letters, letters)
		}
		urls.WriteString("</urlset>")
		pages["https://example.com/robots.txt"] = fetchtest.Page{Body: rules.String()}
		pages["https://example.com/sitemap.xml"] = fetchtest.Page{Body: urls.String()}
		pages["https://example.com/"] = fetchtest.Page{Header: map[string]string{"Content-Type": "text/html"},
			Body: `<a href="/news/today">x</a>`}
		w := newWorld(pages, nil)
		doc, err := w.NewBatch(nil).Visit("example.com").Collect(t.Context(),
			message(1, "https://example.com/private/raw"), false)
		if err != nil {
			t.Fatal(err)
		}
		checkSchema(t, w.read(t, dir.Document()))
		d, _ := found(t, doc)
		if !doc.Partial || len(d.Errors) != 1 || d.Errors[0].URL != "https://example.com/robots.txt" ||
			d.Errors[0].ErrorType != "timeout_error" {
			t.Errorf("partial %v, errors %+v", doc.Partial, d.Errors)
		}
		if d.Stats.Analyzed < 2_000 {
			t.Errorf("%d URLs analysed", d.Stats.Analyzed)
		}
		if a := doc.URLs[0].Allowed; a != nil {
			t.Errorf("allowed is %v for a URL that was not matched", *a)
		}
		for _, v := range w.web.Visits() {
			if strings.Contains(v.URL, "/news/") {
				t.Errorf("%s was asked for", v.URL)
			}
		}
	})
}
