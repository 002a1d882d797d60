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
		for i := range r.Results {
			partition, err := p.result(&r.Results[i], p.items[i])
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

// reporter is a report at work.
type reporter struct {
	c        *call
	number   int64                // of the lease
	seal     seal                 // of the lease
	items    []reportedItem       // of the results
	finished map[int64]bool       // hosts whose lease has ended with this report
	slowed   map[int64]bool       // hosts that slowed down
	puts     map[string]*putBatch // of found URLs, by domain
	answer   frontier.ReportAnswer
}

// reportedItem is what an item's id names: its host, nil if there is none or the item is not of the lease, and the hash
// of its URL.
type reportedItem struct {
	host *store.Host
	hash uint64
}

// prepare loads what the results are about.
func (p *reporter) prepare(results []frontier.Result) error {
	c := p.c
	if err := p.open(results); err != nil {
		return err
	}
	var urls []store.URLKey
	named := map[reportedItem]bool{}
	for i, item := range p.items {
		h := item.host
		if h == nil {
			continue
		}
		if at := h.LeasedPage(item.hash); p.over(h) || at < 0 || named[item] || h.Leased[at].Foreign {
			urls = append(urls, store.URLKey{Host: h.ID, Hash: item.hash})
		}
		named[item] = true
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
			domain := cmp.Or(f.Domain, own)
			return !ok || contract.CheckDomain("", domain) != nil || domain != own && !others.Take(domain)
		})
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

// foundOn returns the domain and the partition of the page on which the URLs of a result were found. It reports false
// when nobody was given that page.
func (p *reporter) foundOn(item reportedItem) (domain string, partition contract.Partition, given bool) {
	h, hash := item.host, item.hash
	if h == nil || p.over(h) {
		return "", partition, false
	}
	var on *store.Page
	if i := h.LeasedPage(hash); i >= 0 {
		on = &h.Leased[i]
	} else if h.UnpackEntries() == nil && slices.Contains(h.Asked, hash) && h.Entry(hash) >= 0 {
		on = &h.Entries[h.Entry(hash)].Page
	} else {
		return "", partition, false
	}
	return h.Domain.Name, p.c.partition(h, on), true
}

// over reports whether the lease of a host is not the reported one, or is no longer.
func (p *reporter) over(h *store.Host) bool { return h.Lease != p.number || h.LeaseEnds <= p.c.now }

// result settles one item, and gives its partition.
func (p *reporter) result(r *frontier.Result, item reportedItem) (partition contract.Partition, err error) {
	h, hash := item.host, item.hash
	if h == nil {
		p.answer.Unknown++
		return partition, nil
	}
	if !p.over(h) {
		if at := h.LeasedPage(hash); at >= 0 {
			partition = p.c.partition(h, &h.Leased[at])
			return partition, p.page(h, at, r)
		}
		if at := slices.Index(h.Asked, hash); at >= 0 {
			partition = p.c.partition(h, &store.Page{})
			return partition, p.entry(h, at, r)
		}
	}
	if _, known := h.Known(hash); p.seal.none() || !known || p.foreign(h, hash) {
		p.answer.Unknown++
		return partition, nil
	}
	p.answer.Accepted++ // repeated, or late
	return p.c.partition(h, &store.Page{}), nil
}

// foreign reports whether an item belongs to another lease that is not over.
func (p *reporter) foreign(h *store.Host, hash uint64) bool {
	return h.Lease != p.number && h.Lease != 0 && h.LeaseEnds > p.c.now && h.LeasedPage(hash) >= 0
}

func (p *reporter) page(h *store.Host, at int, r *frontier.Result) error {
	c := p.c
	q := h.Leased[at]
	h.Leased = append(h.Leased[:at:at], h.Leased[at+1:]...)
	p.settled()
	if !r.NotFetched && !r.Forbidden && !r.NoRobots {
		c.tx.State().Answers++
	}
	if err := p.end(h, &q, r); err != nil {
		return err
	}
	if l, ok := c.link(r.RedirectedTo); ok && l.Host == h.Name {
		hash := store.Hash48(l.Path)
		if known, ok := h.Known(hash); !ok || known.Life == store.Idle {
			if err := h.End(hash, store.Fetched); err != nil {
				return err
			}
		}
	}
	return p.after(h, r)
}

// end notes what became of a page of the lease.
func (p *reporter) end(h *store.Host, q *store.Page, r *frontier.Result) error {
	c := p.c
	well, rested := h.Failures == 0, h.Refusals
	c.answered(h, r)
	switch outcomeOf(r) {
	case postponed:
		h.PutBack(*q)
	case missing:
		c.tx.State().Faults++
		p.deferPage(h, q, well)
	case broken:
		c.tx.State().Faults++
		if well && q.Tries+1 >= maxTries {
			return p.gone(h, q)
		}
		p.deferPage(h, q, well)
	case refused:
		if q.Refused++; q.Refused > 1 && rested == 0 || q.Refused >= maxRefusals {
			return p.gone(h, q)
		}
		q.Due = c.now.Add(refusedWait).Seconds() + 1
		if h.Refusals >= refusing { // others are asked for first
			q.Due = h.Ready.Add(refusedWait << q.Refused).Seconds()
		}
		h.PutBack(*q)
	case gone:
		return p.gone(h, q)
	case fetched:
		known, _ := h.Known(store.Hash48(q.Path))
		c.done(h, q, &h.Done, &c.tx.State().Done)
		if err := h.End(store.Hash48(q.Path), store.Fetched); err != nil {
			return err
		}
		scheduleVisit(c, h, q, r)
		if q.Foreign && known.Foreign { // its own site has not named it meanwhile
			return p.fetchedForeign(h, q, r)
		}
	}
	return nil
}

// deferPage puts a page back that got no useful answer. While its host rests, that is probed with other pages first. If
// the host was well, it may be the page's fault, which waits longer each time.
func (p *reporter) deferPage(h *store.Host, q *store.Page, well bool) {
	q.Due = h.Ready.Add(h.Ready.Sub(p.c.now)/4).Seconds() + 1 // a host's turn comes within an eighth of its wait
	if well {
		q.Due = max(q.Due, p.c.now.Add(min(retryBase<<(retryShift*min(q.Tries, maxTries)), maxRetry)).Seconds()+1)
		q.Tries++
	}
	h.PutBack(*q)
}

// gone notes that a page of a lease is not fetched any more.
func (p *reporter) gone(h *store.Host, q *store.Page) error {
	p.c.done(h, q, &h.Failed, &p.c.tx.State().Failed)
	return h.End(store.Hash48(q.Path), store.Gone)
}

// fetchedForeign notes that a page exists which only other domains had named, and announces it if it is new.
func (p *reporter) fetchedForeign(h *store.Host, q *store.Page, r *frontier.Result) error {
	if r.Status >= 300 {
		return nil
	}
	k := store.Known{Life: store.Fetched, At: p.c.hour()}
	if r.RedirectedTo == "" && p.c.isFresh(q.Lastmod, 0) && h.Domain.Announce(p.c.settings.Announcements) {
		k.Listed = true
		class := h.PageClass(q)
		p.c.tx.AppendFeed(&store.FeedItem{FoundAt: p.c.now, URL: h.URL(q), Domain: h.Domain.Name,
			FoundBy: frontier.FoundByScraper, Kind: q.Kind, Lastmod: q.Lastmod, Class: class.ID, Day: class.Day,
			Score: int64(q.Score(p.c.seconds()))})
	}
	return h.Remember(store.Hash48(q.Path), k)
}

func (p *reporter) entry(h *store.Host, at int, r *frontier.Result) error {
	c := p.c
	hash := h.Asked[at]
	h.Asked = append(h.Asked[:at:at], h.Asked[at+1:]...)
	p.settled()
	c.answered(h, r)
	if err := h.UnpackEntries(); err != nil {
		return err
	}
	if i := h.Entry(hash); i >= 0 && !r.NotFetched && !r.NoRobots { // it may have been removed meanwhile
		c.check(&h.Entries[i], r, false)
		c.tx.State().Answers++
		if store.FailedStatus(r.Status) {
			c.tx.State().Faults++
		}
	}
	return p.after(h, r)
}

// done counts a page that waits no more.
func (c *call) done(h *store.Host, q *store.Page, counters ...*int64) {
	h.Leave(q)
	for _, n := range counters {
		*n++
	}
}

func (p *reporter) settled() {
	p.answer.Accepted++
	p.c.tx.State().Leased--
}

// after slows down a host, queues found URLs, and ends the lease of a host whose last item was reported.
func (p *reporter) after(h *store.Host, r *frontier.Result) error {
	c := p.c
	h.Change()
	h.Delay = max(h.Delay, crawlDelay(r.CrawlDelay)) // only a collector's own look at robots.txt shortens it
	if (throttled(r) || r.NoRobots && r.RetryAfter > 0) && !p.slowed[h.ID] {
		p.slowed[h.ID] = true
		slowDown(h)
	}
	if len(h.Leased)+len(h.Asked) == 0 {
		p.finished[h.ID] = true
		if err := c.free(h, c.now.Add(h.Interval())); err != nil {
			return err
		}
	}
	for i := range r.Found {
		f := &r.Found[i]
		if err := p.puts[f.Domain].page(&f.NewPage, f.Domain != h.Domain.Name, new(frontier.Verdict)); err != nil {
			return err
		}
	}
	return nil
}

// finish queues what was found, and deletes the lease if all of its hosts are finished.
func (p *reporter) finish() error {
	for _, key := range slices.Sorted(maps.Keys(p.puts)) {
		if err := p.puts[key].finish(); err != nil {
			return err
		}
		p.answer.Added += p.puts[key].added
	}
	if len(p.finished) == 0 {
		return nil
	}
	return p.c.tx.EndLease(p.number, p.finished)
}
