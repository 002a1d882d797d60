package ledgertest

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"time"

	"github.com/newsfork/seed-engine/contract"
	"github.com/newsfork/seed-engine/ledger"
)

func domainStates(t T, db ledger.DB, name string) {
	p := place(name, "2026-01-28")
	queued := func(seconds int, forced bool) ledger.Changes {
		q := ledger.Queued{Partition: p, Names: []string{"a.sg"}, At: at(seconds)}
		if forced {
			q.RequiredSince = q.At
		}
		return ledger.Changes{QueuedDomains: []ledger.Queued{q}}
	}
	news := func(d ledger.DomainChange) ledger.Changes {
		d.Partition, d.Domain = p, "a.sg"
		return ledger.Changes{Domains: []ledger.DomainChange{d}}
	}
	for _, c := range []struct {
		what    string
		changes []ledger.Changes
		want    contract.DomainState
	}{
		{"queued", []ledger.Changes{queued(1, false)}, contract.Pending},
		{"a first attempt failed", []ledger.Changes{queued(1, false), news(ledger.DomainChange{Queued: at(1)})},
			contract.Pending},
		{"collected", []ledger.Changes{queued(1, false), news(ledger.DomainChange{Outcome: outcome(2, true)})},
			contract.Processed},
		{"collected before the record that it was queued",
			[]ledger.Changes{news(ledger.DomainChange{Outcome: outcome(2, true)}), queued(1, false)},
			contract.Processed},
		{"unreachable", []ledger.Changes{queued(1, false), news(ledger.DomainChange{Outcome: outcome(2, false)})},
			contract.Failed},
		{"given up", []ledger.Changes{queued(1, false),
			news(ledger.DomainChange{GaveUp: at(2), ErrorType: contract.Storage})}, contract.Failed},
		{"given up and replayed", []ledger.Changes{queued(1, false), news(ledger.DomainChange{GaveUp: at(2)}),
			news(ledger.DomainChange{Queued: at(3)})}, contract.Pending},
		{"one message given up, the other collected",
			[]ledger.Changes{queued(1, false), news(ledger.DomainChange{GaveUp: at(2)}),
				news(ledger.DomainChange{Outcome: outcome(3, true)})}, contract.Processed},
		{"collected, then a merge given up",
			[]ledger.Changes{queued(1, false), news(ledger.DomainChange{Outcome: outcome(2, true)}),
				news(ledger.DomainChange{GaveUp: at(4)})}, contract.Processed},
		{"excluded", []ledger.Changes{queued(1, false), news(ledger.DomainChange{Excluded: at(2)})},
			contract.Excluded},
		{"excluded, then queued again", []ledger.Changes{queued(1, false), news(ledger.DomainChange{Excluded: at(2)}),
			queued(3, true)}, contract.Pending},
		{"collected, then excluded", []ledger.Changes{queued(1, false),
			news(ledger.DomainChange{Outcome: outcome(2, true)}), news(ledger.DomainChange{Excluded: at(3)})},
			contract.Processed},
		{"forced", []ledger.Changes{news(ledger.DomainChange{Outcome: outcome(2, true)}), queued(3, true)},
			contract.Pending},
		{"forced and given up", []ledger.Changes{news(ledger.DomainChange{Outcome: outcome(2, true)}),
			queued(3, true), news(ledger.DomainChange{GaveUp: at(4)})}, contract.Failed},
		{"forced and excluded", []ledger.Changes{news(ledger.DomainChange{Outcome: outcome(2, true)}),
			queued(3, true), news(ledger.DomainChange{Excluded: at(4)})}, contract.Excluded},
		{"forced and collected again", []ledger.Changes{news(ledger.DomainChange{Outcome: outcome(2, true)}),
			queued(3, true), news(ledger.DomainChange{Outcome: outcome(4, true), SatisfiedUpTo: at(3)})},
			contract.Processed},
		{"forced by a second file, collected once",
			[]ledger.Changes{queued(3, true), news(ledger.DomainChange{Outcome: outcome(4, true)}), queued(3, true)},
			contract.Processed},
		// A collection that ended after the request satisfies it, even if it began before.
		{"forced while it was being collected",
			[]ledger.Changes{queued(1, false), queued(3, true),
				news(ledger.DomainChange{Outcome: outcome(2, true), RequiredSince: at(3), SatisfiedUpTo: at(3)})},
			contract.Processed},
		{"reachable again", []ledger.Changes{news(ledger.DomainChange{Outcome: outcome(2, false)}), queued(3, true),
			news(ledger.DomainChange{Outcome: outcome(4, true), SatisfiedUpTo: at(3)})}, contract.Processed},
	} {
		query(t, db, `DELETE FROM domains WHERE partition IN (SELECT id FROM partitions WHERE category = ?1)`, name)
		for range 2 { // everything is delivered twice
			for _, change := range c.changes {
				record(t, db, change)
			}
		}
		records, err := ledger.New(db).Domain(ctx, "a.sg", contract.Filter{Category: name})
		must(t, "Domain", err)
		if len(records) != 1 || records[0].State != c.want {
			t.Errorf("%s: %+v, want %s", c.what, records, c.want)
			continue
		}
		if (records[0].ErrorType != nil) != (c.want == contract.Failed) && c.what != "forced and given up" {
			t.Errorf("%s: error %v", c.what, records[0].ErrorType)
		}
		recount(t, db, name, c.what)
	}
}

func anyOrder(t T, db ledger.DB, name string) {
	random := rand.New(rand.NewPCG(1, 2))
	p := place(name, "2026-01-28")
	second := 0
	next := func() time.Time { second++; return at(second) }
	var events []ledger.Changes
	for range 40 {
		domain := fmt.Sprint(string(rune('a'+random.IntN(6))), ".sg")
		file := contract.RawFile{Partition: p, Name: fmt.Sprintf("raw_%04d", random.IntN(4))}
		var c ledger.Changes
		d, f := ledger.DomainChange{Partition: p, Domain: domain}, ledger.FileChange{RawFile: file}
		switch random.IntN(9) {
		case 0:
			c.QueuedDomains = []ledger.Queued{{Partition: p, Names: []string{domain, "a.sg"}, At: next()}}
		case 1:
			q := ledger.Queued{Partition: p, Names: []string{domain}, At: next()}
			q.RequiredSince = q.At
			c.QueuedDomains = []ledger.Queued{q}
		case 2:
			next()
			d.Outcome = outcome(second, random.IntN(3) > 0)
			c.Domains = []ledger.DomainChange{d}
		case 3:
			d.GaveUp, d.ErrorType, d.ErrorMessage = next(), contract.Storage, fmt.Sprint("at ", second)
			c.Domains = []ledger.DomainChange{d}
		case 4:
			d.Excluded = next()
			c.Domains = []ledger.DomainChange{d}
		case 5:
			c.QueuedFiles = []ledger.Queued{{Partition: p, Names: []string{file.Name}, At: next()}}
		case 6:
			q := ledger.Queued{Partition: p, Names: []string{file.Name}, At: next()}
			q.RequiredSince = q.At
			c.QueuedFiles = []ledger.Queued{q}
		case 7:
			f.Processed, f.Duration = next(), time.Duration(second)*time.Millisecond
			c.Files = []ledger.FileChange{f}
		case 8:
			f.GaveUp, f.ErrorType, f.ErrorMessage = next(), contract.Parse, fmt.Sprint("at ", second)
			c.Files = []ledger.FileChange{f}
		}
		events = append(events, c)
	}
	snapshot := func() []map[string]any {
		rows := append(
			query(t, db,
				`SELECT * FROM files WHERE partition IN (SELECT id FROM partitions WHERE category = ?1)
ORDER BY name`, name),
			query(t, db,
				`SELECT * FROM domains WHERE partition IN (SELECT id FROM partitions WHERE category = ?1)
ORDER BY domain`, name)...)
		for _, row := range rows {
			delete(row, "prior") // of the last batch
		}
		return rows
	}
	var first []map[string]any
	for run := range 6 {
		for _, table := range []string{"files", "domains"} {
			query(t, db, `DELETE FROM `+table+` WHERE partition IN (SELECT id FROM partitions WHERE category = ?1)`,
				name)
		}
		delivered := slices.Concat(events, events[:run*len(events)/5])
		if run > 0 {
			random.Shuffle(len(delivered), func(i, j int) { delivered[i], delivered[j] = delivered[j], delivered[i] })
		}
		for _, c := range delivered {
			record(t, db, c)
		}
		recount(t, db, name, fmt.Sprint("run ", run))
		rows := snapshot()
		if run == 0 {
			first = rows
			continue
		}
		expect(t, fmt.Sprint("rows of run ", run), rows, first)
	}
}

func manyDomains(t T, db ledger.DB, name string) {
	p := place(name, "2026-01-28")
	names := make([]string, 10_000)
	for i := range names {
		names[i] = fmt.Sprintf("%s-%d.sg", strings.Repeat("x", 200), i)
	}
	q := []ledger.Queued{{Partition: p, Names: names, At: at(0)}}
	record(t, db, ledger.Changes{QueuedDomains: q})
	expect(t, "pending", stats(t, db, name).Processing.DomainsPending, int64(len(names)))
	record(t, db, ledger.Changes{QueuedDomains: q})
	expect(t, "pending when sent twice", stats(t, db, name).Processing.DomainsPending, int64(len(names)))
}

func domainPages(t T, db ledger.DB, name string) {
	var changes []ledger.DomainChange
	for i := range 60 {
		p := place(name, fmt.Sprintf("2026-01-%02d", 1+i%3))
		d := ledger.DomainChange{Partition: p, Domain: fmt.Sprintf("d%02d.sg", i), Queued: at(i)}
		switch i % 6 {
		case 0:
		case 1:
			d.Outcome = outcome(i, false)
		case 2:
			d.GaveUp, d.ErrorType = at(i), contract.Storage
		default:
			d.Outcome = outcome(1+i/10, true) // several with one duration
			d.Outcome.Robots, d.Outcome.Sitemap = i%6 != 3, i%6 == 5
		}
		if i%6 > 2 {
			d.Revision, d.ChangedAt = i, at(i)
		}
		if d.Outcome != nil && i >= 30 { // some of both kinds
			d.Outcome.Duration += 5 * time.Second
		}
		changes = append(changes, d)
	}
	record(t, db, ledger.Changes{Domains: changes})
	yes, no := true, false
	slower, slowest := int64(3), int64(5004)
	for _, c := range []struct {
		what string
		q    ledger.DomainQuery
		want func(i int) bool
	}{
		{"all", ledger.DomainQuery{}, func(int) bool { return true }},
		{"pending", ledger.DomainQuery{State: contract.Pending}, func(i int) bool { return i%6 == 0 }},
		{"failed", ledger.DomainQuery{State: contract.Failed}, func(i int) bool { return i%6 == 1 || i%6 == 2 }},
		{"of one error", ledger.DomainQuery{ErrorType: "storage_error"}, func(i int) bool { return i%6 == 2 }},
		{"without robots.txt", ledger.DomainQuery{Robots: &no}, func(i int) bool { return i%6 == 3 }},
		{"with robots.txt", ledger.DomainQuery{Robots: &yes}, func(i int) bool { return i%6 > 3 }},
		{"without a sitemap", ledger.DomainQuery{Sitemap: &no}, func(i int) bool { return i%6 == 3 || i%6 == 4 }},
		{"without a sitemap, with robots.txt", ledger.DomainQuery{Sitemap: &no, Robots: &yes},
			func(i int) bool { return i%6 == 4 }},
		{"slow", ledger.DomainQuery{SlowerThanMS: &slower},
			func(i int) bool { return i%6 > 2 && 1+i/10 > 3 || i%6 == 1 && i > 3 }},
		{"slow and processed", ledger.DomainQuery{SlowerThanMS: &slower, SlowestFirst: true, State: contract.Processed},
			func(i int) bool { return i%6 > 2 && 1+i/10 > 3 }},
		{"the slowest", ledger.DomainQuery{SlowerThanMS: &slowest, SlowestFirst: true},
			func(i int) bool { return i%6 > 2 && i >= 40 || i%6 == 1 && i > 30 }},
		{"the slowest, by name", ledger.DomainQuery{SlowerThanMS: &slowest, State: contract.Processed},
			func(i int) bool { return i%6 > 2 && i >= 40 }},
		{"slowest behind a barrier", ledger.DomainQuery{SlowestFirst: true, Barrier: contract.Forbidden},
			func(i int) bool { return i%6 > 2 && (1+i/10)%4 == 1 }},
		{"slowest first", ledger.DomainQuery{SlowestFirst: true}, func(i int) bool { return i%6 > 2 || i%6 == 1 }},
		{"slowest failed ones", ledger.DomainQuery{SlowestFirst: true, State: contract.Failed},
			func(i int) bool { return i%6 == 1 }},
		{"slowest of a date", ledger.DomainQuery{SlowestFirst: true, Filter: contract.Filter{Country: "sg",
			Date: "2026-01-02"}}, func(i int) bool { return i%3 == 1 && (i%6 > 2 || i%6 == 1) }},
		{"slowest without robots.txt", ledger.DomainQuery{SlowestFirst: true, Robots: &no},
			func(i int) bool { return i%6 == 3 }},
		{"slowest of an error", ledger.DomainQuery{SlowestFirst: true, ErrorType: "network_error"},
			func(i int) bool { return i%6 == 1 }},
		{"of a date", ledger.DomainQuery{Filter: contract.Filter{Date: "2026-01-02"}},
			func(i int) bool { return i%3 == 1 }},
		{"failed of a date", ledger.DomainQuery{Filter: contract.Filter{Country: "sg", Date: "2026-01-02"},
			State: contract.Failed}, func(i int) bool { return i%3 == 1 && i%6 == 1 }},
		{"changed", ledger.DomainQuery{ChangedSince: at(30)}, func(i int) bool { return i >= 30 && i%6 > 2 }},
		{"failed, changed", ledger.DomainQuery{ChangedSince: at(30), State: contract.Failed},
			func(int) bool { return false }},
		{"none", ledger.DomainQuery{State: contract.Excluded}, func(int) bool { return false }},
		{"excluded by name", ledger.DomainQuery{State: contract.Excluded,
			Also: &ledger.Named{Names: []string{"d07.sg", "d30.sg", "other.sg"}}},
			func(i int) bool { return i == 7 || i == 30 }},
		{"excluded by end", ledger.DomainQuery{State: contract.Failed,
			Also: &ledger.Named{Names: []string{"d30.sg"}, Ends: []string{"9.sg", "longer-than-all.sg"}}},
			func(i int) bool { return i%6 == 1 || i%6 == 2 || i == 30 || i%10 == 9 }},
	} {
		var want []string
		for i := range 60 {
			if c.want(i) {
				want = append(want, fmt.Sprintf("d%02d.sg", i))
			}
		}
		for _, limit := range []int{1, 7, 60} {
			q := c.q
			q.Filter.Category, q.Limit = name, limit
			var got []string
			var durations []int64
			for page := 0; ; page++ {
				list, err := ledger.New(db).Domains(ctx, q)
				must(t, c.what, err)
				if len(list.Domains) > limit || page > 60 {
					t.Fatalf("%s: page %d has %d domains, want at most %d", c.what, page, len(list.Domains), limit)
				}
				for _, d := range list.Domains {
					got = append(got, d.Domain)
					if d.DurationMS != nil {
						durations = append(durations, *d.DurationMS)
					}
				}
				if list.Cursor == nil {
					break
				}
				q.Cursor = *list.Cursor
			}
			if q.SlowestFirst && !slices.IsSortedFunc(durations, func(a, b int64) int { return int(b - a) }) {
				t.Errorf("%s: durations %v", c.what, durations)
			}
			slices.Sort(got)
			expect(t, fmt.Sprint(c.what, ", pages of ", limit), got, want)
		}
	}
	_, err := ledger.New(db).Domains(ctx, ledger.DomainQuery{Limit: 1, Cursor: "not a cursor"})
	expect(t, "kind of a wrong cursor", contract.KindOf(err), contract.Validation)
}

// domainRevisions: the newest revision wins in any order of records; a rewrite by a refresh changes nothing else.
func domainRevisions(t T, db ledger.DB, name string) {
	p, domain := place(name, "2026-01-28"), strings.ReplaceAll(name, " ", "-")+"-r.sg"
	collected := outcome(5, true)
	collected.Revision, collected.ChangedAt = 3, at(6)
	changes := []ledger.DomainChange{
		{Partition: p, Domain: domain, Outcome: collected},
		{Partition: p, Domain: domain, Revision: 5, ChangedAt: at(9)},
		{Partition: p, Domain: domain, Revision: 4, ChangedAt: at(7)},
		{Partition: p, Domain: domain, Queued: at(8)},
	}
	for _, order := range [][]int{{0, 1, 2, 3}, {3, 2, 1, 0}, {1, 0, 3, 2, 1}} {
		query(t, db, `DELETE FROM domains WHERE partition IN (SELECT id FROM partitions WHERE category = ?1)`, name)
		for _, i := range order {
			record(t, db, ledger.Changes{Domains: changes[i : i+1]})
		}
		records, err := ledger.New(db).Domain(ctx, domain, contract.Filter{})
		must(t, "Domain", err)
		if len(records) != 1 || records[0].Revision == nil || *records[0].Revision != 5 ||
			!records[0].ChangedAt.Equal(at(9)) || records[0].State != contract.Processed {
			t.Errorf("%v: %+v", order, records)
		}
	}
}

func domainBarriers(t T, db ledger.DB, name string) {
	p := place(name, "2026-01-28")
	var changes ledger.Changes
	for i, domain := range []string{"clear.sg", "forbidden.sg", "refuses.sg", "nothing.sg", "forbidden-2.sg",
		"down.sg"} {
		changes.Domains = append(changes.Domains, ledger.DomainChange{Partition: p, Domain: domain,
			Outcome: outcome(i, domain != "down.sg")})
	}
	changes.Domains[4].Outcome.Barrier = contract.Forbidden
	changes.Domains[2].Outcome.ErrorMessage = "HTTP 403 to all 9 requests"
	changes.Domains[4].Outcome.ErrorMessage = "robots.txt could not be read: HTTP 500"
	changes.Domains = append(changes.Domains, ledger.DomainChange{Partition: p, Domain: "waits.sg", Queued: at(1)})
	earlier := outcome(0, true)
	earlier.Barrier = ""
	changes.Domains = append(changes.Domains, ledger.DomainChange{Partition: p, Domain: "earlier.sg", Outcome: earlier})
	record(t, db, changes)
	recount(t, db, name, "collected")
	expect(t, "counts", stats(t, db, name).Barred, contract.BarrierCounts{Forbidden: 2, Refuses: 1, Empty: 1})

	list := func(q ledger.DomainQuery) (names []string) {
		t.Helper()
		for q.Filter.Category, q.Limit = name, 1; ; {
			page, err := ledger.New(db).Domains(ctx, q)
			must(t, "Domains", err)
			for _, d := range page.Domains {
				names = append(names, d.Domain)
				if q.Barrier != "" && (d.Barrier == nil || *d.Barrier != q.Barrier ||
					*d.CrawlingAllowed != (q.Barrier != contract.Forbidden)) {
					t.Errorf("%s has the barrier %v, not %s", d.Domain, d.Barrier, q.Barrier)
				}
			}
			if page.Cursor == nil {
				return names
			}
			q.Cursor = *page.Cursor
		}
	}
	for barrier, want := range map[contract.Barrier][]string{contract.Forbidden: {"forbidden-2.sg", "forbidden.sg"},
		contract.Refuses: {"refuses.sg"}, contract.Empty: {"nothing.sg"}} {
		expect(t, string(barrier), list(ledger.DomainQuery{Barrier: barrier}), want)
		expect(t, "processed, "+string(barrier), list(ledger.DomainQuery{Barrier: barrier,
			State: contract.Processed}), want)
		expect(t, "of one partition, "+string(barrier), list(ledger.DomainQuery{Barrier: barrier,
			Filter: contract.Filter{Country: p.Country, Date: p.Date}}), want)
		for _, state := range []contract.DomainState{contract.Failed, contract.Pending, contract.Excluded} {
			expect(t, string(state+", "+contract.DomainState(barrier)),
				list(ledger.DomainQuery{Barrier: barrier, State: state}), []string(nil))
		}
		yes := true
		expect(t, "with robots.txt, "+string(barrier), list(ledger.DomainQuery{Barrier: barrier, Robots: &yes}), want)
		expect(t, "slowest first, "+string(barrier), len(list(ledger.DomainQuery{Barrier: barrier,
			SlowestFirst: true})), len(want))
	}
	for domain, want := range map[string]string{"clear.sg": "true", "forbidden.sg": "false", "down.sg": "null",
		"earlier.sg": "null", "waits.sg": "null"} {
		records, err := ledger.New(db).Domain(ctx, domain, contract.Filter{Category: name})
		must(t, "Domain", err)
		expect(t, domain+" may be crawled", string(contract.Encode(records[0].CrawlingAllowed)), want)
	}

	for domain, want := range map[string]string{"clear.sg": "null", "forbidden.sg": "null",
		"refuses.sg": `"HTTP 403 to all 9 requests"`, "forbidden-2.sg": `"robots.txt could not be read: HTTP 500"`,
		"down.sg": "null"} {
		records, err := ledger.New(db).Domain(ctx, domain, contract.Filter{Category: name})
		must(t, "Domain", err)
		expect(t, domain+" refuses with", string(contract.Encode(records[0].BarrierReason)), want)
	}

	// Queued again it keeps its barrier; a later collection replaces it.
	record(t, db, ledger.Changes{QueuedDomains: []ledger.Queued{{Partition: p, Names: []string{"refuses.sg"},
		At: at(20), RequiredSince: at(20)}}})
	expect(t, "queued again", list(ledger.DomainQuery{Barrier: contract.Refuses, State: contract.Pending}),
		[]string{"refuses.sg"})
	record(t, db, ledger.Changes{Domains: []ledger.DomainChange{{Partition: p, Domain: "refuses.sg",
		Outcome: outcome(24, true)}, {Partition: p, Domain: "nothing.sg", Outcome: outcome(24, false)}}})
	expect(t, "counts later", stats(t, db, name).Barred, contract.BarrierCounts{Forbidden: 2})
	// Others write one by one.
	query(t, db, `UPDATE domains SET barrier = 3 WHERE domain = 'clear.sg'
AND partition = (SELECT id FROM partitions WHERE category = ?1)`, name)
	query(t, db, `DELETE FROM domains WHERE domain = 'forbidden.sg'
AND partition = (SELECT id FROM partitions WHERE category = ?1)`, name)
	recount(t, db, name, "written by another")
	expect(t, "counts of others", stats(t, db, name).Barred, contract.BarrierCounts{Forbidden: 1, Empty: 1})
}

func domainRetries(t T, db ledger.DB, name string) {
	p := place(name, "2026-01-28")
	queue := contract.QueueName(contract.DomainQueue, "dev")
	failed := func(domain, file string, attempt, second int) ledger.Failure {
		return ledger.Failure{Work: ledger.Work{Queue: queue,
			Key: contract.DomainDir{Partition: p, Domain: domain}.URLList(file, 0)}, MessageID: name + file,
			Attempt: attempt, ErrorType: contract.Storage, ErrorMessage: fmt.Sprint("at ", second),
			FailedAt: at(second)}
	}
	record(t, db, ledger.Changes{
		QueuedDomains: []ledger.Queued{{Partition: p, At: at(1),
			Names: []string{"a.sg", "b.sg", "first.sg", "last.sg", "replayed.sg", "a.sg.sg"}}},
		Failures: []ledger.Failure{failed("a.sg", "raw_0001", 1, 2), failed("a.sg", "raw_0001", 2, 4),
			failed("a.sg", "raw_0002", 1, 3), failed("last.sg", "raw_0001", 4, 9),
			failed("replayed.sg", "raw_0001", 4, 9)},
	})
	record(t, db, ledger.Changes{Domains: []ledger.DomainChange{{Partition: p, Domain: "replayed.sg", Queued: at(10)},
		{Partition: p, Domain: "b.sg", Outcome: outcome(11, true)}}, Failures: []ledger.Failure{
		failed("b.sg", "raw_0001", 1, 12)}})
	page, err := ledger.New(db).Domains(ctx, ledger.DomainQuery{Filter: contract.Filter{Category: name}, Limit: 10})
	must(t, "Domains", err)
	must(t, "AddRetries", ledger.New(db).AddRetries(ctx, page.Domains, time.Minute))
	got := map[string]string{}
	for _, d := range page.Domains {
		got[d.Domain] = string(contract.Encode(d.Retry))
	}
	expect(t, "retries", got, map[string]string{
		"a.sg": string(contract.Encode(&contract.DomainRetry{Attempt: 2, Of: 4, ErrorType: contract.Storage,
			ErrorMessage: "at 4", FailedAt: *contract.At(at(4)), NextAt: contract.At(at(4).Add(2 * time.Minute))})),
		"last.sg": string(contract.Encode(&contract.DomainRetry{Attempt: 4, Of: 4, ErrorType: contract.Storage,
			ErrorMessage: "at 9", FailedAt: *contract.At(at(9))})),
		"a.sg.sg": "null", "first.sg": "null", "replayed.sg": "null", "b.sg": "null",
	})
}

func domainPartitions(t T, db ledger.DB, name string) {
	domain := strings.ReplaceAll(name, " ", "-") + ".sg"
	dates := []string{"2026-01-28", "2026-01-30", "2026-01-29"}
	for i, date := range dates {
		record(t, db, ledger.Changes{Domains: []ledger.DomainChange{{Partition: place(name, date), Domain: domain,
			Outcome: outcome(i+1, true)}}})
	}
	records, err := ledger.New(db).Domain(ctx, domain, contract.Filter{})
	must(t, "Domain", err)
	var got []string
	for _, r := range records {
		got = append(got, r.Partition.Date)
	}
	expect(t, "partitions", got, []string{"2026-01-30", "2026-01-29", "2026-01-28"})
	records, err = ledger.New(db).Domain(ctx, domain, contract.Filter{Date: "2026-01-29"})
	must(t, "Domain", err)
	if len(records) != 1 || *records[0].DurationMS != 3 || !*records[0].Robots ||
		records[0].CollectedAt.Unix() != at(3).Unix() {
		t.Errorf("record: %+v", records)
	}
	records, err = ledger.New(db).Domain(ctx, "none-"+domain, contract.Filter{})
	must(t, "Domain", err)
	expect(t, "records of an unknown domain", len(records), 0)
}

// counted: a batch counts each of its domains once, however often it names it. Without changes the partition's time
// stays. Triggers count other writes.
func counted(t T, db ledger.DB, name string) {
	p, other := place(name, "2026-01-28"), place(name, "2026-01-29")
	collected := func(p contract.Partition, domain string, second int) ledger.DomainChange {
		return ledger.DomainChange{Partition: p, Domain: domain, Queued: at(second), Outcome: outcome(second, true)}
	}
	c := ledger.Changes{
		QueuedDomains: []ledger.Queued{{Partition: p, Names: []string{"a.sg", "b.sg", "a.sg"}, At: at(0)},
			{Partition: p, Names: []string{"a.sg"}, At: at(1)}},
		Domains: []ledger.DomainChange{collected(p, "a.sg", 2), collected(p, "a.sg", 2),
			collected(other, "a.sg", 3), {Partition: p, Domain: "c.sg", GaveUp: at(4)}},
	}
	trend := func(what string, want ...int64) {
		t.Helper()
		s := status(t, db, ledger.StatusQuery{Filter: contract.Filter{Category: name}, Now: at(10), TrendHours: 1})
		got := []int64{s.Processing.DomainsPending, s.Processing.DomainsProcessed, s.Processing.DomainsFailed,
			s.Trend[0].DomainsProcessed, s.Trend[0].DomainsFailed}
		expect(t, what, got, want)
		recount(t, db, name, what)
	}
	record(t, db, c)
	trend("recorded", 1, 2, 1, 2, 1)

	query(t, db, `UPDATE partitions SET updated_at = 1 WHERE category = ?1`, name)
	record(t, db, c)
	trend("recorded again", 1, 2, 1, 2, 1)
	expect(t, "changed", query(t, db, `SELECT DISTINCT updated_at, counting FROM partitions WHERE category = ?1`,
		name), []map[string]any{{"updated_at": 1.0, "counting": nil}})
	record(t, db, ledger.Changes{Domains: []ledger.DomainChange{collected(p, "b.sg", 5)}})
	trend("one more", 0, 3, 1, 3, 1)
	expect(t, "changed", query(t, db, `SELECT count(*) AS n FROM partitions WHERE category = ?1 AND updated_at > 1`,
		name), []map[string]any{{"n": 1.0}})

	query(t, db, `UPDATE domains SET gave_up_at = ?2, queued_at = ?2, needed_at = ?2 WHERE domain = 'b.sg'
AND partition = (SELECT id FROM partitions WHERE category = ?1 AND date = '2026-01-28')`, name, at(6).UnixMilli())
	trend("written by another", 0, 2, 2, 3, 2)
}

// domainHours: whatever order collections are recorded in, and however often, each counts once in its hour.
func domainHours(t T, db ledger.DB, name string) {
	random := rand.New(rand.NewPCG(3, 4))
	for run := range 4 {
		category := fmt.Sprint(name, run)
		var list []ledger.DomainChange
		var want [6]int64 // two numbers an hour
		for i := range 40 {
			hour := i * 3 / 40
			o := outcome(hour*3600+i, i%4 > 0)
			o.Duration = time.Duration(1+hour) * time.Second
			if want[2*hour+1]++; o.Reachable {
				want[2*hour], want[2*hour+1] = want[2*hour]+1, want[2*hour+1]-1
			}
			list = append(list, ledger.DomainChange{Partition: place(category, fmt.Sprint("2026-01-2", i%2)),
				Domain: fmt.Sprintf("d%02d.sg", i), Outcome: o})
		}
		if run > 0 {
			list = append(list, list[:10]...)
			random.Shuffle(len(list), func(i, j int) { list[i], list[j] = list[j], list[i] })
		}
		for batch := range slices.Chunk(list, 1+3*run) {
			record(t, db, ledger.Changes{Domains: batch})
		}
		s := status(t, db, ledger.StatusQuery{Filter: contract.Filter{Category: category}, Now: at(2 * 3600),
			TrendHours: 3})
		var got [6]int64
		for i, h := range s.Trend {
			got[2*i], got[2*i+1] = h.DomainsProcessed, h.DomainsFailed
			expect(t, "average", h.AvgProcessingMS, int64(1000*(1+i)))
		}
		expect(t, fmt.Sprint("trend of run ", run), got, want)
		recount(t, db, category, fmt.Sprint("run ", run))
	}
}
