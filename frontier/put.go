package frontier

import (
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/newsfork/seed-engine/contract"
)

// Put is URLs of one registrable domain.
type Put struct {
	Domain    string
	Partition contract.Partition
	Pages     []NewPage
	Entries   []NewEntry
	Since     int64 // ms: when the domain was looked at before; 0: never. Pages dated after it are new.

	// What a collector has learned that has the domain under this name; otherwise it counts for nothing.
	// Release need not repeat the visits, or does so at no cost.
	Owner    string
	Visits   []Visit
	MirrorOf string // see Mirror. While it is set, pages are refused, and those that wait are not given out.

	Found bool `json:",omitempty"` // reported by scrapers, which may add few hosts
}

// PutAll is the puts of several domains at once: one call, and few statements however many they are.
type PutAll struct {
	Puts []Put
}

// NewPage is a page to be fetched once.
type NewPage struct {
	URL      string
	Title    string
	Type     string  // a content type; anything else is unknown
	Priority float64 // 0 to 1, at the time of the call; it falls as the page ages
	LastMod  int64   // seconds since 1970; 0 when unknown

	// For the feed. Fresh says that the page was not there when the caller looked before.
	Fresh   bool
	Snippet string
	Image   string
	FoundBy string // as in the contract: feed, news_sitemap, sitemap, link, research …
}

// NewEntry is an entry point. One that is there already keeps what is known of it, but for what is
// given here.
type NewEntry struct {
	NewPage
	Method   string // feed, news_sitemap, sitemap, listing …
	Interval int64  // seconds between two checks; 0 removes the entry point

	// What the caller has just seen there; "" when it did not look.
	ETag, LastModified, SHA256 string
	// Status of the answer, when the caller has just looked; 0 with Failed when there was none.
	Status int
	Failed bool
}

// looked reports whether the caller has just looked at an entry point, and as what that counts.
func (n *NewEntry) looked() (result Result, ok bool) {
	r := Result{Status: n.Status, ETag: n.ETag, LastModified: n.LastModified, SHA256: n.SHA256}
	seen := n.ETag != "" || n.LastModified != "" || n.SHA256 != ""
	if seen && r.Status == 0 {
		r.Status = 200
	}
	return r, seen || n.Status != 0 || n.Failed
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
	Trapped      Verdict = "trap"           // by its shape one of endlessly many
	ForeignHost  Verdict = "foreign_host"   // not a host of the domain
	Excluded     Verdict = "excluded"       // by an operator
	Mirrored     Verdict = "mirror"         // the domain shows the pages of another
	HostFull     Verdict = "host_full"      // the host's queue is at its limit; it may be put later
	DomainFull   Verdict = "domain_full"    // as many better pages of the domain wait; it may be put later
	TooManyHosts Verdict = "too_many_hosts" // the domain has maxHosts hosts, or reports have added as many as they may
	Unavailable  Verdict = "unavailable"    // its shard does not answer; it may be put again
)

// PutAnswer gives the verdicts in the order of what was put.
type PutAnswer struct {
	Pages, Entries []Verdict
	States         []EntryState // of the entry points, as they are now; empty for one that is not there
	Added          int          // pages and entry points that are new
}

// Put queues pages and entry points that the frontier does not have yet.
func (s *Shard) Put(now int64, r Put) (answer PutAnswer, err error) {
	answers, err := s.PutAll(now, PutAll{[]Put{r}})
	if err != nil {
		return answer, err
	}
	return answers[0], nil
}

// PutAll does several puts, one after the other, and gives their answers in the same order. There are at most
// MaxPut URLs in all of them.
func (s *Shard) PutAll(now int64, r PutAll) (answers []PutAnswer, err error) {
	urls := 0
	for i := range r.Puts {
		if err := r.Puts[i].validate(); err != nil {
			return nil, err
		}
		urls += len(r.Puts[i].Pages) + len(r.Puts[i].Entries)
	}
	if err := checkRange("urls", max(urls, len(r.Puts)), 0, MaxPut); err != nil {
		return nil, err
	}
	answers = make([]PutAnswer, len(r.Puts))
	err = s.run(now, func(c *call) error {
		puts := make([]*putting, len(r.Puts))
		for i := range r.Puts {
			if err := c.checkOwns(r.Puts[i].Domain); err != nil {
				return err
			}
			puts[i] = c.newPut(r.Puts[i].Domain, r.Puts[i].Partition)
			puts[i].since, puts[i].found = r.Puts[i].Since, r.Puts[i].Found
			puts[i].collected = r.Puts[i].Owner != "" || len(r.Puts[i].Entries) > 0
			puts[i].expect(&r.Puts[i])
		}
		if err := c.preparePuts(puts); err != nil {
			return err
		}
		for i, p := range puts {
			if answers[i], err = p.do(&r.Puts[i]); err != nil {
				return err
			}
		}
		return nil
	})
	return answers, err
}

func (r *Put) validate() error {
	if err := contract.CheckDomain("domain", r.Domain); err != nil {
		return err
	}
	if r.MirrorOf != "" {
		if err := contract.CheckDomain("mirror_of", r.MirrorOf); err != nil {
			return err
		}
	}
	if err := checkRange("visits", len(r.Visits), 0, maxAcquire); err != nil {
		return err
	}
	return r.Partition.Validate("partition_info.")
}

// putting is a put at work: the same for found URLs of a report.
type putting struct {
	c         *call
	name      string
	expected  []string // URLs that will be put, for preparePuts
	domain    *domain
	class     int64
	day       int64
	since     int64 // see Put
	found     bool  // the URLs are those that a report found
	collected bool  // they are those of a collection
	news      []announced
	announced int // of them, those in the feed
	fresh     []freshPage
	met       map[freshKey]bool // the fresh ones
	perHost   map[int64]int64   // how many of them are of a host
	touched   []*host           // that have to be queued
	added     int

	// The domain's hosts that were not loaded when the put began, and how many pages they had.
	others      map[int64]bool
	ofTheOthers int64
}

// freshPage is a page that the frontier does not have yet.
type freshPage struct {
	freshKey
	host    *host
	page    page
	verdict *Verdict
}

type freshKey struct {
	host int64
	hash uint64
}

func (c *call) newPut(domain string, partition contract.Partition) *putting {
	return &putting{c: c, name: domain, met: map[freshKey]bool{}, perHost: map[int64]int64{},
		class: c.state.class(Class{partition.Country, partition.Category}), day: dayOf(partition)}
}

func (p *putting) expect(r *Put) {
	for i := range r.Pages {
		p.expected = append(p.expected, r.Pages[i].URL)
	}
	for i := range r.Entries {
		p.expected = append(p.expected, r.Entries[i].URL)
	}
}

// preparePuts loads the domains and hosts of puts, and what is needed to see which URLs the frontier has.
func (c *call) preparePuts(puts []*putting) error {
	domains := map[string]bool{}
	hashes := map[string][]uint64{}
	for _, p := range puts {
		domains[p.name] = true
		for _, url := range p.expected {
			if l, ok := parse(url); ok && within(l.host, p.name) {
				hashes[l.host] = append(hashes[l.host], hash48(l.path))
			}
		}
	}
	if _, err := c.findDomains(sortedKeys(domains)); err != nil {
		return err
	}
	names := sortedKeys(hashes)
	hosts, _, err := c.findHosts(names)
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
	if err := c.loadParts(keys); err != nil {
		return err
	}
	for _, p := range puts {
		if p.domain, err = c.openDomain(p.name); err != nil {
			return err
		}
	}
	return c.countPages(puts)
}

// countPages finds out how many pages the hosts of each put's domain have.
func (c *call) countPages(puts []*putting) error {
	var others []int64
	of := map[int64][]*putting{}
	for _, p := range puts {
		of[p.domain.id] = append(of[p.domain.id], p)
		p.others = map[int64]bool{}
		for _, id := range p.domain.hosts {
			if c.hosts[id] == nil {
				p.others[id] = true
				others = append(others, id)
			}
		}
	}
	if len(others) == 0 {
		return nil
	}
	rows, err := c.db.Run(`SELECT domain, sum(urls) FROM hosts WHERE id IN (SELECT value FROM json_each(?1)) GROUP BY domain`, numbers(others))
	if err != nil {
		return err
	}
	for rows.Next() {
		domain, urls := rows.Int(), rows.Int()
		for _, p := range of[domain] {
			p.ofTheOthers = urls
		}
	}
	return rows.Err()
}

// do puts what was expected.
func (p *putting) do(r *Put) (answer PutAnswer, err error) {
	answer.Pages, answer.Entries = make([]Verdict, len(r.Pages)), make([]Verdict, len(r.Entries))
	if err := p.learn(r); err != nil {
		return answer, err
	}
	for i := range r.Entries {
		if answer.Entries[i], err = p.entry(&r.Entries[i]); err != nil {
			return answer, err
		}
	}
	p.fresh = slices.Grow(p.fresh, len(r.Pages))
	for i := range r.Pages {
		if err := p.page(&r.Pages[i], &answer.Pages[i]); err != nil {
			return answer, err
		}
	}
	err = p.finish()
	answer.Added = p.added
	answer.States = p.states(r.Entries)
	return answer, err
}

// states describes entry points that were put.
func (p *putting) states(entries []NewEntry) []EntryState {
	if len(entries) == 0 {
		return nil
	}
	states := make([]EntryState, len(entries))
	for i := range entries {
		l, _ := parse(entries[i].URL)
		for _, h := range p.touched {
			if at := h.entry(hash48(l.path)); h.name == l.host && at >= 0 {
				states[i] = h.entries[at].state()
				break
			}
		}
	}
	return states
}

// learn keeps what a collector has learned of the domain, if it still has it.
func (p *putting) learn(r *Put) error {
	m := p.domain
	if r.Owner == "" || m.owner != r.Owner || m.ownerEnds <= p.c.now {
		return nil
	}
	for i := range r.Visits {
		if err := p.c.visited(m, &r.Visits[i]); err != nil {
			return err
		}
	}
	if r.MirrorOf == m.name {
		return nil
	}
	return p.c.mirror(m, r.MirrorOf)
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
	h, err := p.host(l.host)
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

// maxFoundHosts is how many hosts the reports of scrapers add to a shard in a day (UTC): READ_TOKEN suffices for
// a report, and must not decide what is crawled.
const maxFoundHosts = 1000

// host gives a host of the domain, a new one when there is none; nil when there are too many.
func (p *putting) host(name string) (*host, error) {
	if !p.found {
		return p.c.makeHost(p.domain, name)
	}
	if h, err := p.c.findHost(name); h != nil || err != nil {
		return h, err
	}
	s := &p.c.state
	if today := p.c.seconds() / 86_400; s.foundDay != today {
		s.foundDay, s.found = today, 0
	}
	if s.found >= maxFoundHosts {
		return nil, nil
	}
	s.found++
	return p.c.makeHost(p.domain, name)
}

// page judges a page. What it accepts may still turn out to be one too many; see finish.
func (p *putting) page(n *NewPage, verdict *Verdict) (err error) {
	h, l, refused, err := p.admit(n.URL)
	if h == nil {
		*verdict = refused
		return err
	}
	key := freshKey{h.id, hash48(l.path)}
	switch {
	case p.met[key] || p.c.seen(h, key.hash):
		*verdict = Duplicate
		return nil
	case isTrap(h.name, l.path, p.c.seconds()):
		*verdict = Trapped
		return nil
	case p.domain.mirrorOf != "":
		*verdict = Mirrored
		return nil
	}
	p.met[key] = true
	if p.isNew(n) {
		p.announce(h, l, n)
	}
	if h.urls+p.perHost[h.id] >= p.c.settings.URLsPerHost || len(h.segments) >= maxSegments {
		*verdict = HostFull
		return nil
	}
	*verdict = Accepted
	p.perHost[h.id]++
	p.fresh = append(p.fresh, freshPage{key, h, p.newPage(h, l, n), verdict})
	return nil
}

func (p *putting) newPage(h *host, l link, n *NewPage) page {
	q := page{path: l.path, http: l.http, title: cut(n.Title, maxTitle), kind: typeNumber(n.Type), class: h.class(p.class, p.day, p.collected)}
	if n.LastMod > 0 && n.LastMod < maxSlot {
		q.lastmod = n.LastMod
	}
	q.setScore(thousandths(n.Priority), p.c.seconds())
	return q
}

func (p *putting) entry(n *NewEntry) (Verdict, error) {
	h, l, verdict, err := p.admit(n.URL)
	if h == nil {
		return verdict, err
	}
	if long(h.name, l.path) {
		return InvalidURL, nil
	}
	if err := h.unpackEntries(); err != nil {
		return "", err
	}
	hash := hash48(l.path)
	at := h.entry(hash)
	defer p.c.watch(h, h.nextDue())
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
		h.entries = append(h.entries, entry{interval: p.c.bound(n.Method, n.Interval)})
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

// update takes over what is given of an entry point. A caller that has just looked at it sets its clock.
func (p *putting) update(h *host, e *entry, l link, n *NewEntry) {
	due, known := e.due, e.method != ""
	e.page = p.newPage(h, l, &n.NewPage)
	e.method = n.Method
	if len(e.method) > maxMethod {
		e.method = e.method[:maxMethod]
	}
	if e.due = due; due == 0 {
		e.due = p.c.seconds() + e.interval
	}
	result, looked := n.looked()
	if !looked {
		return
	}
	interval, awaited := e.interval, e.method == MethodCollect && e.tried > 0
	p.c.check(e, &result)
	if !known && !failedStatus(result.Status) { // there is nothing that it could have changed from
		e.interval, e.due, e.changedAt = interval, p.c.seconds()+interval, 0
		e.checks[len(e.checks)-1].Changed = false
	}
	if first := p.c.first(h, nil); awaited && first != nil {
		p.c.lookAt(h, p.c.slot(p.c.goesAt(first)*1000))
	}
}

func (p *putting) touch(h *host) {
	p.c.change(h)
	if n := len(p.touched); n == 0 || p.touched[n-1] != h { // most pages of a put are of one host
		p.touched = append(p.touched, h)
	}
}

// finish queues the fresh pages, the best ones if there is not room for all, and their hosts.
func (p *putting) finish() error {
	if err := p.choose(); err != nil {
		return err
	}
	for i := range p.fresh {
		if err := p.accept(&p.fresh[i]); err != nil {
			return err
		}
	}
	if err := p.publish(); err != nil {
		return err
	}
	done := map[int64]bool{}
	for _, h := range p.touched {
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

func (p *putting) accept(f *freshPage) error {
	if p.c.seen(f.host, f.hash) { // a redirect of the same report led there
		*f.verdict = Duplicate
		return nil
	}
	if err := p.c.remember(f.host, f.hash); err != nil {
		return err
	}
	f.host.buffer = append(f.host.buffer, f.page)
	f.host.urls++
	p.c.state.urls++
	p.added++
	p.touch(f.host)
	return nil
}

// cut shortens a text to size bytes of whole characters.
func cut(text string, size int) string {
	text = strings.ToValidUTF8(text, "")
	if len(text) <= size {
		return text
	}
	for !utf8.RuneStart(text[size]) {
		size--
	}
	return text[:size]
}
