package enginetest

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"os"
	"strings"
	"testing"
	"time"
)

// TestNewsSites_Twin: what a site serves is what testdata/newssite.json says, as test/newssite.test.mjs finds of its
// twin.
func TestNewsSites_Twin(t *testing.T) {
	var want struct {
		Host    string
		URLs    int
		Now     time.Time
		Digests map[string]string
	}
	b, err := os.ReadFile("testdata/newssite.json")
	if err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal(b, &want); err != nil {
		t.Fatal(err)
	}
	s := newsSite{want.Host, want.URLs, want.Now}
	for path, digest := range want.Digests {
		_, body := s.page(path)
		if sum := sha256.Sum256([]byte(body)); hex.EncodeToString(sum[:]) != digest {
			t.Errorf("%s has the digest %x, want %s", path, sum, digest)
		}
	}
	if len(want.Digests) != 8 {
		t.Errorf("%d paths, want 8", len(want.Digests))
	}
}

// TestNewsSites_Median: a site has the sizes that its comment promises.
func TestNewsSites_Median(t *testing.T) {
	for _, urls := range []int{3, 200, 5000} {
		s := newsSite{"site.sg", urls, time.Date(2026, 1, 28, 10, 0, 0, 0, time.UTC)}
		body := func(path string) string {
			_, body := s.page(path)
			return body
		}
		if n := len(body("/robots.txt")); n < 1800 || n > 2600 {
			t.Errorf("robots.txt has %d bytes", n)
		}
		if n := len(body("/")); n < 55_000 || n > 65_000 {
			t.Errorf("the home page of a site of %d URLs has %d bytes", urls, n)
		}
		if n := strings.Count(body("/"), "<a "); n != min(newsSiteLinks, urls+len(newsSiteSections)) {
			t.Errorf("the home page of a site of %d URLs has %d links", urls, n)
		}
		if n := strings.Count(body("/feed.xml"), "<item>"); n != min(newsSiteItems, s.articles()) {
			t.Errorf("the feed has %d items", n)
		}
		listed := 0
		for _, name := range []string{"news", "articles", "pages"} {
			listed += strings.Count(body("/sitemap-"+name+".xml"), "<url>")
		}
		if listed != urls {
			t.Errorf("the sitemaps list %d URLs, want %d", listed, urls)
		}
	}
}
