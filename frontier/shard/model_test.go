package shard_test

import (
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/newsfork/seed-engine/epoch"
	"github.com/newsfork/seed-engine/frontier"
	"github.com/newsfork/seed-engine/frontier/frontiertest"
)

// model is the simplest description of what a shard does: which URLs wait, who has which host, and when
// a host may be fetched from. Operations that the model did not foresee are errors.
type model struct {
	*world
	random  *rand.Rand
	urls    map[string]*modelURL // by URL
	hosts   map[string]*modelHost
	domains map[string]*modelDomain
	leases  []frontier.Lease
}

type modelURL struct {
	host    string
	over    bool // fetched, gone or disallowed: only an operator brings it back within the minutes of this test
	out     bool // leased
	broken  int  // answers of a broken server
	leaseID string
}

type modelHost struct {
	domain     string
	ready      epoch.Millis // earliest time of a lease
	leaseEnds  epoch.Millis
	delay      epoch.Millis
	excluded   bool
	leasedAtID string
}

type modelDomain struct {
	owner     string
	ownerEnds epoch.Millis
	excluded  bool
}

func (m *model) domain(name string) *modelDomain {
	if m.domains[name] == nil {
		m.domains[name] = &modelDomain{}
	}
	return m.domains[name]
}

func (m *model) host(name, domain string) *modelHost {
	if m.hosts[name] == nil {
		m.hosts[name] = &modelHost{domain: domain, delay: 1000}
	}
	return m.hosts[name]
}

// randomHost returns a host of one of few domains, some with many hosts.
func (m *model) randomHost() (host, domain string) {
	domain = fmt.Sprintf("d%d.example", m.random.IntN(6))
	return fmt.Sprintf("h%d.%s", m.random.IntN(1+7*m.random.IntN(2)), domain), domain
}

func (m *model) put() {
	host, domain := m.randomHost()
	from := m.random.IntN(600)
	list := frontiertest.Articles(host, from, 1+m.random.IntN(200))
	want, waits, refetch := map[string]bool{}, map[string]bool{}, m.random.IntN(5) == 0
	for i := range list {
		p := &list[i]
		p.Refetch = refetch
		u := m.urls[p.URL]
		if (u == nil || refetch && u.over) && !m.domain(domain).excluded && !m.host(host, domain).excluded {
			want[p.URL] = true
		}
		waits[p.URL] = refetch && u != nil && !u.over // it is given sooner, unless it is leased or was requested before
	}
	var a frontier.PutAnswer
	m.do(func() (err error) {
		a, err = m.shard.Put(m.now, frontier.Put{Domain: domain, Partition: partition, Pages: list})
		return err
	})
	full := false
	for i, v := range a.Pages {
		known := v == frontier.Duplicate || v == frontier.Accepted || v == frontier.Excluded
		if waits[list[i].URL] && !known ||
			!waits[list[i].URL] && (v == frontier.Accepted || v == frontier.DomainFull) != want[list[i].URL] {
			m.Errorf("%s: %s", list[i].URL, v)
		}
		if v == frontier.Accepted {
			m.urls[list[i].URL] = &modelURL{host: host}
		}
		full = full || v == frontier.DomainFull
	}
	m.dropped(domain, full)
}

// dropped removes the pages that better ones displaced.
func (m *model) dropped(domain string, full bool) {
	if m.shard.Settings.URLsPerDomain > 1000 {
		if full {
			m.Error("the domain is not full")
		}
		return
	}
	waiting := int64(0)
	for url, u := range m.urls {
		if m.hosts[u.host].domain != domain || u.over {
			continue
		}
		var state frontier.URLState
		m.do(func() (err error) {
			state, err = m.shard.URL(m.now, url)
			return err
		})
		switch {
		case state.State != "known":
			waiting++
		case u.out && m.hosts[u.host].leaseEnds > m.now && u.leaseID == m.hosts[u.host].leasedAtID:
			m.Errorf("%s is leased and dropped", url)
		default:
			delete(m.urls, url) // it can be put again
		}
	}
	if waiting > m.shard.Settings.URLsPerDomain+200 {
		m.Errorf("%s has %d pages", domain, waiting)
	}
}

func (m *model) lease() {
	r := frontier.LeaseRequest{Max: 1 + m.random.IntN(60), PerHost: m.random.IntN(6),
		Seconds: 10 + m.random.Int64N(100)}
	if m.random.IntN(4) == 0 {
		r.Types = []string{"policy"}
	}
	if m.random.IntN(4) == 0 {
		r.Country = "kr"
	}
	l, _ := m.world.lease(r)
	if len(l.Items) > r.Max {
		m.Errorf("%d items, wanted %d", len(l.Items), r.Max)
	}
	perHost := map[string]int{}
	for _, item := range l.Items {
		perHost[item.Host]++
		m.leased(item, l)
		if len(r.Types) > 0 && item.Type != "policy" {
			m.Errorf("%s: of type %s", item.URL, item.Type)
		}
	}
	for host, n := range perHost {
		if n > max(1, r.PerHost) {
			m.Errorf("%d items of %s", n, host)
		}
		h := m.hosts[host]
		h.leaseEnds, h.leasedAtID = l.ExpiresAt, l.ID
	}
	active := map[string]int{}
	for _, h := range m.hosts {
		if h.leaseEnds > m.now {
			active[h.domain]++
		}
	}
	for domain, n := range active {
		if n > 4 {
			m.Errorf("%d hosts of %s at once", n, domain)
		}
	}
	if len(l.Items) > 0 {
		m.leases = append(m.leases, l)
	}
}

// leased checks that an item may be given.
func (m *model) leased(item frontier.Item, l frontier.Lease) {
	u, h := m.urls[item.URL], m.hosts[item.Host]
	if u == nil || u.over {
		m.Fatalf("%s: is not queued", item.URL)
	}
	d := m.domain(h.domain)
	switch {
	case d.excluded || h.excluded:
		m.Errorf("%s is excluded", item.URL)
	case d.owner != "" && d.ownerEnds > m.now:
		m.Errorf("%s: a collector has its domain", item.URL)
	case h.leaseEnds > m.now:
		m.Errorf("%s: its host is leased", item.URL)
	case m.now < h.ready || h.leaseEnds > 0 && m.now < h.leaseEnds+h.delay:
		m.Errorf("%s: its host must not be asked yet", item.URL)
	}
	u.out, u.leaseID = true, l.ID
}

func (m *model) report() {
	if len(m.leases) == 0 {
		return
	}
	i := m.random.IntN(len(m.leases))
	l := m.leases[i]
	r := frontier.Report{Lease: l.ID}
	for _, item := range l.Items {
		if m.random.IntN(10) == 0 {
			continue
		}
		result := frontier.Result{ID: item.ID, Status: []int{200, 200, 200, 404, 500, 503, 429, 0}[m.random.IntN(8)]}
		switch result.Status {
		case 429:
			result.RetryAfter = m.random.Int64N(100)
		case 200:
			if m.random.IntN(3) == 0 {
				result.Copy, result.CopyOf = true, l.Items[m.random.IntN(len(l.Items))].URL
			}
		case 0:
			result.Forbidden = true
		}
		r.Results = append(r.Results, result)
	}
	var a frontier.ReportAnswer
	m.do(func() (err error) {
		a, err = m.shard.Report(m.now, r)
		return err
	})
	if a.Accepted+a.Late+a.Unknown != len(r.Results) || a.Late > 0 && l.ExpiresAt > m.now {
		m.Errorf("of %d results: %+v", len(r.Results), a)
	}
	if l.ExpiresAt <= m.now {
		m.late(l, r, a.Outcomes)
		m.leases = append(m.leases[:i], m.leases[i+1:]...)
		return
	}
	left := map[string]int{}
	reported := map[string]frontier.Result{}
	for _, result := range r.Results {
		reported[result.ID] = result
	}
	var rest []frontier.Item
	for _, item := range l.Items {
		result, ok := reported[item.ID]
		if !ok {
			left[item.Host]++
			rest = append(rest, item)
			continue
		}
		m.settle(item, result)
	}
	for _, item := range l.Items {
		if h := m.hosts[item.Host]; left[item.Host] == 0 && h.leasedAtID == l.ID {
			h.leaseEnds = 0
			h.ready = max(h.ready, m.now+h.delay)
		}
	}
	if m.leases[i].Items = rest; len(rest) == 0 {
		m.leases = append(m.leases[:i], m.leases[i+1:]...)
	}
}

// late settles what was reported after a lease was over, and counts.
func (m *model) late(l frontier.Lease, r frontier.Report, outcomes []frontier.Outcome) {
	for i, result := range r.Results {
		if outcomes[i] == frontier.ReportAccepted {
			m.Errorf("%s was accepted, though it was not reported before", result.ID)
		}
		if outcomes[i] != frontier.ReportLate {
			continue
		}
		for _, item := range l.Items {
			if item.ID != result.ID {
				continue
			}
			if m.hosts[item.Host].leasedAtID != l.ID {
				m.Errorf("%s: its host was given to others since", item.URL)
			}
			m.settle(item, result)
		}
	}
}

func (m *model) settle(item frontier.Item, r frontier.Result) {
	u, h := m.urls[item.URL], m.hosts[item.Host]
	u.out = false
	switch r.Status {
	case 200, 404, 0:
		u.over = true
	case 500:
		if u.broken++; h.ready <= m.now { // else it rests already
			h.ready = m.now + 60_000
		}
	default:
		h.ready = max(h.ready, m.now+epoch.Millis(r.RetryAfter*1000))
	}
}

func (m *model) collect() {
	_, domain := m.randomHost()
	d := m.domain(domain)
	owner := fmt.Sprintf("c%d", m.random.IntN(3))
	if d.owner == owner && m.random.IntN(2) == 0 {
		m.do(func() error {
			_, err := m.shard.Release(m.now, frontier.ReleaseRequest{Domain: domain, Owner: owner})
			return err
		})
		d.owner = ""
		return
	}
	var a frontier.Acquired
	m.do(func() (err error) {
		a, err = m.shard.Acquire(m.now, frontier.AcquireRequest{Domain: domain, Owner: owner, Seconds: 30})
		return err
	})
	if !a.Granted {
		return
	}
	if d.excluded || d.owner != "" && d.owner != owner && d.ownerEnds > m.now {
		m.Errorf("%s: was granted to %s", domain, owner)
	}
	for name, h := range m.hosts {
		if h.domain == domain && h.leaseEnds > m.now {
			m.Errorf("%s: was granted while %s is leased", domain, name)
		}
	}
	d.owner, d.ownerEnds = owner, m.now+30_000
}

func (m *model) operate() {
	host, domain := m.randomHost()
	exclusion := frontier.Exclusion{Kind: "domain", Value: domain}
	on := m.random.IntN(3) == 0
	if m.random.IntN(2) == 0 {
		exclusion = frontier.Exclusion{Kind: "host", Value: host, Domain: domain}
		m.host(host, domain).excluded = on
	} else {
		m.domain(domain).excluded = on
	}
	m.do(func() error { return m.shard.Exclude(m.now, exclusion, on) })
}

// TestModel does random operations, and checks each against the model and the whole shard by an
// audit. In the end everything must come out.
func TestModel(t *testing.T) {
	t.Parallel()
	for seed := range uint64(8) {
		t.Run(fmt.Sprint(seed), func(t *testing.T) {
			m := &model{world: newWorld(t), random: rand.New(rand.NewPCG(seed, 1)), urls: map[string]*modelURL{},
				hosts: map[string]*modelHost{}, domains: map[string]*modelDomain{}}
			if seed%2 == 1 {
				m.shard.Settings.URLsPerDomain = 200
			}
			for step := range 1000 / slowness {
				switch n := m.random.IntN(100); {
				case n < 8:
					m.put()
				case n < 45:
					m.lease()
				case n < 85:
					m.report()
				case n < 97:
					m.collect()
				default:
					m.operate()
				}
				m.now += epoch.Millis(m.random.Int64N(3000))
				if step%50 == 0 {
					m.invariants()
				}
				if t.Failed() {
					t.Fatalf("at step %d", step)
				}
			}
			m.drain()
		})
	}
}

// drain allows everything and works until nothing is left.
func (m *model) drain() {
	for name, d := range m.domains {
		if d.excluded {
			d.excluded = false
			m.do(func() error {
				return m.shard.Exclude(m.now, frontier.Exclusion{Kind: "domain", Value: name}, false)
			})
		}
	}
	for name, h := range m.hosts {
		if h.excluded {
			h.excluded = false
			m.do(func() error {
				return m.shard.Exclude(m.now, frontier.Exclusion{Kind: "host", Value: name, Domain: h.domain}, false)
			})
		}
	}
	for name := range m.domains { // what was excluded did not say that it is gone
		m.dropped(name, false)
	}
	m.now += 7_200_000
	m.leases = nil
	for range 20_000 {
		l, _ := m.world.lease(frontier.LeaseRequest{Max: 500, PerHost: 20, Seconds: 600})
		for _, item := range l.Items {
			if u := m.urls[item.URL]; u == nil || u.over {
				m.Errorf("%s: is not queued", item.URL)
			} else {
				u.over = true
			}
		}
		if len(l.Items) > 0 {
			m.world.report(l, 200)
		} else if m.stats().URLs == 0 {
			break
		}
		m.now += 60_000
	}
	m.invariants()
	lost := 0
	for _, u := range m.urls {
		if !u.over && u.broken < 3 {
			lost++
		}
	}
	if stats := m.stats(); lost > 0 || stats.URLs != 0 {
		m.Errorf("%d of %d URLs never came: %+v", lost, len(m.urls), stats)
	}
}
