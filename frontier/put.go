package frontier

import (
	"math"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/newsfork/seed-engine/contract"
)

// Put is URLs of one registrable domain.
type Put struct {
	Domain    string
	Partition contract.Partition
	Pages     []NewPage
	Entries   []NewEntry
}

// NewPage is a page to be fetched once.
type NewPage struct {
	URL      string
	Title    string
	Type     string  // a content type; anything else is unknown
	Priority float64 // 0 to 1, at the time of the call; it falls as the page ages
	LastMod  int64   // seconds since 1970; 0 when unknown
}

// NewEntry is an entry point. One that is there already keeps what is known of it, but for what is
// given here.
type NewEntry struct {
	NewPage
	Method   string // feed, news_sitemap, sitemap, listing …
	Interval int64  // seconds between two checks; 0 removes the entry point

	// What the caller has just seen there; "" when it did not look.
	ETag, LastModified, SHA256 string
}

// Verdict is what became of a URL.
type Verdict string

// The verdicts of a put.
const (
	Accepted     Verdict = "accepted"
	Duplicate    Verdict = "duplicate"
	Updated      Verdict = "updated" // an entry point that was there
	Removed      Verdict = "removed" // an entry point with interval 0
	InvalidURL   Verdict = "invalid_url"
	ForeignHost  Verdict = "foreign_host"   // not a host of the domain
	Excluded     Verdict = "excluded"       // by an operator
	HostFull     Verdict = "host_full"      // the host's queue is at its limit; it may be put later
	TooManyHosts Verdict = "too_many_hosts" // the domain has maxHosts hosts
)

// PutAnswer gives the verdicts in the order of what was put.
type PutAnswer struct {
	Pages, Entries []Verdict
	Added          int // pages and entry points that are new
}

// Put queues pages and entry points that the frontier does not know.
func (s *Shard) Put(now int64, r Put) (answer PutAnswer, err error) {
	if err := contract.CheckDomain("domain", r.Domain); err != nil {
		return answer, err
	}
	if err := r.Partition.Validate("partition_info."); err != nil {
		return answer, err
	}
	if err := checkRange("urls", len(r.Pages)+len(r.Entries), 0, MaxPut); err != nil {
		return answer, err
	}
	err = s.run(now, func(c *call) error {
		p := c.newPut(r.Domain, r.Partition)
		all := r.Pages
		for _, e := range r.Entries {
			all = append(all[:len(all):len(all)], e.NewPage)
		}
		if err := p.prepare(all); err != nil {
			return err
		}
		answer.Pages, answer.Entries = make([]Verdict, len(r.Pages)), make([]Verdict, len(r.Entries))
		for i := range r.Entries {
			if answer.Entries[i], err = p.entry(&r.Entries[i]); err != nil {
				return err
			}
		}
		for i := range r.Pages {
			if answer.Pages[i], err = p.page(&r.Pages[i]); err != nil {
				return err
			}
		}
		answer.Added = p.added
		return p.finish()
	})
	return answer, err
}

// putting is a put at work: the same for found URLs of a report.
type putting struct {
	c      *call
	name   string
	domain *domain
	class  int64
	day    int64
	hosts  []*host // that have been given something
	added  int
}

func (c *call) newPut(domain string, partition contract.Partition) *putting {
	p := &putting{c: c, name: domain, class: c.state.class(Class{partition.Country, partition.Category})}
	if t, err := time.Parse(time.DateOnly, partition.Date); err == nil {
		p.day = max(t.Unix()/86_400, 0)
	}
	return p
}

// prepare loads the hosts of URLs, and what is needed to see which of them are known.
func (p *putting) prepare(pages []NewPage) (err error) {
	if p.domain, err = p.c.makeDomain(p.name); err != nil {
		return err
	}
	hashes := map[string][]uint64{}
	for i := range pages {
		if l, ok := parse(pages[i].URL); ok {
			hashes[l.host] = append(hashes[l.host], hash48(l.path))
		}
	}
	names := sortedKeys(hashes)
	hosts, _, err := p.c.findHosts(names)
	if err != nil {
		return err
	}
	var keys []int64
	for i, h := range hosts {
		if h != nil {
			for _, hash := range hashes[names[i]] {
				keys = append(keys, h.chunkKey(hash))
			}
		}
	}
	return p.c.loadParts(keys)
}

// admit gives the host of a URL, or why the URL is refused.
func (p *putting) admit(url string) (*host, link, Verdict, error) {
	l, ok := parse(url)
	switch {
	case !ok:
		return nil, l, InvalidURL, nil
	case !within(l.host, p.name):
		return nil, l, ForeignHost, nil
	case p.domain.excluded || p.c.state.excludes.URL(url):
		return nil, l, Excluded, nil
	}
	h, err := p.c.makeHost(p.domain, l.host)
	switch {
	case err != nil:
		return nil, l, "", err
	case h == nil:
		return nil, l, TooManyHosts, nil
	case h.domain != p.domain.id:
		return nil, l, ForeignHost, nil
	case h.excluded:
		return nil, l, Excluded, nil
	}
	return h, l, "", nil
}

func (p *putting) page(n *NewPage) (Verdict, error) {
	h, l, verdict, err := p.admit(n.URL)
	if h == nil {
		return verdict, err
	}
	hash := hash48(l.path)
	if p.c.seen(h, hash) {
		return Duplicate, nil
	}
	if h.urls >= p.c.settings.URLsPerHost || len(h.segments) >= maxSegments {
		return HostFull, nil
	}
	if err := p.c.remember(h, hash); err != nil {
		return "", err
	}
	h.buffer = append(h.buffer, p.newPage(h, l, n))
	h.urls++
	p.c.state.urls++
	p.touch(h)
	p.added++
	return Accepted, nil
}

func (p *putting) newPage(h *host, l link, n *NewPage) page {
	q := page{path: l.path, http: l.http, title: cut(n.Title), kind: typeNumber(n.Type), class: h.class(p.class, p.day)}
	if n.LastMod > 0 && n.LastMod < maxSlot {
		q.lastmod = n.LastMod
	}
	priority := 0
	if n.Priority > 0 { // not NaN
		priority = int(math.Round(min(n.Priority, 1) * 1000))
	}
	q.setScore(priority, p.c.seconds())
	return q
}

func (p *putting) entry(n *NewEntry) (Verdict, error) {
	h, l, verdict, err := p.admit(n.URL)
	if h == nil {
		return verdict, err
	}
	if err := h.unpackEntries(); err != nil {
		return "", err
	}
	hash := hash48(l.path)
	at := h.entry(hash)
	switch {
	case n.Interval <= 0 && at < 0:
		return Duplicate, nil
	case n.Interval <= 0:
		h.entries = append(h.entries[:at], h.entries[at+1:]...)
		p.c.state.entries--
		p.touch(h)
		return Removed, nil
	case at < 0 && len(h.entries) >= maxEntries:
		return HostFull, nil
	case at < 0:
		if !p.c.seen(h, hash) { // it is no page
			if err := p.c.remember(h, hash); err != nil {
				return "", err
			}
		}
		h.entries = append(h.entries, entry{interval: p.c.bound(n.Interval)})
		at, verdict = len(h.entries)-1, Accepted
		p.c.state.entries++
		p.added++
	default:
		verdict = Updated
	}
	p.update(h, &h.entries[at], l, n)
	p.touch(h)
	return verdict, nil
}

// update takes over what is given of an entry point. Who has just looked at it sets its clock.
func (p *putting) update(h *host, e *entry, l link, n *NewEntry) {
	due := e.due
	e.page = p.newPage(h, l, &n.NewPage)
	e.method = n.Method
	if len(e.method) > maxMethod {
		e.method = e.method[:maxMethod]
	}
	if e.due = due; due == 0 || n.ETag != "" || n.LastModified != "" || n.SHA256 != "" {
		e.due = p.c.seconds() + e.interval
		e.validators(n.ETag, n.LastModified, n.SHA256)
	}
}

func (p *putting) touch(h *host) {
	p.c.change(h)
	p.hosts = append(p.hosts, h)
}

// finish puts what does not fit the hosts' rows into segments, and queues the hosts.
func (p *putting) finish() error {
	done := map[int64]bool{}
	for _, h := range p.hosts {
		if done[h.id] {
			continue
		}
		done[h.id] = true
		if err := p.c.spill(h); err != nil {
			return err
		}
		if err := p.c.queue(h); err != nil {
			return err
		}
	}
	return nil
}

// cut shortens a title to maxTitle bytes of whole characters.
func cut(title string) string {
	title = strings.ToValidUTF8(title, "")
	if len(title) <= maxTitle {
		return title
	}
	n := maxTitle
	for !utf8.RuneStart(title[n]) {
		n--
	}
	return title[:n]
}
