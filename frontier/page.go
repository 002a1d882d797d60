package frontier

// page is a URL that waits to be fetched once.
type page struct {
	path    string // after the host's slash, with the query
	title   string
	http    bool  // its scheme is http, not https
	lastmod int64 // in seconds; 0 when unknown
	due     int64 // in seconds; 0 is at once
	base    int   // the priority in thousandths without its timeliness, plus ageShare, so that it is never negative
	kind    uint8 // its content type's number, see types
	class   uint8 // the index of its class among those of its host
	tries   uint8 // attempts that failed, or leases that ended without a report
}

// score is the page's priority at now (in seconds), in thousandths.
func (p *page) score(now int64) int {
	return min(max(p.base-ageShare+timeliness(p.lastmod, now), 0), 1000)
}

// setScore takes the priority (in thousandths) that a page has at now.
func (p *page) setScore(priority int, now int64) {
	p.base = max(priority-timeliness(p.lastmod, now)+ageShare, 0)
}

func (p *page) band(now int64) int { return bandOf(p.score(now)) }

func (p *page) types() uint32 { return 1 << p.kind }

// Bits of a page's first byte; its upper four are tries.
const (
	pageHTTP = 1 << iota
	pageTitle
	pageLastmod
	pageDue
)

// appendPage packs a page. Of its path only what differs from the beginning of the path before it is
// written.
func appendPage(b []byte, p *page, before string) []byte {
	flags := min(p.tries, 15) << 4
	if p.http {
		flags |= pageHTTP
	}
	if p.title != "" {
		flags |= pageTitle
	}
	if p.lastmod > 0 {
		flags |= pageLastmod
	}
	if p.due > 0 {
		flags |= pageDue
	}
	b = append(b, flags)
	b = appendUint(b, int64(p.kind)|int64(p.class)<<5)
	b = appendUint(b, int64(p.base))
	same := 0
	for same < len(before) && same < len(p.path) && before[same] == p.path[same] {
		same++
	}
	b = appendUint(b, int64(same))
	b = appendString(b, p.path[same:])
	if p.title != "" {
		b = appendString(b, p.title)
	}
	if p.lastmod > 0 {
		b = appendUint(b, p.lastmod)
	}
	if p.due > 0 {
		b = appendUint(b, p.due)
	}
	return b
}

func (d *decoder) page(before string) (p page) {
	flags := d.byte()
	class := d.uint()
	p.kind, p.class, p.tries = uint8(class&(maxTypes-1)), uint8(class>>5), flags>>4
	p.http = flags&pageHTTP != 0
	p.base = int(d.uint() & 0xffff)
	same := d.uint()
	if same > uint64(len(before)) {
		d.fail()
		return p
	}
	p.path = d.string()
	if same > 0 {
		p.path = before[:same] + p.path
	}
	if flags&pageTitle != 0 {
		p.title = d.string()
	}
	if flags&pageLastmod != 0 {
		p.lastmod = d.int()
	}
	if flags&pageDue != 0 {
		p.due = d.int()
	}
	return p
}

// minPage is the least number of bytes that a page takes.
const minPage = 5

// appendPages packs pages of a host's row. They share no beginnings: the row is read too often.
func appendPages(b []byte, pages []page) []byte {
	b = appendUint(b, int64(len(pages)))
	for i := range pages {
		b = appendPage(b, &pages[i], "")
	}
	return b
}

func (d *decoder) pages() []page {
	n := d.count(minPage)
	pages := make([]page, n, n+4)
	for i := range pages {
		pages[i] = d.page("")
	}
	return pages
}

func typesOf(pages []page) (mask uint32) {
	for i := range pages {
		mask |= pages[i].types()
	}
	return mask
}
