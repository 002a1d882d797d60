package web

import (
	"encoding/json"
	"net/http"
	"net/url"
	"path"
	"strings"
	"time"

	"github.com/newsfork/seed-engine/contract"
	"github.com/newsfork/seed-engine/info"
)

// feedLength is the number of articles in a feed.
const feedLength = 50

// feed answers a category as RSS 2.0 or JSON Feed 1.1.
func (a *Reading) feed(w http.ResponseWriter, r *http.Request) error {
	category, format, _ := strings.Cut(r.PathValue("file"), ".")
	if !info.IsCategory(category) || format != "rss" && format != "json" {
		return &problem{http.StatusNotFound, "NOT_FOUND",
			"There is no such feed. There are {" + categoryList("|") + "}.rss and .json."}
	}
	page, err := a.Pages.Page(r.Context(), info.Query{Category: info.Category(category), Limit: feedLength})
	if err != nil {
		return err
	}
	list := make([]info.Public, len(page.Items))
	for i, item := range page.Items {
		if err := json.Unmarshal(item.JSON, &list[i]); err != nil {
			return contract.Wrap(contract.Internal, "web.feed", err)
		}
	}
	self := a.self(r)
	var body []byte
	if format == "rss" {
		body = rss(self, category, list)
		w.Header().Set("Content-Type", "application/rss+xml; charset=utf-8")
	} else {
		body = jsonFeed(self, category, list)
		w.Header().Set("Content-Type", "application/feed+json; charset=utf-8")
	}
	same := a.unchanged(w, r, body, &page, a.Public != "")
	if !same {
		w.Write(body)
	}
	return nil
}

// self returns the public URL of a request without its query.
func (a *Reading) self(r *http.Request) *url.URL {
	if u, err := url.Parse(a.Public); err == nil && a.Public != "" {
		u.Path += r.URL.Path
		return u
	}
	u := &url.URL{Scheme: "https", Host: r.Host, Path: r.URL.Path}
	if name := u.Hostname(); name == "localhost" || name == "127.0.0.1" {
		u.Scheme = "http"
	}
	return u
}

func title(category string) string {
	for _, n := range named("ko") {
		if string(n.ID) == category {
			return "Newsfork · " + n.Name
		}
	}
	return "Newsfork"
}

// home returns the address of the reader's page.
func home(self *url.URL) string {
	u := *self
	u.Path = strings.TrimSuffix(u.Path, path.Join("/api/v1/info/feeds", path.Base(u.Path))) + "/"
	return u.String()
}

// jsonFeed follows www.jsonfeed.org/version/1.1/.
func jsonFeed(self *url.URL, category string, list []info.Public) []byte {
	type item struct {
		ID            string   `json:"id"`
		URL           string   `json:"url"`
		Title         string   `json:"title"`
		ContentText   string   `json:"content_text"`
		Image         *string  `json:"image,omitempty"`
		DatePublished string   `json:"date_published"`
		Authors       []author `json:"authors"`
		Tags          []string `json:"tags,omitempty"`
	}
	items := []item{}
	for _, p := range list {
		items = append(items, item{p.ID, p.URL, p.Title, p.Snippet, p.ThumbnailURL, p.PublishedAt,
			[]author{{p.SourceName}}, p.Keywords})
	}
	return contract.Encode(map[string]any{
		"version": "https://jsonfeed.org/version/1.1", "title": title(category), "home_page_url": home(self),
		"feed_url": self.String(), "items": items,
	})
}

type author struct {
	Name string `json:"name"`
}

// rss follows www.rssboard.org/rss-specification.
func rss(self *url.URL, category string, list []info.Public) []byte {
	var b strings.Builder
	element := func(name, text string) { b.WriteString("<" + name + ">" + xmlText(text) + "</" + name + ">") }
	b.WriteString(`<?xml version="1.0" encoding="UTF-8"?>` + "\n" +
		`<rss version="2.0" xmlns:atom="http://www.w3.org/2005/Atom" xmlns:dc="http://purl.org/dc/elements/1.1/" ` +
		`xmlns:media="http://search.yahoo.com/mrss/"><channel>`)
	element("title", title(category))
	element("link", home(self))
	element("description", title(category))
	b.WriteString(`<atom:link rel="self" type="application/rss+xml" href="` + xmlText(self.String()) + `"/>`)
	for _, p := range list {
		b.WriteString("\n<item>")
		element("title", p.Title)
		element("link", p.URL)
		b.WriteString(`<guid isPermaLink="false">` + xmlText(p.ID) + `</guid>`)
		if at, err := time.Parse(time.RFC3339Nano, p.PublishedAt); err == nil {
			element("pubDate", at.UTC().Format(time.RFC1123Z))
		}
		if p.Snippet != "" {
			element("description", xmlText(p.Snippet)) // descriptions are HTML
		}
		element("dc:creator", p.SourceName)
		if p.Category != nil {
			element("category", *p.Category)
		}
		if p.ThumbnailURL != nil {
			b.WriteString(`<media:thumbnail url="` + xmlText(*p.ThumbnailURL) + `"/>`)
		}
		b.WriteString("</item>")
	}
	b.WriteString("\n</channel></rss>\n")
	return []byte(b.String())
}

var xmlEscapes = strings.NewReplacer("&", "&amp;", "<", "&lt;", ">", "&gt;", `"`, "&quot;", "'", "&#39;")

func xmlText(s string) string {
	// XML excludes some characters, such as U+FFFE; they are dropped.
	s = strings.Map(func(r rune) rune {
		if r < ' ' && r != '\t' && r != '\n' && r != '\r' || r == 0xfffe || r == 0xffff {
			return -1
		}
		return r
	}, s)
	return xmlEscapes.Replace(s)
}
