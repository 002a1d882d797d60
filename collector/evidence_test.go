package collector_test

import (
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/newsfork/seed-engine/fetch/fetchtest"
)

// TestEvidence_Unchanged: a domain that is collected again costs no put for a robots.txt and a sitemap that are the
// same, except that they do not grow old.
func TestEvidence_Unchanged(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(healthy(), nil)
		var puts []string
		w.bucket.Fail = func(op, key string) error {
			if op == "put" || op == "commit" {
				puts = append(puts, key)
			}
			return nil
		}
		collect := func(force bool) []string {
			t.Helper()
			puts = nil
			m := message(1)
			m.Force, m.RequestedAt = force, time.Now()
			if err := w.collect(t, m, false); err != nil {
				t.Fatal(err)
			}
			return slices.Clone(puts)
		}
		stores := func(put []string, robots, sitemap bool) {
			t.Helper()
			if slices.Contains(put, dir.Robots()) != robots || slices.Contains(put, dir.Sitemap()) != sitemap ||
				!slices.Contains(put, dir.Document()) {
				t.Errorf("stored %q", put)
			}
		}
		change := func(url, old, replaced string) {
			page := w.web.Pages[url]
			page.Body = replaced
			w.web.Pages[url] = page
			if page.Body == old {
				t.Fatal("nothing changed")
			}
		}
		const robotsURL, sitemapURL = "https://example.com/robots.txt", "https://example.com/sitemap.xml"
		robots, sitemap := w.web.Pages[robotsURL].Body, w.web.Pages[sitemapURL].Body
		stores(collect(false), true, true)
		time.Sleep(24 * time.Hour)
		stores(collect(true), false, false)
		if got := string(w.read(t, dir.Robots())); got != robots {
			t.Errorf("robots.txt is now %q", got)
		}

		change(robotsURL, robots, robots+"Disallow: /b\n")
		time.Sleep(24 * time.Hour)
		stores(collect(true), true, false)
		change(sitemapURL, sitemap, sitemap+"<!-- -->")
		change(robotsURL, "", robots)
		time.Sleep(24 * time.Hour)
		stores(collect(true), true, true)
		if got := string(w.read(t, dir.Sitemap())); got != sitemap+"<!-- -->" {
			t.Errorf("the sitemap is now %q", got)
		}
		if d := w.document(t); !d.Robots.Exists || !d.Sitemap.Exists {
			t.Errorf("%+v, %+v", d.Robots, d.Sitemap)
		}

		time.Sleep(29 * 24 * time.Hour)
		stores(collect(true), false, false)
		time.Sleep(2 * 24 * time.Hour)
		stores(collect(true), true, true)

		w.web.Pages[robotsURL] = fetchtest.Page{Status: 404}
		time.Sleep(24 * time.Hour)
		collect(true)
		if w.exists(t, dir.Robots()) {
			t.Error("robots.txt is still stored")
		}
		w.web.Pages[robotsURL] = fetchtest.Page{Body: robots}
		time.Sleep(24 * time.Hour)
		stores(collect(true), true, false)
		if n := w.bucket.OpenUploads(); n > 0 {
			t.Errorf("%d uploads were left", n)
		}
	})
}
