package sitemap

import (
	"bytes"
	"time"
	"unicode/utf8"

	"github.com/newsfork/seed-engine/markup"
)

// parser turns the tags and text of a document into entries. What the tags mean is decided by their
// local names and their place; namespaces only help, since they are so often wrong.
type parser struct {
	fn   func(*Entry)
	base markup.Location
	now  time.Time
	zone *time.Location // of dates that name none
	sum  Summary
	last []byte // loc of the last page

	details bool // summaries and pictures are wanted

	mode    mode
	judged  bool // a line that is no URL stood in front
	notText bool // and the document is no list of URLs
	first   byte // of the document, unless it is markup
	cutTag  bool // the document ended inside of a tag

	format    *format // of the last root seen, or of the entries of a document without; nil before
	open      bool    // the root has not been closed
	rootTag   []byte  // its prefix
	prefix    []byte  // of the document's own names: the root's or the open entry's
	ns        namespaces
	inside    space  // the extension whose element is open
	insideTag []byte // its prefix
	skip      []byte // local name of an open element with nothing of interest in it

	entry     element // the open entry
	e         Entry
	buf       []byte // what the slices of e point into
	ref       []byte // loc, before it is resolved
	refRank   int    // how good a link of a feed item it is
	dateRank  int    // how good a date of a feed item Lastmod is
	entryBase markup.Location

	field     element // the open field
	fieldAt   int     // where its text begins in buf
	cut       bool    // it is longer than maxField
	undefined bool    // it refers to an entity that is not defined here
	markedUp  bool    // its text is HTML, as in RSS and where Atom says so
}

func newParser(base string, now time.Time, fn func(*Entry)) *parser {
	p := &parser{fn: fn, now: now, buf: make([]byte, 0, 4<<10)}
	p.base, _ = markup.ParseLocation([]byte(base))
	return p
}

// webPage ends the document where HTML follows.
func (p *parser) webPage() {
	if p.format == nil {
		p.format = &htmlPage
		p.mode = inPage
	}
}

// row reads a line of text. following is the document from there on as far as it was read, or nil for
// what is not a line of its own: the beginning of an overlong one, and what stands in front of markup.
func (p *parser) row(b, following []byte) {
	b = markup.Trim(b)
	if len(b) == 0 {
		return
	}
	if p.first == 0 {
		p.first = b[0]
	}
	switch {
	case b[0] == '#' || p.notText:
	case following != nil && markup.SchemeEnd(b) > 0:
		p.startEntry(tagURL, nil)
		p.ref = b
		if p.endEntry() {
			p.setKind(Text)
			p.mode = inLines
		}
	case p.mode == inStart && !p.judged:
		p.judged, p.notText = true, !listsURLs(following)
	}
}

// listsURLs reports whether most lines of b are URLs: that distinguishes a text sitemap with a heading from
// an error message and from warnings in front of markup.
func listsURLs(b []byte) bool {
	urls, others := 0, 0
	for len(b) > 0 {
		end := markup.NextOf(b, 0, '\r', '\n')
		if end < 0 {
			end = len(b)
		}
		line := markup.Trim(b[:end])
		switch {
		case bytes.IndexByte(line, '<') >= 0:
			return false
		case len(line) == 0 || line[0] == '#':
		case markup.SchemeEnd(line) > 0:
			urls++
		default:
			others++
		}
		b = b[min(end+1, len(b)):]
	}
	return urls >= others && urls > 0
}

// tag reads what stands between "<" and ">".
func (p *parser) tag(t []byte) {
	closing := t[0] == '/'
	if closing {
		t = t[1:]
	}
	end, local := 0, 0
	for ; end < len(t) && t[end] > ' ' && t[end] != '/'; end++ {
		if t[end] == ':' {
			local = end + 1
		}
	}
	var buf [16]byte
	name := t[local:end]
	if len(name) > len(buf) {
		return
	}
	name = markup.AppendLower(buf[:0], name)
	var k key
	for i, c := range name {
		k = k.with(c, i)
	}
	attrs := t[end:]
	empty := !closing && len(attrs) > 0 && attrs[len(attrs)-1] == '/'
	p.element(k.element(name), name, t[:max(local-1, 0)], attrs, closing, empty)
}

// element reads a tag by the name of its element, which is in lower case and without prefix.
func (p *parser) element(e element, name, prefix, attrs []byte, closing, empty bool) {
	switch {
	case len(p.skip) > 0 && p.skipped(e, name, closing), e == none:
	case e == tagHTML:
		if !closing {
			p.webPage()
		}
	case byRoot[e] != nil:
		p.documentTag(byRoot[e], prefix, attrs, closing, empty)
	case byEntry[e] != nil:
		p.entryTag(e, prefix, attrs, closing, empty)
	case p.isFeed():
		feedReader{p}.feedTag(e, name, prefix, attrs, closing, empty)
	case p.entry != none:
		urlsetReader{p}.pageTag(e, prefix, attrs, closing, empty)
	}
}

// skipped reports whether a tag belongs to the element that is being skipped. The tags that
// end the entry around it also end it, should it never be closed.
func (p *parser) skipped(e element, name []byte, closing bool) bool {
	switch {
	case bytes.Equal(name, p.skip):
		if closing {
			p.skip = p.skip[:0]
			p.commit() // of a summary
		}
		return true
	case byEntry[e] != nil && byEntry[e].feed || closing && e == p.format.root:
		p.skip = p.skip[:0]
		return false
	}
	return true
}

// isFeed reports whether the document has turned out to be a feed.
func (p *parser) isFeed() bool { return p.format != nil && p.format.feed }

// documentTag reads the root of a document in the format f.
func (p *parser) documentTag(f *format, prefix, attrs []byte, closing, empty bool) {
	if closing {
		if f == p.format {
			p.endEntry()
			p.open = false
		}
		return
	}
	if p.open && p.format.feed != f.feed { // an element of that name in another format
		return
	}
	p.endEntry()
	p.buf = p.buf[:0]
	p.format, p.open = f, !empty
	p.rootTag = append(p.rootTag[:0], prefix...)
	p.setPrefix(prefix)
	p.declare(attrs)
	if base, ok := p.xmlBase(attrs, &p.base); ok {
		p.base = base
	}
	if f.isNamed(attrs) {
		p.setKind(f.kind)
	}
}

// setKind names the document by the first root, should several be concatenated.
func (p *parser) setKind(k Kind) {
	if p.sum.Kind == "" {
		p.sum.Kind = k
	}
}

func (p *parser) entryTag(e element, prefix, attrs []byte, closing, empty bool) {
	f := byEntry[e]
	switch {
	case f.feed && (p.format == nil || p.format.entry != e), !f.feed && p.isFeed():
		return
	case p.format == nil: // the root is missing or misspelt
		p.format = f
	}
	if s := p.spaceOf(prefix); s != ownNS && s != otherNS {
		return
	}
	p.endEntry()
	if closing {
		return
	}
	p.startEntry(e, prefix)
	if len(attrs) > 1 {
		p.declare(attrs)
		if base, ok := p.xmlBase(attrs, &p.base); ok {
			p.entryBase = base
		}
		if about := markup.Attribute(attrs, "rdf:about"); markup.SchemeEnd(about) > 0 {
			p.ref, p.refRank = p.keepValue(about), byGUID
		}
	}
	if empty {
		p.endEntry()
	}
}

func (p *parser) startEntry(e element, prefix []byte) {
	p.entry = e
	p.e = Entry{Priority: -1}
	p.buf = p.buf[:0]
	p.ref, p.refRank, p.dateRank = nil, 0, 0
	p.inside = ownNS
	p.setPrefix(prefix)
	if !p.entryBase.IsZero() {
		p.entryBase = markup.Location{}
	}
}

func (p *parser) setPrefix(prefix []byte) {
	if len(prefix) > 0 || len(p.prefix) > 0 {
		p.prefix = append(p.prefix[:0], prefix...)
	}
}

// spaceOf returns the namespace that a prefix stands for at this point.
func (p *parser) spaceOf(prefix []byte) space {
	switch {
	case p.inside != ownNS && bytes.Equal(prefix, p.insideTag):
		return p.inside
	case len(prefix) == 0 || bytes.Equal(prefix, p.prefix):
		return ownNS
	}
	return p.ns.of(prefix)
}

// urlsetReader reads the elements of sitemaps.
type urlsetReader struct{ *parser }

// pageTag reads a tag inside of <url> and <sitemap>.
func (p urlsetReader) pageTag(e element, prefix, attrs []byte, closing, empty bool) {
	switch e {
	case tagNews, tagImage, tagVideo:
		p.commit()
		p.extension(e, prefix, attrs, closing, empty)
		return
	case tagLink:
		if s := p.spaceOf(prefix); !closing && (s == linkNS || s == ownNS) &&
			len(markup.Attribute(attrs, "href")) > 0 && len(markup.Attribute(attrs, "hreflang")) > 0 {
			p.e.Alternates++
		}
		return
	}
	s := p.spaceOf(prefix)
	wanted := false
	switch e {
	case tagLoc:
		if p.details && s == imageNS && p.e.Image == nil && (p.e.News.Present || p.sum.NewsEntries > 0) && !closing &&
			!empty {
			p.commit()
			p.begin(tagImage)
			return
		}
		wanted = s == ownNS && p.ref == nil
	case tagLastmod:
		wanted = s == ownNS && p.e.Lastmod.IsZero()
	case tagChangefreq:
		wanted = s == ownNS && p.e.Changefreq == ""
	case tagPriority:
		wanted = s == ownNS && p.e.Priority < 0
	case tagTitle:
		wanted = s == newsNS && p.e.News.Title == nil
	case tagPublicationDate:
		wanted = s == newsNS && p.e.News.Date.IsZero()
	case tagName:
		wanted = s == newsNS && p.e.News.Name == nil
	case tagLanguage:
		wanted = s == newsNS && p.e.News.Language == nil
	}
	if s == newsNS {
		p.e.News.Present = true
	}
	p.commit()
	if wanted && !closing && !empty {
		p.begin(e)
	}
}

// extension reads the tags around what news, images and videos say of a page.
func (p urlsetReader) extension(e element, prefix, attrs []byte, closing, empty bool) {
	if closing {
		p.inside = ownNS
		return
	}
	s := newsNS
	switch e {
	case tagNews:
		p.e.News.Present = true
	case tagImage:
		p.e.Images++
		s = imageNS
	case tagVideo:
		p.e.Videos++
		s = videoNS
	}
	if !empty {
		p.declare(attrs)
		p.inside = s
		p.insideTag = append(p.insideTag[:0], prefix...)
	}
}

// The links of a feed item, from worst to best.
const (
	byGUID  = 1 + iota
	byOther // an alternate of another type than HTML
	byLink
)

// The dates of a feed item, from worst to best.
const (
	byDublinCore = 1 + iota
	byPublished
	byChanged
	byPubDate
)

// feedReader reads the elements of RSS and Atom feeds.
type feedReader struct{ *parser }

// feedTag reads a tag of a feed, inside of an item or outside.
func (p feedReader) feedTag(e element, local, prefix, attrs []byte, closing, empty bool) {
	p.commit()
	if closing {
		return
	}
	s := p.spaceOf(prefix)
	wanted := false
	switch {
	case e == tagEmbedded || e == tagImage:
		if p.details && p.entry != none && p.detail(local, prefix, attrs, empty) {
			return
		}
		if !empty {
			p.skip = append(p.skip[:0], local...)
		}
	case e == tagEnclosure || e == tagThumbnail:
		p.picture(e, attrs)
	case p.entry == none: // only the feed's own title and language
		p.buf = p.buf[:0]
		wanted = s == ownNS && p.open && (e == tagTitle && p.sum.Title == "" || e == tagLanguage &&
			p.sum.Language == "")
	case e == tagTitle:
		wanted = s == ownNS && p.e.Title == nil
	case e == tagLink:
		wanted = (s == ownNS || s == linkNS) && p.refRank < byLink && !p.linkHref(attrs)
	case e == tagGUID:
		wanted = s == ownNS && p.refRank < byGUID && !markup.EqualFold(markup.Attribute(attrs, "ispermalink"), "false")
	case e == tagPubDate || e == tagChanged || e == tagPublished || e == tagDCDate:
		wanted = s == ownNS || s == linkNS || s == dateNS
	}
	if wanted && !empty {
		p.begin(e)
		p.markedUp = !p.format.typedText || markup.EqualFold(markup.Attribute(attrs, "type"), "html")
	}
}

// detail reads an element of an item that may be its summary or a picture of it. It reports whether there is
// nothing in it to skip: it is a group of such elements.
func (p feedReader) detail(local, prefix, attrs []byte, empty bool) (group bool) {
	media := len(prefix) > 0 && p.spaceOf(prefix) == otherNS && markup.EqualFold(prefix, "media")
	switch name := string(local); {
	case media && name == "group":
		return true
	case media && name == "content":
		p.picture(tagThumbnail, attrs)
	case media || empty || p.e.Summary != nil && name != "summary":
	case name == "description", name == "summary", name == "encoded", name == "content":
		p.e.Summary = nil
		p.begin(tagEmbedded)
		p.e.SummaryText = p.format.typedText && !markup.EqualFold(markup.Attribute(attrs, "type"), "html")
	}
	return false
}

// picture reads a picture's URL from the attributes of its element, unless its type says it is something else.
func (p feedReader) picture(e element, attrs []byte) {
	if !p.details || p.entry == none || p.e.Image != nil {
		return
	}
	kind, medium := markup.Attribute(attrs, "type"), markup.Attribute(attrs, "medium")
	isImage := bytes.HasPrefix(kind, []byte("image/")) || markup.EqualFold(medium, "image") ||
		e == tagThumbnail && len(kind) == 0 && len(medium) == 0
	if url := markup.Attribute(attrs, "url"); isImage && len(url) > 0 {
		p.e.Image = p.keepValue(url)
	}
}

// linkHref takes the href of an Atom link (RFC 4287, 4.2.7) and reports whether there was one.
func (p feedReader) linkHref(attrs []byte) bool {
	href := markup.Attribute(attrs, "href")
	if href == nil {
		return false
	}
	rel, typ, rank := markup.Attribute(attrs, "rel"), markup.Attribute(attrs, "type"), byLink
	if len(typ) > 0 && !bytes.Contains(typ, []byte("html")) {
		rank = byOther
	}
	const alternate = "alternate" // perhaps behind the name of the registry
	if rank > p.refRank && len(href) > 0 && (len(rel) == 0 ||
		markup.EqualFold(rel[max(len(rel)-len(alternate), 0):], alternate)) {
		p.ref, p.refRank = p.keepValue(href), rank
	}
	return true
}

// begin opens a field. It ends with its own end tag, or with the next tag that means something.
func (p *parser) begin(e element) {
	p.field = e
	p.fieldAt = len(p.buf)
	p.cut, p.undefined, p.markedUp = false, false, false
}

// keep adds text to the open field, if there is one.
func (p *parser) keep(b []byte) {
	if p.field == none {
		return
	}
	if room := maxField - (len(p.buf) - p.fieldAt); len(b) > room {
		p.cut = true
		b = b[:max(room, 0)]
	}
	p.buf = append(p.buf, b...)
}

// keepEscaped adds text in which references are to be decoded.
func (p *parser) keepEscaped(b []byte) {
	at := len(p.buf)
	p.keep(b)
	if bytes.IndexByte(p.buf[at:], '&') >= 0 {
		text, undefined := markup.Unescape(p.buf[at:])
		p.buf = p.buf[:at+len(text)]
		p.undefined = p.undefined || undefined
	}
}

// commit closes the open field and puts its text where it belongs.
func (p *parser) commit() {
	e := p.field
	if e == none {
		return
	}
	p.field = none
	if e == tagEmbedded {
		p.skip = p.skip[:0]
	}
	v := markup.Trim(p.buf[p.fieldAt:])
	if len(v) == 0 {
		p.buf = p.buf[:p.fieldAt]
		return
	}
	// Free the buffer for what is not kept as text.
	switch e {
	case tagLoc, tagLink:
		p.takeRef(v, byLink)
		return
	case tagImage:
		if !p.cut {
			p.e.Image = v
			return
		}
	case tagGUID:
		if markup.SchemeEnd(v) > 0 {
			p.takeRef(v, byGUID)
			return
		}
	case tagTitle:
		switch {
		case !p.isFeed():
			p.e.News.Title = p.text(v)
		case p.entry != none:
			p.e.Title = p.text(v)
		default:
			p.sum.Title = string(p.text(v))
		}
		return
	case tagEmbedded:
		p.e.Summary = bytes.Clone(p.summary(v)) // what follows may move buf
	case tagName:
		p.e.News.Name = p.text(v)
		return
	case tagLanguage:
		if p.isFeed() {
			p.sum.Language = string(p.text(v))
		} else {
			p.e.News.Language = p.text(v)
		}
		return
	case tagLastmod:
		p.e.Lastmod, _ = markup.ParseDateIn(v, p.zone)
	case tagPublicationDate:
		p.e.News.Date, _ = markup.ParseDateIn(v, p.zone)
	case tagPubDate:
		feedReader{p}.itemDate(v, byPubDate)
	case tagChanged:
		feedReader{p}.itemDate(v, byChanged)
	case tagPublished:
		feedReader{p}.itemDate(v, byPublished)
	case tagDCDate:
		feedReader{p}.itemDate(v, byDublinCore)
	case tagChangefreq:
		p.e.Changefreq = frequency(v)
	case tagPriority:
		p.e.Priority = parsePriority(v)
	}
	p.buf = p.buf[:p.fieldAt]
}

// takeRef reads the text of a loc. A truncated one is not a URL. One with an entity that the document defines is a
// URL only if it is absolute without the entity.
func (p *parser) takeRef(v []byte, rank int) {
	p.ref, p.refRank = v, rank
	if p.cut || p.undefined && markup.SchemeEnd(v) == 0 {
		p.ref = p.ref[:0]
	}
}

func (p feedReader) itemDate(v []byte, rank int) {
	if rank <= p.dateRank {
		return
	}
	if t, ok := markup.ParseDateIn(v, p.zone); ok {
		p.e.Lastmod, p.dateRank = t, rank
	}
}

// frequency returns one of the protocol's words, or "".
func frequency(v []byte) string {
	var buf [8]byte
	if len(v) > len(buf) {
		return ""
	}
	switch string(markup.AppendLower(buf[:0], v)) {
	case "always":
		return "always"
	case "hourly":
		return "hourly"
	case "daily":
		return "daily"
	case "weekly":
		return "weekly"
	case "monthly":
		return "monthly"
	case "yearly":
		return "yearly"
	case "never":
		return "never"
	}
	return ""
}

// parsePriority parses a decimal from 0 to 1, or returns -1.
func parsePriority(v []byte) float32 {
	value, scale := 0, 0
	for i, c := range v {
		switch {
		case c >= '0' && c <= '9' && i < 9:
			value = value*10 + int(c-'0')
			scale *= 10
		case (c == '.' || c == ',') && scale == 0:
			scale = 1
		default:
			return -1
		}
	}
	scale = max(scale, 1)
	if value > scale {
		return -1
	}
	return float32(value) / float32(scale)
}

// endEntry hands the open entry over if its loc is usable.
func (p *parser) endEntry() bool {
	p.commit()
	if p.entry == none {
		return false
	}
	entries := byEntry[p.entry]
	child := entries.index || p.format != nil && p.format.index
	p.entry = none
	p.inside = ownNS
	p.skip = p.skip[:0]
	p.setPrefix(p.rootTag)
	base := &p.base
	if !p.entryBase.IsZero() {
		base = &p.entryBase
	}
	loc, ok := p.ref, base.IsResolved(p.ref)
	if !ok {
		ref := p.repair(p.ref) // may move buf
		loc, ok = base.Resolve(p.buf, ref)
	}
	if !ok {
		p.sum.Skipped++
		return false
	}
	p.e.Loc, p.e.Child = loc, child
	if p.format != nil {
		p.setKind(entries.kind)
	}
	p.count()
	if p.fn != nil {
		p.fn(&p.e)
	}
	return true
}

// count adds the entry to the summary.
func (p *parser) count() {
	s, e := &p.sum, &p.e
	if len(e.Loc) >= maxLocLength {
		s.OverlongLocs++
	}
	if e.Child {
		s.Children++
	} else {
		if s.URLs == 0 {
			s.FirstLoc = string(e.Loc)
		}
		s.URLs++
		p.last = append(p.last[:0], e.Loc...)
	}
	if !e.Lastmod.IsZero() && e.Child == (s.Kind == Index) {
		s.Lastmods++
		widen(&s.LastmodMin, &s.LastmodMax, e.Lastmod)
		p.newest(e.Lastmod)
	}
	if e.News.Present {
		s.NewsEntries++
		if e.News.Title != nil {
			s.NewsTitles++
		}
		if !e.News.Date.IsZero() {
			widen(&s.NewsDateMin, &s.NewsDateMax, e.News.Date)
			p.newest(e.News.Date)
		}
	}
	if e.Title != nil {
		s.ItemTitles++
	}
	s.Images += e.Images
	s.Videos += e.Videos
	s.Alternates += e.Alternates
}

func widen(lo, hi *time.Time, t time.Time) {
	if lo.IsZero() || t.Before(*lo) {
		*lo = t
	}
	if t.After(*hi) {
		*hi = t
	}
}

func (p *parser) newest(t time.Time) {
	if t.After(p.sum.Newest) && markup.Plausible(t, p.now) {
		p.sum.Newest = t
	}
}

// finish completes the summary after the last byte. A field that was not closed may be cut, and is
// dropped; its entry counts if it has a loc.
func (p *parser) finish() Summary {
	p.field = none
	s := &p.sum
	s.Truncated = p.open || p.entry != none || p.format == nil && p.cutTag
	p.endEntry()
	s.LastLoc = string(p.last)
	if s.Kind == "" {
		s.Kind = Invalid
		s.Problem = p.problem()
	}
	return *s
}

// problem describes a document of an unknown format.
func (p *parser) problem() string {
	switch {
	case p.format == &htmlPage:
		return "a web page, not a sitemap"
	case p.mode == inStart && p.first == 0:
		return "an empty document"
	case p.first == '{' || p.first == '[':
		return "JSON, not a sitemap"
	case p.mode == inStart:
		return "text that does not list URLs, not a sitemap"
	}
	return "neither a sitemap nor a feed: no element of theirs was found"
}

// declare notes the namespaces that a tag declares.
func (p *parser) declare(attrs []byte) {
	const xmlns = "xmlns:"
	if !bytes.Contains(attrs, []byte(xmlns)) {
		return
	}
	for a := markup.Attributes(attrs); ; {
		name, value := a.Next()
		if name == nil {
			return
		}
		if bytes.HasPrefix(name, []byte(xmlns)) {
			p.ns.declare(name[len(xmlns):], value)
		}
	}
}

// keepValue decodes the value of an attribute and keeps it with the entry.
func (p *parser) keepValue(value []byte) []byte {
	at := len(p.buf)
	p.buf = append(p.buf, value...)
	text, _ := markup.Unescape(p.buf[at:])
	p.buf = p.buf[:at+len(text)]
	return markup.Trim(text)
}

// xmlBase resolves the xml:base of a tag (https://www.w3.org/TR/xmlbase/).
func (p *parser) xmlBase(attrs []byte, parent *markup.Location) (markup.Location, bool) {
	if !bytes.Contains(attrs, []byte("xml:base")) {
		return markup.Location{}, false
	}
	b, ok := parent.Resolve(nil, p.keepValue(markup.Attribute(attrs, "xml:base")))
	if !ok {
		return markup.Location{}, false
	}
	return markup.ParseLocation(b)
}

// text normalises what people read: HTML is decoded where it is due, stray bytes become the characters of
// windows-1252 that they most likely are, white space and control characters single spaces.
func (p *parser) text(v []byte) []byte {
	if p.cut {
		v = wholeRunes(v)
	}
	if p.markedUp {
		v, _ = markup.Unescape(v)
	}
	v = p.repair(v)
	w := 0
	for _, c := range v {
		if c <= ' ' || c == 0x7f {
			if w > 0 && v[w-1] == ' ' {
				continue
			}
			c = ' '
		}
		v[w] = c
		w++
	}
	if v = markup.Trim(v[:w]); len(v) == 0 {
		return nil
	}
	return v
}

// summary is the text of a summary as it stands, repaired.
func (p *parser) summary(v []byte) []byte {
	if p.cut {
		v = wholeRunes(v)
	}
	return p.repair(v)
}

// wholeRunes drops a character that the end of b cuts.
func wholeRunes(b []byte) []byte {
	for n := 1; n <= utf8.UTFMax && n <= len(b); n++ {
		if tail := b[len(b)-n:]; utf8.RuneStart(tail[0]) {
			if !utf8.FullRune(tail) {
				return b[:len(b)-n]
			}
			break
		}
	}
	return b
}

// repair returns b as UTF-8.
func (p *parser) repair(b []byte) []byte {
	if utf8.Valid(b) {
		return b
	}
	at := len(p.buf)
	p.buf = markup.AppendUTF8(p.buf, b)
	return p.buf[at:]
}
