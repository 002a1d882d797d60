package sitemap

import (
	"hash/maphash"
	"slices"
	"strings"
	"time"

	"github.com/newsfork/seed-engine/markup"
)

// WellKnown are the paths where sites put a sitemap that robots.txt does not name, most frequent
// first: the protocol's own, those of the common publishing systems, and compressed ones.
var WellKnown = []string{
	"/sitemap.xml",
	"/sitemap_index.xml",
	"/wp-sitemap.xml",
	"/news-sitemap.xml",
	"/sitemap-index.xml",
	"/sitemap.xml.gz",
	"/sitemap-news.xml",
	"/sitemap_news.xml",
	"/sitemap_index.xml.gz",
	"/sitemap/sitemap.xml",
	"/sitemap.txt",
}

// Source names the way to a sitemap.
type Source string

const (
	FromRobots    Source = "robots"
	FromIndex     Source = "index"
	FromWellKnown Source = "well_known"
)

// Candidate is a sitemap to ask for.
type Candidate struct {
	URL    string
	Source Source
	Parent string // the index that names it, for FromIndex
}

// Walk decides which sitemap of a site to request next: those that robots.txt names, then the children of indexes,
// then well-known paths until the site's main sitemap was found. News comes first, then what changed last; but the
// children of a guessed index of news wait until the main sitemap was searched for, since they may be many. Well-known
// paths of news are tried even after the main sitemap was guessed, until one is found, since a news sitemap often lies
// beside it. No document is requested twice.
//
// The caller calls Next until it returns no candidate or its budget is spent, and reports each outcome with Redirect,
// Child or Read. A candidate that cannot be fetched needs no report.
type Walk struct {
	origin string
	now    time.Time
	keep   int

	pending   []pending // best first
	guesses   []string
	taken     map[string]struct{} // what was handed out, or read under another name
	forgotten map[uint64]struct{} // digests of the keys for which keep left no room
	seed      maphash.Seed        // of the digests
	found     bool                // the main sitemap
	named     bool                // it was not guessed: the site names its sitemaps
	news      bool                // a news sitemap was found at a well-known path
	order     int
}

// maxForgotten caps the candidates that are remembered only by hash, for lack of space. Beyond it nothing is counted.
const maxForgotten = 1 << 16

// pending is a candidate with what it is worth.
type pending struct {
	Candidate
	key     string
	class   class
	changed time.Time
	order   int
}

// class is the content that a sitemap's name suggests.
type class uint8

const (
	newsClass class = iota
	pageClass
	auxiliaryClass // images, tags, authors: few new pages are found there only
)

// NewWalk begins a walk over the site at origin, such as "https://www.herald.example". listed are
// the sitemaps of its robots.txt. keep is how many sitemaps can be fetched at most: of a larger
// index only the best are kept. Dates after now count for nothing.
func NewWalk(origin string, listed []string, keep int, now time.Time) *Walk {
	w := &Walk{
		origin:  strings.TrimRight(origin, "/"),
		now:     now,
		keep:    max(keep, 1),
		guesses: WellKnown,
		taken:   map[string]struct{}{},

		forgotten: map[uint64]struct{}{}, seed: maphash.MakeSeed(),
	}
	w.taken[identity(w.origin+"/robots.txt")] = struct{}{} // an index may name anything
	for _, u := range listed {
		w.add(pending{Candidate: Candidate{URL: u, Source: FromRobots}, key: identity(u)})
	}
	return w
}

// Next returns the next sitemap to ask for, if there is one.
func (w *Walk) Next() (Candidate, bool) {
	if w.found || w.news {
		if c, ok := w.guess(); ok {
			return c, true
		}
	}
	for len(w.pending) > 0 {
		p := w.pending[0]
		w.pending = slices.Delete(w.pending, 0, 1)
		if w.take(p.key) {
			return p.Candidate, true
		}
	}
	return w.guess()
}

// guess returns the next well-known path to try: one of news unless news was found, another one unless the site's main
// sitemap was found.
func (w *Walk) guess() (Candidate, bool) {
	for !w.named && len(w.guesses) > 0 {
		u := w.origin + w.guesses[0]
		w.guesses = w.guesses[1:]
		known := w.found
		if classify(u) == newsClass {
			known = w.news
		}
		key := identity(u)
		if known || !w.take(key) {
			continue
		}
		if i := slices.IndexFunc(w.pending, func(p pending) bool { return p.key == key }); i >= 0 {
			return w.pending[i].Candidate, true // an index names it
		}
		return Candidate{URL: u, Source: FromWellKnown}, true
	}
	return Candidate{}, false
}

// Redirect reports whether it is worth following c to target: not when that document was asked for
// already. One that is followed to counts as asked for.
func (w *Walk) Redirect(c Candidate, target string) bool {
	key := identity(target)
	return key != "" && (key == identity(c.URL) || w.take(key))
}

// Child adds a sitemap that the index c names. It may be called for any number of children.
func (w *Walk) Child(c Candidate, loc []byte, lastmod time.Time) {
	w.add(pending{
		Candidate: Candidate{URL: string(loc), Source: FromIndex, Parent: c.URL},
		key:       identity(string(loc)),
		changed:   lastmod,
	})
}

// Spare reports whether c is a guess beside the site's main sitemap, of which nothing is expected.
func (w *Walk) Spare(c Candidate) bool { return w.found && c.Source == FromWellKnown }

// EndGuesses ends the search at well-known paths.
func (w *Walk) EndGuesses() { w.guesses = nil }

// Read reports what the document of c was, which the site served at url. The main sitemap is the first that is not
// empty and not one of news.
func (w *Walk) Read(c Candidate, url string, s *Summary) {
	switch worth := c.Worth(url, s); {
	case worth == ListsNothing:
	case worth == OfNews, w.found && c.Source == FromIndex && ofNews(c, url, s):
		w.news = true
	case w.news && c.Source == FromIndex: // of news
	default:
		w.found = true
		w.named = w.named || c.Source != FromWellKnown
	}
}

// ofNews reports whether the document of c, which the site served at url, is a news sitemap. Some sites leave out the
// tags of news, so the name of either is enough.
func ofNews(c Candidate, url string, s *Summary) bool {
	return s.IsNews() || classify(c.URL) == newsClass || classify(url) == newsClass
}

// Worth is how well a sitemap serves as the main one of its site, ascending.
type Worth uint8

const (
	ListsNothing Worth = iota
	OfNews             // at a well-known path: the site probably has another one
	OfSite
)

// Worth returns the worth of the document of c, which the site served at url.
func (c Candidate) Worth(url string, s *Summary) Worth {
	switch {
	case s.Kind == Invalid || s.URLs+s.Children == 0:
		return ListsNothing
	case c.Source == FromWellKnown && ofNews(c, url, s):
		return OfNews
	}
	return OfSite
}

// Unread counts the sitemaps that are named and were not handed out, up to some 65,000.
func (w *Walk) Unread() int {
	n := len(w.forgotten)
	for i := range w.pending {
		if _, ok := w.taken[w.pending[i].key]; !ok {
			n++
		}
	}
	return n
}

func (w *Walk) take(key string) bool {
	if _, ok := w.taken[key]; ok {
		return false
	}
	w.taken[key] = struct{}{}
	delete(w.forgotten, maphash.String(w.seed, key))
	return true
}

// forget remembers a candidate by hash only.
func (w *Walk) forget(key string) {
	if len(w.forgotten) < maxForgotten {
		w.forgotten[maphash.String(w.seed, key)] = struct{}{}
	}
}

// add inserts p by its worth. What is beyond keep is only counted.
func (w *Walk) add(p pending) {
	if _, ok := w.taken[p.key]; ok || p.key == "" {
		return
	}
	p.class = classify(p.URL)
	p.order = w.order
	w.order++
	if p.changed.IsZero() {
		p.changed = dateInName(p.URL)
	}
	if !markup.Plausible(p.changed, w.now) {
		p.changed = time.Time{}
	}
	at, _ := slices.BinarySearchFunc(w.pending, p, compare)
	if slices.ContainsFunc(w.pending, func(q pending) bool { return q.key == p.key }) {
		return
	}
	if at == w.keep {
		w.forget(p.key)
		return
	}
	if len(w.pending) == w.keep {
		w.forget(w.pending[w.keep-1].key)
		w.pending = w.pending[:w.keep-1]
	}
	delete(w.forgotten, maphash.String(w.seed, p.key))
	w.pending = slices.Insert(w.pending, at, p)
}

// compare orders candidates, the better one first: news, then what robots.txt names, then what
// changed last, then as they were found.
func compare(a, b pending) int {
	if a.class != b.class {
		return int(a.class) - int(b.class)
	}
	if a.Source != b.Source && (a.Source == FromRobots || b.Source == FromRobots) {
		if a.Source == FromRobots {
			return -1
		}
		return 1
	}
	if c := b.changed.Compare(a.changed); c != 0 {
		return c
	}
	return a.order - b.order
}

// classify reads the name of a sitemap: its path, in words.
func classify(u string) class {
	path := strings.ToLower(u)
	if _, behind, ok := strings.Cut(path, "://"); ok {
		path = behind
	}
	if i := strings.IndexByte(path, '/'); i >= 0 {
		path = path[i:]
	}
	result := pageClass
	for word := range strings.FieldsFuncSeq(path, func(r rune) bool { return r < 'a' || r > 'z' }) {
		switch word {
		case "news", "googlenews", "newssitemap", "sitemapnews", "latest", "breaking":
			return newsClass
		case "image", "images", "photo", "photos", "video", "videos", "tag", "tags", "category", "categories",
			"taxonomies",
			"author", "authors", "user", "users":
			result = auxiliaryClass
		}
	}
	return result
}

// dateInName returns the day, month or year in the name of a part of an archive, such as sitemap-2024-05.xml,
// 2024/05/01.xml or 20240501.xml, or the zero time.
func dateInName(u string) time.Time {
	for i := len(u) - 4; i >= 0; i-- {
		if u[i] != '1' && u[i] != '2' || i > 0 && isDigit(u[i-1]) {
			continue
		}
		var b [10]byte
		digits := b[:0]
		for k := i; k < len(u) && len(digits) < 8; k++ {
			switch c := u[k]; {
			case isDigit(c):
				digits = append(digits, c)
			case (c == '-' || c == '/' || c == '_') && (len(digits) == 4 || len(digits) == 6):
			default:
				k = len(u)
			}
		}
		if len(digits) == 5 || len(digits) == 7 || len(digits) < 4 {
			continue
		}
		for len(digits) < 8 {
			digits = append(digits, "01"...)
		}
		if t, ok := markup.ParseDate(digits); ok && t.After(markup.FirstPage) {
			return t
		}
	}
	return time.Time{}
}

func isDigit(c byte) bool { return c >= '0' && c <= '9' }

// identity is the same for URLs that lead to one document: it leaves out scheme, fragment, default
// port and the case of the host. It is empty for what is no http or https URL.
func identity(u string) string {
	l, ok := markup.ParseLocation([]byte(u))
	if !ok {
		return ""
	}
	authority, path := l.Split()
	name := strings.TrimSuffix(strings.ToLower(authority), ":443")
	return strings.TrimSuffix(name, ":80") + path
}
