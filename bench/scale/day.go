package main

import (
	"container/heap"
	"context"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"time"

	"github.com/newsfork/seed-engine/contract"
	"github.com/newsfork/seed-engine/epoch"
	"github.com/newsfork/seed-engine/frontier"
	"github.com/newsfork/seed-engine/frontier/client"
	"github.com/newsfork/seed-engine/frontier/shard"
	"github.com/newsfork/seed-engine/frontier/sqlite"
)

// The load of a day, of all shards.
const (
	shards        = 16
	known         = 50_000_000 // URLs
	urlsPerDomain = 200
	collections   = 24 * 100_000
	pages         = 24 * 1_000_000
	refreshes     = 500_000 // REFRESHES_PER_DAY, its default
	revisits      = 200_000 // REVISITS_PER_DAY, its default
)

// What a call is given, and how the world answers.
const (
	midnight       = epoch.Millis(1_769_558_400_000) // 2026-01-28
	collectionTime = 15_000                          // ms from acquire to release
	leased         = 100                             // items of a lease
	perHost        = 5
	lost           = 100 // one of so many leases is never reported
	failing        = 100 // one of so many pages is gone, and one answers 503
	domainRules    = "User-agent: *\nDisallow: /search\nDisallow: /admin/\nDisallow: /*?print="
)

var (
	ctx       = context.Background()
	partition = contract.Partition{Country: "kr", Category: "news", Date: "2026-01-28"}
)

// rates of publishing, each for a share of a hundred domains.
var rates = []struct {
	share int
	gap   epoch.Seconds // between two articles; 0: never
}{{10, 3600}, {40, 86_400}, {30, 7 * 86_400}, {20, 0}}

// site is a domain with a feed and a sitemap.
type site struct {
	domain string
	gap    epoch.Seconds // see rates
	looked epoch.Millis  // the last collection
}

// day is a day of one shard.
type day struct {
	factor int
	random *rand.Rand
	db     *sqlite.DB
	rules  shard.Shard
	shard  client.Shard
	sites  []*site
	byName map[string]*site
	now    epoch.Millis
	events events
	alarm  epoch.Millis

	operations map[string]*operation
	collected  int
	looks      int
	found      int // looks at which something new was found
	fetched    int // pages
	messages   int // of refreshes
	before     int64
	after      int64 // bytes stored
}

// operation counts the calls of one.
type operation struct {
	rows int
	took []time.Duration
}

// event is something that happens at a time.
type event struct {
	at epoch.Millis
	do func() error
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

func (d *day) schedule(at epoch.Millis, do func() error) {
	heap.Push(&d.events, event{max(at, d.now), do})
}

// spread does something n times in the day, at even distances.
func (d *day) spread(n int, do func(i int) error) {
	every := float64(epoch.Day.Milliseconds()) / float64(n)
	var next func(i int)
	next = func(i int) {
		if i < n {
			d.schedule(midnight+epoch.Millis(float64(i)*every), func() error {
				next(i + 1)
				return do(i)
			})
		}
	}
	next(0)
}

// play plays a day at a part of the load.
func play(factor int) (*day, error) {
	db, err := sqlite.Open()
	if err != nil {
		return nil, err
	}
	defer db.Close()
	d := &day{factor: factor, random: rand.New(rand.NewPCG(2026, 18)), db: db, byName: map[string]*site{},
		now: midnight - epoch.Millis(epoch.Day.Milliseconds()), operations: map[string]*operation{}}
	d.rules = shard.Shard{DB: db, Settings: shard.Settings{Delay: time.Second, PerMinute: 60,
		PerDay: refreshes / shards / int64(factor), VisitsPerDay: revisits / shards / int64(factor)}}
	d.shard = client.Frontier{Caller: d, Shards: 1}.Shard(0)
	if err := d.fill(); err != nil {
		return nil, err
	}
	if d.before, err = d.size(); err != nil {
		return nil, err
	}
	d.operations, d.now, d.alarm = map[string]*operation{}, midnight, midnight
	d.collected = 0
	// One half is collected, for one partition after the other; the other half is refreshed.
	d.spread(collections/shards/factor, func(i int) error { return d.collect(d.sites[i%(len(d.sites)/2)]) })
	leases := pages / shards / factor / leased
	d.spread(leases, func(i int) error {
		for d.fetched < (i+1)*leased {
			if items, err := d.lease(); err != nil || items == 0 {
				return err
			}
		}
		return nil
	})
	for len(d.events) > 0 {
		if at := d.events[0].at; d.alarm <= at {
			d.now = max(d.now, d.alarm)
			if err := d.tick(); err != nil {
				return nil, err
			}
			continue
		}
		e := heap.Pop(&d.events).(event)
		d.now = max(d.now, e.at)
		if err := e.do(); err != nil {
			return nil, err
		}
	}
	d.after, err = d.size()
	return d, err
}

// calls returns the number of calls.
func (d *day) calls() (n int) {
	for _, o := range d.operations {
		n += len(o.took)
	}
	return n
}

// size returns the bytes of the database.
func (d *day) size() (size int64, err error) {
	err = d.db.Transaction(func() error {
		size, err = d.db.Size()
		return err
	})
	return size, err
}

var errRefused = errors.New("the answer is an error")

// Call implements client.Caller.
func (d *day) Call(_ context.Context, _, name string, request []byte) ([]byte, error) {
	o := d.operations[name]
	if o == nil {
		o = &operation{}
		d.operations[name] = o
	}
	before, began := d.db.Written, time.Now()
	var answer shard.Answer
	err := d.db.Transaction(func() error {
		if answer = d.rules.Serve(d.now, name, request); !answer.OK {
			return errRefused
		}
		return nil
	})
	o.took = append(o.took, time.Since(began))
	o.rows += d.db.Written - before
	if answer.Alarm > 0 && (d.alarm == 0 || answer.Alarm < d.alarm) {
		d.alarm = answer.Alarm
	}
	if errors.Is(err, errRefused) {
		err = nil // the answer says why
	}
	return answer.Text, err
}

// fill collects every domain once, the day before.
func (d *day) fill() error {
	n := known / urlsPerDomain / shards / d.factor
	d.alarm = 1 // nothing is refreshed meanwhile
	for i := range n {
		s := &site{domain: fmt.Sprintf("site%d.example", i)}
		at := (i * 37) % 100
		for _, r := range rates {
			if at -= r.share; at < 0 {
				s.gap = r.gap
				break
			}
		}
		d.sites, d.byName[s.domain] = append(d.sites, s), s
		d.now = midnight - epoch.Millis(epoch.Day.Milliseconds()*int64(n-i)/int64(n))
		if err := d.collect(s); err != nil {
			return err
		}
		d.now += collectionTime
		if err := heap.Pop(&d.events).(event).do(); err != nil {
			return err
		}
	}
	return nil
}

// articles returns the newest articles of a site, at most n, that were published after an instant.
func (d *day) articles(s *site, n int, after epoch.Millis) (list []frontier.NewPage) {
	gap, end := s.gap, d.now.Seconds()
	if gap == 0 {
		gap, end = 86_400, midnight.Seconds()-100*86_400
	}
	for i := end / gap; len(list) < n && (i*gap).Millis() > after; i-- {
		list = append(list, frontier.NewPage{
			URL:  fmt.Sprintf("https://www.%s/news/2026/article-about-something-%d.html", s.domain, i),
			Type: "news", Priority: 0.3 + float64(i*7%60)/100, LastMod: i * gap, FoundBy: "sitemap"})
	}
	return list
}

// collect begins the collection of a domain, which ends some seconds later.
func (d *day) collect(s *site) error {
	owner := fmt.Sprint(d.now, s.domain)
	www := "www." + s.domain
	a, err := d.shard.Acquire(ctx, frontier.AcquireRequest{Domain: s.domain, Owner: owner, Seconds: 600,
		Hosts: []string{www, s.domain}})
	if err != nil {
		return err
	}
	if !a.Granted {
		d.schedule(d.now+epoch.Millis(max(a.RetryIn, 1000)), func() error { return d.collect(s) })
		return nil
	}
	d.schedule(d.now+collectionTime, func() error {
		rules := domainRules
		visit := frontier.HostFindings{Host: www, Delay: 1000, AskedAt: d.now, RobotsExpires: d.now.Add(epoch.Day),
			Rules: &rules}
		mirror := frontier.MirrorRequest{Domain: s.domain, Digest: digest(s.domain)}
		if _, err := d.shard.Mirror(ctx, mirror); err != nil {
			return err
		}
		entry := func(path, method string, interval int64) frontier.NewEntry {
			return frontier.NewEntry{NewPage: frontier.NewPage{URL: "https://" + www + path}, Method: method,
				Interval: interval, Status: 200}
		}
		if _, err := d.shard.Put(ctx, frontier.Put{Domain: s.domain, Partition: partition, Owner: owner,
			Since: s.looked, Visits: []frontier.HostFindings{visit}, Pages: d.articles(s, urlsPerDomain, 0),
			Entries: []frontier.NewEntry{entry("/feed", "rss", 5400),
				entry("/sitemap.xml", "sitemap", 43_200)},
			Stored: &frontier.StoredPages{Collected: true}}); err != nil {
			return err
		}
		s.looked = d.now
		d.collected++
		_, err := d.shard.Release(ctx, frontier.ReleaseRequest{Domain: s.domain, Owner: owner,
			Hosts: []frontier.HostFindings{visit}, Evidence: frontier.Evidence{Partition: partition, At: d.now},
			Changes: []frontier.Change{{Partition: partition, Revision: 1, ChangedAt: d.now}}})
		return err
	})
	return nil
}

// digest is that of a page's text, or of a domain's home page and sitemap, by its name.
func digest(name string) string { return fmt.Sprintf("%x", sha256.Sum256([]byte(name))) }

// lease leases pages for a scraper, which reports them when it has fetched them.
func (d *day) lease() (items int, err error) {
	l, err := d.shard.Lease(ctx, frontier.LeaseRequest{Max: leased, PerHost: perHost, Seconds: 120})
	if err != nil || len(l.Items) == 0 {
		return 0, err
	}
	d.fetched += len(l.Items)
	if d.random.IntN(lost) == 0 {
		return len(l.Items), nil
	}
	report := frontier.Report{Lease: l.ID}
	took, longest := map[string]int64{}, int64(0)
	for _, item := range l.Items {
		took[item.Host] += item.CrawlDelay
		longest = max(longest, took[item.Host])
		r := frontier.Result{ID: item.ID, Status: 200, ETag: `"` + item.ID[:min(8, len(item.ID))] + `"`,
			TextSHA256: digest(item.URL)}
		switch d.random.IntN(failing) {
		case 0:
			r = frontier.Result{ID: item.ID, Status: 404}
		case 1:
			r = frontier.Result{ID: item.ID, Status: 503}
		}
		report.Results = append(report.Results, r)
	}
	d.schedule(d.now+epoch.Millis(longest+2000), func() error {
		_, err := d.shard.Report(ctx, report)
		return err
	})
	return len(l.Items), nil
}

// tick does what the shard's alarm does. Snapshots are not stored.
func (d *day) tick() error {
	request, err := frontier.Encode(shard.TickRequest{Shard: "shard-0"})
	if err != nil {
		return err
	}
	began := d.alarm
	d.alarm = 0
	text, err := d.Call(ctx, "", "tick", request)
	if err != nil {
		return err
	}
	var t shard.Tick
	e := frontier.Envelope{Answer: &t}
	if err := json.Unmarshal(text, &e); err != nil || e.Error != nil {
		return fmt.Errorf("tick: %s (%w)", text, err)
	}
	d.alarm = max(t.AlarmAt, began+1000)
	for _, body := range t.Messages {
		list, _, err := contract.ParseRefreshes(body)
		if err != nil {
			return err
		}
		d.messages++
		list = slices.DeleteFunc(list, func(r contract.Refresh) bool { return r.Method == frontier.MethodRefill })
		d.schedule(d.now+2000, func() error { return d.refresh(list) })
	}
	if o := t.Snapshot; o != nil {
		request, err := frontier.Encode(frontier.StoredRequest{Date: o.Date, Taken: o.Taken})
		if err != nil {
			return err
		}
		_, err = d.Call(ctx, "", "stored", request)
		return err
	}
	return nil
}

// refresh looks at the entry points of a message, and at others of their hosts that are due.
func (d *day) refresh(list []contract.Refresh) error {
	if len(list) == 0 {
		return nil
	}
	requests := make([]frontier.RefreshRequest, len(list))
	for i, r := range list {
		requests[i] = frontier.RefreshRequest{Domain: r.Domain, URL: r.URL, Owner: fmt.Sprint(d.now, r.URL)}
	}
	grants, err := d.shard.BeginRefreshes(ctx, requests)
	if err != nil {
		return err
	}
	for i, g := range grants {
		s, r := d.byName[list[i].Domain], requests[i]
		switch {
		case g.Over:
		case !g.Granted:
			d.schedule(d.now+epoch.Millis(max(g.RetryIn, 1000)), func() error { return d.refresh(list[i : i+1]) })
		default:
			d.schedule(max(d.now, g.Host.ReadyAt)+500, func() error { return d.endRefresh(s, r.URL, r.Owner, &g) })
		}
	}
	return nil
}

func (d *day) endRefresh(s *site, url, owner string, g *frontier.RefreshGrant) error {
	next := fmt.Sprint(d.now, url, "next")
	r := frontier.RefreshResult{Domain: s.domain, URL: url, Owner: owner, Status: 304, Next: next,
		Visit: frontier.HostFindings{AskedAt: d.now}}
	if r.Pages = d.articles(s, 20, g.Since); len(r.Pages) > 0 {
		r.Status, r.ETag = 200, fmt.Sprint(d.now)
	}
	ended, err := d.shard.EndRefresh(ctx, r)
	if err != nil || !ended.Accepted {
		return err
	}
	d.looks++
	if ended.Added > 0 {
		d.found++
	}
	if n := ended.Next; n != nil {
		d.schedule(max(d.now, n.Host.ReadyAt)+500, func() error {
			return d.endRefresh(s, n.URL, next, &n.RefreshGrant)
		})
	}
	return nil
}
