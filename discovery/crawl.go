package discovery

import (
	"cmp"
	"slices"
	"strconv"
	"strings"
	"time"
)

// Bounds of the crawl.
const (
	MinRelevance = 0.3 // pages above are kept
	newPerPage   = 5
	maxKept      = 99
)

// Request is what the crawl wants to know next.
type Request struct {
	Method string // GET for the home page, else HEAD
	URL    string
}

// Crawl decides which pages of one host to look at, breadth first: the home page, then pages that it
// links to and pages that the patterns of the domain suggest. It wants only what robots.txt is known
// to allow, and nothing that is known already. The caller fetches: it takes Next until there is none,
// or until it has spent what it wants to spend, and tells each Answer. Pages worth keeping are added
// to the Analyser.
type Crawl struct {
	a        *Analyser
	origin   string
	queue    []step
	taken    map[string]bool
	patterns []URLPattern
	current  step
	kept     int
}

// step is a page to look at.
type step struct {
	url    string
	method Method
	depth  int
}

// Crawl begins a crawl of the host of home, the URL of its home page, with what is known so far.
func (a *Analyser) Crawl(home string) *Crawl {
	c := &Crawl{a: a, taken: map[string]bool{}}
	c.patterns, _ = a.patterns()
	if valid, _ := a.canonical([]byte(home)); valid {
		p := parsePage(string(a.buf))
		c.origin = p.origin()
		c.taken[p.url] = true
		if c.allowed(p.url) {
			c.queue = append(c.queue, step{url: p.url, method: FromLink})
		}
	}
	return c
}

// allowed asks robots.txt; what it is not known to allow is not requested, nor what operators excluded.
func (c *Crawl) allowed(url string) bool {
	allowed, known := c.a.robots(url)
	return allowed && known && !c.a.ruledOut(url)
}

// Next gives the next page to request, if there is one.
func (c *Crawl) Next() (Request, bool) {
	if len(c.queue) == 0 || c.kept >= maxKept {
		return Request{}, false
	}
	c.current, c.queue = c.queue[0], c.queue[1:]
	if c.current.depth == 0 {
		return Request{Method: "GET", URL: c.current.url}, true
	}
	return Request{Method: "HEAD", URL: c.current.url}, true
}

// Answer tells what came of the last request: its status, 0 for none, its Content-Type, and the
// absolute links of the page if it has a body. Only web pages count.
func (c *Crawl) Answer(status int, contentType string, links []string) {
	media, _, _ := strings.Cut(contentType, ";")
	if status < 200 || status > 299 || !strings.EqualFold(strings.TrimSpace(media), "text/html") {
		return
	}
	if c.current.depth > 0 {
		if class, confidence := c.a.classifier.likely(c.current.url); crawlRelevance(types[class], confidence) > MinRelevance {
			c.kept++
			c.a.Add(&Fact{Loc: []byte(c.current.url), Method: c.current.method})
		}
	}
	if c.current.depth < maxCrawlDepth {
		c.extend(links)
	}
}

// extend queues up to newPerPage pages: the most relevant links, then what patterns suggest.
func (c *Crawl) extend(links []string) {
	type link struct {
		url       string
		relevance float64
	}
	var found []link
	listed := map[string]bool{}
	for _, l := range links {
		u, ok := c.candidate(l)
		if !ok || listed[u] {
			continue
		}
		listed[u] = true
		class, confidence := c.a.classifier.likely(u)
		if relevance := crawlRelevance(types[class], confidence); relevance > MinRelevance {
			found = append(found, link{u, relevance})
		}
	}
	slices.SortFunc(found, func(x, y link) int {
		return cmp.Or(cmp.Compare(y.relevance, x.relevance), strings.Compare(x.url, y.url))
	})
	added := 0
	add := func(u string, m Method) {
		if added < newPerPage && !c.taken[u] && c.allowed(u) {
			added++
			c.taken[u] = true
			c.queue = append(c.queue, step{u, m, c.current.depth + 1})
		}
	}
	for _, l := range found {
		if added == newPerPage {
			return
		}
		add(l.url, FromLink)
	}
	for _, p := range c.patterns {
		for _, path := range generate(p, c.a.o.Now) {
			if added == newPerPage {
				return
			}
			if u, ok := c.candidate(c.origin + path); ok {
				add(u, Generated)
			}
		}
	}
}

// candidate gives the canonical form of a URL of the host that looks like a page and is not known yet.
func (c *Crawl) candidate(url string) (string, bool) {
	valid, inside := c.a.canonical([]byte(url))
	if !valid || !inside || len(c.a.buf) > MaxURLLength || c.a.seen.find(keyOf(c.a.buf)) != nil {
		return "", false
	}
	p := parsePage(string(c.a.buf))
	if c.taken[p.url] || p.origin() != c.origin || p.trapOf(c.a.o.Now) != noTrap || p.isLogin() {
		return "", false
	}
	if e := p.extension(); e != "" && !pageExtensions[e] {
		return "", false
	}
	return p.url, true
}

// generate gives the paths that a pattern suggests, most recent first: years and months around now;
// what stands before a placeholder that cannot be guessed is a page that may list others.
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
