package collector_test

import (
	"encoding/json"
	"errors"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/newsfork/seed-engine/contract"
	"github.com/newsfork/seed-engine/discovery"
	"github.com/newsfork/seed-engine/fetch/fetchtest"
)

const (
	story  = "https://example.com/news/2026/01/31/the-story"
	korean = "https://example.com/%EA%B8%B0%EC%82%AC"
)

// forms are the raw URLs of a document, each with its raw form.
func forms(d *contract.Document) string {
	var list []string
	for _, u := range d.URLs {
		form := "-"
		if u.RawURL != nil {
			form = *u.RawURL
		}
		list = append(list, u.URL+" "+u.Path+" "+form)
	}
	return strings.Join(list, "\n")
}

// TestURLs_CanonicalForm: the spellings and copies of a page are one URL in a document, whatever raw file has which,
// and whichever version wrote the document.
func TestURLs_CanonicalForm(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(healthy(), nil)
		first := message(2, story+"?utm_source=x", "HTTPS://Example.com//news/2026/01/31/the-story#comments",
			"https://example.com/기사")
		if err := w.collect(t, first, false); err != nil {
			t.Fatal(err)
		}
		d := w.document(t)
		want := korean + " /%EA%B8%B0%EC%82%AC https://example.com/기사\n" + story +
			" /news/2026/01/31/the-story HTTPS://Example.com//news/2026/01/31/the-story#comments"
		if got := forms(d); got != want || d.Processing.TotalURLs != 2 {
			t.Errorf("%d URLs:\n%s\nwant\n%s", d.Processing.TotalURLs, got, want)
		}
		if err := w.collect(t, first, false); err != nil || w.document(t).Revision != 1 {
			t.Errorf("delivered again: revision %d, %v", w.document(t).Revision, err)
		}
		// As the version before wrote it.
		d.URLs = []contract.DocumentURL{d.URLs[1], d.URLs[0]}
		for i := range d.URLs {
			d.URLs[i].URL, d.URLs[i].RawURL = *d.URLs[i].RawURL, nil
		}
		time.Sleep(2 * time.Second)
		w.put(t, dir.Document(), asJSON(d))
		time.Sleep(2 * time.Second)
		if err := w.collect(t, message(1, story+"/amp", "https://example.com/z"), false); err != nil {
			t.Fatal(err)
		}
		want = korean + " /%EA%B8%B0%EC%82%AC https://example.com/기사\n" + story + " /news/2026/01/31/the-story " +
			story +
			"/amp\nhttps://example.com/z /z -"
		if got := forms(w.document(t)); got != want {
			t.Errorf("after a merge:\n%s\nwant\n%s", got, want)
		}
	})
}

// TestURLs_Descriptions: discovered URLs and entry points have what a scraper needs to ask them.
func TestURLs_Descriptions(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		pages := healthy()
		pages["https://example.com/sitemap.xml"] = fetchtest.Page{
			Header: map[string]string{"Content-Type": "application/xml", "ETag": `"s1"`,
				"Last-Modified": "Sat, 31 Jan 2026 09:00:00 GMT"},
			Body: `<urlset xmlns:n="http://www.google.com/schemas/sitemap-news/0.9"><url><loc>` + story +
				`/amp</loc><n:news><n:publication><n:name>x</n:name><n:language>en</n:language></n:publication>` +
				`<n:publication_date>2026-01-31</n:publication_date><n:title>The story</n:title></n:news>` +
				`</url></urlset>`}
		pages["https://example.com/feed"] = fetchtest.Page{
			Header: map[string]string{"Content-Type": "application/rss+xml"},
			Body: "<?xml version=\"1.0\" encoding=\"euc-kr\"?><rss><channel><title>x</title><language>" +
				"ko-KR</language><item><title>\xb1\xe2\xbb\xe7</title><link>https://example.com/news/" +
				"second-story-of-the-day</link></item></channel></rss>"}
		pages["https://example.com/"] = fetchtest.Page{Header: map[string]string{"Content-Type": "text/html"},
			Body: `<link rel="alternate" type="application/rss+xml" href="//EXAMPLE.com//feed?utm_medium=x">`}
		pages["https://example.com//feed?utm_medium=x"] = pages["https://example.com/feed"]
		w := newWorld(pages, nil)
		if err := w.collect(t, message(1, "https://example.com/b"), false); err != nil {
			t.Fatal(err)
		}
		check := func(name string) {
			t.Helper()
			d := w.document(t)
			var found discovery.Discovery
			var how discovery.FetchContract
			if err := errors.Join(json.Unmarshal(d.Discovery, &found), json.Unmarshal(d.Contract, &how)); err != nil {
				t.Fatal(err)
			}
			got := map[string]string{}
			for _, u := range found.URLs {
				got[u.URL] = asJSON([]any{u.RawURL, u.Allowed, u.Title, u.Language, u.Lastmod})
			}
			for _, e := range how.EntryPoints {
				got[e.URL] = asJSON([]any{e.Method, e.RawURL, e.Allowed, e.ETag, e.LastModified, e.Charset})
			}
			for url, want := range map[string]string{
				story: `["` + story + `/amp",true,"The story","en","2026-01-31T00:00:00Z"]`,
				"https://example.com/news/second-story-of-the-day": `[null,true,"기사","ko-kr",null]`,
				"https://example.com/sitemap.xml": `["news_sitemap",null,true,"\"s1\"",` +
					`"2026-01-31T09:00:00Z","utf-8"]`,
				"https://example.com/feed": `["rss","https://example.com//feed?utm_medium=x",true,null,null,"euc-kr"]`,
			} {
				if got[url] != want {
					t.Errorf("%s: %s has\n%s, want\n%s", name, url, got[url], want)
				}
			}
		}
		check("collected")
		if err := w.collect(t, message(2, "https://example.com/c"), false); err != nil {
			t.Fatal(err)
		}
		check("merged")
	})
}
