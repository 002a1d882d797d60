package shard_test

import (
	"context"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/newsfork/seed-engine/contract"
	"github.com/newsfork/seed-engine/epoch"
	"github.com/newsfork/seed-engine/frontier"
	"github.com/newsfork/seed-engine/frontier/client"
	"github.com/newsfork/seed-engine/frontier/idle"
	"github.com/newsfork/seed-engine/frontier/placement"
	"github.com/newsfork/seed-engine/frontier/shard"
	"github.com/newsfork/seed-engine/frontier/sqlite"
)

// shards is a frontier of several shards in one process.
type shards struct {
	testing.TB
	client.Frontier
	now epoch.Millis

	mu     sync.Mutex
	dbs    map[string]*sqlite.DB
	frozen map[string]bool
	lost   map[string]bool // it does what is asked, and its answer does not arrive
	calls  []string
}

var errFrozen = errors.New("the shard is frozen")

func newShards(t testing.TB, n int) *shards {
	s := &shards{TB: t, now: noon, dbs: map[string]*sqlite.DB{}, frozen: map[string]bool{}, lost: map[string]bool{}}
	s.Frontier = client.Frontier{Caller: s, Shards: n}
	for i := range n {
		s.dbs[fmt.Sprintf("shard-%d", i)] = open(t)
	}
	return s
}

func (s *shards) Call(_ context.Context, name, operation string, request []byte) (answer []byte, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.calls = append(s.calls, name+" "+operation)
	if s.frozen[name] {
		return nil, errFrozen
	}
	failed := errors.New("rolled back")
	db := s.dbs[name]
	shard := shard.Shard{DB: db, Settings: shard.Settings{Delay: time.Second}}
	err = db.Transaction(func() error {
		a := shard.Serve(s.now, operation, request)
		if answer = a.Text; !a.OK {
			return failed
		}
		return nil
	})
	if err != nil && !errors.Is(err, failed) {
		return nil, err
	}
	if s.lost[name] {
		return nil, errFrozen
	}
	return answer, nil
}

func (s *shards) called() (n int) {
	n = len(s.calls)
	s.calls = nil
	return n
}

func must[T any](v T, err error) func(t testing.TB) T {
	return func(t testing.TB) T {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
		return v
	}
}

// pageOf makes a page of domain number i, with a number of its own.
func pageOf(i, n int) frontier.NewPage {
	return frontier.NewPage{URL: fmt.Sprintf("https://www.d%d.example/page-%d", i, n), Type: "news", Priority: 0.5}
}

func (s *shards) fill(domains int) {
	s.Helper()
	var pages []frontier.NewPage
	for i := range domains {
		pages = append(pages, pageOf(i, 0))
	}
	if a := must(s.Put(s.Context(), partition, pages))(s); a.Added != domains {
		s.Fatalf("added %d of %d", a.Added, domains)
	}
	s.called()
}

// TestLease_OfAllShards: what one shard lacks comes from the others, each URL once, and the report finds
// the shards again.
func TestLease_OfAllShards(t *testing.T) {
	s := newShards(t, 8)
	s.fill(100)
	seen := map[string]bool{}
	for _, most := range []int{1, 10, 50, 100} {
		l := must(s.Lease(t.Context(), s.now, frontier.LeaseRequest{Max: most, Seconds: 60}))(t)
		if want := min(most, 100-len(seen)); len(l.Items) != want {
			t.Errorf("%d items, want %d", len(l.Items), want)
		}
		report := frontier.Report{Lease: l.ID}
		for _, item := range l.Items {
			if seen[item.URL] {
				t.Errorf("%s came twice", item.URL)
			}
			seen[item.URL] = true
			report.Results = append(report.Results, frontier.Result{ID: item.ID, Status: 200})
		}
		for range 2 { // a repeated one changes nothing
			if a := must(s.Report(t.Context(), report))(t); a.Accepted != len(l.Items) ||
				a.Unknown+a.Added+len(a.Failed) > 0 {
				t.Errorf("%+v", a)
			}
		}
	}
	stats := must(s.Stats(t.Context()))(t)
	if stats.Total.Done != 100 || stats.Total.Leased != 0 || stats.Total.URLs != 0 || stats.Total.Hosts != 100 ||
		len(stats.Shards) != 8 {
		t.Errorf("%+v", stats)
	}
	if l := must(s.Lease(t.Context(), s.now, frontier.LeaseRequest{Max: 1, Seconds: 60}))(t); len(l.Items) > 0 ||
		l.ID != "" || l.RetryAfter < 1 || l.RetryAfter > 60 {
		t.Errorf("an empty frontier gives %+v", l)
	}
}

// TestLease_FewHosts: a lease over shards has no more hosts than it may, and as many if there are.
func TestLease_FewHosts(t *testing.T) {
	s := newShards(t, 8)
	s.fill(100)
	for left := 100; left > 0; {
		l := must(s.Lease(t.Context(), s.now, frontier.LeaseRequest{Max: 100, Seconds: 60, PerHost: 5, MaxHosts: 7}))(t)
		hosts := map[string]bool{}
		for _, item := range l.Items {
			hosts[item.Host] = true
		}
		if want := min(7, left); len(hosts) != want || len(l.Items) != want {
			t.Fatalf("%d items of %d hosts, want %d", len(l.Items), len(hosts), want)
		}
		left -= len(hosts)
	}
}

// TestLease_AtOnce: scrapers that lease at the same time get different URLs.
func TestLease_AtOnce(t *testing.T) {
	s := newShards(t, 4)
	s.fill(200)
	var mu sync.Mutex
	var group sync.WaitGroup
	seen := map[string]int{}
	for range 50 {
		group.Go(func() {
			l, err := s.Lease(t.Context(), s.now, frontier.LeaseRequest{Max: 5, Seconds: 60})
			mu.Lock()
			defer mu.Unlock()
			if err != nil {
				t.Error(err)
			}
			for _, item := range l.Items {
				seen[item.URL]++
			}
		})
	}
	group.Wait()
	for url, n := range seen {
		if n > 1 {
			t.Errorf("%s was given %d times", url, n)
		}
	}
	if len(seen) != 200 {
		t.Errorf("%d of 200 URLs were given", len(seen))
	}
}

// TestIdle_For: a scraper is told how long there is nothing, however the shards came to be remembered.
func TestIdle_For(t *testing.T) {
	s := newShards(t, 8)
	s.Idle = new(idle.Shards)
	s.fill(1)
	lease := func() frontier.Lease {
		return must(s.Lease(t.Context(), s.now, frontier.LeaseRequest{Max: 1, Seconds: 600}))(t)
	}
	if l := lease(); len(l.Items) != 1 {
		t.Fatalf("%+v", l)
	}
	s.called()
	for range 5 {
		l := lease()
		if len(l.Items) > 0 || l.RetryAfter < 55 {
			t.Errorf("%d items, again in %d s; want none for about a minute", len(l.Items), l.RetryAfter)
		}
		s.now += 3000
	}
	if n := s.called(); n > 3*8 {
		t.Errorf("%d calls", n)
	}
}

// TestIdle_LoneScraper: who reports what it has is given more as soon as the hosts' delay is over, whichever
// process took the report.
func TestIdle_LoneScraper(t *testing.T) {
	s := newShards(t, 8)
	var pages []frontier.NewPage
	for i := range 3 {
		for n := range 12 {
			pages = append(pages, pageOf(i, n))
		}
	}
	must(s.Put(t.Context(), partition, pages))(t)
	leasing, reporting := new(idle.Shards), new(idle.Shards)
	for round, left := 0, len(pages); left > 0; round++ {
		s.Idle = leasing
		l := must(s.Lease(t.Context(), s.now, frontier.LeaseRequest{Max: 20, Seconds: 60, PerHost: 4}))(t)
		if len(l.Items) == 0 {
			t.Fatalf("round %d: nothing of the %d pages; again in %d s", round, left, l.RetryAfter)
		}
		report := frontier.Report{Lease: l.ID}
		for _, item := range l.Items {
			report.Results = append(report.Results, frontier.Result{ID: item.ID, Status: 200})
		}
		left -= len(l.Items)
		s.Idle = reporting
		must(s.Report(t.Context(), report))(t)
		s.now += 1000
	}
	// Another scraper of one process finds nothing while all is leased, and something once that was reported.
	s.Idle = leasing
	must(s.Put(t.Context(), partition, []frontier.NewPage{pageOf(0, 100), pageOf(0, 101)}))(t)
	first := must(s.Lease(t.Context(), s.now, frontier.LeaseRequest{Max: 1, Seconds: 60}))(t)
	if l := must(s.Lease(t.Context(), s.now, frontier.LeaseRequest{Max: 1, Seconds: 60}))(t); len(l.Items) != 0 {
		t.Fatalf("a leased host was given out")
	}
	must(s.Report(t.Context(),
		frontier.Report{Lease: first.ID, Results: []frontier.Result{{ID: first.Items[0].ID, Status: 200}}}))(t)
	s.now += 1000
	if l := must(s.Lease(t.Context(), s.now, frontier.LeaseRequest{Max: 1, Seconds: 60}))(t); len(l.Items) != 1 {
		t.Errorf("nothing after the report; again in %d s", l.RetryAfter)
	}
}

// TestIdle_Shards: shards that had nothing are left alone for some seconds, but not when something was
// put into them, nor for those who want something else.
func TestIdle_Shards(t *testing.T) {
	s := newShards(t, 8)
	s.Idle = new(idle.Shards)
	lease := func(r frontier.LeaseRequest) (items int) {
		t.Helper()
		r.Max, r.Seconds = 10, 60
		return len(must(s.Lease(t.Context(), s.now, r))(t).Items)
	}
	expect := func(what string, got, want int) {
		t.Helper()
		if got != want {
			t.Errorf("%s: %d, want %d", what, got, want)
		}
	}
	expect("items", lease(frontier.LeaseRequest{}), 0)
	expect("shards asked", s.called(), 8)
	expect("items", lease(frontier.LeaseRequest{}), 0)
	expect("shards asked again", s.called(), 0)
	expect("items of entry points", lease(frontier.LeaseRequest{Kinds: []string{frontier.KindEntry}}), 0)
	expect("shards asked for something else", s.called(), 8)
	s.fill(1)
	expect("items after a put", lease(frontier.LeaseRequest{}), 1)
	expect("shards asked", s.called(), 1)
	s.now += 5001
	lease(frontier.LeaseRequest{})
	expect("shards asked after some seconds", s.called(), 8)
	s.now -= 3_600_000
	lease(frontier.LeaseRequest{})
	expect("shards asked when the clock has gone back", s.called(), 8)
}

// TestLease_FrozenShards: what the others have can be had, and a request is repeated without harm.
func TestLease_FrozenShards(t *testing.T) {
	s := newShards(t, 4)
	s.Idle = new(idle.Shards)
	s.fill(40)
	in := map[string]int{}
	for i := range 40 {
		in[fmt.Sprintf("shard-%d", placement.ShardOf(fmt.Sprintf("d%d.example", i), 4))]++
	}
	s.frozen["shard-1"] = true
	l := must(s.Lease(t.Context(), s.now, frontier.LeaseRequest{Max: 100, Seconds: 60}))(t)
	if want := 40 - in["shard-1"]; len(l.Items) != want {
		t.Errorf("%d items, want %d", len(l.Items), want)
	}
	s.called()
	must(s.Lease(t.Context(), s.now+1000, frontier.LeaseRequest{Max: 100, Seconds: 60}))(t)
	if slices.Contains(s.calls, "shard-1 lease") {
		t.Error("a shard that did not answer was asked again at once")
	}

	stats := must(s.Stats(t.Context()))(t)
	if stats.Shards[1].Answered || !stats.Shards[2].Answered || stats.Shards[1].Name != "shard-1" ||
		stats.Total.Leased != int64(len(l.Items)) {
		t.Errorf("%+v", stats)
	}
	hosts := must(s.Hosts(t.Context(), frontier.HostsRequest{Limit: 100}))(t)
	if len(hosts.Hosts) != len(l.Items) || !slices.Equal(hosts.Missing, []string{"shard-1"}) {
		t.Errorf("%d hosts, without %v", len(hosts.Hosts), hosts.Missing)
	}
	if _, err := s.Hosts(t.Context(), frontier.HostsRequest{Limit: 100, Cursor: hosts.Next}); contract.KindOf(err) !=
		contract.Storage {
		t.Errorf("a page of nothing but the shard that is missing: %v", err)
	}

	// A report and a put name what was not accepted, and can be repeated. Here the shard does its part, but its
	// answer is lost.
	delete(s.frozen, "shard-1")
	s.lost["shard-2"] = true
	report := frontier.Report{Lease: l.ID}
	var silent []int
	for i, item := range l.Items {
		report.Results = append(report.Results,
			frontier.Result{ID: item.ID, Status: 200,
				Found: []frontier.FoundURL{{NewPage: frontier.NewPage{URL: item.URL + "/more"}}}})
		if strings.HasPrefix(item.ID, "2.") {
			silent = append(silent, i)
		}
	}
	a, err := s.Report(t.Context(), report)
	if contract.KindOf(err) != contract.Storage || !errors.Is(err, errFrozen) || !slices.Equal(a.Failed, silent) ||
		a.Accepted != len(l.Items)-len(silent) || a.Added != a.Accepted {
		t.Errorf("%+v %v", a, err)
	}
	var pages []frontier.NewPage
	for i := range 40 {
		pages = append(pages, pageOf(i, 1))
	}
	put, err := s.Put(t.Context(), partition, pages)
	if contract.KindOf(err) != contract.Storage || put.Added != 40-in["shard-2"] {
		t.Errorf("added %d, %v", put.Added, err)
	}
	for i, v := range put.Pages {
		want := frontier.Accepted
		if placement.ShardOf(fmt.Sprintf("d%d.example", i), 4) == 2 {
			want = frontier.Unavailable
		}
		if v != want {
			t.Errorf("page %d: %s, want %s", i, v, want)
		}
	}
	delete(s.lost, "shard-2")
	if a := must(s.Report(t.Context(), report))(t); a.Accepted != len(l.Items) || a.Added != 0 || len(a.Failed) > 0 {
		t.Errorf("again: %+v", a)
	}
	if put := must(s.Put(t.Context(), partition, pages))(t); put.Added != 0 {
		t.Errorf("again: added %d", put.Added)
	}
	for name := range s.dbs {
		s.frozen[name] = true
	}
	s.now += 6000
	for range 2 { // the second time none is asked
		if _, err := s.Lease(t.Context(), s.now, frontier.LeaseRequest{Max: 1, Seconds: 60}); contract.KindOf(err) !=
			contract.Storage {
			t.Errorf("a lease when none answers: %v", err)
		}
	}
	if _, err := s.Stats(t.Context()); contract.KindOf(err) != contract.Storage {
		t.Errorf("stats when none answers: %v", err)
	}
}

// TestReport_FoundElsewhere: URLs that are found on a page go to the shards of their domains, with the page's
// partition, also when the first report was lost on the way.
func TestReport_FoundElsewhere(t *testing.T) {
	s := newShards(t, 4)
	s.fill(1)
	l := must(s.Lease(t.Context(), s.now, frontier.LeaseRequest{Max: 1, Seconds: 60}))(t)
	result := frontier.Result{ID: l.Items[0].ID, Status: 200}
	for i := range 20 {
		result.Found = append(result.Found, frontier.FoundURL{NewPage: pageOf(i, 7)})
	}
	for _, url := range []string{"https://co.uk/x", "https://10.0.0.1/", "nonsense", "https://localhost/"} {
		result.Found = append(result.Found, frontier.FoundURL{NewPage: frontier.NewPage{URL: url}})
	}
	report := frontier.Report{Lease: l.ID, Results: []frontier.Result{result}}
	own := fmt.Sprintf("shard-%d", placement.ShardOf("d0.example", 4))
	silent := fmt.Sprintf("shard-%d", (placement.ShardOf("d0.example", 4)+1)%4)
	s.frozen[silent] = true
	a, err := s.Report(t.Context(), report)
	if err == nil || a.Accepted != 1 || !slices.Equal(a.Failed, []int{0}) || a.Added == 0 || a.Added >= 20 {
		t.Fatalf("%+v %v", a, err)
	}
	delete(s.frozen, silent)
	if b := must(s.Report(t.Context(), report))(t); a.Added+b.Added != 20 || b.Accepted != 1 {
		t.Errorf("%d were added, then %+v", a.Added, b)
	}
	s.now += 1000
	l = must(s.Lease(t.Context(), s.now, frontier.LeaseRequest{Max: 100, Seconds: 60}))(t)
	if len(l.Items) != 20 {
		t.Errorf("%d items", len(l.Items))
	}
	for _, item := range l.Items {
		if item.Partition != partition {
			t.Errorf("%s: %+v", item.URL, item.Partition)
		}
	}

	// Nobody puts URLs with a report of what was never leased.
	before := must(s.Stats(t.Context()))(t).Total
	for _, id := range []string{"", "x", "0.1." + l.Items[0].ID, "-1.1.a-b", "99.1.0000000000-000000000000",
		"1.zzzzzzzzzzzzzzzzzzzz.0000000000-000000000000",
		strings.TrimPrefix(own, "shard-") + ".1.0000000000-000000000000"} {
		forged := result
		forged.ID = id
		forged.Found = []frontier.FoundURL{{NewPage: pageOf(99, 1)}, {NewPage: pageOf(98, 1)}}
		for _, lease := range []string{l.ID, strings.TrimPrefix(own, "shard-") + ".1", ""} {
			if a := must(s.Report(t.Context(), frontier.Report{Lease: lease, Results: []frontier.Result{forged}}))(
				t); a.Unknown != 1 || a.Added > 0 {
				t.Errorf("%q of %q: %+v", id, lease, a)
			}
		}
	}
	if after := must(s.Stats(t.Context()))(t).Total; !reflect.DeepEqual(after, before) {
		t.Errorf("%+v became %+v", before, after)
	}
}

// TestReport_FoundDomains: a list of links does not fill the frontier.
func TestReport_FoundDomains(t *testing.T) {
	s := newShards(t, 4)
	s.fill(1)
	l := must(s.Lease(t.Context(), s.now, frontier.LeaseRequest{Max: 1, Seconds: 60}))(t)
	result := frontier.Result{ID: l.Items[0].ID, Status: 200}
	for i := range 4000 {
		result.Found = append(result.Found, frontier.FoundURL{NewPage: pageOf(i+1, 7)})
	}
	a := must(s.Report(t.Context(), frontier.Report{Lease: l.ID, Results: []frontier.Result{result}}))(t)
	if a.Added != 50+50 {
		t.Errorf("added %d, want 50 of its own shard and 50 of the others", a.Added)
	}
}

// TestReport_FoundHosts: scrapers that find ever more hosts do not fill a shard, whichever shard they report to;
// what they find on hosts that are known is taken, and so is what is put.
func TestReport_FoundHosts(t *testing.T) {
	s := newShards(t, 2)
	s.fill(200)
	next := 1000
	report := func() (added int) {
		l := must(s.Lease(t.Context(), s.now, frontier.LeaseRequest{Max: 100, Seconds: 60}))(t)
		if len(l.Items) < 100 {
			t.Fatalf("%d items", len(l.Items))
		}
		report := frontier.Report{Lease: l.ID}
		for _, item := range l.Items {
			result := frontier.Result{ID: item.ID, Status: 200,
				Found: []frontier.FoundURL{{NewPage: frontier.NewPage{URL: item.URL + "/found"}}}}
			for range 45 {
				result.Found = append(result.Found,
					frontier.FoundURL{
						NewPage: frontier.NewPage{
							URL: fmt.Sprintf("https://h%d.%s/", next,
								[]string{item.Domain, fmt.Sprintf("found-%d.example", next)}[next%2])}})
				next++
			}
			report.Results = append(report.Results, result)
		}
		before := must(s.Stats(t.Context()))(t).Total.Hosts
		if a := must(s.Report(t.Context(), report))(t); a.Added < 100 {
			t.Errorf("added %d of known hosts", a.Added)
		}
		return int(must(s.Stats(t.Context()))(t).Total.Hosts - before)
	}
	if first, second := report(), report(); first != 2*1000 || second != 0 {
		t.Errorf("%d hosts were added, then %d", first, second)
	}
	if a := must(s.Put(t.Context(), partition, []frontier.NewPage{{URL: "https://put.example/"}}))(t); a.Added != 1 {
		t.Errorf("%+v", a)
	}
	s.now += 86_400_000
	if n := report(); n != 2*1000 {
		t.Errorf("%d hosts were added on the next day", n)
	}
}

// TestLease_Closed: a lease with a host that operators block is prolonged by no shard, since its holder would go on
// asking all of them.
func TestLease_Closed(t *testing.T) {
	s := newShards(t, 4)
	s.fill(20)
	l := must(s.Lease(t.Context(), s.now, frontier.LeaseRequest{Max: 20, Seconds: 60}))(t)
	if r := must(s.RenewLease(t.Context(), l.ID, 300))(t); r.Hosts != 20 {
		t.Fatalf("%+v", r)
	}
	until := s.now + 3_600_000
	host := frontier.HostChange{BlockUntil: &until}
	if !must(s.Of("d7.example").SetHost(t.Context(), "www.d7.example", host))(t) {
		t.Fatal("there is no such host")
	}
	if r := must(s.RenewLease(t.Context(), l.ID, 300))(t); r.Hosts != 0 {
		t.Errorf("%+v", r)
	}
}

// TestLease_GivenUp: a scraper that hangs up leaves no shard as silent.
func TestLease_GivenUp(t *testing.T) {
	s := newShards(t, 4)
	s.Idle = new(idle.Shards)
	s.fill(20)
	ctx, hangUp := context.WithCancel(t.Context())
	hangUp()
	gone := s.Frontier
	gone.Caller = callerFunc(func(ctx context.Context) error { return ctx.Err() })
	if _, err := gone.Lease(ctx, s.now, frontier.LeaseRequest{Max: 100, Seconds: 60}); !errors.Is(err,
		context.Canceled) {
		t.Errorf("%v", err)
	}
	if l := must(s.Lease(t.Context(), s.now, frontier.LeaseRequest{Max: 100, Seconds: 60}))(t); len(l.Items) != 20 {
		t.Errorf("%d items afterwards", len(l.Items))
	}
}

// callerFunc is a Caller that gives no answer.
type callerFunc func(context.Context) error

func (f callerFunc) Call(ctx context.Context, _, _ string, _ []byte) ([]byte, error) {
	return nil, f(ctx)
}

// TestHosts_OfAllShards: pages of hosts are in the order that was asked for, whatever their shards, and
// every host is there once.
func TestHosts_OfAllShards(t *testing.T) {
	s := newShards(t, 5)
	for i := range 60 {
		var pages []frontier.NewPage
		for n := range i + 1 {
			pages = append(pages, pageOf(i, n))
		}
		must(s.Put(t.Context(), partition, pages))(t)
		s.now += 1000
	}
	for _, sort := range []string{"", "due", "size"} {
		var list []string
		r := frontier.HostsRequest{Sort: sort, Limit: 7}
		for range 20 {
			page := must(s.Hosts(t.Context(), r))(t)
			for _, h := range page.Hosts {
				list = append(list, h.Host)
			}
			if r.Cursor = page.Next; r.Cursor == "" {
				break
			}
		}
		want := make([]string, 60)
		for i := range want {
			switch sort {
			case "size":
				want[i] = fmt.Sprintf("www.d%d.example", 59-i)
			default:
				want[i] = fmt.Sprintf("www.d%d.example", i)
			}
		}
		if sort == "" {
			slices.Sort(list)
			slices.Sort(want)
		}
		if !slices.Equal(list, want) {
			t.Errorf("by %q: %v", sort, list)
		}
	}
	for _, cursor := range []string{"x", "W10", "!"} {
		if _, err := s.Hosts(t.Context(), frontier.HostsRequest{Limit: 7, Cursor: cursor}); contract.KindOf(err) !=
			contract.Validation {
			t.Errorf("cursor %q: %v", cursor, err)
		}
	}
}

// TestURL_OfAllShards: what is about one host reaches its shard, and patterns reach all.
func TestURL_OfAllShards(t *testing.T) {
	s := newShards(t, 4)
	s.fill(20)
	until := s.now + 1_000_000
	for i := range 20 {
		if !must(s.SetHost(t.Context(), fmt.Sprintf("www.d%d.example", i), frontier.HostChange{BlockUntil: &until}))(
			t) {
			t.Errorf("host %d is not found", i)
		}
		if got := must(s.URL(t.Context(), pageOf(i, 0).URL))(t); got.State != "waiting" || got.DueAt != until {
			t.Errorf("%d: %+v", i, got)
		}
	}
	for _, x := range []frontier.Exclusion{{Kind: contract.ExcludeURL, Value: "https://*/page-*"},
		{Kind: contract.ExcludeDomain, Value: "d3.example"}, {Kind: contract.ExcludeHost, Value: "www.d3.example"}} {
		for _, on := range []bool{true, false} {
			if err := s.Exclude(t.Context(), x, on); err != nil {
				t.Fatal(err)
			}
			if got, want := must(s.URL(t.Context(), pageOf(3, 0).URL))(t).State,
				map[bool]string{true: "excluded", false: "waiting"}[on]; got != want {
				t.Errorf("%+v: %s, want %s", x, got, want)
			}
		}
	}
	for _, host := range []string{"", "co.uk", "10.0.0.1", "Www.d3.example", "x"} {
		if _, err := s.SetHost(t.Context(), host, frontier.HostChange{Empty: true}); contract.KindOf(err) !=
			contract.Validation {
			t.Errorf("%q: %v", host, err)
		}
	}
	if _, err := s.URL(t.Context(), "https://co.uk/"); contract.KindOf(err) != contract.Validation {
		t.Error(err)
	}
	a := must(s.Put(t.Context(), partition,
		[]frontier.NewPage{pageOf(0, 0), {URL: "x"}, pageOf(0, 1), {URL: "https://co.uk/"}, pageOf(1, 1),
			{URL: "https://1.2.3.4/"}}))(t)
	if want := []frontier.Verdict{"duplicate", "invalid_url", "accepted", "invalid_url", "accepted",
		"invalid_url"}; !slices.Equal(a.Pages, want) || a.Added != 2 {
		t.Errorf("%v", a)
	}
}
