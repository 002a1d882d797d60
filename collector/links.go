package collector

import (
	"github.com/newsfork/seed-engine/discovery"
	"github.com/newsfork/seed-engine/markup"
)

// maxAnchorMarkup caps the markup of a link that is searched for its text. Longer links are not menu entries.
const maxAnchorMarkup = 2048

// pageLinks returns the links of a page in document order with their texts: the visible text, or else the title, or
// the description of the image. Links written by scripts are not found.
func pageLinks(page []byte, base string) []discovery.Link {
	var links []discovery.Link
	at, _ := markup.ParseLocation([]byte(base))
	var open markup.Tag // the link whose content begins at from; that of the next one does not belong to it
	from := -1
	end := func(at int) {
		if from >= 0 {
			links[len(links)-1].Text = linkText(page[from:min(at, from+maxAnchorMarkup)], &open)
		}
		from = -1
	}
	for i := 0; ; {
		t, next := markup.NextTag(page, i)
		if next < 0 {
			end(len(page))
			return links
		}
		i = next
		switch {
		case t.Is("a"):
			end(next)
			if u, ok := at.Resolve(nil, markup.Trim([]byte(t.Attr("href")))); ok && !t.Closing {
				links = append(links, discovery.Link{URL: string(u)})
				open, from = t, next
			}
		case t.Closing:
		case t.Is("script"), t.Is("style"), t.Is("template"):
			i = markup.EndTag(page, next, t.Name)
		}
	}
}

// linkText returns the text of a link. content might include the tag that ends it.
func linkText(content []byte, a *markup.Tag) string {
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
