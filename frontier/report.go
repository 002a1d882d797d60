package frontier

import (
	"cmp"
	"slices"
	"strconv"

	"github.com/newsfork/seed-engine/contract"
)

// Report says what became of the items of a lease.
type Report struct {
	Lease   string
	Results []Result

	// Partitions asks for the partition of each item, for URLs found there that belong to other shards.
	Partitions bool
}

// Result is what became of one item.
type Result struct {
	ID           string
	Status       int   // of the last answer; 0 when there was none
	Unresolved   bool  // there was none because the host's name does not resolve
	NotFetched   bool  // nobody asked, for want of time: it comes back
	Forbidden    bool  // nobody asked, since robots.txt forbids it
	NoRobots     bool  `json:",omitempty"` // nobody asked, since robots.txt cannot be read: it comes back, the host later
	RetryAfter   int64 // seconds that the answer asked to wait; 0: it did not
	ETag         string
	LastModified string
	SHA256       string // of the body, in hexadecimal
	RedirectedTo string // where the answer came from in the end
	Found        []FoundURL

	same bool // of an entry point: it lists nothing new
}

// FoundURL is a URL that was found on a page. It belongs to this shard.
type FoundURL struct {
	NewPage
	Domain string // its registrable domain; "": that of the page
}

// ReportAnswer counts what was reported. A repeated result, or one of a lease that is over, counts
// as accepted and changes nothing.
type ReportAnswer struct {
	Accepted int
	Unknown  int // neither the lease nor the item exists, or they do not belong together
	Added    int // found URLs that are new

	// Partitions are those of the items, in the order of the results, if they were asked for: the zero
	// value for an unknown one. Of a page that was reported before it is one of its host's.
	Partitions []contract.Partition `json:",omitempty"`
}

// Report ends a lease, or the part of it that was reported.
func (s *Shard) Report(now int64, r Report) (answer ReportAnswer, err error) {
	if err := r.validate(); err != nil {
		return answer, err
	}
	number, err := strconv.ParseInt(r.Lease, 36, 64)
	if err != nil || number < 1 {
		number = -1
	}
	err = s.run(now, func(c *call) error {
		if number > c.state.lease {
			number = -1
		}
		p := reporting{c: c, number: number, finished: map[int64]bool{}, slowed: map[int64]bool{}}
		if err := p.prepare(r.Results); err != nil {
			return err
		}
		if r.Partitions {
			p.answer.Partitions = make([]contract.Partition, len(r.Results))
		}
		for i := range r.Results {
			partition, err := p.result(&r.Results[i])
			if err != nil {
				return err
			}
			if r.Partitions {
				p.answer.Partitions[i] = partition
			}
		}
		if err := p.finish(); err != nil {
			return err
		}
		answer = p.answer
		return nil
	})
	return answer, err
}

func (r *Report) validate() error {
	if err := checkRange("results", len(r.Results), 0, MaxResults); err != nil {
		return err
	}
	found := 0
	for i := range r.Results {
		found += len(r.Results[i].Found)
	}
	if err := checkRange("urls", found, 0, MaxFound); err != nil {
		return err
	}
	for i := range r.Results {
		if err := r.Results[i].validate("results[" + strconv.Itoa(i) + "]."); err != nil {
			return err
		}
	}
	return nil
}

// Bounds of waiting, in seconds: the longest delay that a host or an operator may set, and the longest
// Retry-After that is obeyed, which is that of collections.
const (
	maxWait   = 366 * 86_400
	maxObeyed = 86_400
)

func (r *Result) validate(field string) error {
	if r.Status != 0 {
		if err := checkRange(field+"status", r.Status, 100, 599); err != nil {
			return err
		}
	}
	if r.RetryAfter < 0 {
		return contract.Invalid(field+"retry_after_seconds", "%d is negative; send seconds", r.RetryAfter)
	}
	r.RetryAfter = min(r.RetryAfter, maxObeyed)
	return nil
}

// reporting is a report at work.
type reporting struct {
	c        *call
	number   int64               // of the lease, -1 when there never was one
	finished map[int64]bool      // hosts whose lease has ended with this report
	slowed   map[int64]bool      // hosts that slowed down
	puts     map[string]*putting // of found URLs, by domain
	answer   ReportAnswer
}

// prepare loads what the results are about.
func (p *reporting) prepare(results []Result) error {
	c := p.c
	var ids []int64
	for i := range results {
		if id, _, ok := parseItemID(results[i].ID); ok {
			ids = append(ids, id)
		}
	}
	if _, err := c.loadWithDomains(ids); err != nil {
		return err
	}
	var keys []int64
	named := map[string]bool{}
	for i := range results {
		id, hash, ok := parseItemID(results[i].ID)
		h := c.hosts[id]
		if !ok || h == nil {
			continue
		}
		if p.over(h) || h.leasedPage(hash) < 0 || named[results[i].ID] {
			keys = append(keys, h.chunkKey(hash))
		}
		named[results[i].ID] = true
		if l, ok := parse(results[i].RedirectedTo); ok && l.host == h.name {
			keys = append(keys, h.chunkKey(hash48(l.path)))
		}
	}
	if err := c.loadParts(keys); err != nil {
		return err
	}
	return p.prepareFound(results)
}

// prepareFound makes one put of the found URLs of each domain.
func (p *reporting) prepareFound(results []Result) error {
	p.puts = map[string]*putting{}
	for i := range results {
		r := &results[i]
		own, partition, ok := p.foundOn(r)
		others := foundDomains{}
		r.Found = slices.DeleteFunc(r.Found, func(f FoundURL) bool {
			domain := cmp.Or(f.Domain, own)
			return !ok || contract.CheckDomain("", domain) != nil || domain != own && !others.take(domain)
		})
		for k := range r.Found {
			f := &r.Found[k]
			f.Domain, f.FoundBy = cmp.Or(f.Domain, own), cmp.Or(f.FoundBy, foundByScraper)
			if p.puts[f.Domain] == nil {
				p.puts[f.Domain] = p.c.newPut(f.Domain, partition)
				p.puts[f.Domain].found = true
			}
			p.puts[f.Domain].expected = append(p.puts[f.Domain].expected, f.URL)
		}
	}
	puts := make([]*putting, 0, len(p.puts))
	for _, domain := range sortedKeys(p.puts) {
		puts = append(puts, p.puts[domain])
	}
	return p.c.preparePuts(puts)
}

// foundByScraper is how a URL was found that a scraper reports.
const foundByScraper = "scraper"

// foundOn gives the domain and the partition of the page on which the URLs of a result were found. It reports false
// when nobody was given that page.
func (p *reporting) foundOn(r *Result) (domain string, partition contract.Partition, ok bool) {
	id, hash, _ := parseItemID(r.ID)
	h := p.c.hosts[id]
	if h == nil || p.over(h) {
		return "", partition, false
	}
	var on *page
	if i := h.leasedPage(hash); i >= 0 {
		on = &h.leased[i]
	} else if h.unpackEntries() == nil && slices.Contains(h.asked, hash) && h.entry(hash) >= 0 {
		on = &h.entries[h.entry(hash)].page
	} else {
		return "", partition, false
	}
	return p.c.domains[h.domain].name, p.c.partition(h, on), true
}

// over reports whether the lease of a host is not the reported one, or is no longer.
func (p *reporting) over(h *host) bool { return h.lease != p.number || h.leaseEnds <= p.c.now }

// result settles one item, and gives its partition.
func (p *reporting) result(r *Result) (partition contract.Partition, err error) {
	id, hash, ok := parseItemID(r.ID)
	h := p.c.hosts[id]
	if !ok || h == nil || p.number < 0 {
		p.answer.Unknown++
		return partition, nil
	}
	if !p.over(h) {
		if at := h.leasedPage(hash); at >= 0 {
			partition = p.c.partition(h, &h.leased[at])
			return partition, p.page(h, at, r)
		}
		if at := slices.Index(h.asked, hash); at >= 0 {
			partition = p.c.partition(h, &page{})
			return partition, p.entry(h, at, r)
		}
	}
	if !p.c.seen(h, hash) || p.foreign(h, hash) {
		p.answer.Unknown++
		return partition, nil
	}
	p.answer.Accepted++ // repeated, or late
	return p.c.partition(h, &page{}), nil
}

// foreign reports whether an item belongs to another lease that is not over.
func (p *reporting) foreign(h *host, hash uint64) bool {
	return h.lease != p.number && h.lease != 0 && h.leaseEnds > p.c.now && h.leasedPage(hash) >= 0
}

func (p *reporting) page(h *host, at int, r *Result) error {
	c := p.c
	q := h.leased[at]
	h.leased = append(h.leased[:at:at], h.leased[at+1:]...)
	p.settled()
	if !r.NotFetched && !r.Forbidden && !r.NoRobots {
		c.state.answers++
	}
	switch c.answered(h, r) {
	case postponed:
		h.buffer = append(h.buffer, q)
	case failed:
		c.state.faults++
		c.tryAgain(h, q, (c.now+999)/1000+retryBase<<(retryShift*q.tries))
	case gone:
		c.done(h, &h.failed, &c.state.failed)
	case fetched:
		c.done(h, &h.done, &c.state.done)
	}
	if l, ok := parse(r.RedirectedTo); ok && l.host == h.name && !c.seen(h, hash48(l.path)) {
		if err := c.remember(h, hash48(l.path)); err != nil {
			return err
		}
	}
	return p.after(h, r)
}

func (p *reporting) entry(h *host, at int, r *Result) error {
	c := p.c
	hash := h.asked[at]
	h.asked = append(h.asked[:at:at], h.asked[at+1:]...)
	p.settled()
	c.answered(h, r)
	if err := h.unpackEntries(); err != nil {
		return err
	}
	if i := h.entry(hash); i >= 0 && !r.NotFetched && !r.NoRobots { // it may have been removed meanwhile
		c.check(&h.entries[i], r)
		c.state.answers++
		if failedStatus(r.Status) {
			c.state.faults++
		}
	}
	return p.after(h, r)
}

// done counts a page that will not be fetched again.
func (c *call) done(h *host, counters ...*int64) {
	h.urls--
	c.state.urls--
	for _, n := range counters {
		*n++
	}
}

func (p *reporting) settled() {
	p.answer.Accepted++
	p.c.state.leased--
}

// after slows down a host, queues found URLs, and ends the lease of a host whose last item was reported.
func (p *reporting) after(h *host, r *Result) error {
	c := p.c
	c.change(h)
	if r.throttled() && !p.slowed[h.id] {
		p.slowed[h.id] = true
		c.slowDown(h)
	}
	if len(h.leased)+len(h.asked) == 0 {
		p.finished[h.id] = true
		if err := c.free(h, c.now+h.interval()); err != nil {
			return err
		}
	}
	for i := range r.Found {
		if err := p.puts[r.Found[i].Domain].page(&r.Found[i].NewPage, new(Verdict)); err != nil {
			return err
		}
	}
	return nil
}

// finish queues what was found, and deletes the lease if all of its hosts are finished.
func (p *reporting) finish() error {
	for _, key := range sortedKeys(p.puts) {
		if err := p.puts[key].finish(); err != nil {
			return err
		}
		p.answer.Added += p.puts[key].added
	}
	if len(p.finished) == 0 {
		return nil
	}
	rows, err := p.c.db.Run(`SELECT data FROM leases WHERE id = ?1`, p.number)
	if err != nil || !rows.Next() {
		return err
	}
	data := rows.Blob()
	for at := 0; at+idBytes <= len(data); at += idBytes {
		if !p.finished[idAt(data, at)] {
			return nil // the sweep will delete it
		}
	}
	p.c.leases[p.number] = leaseRow{}
	return nil
}
