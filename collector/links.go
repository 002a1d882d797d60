package collector

import (
	"github.com/newsfork/seed-engine/discovery"
	"github.com/newsfork/seed-engine/markup"
)

// maxAnchorMarkup bounds the markup of a link in which its text is looked for: what is longer is no menu entry.
const maxAnchorMarkup = 2048

// pageLinks returns the links of a page in document order, with the text of each: what a reader sees, or else its
// title or the description of its image. What scripts write is not read.
func pageLinks(page []byte, base string) []discovery.Link {
	var links []discovery.Link
	for i := 0; ; {
		t, next := markup.NextTag(page, i)
		if next < 0 {
			return links
		}
		i = next
		switch {
		case t.Closing:
		case t.Is("script"), t.Is("style"), t.Is("template"):
			i = markup.EndTag(page, next, t.Name)
		case t.Is("a"):
			if u, ok := markup.Resolve(base, []byte(t.Attr("href"))); ok {
				links = append(links, discovery.Link{URL: u, Text: linkText(page[next:min(len(page), next+maxAnchorMarkup)], &t)})
			}
		}
	}
}

// linkText returns the text of a link whose content begins b.
func linkText(b []byte, a *markup.Tag) string {
	content := b[:markup.EndTag(b, 0, []byte("a"))]
	if text := oneLine(withoutTags(content)); text != "" {
		return text
	}
	if text := oneLine(a.Attr("title")); text != "" {
		return text
	}
	for i := 0; ; {
		t, next := markup.NextTag(content, i)
		if next < 0 {
			return ""
		}
		if i = next; t.Is("img") {
			return oneLine(t.Attr("alt"))
		}
	}
}
