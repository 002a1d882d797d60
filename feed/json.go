package feed

import (
	"bufio"
	"bytes"
	"io"
	"strings"

	"github.com/newsfork/seed-engine/markup"
	"github.com/newsfork/seed-engine/sitemap"
	"github.com/tidwall/gjson"
)

// maxJSON caps the bytes of a JSON feed, which is read into memory as a whole.
const maxJSON = 8 << 20

func isJSON(b *bufio.Reader) bool {
	start, _ := b.Peek(64)
	start = bytes.TrimLeft(bytes.TrimPrefix(start, []byte("\ufeff")), " \t\r\n")
	return len(start) > 0 && start[0] == '{'
}

func parseJSON(r io.Reader, base string, o sitemap.Options, fn func(*Item)) (f Summary, err error) {
	limit := int64(maxJSON)
	if o.MaxBytes > 0 {
		limit = min(limit, o.MaxBytes)
	}
	if o.Tee != nil {
		r = io.TeeReader(r, o.Tee)
	}
	data, err := io.ReadAll(io.LimitReader(r, limit))
	data = bytes.TrimPrefix(data, []byte("\ufeff"))
	doc := gjson.ParseBytes(data)
	if !strings.Contains(doc.Get("version").Str, "jsonfeed.org/version/") {
		return Summary{Problem: "JSON, but no JSON feed: its version is not that of jsonfeed.org"}, err
	}
	f = Summary{Kind: JSON, Title: tidy(doc.Get("title").Str), Charset: "utf-8",
		Language:  tidy(doc.Get("language").Str),
		Truncated: err != nil || !gjson.ValidBytes(data)}
	doc.Get("items").ForEach(func(_, v gjson.Result) bool {
		f.Items++
		var i Item
		for _, name := range []string{"date_modified", "date_published"} {
			if t, ok := markup.ParseDateIn([]byte(v.Get(name).Str), o.Zone); ok {
				i.Date = t
				break
			}
		}
		if i.Date.After(f.Newest) && markup.Plausible(i.Date, o.Now) {
			f.Newest = i.Date
		}
		if link := itemLink(v, base); link != "" && fn != nil {
			i.Link, i.Title = []byte(link), []byte(tidy(v.Get("title").Str))
			if o.Details {
				details(&i, v)
			}
			fn(&i)
		}
		return true
	})
	return f, err
}

// details reads the summary of an item, or else its content, and its picture.
func details(i *Item, item gjson.Result) {
	for _, name := range []string{"summary", "content_text", "content_html"} {
		if text := item.Get(name).Str; text != "" {
			i.Summary, i.SummaryText = []byte(text), name != "content_html"
			break
		}
	}
	for _, name := range []string{"image", "banner_image"} {
		if u := item.Get(name).Str; u != "" && i.Image == nil {
			i.Image = []byte(u)
		}
	}
}

// itemLink returns the page of an item: its url, or else its external_url, or its id if that is a URL.
func itemLink(item gjson.Result, base string) string {
	for _, name := range []string{"url", "external_url"} {
		if u, ok := markup.Resolve(base, []byte(item.Get(name).Str)); ok {
			return u
		}
	}
	u, _ := markup.Resolve("", []byte(item.Get("id").Str))
	return u
}

func tidy(s string) string { return strings.Join(strings.Fields(s), " ") }
