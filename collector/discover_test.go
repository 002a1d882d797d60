package collector_test

import (
	"encoding/json"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/newsfork/seed-engine/contract"
	"github.com/newsfork/seed-engine/discovery"
	"github.com/newsfork/seed-engine/fetch/fetchtest"
	"github.com/newsfork/seed-engine/r2"
)

// found is what discovery wrote into a document.
func found(t *testing.T, d *contract.Document) (discovery.Discovery, discovery.FetchContract) {
	t.Helper()
	var found discovery.Discovery
	var how discovery.FetchContract
	if err := json.Unmarshal(d.Discovery, &found); err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal(d.Contract, &how); err != nil {
		t.Fatal(err)
	}
	return found, how
}

// TestInternationalHosts: a domain with an internationalised name is one domain, however its sitemap, its
// pages and raw files spell it.
func TestInternationalHosts(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const ascii, native = "xn--3e0bj9ghtquur.kr", "한국뉴스.kr"
		w := newWorld(map[string]fetchtest.Page{
			"https://" + ascii + "/robots.txt":     {Body: "User-agent: *\nDisallow: /private\nSitemap: https://" + native + "/sitemap.xml\n"},
			"https://" + ascii + "/sitemap.xml":    {Body: "<urlset><url><loc>https://" + native + "/news/2026/01/a</loc><lastmod>2026-01-31</lastmod></url></urlset>"},
			"https://" + ascii + "/":               {Header: map[string]string{"Content-Type": "text/html"}, Body: `<a href="https://www.` + native + `/">www</a><a href="https://` + native + `/press-releases">Press</a>`},
			"https://" + ascii + "/press-releases": {Header: map[string]string{"Content-Type": "text/html"}},
		}, nil)
		m := message(1)
		m.Domain, m.RegistrableDomain, m.DomainURL = ascii, ascii, "https://"+native+"/"
		for _, u := range []string{"https://" + native + "/news/2026/01/b", "https://" + native + "/private/c", "https://%ED%95%9C%EA%B5%AD%EB%89%B4%EC%8A%A4.kr/news/2026/01/d"} {
			m.URLs = append(m.URLs, contract.URL{URL: u, Path: "/"})
		}
		doc, err := w.NewBatch(nil).Collect(t.Context(), m, false)
		if err != nil {
			t.Fatal(err)
		}
		checkSchema(t, w.read(t, r2.DomainDir{Partition: partition, Domain: ascii}.Document()))
		for _, u := range doc.URLs {
			private := strings.Contains(u.URL, "private")
			if u.Action == nil || (*u.Action == "ignore") != private || u.Allowed == nil || *u.Allowed == private {
				t.Errorf("%s: action %v, allowed %v", u.URL, *u.Action, u.Allowed)
			}
		}
		d, _ := found(t, doc)
		if d.Stats.Analyzed != 4 || d.Stats.Excluded.External != 0 || d.Stats.Excluded.Robots != 1 {
			t.Errorf("%+v", d.Stats)
		}
		methods := map[discovery.Method]int{}
		for _, u := range d.URLs {
			methods[u.Method]++
			if !strings.HasPrefix(u.URL, "https://"+ascii+"/") {
				t.Errorf("shown as %s", u.URL)
			}
		}
		if methods[discovery.FromSitemap] != 1 || methods[discovery.FromResearch] != 2 || methods[discovery.FromLink] != 1 {
			t.Errorf("%v", methods)
		}
	})
}
