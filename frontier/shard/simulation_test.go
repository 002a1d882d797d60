//go:build unix

package shard_test

import (
	"container/heap"
	"fmt"
	"math/rand/v2"
	"slices"
	"syscall"
	"testing"
	"time"

	"github.com/newsfork/seed-engine/epoch"
	"github.com/newsfork/seed-engine/frontier"
)

// simulation is a crawl with a clock of its own: scrapers lease, fetch, report and sometimes die,
// hosts have delays, fail and throttle, and a tenth of the domains has many hosts.
type simulation struct {
	*world
	random *rand.Rand
	hosts  map[string]*simulatedHost
	events events

	violations   int
	leases       int
	given        int
	bands        [frontier.Bands]int
	oldest       int64 // longest time, in ms, for which a host that had something to fetch waited
	inOneDomain  map[string]int
	mostInDomain int
	took         []time.Duration // of leases of 100 URLs of 100 hosts
	tookReport   []time.Duration
	rows, lost   int
}

type simulatedHost struct {
	domain  string
	delay   int64
	leased  epoch.Millis // until when; 0 when it is not
	readyAt epoch.Millis
}

// event is something a scraper does at a time.
type event struct {
	at      epoch.Millis
	scraper int
	lease   *frontier.Lease // to be reported; nil: the scraper wants another
}

type events []event

func (e events) Len() int           { return len(e) }
func (e events) Less(i, k int) bool { return e[i].at < e[k].at }
func (e events) Swap(i, k int)      { e[i], e[k] = e[k], e[i] }
func (e *events) Push(x any)        { *e = append(*e, x.(event)) }
func (e *events) Pop() any {
	last := (*e)[len(*e)-1]
	*e = (*e)[:len(*e)-1]
	return last
}

// newSimulation fills a shard. Every hundredth domain has ten hosts, so that there may be some more
// than asked for.
func newSimulation(t testing.TB, urls, hosts, scrapers int) *simulation {
	s := &simulation{world: newWorld(t), random: rand.New(rand.NewPCG(1, 2)), hosts: map[string]*simulatedHost{},
		inOneDomain: map[string]int{}}
	for i := 0; i < hosts; {
		n := 1
		if i%100 == 0 {
			n = 10
		}
		domain := fmt.Sprintf("d%d.example", i)
		var visits []frontier.HostFindings
		var pages []frontier.NewPage
		for range n {
			host := fmt.Sprintf("h%d.%s", i, domain)
			h := &simulatedHost{domain: domain, delay: []int64{1000, 1000, 1000, 2000, 5000, 500, 0, 30_000}[i%8]}
			s.hosts[host] = h
			pages = append(pages, articles(host, 0, urls/hosts)...)
			visits = append(visits, frontier.HostFindings{Host: host, Delay: h.delay})
			i++
		}
		s.shard.Settings.Delay = 0
		s.collect(domain, visits, pages)
	}
	for i := range scrapers {
		s.events = append(s.events, event{at: s.now + epoch.Millis(i), scraper: i})
	}
	for _, h := range s.hosts {
		h.readyAt = s.now
	}
	return s
}

// collect does what a collector does with a domain.
func (s *simulation) collect(domain string, visits []frontier.HostFindings, pages []frontier.NewPage) {
	s.do(func() error {
		_, err := s.shard.Acquire(s.now, frontier.AcquireRequest{Domain: domain, Owner: "c", Seconds: 60})
		return err
	})
	s.put(domain, pages)
	s.do(func() error {
		_, err := s.shard.Release(s.now, frontier.ReleaseRequest{Domain: domain, Owner: "c", Hosts: visits})
		return err
	})
}

// run goes on until everything is fetched.
func (s *simulation) run() {
	heap.Init(&s.events)
	for idle := 0; idle < 100*len(s.events); {
		e := heap.Pop(&s.events).(event)
		s.now = max(s.now, e.at)
		if e.lease != nil {
			s.finish(e)
			continue
		}
		idle++
		if s.begin(e) {
			idle = 0
		} else if s.random.IntN(20) == 0 && s.stats().URLs == 0 {
			return
		}
	}
}

// begin leases, and checks that the lease is polite.
func (s *simulation) begin(e event) bool {
	request := frontier.LeaseRequest{Max: 100, Seconds: 300}
	if e.scraper%2 == 1 {
		request.PerHost = 5
	}
	began := time.Now()
	l, rows := s.lease(request)
	took := time.Since(began)
	if len(l.Items) == 0 {
		heap.Push(&s.events, event{at: s.now + epoch.Millis(max(1, l.RetryAfter)*1000), scraper: e.scraper})
		return false
	}
	s.leases++
	s.given += len(l.Items)
	s.rows += rows
	if len(l.Items) == 100 && request.PerHost == 0 {
		s.took = append(s.took, took)
	}
	perHost := map[string]int64{}
	for _, item := range l.Items {
		perHost[item.Host]++
		s.bands[bandOf(item.Priority)]++
	}
	duration := int64(0)
	for host, n := range perHost {
		s.check(host, l.ExpiresAt)
		duration = max(duration, n*max(s.hosts[host].delay, 200))
	}
	if s.random.IntN(50) == 0 { // the scraper dies, and another comes
		s.lost++
		heap.Push(&s.events, event{at: s.now + 60_000, scraper: e.scraper})
		return true
	}
	heap.Push(&s.events, event{at: s.now + epoch.Millis(min(duration+s.random.Int64N(5000), 299_000)),
		scraper: e.scraper,
		lease:   &l})
	return true
}

func bandOf(priority float64) int {
	for b, floor := range []float64{0.8, 0.6, 0.4} {
		if priority >= floor {
			return b
		}
	}
	return 3
}

// check counts what would be impolite: a host that somebody has, or had less than its delay ago, or
// too many hosts of its domain.
func (s *simulation) check(host string, ends epoch.Millis) {
	h := s.hosts[host]
	if h.leased > s.now {
		s.violations++
	} else if h.leased > 0 { // it was lost: its last request may have been just before the end
		s.inOneDomain[h.domain]--
		h.readyAt = h.leased + epoch.Millis(h.delay)
	}
	if s.now < h.readyAt {
		s.violations++
	}
	s.oldest = max(s.oldest, int64(s.now-h.readyAt))
	h.leased = ends
	s.inOneDomain[h.domain]++
	most := 0
	if s.inOneDomain[h.domain] > 4 {
		for _, other := range s.hosts { // some may be over unnoticed
			if other.domain == h.domain && other.leased > s.now {
				most++
			}
		}
	} else {
		most = s.inOneDomain[h.domain]
	}
	s.mostInDomain = max(s.mostInDomain, most)
	if most > 4 {
		s.violations++
	}
}

// finish reports a lease.
func (s *simulation) finish(e event) {
	r := frontier.Report{Lease: e.lease.ID}
	for _, item := range e.lease.Items {
		status := 200
		switch s.random.IntN(200) {
		case 0:
			status = 503
		case 1:
			status = 500
		case 2:
			status = 404
		}
		r.Results = append(r.Results, frontier.Result{ID: item.ID, Status: status})
		h := s.hosts[item.Host]
		if h.leased == e.lease.ExpiresAt {
			h.leased = 0
			s.inOneDomain[h.domain]--
			h.readyAt = s.now + epoch.Millis(h.delay)
		}
	}
	began := time.Now()
	s.rows += s.do(func() error {
		a, err := s.shard.Report(s.now, r)
		if err == nil && (a.Unknown > 0 || a.Accepted != len(r.Results)) {
			s.Errorf("report of %d: %+v", len(r.Results), a)
		}
		return err
	})
	s.tookReport = append(s.tookReport, time.Since(began))
	heap.Push(&s.events, event{at: s.now, scraper: e.scraper})
}

func percentile(list []time.Duration, p int) time.Duration {
	if len(list) == 0 {
		return 0
	}
	sorted := slices.Sorted(slices.Values(list))
	return sorted[(len(sorted)-1)*p/100]
}

func (s *simulation) verify(urls int) {
	s.invariants()
	stats := s.stats()
	if s.violations > 0 {
		s.Errorf("%d politeness violations", s.violations)
	}
	if stats.URLs != 0 || stats.Leased != 0 || stats.Done+stats.Failed != int64(urls) {
		s.Errorf("not everything came to an end: %+v", stats)
	}
	for band, n := range s.bands {
		if n == 0 {
			s.Errorf("band %d never moved: %v", band, s.bands)
		}
	}
	if s.mostInDomain > 4 {
		s.Errorf("%d hosts of one domain at once", s.mostInDomain)
	}
}

// TestSimulation is the short crawl.
func TestSimulation(t *testing.T) {
	t.Parallel()
	const hosts, scrapers = 2500 / slowness, 50 / slowness
	s := newSimulation(t, 20*hosts, hosts, scrapers)
	s.run()
	s.verify(20 * len(s.hosts))
	t.Logf(
		"%d leases (%d lost) gave %d URLs, bands %v, oldest wait %d s, most hosts of a domain %d, %.2f rows a "+
			"URL, %d s in all",
		s.leases, s.lost, s.given, s.bands, s.oldest/1000, s.mostInDomain, float64(s.rows)/float64(s.given),
		(s.now-noon)/1000)
}

// BenchmarkSimulation is the crawl of a million URLs on 50,000 hosts by 200 scrapers. It takes
// minutes: go test -bench Simulation -benchtime 1x.
func BenchmarkSimulation(b *testing.B) {
	const urls, hosts = 1_000_000, 50_000
	for b.Loop() {
		began := time.Now()
		s := newSimulation(b, urls, hosts, 200)
		var size int64
		s.do(func() (err error) {
			size, err = s.db.Size()
			return err
		})
		b.Logf("filled in %v", time.Since(began).Round(time.Second))
		s.run()
		s.verify(urls)
		b.Logf("%d leases (%d lost) gave %d URLs, bands %v, most hosts of a domain %d, %d s in all", s.leases, s.lost,
			s.given, s.bands, s.mostInDomain, (s.now-noon)/1000)
		b.ReportMetric(float64(size)/urls, "bytes/URL")
		b.ReportMetric(float64(s.rows)/float64(s.given), "rows/URL")
		b.ReportMetric(float64(s.violations), "violations")
		b.ReportMetric(float64(s.oldest)/1000, "oldest-wait-s")
		b.ReportMetric(float64(percentile(s.took, 50).Microseconds())/1000, "lease100-ms")
		b.ReportMetric(float64(percentile(s.took, 95).Microseconds())/1000, "lease100-p95-ms")
		b.ReportMetric(float64(percentile(s.tookReport, 50).Microseconds())/1000, "report-ms")
	}
}

// processorTime returns the CPU time of the process, which other processes do not change.
func processorTime(t testing.TB) time.Duration {
	var usage syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &usage); err != nil {
		t.Fatal(err)
	}
	return time.Duration(usage.Utime.Nano() + usage.Stime.Nano())
}

// BenchmarkLease100 is a lease of 100 URLs of 100 hosts, and its report, as a shard grows.
func BenchmarkLease100(b *testing.B) {
	for _, urls := range []int{10_000, 100_000, 1_000_000} {
		b.Run(fmt.Sprint(urls), func(b *testing.B) {
			w := newWorld(b)
			for i := range urls / 20 {
				host := fmt.Sprintf("a%d.example", i)
				w.put(host, articles("www."+host, 0, 20))
			}
			var leases, reports, leaseCPU time.Duration
			for b.Loop() {
				began, cpu := time.Now(), processorTime(b)
				l, _ := w.lease(frontier.LeaseRequest{Max: 100})
				leases += time.Since(began)
				leaseCPU += processorTime(b) - cpu
				if len(l.Items) < 100 {
					b.Fatalf("%d items", len(l.Items))
				}
				w.now += 1000
				began = time.Now()
				w.report(l, 503)
				reports += time.Since(began)
				w.now += 4_000_000 // longer than any slow-down
			}
			b.ReportMetric(float64(leases.Microseconds())/1000/float64(b.N), "lease-ms")
			b.ReportMetric(float64(leaseCPU.Microseconds())/1000/float64(b.N), "lease-cpu-ms")
			b.ReportMetric(float64(reports.Microseconds())/1000/float64(b.N), "report-ms")
		})
	}
}
