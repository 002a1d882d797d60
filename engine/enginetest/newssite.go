package enginetest

import (
	"fmt"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/newsfork/seed-engine/fetch"
	"github.com/newsfork/seed-engine/fetch/fetchtest"
)

// NewsSites is a web in which every host is a news site like the median of real ones: a robots.txt of 2 KB, an index of
// three sitemaps, one of them of news with titles, a feed of 20 items, and a home page of 60 KB with 120 links.
// test/workers/newssite.mjs is its twin for workerd, and testdata/newssite.json has the digests of what both serve.
type NewsSites struct {
	URLs    int           // listed by the sitemaps of each site
	Now     time.Time     // the newest page is from then; zero for the time of the request
	Latency time.Duration // of each response
}

// Serve implements the field Serve of a fetchtest.Web.
func (s *NewsSites) Serve(r *fetch.Request, _ int) (fetchtest.Page, bool) {
	u, err := url.Parse(r.URL)
	if err != nil {
		return fetchtest.Page{}, false
	}
	now := s.Now
	if now.IsZero() {
		now = time.Now()
	}
	kind, body := newsSite{u.Hostname(), s.URLs, now.UTC().Truncate(time.Minute)}.page(u.Path)
	if body == "" {
		return fetchtest.Page{Status: 404, Latency: s.Latency}, true
	}
	header := map[string]string{"Content-Type": kind, "Server": "newssite"}
	return fetchtest.Page{Header: header, Body: body, Latency: s.Latency}, true
}

// newsSite is one site of NewsSites.
type newsSite struct {
	host string
	urls int
	now  time.Time
}

const (
	newsSiteItems = 20  // of the feed
	newsSiteLinks = 120 // of the home page
	newsSiteBytes = 60_000

	html         = "text/html; charset=utf-8"
	newsSiteText = "<p class=\"filler\">A paragraph of the page that says nothing about any other page of " +
		"the site.</p>\n"
)

var (
	newsSiteSections = strings.Fields("politics economy world culture sport science opinion local")
	newsSiteTopics   = strings.Fields("minister budget harbour election school river climate market " +
		"festival hospital " +
		"railway energy parliament museum court")
	newsSiteVerbs = strings.Fields("opens delays wins approves rejects plans reviews")
	newsSiteEnds  = strings.Fields("bridge reform season programme inquiry talks record deal strike vote tower")
	newsSitePages = strings.Fields("about contact privacy imprint advertise jobs subscribe help newsletter archive")
)

// page returns the content type and body of a path, or two empty strings for an unknown path.
func (s newsSite) page(path string) (kind, body string) {
	switch path {
	case "/robots.txt":
		return "text/plain", s.robots()
	case "/sitemap.xml":
		return "application/xml", s.index()
	case "/sitemap-news.xml":
		return "application/xml", s.news()
	case "/sitemap-articles.xml":
		return "application/xml", s.urlset(s.recent(), s.articles())
	case "/sitemap-pages.xml":
		return "application/xml", s.urlset(s.articles(), s.urls)
	case "/feed.xml":
		return "application/rss+xml", s.feed()
	case "/":
		return html, s.home()
	}
	first, _, _ := strings.Cut(strings.TrimPrefix(path, "/"), "/")
	if slices.Contains(newsSiteSections, first) || slices.Contains(newsSitePages, first) {
		return html, s.article(path)
	}
	return "", ""
}

// The first URLs are articles of the last two days, in the news sitemap; most are older articles; the last are pages.
func (s newsSite) recent() int   { return (s.urls + 4) / 5 }
func (s newsSite) articles() int { return s.urls - s.urls/8 }

// at returns the publication time of the nth URL.
func (s newsSite) at(n int) time.Time {
	if n < s.recent() {
		return s.now.Add(-time.Duration(n*2880/s.recent()) * time.Minute)
	}
	return s.now.Add(-2*24*time.Hour - time.Duration(n-s.recent())*7*time.Hour)
}

func (s newsSite) title(n int) string {
	topic, verb, end := newsSiteTopics[n%15], newsSiteVerbs[n%7], newsSiteEnds[n%11]
	return fmt.Sprintf("%s %s %s number %d", strings.ToUpper(topic[:1])+topic[1:], verb, end, n)
}

func (s newsSite) link(n int) string {
	if n >= s.articles() {
		n -= s.articles()
		if n < len(newsSitePages) {
			return fmt.Sprintf("https://%s/%s", s.host, newsSitePages[n])
		}
		return fmt.Sprintf("https://%s/tag/%s-%d", s.host, newsSiteTopics[n%15], n)
	}
	slug := strings.ReplaceAll(strings.ToLower(s.title(n)), " ", "-")
	return fmt.Sprintf("https://%s/%s/%s/%s", s.host, newsSiteSections[n%8], s.at(n).Format("2006/01/02"), slug)
}

func (s newsSite) robots() string {
	var b strings.Builder
	for _, agent := range strings.Fields("AdsBot BadBot ScrapeAll ImageGrabber") {
		fmt.Fprintf(&b, "User-agent: %s\nDisallow: /\n\n", agent)
	}
	b.WriteString("User-agent: *\nAllow: /wp-admin/admin-ajax.php\n")
	for n, topic := range newsSiteTopics {
		fmt.Fprintf(&b, "Disallow: /internal/%s/\nDisallow: /*?preview=%s&page=%d\n", topic, topic, n)
		fmt.Fprintf(&b, "Disallow: /search/%s$\nDisallow: /*/print/%s.html$\n", topic, topic)
	}
	fmt.Fprintf(&b, "\nSitemap: https://%s/sitemap.xml\n", s.host)
	return b.String()
}

func (s newsSite) index() string {
	var b strings.Builder
	b.WriteString(`<?xml version="1.0" encoding="UTF-8"?>` + "\n" +
		`<sitemapindex xmlns="http://www.sitemaps.org/schemas/sitemap/0.9">` + "\n")
	for _, name := range strings.Fields("news articles pages") {
		fmt.Fprintf(&b, "<sitemap><loc>https://%s/sitemap-%s.xml</loc><lastmod>%s</lastmod></sitemap>\n", s.host, name,
			s.now.Format(time.RFC3339))
	}
	b.WriteString("</sitemapindex>\n")
	return b.String()
}

func (s newsSite) news() string {
	var b strings.Builder
	b.WriteString(`<?xml version="1.0" encoding="UTF-8"?>` + "\n" +
		`<urlset xmlns="http://www.sitemaps.org/schemas/sitemap/0.9" ` +
		`xmlns:news="http://www.google.com/schemas/sitemap-news/0.9">` + "\n")
	for n := range s.recent() {
		fmt.Fprintf(&b, "<url><loc>%s</loc><news:news><news:publication><news:name>%s</news:name>"+
			"<news:language>en</news:language></news:publication><news:publication_date>%s</news:publication_date>"+
			"<news:title>%s</news:title></news:news></url>\n", s.link(n), s.host, s.at(n).Format(time.RFC3339),
			s.title(n))
	}
	b.WriteString("</urlset>\n")
	return b.String()
}

// urlset lists the URLs from one number to before another.
func (s newsSite) urlset(from, to int) string {
	var b strings.Builder
	b.WriteString(`<?xml version="1.0" encoding="UTF-8"?>` + "\n" +
		`<urlset xmlns="http://www.sitemaps.org/schemas/sitemap/0.9">` + "\n")
	for n := from; n < to; n++ {
		fmt.Fprintf(&b, "<url><loc>%s</loc><lastmod>%s</lastmod><changefreq>weekly</changefreq></url>\n", s.link(n),
			s.at(n).Format("2006-01-02"))
	}
	b.WriteString("</urlset>\n")
	return b.String()
}

func (s newsSite) feed() string {
	var b strings.Builder
	fmt.Fprintf(&b, `<?xml version="1.0" encoding="UTF-8"?>`+"\n"+
		`<rss version="2.0"><channel><title>%s</title><link>https://%s/</link><language>en</language>`+"\n", s.host,
		s.host)
	for n := range min(newsSiteItems, s.articles()) {
		fmt.Fprintf(&b, "<item><title>%s</title><link>%s</link><pubDate>%s</pubDate>"+
			"<description>%s, as readers of the paper already know from its first page.</description></item>\n",
			s.title(n), s.link(n), s.at(n).Format("Mon, 02 Jan 2006 15:04:05 GMT"), s.title(n))
	}
	b.WriteString("</channel></rss>\n")
	return b.String()
}

func (s newsSite) article(path string) string {
	return fmt.Sprintf(`<!doctype html><html lang="en"><head><title>%s</title></head><body><h1>%s</h1>`+"\n%s"+
		"</body></html>\n", path, path, strings.Repeat(newsSiteText, 20))
}

func (s newsSite) home() string {
	var b strings.Builder
	fmt.Fprintf(&b, `<!doctype html><html lang="en"><head><title>%s</title>`+
		`<link rel="alternate" type="application/rss+xml" href="/feed.xml"></head><body><nav>`+"\n", s.host)
	links := newsSiteLinks
	for _, section := range newsSiteSections {
		fmt.Fprintf(&b, `<a href="/%s">%s</a>`+"\n", section, strings.ToUpper(section[:1])+section[1:])
		links--
	}
	b.WriteString("</nav><main>\n")
	for n := range min(links, s.urls) {
		fmt.Fprintf(&b, `<article><h2><a href="%s">%s</a></h2><p>%s, as readers know.</p></article>`+"\n", s.link(n),
			s.title(n), s.title(n))
	}
	b.WriteString("</main><footer>\n")
	b.WriteString(strings.Repeat(newsSiteText, max(0, newsSiteBytes-b.Len())/len(newsSiteText)))
	b.WriteString("</footer></body></html>\n")
	return b.String()
}
