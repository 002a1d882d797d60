package shard

import (
	"cmp"
	"maps"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/newsfork/seed-engine/contract"
	"github.com/newsfork/seed-engine/epoch"
	"github.com/newsfork/seed-engine/frontier"
	"github.com/newsfork/seed-engine/frontier/link"
	"github.com/newsfork/seed-engine/frontier/shard/store"
)

// checkResult returns the result of the caller's own look at an entry point; ok is false if it has not looked.
func checkResult(n *frontier.NewEntry) (result frontier.Result, ok bool) {
	r := frontier.Result{Status: n.Status, ETag: n.ETag, LastModified: n.LastModified, SHA256: n.SHA256}
	seen := n.ETag != "" || n.LastModified != "" || n.SHA256 != ""
	if seen && r.Status == 0 {
		r.Status = 200
	}
	return r, seen || n.Status != 0 || n.Failed
}

// nothingAnswered is the cause of a host's failure that collections report.
const nothingAnswered = "a collection of its domain reached nothing"

// Put queues pages and entry points that the frontier does not have yet.
func (s *Shard) Put(now epoch.Millis, r frontier.Put) (answer frontier.PutAnswer, err error) {
	answers, err := s.PutAll(now, frontier.PutAll{Puts: []frontier.Put{r}})
	if err != nil {
		return answer, err
	}
	return answers[0], nil
}

// PutAll performs several puts in order, and returns their answers. Together they have at most frontier.MaxPut URLs.
func (s *Shard) PutAll(now epoch.Millis, r frontier.PutAll) (answers []frontier.PutAnswer, err error) {
	urls := 0
	for i := range r.Puts {
		if err := validatePut(&r.Puts[i]); err != nil {
			return nil, err
		}
		urls += len(r.Puts[i].Pages) + len(r.Puts[i].Entries)
	}
	if err := frontier.CheckRange("urls", max(urls, len(r.Puts)), 0, frontier.MaxPut); err != nil {
		return nil, err
	}
	answers = make([]frontier.PutAnswer, len(r.Puts))
	err = s.run(now, func(c *call) error {
		puts := make([]*putBatch, len(r.Puts))
		for i := range r.Puts {
			if err := c.checkOwns(r.Puts[i].Domain); err != nil {
				return err
			}
			puts[i] = newPutBatch(c, r.Puts[i].Domain, r.Puts[i].Partition)
			puts[i].since, puts[i].found = r.Puts[i].Since, r.Puts[i].Found
			puts[i].collected = r.Puts[i].Owner != "" || len(r.Puts[i].Entries) > 0
			puts[i].expect(&r.Puts[i])
		}
		if err := preparePuts(c, puts); err != nil {
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

// putBatch is a put under way, also of the URLs that a report found on a domain.
type putBatch struct {
	c             *call
	name          string
	expected      []string // URLs that will be put, for preparePuts
	domain        *store.Domain
	class         int64
	day           int64
	since         epoch.Millis // see Put
	found         bool         // the URLs are from a report
	collected     bool         // the URLs are from a collection
	announcements []announced
	announced     int // of announcements: those added to the feed
	fresh         []freshPage
	seen          map[freshKey]bool         // the fresh ones
	perHost       map[int64]int64           // number of fresh ones, by host
	visits        map[freshKey]*store.Visit // of fetched pages that are queued again
	fetched       map[int64]int             // by host: listed pages with a date that were fetched before
	redated       map[int64]int             // by host: those of them with a newer date
	touched       []*store.Host             // that have to be queued
	last          *store.Host               // of the URL that was admitted last: most have the same
	requested     map[*store.Host]map[uint64]requestedPage
	surplus       bool // pages of the domain were dropped or refused
	added         int
}

// requestedPage is a page that waits and is to be fetched before others.
type requestedPage struct {
	score   int // in thousandths
	verdict *frontier.Verdict
}

// freshPage is a page that the frontier does not have yet.
type freshPage struct {
	freshKey
	host    *store.Host
	page    store.Page
	life    store.Life // before
	foundBy string
	verdict *frontier.Verdict
}

type freshKey struct {
	host int64
	hash uint64
}

func newPutBatch(c *call, domain string, partition contract.Partition) *putBatch {
	return &putBatch{c: c, name: domain, seen: map[freshKey]bool{}, perHost: map[int64]int64{},
		fetched: map[int64]int{}, redated: map[int64]int{},
		class: c.tx.State().Class(frontier.Class{Country: partition.Country, Category: partition.Category}),
		day:   dayOf(partition)}
}

// isPermuted reports whether the host has the page under a URL whose query has the same fields in another order.
func (p *putBatch) isPermuted(h *store.Host, path string) bool {
	return slices.ContainsFunc(permuted(path), func(other string) bool {
		hash := store.Hash48(other)
		_, known := h.Known(hash)
		return known || p.seen[freshKey{h.ID, hash}]
	})
}

func (p *putBatch) expect(r *frontier.Put) {
	for i := range r.Pages {
		p.expected = append(p.expected, r.Pages[i].URL)
	}
	for i := range r.Entries {
		p.expected = append(p.expected, r.Entries[i].URL)
	}
}

// preparePuts loads what puts need: their domains, which it makes if they are missing, and what is known of their
// URLs.
func preparePuts(c *call, puts []*putBatch) error {
	if _, err := loadExpected(c, puts); err != nil {
		return err
	}
	counted := make([]*store.Domain, 0, len(puts))
	for _, p := range puts {
		var err error
		if p.domain, err = c.tx.MakeDomain(p.name); err != nil {
			return err
		}
		counted = append(counted, p.domain)
	}
	return c.tx.CountPages(counted)
}

// loadExpected loads the domains and hosts of puts, and what is known of the expected URLs. It returns the hosts by
// name.
func loadExpected(c *call, puts []*putBatch) (map[string]*store.Host, error) {
	domains := map[string]bool{}
	hashes := map[string][]uint64{}
	for _, p := range puts {
		domains[p.name] = true
		for _, url := range p.expected {
			if l, ok := c.link(url); ok && link.Within(l.Host, p.name) {
				hashes[l.Host] = append(hashes[l.Host], store.Hash48(l.Path))
				if p.found {
					for _, path := range permuted(l.Path) {
						hashes[l.Host] = append(hashes[l.Host], store.Hash48(path))
					}
				}
			}
		}
	}
	if _, err := c.tx.DomainsNamed(slices.Sorted(maps.Keys(domains))); err != nil {
		return nil, err
	}
	names := slices.Sorted(maps.Keys(hashes))
	hosts, err := c.tx.HostsNamed(names)
	if err != nil {
		return nil, err
	}
	named := map[string]*store.Host{}
	var urls []store.URLKey
	for i, h := range hosts {
		if h != nil {
			named[names[i]] = h
			for _, hash := range hashes[names[i]] {
				urls = append(urls, store.URLKey{Host: h.ID, Hash: hash})
			}
		}
	}
	return named, c.tx.LoadKnown(urls)
}

// do performs a put that was prepared.
func (p *putBatch) do(r *frontier.Put) (answer frontier.PutAnswer, err error) {
	answer.Pages, answer.Entries = make([]frontier.Verdict, len(r.Pages)), make([]frontier.Verdict, len(r.Entries))
	if err := p.learn(r); err != nil {
		return answer, err
	}
	for i := range r.Entries {
		if answer.Entries[i], err = p.entry(&r.Entries[i]); err != nil {
			return answer, err
		}
	}
	if r.Remove {
		return answer, p.remove(r.Pages, answer.Pages)
	}
	p.fresh = slices.Grow(p.fresh, len(r.Pages))
	for i := range r.Pages {
		if err := p.page(&r.Pages[i], r.Found, &answer.Pages[i]); err != nil {
			return answer, err
		}
	}
	err = p.finish()
	if r.Stored != nil {
		answer.Room = p.backlog(r.Stored, r.Partition)
	}
	answer.Added = p.added
	answer.States = p.states(r.Entries)
	if len(r.Entries) > 0 {
		told := map[*store.Host]bool{}
		for _, h := range p.touched {
			if !told[h] {
				told[h] = true
				answer.Observed = append(answer.Observed, observed(h)...)
			}
		}
	}
	return answer, err
}

// states describes entry points that were put.
func (p *putBatch) states(entries []frontier.NewEntry) []frontier.EntryState {
	if len(entries) == 0 {
		return nil
	}
	states := make([]frontier.EntryState, len(entries))
	for i := range entries {
		l, _ := p.c.link(entries[i].URL)
		for _, h := range p.touched {
			if at := h.Entry(store.Hash48(l.Path)); h.Name == l.Host && at >= 0 {
				states[i] = h.Entries[at].State()
				break
			}
		}
	}
	return states
}

// learn records what a collector learned about its domain, if it still has the lease.
func (p *putBatch) learn(r *frontier.Put) error {
	m := p.domain
	if r.Owner == "" || m.Owner != r.Owner || m.OwnerEnds <= p.c.now {
		return nil
	}
	for i := range r.Visits {
		if err := p.c.recordVisit(m, &r.Visits[i]); err != nil {
			return err
		}
	}
	if r.MirrorOf == m.Name {
		return nil
	}
	return setMirror(p.c, m, r.MirrorOf)
}

// admit returns the host of a URL, or nil with the verdict that refuses the URL.
func (p *putBatch) admit(url string) (*store.Host, link.URL, frontier.Verdict, error) {
	l, ok := p.c.link(url)
	switch {
	case !ok:
		return nil, l, frontier.InvalidURL, nil
	case !link.Within(l.Host, p.name) || !p.c.belongs(l.Host, p.name):
		return nil, l, frontier.ForeignHost, nil
	case p.domain.Excluded || p.c.tx.State().Excludes.URL(url):
		return nil, l, frontier.Excluded, nil
	}
	h, err := p.last, error(nil)
	if h == nil || h.Name != l.Host {
		h, err = p.host(l.Host)
		p.last = h
	}
	switch {
	case err != nil:
		return nil, l, "", err
	case h == nil:
		return nil, l, frontier.TooManyHosts, nil
	case h.Domain != p.domain:
		return nil, l, frontier.ForeignHost, nil
	case h.Excluded:
		return nil, l, frontier.Excluded, nil
	}
	return h, l, "", nil
}

// maxFoundHosts caps the hosts that scrapers' reports add to a shard in a day (UTC): strangers' pages must not decide
// what is crawled.
const maxFoundHosts = 1000

// host is like makeHost, but a report only makes maxFoundHosts a day.
func (p *putBatch) host(name string) (*store.Host, error) {
	if !p.found {
		return p.c.makeHost(p.domain, name)
	}
	if h, err := p.c.hostNamed(name); h != nil || err != nil {
		if h != nil {
			_, err = p.c.settle(h)
		}
		return h, err
	}
	s := p.c.tx.State()
	if today := p.c.today(); s.FoundDay != today {
		s.FoundDay, s.Found = today, 0
	}
	if s.Found >= maxFoundHosts {
		return nil, nil
	}
	s.Found++
	return p.c.makeHost(p.domain, name)
}

// page decides whether to accept a page, which is foreign if a page of another domain named it. finish might still
// refuse an accepted page, if the domain has too many.
func (p *putBatch) page(n *frontier.NewPage, foreign bool, verdict *frontier.Verdict) (err error) {
	h, l, refused, err := p.admit(n.URL)
	if h == nil {
		*verdict = refused
		return err
	}
	if !p.found {
		vouch(h, l.Path)
	}
	key := freshKey{h.ID, store.Hash48(l.Path)}
	known, ok := h.Known(key.hash)
	requested := n.Refetch && known.Life != store.Waiting
	back := !ok || requested || p.comesBack(h, known, n, foreign)
	if known.Life == store.Fetched && n.LastMod > 0 && !requested {
		if p.fetched[h.ID]++; back {
			p.redated[h.ID]++
		}
	}
	switch {
	case p.seen[key] || !back && foreign || !ok && p.found && p.isPermuted(h, l.Path):
		*verdict = frontier.Duplicate
		return nil
	case !ok && isTrap(h.Name, l.Path, p.c.seconds()):
		*verdict = frontier.Trapped
		trapped(h, l)
		return nil
	case !ok && p.found && n.LastMod == 0 && isEndless(p.c, h, l.Path):
		*verdict, p.seen[key] = frontier.Trapped, true
		trapped(h, l)
		return nil
	case back && known.Life == store.Idle && isBarren(p.c, h, l.Path): // but noteListed might announce it
		*verdict, p.seen[key] = frontier.Trapped, true
		trapped(h, l)
		if foreign {
			return nil
		}
		return p.noteListed(h, l, n, known, ok)
	case back && isForbidden(p.c, h, l.Path):
		*verdict = frontier.Disallowed
		return nil
	case back && p.domain.MirrorOf != "":
		*verdict = frontier.Mirrored
		return nil
	}
	p.seen[key] = true
	if !foreign {
		if err := p.noteListed(h, l, n, known, ok); err != nil {
			return err
		}
	}
	if ok && back {
		if err := h.UnpackEntries(); err != nil {
			return err
		}
	}
	if !back || ok && h.Entry(key.hash) >= 0 {
		if *verdict = frontier.Duplicate; n.Refetch && known.Life == store.Waiting {
			p.request(h, key.hash, requestedPage{thousandths(n.Priority), verdict})
		}
		return nil
	}
	if h.URLs+p.perHost[h.ID] >= p.c.settings.URLsPerHost || h.Full() {
		if *verdict = frontier.HostFull; !foreign {
			p.displaced()
		}
		return nil
	}
	*verdict = frontier.Accepted
	if !ok && p.found && n.LastMod == 0 {
		countFound(h, l.Path)
	}
	p.perHost[h.ID]++
	page := p.newPage(h, l, n)
	if requested {
		page.Reason = store.Requested
	}
	if foreign {
		page.Foreign, page.Title = true, "" // the title is another site's
	}
	p.fresh = append(p.fresh, freshPage{key, h, page, known.Life, n.FoundBy, verdict})
	return nil
}

// request notes a page to be fetched before others, unless it turns out that it does not wait.
func (p *putBatch) request(h *store.Host, hash uint64, r requestedPage) {
	if p.requested == nil {
		p.requested = map[*store.Host]map[uint64]requestedPage{}
	}
	if p.requested[h] == nil {
		p.requested[h] = map[uint64]requestedPage{}
		p.touch(h)
	}
	p.requested[h][hash] = r
}

// moveRequested moves the requested pages that wait.
func (p *putBatch) moveRequested() error {
	for _, h := range slices.SortedFunc(maps.Keys(p.requested), byID) {
		scores := map[uint64]int{}
		for hash, r := range p.requested[h] {
			scores[hash] = r.score
		}
		moved, err := store.Request(h, scores)
		if err != nil {
			return err
		}
		for _, hash := range moved {
			*p.requested[h][hash].verdict = frontier.Accepted
		}
	}
	return nil
}

func byID(a, b *store.Host) int { return cmp.Compare(a.ID, b.ID) }

// goneFor is the time after which a page that was refused for good may be put again.
const goneFor = 30 * day

// comesBack reports whether a known page that is put again should be fetched.
func (p *putBatch) comesBack(h *store.Host, k store.Known, n *frontier.NewPage, foreign bool) bool {
	dated := n.LastMod > 0 && n.LastMod <= latestDate(p.c)
	switch k.Life {
	case store.Idle:
		return true
	case store.Fetched:
		return !foreign && dated && n.LastMod >= k.Until() && trustsDates(h)
	case store.Gone: // it may have been linked before it was published
		if k.Disallowed {
			return allowedAgain(h, k) <= p.c.seconds()
		}
		return p.c.seconds() >= k.Until().Add(goneFor) || !foreign && (dated && n.LastMod >= k.Since() || n.Fresh)
	}
	return false
}

// latestDate is the latest date that a site may give a page now. One that lies further ahead says nothing: it would be
// newer than each fetch.
func latestDate(c *call) epoch.Seconds { return c.now.Add(time.Hour).Seconds() }

// testedDates is the number of pages fetched for their newer dates after which it counts how many had really changed.
const testedDates = 8

// trustsDates reports whether newer dates bring pages of a host back. Some hosts date every page today.
func trustsDates(h *store.Host) bool { return h.Trust.Newer < testedDates || h.Trust.Belief() > 0 }

// noteListed records that the site itself has listed a page, and announces the page if it is new. A known page can be
// new as well, when it gets its first date.
func (p *putBatch) noteListed(h *store.Host, l link.URL, n *frontier.NewPage, k store.Known, known bool) error {
	dated := n.LastMod > 0
	first := dated && !k.Listed
	if p.domain.MirrorOf == "" && p.isNew(n) && (!known || k.Foreign || first && p.c.isFresh(k.Since(), p.since)) {
		p.announce(h, l, n)
	}
	if !known || !first && !k.Foreign {
		return nil
	}
	k.Listed, k.Foreign = k.Listed || dated, false
	p.touch(h)
	return h.Remember(store.Hash48(l.Path), k)
}

func (p *putBatch) newPage(h *store.Host, l link.URL, n *frontier.NewPage) store.Page {
	q := store.Page{Path: l.Path, HTTP: l.HTTP, Title: cut(n.Title, frontier.MaxTitle), Kind: store.TypeNumber(n.Type),
		Class: h.Class(p.class, p.day, p.collected)}
	if n.LastMod > 0 && n.LastMod < store.MaxSlot {
		q.Lastmod = n.LastMod
	}
	q.SetScore(thousandths(n.Priority), p.c.seconds())
	return q
}

func (p *putBatch) entry(n *frontier.NewEntry) (frontier.Verdict, error) {
	h, l, verdict, err := p.admit(n.URL)
	if h == nil {
		return verdict, err
	}
	if isTooLong(h.Name, l.Path) {
		return frontier.InvalidURL, nil
	}
	if err := h.UnpackEntries(); err != nil {
		return "", err
	}
	hash := store.Hash48(l.Path)
	at := h.Entry(hash)
	defer p.c.watch(h, h.NextDue())
	switch {
	case n.Interval <= 0 && at < 0:
		return frontier.Duplicate, nil
	case n.Interval <= 0:
		if err := p.forget(h, store.Hash48(h.Entries[at].Path)); err != nil {
			return "", err
		}
		h.Entries = append(h.Entries[:at], h.Entries[at+1:]...)
		p.c.tx.State().Entries--
		p.touch(h)
		return frontier.Removed, nil
	case at < 0 && len(h.Entries) >= store.MaxEntries:
		return frontier.HostFull, nil
	case at < 0:
		k, ok := h.Known(hash)
		if k.Life = store.Waiting; !ok { // it is not known as a page
			k.At = p.c.hour()
		}
		if err := h.Remember(hash, k); err != nil {
			return "", err
		}
		h.Entries = append(h.Entries, store.Entry{Interval: p.c.bound(n.Method, seconds(n.Interval))})
		at, verdict = len(h.Entries)-1, frontier.Accepted
		p.c.tx.State().Entries++
		p.added++
	default:
		if verdict = frontier.Updated; h.Entries[at].Path != l.Path {
			if err := p.respell(h, store.Hash48(h.Entries[at].Path), hash); err != nil {
				return "", err
			}
		}
	}
	p.update(h, &h.Entries[at], l, n)
	p.touch(h)
	return verdict, nil
}

// respell records that an entry point is known by another hash than before, that of its path in canonical form.
func (p *putBatch) respell(h *store.Host, before, hash uint64) error {
	if err := p.forget(h, before); err != nil {
		return err
	}
	k, ok := h.Known(hash)
	if k.Life = store.Waiting; !ok {
		k.At = p.c.hour()
	}
	return h.Remember(hash, k)
}

// forget records that a URL is not an entry point any more. It can be put as a page, unless it waits as one.
func (p *putBatch) forget(h *store.Host, hash uint64) error {
	_, waits, err := h.Find(hash)
	if err != nil || waits || h.LeasedPage(hash) >= 0 {
		return err
	}
	k, _ := h.Known(hash)
	k.Life = store.Idle
	return h.Remember(hash, k)
}

// update overwrites an entry point. The caller's own look at it counts as a check, and sets its next one.
func (p *putBatch) update(h *store.Host, e *store.Entry, l link.URL, n *frontier.NewEntry) {
	due, known := e.Due, e.Method != ""
	e.Page = p.newPage(h, l, &n.NewPage)
	e.Method = n.Method
	if len(e.Method) > store.MaxMethod {
		e.Method = e.Method[:store.MaxMethod]
	}
	if e.Due = due; due == 0 {
		e.Due = p.c.seconds().Add(e.Interval)
	}
	result, looked := checkResult(n)
	if !looked {
		return
	}
	interval, awaited := e.Interval, e.Method == frontier.MethodCollect && e.Tried > 0
	p.c.recordCheck(e, &result, store.Unknown)
	switch {
	case n.Failed:
		recordFault(p.c, h, store.Hash48(e.Path), 0, nothingAnswered)
	case n.NoRobots:
		recordFault(p.c, h, store.Hash48(e.Path), 0, contract.ReportNoRobots)
	case e.Method == frontier.MethodCollect:
		h.Fault.Answered(store.Hash48(e.Path))
	}
	if !known && !store.FailedStatus(result.Status) { // there is nothing that it could have changed from
		e.Interval, e.Due, e.ChangedAt, e.Rhythm = interval, p.c.seconds().Add(interval), 0, store.Rhythm{}
		e.Checks[len(e.Checks)-1].Changed = false
	}
	if first := p.c.firstEntry(h, nil); awaited && first != nil {
		p.c.scheduleCheck(h, p.c.slot(p.c.refreshableAt(first).Millis()))
	}
}

func (p *putBatch) touch(h *store.Host) {
	h.Change()
	if n := len(p.touched); n == 0 || p.touched[n-1] != h { // most pages of a put are of one host
		p.touched = append(p.touched, h)
	}
}

// maxRenewed caps the pages of a host that one put brings back by newer dates, if those are most of the fetched pages
// that it lists: the host probably dates every page today.
const maxRenewed = 10

// refuseFalseDates refuses pages that come back by their dates, of hosts that have more than maxRenewed of them. Only
// dates after now bring these pages back later.
func (p *putBatch) refuseFalseDates() error {
	believed := p.fresh[:0]
	for _, f := range p.fresh {
		n := p.redated[f.host.ID]
		if f.life != store.Fetched || f.page.Reason == store.Requested || n <= maxRenewed ||
			2*n <= p.fetched[f.host.ID] {
			believed = append(believed, f)
			continue
		}
		*f.verdict = frontier.Duplicate
		if err := f.host.End(f.hash, store.Fetched); err != nil {
			return err
		}
		p.touch(f.host)
	}
	p.fresh = believed
	return nil
}

// finish queues the fresh pages, or the best of them if not all fit, and their hosts.
func (p *putBatch) finish() error {
	if err := p.moveRequested(); err != nil {
		return err
	}
	if err := p.refuseFalseDates(); err != nil {
		return err
	}
	if err := p.dropSurplus(); err != nil {
		return err
	}
	if err := p.takeScheduled(); err != nil {
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
		if done[h.ID] {
			continue
		}
		done[h.ID] = true
		if err := p.c.queue(h); err != nil {
			return err
		}
	}
	return nil
}

// takeScheduled removes fresh pages from the schedule of visits.
func (p *putBatch) takeScheduled() error {
	hosts := map[*store.Host]map[uint64]bool{}
	requested := map[*store.Host]bool{}
	var order []*store.Host
	for i := range p.fresh {
		f := &p.fresh[i]
		if f.life != store.Fetched || !f.host.Schedule.HasPages() || f.host.LeasedPage(f.hash) >= 0 {
			continue
		}
		if hosts[f.host] == nil {
			hosts[f.host] = map[uint64]bool{}
			order = append(order, f.host)
		}
		hosts[f.host][f.hash] = true
		requested[f.host] = requested[f.host] || f.page.Reason == store.Requested
	}
	for _, h := range order {
		pages, all, err := h.TakeScheduled(hosts[h], requested[h])
		if err != nil {
			return err
		}
		for i := range pages {
			if p.visits == nil {
				p.visits = map[freshKey]*store.Visit{}
			}
			hash := store.Hash48(pages[i].Path)
			p.visits[freshKey{h.ID, hash}] = pages[i].Visit
			delete(hosts[h], hash)
		}
		p.touch(h)
		if all {
			continue
		}
		if err := p.leaveScheduled(h, hosts[h]); err != nil {
			return err
		}
	}
	return nil
}

// leaveScheduled refuses pages that takeScheduled did not find in a schedule too large to be searched: they might be
// fetched twice. Only dates after now bring these pages back later.
func (p *putBatch) leaveScheduled(h *store.Host, hashes map[uint64]bool) error {
	var err error
	p.fresh = slices.DeleteFunc(p.fresh, func(f freshPage) bool {
		is := f.host == h && hashes[f.hash] && err == nil
		if is {
			*f.verdict = frontier.Duplicate
			err = h.End(f.hash, store.Fetched)
		}
		return is
	})
	return err
}

func (p *putBatch) accept(f *freshPage) error {
	known, ok := f.host.Known(f.hash)
	if known.Life != f.life { // a redirect of the same report led there
		*f.verdict = frontier.Duplicate
		return nil
	}
	if !ok {
		known = store.Known{Foreign: f.page.Foreign, Listed: !f.page.Foreign && f.page.Lastmod > 0, At: p.c.hour()}
	}
	known.Life, known.Foreign = store.Waiting, known.Foreign && f.page.Foreign
	if err := f.host.Remember(f.hash, known); err != nil {
		return err
	}
	leased := f.host.LeasedPage(f.hash)
	if f.life == store.Fetched {
		if f.page.Visit = p.visits[f.freshKey]; leased >= 0 {
			f.page.Visit = f.host.Leased[leased].Visit
		}
		if f.page.Visit == nil {
			f.page.Visit = &store.Visit{Count: 1, Fetched: known.Since(), Published: known.Since()}
		}
		if f.page.Reason != store.Requested {
			f.page.Reason, f.page.Visit.Newer = store.Redated, true
			announceEvent(p.c, f.host, &f.page, store.EventUpdated, f.foundBy)
		}
	}
	if leased >= 0 { // a scraper has it, on schedule: once is enough
		f.host.Leave(&f.host.Leased[leased])
		f.host.Leased[leased] = f.page
	} else {
		f.host.Enqueue(f.page)
	}
	f.host.URLs++
	p.c.tx.State().URLs++
	p.added++
	p.touch(f.host)
	return nil
}

// cut truncates a text to at most size bytes of whole characters.
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
