package discovery

import (
	"cmp"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/newsfork/seed-engine/classify"
	"github.com/newsfork/seed-engine/markup"
)

// Bounds of the crawl.
const (
	MinRelevance = 0.3 // pages above are kept
	newPerPage   = 5
	maxWeighed   = 4000 // first links of a page; each takes some 50 µs in WebAssembly, which has one thread
	maxKept      = 99
)

// Crawl chooses the pages of one host to request, breadth first: pages that the home page links to, and pages that
// the domain's patterns suggest. It chooses only pages that robots.txt certainly allows and that nothing has listed.
// The caller sends HEAD requests: it calls Next until it returns nothing or the budget is spent, and Answer with each
// reply. Pages worth keeping are added to the Analyser, at most maxURLsPerCategory of a type.
type Crawl struct {
	a       *Analyser
	origin  string
	queue   []step
	taken   map[string]bool
	paths   []string // that the patterns suggest
	current step
	kept    int
	ofClass [classify.Classes]int // kept
}

// step is a page to look at.
type step struct {
	url    string
	method Method
	depth  int            // clicks from the home page
	class  classify.Class // of its URL
}

// Reply is the result of a request.
type Reply struct {
	Status       int // 0 for none
	ContentType  string
	URL          string    // after redirects; "" for the URL requested
	LastModified time.Time // zero for none
	Links        []Link    // of a body, in its order
}

// isPage reports whether a web page answered.
func (r *Reply) isPage() bool {
	media, _, _ := strings.Cut(r.ContentType, ";")
	return r.Status >= 200 && r.Status <= 299 && strings.EqualFold(strings.TrimSpace(media), "text/html")
}

// Crawl begins a crawl of the host of home, the URL of its home page, with the links of that page and the patterns
// learned so far. If r is not a page, it begins with the patterns alone.
func (a *Analyser) Crawl(home string, r Reply) *Crawl {
	c := &Crawl{a: a, taken: map[string]bool{}}
	patterns, _ := report{a}.patterns(nil)
	for _, p := range patterns {
		c.paths = append(c.paths, generate(p, a.o.Now)...)
	}
	valid, _ := a.urls.canonical([]byte(home))
	if !valid {
		return c
	}
	p := parsePage(string(a.urls.buf))
	c.origin = p.origin()
	c.taken[p.url] = true
	if !r.isPage() {
		r.Links = nil
	}
	a.Learn(r.Links)
	c.extend(r.Links)
	return c
}

// allowed reports whether a URL may be requested: robots.txt allows it for certain, and operators did not exclude
// it.
func (c *Crawl) allowed(url string) bool {
	allowed, decided := c.a.robots(url)
	return allowed && decided && !c.a.ruledOut(url)
}

// Next returns the next page to request, if there is one.
func (c *Crawl) Next() (url string, ok bool) {
	for len(c.queue) > 0 && c.kept < maxKept {
		c.current, c.queue = c.queue[0], c.queue[1:]
		if !c.full(c.current.class) {
			return c.current.url, true
		}
	}
	return "", false
}

// full reports whether enough pages of a class are kept.
func (c *Crawl) full(class classify.Class) bool { return c.ofClass[class] >= maxURLsPerCategory }

// Answer records the reply to the last request. Only web pages count. A redirect counts for its target, which must
// meet the same conditions as a requested page.
func (c *Crawl) Answer(r Reply) {
	if !r.isPage() {
		return
	}
	at := c.current
	if valid, _ := c.a.urls.canonical([]byte(r.URL)); valid && string(c.a.urls.buf) != at.url {
		p, fresh := c.fresh(r.URL)
		if !fresh || !c.allowed(p.url) {
			return
		}
		c.taken[p.url] = true
		at.url = p.url
	}
	class, relevance := c.relevance(at.url, "")
	if relevance > MinRelevance && !c.full(class) {
		c.kept++
		c.ofClass[class]++
		c.a.Add(&Sighting{Loc: []byte(at.url), Method: at.method, Lastmod: r.LastModified})
	}
	if at.depth < maxCrawlDepth {
		c.extend(r.Links)
	}
}

// relevance returns the class of a URL that a link with a text leads to, and its worth to the crawl.
func (c *Crawl) relevance(url, text string) (class classify.Class, relevance float64) {
	p := parsePage(url)
	t := c.a.textOf(&p)
	t.Anchor = cmp.Or(t.Anchor, text)
	class, confidence := c.a.classifier.BestText(url, t)
	return class, crawlRelevance(class.Type(), confidence)
}

// extend queues up to newPerPage pages: the most relevant links, then what patterns suggest.
func (c *Crawl) extend(links []Link) {
	type link struct {
		step
		relevance float64
	}
	depth := c.current.depth + 1
	var found []link
	listed := map[string]bool{}
	for _, l := range links {
		if len(listed) == maxWeighed {
			break
		}
		u, ok := c.candidate(l.URL)
		if !ok || listed[u] {
			continue
		}
		listed[u] = true
		if class, relevance := c.relevance(u, l.Text); relevance > MinRelevance {
			found = append(found, link{step{u, FromLink, depth, class}, relevance})
		}
	}
	slices.SortFunc(found, func(x, y link) int {
		return cmp.Or(cmp.Compare(y.relevance, x.relevance), strings.Compare(x.url, y.url))
	})
	added := 0
	add := func(s step) {
		if !c.taken[s.url] && !c.full(s.class) && c.allowed(s.url) {
			added++
			c.taken[s.url] = true
			c.queue = append(c.queue, s)
		}
	}
	for _, l := range found {
		if added == newPerPage {
			return
		}
		add(l.step)
	}
	for _, path := range c.paths {
		if added == newPerPage {
			return
		}
		if u, ok := c.candidate(c.origin + path); ok {
			class, _ := c.relevance(u, "")
			add(step{u, Generated, depth, class})
		}
	}
}

// candidate returns the canonical form of a URL of the host if it looks like a page and was not seen before.
func (c *Crawl) candidate(url string) (string, bool) {
	p, ok := c.fresh(url)
	return p.url, ok && p.origin() == c.origin
}

// fresh parses a URL of the domain, and reports whether it looks like a page and was not seen before.
func (c *Crawl) fresh(url string) (p page, ok bool) {
	valid, inside := c.a.urls.canonical([]byte(url))
	if !valid || !inside || len(c.a.urls.buf) > MaxURLLength || c.a.seen.find(keyOf(c.a.urls.buf)) != nil {
		return p, false
	}
	p = parsePage(string(c.a.urls.buf))
	if c.taken[p.url] || p.trapOf(c.a.o.Now) != markup.NoTrap || p.isLogin() {
		return p, false
	}
	e := p.ext
	return p, e == "" || pageExtensions[e]
}

// generate returns the paths that a pattern suggests, most recent first: years and months around now; the part
// before a placeholder that cannot be guessed is a page that may list others.
func generate(p URLPattern, now time.Time) []string {
	path, _, _ := strings.Cut(p.Pattern, "?")
	hasQuery := len(path) < len(p.Pattern)
	tokens := strings.Split(strings.Trim(path, "/"), "/")
	if hasQuery {
		tokens = tokens[:len(tokens)-1]
	}
	var example []string
	if len(p.Examples) > 0 {
		e := parsePage(p.Examples[0])
		example = slices.Clone(e.parts())
	}
	year, month := false, false
	for i, t := range tokens {
		switch {
		case !strings.Contains(t, "{"):
			continue
		case t == "{lang}" && i < len(example):
			tokens[i] = example[i]
			continue
		case t == "{year}" && !year:
			year = true
			continue
		case t == "{month}" && year && !month:
			month = true
			continue
		}
		tokens = tokens[:i]
		break
	}
	path = strings.Join(tokens, "/")
	if path == "" {
		return nil
	}
	var paths []string
	for back := range 2 {
		at := now.AddDate(-back, 0, 0)
		if month {
			at = time.Date(now.Year(), now.Month()-time.Month(back), 1, 0, 0, 0, 0, time.UTC)
		}
		s := strings.ReplaceAll(path, "{year}", strconv.Itoa(at.Year()))
		s = strings.ReplaceAll(s, "{month}", at.Format("01"))
		if paths = append(paths, "/"+s); !year {
			break
		}
	}
	return paths
}
