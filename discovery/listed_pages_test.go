package discovery_test

import (
	"cmp"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/newsfork/seed-engine/classify/embedded"
	"github.com/newsfork/seed-engine/discovery"
)

var pagesNow = time.Date(2026, 2, 1, 0, 0, 0, 0, time.UTC)

func article(n int) *discovery.Sighting {
	return &discovery.Sighting{
		Loc:     fmt.Appendf(nil, "https://example.com/news/2026/01/story-number-%d", n),
		Lastmod: pagesNow.Add(-time.Duration(n) * 7 * time.Hour), Method: discovery.FromSitemap,
	}
}

// TestPages_Best: whatever the order in which URLs come, in whatever spelling and however often, the
// same ones are kept, the best first.
func TestPages_Best(t *testing.T) {
	const all, kept = 3000, 100
	var want []discovery.Page
	for seed := range uint64(4) {
		r := rand.New(rand.NewPCG(seed, 1))
		a := discovery.NewAnalyser(discovery.Options{Model: embedded.Model(), Domain: "example.com", Now: pagesNow,
			Pages: kept})
		for _, n := range r.Perm(all) {
			s := article(n)
			a.Add(s)
			if n%3 == 0 {
				s.Loc = append(s.Loc, "?utm_source=x#top"...)
				a.Add(s)
			}
		}
		got := a.Pages()
		if len(got) != kept {
			t.Fatalf("%d pages", len(got))
		}
		if !slices.IsSortedFunc(got, func(x, y discovery.Page) int {
			return int(1000*y.Priority) - int(1000*x.Priority)
		}) {
			t.Error("they are not in the order of their priorities")
		}
		if want == nil {
			want = got
		} else if !slices.Equal(got, want) {
			t.Errorf("seed %d: other pages", seed)
		}
	}
	oldest := pagesNow
	for _, p := range want {
		if p.Lastmod.Before(oldest) {
			oldest = p.Lastmod
		}
	}
	if age := pagesNow.Sub(oldest); age > 30*24*time.Hour {
		t.Errorf("a page of %v is among the best, although there are enough newer ones", age)
	}
}

// TestPages_AllSections: a section whose URLs look surer does not keep out the others, the listed and the raw URLs
// are among the pages, and the order in which they come makes no difference.
func TestPages_AllSections(t *testing.T) {
	const kept = 300
	type sighting struct {
		url string
		at  time.Time
	}
	var all []sighting
	for i := range 3000 {
		section := []string{"national", "world", "sport"}[i/1000]
		all = append(all, sighting{fmt.Sprintf("https://example.com/%s/story-%d", section, 1+i%1000),
			pagesNow.Add(-time.Duration(i) * time.Hour)})
	}
	raw := []string{"https://example.com/sport/story-1000", "https://example.com/world/story-900"}
	var want []discovery.Page
	for seed := range uint64(3) {
		a := discovery.NewAnalyser(discovery.Options{Model: embedded.Model(), Domain: "example.com", Now: pagesNow,
			Pages: kept})
		for _, n := range rand.New(rand.NewPCG(seed, 1)).Perm(len(all)) {
			a.Add(&discovery.Sighting{Loc: []byte(all[n].url), Lastmod: all[n].at, Method: discovery.FromSitemap})
		}
		for _, url := range raw {
			a.Add(&discovery.Sighting{Loc: []byte(url), Method: discovery.FromResearch})
			a.Score(url)
		}
		listed := a.Result().URLs
		got := a.Pages()
		if len(got) != kept {
			t.Fatalf("%d pages", len(got))
		}
		sections, has := map[string]int{}, map[string]bool{}
		for _, p := range got {
			sections[strings.Split(p.URL, "/")[3]]++
			has[p.URL] = true
		}
		if sections["national"] < kept/5 || sections["world"] < kept/5 || sections["sport"] < kept/5 {
			t.Errorf("of the sections: %v", sections)
		}
		for _, url := range raw {
			if !has[url] {
				t.Errorf("%s, a raw URL, is not among the pages", url)
			}
		}
		for _, u := range listed {
			if !has[u.URL] {
				t.Errorf("%s, which is listed, is not among the pages", u.URL)
			}
		}
		if !slices.IsSortedFunc(got, func(x, y discovery.Page) int {
			return cmp.Or(cmp.Compare(y.Priority, x.Priority), y.Lastmod.Compare(x.Lastmod))
		}) {
			t.Error("they are not in the order of their priorities, the newest first of equals")
		}
		if want == nil {
			want = got
		} else if !slices.Equal(got, want) {
			t.Errorf("seed %d: other pages", seed)
		}
	}
}

// TestPages_Forbidden: what is forbidden, excluded, foreign, a trap or part of a page is left out, even
// when that became known after it was added.
func TestPages_Forbidden(t *testing.T) {
	late := false
	a := discovery.NewAnalyser(discovery.Options{
		Model:  embedded.Model(),
		Domain: "example.com", Now: pagesNow, Pages: 100,
		Robots: func(url string) (bool, bool) {
			return !strings.Contains(url, "/private/") && !(late && strings.Contains(url, "/later/")),
				!strings.Contains(url, "//other.")
		},
		Excluded: func(url string) bool { return strings.Contains(url, "/ruled-out/") },
	})
	for _, url := range []string{
		"https://example.com/news/good-story", "https://other.example.com/news/of-another-host",
		"https://example.com/private/story", "https://example.com/later/story", "https://example.com/ruled-out/story",
		"https://foreign.org/news/story", "https://example.com/logo.png", "https://example.com/a/b/a/b/a/b/a/b",
		"https://example.com/news/x?PHPSESSID=0123456789abcdef0123456789abcdef", "ftp://example.com/news/file",
	} {
		a.Add(&discovery.Sighting{Loc: []byte(url), Method: discovery.FromResearch})
	}
	late = true
	var got []string
	for _, p := range a.Pages() {
		got = append(got, p.URL)
	}
	slices.Sort(got)
	if want := []string{"https://example.com/news/good-story",
		"https://other.example.com/news/of-another-host"}; !slices.Equal(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
}

// TestPages_Titles: a title survives a better sighting without one, and may come from a worse one.
func TestPages_Titles(t *testing.T) {
	a := discovery.NewAnalyser(discovery.Options{Model: embedded.Model(), Domain: "example.com", Now: pagesNow,
		Pages: 10})
	add := func(path string, m discovery.Method, title string) {
		a.Add(&discovery.Sighting{Loc: []byte("https://example.com/news/" + path), Method: m, Title: []byte(title)})
	}
	add("first", discovery.FromResearch, "Of the raw file")
	add("first", discovery.FromFeed, "")
	add("second", discovery.FromFeed, "")
	add("second", discovery.FromResearch, "Of the raw file")
	add("third", discovery.FromResearch, "Of the raw file")
	add("third", discovery.FromFeed, "Of the feed")
	add("long", discovery.FromFeed, strings.Repeat("가", 100))
	got := map[string]string{}
	for _, p := range a.Pages() {
		got[strings.TrimPrefix(p.URL, "https://example.com/news/")] = p.Title
	}
	if got["first"] != "Of the raw file" || got["second"] != "Of the raw file" || got["third"] != "Of the feed" ||
		got["long"] != strings.Repeat("가", 66) {
		t.Errorf("%q", got)
	}
}

// TestPages_AfterRestore: an analysis that goes on lists what it was given since.
func TestPages_AfterRestore(t *testing.T) {
	o := discovery.Options{Model: embedded.Model(), Domain: "example.com", Now: pagesNow, Pages: 10}
	a := discovery.NewAnalyser(o)
	a.Add(article(1))
	b, err := discovery.Restore(a.State(), discovery.Options{Model: embedded.Model(), Pages: 10})
	if err != nil {
		t.Fatal(err)
	}
	b.Add(article(1))
	b.Add(article(2))
	if got := b.Pages(); len(got) != 1 || !strings.HasSuffix(got[0].URL, "story-number-2") {
		t.Errorf("%+v", got)
	}
}

// BenchmarkPages adds a sitemap oldest first, so that each URL is better than those before.
func BenchmarkPages(b *testing.B) {
	for _, kept := range []int{0, 500} {
		b.Run(fmt.Sprint(kept), func(b *testing.B) {
			a := discovery.NewAnalyser(discovery.Options{Model: embedded.Model(), Domain: "example.com", Now: pagesNow,
				Pages: kept})
			for n := 0; b.Loop(); n++ {
				a.Add(article(50_000 - n%50_000))
			}
		})
	}
}
