package collector

import (
	"bytes"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/newsfork/seed-engine/sitemap"
)

func readBack(t *testing.T, text string) (urls []string) {
	t.Helper()
	if err := readChildren(strings.NewReader(text), func(url string) { urls = append(urls, url) }); err != nil {
		t.Fatal(err)
	}
	return urls
}

// TestChildPages: the list of the pages of a site's sitemaps is read as it was written, in a part of the bytes.
func TestChildPages(t *testing.T) {
	var l childPages
	var want []string
	size := 0
	for _, host := range []string{"www.example.com", "example.com", "뉴스.example.com"} {
		for i := range 300 {
			url := canonical(fmt.Sprintf("https://%s/news/%d/%d-제목?a=%d", host, i%7, i, i))
			l.add([]byte(url))
			want = append(want, url)
			size += len(url)
		}
	}
	for _, bad := range []string{"", "mailto:x", "https://example.com/" + strings.Repeat("x", maxLine)} {
		l.add([]byte(bad))
	}
	if got := readBack(t, string(l.text)); !slices.Equal(got, want) {
		t.Errorf("%d URLs, want %d", len(got), len(want))
	}
	if 3*len(l.text) > 2*size {
		t.Errorf("%d bytes for URLs of %d", len(l.text), size)
	}
}

// TestChildPages_Bounded: however much a site lists, the list stays small.
func TestChildPages_Bounded(t *testing.T) {
	var many, long childPages
	for i := range sitemap.MaxEntries + 10 {
		many.add(fmt.Appendf(nil, "https://example.com/%d", i))
	}
	for i := range 3000 {
		long.add(fmt.Appendf(nil, "https://example.com/%d/%s", i, strings.Repeat("x", 1000)))
	}
	if n := len(readBack(t, string(many.text))); n != sitemap.MaxEntries {
		t.Errorf("%d URLs", n)
	}
	if len(long.text) > maxChildBytes || long.urls < 2000 {
		t.Errorf("%d URLs in %d bytes", long.urls, len(long.text))
	}
}

// FuzzReadChildren: a damaged list names no more than is in it, and breaks nothing.
func FuzzReadChildren(f *testing.F) {
	f.Add([]byte("0 https://example.com/a\n20 b\n"))
	f.Add([]byte("5 x"))
	f.Add([]byte("99999999999999999999 x\n"))
	f.Add(bytes.Repeat([]byte("x"), maxLine+1))
	f.Fuzz(func(t *testing.T, text []byte) {
		n := 0
		_ = readChildren(bytes.NewReader(text), func(string) { n++ })
		if n > bytes.Count(text, []byte("\n"))+1 {
			t.Errorf("%d URLs", n)
		}
	})
}
