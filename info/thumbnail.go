package info

import (
	"bytes"
	"io"
	"strings"

	"github.com/newsfork/seed-engine/markup"
)

// maxHead is the part of a page that is searched for an image, in bytes. Some pages have styles and scripts before
// it.
const maxHead = 512 << 10

// PageImage returns the URL of a page's preview image (ogp.me): og:image, by HTTPS if the page names that, else that
// of Twitter cards, else a link of type image_src, else "". It reads only the page's head.
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
		err = nil // the rest of the page is irrelevant
	}
	return best, err
}

// picture returns the image in a tag and its rank, which is 0 without an image.
func picture(t *markup.Tag) (ref string, rank int) {
	switch {
	case t.Is("meta"):
		name := t.Attr("property")
		if name == "" {
			name = t.Attr("name")
		}
		switch strings.ToLower(name) {
		case "og:image:secure_url": // the same image by HTTPS
			return t.Attr("content"), 4
		case "og:image", "og:image:url":
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

// readHead reads up to the end of a page's head.
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

// rawTextEnd returns the end of the raw-text element whose content begins at i.
func rawTextEnd(b []byte, i int, end string) int {
	for ; i+len(end) <= len(b); i++ {
		if b[i] == '<' && markup.EqualFold(b[i:i+len(end)], end) {
			return i
		}
	}
	return len(b)
}
