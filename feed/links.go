package feed

import (
	"slices"
	"strings"

	"github.com/newsfork/seed-engine/markup"
	"github.com/newsfork/seed-engine/sitemap"
)

// maxHead caps the bytes of a page that are searched for links. Few heads have a tenth of that.
const maxHead = 512 << 10

// WellKnown are the usual paths of feeds that no page declares, most frequent first.
var WellKnown = []string{
	"/feed",
	"/rss",
	"/rss.xml",
	"/feed.xml",
	"/atom.xml",
	"/index.xml",
	"/feed.json",
}

// Candidate is a feed that a page declares.
type Candidate struct {
	URL  string
	Kind Kind // as declared
}

// Links returns the feeds that the head of a web page declares: links with rel="alternate" and the type of a feed
// (https://www.rssboard.org/rss-autodiscovery, RFC 4287). base is the URL of the page, whose <base> element is obeyed.
// The order is that of the page, but feeds of comments come last.
func Links(page []byte, base string) []Candidate {
	page = page[:min(len(page), maxHead)]
	var found, comments []Candidate
	listed := map[string]bool{}
	rebased := false
	for i := 0; ; {
		t, next := markup.NextTag(page, i)
		if next < 0 || t.Closing && t.Is("head") || t.Is("body") {
			break
		}
		i = next
		switch {
		case t.Closing:
		case t.Is("script"), t.Is("style"), t.Is("title"), t.Is("noscript"), t.Is("template"):
			i = markup.EndTag(page, i, t.Name)
		case t.Is("base") && !rebased:
			if u, ok := markup.Resolve(base, []byte(t.Attr("href"))); ok {
				base, rebased = u, true
			}
		case t.Is("link"):
			kind := declared(&t)
			u, ok := markup.Resolve(base, []byte(t.Attr("href")))
			if kind == "" || !ok || listed[u] {
				continue
			}
			listed[u] = true
			if strings.Contains(u, "/comments") {
				comments = append(comments, Candidate{u, kind})
			} else {
				found = append(found, Candidate{u, kind})
			}
		}
	}
	return append(found, comments...)
}

// declared returns the kind of feed that a link declares, or "".
func declared(link *markup.Tag) Kind {
	rel := strings.Fields(strings.ToLower(link.Attr("rel")))
	if !slices.Contains(rel, "alternate") && !slices.Contains(rel, "feed") || slices.Contains(rel, "stylesheet") {
		return ""
	}
	mime, _, _ := strings.Cut(strings.ToLower(link.Attr("type")), ";")
	mime = strings.TrimSpace(mime)
	if kind := sitemap.FeedOf(mime); kind != "" {
		return Kind(kind)
	}
	switch mime {
	case "application/feed+json":
		return JSON
	case "application/json":
		// JSON Feed 1.0 asked for this type; publishing systems declare their API with it.
		if href := link.Attr("href"); strings.Contains(href, "feed") && !strings.Contains(href, "/wp-json/") {
			return JSON
		}
	case "":
		if slices.Contains(rel, "feed") {
			return RSS
		}
	}
	return ""
}
