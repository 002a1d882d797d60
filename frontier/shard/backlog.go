package shard

import (
	"cmp"
	"slices"
	"time"

	"github.com/newsfork/seed-engine/contract"
	"github.com/newsfork/seed-engine/epoch"
	"github.com/newsfork/seed-engine/frontier"
	"github.com/newsfork/seed-engine/frontier/shard/store"
)

// Only the best pages of a domain wait, at most Settings.URLsPerDomain. The other pages that its collections stored
// are its backlog. When half of the waiting pages are fetched, the domain needs a refill: the next tick sends a
// message, and its consumer puts the next best pages, until the backlog is empty.

const (
	maxRefills  = 64               // domains that want more at once; see scheduleRefill
	refillRetry = 10 * time.Minute // after which a domain asks again that was given nothing, or had to wait
)

// needsRefill reports whether a domain needs more pages. CountPages must have been called.
func needsRefill(c *call, m *store.Domain) bool {
	return len(m.Backlogs) > 0 && !m.Excluded && m.MirrorOf == "" && 2*m.Pages() <= c.settings.URLsPerDomain
}

// scheduleRefills schedules refills for those of some domains that need one.
func scheduleRefills(c *call, domains []*store.Domain) error {
	domains = slices.DeleteFunc(domains, func(m *store.Domain) bool {
		return len(m.Backlogs) == 0 || refillIndex(c, m.Name) >= 0
	})
	if len(domains) == 0 {
		return nil
	}
	if err := c.tx.CountPages(domains); err != nil {
		return err
	}
	for _, m := range domains {
		if needsRefill(c, m) {
			scheduleRefill(c, m, c.now)
		}
	}
	return nil
}

// refillIndex returns the index of a domain's scheduled refill, or -1.
func refillIndex(c *call, domain string) int {
	return slices.IndexFunc(c.tx.State().Wanting, func(w store.Wanting) bool { return w.Domain == domain })
}

// scheduleRefill schedules the refill of a domain, or moves it. If too many are scheduled, the domain is considered
// again with its next report, or after refillRetry if it has nothing to report.
func scheduleRefill(c *call, m *store.Domain, at epoch.Millis) {
	s := c.tx.State()
	if i := refillIndex(c, m.Name); i >= 0 {
		s.Wanting[i].Ask = at
	} else if len(s.Wanting) < maxRefills {
		s.Wanting = append(s.Wanting, store.Wanting{Domain: m.Name, Ask: at})
	} else if m.Pages() == 0 {
		again := c.now.Add(refillRetry)
		if ends := opensAt(c, m); ends > 0 {
			again = min(again, ends)
		}
		m.WakeAt(again)
	}
	alarm := max(at, c.now.Add(c.settings.tickSpacing()))
	c.alarm = min(cmp.Or(c.alarm, alarm), alarm)
}

// queueRefills adds messages for the refills that are due.
func queueRefills(c *call, tick *Tick) error {
	s := c.tx.State()
	if len(s.Wanting) == 0 {
		return nil
	}
	var names []string
	for _, w := range s.Wanting {
		names = append(names, w.Domain)
	}
	domains, err := c.tx.DomainsNamed(names)
	if err != nil {
		return err
	}
	if err := c.tx.CountPages(slices.DeleteFunc(slices.Clone(domains), func(m *store.Domain) bool {
		return m == nil
	})); err != nil {
		return err
	}
	kept := s.Wanting[:0]
	for i, w := range s.Wanting {
		m := domains[i]
		if m == nil || len(m.Backlogs) == 0 || m.Excluded || m.MirrorOf != "" || !c.owns(m.Name) {
			continue
		}
		if w.Ask <= c.now {
			w.Ask = c.now.Add(refillRetry)
			refill := contract.Refresh{
				Domain: m.Name, URL: "https://" + m.Name + "/", Method: frontier.MethodRefill,
				From: m.Backlogs[0].Next, Want: room(c, m), Partition: m.Backlogs[0].Partition, QueuedAt: c.now,
			}
			message := contract.RefreshMessage{Refreshes: []contract.Refresh{refill}}
			tick.Messages = append(tick.Messages, contract.Encode(message))
		}
		kept = append(kept, w)
		tick.AlarmAt = min(tick.AlarmAt, max(w.Ask, c.now.Add(c.settings.tickSpacing())))
	}
	s.Wanting = kept
	return nil
}

// room returns how many more pages a domain may have.
func room(c *call, m *store.Domain) int {
	return int(max(c.settings.URLsPerDomain-m.Pages(), 0))
}

// backlog records how far the stored pages of the domain were put, and schedules the next refill or cancels it.
func (p *putBatch) backlog(s *frontier.StoredPages, partition contract.Partition) (left int) {
	m, progress := p.domain, p.added > 0
	at := slices.IndexFunc(m.Backlogs, func(b frontier.Backlog) bool { return b.Partition == partition })
	switch {
	case s.Collected && at < 0 && m.Owner != "" && m.OwnerEnds > p.c.now && crowded(p.c, m):
		// Release notes it, which writes the row anyway.
	case s.Collected:
		if at >= 0 {
			m.Backlogs = slices.Delete(m.Backlogs, at, at+1)
		}
		if s.More || p.surplus {
			addBacklog(m, partition)
		}
		if at >= 0 || s.More || p.surplus {
			m.Change()
		}
	case at < 0 || m.Backlogs[at].Next != s.From: // another put was faster
	case s.More:
		m.Backlogs[at].Next, progress = s.Next, true
		m.Change()
	case m.Backlogs[at].Again:
		m.Backlogs[at].Again, m.Backlogs[at].Next = false, ""
		m.Change()
	default:
		m.Backlogs = slices.Delete(m.Backlogs, at, at+1)
		m.Change()
	}
	switch i := refillIndex(p.c, m.Name); {
	case needsRefill(p.c, m) && (i < 0 || progress):
		scheduleRefill(p.c, m, p.c.now)
	case needsRefill(p.c, m):
		scheduleRefill(p.c, m, p.c.now.Add(refillRetry))
	case i >= 0:
		state := p.c.tx.State()
		state.Wanting = slices.Delete(state.Wanting, i, i+1)
	}
	return room(p.c, m)
}

// noteCollected adds a backlog after a collection that probably stored more pages than may wait.
func noteCollected(c *call, m *store.Domain) error {
	if err := c.tx.CountPages([]*store.Domain{m}); err != nil {
		return err
	}
	if crowded(c, m) && !slices.ContainsFunc(m.Backlogs, func(b frontier.Backlog) bool {
		return b.Partition == m.Evidence.Partition
	}) {
		addBacklog(m, m.Evidence.Partition)
	}
	return nil
}

// putAgain requests that the stored pages of a domain are put again, from the first one on.
func putAgain(c *call, m *store.Domain) error {
	for i := range m.Backlogs {
		m.Backlogs[i].Next, m.Backlogs[i].Again = "", false
	}
	if len(m.Backlogs) == 0 && m.Evidence.At > 0 {
		m.Backlogs = []frontier.Backlog{{Partition: m.Evidence.Partition}}
	}
	m.Change()
	return scheduleRefills(c, []*store.Domain{m})
}

// crowded reports whether a domain has nine tenths of the pages that may wait. A collection rarely fills the rest,
// since some of its pages are entry points, or known already.
func crowded(c *call, m *store.Domain) bool { return 10*m.Pages() >= 9*c.settings.URLsPerDomain }

func addBacklog(m *store.Domain, partition contract.Partition) {
	if len(m.Backlogs) >= store.MaxBacklogs {
		m.Backlogs = slices.Delete(m.Backlogs, 0, 1)
	}
	m.Backlogs = append(m.Backlogs, frontier.Backlog{Partition: partition})
}

// displaced records that pages of the domain were dropped or refused. They are put again after the rest of the
// backlog.
func (p *putBatch) displaced() {
	m := p.domain
	p.surplus = true
	switch {
	case len(m.Backlogs) > 0:
		if b := &m.Backlogs[0]; !b.Again {
			b.Again = true
			m.Change()
		}
	case m.Evidence.At > 0:
		addBacklog(m, m.Evidence.Partition)
		m.Change()
	}
}
