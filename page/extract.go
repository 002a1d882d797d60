package page

import (
	"bytes"
	"cmp"
	"io"
	"slices"
	"strings"

	"github.com/newsfork/seed-engine/markup"
)

// MaxBytes is the part of a page that is read, in bytes.
const MaxBytes = 128 << 10

// Source describes the page that a reader has.
type Source struct {
	URL         string // against which its canonical URL is resolved; "" if unknown
	ContentType string // as the server says, "" for none
}

// Extract returns the evidence of an HTML page, of which it reads the first MaxBytes. On an error of r it is the
// evidence of what was read before. Memory and time do not depend on the markup.
func Extract(r io.Reader, from Source) (*Evidence, error) {
	text, _ := markup.Decode(io.LimitReader(r, MaxBytes), from.ContentType)
	x := extractor{base: from.URL}
	x.scan.r = text
	for x.scan.next() {
		if x.scan.text != nil {
			x.read(x.scan.text)
		} else {
			x.tag(&x.scan.tag)
		}
	}
	x.breakLine()
	x.endHeading()
	x.finish()
	return &x.Evidence, x.scan.err
}

// Bounds of what an extractor remembers.
const (
	maxOpen = 128     // elements that are open
	maxLine = 4 << 10 // bytes of a line of text
	maxRaw  = 32 << 10
	// minProse is the length from which on a text is one, in characters.
	minProse = 80
)

// extractor reads a page from its beginning to its end.
type extractor struct {
	Evidence
	scan  scanner
	base  string
	open  []opened
	over  int // elements that are open beyond maxOpen
	line  text
	texts [texts]passage

	titled       bool // by a title element
	headingText  text
	headingRoles role
	h1Rank       int
	linesSinceH1 int
	crumbsDone   bool

	described string // by the page's meta data
	dates     dates
}

// opened is an element that was begun.
type opened struct {
	name  string
	roles role // with those of the elements around it
}

// The passages from which the main text is chosen, the best first.
const (
	mainProse = iota // sentences of the main part
	prose            // sentences outside menus and the like
	mainAny          // everything in the main part
	visible          // everything outside menus and the like
	texts
)

// roles are those of the innermost element.
func (x *extractor) roles() role {
	if len(x.open) == 0 {
		return 0
	}
	return x.open[len(x.open)-1].roles
}

// read takes a piece of text.
func (x *extractor) read(b []byte) {
	roles := x.roles()
	if roles&hidden != 0 {
		return
	}
	before := len(x.line.b)
	x.line.add(b)
	if roles&link != 0 {
		x.line.linked += len(x.line.b) - before
	}
	if len(x.line.b) > maxLine {
		x.breakLine()
	}
}

// tag takes a tag.
func (x *extractor) tag(t *markup.Tag) {
	name, e := elementOf(t)
	if e.form == raw {
		if !t.Closing {
			x.raw(t, name)
		}
		return
	}
	if x.roles()&crumbs != 0 || e.form == block || e.form == item {
		x.breakLine()
	} else if e.form == void {
		x.line.space()
	}
	switch {
	case t.Closing:
		x.close(name, t)
	case e.form == void:
		x.void(t, name)
	default:
		x.begin(t, name, e)
	}
}

// begin opens an element.
func (x *extractor) begin(t *markup.Tag, name string, e element) {
	around := x.roles()
	roles := e.role
	a := attributesOf(t)
	named, paywall := a.roles()
	if paywall {
		x.Paywall = cmp.Or(x.Paywall, PaywallMarkup)
	}
	roles |= named
	switch name {
	case "a":
		x.link(t)
	case "form":
		x.Forms++
	case "time":
		x.dates.time(t, &a, around)
	case "":
		if roles == 0 {
			switch {
			case t.Is("html"):
				x.Language = language(t.Attr("lang"))
			case t.Is("body"):
				x.open, x.over = nil, 0
			case len(a.itemprop) > 0:
				x.dates.property(string(a.itemprop), cmp.Or(t.Attr("content"), t.Attr("datetime")), FromMicrodata)
			}
			return // of an element without roles nothing needs to be remembered
		}
		name = string(markup.AppendLower(nil, t.Name[:min(len(t.Name), longestName)]))
	case "header":
		if around&mainPart != 0 {
			roles &^= boilerplate
		}
	}
	if roles&crumbs != 0 && x.crumbsDone {
		roles = roles&^crumbs | boilerplate
	}
	if e.form == item && len(x.open) > 0 && x.open[len(x.open)-1].name == name {
		x.pop(len(x.open) - 1)
		around = x.roles()
	}
	if len(x.open) == maxOpen {
		x.over++
		return
	}
	x.open = append(x.open, opened{name, roles | around})
	if roles&heading != 0 && around&heading == 0 {
		x.endHeading()
		x.headingRoles = roles | around
	}
}

// close ends the innermost element of a name, and those within it.
func (x *extractor) close(name string, t *markup.Tag) {
	if name == "" {
		if len(t.Name) > longestName {
			return
		}
		var lower [longestName]byte
		name = string(markup.AppendLower(lower[:0], t.Name))
	}
	if x.over > 0 {
		if _, known := elements[name]; known {
			x.over--
			return
		}
	}
	const furthest = 32 // elements that an end tag ends
	for i := len(x.open) - 1; i >= max(0, len(x.open)-furthest); i-- {
		if x.open[i].name == name {
			x.pop(i)
			return
		}
	}
}

// pop ends all open elements from the i-th on.
func (x *extractor) pop(i int) {
	before := x.roles()
	x.open = x.open[:i]
	ended := before &^ x.roles()
	if ended&heading != 0 {
		x.endHeading()
	}
	if ended&crumbs != 0 && len(x.Breadcrumb) > 0 {
		x.crumbsDone = true
	}
}

// link counts a link.
func (x *extractor) link(t *markup.Tag) {
	href := markup.Attribute(t.Attributes(), "href")
	if len(href) == 0 {
		return
	}
	x.Links++
	if isDocument(href) {
		x.Documents++
	}
}

// documents are the extensions of PDF and office files.
var documents = [...]string{"pdf", "doc", "docx", "xls", "xlsx", "ppt", "pptx", "hwp", "hwpx", "odt", "ods", "odp",
	"rtf", "csv", "epub"}

func isDocument(href []byte) bool {
	if i := bytes.IndexAny(href, "?#"); i >= 0 {
		href = href[:i]
	}
	dot := bytes.LastIndexByte(href, '.')
	return dot >= 0 && slices.ContainsFunc(documents[:], func(ext string) bool {
		return markup.EqualFold(href[dot+1:], ext)
	})
}

// void takes an element without content.
func (x *extractor) void(t *markup.Tag, name string) {
	switch name {
	case "meta":
		x.meta(t)
	case "base":
		if u, ok := markup.Resolve(x.base, []byte(t.Attr("href"))); ok {
			x.base = u
		}
	case "link":
		if x.Canonical == "" && slices.Contains(strings.Fields(strings.ToLower(t.Attr("rel"))), "canonical") {
			if u, ok := markup.Resolve(x.base, []byte(t.Attr("href"))); ok && len(u) <= MaxCanonical {
				x.Canonical = u
			}
		}
	case "img":
		if roles := x.roles(); roles&heading != 0 && roles&hidden == 0 && len(x.line.b) == 0 {
			x.line.add([]byte(t.Attr("alt")))
		}
	}
}

// raw takes an element without tags inside.
func (x *extractor) raw(t *markup.Tag, name string) {
	roles := x.roles()
	if x.scan.tag.Is("script") {
		isLD := strings.EqualFold(t.Attr("type"), "application/ld+json")
		limit := 0
		if isLD {
			limit = maxRaw
		}
		x.linkedData(x.scan.raw(name, limit))
		return
	}
	content := x.scan.raw(name, MaxTitle*8)
	if name == "title" && roles&hidden == 0 && !x.titled {
		var title text
		title.add(content)
		if title.b = title.trimmed(); len(title.b) > 0 {
			x.Title, x.titled = cut(title.b, MaxTitle), true
		}
	}
}

// meta takes a meta element.
func (x *extractor) meta(t *markup.Tag) {
	name := strings.ToLower(cmp.Or(t.Attr("property"), t.Attr("name"), t.Attr("http-equiv"), t.Attr("itemprop")))
	content := t.Attr("content")
	switch name {
	case "":
	case "robots", "googlebot":
		for word := range strings.FieldsSeq(strings.ToLower(strings.ReplaceAll(content, ",", " "))) {
			x.Noindex = x.Noindex || word == "noindex" || word == "none"
		}
	case "og:title", "twitter:title":
		if x.Title == "" {
			x.Title = Line(content, MaxTitle)
		}
	case "description", "og:description":
		if len(content) > len(x.described) {
			x.described = Line(content, MaxText)
		}
	case "content-language", "language", "og:locale":
		x.Language = cmp.Or(x.Language, language(strings.ReplaceAll(content, "_", "-")))
	case "article:content_tier":
		if tier := strings.ToLower(content); tier == "locked" || tier == "metered" {
			x.Paywall = cmp.Or(x.Paywall, ContentTier)
		}
	case "isaccessibleforfree":
		if strings.EqualFold(content, "false") {
			x.Paywall = NotFree
		}
	default:
		x.dates.property(name, content, FromMeta)
	}
}

// language returns a language tag, "" for anything else.
func language(s string) string {
	if len(s) < 2 || len(s) > MaxLanguage {
		return ""
	}
	for i, c := range []byte(s) {
		if isLetter := c|0x20 >= 'a' && c|0x20 <= 'z'; !isLetter && (i < 2 || c != '-' && (c < '0' || c > '9')) {
			return ""
		}
	}
	return s
}

// breakLine ends a line of text: what stands between two blocks.
func (x *extractor) breakLine() {
	line := x.line.trimmed()
	if len(line) == 0 {
		x.line.reset()
		return
	}
	roles := x.roles()
	x.Words = min(x.Words+countWords(line), MaxCount)
	dated := x.dates.count(line)
	switch {
	case roles&heading != 0:
		x.headingText.space()
		if len(x.headingText.b) < maxLine {
			x.headingText.append(line)
		}
	case roles&crumbs != 0:
		x.crumb(line)
	case roles&boilerplate == 0:
		x.passage(line, roles)
		if x.linesSinceH1++; x.H1 != "" && x.linesSinceH1 <= 6 && dated && 2*x.line.linked < len(line) {
			x.dates.visible(line)
		}
	}
	x.line.reset()
}

// passage adds a line to the texts from which the main one is chosen.
func (x *extractor) passage(line []byte, roles role) {
	main := roles&(mainPart|article) != 0
	isProse := 2*x.line.linked < len(line) && (len(line) >= 40 || roles&article != 0)
	for i, fits := range [texts]bool{mainProse: main && isProse, prose: isProse, mainAny: main, visible: true} {
		if fits {
			x.texts[i].add(line)
		}
	}
}

// endHeading ends the heading that was begun last.
func (x *extractor) endHeading() {
	line := x.headingText.trimmed()
	roles := x.headingRoles
	x.headingRoles = 0
	defer x.headingText.reset()
	if len(line) == 0 {
		return
	}
	if roles&firstHeading != 0 {
		rank := 2
		switch {
		case roles&boilerplate != 0:
			rank = 1
		case roles&(mainPart|article) != 0:
			rank = 3
		}
		if rank > x.h1Rank {
			x.H1, x.h1Rank, x.linesSinceH1 = cut(line, MaxTitle), rank, 0
			return
		}
	}
	if h := cut(line, MaxHeading); roles&boilerplate == 0 && len(x.Headings) < MaxHeadings && h != x.H1 {
		x.Headings = append(x.Headings, h)
	}
}

// crumbSeparators stand between the names in a breadcrumb that is one text.
var crumbSeparators = strings.NewReplacer(" > ", "\n", "›", "\n", "»", "\n", " / ", "\n", "→", "\n", "＞", "\n",
	"▶", "\n", " | ", "\n", "·", "\n", ">", "\n", "\\", "\n", "❯", "\n")

// crumb adds a part of the breadcrumb.
func (x *extractor) crumb(line []byte) {
	for name := range strings.SplitSeq(crumbSeparators.Replace(cut(line, MaxBreadcrumb*MaxCrumb)), "\n") {
		name = Line(strings.Trim(name, " /|<-:•"), MaxCrumb)
		n := len(x.Breadcrumb)
		if name != "" && n < MaxBreadcrumb && (n == 0 || x.Breadcrumb[n-1] != name) {
			x.Breadcrumb = append(x.Breadcrumb, name)
		}
	}
}

// finish decides what only the whole page tells.
func (x *extractor) finish() {
	for i := range x.texts {
		if t := &x.texts[i]; t.runes >= minProse || i == texts-1 {
			x.Text = t.String()
			break
		}
	}
	if x.texts[visible].runes < minProse && len(x.described) > len(x.Text) {
		x.Text = x.described
	}
	x.dates.decide(&x.Evidence)
	x.Links, x.Forms, x.Documents = min(x.Links, MaxCount), min(x.Forms, MaxCount), min(x.Documents, MaxCount)
	x.Bound()
}
