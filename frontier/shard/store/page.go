package store

import (
	"github.com/newsfork/seed-engine/epoch"
	"github.com/newsfork/seed-engine/frontier"
	"github.com/newsfork/seed-engine/frontier/link"
)

// Page is a URL that waits to be fetched.
type Page struct {
	Path    string // after the host's slash, with the query
	Title   string
	HTTP    bool          // its scheme is http, not https
	Lastmod epoch.Seconds // 0 when unknown
	Due     epoch.Seconds // 0 means at once
	base    int           // its priority in thousandths without timeliness, plus ageShare, so that it is not negative
	Kind    uint8         // its content type's number, see TypeNames
	Class   uint8         // the index of its class among those of its host
	Tries   uint8         // server errors while the host answered for other pages
	Refused uint8         // answers that refused it
	Status  uint16        // of the last answer; 0 if there was none, 200 of a page with a visit is not written
	Foreign bool          // only pages of other domains have named it: it is not announced before it was fetched
	OwnDate bool          // the page itself states Lastmod
	Reason  uint8         // why it waits: New, Requested, Redated or Scheduled
	Visit   *Visit        // of a page that was fetched, as far as it is kept
	alike   string        // the pattern of its path, once it was asked for; not stored
}

// pattern returns the pattern of the page's path.
func (p *Page) pattern() string {
	if p.alike == "" {
		p.alike = link.Pattern(p.Path)
	}
	return p.alike
}

// Score is the page's priority at now, in thousandths.
func (p *Page) Score(now epoch.Seconds) int {
	return min(max(p.base-ageShare+timeliness(p.Lastmod, now), 0), maxScore)
}

const maxScore = 1000

// SetScore takes the priority (in thousandths) that a page has at now.
func (p *Page) SetScore(priority int, now epoch.Seconds) {
	p.base = max(priority-timeliness(p.Lastmod, now)+ageShare, 0)
}

// band returns the front queue of the page: that of its score, or the first one if an operator requested it.
func (p *Page) band(now epoch.Seconds) int {
	if p.Reason == Requested {
		return 0
	}
	return bandOf(p.Score(now))
}

func (p *Page) Types() uint32 { return 1 << p.Kind }

// Bits of a page's first byte; its upper four are tries.
const (
	pageHTTP = 1 << iota
	pageTitle
	pageLastmod
	pageDue
)

// Bits of a page's first number, above those of its type.
const (
	classShift  = 5
	reasonShift = 9
	pageVisited = 1 << 11
)

// Bits of a page's second number, above those of its priority.
const (
	pageForeign  = 1 << 16
	refusedShift = 17
	maxRefused   = 15
	pageStatus   = 1 << 21
	pageOwnDate  = 1 << 22
)

// appendPage packs a page. It writes only the part of the path that differs from the start of the path before.
func appendPage(b []byte, p *Page, before string) []byte {
	flags := min(p.Tries, 15) << 4
	if p.HTTP {
		flags |= pageHTTP
	}
	if p.Title != "" {
		flags |= pageTitle
	}
	if p.Lastmod > 0 {
		flags |= pageLastmod
	}
	if p.Due > 0 {
		flags |= pageDue
	}
	b = append(b, flags)
	kinds := int64(p.Kind) | int64(p.Class)<<classShift | int64(p.Reason)<<reasonShift
	if p.Visit != nil {
		kinds |= pageVisited
	}
	b = appendUint(b, kinds)
	base := int64(p.base)
	if p.Foreign {
		base |= pageForeign
	}
	if p.OwnDate {
		base |= pageOwnDate
	}
	base |= int64(min(p.Refused, maxRefused)) << refusedShift
	if p.Status != p.usualStatus() {
		b = appendUint(b, base|pageStatus)
		b = appendUint(b, int64(p.Status))
	} else {
		b = appendUint(b, base)
	}
	same := 0
	for same < len(before) && same < len(p.Path) && before[same] == p.Path[same] {
		same++
	}
	b = appendUint(b, int64(same))
	b = appendString(b, p.Path[same:])
	if p.Title != "" {
		b = appendString(b, p.Title)
	}
	if p.Lastmod > 0 {
		b = appendUint(b, p.Lastmod)
	}
	switch {
	case p.Visit != nil:
		b = p.Visit.append(b)
		if p.Due > 0 {
			b = appendUint(b, max(0, p.Due-p.Visit.Fetched+59)/60)
		}
	case p.Due > 0:
		b = appendUint(b, p.Due)
	}
	return b
}

func (d *decoder) page(before string) (p Page) {
	flags := d.byte()
	kinds := d.uint()
	p.Kind, p.Class, p.Tries = uint8(kinds&(maxTypes-1)), uint8(kinds>>classShift&(maxHostClasses-1)), flags>>4
	p.Reason = uint8(kinds >> reasonShift & 3)
	p.HTTP = flags&pageHTTP != 0
	base := d.uint()
	p.base, p.Foreign, p.OwnDate = int(base&0xffff), base&pageForeign != 0, base&pageOwnDate != 0
	p.Refused = uint8(base >> refusedShift & maxRefused)
	if base&pageStatus != 0 {
		p.Status = uint16(d.uint())
	}
	same := d.uint()
	if same > uint64(min(len(before), frontier.MaxURL)) {
		d.fail()
		return p
	}
	p.Path = d.string()
	if same > 0 {
		p.Path = d.join(before[:same], p.Path)
	}
	if flags&pageTitle != 0 {
		p.Title = d.string()
	}
	if flags&pageLastmod != 0 {
		p.Lastmod = d.seconds()
	}
	if kinds&pageVisited != 0 {
		p.Visit = d.visit()
		if base&pageStatus == 0 {
			p.Status = p.usualStatus()
		}
	}
	switch {
	case flags&pageDue == 0:
	case p.Visit != nil: // in minutes after the last fetch
		p.Due = p.Visit.Fetched + 60*min(d.seconds(), MaxSlot/60)
	default:
		p.Due = d.seconds()
	}
	return p
}

// usualStatus is the status that is not written.
func (p *Page) usualStatus() uint16 {
	if p.Visit != nil {
		return 200
	}
	return 0
}

// minPage is the least number of bytes that a page takes.
const minPage = 5

// appendPages packs pages of a host's row.
func appendPages(b []byte, pages []Page) []byte {
	b = appendUint(b, int64(len(pages)))
	before := ""
	for i := range pages {
		b = appendPage(b, &pages[i], before)
		before = pages[i].Path
	}
	return b
}

func (d *decoder) pages() []Page {
	n := d.count(minPage)
	pages := make([]Page, n, n+4)
	before := ""
	for i := range pages {
		pages[i] = d.page(before)
		before = pages[i].Path
	}
	return pages
}

// classesOf returns the classes of pages as bits of their indexes among those of the host.
func classesOf(pages []Page) (mask uint16) {
	for i := range pages {
		mask |= 1 << (pages[i].Class % maxHostClasses)
	}
	return mask
}

func typesOf(pages []Page) (mask uint32) {
	for i := range pages {
		mask |= pages[i].Types()
	}
	return mask
}
