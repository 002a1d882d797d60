package enginetest

import (
	"fmt"
	"net/url"
	"strings"
	"sync"
	"time"

	"github.com/newsfork/seed-engine/fetch"
	"github.com/newsfork/seed-engine/fetch/fetchtest"
)

// Sites is a web whose hosts behave as their names KIND-N.sg say: full has robots.txt and a sitemap of three pages,
// robots and map have one of them, plain has neither, down refuses connections, hang never answers. Other hosts are
// full. A home page takes 750 ms if N is even, otherwise 1,750 ms; other responses take Latency.
type Sites struct {
	Latency time.Duration

	mu sync.Mutex
	up map[string]bool
}

// Repair makes a host respond again.
func (s *Sites) Repair(host string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.up == nil {
		s.up = map[string]bool{}
	}
	s.up[host] = true
}

// Serve implements the field Serve of a fetchtest.Web.
func (s *Sites) Serve(r *fetch.Request, _ int) (fetchtest.Page, bool) {
	u, err := url.Parse(r.URL)
	if err != nil {
		return fetchtest.Page{}, false
	}
	host := u.Hostname()
	s.mu.Lock()
	up := s.up[host]
	s.mu.Unlock()
	kind, number, _ := strings.Cut(strings.TrimSuffix(host, ".sg"), "-")
	switch {
	case kind == "down" && !up:
		return fetchtest.Fail(fetch.ErrConnRefused), true
	case kind == "hang":
		return fetchtest.Hang(), true
	}
	p := fetchtest.Page{Status: 404, Latency: s.Latency}
	ok := func(kind, body string) {
		p.Status, p.Header, p.Body = 200, map[string]string{"Content-Type": kind}, body
	}
	switch {
	case u.Path == "/robots.txt" && kind != "map" && kind != "plain":
		ok("text/plain", "User-agent: *\nDisallow: /private\n")
	case u.Path == "/sitemap.xml" && kind != "robots" && kind != "plain":
		var list strings.Builder
		for n := range 3 {
			fmt.Fprintf(&list, "<url><loc>https://%s/news/%d</loc></url>", host, n+1)
		}
		ok("application/xml", `<?xml version="1.0"?><urlset xmlns="http://www.sitemaps.org/schemas/sitemap/0.9">`+
			list.String()+`</urlset>`)
	case u.Path == "/":
		ok("text/html", "<!doctype html><title>"+host+"</title><p>Hello</p>")
		p.Latency += 750 * time.Millisecond
		if number != "" && strings.Contains("13579", number[len(number)-1:]) {
			p.Latency += time.Second
		}
	}
	return p, true
}
