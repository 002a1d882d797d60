package info

import (
	"bytes"
	"io"
	"strings"

	"github.com/newsfork/seed-engine/markup"
)

// maxHead is how much of a page is searched for a picture, in bytes: some have their styles and scripts in
// front of it.
const maxHead = 512 << 10

// PageImage returns the URL of the picture by which a page wants to be shown (ogp.me): og:image, else
// that of Twitter's cards, else the link of the kind image_src; "" when it names none. It reads no more
// than the page's head.
func PageImage(page io.Reader, contentType, base string) (string, error) {
	text, _ := markup.Decode(io.LimitReader(page, maxHead), contentType)
	head, err := readHead(text)
	best, rank := "", 0
	for i := 0; ; {
		t, next := markup.NextTag(head, i)
		if next < 0 || t.Is("body") || t.Closing && t.Is("head") {
			break
		}
		i = next
		switch {
		case t.Closing:
		case t.Is("script"), t.Is("style"), t.Is("template"):
			i = rawTextEnd(head, next, "</"+strings.ToLower(string(t.Name)))
		case t.Is("base"):
			if u, ok := markup.Resolve(base, []byte(t.Attr("href"))); ok {
				base = u
			}
		default:
			if ref, r := picture(&t); r > rank {
				if u := media(base, ref); u != "" {
					best, rank = u, r
				}
			}
		}
	}
	if best != "" {
		err = nil // the rest of the page does not matter
	}
	return best, err
}

// picture returns the picture that a tag names, and how good it is; 0 when it names none.
func picture(t *markup.Tag) (ref string, rank int) {
	switch {
	case t.Is("meta"):
		name := t.Attr("property")
		if name == "" {
			name = t.Attr("name")
		}
		switch strings.ToLower(name) {
		case "og:image", "og:image:url", "og:image:secure_url":
			return t.Attr("content"), 3
		case "twitter:image", "twitter:image:src":
			return t.Attr("content"), 2
		}
	case t.Is("link"):
		if strings.EqualFold(t.Attr("rel"), "image_src") {
			return t.Attr("href"), 1
		}
	}
	return "", 0
}

// readHead reads until the head of a page has ended.
func readHead(r io.Reader) (head []byte, err error) {
	const piece = 16 << 10
	for {
		seen := len(head)
		head = append(head, make([]byte, piece)...)
		var n int
		n, err = io.ReadFull(r, head[seen:])
		head = head[:seen+n]
		if err != nil {
			if err == io.EOF || err == io.ErrUnexpectedEOF {
				err = nil
			}
			return head, err
		}
		tail := bytes.ToLower(head[max(0, seen-len("</head")):])
		if bytes.Contains(tail, []byte("</head")) || bytes.Contains(tail, []byte("<body")) {
			return head, nil
		}
	}
}

// rawTextEnd returns where the element ends whose content, which is no markup, begins at i.
func rawTextEnd(b []byte, i int, end string) int {
	for ; i+len(end) <= len(b); i++ {
		if b[i] == '<' && markup.EqualFold(b[i:i+len(end)], end) {
			return i
		}
	}
	return len(b)
}
