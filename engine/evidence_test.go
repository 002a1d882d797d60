package engine_test

import (
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"maps"
	"net/url"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/newsfork/seed-engine/contract"
	"github.com/newsfork/seed-engine/engine/enginetest"
	"github.com/newsfork/seed-engine/fetch"
	"github.com/newsfork/seed-engine/fetch/fetchtest"
	"github.com/newsfork/seed-engine/page"
)

// everydayNews is a paper as the sample web's everyday-news.sg, with larger sections. Two have articles of their own,
// the third shows the same text under every address. Its feed gets an article every two minutes, whose title the
// paper corrects on the page alone. What robots.txt forbids is in its sitemap, in its feed, and linked from every page.
type everydayNews struct{ began time.Time }

const (
	everydayHost  = "everyday-news.sg"
	sectionSize   = 150
	uncorrected   = "Bridge %d is closed today"
	corrected     = "Bridge %d opens today"
	forbiddenPart = "/private/"
)

var everydaySections = []string{"singapore", "business", "mobile"}

func (e *everydayNews) Serve(r *fetch.Request, _ int) (fetchtest.Page, bool) {
	u, err := url.Parse(r.URL)
	if err != nil || u.Hostname() != everydayHost {
		return fetchtest.Page{}, false
	}
	kind, body := "text/html; charset=utf-8", ""
	switch u.Path {
	case "/robots.txt":
		kind, body = "text/plain", "User-agent: *\nDisallow: "+forbiddenPart+"\nSitemap: https://"+everydayHost+
			"/sitemap.xml\n"
	case "/sitemap.xml":
		kind, body = "application/xml", e.sitemap()
	case "/feed.xml":
		kind, body = "application/rss+xml", e.feed()
	case "/":
		body = `<html><head><title>Everyday News</title><link rel="alternate" type="application/rss+xml" ` +
			`href="/feed.xml"></head><body><a href="/singapore/">Singapore</a> ` +
			`<a href="/private/">Staff</a></body></html>`
	default:
		body = e.article(u.Path)
	}
	return fetchtest.Page{Header: map[string]string{"Content-Type": kind}, Body: body}, true
}

func (e *everydayNews) sitemap() string {
	var b strings.Builder
	b.WriteString(`<urlset xmlns="http://www.sitemaps.org/schemas/sitemap/0.9">`)
	for _, section := range append(everydaySections, "private") {
		for n := range sectionSize {
			fmt.Fprintf(&b, "<url><loc>https://%s/%s/the-story-of-day-%d</loc><lastmod>%s</lastmod></url>",
				everydayHost, section, n, e.began.Add(-time.Hour).UTC().Format(time.RFC3339))
		}
	}
	return b.String() + "</urlset>"
}

func (e *everydayNews) feed() string {
	var b strings.Builder
	item := func(path, title string, at time.Time) {
		fmt.Fprintf(&b, "<item><title>%s</title><link>https://%s%s</link><pubDate>%s</pubDate></item>", title,
			everydayHost, path, at.UTC().Format(time.RFC1123Z))
	}
	newest := int(time.Since(e.began) / (2 * time.Minute))
	for n := newest; n >= max(0, newest-20); n-- {
		at := e.began.Add(time.Duration(n) * 2 * time.Minute)
		item(fmt.Sprintf("/singapore/bridge-number-%d", n), fmt.Sprintf(uncorrected, n), at)
		item(fmt.Sprintf("%sbridge-memo-%d", forbiddenPart, n), "For the staff", at)
	}
	return `<rss version="2.0"><channel><title>Everyday News</title>` + b.String() + `</channel></rss>`
}

func (e *everydayNews) article(path string) string {
	title := "The story of " + path
	text := fmt.Sprintf("What happened at %s is told here at length. ", path)
	var n int
	if strings.HasPrefix(path, "/mobile/") {
		title, text = "Everyday News", "Open this article in our application to read it. "
	} else if _, err := fmt.Sscanf(path, "/singapore/bridge-number-%d", &n); err == nil {
		title = fmt.Sprintf(corrected, n)
	}
	return `<html lang="en"><head><title>` + title + ` | Everyday News</title></head><body><article><h1>` + title +
		`</h1><p>` + strings.Repeat(text, 10) + `</p></article>` +
		`<a href="/private/from` + path + `">Edit</a></body></html>`
}

// hour is an hour of a scraper that reports evidence.
type hour struct {
	*testing.T
	w     *enginetest.World
	paper *everydayNews
	given map[string]int // URLs by section
}

// scrape leases a page, fetches it, and reports what it says about itself and where it links to.
func (h *hour) scrape() (found contract.FrontierFoundURLs) {
	h.Helper()
	l := enginetest.Data[contract.FrontierLease](h.w, "POST", "/api/v1/frontier/lease",
		`{"max":1,"lease_seconds":60}`)
	var results []map[string]any
	for _, item := range l.Items {
		u, err := url.Parse(item.URL)
		if err != nil {
			h.Fatal(err)
		}
		if strings.HasPrefix(u.Path, forbiddenPart) {
			h.Errorf("%s was given, found by whoever", item.URL)
		}
		h.given[strings.Split(u.Path, "/")[1]]++
		answer, _ := h.paper.Serve(&fetch.Request{URL: item.URL}, 0)
		evidence, err := page.Extract(strings.NewReader(answer.Body), page.Source{URL: item.URL})
		if err != nil {
			h.Fatal(err)
		}
		results = append(results, map[string]any{"id": item.ID, "status": 200, "page": evidence,
			"text_sha256": fmt.Sprintf("%x", sha256.Sum256([]byte(evidence.Text))),
			"urls":        []map[string]string{{"url": "https://" + everydayHost + "/private/from" + u.Path}}})
	}
	if len(results) == 0 {
		return found
	}
	body, err := json.Marshal(map[string]any{"lease_id": l.LeaseID, "results": results})
	if err != nil {
		h.Fatal(err)
	}
	return enginetest.Data[contract.FrontierReported](h.w, "POST", "/api/v1/frontier/report", string(body)).Found
}

// standing returns the priorities of every tenth page of a section that waits, in order.
func (h *hour) standing(sections ...string) (priorities []float64) {
	h.Helper()
	for _, section := range sections {
		for n := 0; n < sectionSize; n += 10 {
			u := enginetest.Data[contract.FrontierURL](h.w, "GET", "/api/v1/frontier/url?url="+
				url.QueryEscape(fmt.Sprintf("https://%s/%s/the-story-of-day-%d", everydayHost, section, n)), "")
			if u.Priority != nil && (u.State == "due" || u.State == "waiting") {
				priorities = append(priorities, *u.Priority)
			}
		}
	}
	slices.Sort(priorities)
	return priorities
}

// titles returns the titles under which the feed has the articles of the paper's own feed, the last of each.
func (h *hour) titles() map[string]string {
	h.Helper()
	titles, cursor := map[string]string{}, ""
	for {
		path := "/api/v1/feed?limit=200&event=new,updated&cursor=" + cursor
		p := enginetest.Data[contract.FeedPage](h.w, "GET", path, "")
		for _, i := range p.Items {
			if strings.Contains(i.URL, "/singapore/bridge-number-") && i.Title != nil {
				titles[i.URL] = *i.Title
			}
		}
		if cursor = p.NextCursor; !p.HasMore {
			return titles
		}
	}
}

// TestEvidence_AnHour plays an hour of a scraper that reports evidence: a section of copies sinks below the median,
// corrected titles are in the feed, and nothing that robots.txt forbids is given, whoever found it.
func TestEvidence_AnHour(t *testing.T) {
	enginetest.Run(t, func(t *testing.T, w *enginetest.World) {
		paper := &everydayNews{began: time.Now()}
		w.Web.Serve = paper.Serve
		maps.Copy(w.Variables, map[string]string{"REQUEST_INTERVAL_MS": "5000", "MIN_REFRESH_SECONDS": "120",
			"MAX_REFRESH_SECONDS": "240"})
		upload(t, w, day, 1, `[{"url":"https://`+everydayHost+`/singapore/the-story-of-day-1"}]`)
		orchestrate(w, "{}")
		w.Drain()
		h := &hour{T: t, w: w, paper: paper, given: map[string]int{}}

		median := func(of []float64) float64 { return of[len(of)/2] }
		copies := h.standing("mobile")
		if len(copies) == 0 || median(copies) < median(h.standing("singapore", "business"))-0.05 {
			t.Fatalf("the section of copies stands below the others from the beginning: %v", copies)
		}
		put := w.Ask("POST", "/api/v1/frontier/urls", `{"urls":[{"url":"https://`+everydayHost+`/private/put"}],`+
			`"partition_info":{"country":"sg","category":"news","date":"`+day.Date+`"}}`)
		if !strings.Contains(string(put.Data), `"forbidden"`) {
			t.Errorf("a forbidden URL is taken: %s", put.Data)
		}

		refused := 0
		for end := time.Now().Add(time.Hour); time.Now().Before(end); {
			refused += h.scrape().Forbidden
			live(t, w, 15*time.Second)
		}

		all := h.standing(everydaySections...)
		copies = h.standing("mobile")
		if len(all) < 15 || len(copies) < 10 || copies[len(copies)-1] >= median(h.standing("singapore", "business")) {
			t.Errorf("copies stand at %v, all at %v", copies, all)
		}
		if total := h.given["singapore"] + h.given["business"]; total < 150 || h.given["mobile"]*10 > total {
			t.Errorf("given by section: %v", h.given)
		}
		if refused < 150 {
			t.Errorf("%d forbidden links were refused", refused)
		}

		titles := h.titles()
		right := 0
		for u, title := range titles {
			var n int
			fmt.Sscanf(u, "https://"+everydayHost+"/singapore/bridge-number-%d", &n)
			if title == fmt.Sprintf(corrected, n) {
				right++
			}
		}
		if len(titles) < 25 || right < len(titles)-3 {
			t.Errorf("%d of %d titles are corrected: %v", right, len(titles), titles)
		}
		for _, u := range w.Web.URLs() {
			if strings.Contains(u, forbiddenPart) {
				t.Errorf("the engine asked for %s", u)
			}
		}
	})
}
