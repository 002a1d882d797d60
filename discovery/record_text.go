package discovery

import (
	"cmp"
	"slices"
	"strings"

	"github.com/newsfork/seed-engine/classify"
)

// Link is a link of a page.
type Link struct {
	URL  string // absolute
	Text string // as a reader sees it; "" for none, as of an image
}

// Bounds of a domain's texts; see also maxTitle.
const (
	maxTitles  = 500 // titles of pages
	maxAnchors = 300 // texts of the home page's first links
	maxAnchor  = 100 // bytes of a link's text; longer ones are teasers
)

// titleOf is a title of a page, with the rank of the method by which it was found.
type titleOf struct {
	rank uint8
	text string
}

// texts are the texts by which pages are known, beside their URLs.
type texts struct {
	titles  map[uint64]titleOf // by keyOf the URL
	links   []Link             // those of the home page that have a text, in canonical form
	anchors map[string]string  // text of a link, by URL
	menus   map[string]string  // text of the only link with a field in its query, by the field; "" if there are several
	paths   map[string]string  // text of a link, by host and path without the name of an index page
}

// addTitle adds a title of the URL with the key. The title of the best method stays, or of several the first in
// alphabetical order. If there are too many titles, those of the lowest keys stay, so their order does not matter.
func (t *texts) addTitle(key uint64, rank uint8, title []byte) {
	if len(title) == 0 {
		return
	}
	if old, ok := t.titles[key]; ok && (old.rank > rank || old.rank == rank && old.text <= string(title)) {
		return
	}
	if t.titles == nil {
		t.titles = map[uint64]titleOf{}
	}
	t.titles[key] = titleOf{rank, shortTitle(title)}
	if len(t.titles) >= 2*maxTitles {
		t.trim()
	}
}

// trim drops all but maxTitles titles.
func (t *texts) trim() {
	if len(t.titles) <= maxTitles {
		return
	}
	for _, key := range t.keys()[maxTitles:] {
		delete(t.titles, key)
	}
}

// keys are the keys of the titles, ascending.
func (t *texts) keys() []uint64 {
	keys := make([]uint64, 0, len(t.titles))
	for key := range t.titles {
		keys = append(keys, key)
	}
	slices.Sort(keys)
	return keys
}

// learn reads the links of the home page: its menu names the sections of the site. Links are in canonical form.
func (t *texts) learn(links []Link) {
	t.anchors, t.menus, t.paths = map[string]string{}, map[string]string{}, map[string]string{}
	t.links = nil
	for _, l := range links {
		if len(t.links) == maxAnchors {
			return
		}
		if l.Text == "" || len(l.Text) > maxAnchor || t.anchors[l.URL] != "" {
			continue
		}
		t.links = append(t.links, l)
		t.anchors[l.URL] = l.Text
		p := parsePage(l.URL)
		if p.query == "" && !p.isHome() {
			t.paths[p.host+p.directory(p.depth)] = l.Text
		}
		for f := range menuFields(p.query) {
			if _, again := t.menus[f]; again {
				t.menus[f] = ""
			} else {
				t.menus[f] = l.Text
			}
		}
	}
}

// position returns the place of a URL among the home page's links that have a text, from 1; 0 if it is none of them.
func (t *texts) position(url string) int {
	if t.anchors[url] == "" {
		return 0
	}
	return 1 + slices.IndexFunc(t.links, func(l Link) bool { return l.URL == url })
}

// section returns the text of the link to a page's section, or "": the menu entry that shares a query field, or has
// the longest common path.
func (t *texts) section(p *page) string {
	for f := range menuFields(p.query) {
		if text := t.menus[f]; text != "" {
			return text
		}
	}
	if len(t.paths) == 0 {
		return ""
	}
	section, path := "", append(make([]byte, 0, 128), p.host...)
	for i := range min(p.depth, len(p.segments)) - 1 {
		path = append(append(path, '/'), p.body(i)...) // p.directory(i+1) behind the host
		if text := t.paths[string(path)]; text != "" {
			section = text
		}
	}
	return section
}

// directory is the path of a page's first n segments, without the name of an index page and without an extension.
func (p *page) directory(n int) string {
	if n > 0 && n == p.depth && homeNames[strings.ToLower(p.body(n-1))] {
		n--
	}
	var path strings.Builder
	for i := range min(n, len(p.segments)) {
		path.WriteByte('/')
		path.WriteString(p.body(i))
	}
	return path.String()
}

// menuNames are the names of fields that choose the section of a site, in lower case without separators.
var menuNames = words(
	"mid menuid menuno menucd menucode menukey mcode mno mn mcd key pid pageid bbsid bbsno boardid boardno bid board " +
		"bname botable" +
		" cid catid category cat categoryid ctgr code sitecode cmscode section sectionid sec sid n node nodeid " +
		"channel channelid topic type tab kind div gubun")

// separators stand in names of fields or not.
var separators = strings.NewReplacer("_", "", "-", "")

// minMenuValue is the length of a value that is unlikely to mean something else elsewhere.
const minMenuValue = 2

// menuFields yields the fields of a query that may choose a section, as they stand there.
func menuFields(query string) func(func(string) bool) {
	return func(yield func(string) bool) {
		for f := range strings.SplitSeq(query, "&") {
			name, value, _ := strings.Cut(f, "=")
			if len(value) >= minMenuValue && menuNames[separators.Replace(strings.ToLower(name))] && !yield(f) {
				return
			}
		}
	}
}

// Learn sets the links of the home page, in its order. Those to pages of the domain name its sections.
func (a *Analyser) Learn(links []Link) {
	var own []Link
	for _, l := range links {
		if len(own) == 2*maxAnchors {
			break
		}
		if l.Text == "" {
			continue
		}
		if valid, inside := a.urls.canonical([]byte(l.URL)); valid && inside && len(a.urls.buf) <= MaxURLLength {
			own = append(own, Link{string(a.urls.buf), l.Text})
		}
	}
	a.texts.learn(own)
	a.concluded = conclusions{}
}

// textOf returns the texts by which a page is known.
func (a *Analyser) textOf(p *page) (t classify.Text) {
	t.Title = a.texts.titles[keyOf(p.url)].text
	t.Anchor = a.texts.anchors[p.url]
	if t.Section = a.texts.section(p); t.Anchor != "" && t.Section != "" && !a.isMenu(p) {
		// A link of the home page to one page of a section is its title.
		t.Title, t.Anchor = cmp.Or(t.Title, t.Anchor), ""
	}
	return t
}

// evidenceOf returns the texts that tell what a page is. The title by which Research found one of many pages of a
// pattern does not: it would set the page apart from its siblings, of which nobody knows the title.
func (a siteView) evidenceOf(p *page) classify.Text {
	t := a.textOf(p)
	if title := a.texts.titles[keyOf(p.url)]; title.text != "" && methods[title.rank] == FromResearch &&
		a.hasSiblings(p) {
		t.Title = ""
	}
	return t
}

// hasSiblings reports whether there are enough pages like a page to tell what they are: of its pattern, or beside it
// with names that differ from its name in digits alone.
func (a siteView) hasSiblings(p *page) bool {
	n := a.tree.current(a.node(p.url))
	if n == noNode || n == root {
		return false
	}
	if a.survey().own[n].of.total() >= minAlike {
		return true
	}
	name := series(a.tree.nodes[n].token)
	if name == a.tree.nodes[n].token {
		return false
	}
	siblings := 0
	for c := a.tree.nodes[a.tree.nodes[n].parent].first; c != noNode; c = a.tree.nodes[c].next {
		if series(a.tree.nodes[c].token) == name {
			siblings++
		}
	}
	return siblings >= minNumbered
}

// isMenu reports whether the menu entry of a page's section leads to the page.
func (a *Analyser) isMenu(p *page) bool {
	for f := range menuFields(p.query) {
		if a.texts.menus[f] != "" {
			return a.texts.menus[f] == a.texts.anchors[p.url]
		}
	}
	return false
}
