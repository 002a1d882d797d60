package shard

import (
	"cmp"
	"maps"
	"slices"

	"github.com/newsfork/seed-engine/contract"
	"github.com/newsfork/seed-engine/epoch"
	"github.com/newsfork/seed-engine/frontier"
	"github.com/newsfork/seed-engine/frontier/link"
	"github.com/newsfork/seed-engine/frontier/shard/store"
)

// Report ends a lease, or the part of it that was reported.
func (s *Shard) Report(now epoch.Millis, r frontier.Report) (answer frontier.ReportAnswer, err error) {
	if err := r.Validate(); err != nil {
		return answer, err
	}
	err = s.run(now, func(c *call) error {
		number, seal, ok := c.openLease(r.Lease)
		if !ok {
			answer.Unknown = len(r.Results)
			answer.Outcomes = slices.Repeat([]frontier.Outcome{frontier.ReportUnknown}, len(r.Results))
			if r.Partitions {
				answer.Partitions = make([]contract.Partition, len(r.Results))
			}
			return nil
		}
		p := reporter{c: c, number: number, seal: seal, finished: map[int64]bool{}, slowed: map[int64]bool{}}
		if err := p.prepare(r.Results); err != nil {
			return err
		}
		if r.Partitions {
			p.answer.Partitions = make([]contract.Partition, len(r.Results))
		}
		answers, faults := c.tx.State().Answers, c.tx.State().Faults
		for i := range r.Results {
			partition, outcome, err := p.result(&r.Results[i], &p.items[i])
			if err != nil {
				return err
			}
			p.answer.Count(outcome)
			if r.Partitions {
				p.answer.Partitions[i] = partition
			}
		}
		if err := p.finish(); err != nil {
			return err
		}
		if n := c.tx.State().Answers - answers; n > 0 { // a repeated report counts nothing
			failed := c.tx.State().Faults - faults
			counts := c.tx.State().Scraper(r.Scraper, c.seconds())
			counts.Fetched, counts.Failed = counts.Fetched+n-failed, counts.Failed+failed
		}
		answer = p.answer
		return nil
	})
	return answer, err
}

// reporter is a report under way.
type reporter struct {
	c        *call
	number   int64                // of the lease
	seal     seal                 // of the lease
	items    []reportedItem       // of the results
	finished map[int64]bool       // hosts whose lease has ended with this report
	slowed   map[int64]bool       // hosts that slowed down
	puts     map[string]*putBatch // of found URLs, by domain
	verdicts []*frontier.Verdict  // of those
	answer   frontier.ReportAnswer
}

// reportedItem is the item of a result. host is nil if it is unknown or the item does not belong to the lease.
type reportedItem struct {
	host     *store.Host
	hash     uint64
	requeued *store.Page // its page, taken from the queue again, if the lease had expired
	entry    bool        // it is an entry point, and the lease had expired
}

// prepare loads the items of the results, and what is known of their URLs.
func (p *reporter) prepare(results []frontier.Result) error {
	c := p.c
	if err := p.open(results); err != nil {
		return err
	}
	var urls []store.URLKey
	named := map[store.URLKey]bool{}
	for i, item := range p.items {
		h := item.host
		if h == nil {
			continue
		}
		key := store.URLKey{Host: h.ID, Hash: item.hash}
		if err := p.takeBack(&p.items[i]); err != nil {
			return err
		}
		if at := h.LeasedPage(item.hash); h.Lease != p.number || at < 0 || named[key] || h.Leased[at].Foreign {
			urls = append(urls, key)
		}
		named[key] = true
		if l, ok := c.link(results[i].RedirectedTo); ok && l.Host == h.Name {
			urls = append(urls, store.URLKey{Host: h.ID, Hash: store.Hash48(l.Path)})
		}
	}
	if err := c.tx.LoadKnown(urls); err != nil {
		return err
	}
	return p.prepareFound(results)
}

// open finds the items of the results.
func (p *reporter) open(results []frontier.Result) error {
	p.items = make([]reportedItem, len(results))
	var ids []int64
	var of []int // the results of the ids
	for i := range results {
		id, hash, ok := p.seal.openItem(results[i].ID)
		if !ok {
			continue
		}
		p.items[i].hash = hash
		ids, of = append(ids, id), append(of, i)
	}
	hosts, err := p.c.tx.Hosts(ids)
	for i, h := range hosts {
		p.items[of[i]].host = h
	}
	return err
}

// prepareFound makes one put of the found URLs of each domain.
func (p *reporter) prepareFound(results []frontier.Result) error {
	p.puts = map[string]*putBatch{}
	for i := range results {
		r := &results[i]
		own, partition, ok := p.foundOn(p.items[i])
		others := link.FoundDomains{}
		r.Found = slices.DeleteFunc(r.Found, func(f frontier.FoundURL) bool {
			switch domain := cmp.Or(f.Domain, own); {
			case !ok:
			case contract.CheckDomain("", domain) != nil:
				p.answer.Found.Invalid++
			case domain != own && !others.Take(domain):
				p.answer.Found.Over++
			default:
				return false
			}
			return true
		})
		if f, found := p.foundCanonical(&p.items[i], r); ok && found {
			r.Found = append(r.Found, f)
		}
		for k := range r.Found {
			f := &r.Found[k]
			f.Domain, f.FoundBy = cmp.Or(f.Domain, own), cmp.Or(f.FoundBy, frontier.FoundByScraper)
			if p.puts[f.Domain] == nil {
				p.puts[f.Domain] = newPutBatch(p.c, f.Domain, partition)
				p.puts[f.Domain].found = true
			}
			p.puts[f.Domain].expected = append(p.puts[f.Domain].expected, f.URL)
		}
	}
	puts := make([]*putBatch, 0, len(p.puts))
	for _, domain := range slices.Sorted(maps.Keys(p.puts)) {
		puts = append(puts, p.puts[domain])
	}
	return preparePuts(p.c, puts)
}

// takeBack takes an item again that the lease had when it expired, unless the host was leased again since: a page from
// the queue, where it was put back.
func (p *reporter) takeBack(item *reportedItem) error {
	h := item.host
	missing, _ := h.Misses(p.number, item.hash, p.c.now)
	if !missing || h.Passed || p.seal.none() {
		return nil
	}
	if err := h.UnpackEntries(); err != nil {
		return err
	}
	if item.entry = h.Entry(item.hash) >= 0; item.entry {
		return nil
	}
	page, ok, err := h.TakeBack(item.hash)
	if ok {
		item.requeued = &page
	}
	return err
}

// foundOn returns the domain and the partition of the page on which the URLs of a result were found. leased is false
// if that page is not an item of the lease.
func (p *reporter) foundOn(item reportedItem) (domain string, partition contract.Partition, leased bool) {
	h, hash := item.host, item.hash
	if h == nil {
		return "", partition, false
	}
	on := item.requeued
	if on == nil && h.Lease == p.number {
		if i := h.LeasedPage(hash); i >= 0 {
			on = &h.Leased[i]
		} else if h.UnpackEntries() == nil && slices.Contains(h.Asked, hash) && h.Entry(hash) >= 0 {
			on = &h.Entries[h.Entry(hash)].Page
		}
	}
	if on == nil && item.entry {
		on = &h.Entries[h.Entry(hash)].Page
	}
	if on == nil {
		return "", partition, false
	}
	return h.Domain.Name, p.c.partition(h, on), true
}

// result records one result, and returns the partition and the outcome of its item. A late result counts as long as
// the host was not leased again.
func (p *reporter) result(r *frontier.Result, item *reportedItem) (contract.Partition, frontier.Outcome, error) {
	h, hash := item.host, item.hash
	if h == nil {
		return contract.Partition{}, frontier.ReportUnknown, nil
	}
	missing, certain := h.Misses(p.number, hash, p.c.now)
	switch q := item.requeued; {
	case q != nil:
		h.Arrive(hash)
		return p.c.partition(h, q), frontier.ReportLate, p.page(h, q, r)
	case item.entry && missing:
		h.Arrive(hash)
		return p.c.partition(h, &store.Page{}), frontier.ReportLate, p.entry(h, hash, r)
	}
	if h.Lease == p.number {
		outcome := frontier.ReportAccepted
		if h.LeaseEnds <= p.c.now {
			outcome = frontier.ReportLate
		}
		if at := h.LeasedPage(hash); at >= 0 {
			q := h.Leased[at]
			h.Leased = append(h.Leased[:at:at], h.Leased[at+1:]...)
			p.c.tx.State().Leased--
			return p.c.partition(h, &q), outcome, p.page(h, &q, r)
		}
		if at := slices.Index(h.Asked, hash); at >= 0 {
			h.Asked = append(h.Asked[:at:at], h.Asked[at+1:]...)
			p.c.tx.State().Leased--
			return p.c.partition(h, &store.Page{}), outcome, p.entry(h, hash, r)
		}
	}
	k, known := h.Known(hash)
	if p.seal.none() || !known || missing || !certain && !p.ended(k) {
		return contract.Partition{}, frontier.ReportUnknown, nil
	}
	return p.c.partition(h, &store.Page{}), frontier.ReportAccepted, nil // repeated
}

// ended reports whether a URL ended, as fetched or gone, by a lease of the time of this one.
func (p *reporter) ended(k store.Known) bool {
	at := p.leasedAt()
	return (k.Life == store.Fetched || k.Life == store.Gone) && k.Since() <= at && at < k.Until()
}

func (p *reporter) page(h *store.Host, q *store.Page, r *frontier.Result) error {
	c := p.c
	if !r.NotFetched && !r.Forbidden && !r.NoRobots {
		c.tx.State().Answer(c.today())
	}
	if err := p.recordPage(h, q, r); err != nil {
		return err
	}
	if err := p.redirected(h, r); err != nil {
		return err
	}
	return p.after(h, r, p.leadsElsewhere(h, r))
}

// leadsElsewhere reports whether a page redirected to another domain. Links found there are not the site's own: many
// sites redirect to whatever a parameter says.
func (p *reporter) leadsElsewhere(h *store.Host, r *frontier.Result) bool {
	if r.RedirectedTo == "" {
		return false
	}
	l, ok := p.c.link(r.RedirectedTo)
	return !ok || !p.c.belongs(l.Host, h.Domain.Name)
}

// redirected records the outcome for the target of a redirect, unless the target waits or was reported itself.
func (p *reporter) redirected(h *store.Host, r *frontier.Result) error {
	life := store.Fetched
	switch outcomeOf(r) {
	case fetched:
	case gone:
		life = store.Gone
	default:
		return nil
	}
	l, ok := p.c.link(r.RedirectedTo)
	if !ok || l.Host != h.Name {
		return nil
	}
	hash := store.Hash48(l.Path)
	if known, ok := h.Known(hash); ok && known.Life != store.Idle {
		return nil
	}
	return h.End(hash, life)
}

// recordPage records the outcome of a leased page.
func (p *reporter) recordPage(h *store.Host, q *store.Page, r *frontier.Result) error {
	c := p.c
	well, refusals, before := h.Failures == 0, h.Refusals, q.Status
	if !r.NotFetched && !r.NoRobots && !r.Forbidden {
		q.Status = uint16(r.Status)
	}
	c.recordResponse(h, store.Hash48(q.Path), r)
	switch outcomeOf(r) {
	case postponed:
		if r.NotFetched || r.NoRobots {
			refund(c, q)
		}
		h.PutBack(*q)
	case unanswered:
		c.tx.State().Faults++
		p.deferPage(h, q, well)
	case broken:
		c.tx.State().Faults++
		if well && q.Tries+1 >= maxTries {
			return p.gone(h, q, r)
		}
		p.deferPage(h, q, well)
	case refused:
		if q.Refused++; int(q.Refused) > len(refusedWaits) && refusals == 0 || q.Refused >= maxRefusals {
			return p.gone(h, q, r)
		}
		q.Due = c.now.Add(refusedWaits[min(int(q.Refused), len(refusedWaits))-1]).Seconds() + 1
		if h.Refusals >= refusing { // other pages come first
			q.Due = max(q.Due, h.Ready.Add(refusedWaits[0]<<q.Refused).Seconds())
		}
		h.PutBack(*q)
	case gone:
		return p.gone(h, q, r)
	case fetched:
		first, listed, now := q.Visit == nil, q.Lastmod, p.fetchedAs(q, r, before)
		differs := correct(c, q, r)
		countFetched(c, h, q)
		known, _ := h.Known(store.Hash48(q.Path))
		c.done(h, q, &h.Done, &c.tx.State().Done)
		if err := h.Remember(store.Hash48(q.Path), now); err != nil {
			return err
		}
		copied := p.look(h, q, r, before)
		if q.Foreign && known.Foreign { // its own site has not named it meanwhile
			return p.fetchedForeign(h, q, r, copied)
		}
		if first && !copied {
			return p.announceCorrection(h, q, known, listed, differs)
		}
	}
	return nil
}

// leasedAt returns when the lease began. Its pages were fetched at an unknown later time, so they might lack changes
// that their site dates between the two.
func (p *reporter) leasedAt() epoch.Seconds { return min(epoch.Millis(p.number), p.c.now).Seconds() }

// fetchedAs returns what is remembered of a fetched page. Only dates after its time bring the page back. The date with
// which the page was leased does not, even if it lies in the future. After a date that brought the page back without a
// change, the whole hour counts as fetched, since some sites always state the present. before is the previous status.
func (p *reporter) fetchedAs(q *store.Page, r *frontier.Result, before uint16) store.Known {
	at := p.leasedAt()
	if q.Lastmod <= latestDate(p.c) {
		at = max(at, q.Lastmod)
	}
	known := store.Known{Life: store.Fetched, Foreign: true}.On(at)
	if q.Reason == store.Redated && !hasChanged(q.Visit, r, before) {
		known.Part = 0
	}
	return known
}

// deferPage puts a page back that got no useful answer. Other pages of its host are probed first, and new ones before
// visits, which are in no hurry. If the host was well, the fault may be the page's own, so it waits longer each time.
func (p *reporter) deferPage(h *store.Host, q *store.Page, well bool) {
	q.Due = h.Ready.Add(h.Ready.Sub(p.c.now)/4).Seconds() + 1 // a host's turn comes within an eighth of its wait
	if well {
		q.Due = max(q.Due, p.c.now.Add(min(retryBase<<(retryShift*min(q.Tries, maxTries)), maxRetry)).Seconds()+1)
		q.Tries++
	}
	if q.Visit != nil {
		q.Due = max(q.Due, p.c.now.Add(visitRetry).Seconds())
	}
	h.PutBack(*q)
}

// gone records that a leased page is not fetched any more.
func (p *reporter) gone(h *store.Host, q *store.Page, r *frontier.Result) error {
	p.c.done(h, q, &h.Failed, &p.c.tx.State().Failed)
	if k := h.Patterns.Find(link.Pattern(q.Path)); k != nil {
		k.Gone++
	}
	if q.Visit != nil && (r.Status == 404 || r.Status == 410) {
		announceEvent(p.c, h, q, store.EventRemoved, frontier.FoundByScraper)
	}
	known := store.Known{Life: store.Gone, Foreign: true}.On(p.leasedAt())
	if r.Forbidden {
		known.Disallowed, known.Listed, known.Foreign = true, true, false
	}
	return h.Remember(store.Hash48(q.Path), known)
}

// fetchedForeign records that a page named only by other domains exists, and announces it if it is new. It does not
// announce copies: many sites answer any path with 200 and the same text.
func (p *reporter) fetchedForeign(h *store.Host, q *store.Page, r *frontier.Result, copied bool) error {
	if r.Status >= 300 {
		return nil
	}
	k, _ := h.Known(store.Hash48(q.Path))
	k.Foreign = false
	if r.RedirectedTo == "" && !copied && p.c.isFresh(q.Lastmod, 0) && h.Domain.Announce(p.c.settings.Announcements) {
		k.Listed = true
		class := h.PageClass(q)
		p.c.tx.AppendFeed(&store.FeedItem{FoundAt: p.c.now, URL: h.URL(q), Domain: h.Domain.Name,
			FoundBy: frontier.FoundByScraper, Kind: q.Kind, Lastmod: q.Lastmod, Class: class.ID, Day: class.Day,
			Score: int64(q.Score(p.c.seconds()))})
	}
	return h.Remember(store.Hash48(q.Path), k)
}

// entry records the outcome of a leased entry point.
func (p *reporter) entry(h *store.Host, hash uint64, r *frontier.Result) error {
	c := p.c
	c.recordResponse(h, hash, r)
	if err := h.UnpackEntries(); err != nil {
		return err
	}
	if i := h.Entry(hash); i >= 0 && !r.NotFetched && !r.NoRobots { // it may have been removed meanwhile
		c.recordCheck(&h.Entries[i], r, store.Unknown)
		c.tx.State().Answer(c.today())
		if store.FailedStatus(r.Status) {
			c.tx.State().Faults++
		}
	}
	return p.after(h, r, false) // a site's own feed may be somewhere else
}

// done removes a page from the counts of waiting ones, and increments counters.
func (c *call) done(h *store.Host, q *store.Page, counters ...*int64) {
	h.Leave(q)
	for _, n := range counters {
		*n++
	}
}

// after slows down a host, queues found URLs, and ends the lease of a host whose last item was reported. elsewhere
// tells that they were found on another domain.
func (p *reporter) after(h *store.Host, r *frontier.Result, elsewhere bool) error {
	c := p.c
	h.Change()
	h.Delay = max(h.Delay, crawlDelay(r.CrawlDelay)) // only a collector's own look at robots.txt shortens it
	if (throttled(r) || r.NoRobots && r.RetryAfter > 0) && !p.slowed[h.ID] {
		p.slowed[h.ID] = true
		slowDown(h)
	}
	switch {
	case h.Lease != p.number: // late: it is queued already
		if err := c.queue(h); err != nil {
			return err
		}
	case len(h.Leased)+len(h.Asked) == 0:
		p.finished[h.ID] = true
		if err := c.freeHost(h, min(c.now, h.LeaseEnds).Add(h.Interval())); err != nil {
			return err
		}
	}
	for i := range r.Found {
		f, verdict := &r.Found[i], new(frontier.Verdict)
		p.verdicts = append(p.verdicts, verdict)
		if err := p.puts[f.Domain].page(&f.NewPage, elsewhere || f.Domain != h.Domain.Name, verdict); err != nil {
			return err
		}
	}
	return nil
}

// finish queues what was found, and deletes the lease if this report finished all of its hosts.
func (p *reporter) finish() error {
	for _, key := range slices.Sorted(maps.Keys(p.puts)) {
		if err := p.puts[key].finish(); err != nil {
			return err
		}
		p.answer.Added += p.puts[key].added
	}
	for _, v := range p.verdicts {
		p.answer.Found.Count(*v)
	}
	if err := scheduleRefills(p.c, p.c.tx.LoadedDomains()); err != nil {
		return err
	}
	if len(p.finished) == 0 {
		return nil
	}
	return p.c.tx.EndLease(p.number, p.finished)
}
