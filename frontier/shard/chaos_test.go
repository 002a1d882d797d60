package shard_test

import (
	"flag"
	"fmt"
	"maps"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"github.com/newsfork/seed-engine/contract"
	"github.com/newsfork/seed-engine/epoch"
	"github.com/newsfork/seed-engine/frontier"
	"github.com/newsfork/seed-engine/frontier/shard"
)

var chaosSeeds = flag.Uint64("chaos", 6, "seeds that TestChaos tries")

// chaos does any operation at any time, with a clock that jumps. Unlike the model it does not say what
// each must answer, only that none fails, that a host is given to one at a time, that what is stored stays
// sound, and that every page comes out in the end.
type chaos struct {
	*world
	random    *rand.Rand
	latest    epoch.Millis // of the clock
	leases    []frontier.Lease
	owners    map[string]string // by domain
	refreshes []frontier.RefreshResult
	messages  []contract.Refresh
	snapshots []frontier.Snapshot

	out     map[string]map[string]string // the hosts of items that are not reported, by lease and item
	holders map[string]holder            // by host
	owned   map[string]holder            // by domain
	asked   map[string]epoch.Millis      // when a host was asked last
	lost    map[string]epoch.Millis      // when the time of an owner of a domain was over that never released it
	lostBy  map[string]string            // that owner
}

// mayAsk checks that somebody may fetch from a host from ready on, but for its Retry-After and the like. An owner
// whose time was over knows itself when it asked.
func (x *chaos) mayAsk(name, host, domain string, ready epoch.Millis) {
	x.Helper()
	lost := x.lost[domain]
	if x.lostBy[domain] == name {
		lost = 0
	}
	for _, at := range [...]epoch.Millis{x.asked[host], lost} {
		if ready = max(ready, x.now); at <= x.now && ready < at+1000 {
			x.Errorf("%s was asked %d ms before it may be asked again", host, ready-at)
		}
	}
}

// holder is who may ask a host or domain, by the clock of the shard.
type holder struct {
	name string
	ends epoch.Millis
}

// exclusive checks that a host or all hosts of a domain may be given to somebody.
func (x *chaos) exclusive(name, host, domain string) {
	x.Helper()
	if o := x.owned[domain]; o.ends > x.now && o.name != name {
		x.Errorf("%s was given %s%s, which %s has", name, host, domain, o.name)
	}
	for other, h := range x.holders {
		if (other == host || host == "" && strings.HasSuffix(other, "."+domain)) && h.ends > x.now && h.name != name {
			x.Errorf("%s was given %s %s, and %s has %s", name, host, domain, h.name, other)
		}
	}
}

const chaosDomains = 8

func (x *chaos) domain() string { return fmt.Sprintf("d%d.example", x.random.IntN(chaosDomains)) }

// host returns a host of a domain: the first domains have one, the last ones many.
func (x *chaos) host() (host, domain string) {
	i := x.random.IntN(chaosDomains)
	domain = fmt.Sprintf("d%d.example", i)
	return fmt.Sprintf("h%d.%s", x.random.IntN(1+i*i/4), domain), domain
}

func (x *chaos) pages(host string) []frontier.NewPage {
	list := articles(host, x.random.IntN(3000), x.random.IntN(120))
	for i := range list {
		switch x.random.IntN(20) {
		case 0:
			list[i].LastMod = x.now.Seconds() - epoch.Seconds(x.random.Int64N(1000))
		case 1:
			list[i].Title = strings.Repeat("제목 \x00\"\xff", x.random.IntN(80))
		case 2:
			list[i].URL += "?sid=" + strings.Repeat("x", x.random.IntN(3000))
		case 3:
			list[i].Priority = -1 / list[i].Priority
		case 4:
			list[i].Refetch = true
		}
	}
	return list
}

func (x *chaos) entries(host string) (list []frontier.NewEntry) {
	for i := range x.random.IntN(4) {
		list = append(list, frontier.NewEntry{
			NewPage: frontier.NewPage{URL: fmt.Sprintf("https://%s/feed/%d", host, i)},
			Method:  "feed", Interval: x.random.Int64N(100_000)})
	}
	return list
}

func (x *chaos) visits(domain, host string) (list []frontier.HostFindings) {
	for range x.random.IntN(3) {
		rules := []string{"", "User-agent:*\nDisallow:/1\n",
			"User-agent:*\nDisallow:/*5\nDisallow:/2\n"}[x.random.IntN(3)]
		list = append(list, frontier.HostFindings{Host: host, Rules: &rules, Delay: x.random.Int64N(3000),
			AskedAt: x.now - epoch.Millis(x.random.Int64N(10_000)), Throttled: x.random.IntN(4) == 0,
			RetryAfter: x.random.Int64N(3) * 40, Unresolved: x.random.IntN(9) == 0, RobotsExpires: x.now + 1000})
	}
	return append(list, frontier.HostFindings{Host: domain})
}

func (x *chaos) put() error {
	host, domain := x.host()
	p := frontier.Put{Domain: domain, Partition: partition, Pages: x.pages(host), Entries: x.entries(host),
		Owner: x.owners[domain]}
	p.Partition.Country = []string{"kr", "sg"}[x.random.IntN(2)]
	if x.random.IntN(3) == 0 {
		p.Visits = x.visits(domain, host)
	}
	if x.random.IntN(6) == 0 {
		p.MirrorOf = x.domain()
	}
	other, otherDomain := x.host()
	_, err := x.shard.PutAll(x.now, frontier.PutAll{Puts: []frontier.Put{p,
		{Domain: otherDomain, Partition: partition, Pages: x.pages(other)}}})
	return err
}

func (x *chaos) lease() error {
	r := frontier.LeaseRequest{Max: 1 + x.random.IntN(40), PerHost: x.random.IntN(9),
		Seconds: 10 + x.random.Int64N(200)}
	r.Kinds = [][]string{nil, {"page", "entry"}, {"entry"}}[x.random.IntN(3)]
	if x.random.IntN(4) == 0 {
		r.Types = []string{"policy"}
	}
	if x.random.IntN(4) == 0 {
		r.Country = "kr"
	}
	l, err := x.shard.Lease(x.now, r)
	if len(l.Items) > 0 {
		x.leases = append(x.leases, l)
		x.out[l.ID] = map[string]string{}
	}
	for _, item := range l.Items {
		x.exclusive("lease "+l.ID, item.Host, item.Domain)
		x.mayAsk("", item.Host, item.Domain, x.now)
		x.out[l.ID][item.ID] = item.Host
	}
	for _, item := range l.Items {
		x.holders[item.Host] = holder{name: "lease " + l.ID, ends: l.ExpiresAt}
	}
	return err
}

func (x *chaos) report() error {
	if len(x.leases) == 0 {
		return nil
	}
	l := x.leases[x.random.IntN(len(x.leases))]
	other := x.leases[x.random.IntN(len(x.leases))]
	r := frontier.Report{Lease: l.ID, Partitions: x.random.IntN(2) == 0}
	for _, item := range append(l.Items, other.Items[0]) {
		if x.random.IntN(10) == 0 {
			continue
		}
		result := frontier.Result{ID: item.ID,
			Status:     []int{200, 200, 200, 301, 304, 403, 404, 500, 503, 429, 0}[x.random.IntN(11)],
			RetryAfter: x.random.Int64N(3) * 50, Unresolved: x.random.IntN(40) == 0}
		host, domain := x.host()
		found := x.pages(host)
		for _, p := range found[:min(3, len(found))] {
			result.Found = append(result.Found, frontier.FoundURL{NewPage: p, Domain: domain})
		}
		if x.random.IntN(5) == 0 {
			result.RedirectedTo = item.URL + "/moved"
		}
		switch x.random.IntN(8) {
		case 0:
			result.TextSHA256, result.ETag = textOf(x.random.IntN(4)), `"1"`
		case 1:
			result.Copy, result.CopyOf = true, l.Items[x.random.IntN(len(l.Items))].URL
		case 2:
			result.Status, result.Forbidden = 0, true
		}
		r.Results = append(r.Results, result)
	}
	_, err := x.shard.Report(x.now, r)
	for _, result := range r.Results {
		delete(x.out[l.ID], result.ID)
	}
	left := map[string]bool{}
	for _, host := range x.out[l.ID] {
		left[host] = true
	}
	for _, item := range l.Items {
		if h := x.holders[item.Host]; !left[item.Host] && h.name == "lease "+l.ID {
			delete(x.holders, item.Host)
			x.asked[item.Host] = x.now
		}
	}
	return err
}

// renew prolongs a lease or gives it back.
func (x *chaos) renew() error {
	if len(x.leases) == 0 {
		return nil
	}
	l := x.leases[x.random.IntN(len(x.leases))]
	has := func(item frontier.Item) bool { return x.holders[item.Host].name == "lease "+l.ID }
	if x.random.IntN(3) == 0 {
		_, err := x.shard.ReleaseLease(x.now, frontier.ReleaseLease{Lease: l.ID})
		for _, item := range l.Items {
			if has(item) {
				delete(x.holders, item.Host)
				x.asked[item.Host] = x.now
			}
		}
		x.out[l.ID] = map[string]string{}
		return err
	}
	renewed, err := x.shard.RenewLease(x.now, frontier.RenewLease{Lease: l.ID, Seconds: 10 + x.random.Int64N(200)})
	for _, item := range l.Items {
		if h := x.holders[item.Host]; has(item) && renewed.Hosts > 0 {
			x.holders[item.Host] = holder{h.name, max(h.ends, renewed.ExpiresAt)}
		}
	}
	return err
}

func (x *chaos) collect() error {
	host, domain := x.host()
	owner := fmt.Sprintf("c%d", x.random.IntN(3))
	switch x.random.IntN(4) {
	case 0:
		visits := x.visits(domain, host)
		if x.owned[domain].name == owner {
			delete(x.owned, domain)
			for _, v := range visits {
				x.asked[v.Host] = max(x.asked[v.Host], v.AskedAt)
			}
		}
		_, err := x.shard.Release(x.now, frontier.ReleaseRequest{Domain: domain, Owner: owner, Hosts: visits,
			Evidence: frontier.Evidence{Partition: partition, At: x.now}})
		return err
	case 1:
		seconds := 1 + x.random.Int64N(100)
		kept, err := x.shard.Renew(x.now, domain, owner, seconds)
		if o := x.owned[domain]; kept {
			x.owned[domain] = holder{name: owner, ends: max(o.ends, x.now.Add(time.Duration(seconds)*time.Second))}
			if o.name != "" && o.name != owner {
				x.Errorf("%s keeps %s, which %s has", owner, domain, o.name)
			}
		}
		return err
	}
	seconds := 1 + x.random.Int64N(100)
	a, err := x.shard.Acquire(x.now, frontier.AcquireRequest{Domain: domain, Owner: owner, Seconds: seconds,
		Hosts: []string{host}})
	if a.Granted {
		x.owners[domain] = owner
		x.exclusive(owner, "", domain)
		x.mayAsk(owner, host, domain, a.Hosts[0].ReadyAt)
		x.owned[domain] = holder{name: owner, ends: x.now.Add(time.Duration(seconds) * time.Second)}
	}
	return err
}

func (x *chaos) operate() error {
	host, domain := x.host()
	number := x.random.Int64N(100_000)
	switch x.random.IntN(7) {
	case 0:
		until := x.now + epoch.Millis(number)
		_, err := x.shard.SetHost(x.now, host, frontier.HostChange{BlockUntil: &until, Empty: x.random.IntN(3) == 0})
		return err
	case 1:
		delay := number / 50
		_, err := x.shard.SetHost(x.now, host, frontier.HostChange{Delay: &delay})
		return err
	case 2:
		return x.shard.Exclude(x.now, frontier.Exclusion{Kind: contract.ExcludeDomain, Value: domain},
			x.random.IntN(2) == 0)
	case 3:
		return x.shard.Exclude(x.now, frontier.Exclusion{Kind: contract.ExcludeHost, Value: host, Domain: domain},
			x.random.IntN(2) == 0)
	case 4:
		_, err := x.shard.SetHost(x.now, host,
			frontier.HostChange{Forget: []string{frontier.ForgetFailures, frontier.ForgetAll}[x.random.IntN(2)]})
		return err
	case 5:
		gone := frontier.Put{Domain: domain, Partition: partition, Pages: x.pages(host), Remove: true}
		_, err := x.shard.Put(x.now, gone)
		return err
	}
	return x.shard.Exclude(x.now, frontier.Exclusion{Kind: contract.ExcludeURL,
		Value: fmt.Sprintf("https://%s/*%d*", host, x.random.IntN(10))}, x.random.IntN(2) == 0)
}

func (x *chaos) refresh() error {
	switch x.random.IntN(3) {
	case 0:
		tick, err := x.shard.Tick(x.now, shard.TickRequest{Shard: "shard-0"})
		for _, text := range tick.Messages {
			list, ok, err := contract.ParseRefreshes(text)
			if err != nil || !ok {
				return fmt.Errorf("%s: %w", text, err)
			}
			x.messages = append(x.messages, list...)
		}
		return err
	case 1:
		if len(x.messages) == 0 {
			return nil
		}
		m := x.messages[x.random.IntN(len(x.messages))]
		r := frontier.RefreshResult{Domain: m.Domain, URL: m.URL, Owner: fmt.Sprint("r", x.random.IntN(1000)),
			Status:  []int{304, 200, 500, 0}[x.random.IntN(4)],
			Skipped: x.random.IntN(5) == 0, Visit: frontier.HostFindings{AskedAt: x.now, Delay: x.random.Int64N(2000)}}
		begin := x.shard.BeginRefresh
		if x.random.IntN(4) > 0 {
			begin = x.beginTogether
		}
		a, err := begin(x.now, frontier.RefreshRequest{Domain: r.Domain, URL: r.URL, Owner: r.Owner})
		if a.Granted {
			x.refreshes = append(x.refreshes, r)
			host := strings.Split(r.URL, "/")[2]
			x.exclusive(r.Owner, host, r.Domain)
			x.mayAsk(r.Owner, host, r.Domain, a.Host.ReadyAt)
			x.holders[host] = holder{name: r.Owner, ends: x.now.Add(time.Duration(a.Seconds) * time.Second)}
		}
		return err
	}
	if len(x.refreshes) == 0 {
		return nil
	}
	r := x.refreshes[x.random.IntN(len(x.refreshes))]
	host := strings.Split(r.URL, "/")[2]
	r.Pages = x.pages(host)
	if x.holders[host].name == r.Owner {
		delete(x.holders, host)
		r.Visit.AskedAt = x.now
		x.asked[host] = x.now
	}
	_, err := x.shard.EndRefresh(x.now, r)
	return err
}

// beginTogether begins a refresh as one of several.
func (x *chaos) beginTogether(now epoch.Millis, r frontier.RefreshRequest) (g frontier.RefreshGrant, err error) {
	a, err := x.shard.BeginRefreshes(now, frontier.RefreshRequests{Refreshes: []frontier.RefreshRequest{r}})
	if err == nil {
		g = a.Grants[0]
	}
	return g, err
}

func (x *chaos) rebuild() error {
	if x.random.IntN(2) == 0 || len(x.snapshots) == 0 {
		x.snapshots = nil
		for from := int64(0); ; {
			page, err := x.shard.Export(x.now, from)
			x.snapshots = append(x.snapshots, page)
			if from = page.Next; err != nil || from == 0 {
				return err
			}
		}
	}
	for _, page := range x.snapshots {
		page.Patterns = nil
		if _, err := x.shard.Restore(x.now, page); err != nil {
			return err
		}
	}
	return nil
}

func (x *chaos) jump() {
	const hour, day = 3_600_000, 86_400_000
	x.now += []epoch.Millis{-hour, -30 * day, -1000, hour, 30 * day, day}[x.random.IntN(6)]
	x.now = max(x.now, 1)
}

func (x *chaos) step() error {
	over := func(last map[string]epoch.Millis) func(string, holder) bool {
		return func(name string, h holder) bool {
			if h.ends > x.now {
				return false
			}
			last[name] = max(last[name], h.ends)
			x.lostBy[name] = h.name
			return true // and stays so when the clock goes back
		}
	}
	maps.DeleteFunc(x.holders, over(x.asked))
	maps.DeleteFunc(x.owned, over(x.lost))
	switch n := x.random.IntN(100); {
	case n < 15:
		return x.put()
	case n < 40:
		return x.lease()
	case n < 62:
		return x.report()
	case n < 65:
		return x.renew()
	case n < 80:
		return x.collect()
	case n < 85:
		return x.operate()
	case n < 97:
		return x.refresh()
	case n < 98:
		return x.rebuild()
	case n < 99:
		x.jump()
	}
	_, err := x.shard.Mirror(x.now, frontier.MirrorRequest{Domain: x.domain(),
		Digest: fmt.Sprintf("%064x", x.random.IntN(9))})
	return err
}

// drain allows everything and works until nothing is left.
func (x *chaos) drain() {
	x.now = x.latest + 60*86_400_000
	none, past := int64(0), epoch.Millis(1)
	for i := range chaosDomains {
		domain := fmt.Sprintf("d%d.example", i)
		x.do(func() error {
			if err := x.shard.Exclude(x.now, frontier.Exclusion{Kind: contract.ExcludeDomain, Value: domain},
				false); err != nil {
				return err
			}
			for k := range 1 + i*i/4 {
				host := fmt.Sprintf("h%d.%s", k, domain)
				if err := x.shard.Exclude(x.now,
					frontier.Exclusion{Kind: contract.ExcludeHost, Value: host, Domain: domain}, false); err != nil {
					return err
				}
				if _, err := x.shard.SetHost(x.now, host, frontier.HostChange{BlockUntil: &past, Delay: &none}); err !=
					nil {
					return err
				}
			}
			a, err := x.shard.Acquire(x.now, frontier.AcquireRequest{Domain: domain, Owner: "last", Seconds: 1})
			if err != nil || !a.Granted {
				return fmt.Errorf("%s: %+v %w", domain, a, err)
			}
			if _, err := x.shard.Put(x.now, frontier.Put{Domain: domain, Partition: partition, Owner: "last"}); err !=
				nil {
				return err
			}
			_, err = x.shard.Release(x.now, frontier.ReleaseRequest{Domain: domain, Owner: "last"})
			return err
		})
	}
	for range 20_000 {
		l, _ := x.world.lease(frontier.LeaseRequest{Max: 500, PerHost: 20, Seconds: 900})
		if len(l.Items) > 0 {
			x.world.report(l, 200)
		} else if x.stats().URLs == 0 {
			break
		}
		x.now += 60_000
	}
	x.invariants()
	if stats := x.stats(); stats.URLs != 0 || stats.Leased != 0 {
		x.Errorf("pages that never came: %+v", stats)
	}
}

func TestChaos(t *testing.T) {
	t.Parallel()
	for seed := range *chaosSeeds {
		t.Run(fmt.Sprint(seed), func(t *testing.T) {
			x := &chaos{world: newWorld(t), random: rand.New(rand.NewPCG(seed, 7)), owners: map[string]string{},
				out: map[string]map[string]string{}, holders: map[string]holder{}, owned: map[string]holder{},
				asked: map[string]epoch.Millis{}, lost: map[string]epoch.Millis{}, lostBy: map[string]string{}}
			x.shard.Settings.URLsPerDomain = []int64{0, 100, 100_000}[seed%3]
			x.shard.Settings.PerMinute = []int64{60, 0}[seed%2]
			x.shard.Settings.VisitsPerDay = []int64{1_000_000, 0, 500}[seed/2%3]
			x.shard.Settings.MinRefresh = time.Minute
			x.shard.LimitPending([]int{0, 4, 20}[(seed+seed/3)%3])
			for step := range 1500 / slowness {
				x.do(x.step)
				if x.now += epoch.Millis(x.random.Int64N(3000)); x.now > x.latest {
					x.latest = x.now
				}
				if step%50 == 0 {
					x.invariants()
				}
				if t.Failed() {
					t.Fatalf("at step %d", step)
				}
			}
			x.drain()
		})
	}
}
