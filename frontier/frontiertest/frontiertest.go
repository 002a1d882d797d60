// Package frontiertest is the conformance suite of the frontier: what collectors and scrapers rely
// on, run on SQLite by the tests of frontier and in a Durable Object by test/conformance.
package frontiertest

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/newsfork/seed-engine/contract"
	"github.com/newsfork/seed-engine/epoch"
	"github.com/newsfork/seed-engine/frontier"
	"github.com/newsfork/seed-engine/frontier/client"
	"github.com/newsfork/seed-engine/frontier/shard"
	"github.com/newsfork/seed-engine/frontier/shard/store"
	"github.com/newsfork/seed-engine/test/cases"
)

// T receives the results of a case.
type T = cases.T

var expect = cases.Expect

// DB is a database with its transactions.
type DB interface {
	store.DB
	Transaction(func() error) error
}

// Case is one property. It needs an empty database of its own.
type Case struct {
	Name string
	Run  func(t T, db DB)
}

// Cases is the suite.
var Cases = []Case{
	{"the database", database},
	{"a put is leased and reported", putLeaseReport},
	{"a URL is put once", putOnce},
	{"verdicts of a put", verdicts},
	{"puts of several domains at once", putAll},
	{"the best pages of a domain", bestOfDomain},
	{"the newest of equal pages", newestOfEquals},
	{"the best pages of a domain with many hosts", bestOfHosts},
	{"one page of a host at a time", oneOfAHost},
	{"several pages of a host", severalOfAHost},
	{"no more hosts than asked for", fewHosts},
	{"a host's delay", delay},
	{"a long delay is not shortened", longDelay},
	{"a delay that scrapers, settings and operators change", delayChanges},
	{"Retry-After", retryAfter},
	{"429 slows a host down, which recovers slowly", slowDown},
	{"a host that fails", failingHost},
	{"a page that fails", failingPage},
	{"a host that does not resolve", unresolvedHost},
	{"a robots.txt that cannot be read", noRobots},
	{"pages that were not fetched", notFetched},
	{"a lease that is over", expiredLease},
	{"a report that is repeated, late or foreign", reportTwice},
	{"a report that is forged", reportForged},
	{"found URLs", foundURLs},
	{"what pages of other domains name", foreignURLs},
	{"higher bands more often, none starved", bands},
	{"the bands of one host take turns", bandsOfHost},
	{"an urgent page moves a queued host", urgentMoves},
	{"a priority falls with age", ages},
	{"filters", filters},
	{"hosts take turns", fairHosts},
	{"a collector excludes scrapers", collectorExcludes},
	{"a waiting collector goes first", collectorFirst},
	{"a collector that is lost", lostCollector},
	{"a collector's time", collectorTime},
	{"what a collector learned", collectorLearned},
	{"what a collector learned, with its put", learnedWithPut},
	{"what robots.txt forbids", forbidden},
	{"what sites say about use", usage},
	{"scrapers by name", scrapers},
	{"evidence of a collection", evidence},
	{"when a domain was last somebody's", lastOwned},
	{"a domain that has its contract", unlessCollected},
	{"a digest of several domains", mirrorDigests},
	{"a domain that is a mirror", mirrorDomain},
	{"hosts of one domain at once", hostsAtOnce},
	{"block, delay and empty a host", operators},
	{"operators overrule what a host's answers led to", operatorsOverrule},
	{"the delay of an owner that is lost", lostOwners},
	{"a refresh in a domain that becomes large", refreshOfLargeDomain},
	{"a refresh does not end the wait of a collector", waitingCollector},
	{"a refresh after a scraper that never reports", refreshAfterScraper},
	{"a short Retry-After slows a host down", throttled},
	{"exclusions", exclusions},
	{"entry points", entryPoints},
	{"stats and hosts", statsAndHosts},
	{"the state of a URL", urlState},
	{"the pages of a domain", domainPages},
	{"snapshot and restore", snapshot},
	{"a damaged row is quarantined, and restored", quarantine},
	{"wrong requests", wrongRequests},
	{"more than fits a row", large},
	{"the feed has what is new", feedNew},
	{"fresh pages that are refused", refusedFresh},
	{"the feed in pages", feedPages},
	{"filters of the feed", feedFilters},
	{"the feed is kept for a time", feedRetention},
	{"changes of contracts", changes},
	{"changes with the end of a lease", changesOnRelease},
	{"a tick and a refresh", refresh},
	{"refreshes are bounded", refreshBudget},
	{"a refresh excludes others", refreshExcludes},
	{"the entry points of a host take turns", entriesTakeTurns},
	{"a refresh goes on with the next entry point", refreshGoesOn},
	{"a refresh goes on as far as the settings allow", refreshGoesOnWithin},
	{"one message for a refresh while the queue stands still", sentOnce},
	{"what is not refreshed", notRefreshed},
	{"a domain that is due as a whole", collectDue},
	{"rows written by a collection", rowsOfADomain},
	{"rows written by refreshes", rowsOfRefreshes},
	{"rows written for a URL, one a host", rowsOfAURL(1.1, frontier.LeaseRequest{Max: 100, PerHost: 1})},
	{"rows written for a URL, five a host", rowsOfAURL(0.23, frontier.LeaseRequest{Max: 500, PerHost: 5})},
	{"rows written for a URL of a class", rowsOfAURL(1.15, frontier.LeaseRequest{Max: 100, PerHost: 1, Country: "kr"})},
}

// noon is the time at which every case begins, in ms.
const noon = 1_769_601_600_000

// shard is a shard with a clock. What is asked of it and what it answers goes through the encoding in
// which Worker and object exchange it.
type testShard struct {
	t     T
	db    DB
	s     client.Shard
	local shard.Shard
	now   epoch.Millis
	found frontier.FoundCounts // of the last report
}

var ctx = context.Background()

func newShard(t T, db DB) *testShard {
	s := &testShard{t: t, db: db, local: shard.Shard{DB: db,
		Settings: shard.Settings{Delay: time.Second, URLsPerDomain: 100_000, Announcements: 100_000}}, now: noon}
	s.s = client.Frontier{Caller: s, Shards: 1}.Shard(0)
	return s
}

// Call implements client.Caller in the transaction of the test.
func (s *testShard) Call(_ context.Context, _, operation string, request []byte) ([]byte, error) {
	return s.local.Serve(s.now, operation, request).Text, nil
}

var kr = contract.Partition{Country: "kr", Category: "news", Date: "2026-01-28"}

func (s *testShard) do(f func() error) {
	s.t.Helper()
	if err := s.db.Transaction(f); err != nil {
		s.t.Fatalf("%v", err)
	}
}

func (s *testShard) wait(ms int64) { s.now += epoch.Millis(ms) }

func (s *testShard) put(domain string, pages ...frontier.NewPage) frontier.PutAnswer {
	s.t.Helper()
	return s.putIn(kr, domain, pages, nil)
}

func (s *testShard) putIn(p contract.Partition, domain string, pages []frontier.NewPage,
	entries []frontier.NewEntry) (a frontier.PutAnswer) {
	s.t.Helper()
	s.do(func() (err error) {
		a, err = s.s.Put(ctx, frontier.Put{Domain: domain, Partition: p, Pages: pages, Entries: entries})
		return err
	})
	return a
}

func (s *testShard) request(r frontier.LeaseRequest) (l frontier.Lease) {
	s.t.Helper()
	if r.Seconds == 0 {
		r.Seconds = 60
	}
	s.do(func() (err error) {
		l, err = s.s.Lease(ctx, r)
		return err
	})
	return l
}

func (s *testShard) lease(most int) frontier.Lease {
	s.t.Helper()
	return s.request(frontier.LeaseRequest{Max: most})
}

func (s *testShard) report(l frontier.Lease, results ...frontier.Result) (a frontier.ReportAnswer) {
	s.t.Helper()
	s.do(func() (err error) {
		a, err = s.s.Report(ctx, frontier.Report{Lease: l.ID, Results: results})
		return err
	})
	s.found = a.Found
	var counted frontier.ReportAnswer
	for _, o := range a.Outcomes {
		counted.Count(o)
	}
	if counted.Accepted != a.Accepted || counted.Late != a.Late || counted.Unknown != a.Unknown ||
		len(a.Outcomes) != len(results) {
		s.t.Errorf("outcomes that do not agree with their counts: %+v", a)
	}
	a.Outcomes, a.Found = nil, frontier.FoundCounts{}
	return a
}

// settle reports all items of a lease with a status.
func (s *testShard) settle(l frontier.Lease, status int) frontier.ReportAnswer {
	s.t.Helper()
	var results []frontier.Result
	for _, item := range l.Items {
		results = append(results, frontier.Result{ID: item.ID, Status: status})
	}
	return s.report(l, results...)
}

func (s *testShard) acquire(domain, owner string, seconds int64, hosts ...string) (a frontier.Acquired) {
	s.t.Helper()
	s.do(func() (err error) {
		a, err = s.s.Acquire(ctx, frontier.AcquireRequest{Domain: domain, Owner: owner, Seconds: seconds, Hosts: hosts})
		return err
	})
	return a
}

func (s *testShard) release(domain, owner string, visits ...frontier.HostFindings) (released bool) {
	s.t.Helper()
	s.do(func() (err error) {
		released, err = s.s.Release(ctx, frontier.ReleaseRequest{Domain: domain, Owner: owner, Hosts: visits})
		return err
	})
	return released
}

func (s *testShard) host(name string) (d frontier.HostDetail) {
	s.t.Helper()
	s.do(func() (err error) {
		d, err = s.s.Host(ctx, name)
		return err
	})
	return d
}

func (s *testShard) stats() (stats frontier.Stats) {
	s.t.Helper()
	s.do(func() (err error) {
		stats, err = s.s.Stats(ctx)
		return err
	})
	return stats
}

func (s *testShard) state(url string) (state frontier.URLState) {
	s.t.Helper()
	s.do(func() (err error) {
		state, err = s.s.URL(ctx, url)
		return err
	})
	return state
}

// pages makes n pages of a host with the same priority.
func pages(host string, n int, priority float64) []frontier.NewPage {
	list := make([]frontier.NewPage, n)
	for i := range list {
		list[i] = frontier.NewPage{URL: fmt.Sprintf("https://%s/articles/x%s/%d", host, strings.Repeat("x", i%7), i),
			Type: "news", Priority: priority, Title: "제목"}
	}
	return list
}

func urls(l frontier.Lease) (list []string) {
	for _, item := range l.Items {
		list = append(list, item.URL)
	}
	return list
}

func expectInvalid(t T, what string, err error) {
	t.Helper()
	if contract.KindOf(err) != contract.Validation {
		t.Errorf("%s: got %v, want a validation error", what, err)
	}
}

func database(t T, db DB) {
	text, blob := "텍스트 \"quoted\"", []byte{0, 255, 1, '"'}
	err := db.Transaction(func() error {
		if _, err := db.Run(`CREATE TABLE t (key INTEGER PRIMARY KEY, text TEXT, data BLOB)`); err != nil {
			return err
		}
		rows, err := db.Run(
			`INSERT INTO t (key, text, data) SELECT value->>0, ?2, substr(?3, value->>1, value->>2) FROM json_each(?1)`,
			`[[1,1,4],[4503599627370495,2,2]]`, text, blob)
		if err != nil {
			return err
		}
		expect(t, "rows written by an insert", rows.Written, 2)
		rows, err = db.Run(`SELECT key, text, data, NULL FROM t ORDER BY key`)
		if err != nil {
			return err
		}
		expect(t, "first row", rows.Next(), true)
		expect(t, "key", rows.Int(), int64(1))
		expect(t, "text", rows.Text(), text)
		expect(t, "blob", rows.Blob(), blob)
		expect(t, "null", rows.Blob() == nil, true)
		expect(t, "second row", rows.Next(), true)
		expect(t, "key of 52 bits", rows.Int(), int64(1<<52-1))
		expect(t, "no third row", rows.Next(), false)
		rows, err = db.Run(`UPDATE t SET text = NULL`)
		if err != nil {
			return err
		}
		expect(t, "rows written by an update", rows.Written, 2)
		rows, err = db.Run(`DELETE FROM t WHERE key = ?1`, int64(1))
		if err != nil {
			return err
		}
		expect(t, "rows written by a delete", rows.Written, 1)
		return nil
	})
	if err != nil {
		t.Fatalf("%v", err)
	}
	failed := errors.New("failed")
	if err := db.Transaction(func() error {
		if _, err := db.Run(`DELETE FROM t`); err != nil {
			return err
		}
		return failed
	}); !errors.Is(err, failed) {
		t.Errorf("got %v, want the error", err)
	}
	if err := db.Transaction(func() error {
		rows, err := db.Run(`SELECT count(*) FROM t`)
		if err != nil {
			return err
		}
		rows.Next()
		expect(t, "rows after a rollback", rows.Int(), int64(1))
		if _, err := db.Run(`SELECT * FROM missing`); err == nil {
			t.Errorf("a statement on no table succeeded")
		}
		return nil
	}); err != nil {
		t.Fatalf("%v", err)
	}
}
