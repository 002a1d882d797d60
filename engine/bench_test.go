//go:build unix

package engine_test

import (
	"fmt"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/newsfork/seed-engine/contract"
	"github.com/newsfork/seed-engine/engine/enginetest"
	"github.com/newsfork/seed-engine/fetch"
	"github.com/newsfork/seed-engine/fetch/fetchtest"
)

// BenchmarkDomain is the collection of one domain, from its message to the acknowledgement, with the shard's part:
// a site of three requests whose sitemap has so many URLs, and a news site like the median of real ones.
//
// cpu-ms/domain does not depend on what else runs on the machine, as the time of an operation does.
func BenchmarkDomain(b *testing.B) {
	for _, urls := range []int{3, 50, 200, 500} {
		b.Run(fmt.Sprintf("simple/%d", urls), func(b *testing.B) { benchmarkDomain(b, simpleSites(urls)) })
	}
	for _, urls := range []int{3, 200, 5000} {
		web := &enginetest.NewsSites{URLs: urls}
		b.Run(fmt.Sprintf("news/%d", urls), func(b *testing.B) { benchmarkDomain(b, web.Serve) })
	}
}

func benchmarkDomain(b *testing.B, serve func(r *fetch.Request, _ int) (fetchtest.Page, bool)) {
	w := enginetest.New(b)
	w.Web.Serve = serve
	collect := func(n int) {
		domain := fmt.Sprintf("site-%d.sg", n)
		w.Deliver(enginetest.Domains, contract.DomainMessage{
			Domain: domain, DomainID: "media:sg:" + domain, Partition: day, SourceFilePath: raw(day, 1),
			URLs: []contract.URL{{URL: "https://" + domain + "/a", Title: contract.Text("A"), Path: "/a"}},
		})
	}
	const warm = 40 // each shard creates its tables, and the model is read
	for n := range warm {
		collect(n)
	}
	b.ReportAllocs()
	n, began := warm, processTime(b)
	for b.Loop() {
		collect(n)
		n++
	}
	b.ReportMetric(float64((processTime(b)-began).Microseconds())/float64(1000*(n-warm)), "cpu-ms/domain")
}

// processTime is the CPU time of this process so far.
func processTime(b *testing.B) time.Duration {
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		b.Fatal(err)
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}

// simpleSites is the web of test/workers/anysite.mjs with PAGES.
func simpleSites(urls int) func(r *fetch.Request, _ int) (fetchtest.Page, bool) {
	sections := []string{"news", "press", "policy", "events"}
	return func(r *fetch.Request, _ int) (fetchtest.Page, bool) {
		host, path, _ := strings.Cut(strings.TrimPrefix(r.URL, "https://"), "/")
		ok := func(kind, body string) (fetchtest.Page, bool) {
			return fetchtest.Page{Header: map[string]string{"Content-Type": kind}, Body: body}, true
		}
		switch path {
		case "robots.txt":
			return ok("text/plain", "User-agent: *\nDisallow: /private\nSitemap: https://"+host+"/sitemap.xml\n")
		case "sitemap.xml":
			var list strings.Builder
			list.WriteString(`<?xml version="1.0"?><urlset xmlns="http://www.sitemaps.org/schemas/sitemap/0.9">`)
			for n := range urls {
				page := sections[n%4]
				if n >= 4 {
					page += fmt.Sprintf("/story-%d", n)
				}
				fmt.Fprintf(&list, "<url><loc>https://%s/%s</loc></url>", host, page)
			}
			return ok("application/xml", list.String()+"</urlset>")
		case "":
			return ok("text/html", "<!doctype html><title>"+host+
				"</title><p>Home of an organisation that says enough of itself to be told from others.</p>")
		}
		return fetchtest.Page{Status: 404}, true
	}
}
