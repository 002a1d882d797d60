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

func init() {
	Cases = append(Cases,
		Case{"a file from its upload to its checkpoint", fileLife},
		Case{"files in flight", filesInFlight},
		Case{"a domain's states", domainStates},
		Case{"records in any order end alike", anyOrder},
		Case{"more domains than a parameter holds", manyDomains},
		Case{"pages of domains", domainPages},
		Case{"one domain in several partitions", domainPlaces},
		Case{"numbers of partitions, hours and errors", numbers},
		Case{"letters are listed, chosen and resolved", letterBook},
		Case{"the history of a dead letter", letterHistory},
		Case{"reconcile adds, puts right and takes out", reconcile},
	)
}

// place is the partition of a case: its category is the case's name, which nothing else uses.
func place(name, date string) contract.Partition {
	return contract.Partition{Country: "sg", Category: name, Date: date}
}

func at(seconds int) time.Time { return noon.Add(time.Duration(seconds) * time.Second) }

func record(t T, db ledger.DB, c ledger.Changes) {
	t.Helper()
	must(t, "Record", ledger.New(db).Record(ctx, c))
}

func status(t T, db ledger.DB, q ledger.StatusQuery) *ledger.Status {
	t.Helper()
	s, err := ledger.New(db).Status(ctx, q)
	must(t, "Status", err)
	return s
}

func stats(t T, db ledger.DB, name string) contract.Stats {
	t.Helper()
	return status(t, db, ledger.StatusQuery{Filter: contract.Filter{Category: name}, Now: noon}).Stats
}

func fileLife(t T, db ledger.DB, name string) {
	p := place(name, "2026-01-28")
	file := contract.RawFile{Partition: p, Name: "raw_0001"}
	for _, step := range []struct {
		what                       string
		changes                    ledger.Changes
		processed, failed, pending int64
	}{
		{"uploaded", ledger.Changes{Files: []ledger.FileChange{{RawFile: file}}}, 0, 0, 1},
		{"queued", ledger.Changes{QueuedFiles: []ledger.Queued{{Partition: p, Names: []string{"raw_0001"}, At: at(10)}}}, 0, 0, 1},
		{"given up", ledger.Changes{Files: []ledger.FileChange{{RawFile: file, GaveUp: at(20), ErrorType: contract.Parse, ErrorMessage: "x"}}}, 0, 1, 0},
		{"given up, delivered twice", ledger.Changes{Files: []ledger.FileChange{{RawFile: file, GaveUp: at(20), ErrorType: contract.Parse}}}, 0, 1, 0},
		{"replayed", ledger.Changes{Files: []ledger.FileChange{{RawFile: file, Queued: at(30)}}}, 0, 0, 1},
		{"processed", ledger.Changes{Files: []ledger.FileChange{{RawFile: file, Processed: at(40), Duration: time.Second}}}, 1, 0, 0},
		{"found processed", ledger.Changes{FoundFiles: []ledger.FileChange{{RawFile: file, Processed: at(50)}}}, 1, 0, 0},
		{"another message of it given up", ledger.Changes{Files: []ledger.FileChange{{RawFile: file, GaveUp: at(60)}}}, 1, 0, 0},
		{"sent once more", ledger.Changes{QueuedFiles: []ledger.Queued{{Partition: p, Names: []string{"raw_0001"}, At: at(70)}}}, 1, 0, 0},
		{"forced", ledger.Changes{QueuedFiles: []ledger.Queued{{Partition: p, Names: []string{"raw_0001"}, At: at(80), Needed: at(80)}}}, 0, 0, 1},
		{"an old message processed it", ledger.Changes{Files: []ledger.FileChange{{RawFile: file, Processed: at(79)}}}, 0, 0, 1},
		{"processed again", ledger.Changes{Files: []ledger.FileChange{{RawFile: file, Processed: at(90), Met: at(80), Duration: 3 * time.Second}}}, 1, 0, 0},
	} {
		record(t, db, step.changes)
		s := stats(t, db, name).Processing
		if s.FilesProcessed != step.processed || s.FilesFailed != step.failed || s.FilesPending != step.pending || s.FilesTotal != 1 {
			t.Errorf("%s: %+v", step.what, s)
		}
	}
	s := status(t, db, ledger.StatusQuery{Filter: contract.Filter{Category: name}, Now: noon, TrendHours: 1})
	expect(t, "files whose duration is known", s.FilesTimed, int64(1))
	expect(t, "average of a file", s.AvgFileMS, int64(3000))
	expect(t, "files finished in the hour", []int64{s.Trend[0].FilesProcessed, s.Trend[0].FilesFailed}, []int64{3, 1})
}

func filesInFlight(t T, db ledger.DB, name string) {
	l := ledger.New(db)
	p, other := place(name, "2026-01-28"), place(name, "2026-01-29")
	file := func(p contract.Partition, n int) contract.RawFile {
		return contract.RawFile{Partition: p, Name: fmt.Sprintf("raw_%04d", n)}
	}
	must(t, "Queued", l.Queued(ctx, []contract.RawFile{file(p, 1), file(p, 2), file(p, 3), file(p, 4)}, at(0), time.Time{}))
	must(t, "Queued", l.Queued(ctx, []contract.RawFile{file(p, 5), file(other, 1)}, at(60), time.Time{}))
	must(t, "Queued", l.Queued(ctx, []contract.RawFile{file(other, 2)}, at(70), at(65)))
	record(t, db, ledger.Changes{Files: []ledger.FileChange{
		{RawFile: file(p, 2), Processed: at(5)}, {RawFile: file(p, 3), GaveUp: at(5)}, {RawFile: file(p, 6)},
	}})
	asked := []contract.RawFile{file(other, 1), file(other, 2), file(other, 9)}
	for n := 1; n <= 7; n++ {
		asked = append(asked, file(p, n))
	}
	for _, c := range []struct {
		since  int
		needed time.Time
		want   []contract.RawFile
	}{
		{-1, time.Time{}, []contract.RawFile{file(p, 1), file(p, 4), file(p, 5), file(other, 1), file(other, 2)}},
		{0, time.Time{}, []contract.RawFile{file(p, 5), file(other, 1), file(other, 2)}},
		{60, time.Time{}, []contract.RawFile{file(other, 2)}},
		{70, time.Time{}, nil},
		{-1, at(65), []contract.RawFile{file(other, 2)}},
		{-1, at(66), nil},
	} {
		got, err := l.InFlight(ctx, asked, at(c.since), c.needed)
		must(t, "InFlight", err)
		want := map[contract.RawFile]bool{}
		for _, f := range c.want {
			want[f] = true
		}
		expect(t, fmt.Sprint("in flight since ", c.since), got, want)
	}
}

func outcome(seconds int, reachable bool) *contract.Outcome {
	o := &contract.Outcome{CollectedAt: at(seconds).Truncate(time.Second), Reachable: reachable, Robots: reachable, Sitemap: reachable && seconds%2 == 0, Duration: time.Duration(seconds) * time.Millisecond}
	if !reachable {
		o.ErrorType, o.ErrorMessage = "network_error", fmt.Sprint("refused at ", seconds)
	}
	return o
}

func domainStates(t T, db ledger.DB, name string) {
	p := place(name, "2026-01-28")
	queued := func(seconds int, forced bool) ledger.Changes {
		q := ledger.Queued{Partition: p, Names: []string{"a.sg"}, At: at(seconds)}
		if forced {
			q.Needed = q.At
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
		{"a first attempt failed", []ledger.Changes{queued(1, false), news(ledger.DomainChange{Queued: at(1)})}, contract.Pending},
		{"collected", []ledger.Changes{queued(1, false), news(ledger.DomainChange{Outcome: outcome(2, true)})}, contract.Processed},
		{"collected before the record that it was queued", []ledger.Changes{news(ledger.DomainChange{Outcome: outcome(2, true)}), queued(1, false)}, contract.Processed},
		{"unreachable", []ledger.Changes{queued(1, false), news(ledger.DomainChange{Outcome: outcome(2, false)})}, contract.Failed},
		{"given up", []ledger.Changes{queued(1, false), news(ledger.DomainChange{GaveUp: at(2), ErrorType: contract.Storage})}, contract.Failed},
		{"given up and replayed", []ledger.Changes{queued(1, false), news(ledger.DomainChange{GaveUp: at(2)}), news(ledger.DomainChange{Queued: at(3)})}, contract.Pending},
		{"one message given up, the other collected", []ledger.Changes{queued(1, false), news(ledger.DomainChange{GaveUp: at(2)}), news(ledger.DomainChange{Outcome: outcome(3, true)})}, contract.Processed},
		{"collected, then a merge given up", []ledger.Changes{queued(1, false), news(ledger.DomainChange{Outcome: outcome(2, true)}), news(ledger.DomainChange{GaveUp: at(4)})}, contract.Processed},
		{"excluded", []ledger.Changes{queued(1, false), news(ledger.DomainChange{Excluded: at(2)})}, contract.Excluded},
		{"excluded, then queued anew", []ledger.Changes{queued(1, false), news(ledger.DomainChange{Excluded: at(2)}), queued(3, true)}, contract.Pending},
		{"collected, then excluded", []ledger.Changes{queued(1, false), news(ledger.DomainChange{Outcome: outcome(2, true)}), news(ledger.DomainChange{Excluded: at(3)})}, contract.Processed},
		{"forced", []ledger.Changes{news(ledger.DomainChange{Outcome: outcome(2, true)}), queued(3, true)}, contract.Pending},
		{"forced and given up", []ledger.Changes{news(ledger.DomainChange{Outcome: outcome(2, true)}), queued(3, true), news(ledger.DomainChange{GaveUp: at(4)})}, contract.Failed},
		{"forced and excluded", []ledger.Changes{news(ledger.DomainChange{Outcome: outcome(2, true)}), queued(3, true), news(ledger.DomainChange{Excluded: at(4)})}, contract.Excluded},
		{"forced and collected again", []ledger.Changes{news(ledger.DomainChange{Outcome: outcome(2, true)}), queued(3, true), news(ledger.DomainChange{Outcome: outcome(4, true), Met: at(3)})}, contract.Processed},
		{"forced by a second file, collected once", []ledger.Changes{queued(3, true), news(ledger.DomainChange{Outcome: outcome(4, true)}), queued(3, true)}, contract.Processed},
		// The collector counts a collection that ended after the request as its answer, though it began before.
		{"forced while it was being collected", []ledger.Changes{queued(1, false), queued(3, true), news(ledger.DomainChange{Outcome: outcome(2, true), Needed: at(3), Met: at(3)})}, contract.Processed},
		{"reachable again", []ledger.Changes{news(ledger.DomainChange{Outcome: outcome(2, false)}), queued(3, true), news(ledger.DomainChange{Outcome: outcome(4, true), Met: at(3)})}, contract.Processed},
	} {
		query(t, db, `DELETE FROM domains WHERE partition IN (SELECT id FROM partitions WHERE category = ?1)`, name)
		for range 2 { // as if everything were delivered twice
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

// recount compares the numbers that triggers keep with the rows themselves.
func recount(t T, db ledger.DB, name, what string) {
	t.Helper()
	const rows = ` FROM partitions AS p WHERE p.category = ?1 ORDER BY p.date`
	counts := func(table, state string) string {
		return `(SELECT count(*) FROM ` + table + ` AS x WHERE x.partition = p.id AND x.state = '` + state + `')`
	}
	kept := query(t, db, `SELECT files_processed, files_failed, files_pending, files_timed, files_duration_ms,
  domains_processed, domains_failed, domains_pending, domains_excluded, robots_found, sitemaps_found, domains_duration_ms`+rows, name)
	counted := query(t, db, `SELECT `+counts("files", "processed")+` AS files_processed, `+counts("files", "failed")+` AS files_failed, `+counts("files", "pending")+` AS files_pending,
  (SELECT count(duration_ms) FROM files AS f WHERE f.partition = p.id AND f.state = 'processed') AS files_timed,
  (SELECT ifnull(sum(duration_ms), 0) FROM files AS f WHERE f.partition = p.id AND f.state = 'processed') AS files_duration_ms,
  `+counts("domains", "processed")+` AS domains_processed, `+counts("domains", "failed")+` AS domains_failed, `+counts("domains", "pending")+` AS domains_pending, `+counts("domains", "excluded")+` AS domains_excluded,
  (SELECT ifnull(sum(robots), 0) FROM domains AS d WHERE d.partition = p.id AND d.state = 'processed') AS robots_found,
  (SELECT ifnull(sum(sitemap), 0) FROM domains AS d WHERE d.partition = p.id AND d.state = 'processed') AS sitemaps_found,
  (SELECT ifnull(sum(duration_ms), 0) FROM domains AS d WHERE d.partition = p.id AND d.state = 'processed') AS domains_duration_ms`+rows, name)
	expect(t, what+": the numbers of the partitions", kept, counted)

	const here = ` WHERE partition IN (SELECT id FROM partitions WHERE category = ?1)`
	errors := query(t, db, `SELECT partition, error_type, files, domains FROM error_counts`+here+` AND (files, domains) <> (0, 0) ORDER BY partition, error_type`, name)
	failed := query(t, db, `SELECT partition, error_type, sum(files) AS files, sum(domains) AS domains FROM (
  SELECT partition, ifnull(error_type, '') AS error_type, 1 AS files, 0 AS domains FROM files`+here+` AND state = 'failed'
  UNION ALL SELECT partition, ifnull(error_type, ''), 0, 1 FROM domains`+here+` AND state = 'failed') GROUP BY partition, error_type ORDER BY partition, error_type`, name)
	expect(t, what+": failures by error", errors, failed)
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
			q.Needed = q.At
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
			q.Needed = q.At
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
		return append(
			query(t, db, `SELECT * FROM files WHERE partition IN (SELECT id FROM partitions WHERE category = ?1) ORDER BY name`, name),
			query(t, db, `SELECT * FROM domains WHERE partition IN (SELECT id FROM partitions WHERE category = ?1) ORDER BY domain`, name)...)
	}
	var first []map[string]any
	for run := range 6 {
		for _, table := range []string{"files", "domains"} {
			query(t, db, `DELETE FROM `+table+` WHERE partition IN (SELECT id FROM partitions WHERE category = ?1)`, name)
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
		changes = append(changes, d)
	}
	record(t, db, ledger.Changes{Domains: changes})
	yes, no := true, false
	slower := int64(3)
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
		{"without a sitemap, with robots.txt", ledger.DomainQuery{Sitemap: &no, Robots: &yes}, func(i int) bool { return i%6 == 4 }},
		{"slow", ledger.DomainQuery{SlowerThanMS: &slower}, func(i int) bool { return i%6 > 2 && 1+i/10 > 3 }},
		{"slowest first", ledger.DomainQuery{SlowestFirst: true}, func(i int) bool { return i%6 > 2 }},
		{"of a date", ledger.DomainQuery{Filter: contract.Filter{Date: "2026-01-02"}}, func(i int) bool { return i%3 == 1 }},
		{"failed of a date", ledger.DomainQuery{Filter: contract.Filter{Country: "sg", Date: "2026-01-02"}, State: contract.Failed}, func(i int) bool { return i%3 == 1 && i%6 == 1 }},
		{"none", ledger.DomainQuery{State: contract.Excluded}, func(int) bool { return false }},
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

func domainPlaces(t T, db ledger.DB, name string) {
	domain := strings.ReplaceAll(name, " ", "-") + ".sg"
	dates := []string{"2026-01-28", "2026-01-30", "2026-01-29"}
	for i, date := range dates {
		record(t, db, ledger.Changes{Domains: []ledger.DomainChange{{Partition: place(name, date), Domain: domain, Outcome: outcome(i+1, true)}}})
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
	if len(records) != 1 || *records[0].DurationMS != 3 || !*records[0].Robots || records[0].CollectedAt.Unix() != at(3).Unix() {
		t.Errorf("record: %+v", records)
	}
	records, err = ledger.New(db).Domain(ctx, "none-"+domain, contract.Filter{})
	must(t, "Domain", err)
	expect(t, "records of an unknown domain", len(records), 0)
}

func numbers(t T, db ledger.DB, name string) {
	for i, date := range []string{"2026-01-28", "2026-01-29"} {
		p := place(name, date)
		c := ledger.Changes{Files: []ledger.FileChange{
			{RawFile: contract.RawFile{Partition: p, Name: "raw_0001"}, Processed: at(0), Duration: 2 * time.Second},
			{RawFile: contract.RawFile{Partition: p, Name: "raw_0002"}, GaveUp: at(0), ErrorType: contract.Parse},
		}}
		for n := range 3 + i {
			c.Domains = append(c.Domains, ledger.DomainChange{Partition: p, Domain: fmt.Sprintf("d%d.sg", n), Outcome: outcome(2*n+3600*i, n != 0)})
		}
		record(t, db, c)
	}
	filter := contract.Filter{Category: name}
	s := status(t, db, ledger.StatusQuery{Filter: filter, Now: at(3600), ByPartition: true, ByError: true, TrendHours: 3})
	expect(t, "processing", s.Processing, contract.ProcessingStats{FilesTotal: 4, FilesProcessed: 2, FilesFailed: 2, DomainsTotal: 7, DomainsProcessed: 5, DomainsFailed: 2})
	expect(t, "collection", s.Collection, contract.CollectionStats{RobotsFound: 5, RobotsRate: 0.71, SitemapFound: 5, SitemapRate: 0.71, AvgProcessingMS: 2164})
	var dates []string
	for _, p := range s.Partitions {
		dates = append(dates, p.Partition.Date)
	}
	expect(t, "partitions", dates, []string{"2026-01-29", "2026-01-28"})
	expect(t, "domains of the second", s.Partitions[0].Processing.DomainsTotal, int64(4))
	expect(t, "errors", s.Errors, []contract.ErrorCount{{ErrorType: "network_error", Domains: 2}, {ErrorType: "parse_error", Files: 2}})
	var trend []int64
	for _, h := range s.Trend {
		trend = append(trend, h.DomainsProcessed, h.DomainsFailed, h.AvgProcessingMS)
	}
	expect(t, "trend", trend, []int64{0, 0, 0, 2, 1, 3, 3, 1, 3604})
	filter.Date = "2026-01-28"
	expect(t, "domains of a date", status(t, db, ledger.StatusQuery{Filter: filter, Now: noon}).Processing.DomainsTotal, int64(3))
	filter.Country = "kr"
	expect(t, "stats of nothing", status(t, db, ledger.StatusQuery{Filter: filter, Now: noon}).Stats, contract.Stats{})
}

func letterBook(t T, db ledger.DB, name string) {
	l := ledger.New(db)
	var c ledger.Changes
	for i := range 9 {
		d := letter(name, fmt.Sprint(i))
		d.FailedAt = at(i / 2)
		d.Partition, d.Domain = place(name, "2026-01-28"), fmt.Sprintf("d%d.sg", i%3)
		if i%2 == 1 {
			d.QueueName = "newsfork-domain-dev"
		}
		c.DeadLetters = append(c.DeadLetters, d)
	}
	record(t, db, c)
	list := func(q ledger.LetterQuery) (ids []string) {
		t.Helper()
		q.Filter.Category = name
		for {
			page, err := l.DeadLetters(ctx, q)
			must(t, "DeadLetters", err)
			for _, d := range page.DeadLetters {
				ids = append(ids, strings.TrimPrefix(d.ID, name))
			}
			if page.Cursor == nil {
				return ids
			}
			q.Cursor = *page.Cursor
		}
	}
	for _, limit := range []int{2, 50} {
		expect(t, "all", list(ledger.LetterQuery{Limit: limit}), []string{"8", "7", "6", "5", "4", "3", "2", "1", "0"})
		expect(t, "of a queue", list(ledger.LetterQuery{Limit: limit, Filter: contract.DeadLetterFilter{Queue: "domain"}}), []string{"7", "5", "3", "1"})
		expect(t, "of a domain", list(ledger.LetterQuery{Limit: limit, Filter: contract.DeadLetterFilter{Domain: "d0.sg"}}), []string{"6", "3", "0"})
	}
	choose := func(choice contract.DeadLetterChoice) (ids []string) {
		t.Helper()
		letters, err := l.ChooseDeadLetters(ctx, choice)
		must(t, "ChooseDeadLetters", err)
		for _, d := range letters {
			ids = append(ids, strings.TrimPrefix(d.ID, name))
		}
		return ids
	}
	inCase := contract.DeadLetterChoice{Filter: &contract.DeadLetterFilter{Category: name}}
	expect(t, "chosen", choose(inCase), []string{"0", "1", "2", "3", "4", "5", "6", "7", "8"})
	remaining, err := l.Resolve(ctx, inCase, ledger.Resolution{IDs: []string{name + "1", name + "2"}, State: contract.Replayed, By: "API_TOKEN", At: at(100),
		Work: ledger.Changes{Domains: []ledger.DomainChange{{Partition: place(name, "2026-01-28"), Domain: "d1.sg", Queued: at(100)}}}})
	must(t, "Resolve", err)
	expect(t, "remaining", remaining, int64(7))
	expect(t, "pending after a replay", stats(t, db, name).Processing.DomainsPending, int64(1))
	_, err = l.Resolve(ctx, inCase, ledger.Resolution{IDs: []string{name + "2", name + "3"}, State: contract.Discarded, By: "READ", At: at(200)})
	must(t, "Resolve", err)
	expect(t, "stored", choose(inCase), []string{"0", "4", "5", "6", "7", "8"})
	expect(t, "chosen by ids", choose(contract.DeadLetterChoice{IDs: []string{name + "4", name + "1", name + "none"}}), []string{"1", "4"})
	expect(t, "replayed", list(ledger.LetterQuery{Limit: 9, State: contract.Replayed}), []string{"2", "1"})
	expect(t, "discarded", list(ledger.LetterQuery{Limit: 9, State: contract.Discarded}), []string{"3"})
	d, err := l.DeadLetter(ctx, name+"2")
	must(t, "DeadLetter", err)
	if d == nil || d.State != contract.Replayed || *d.ResolvedBy != "API_TOKEN" || d.ResolvedAt.Unix() != at(100).Unix() {
		t.Errorf("a letter that was replayed, then discarded: %+v", d)
	}
}

func letterHistory(t T, db ledger.DB, name string) {
	l := ledger.New(db)
	work := func(id string, seconds int) ledger.DeadLetter {
		d := letter(name, id)
		d.WorkKey, d.QueueName, d.FailedAt = name+"work", "newsfork-seed-"+name, at(seconds)
		return d
	}
	other := letter(name, "other")
	failed := failure(ledger.Work{Queue: "newsfork-seed-" + name, Key: name + "work"}, "again", 2)
	record(t, db, ledger.Changes{DeadLetters: []ledger.DeadLetter{work("first", 1), other}})
	_, err := l.Resolve(ctx, contract.DeadLetterChoice{IDs: []string{name + "first"}}, ledger.Resolution{IDs: []string{name + "first"}, State: contract.Replayed, By: "API_TOKEN", At: at(5)})
	must(t, "Resolve", err)
	record(t, db, ledger.Changes{Failures: []ledger.Failure{failed}, DeadLetters: []ledger.DeadLetter{work("again", 10)}})
	d, err := l.DeadLetter(ctx, name+"again")
	must(t, "DeadLetter", err)
	if d == nil || len(d.History) != 1 || d.History[0].ID != name+"first" || d.History[0].State != contract.Replayed || *d.History[0].ResolvedBy != "API_TOKEN" {
		t.Errorf("history: %+v", d)
	}
	if d == nil || len(d.Attempts) != 1 || d.Attempts[0].Attempt != 2 || d.Attempts[0].ErrorMessage != failed.ErrorMessage || d.Attempts[0].DurationMS != 3000 {
		t.Errorf("attempts: %+v", d)
	}
	d, err = l.DeadLetter(ctx, name+"none")
	must(t, "DeadLetter", err)
	expect(t, "an unknown letter", d == nil, true)
}

func reconcile(t T, db ledger.DB, name string) {
	p := place(name, "2026-01-28")
	file := func(n int) contract.RawFile {
		return contract.RawFile{Partition: p, Name: fmt.Sprintf("raw_%04d", n)}
	}
	record(t, db, ledger.Changes{
		Files: []ledger.FileChange{
			{RawFile: file(1), Processed: at(1)}, {RawFile: file(2), Processed: at(1)}, {RawFile: file(3), Processed: at(1)},
			{RawFile: file(4), Queued: at(1)}, {RawFile: file(8), Queued: at(1)}, {RawFile: file(9), Processed: at(60)},
		},
		Domains: []ledger.DomainChange{
			{Partition: p, Domain: "example.com", Outcome: outcome(1, true)}, {Partition: p, Domain: "example.com.au", Outcome: outcome(1, true)},
			{Partition: p, Domain: "gone.sg", Outcome: outcome(1, true)}, {Partition: p, Domain: "pending.sg", Queued: at(1)},
			{Partition: p, Domain: "young.sg", Outcome: outcome(60, true)}, {Partition: p, Domain: "zz.sg", Outcome: outcome(1, true)},
		},
	})
	// The listing shows files 1 and 5 with a checkpoint, 2 and 4 without, up to 8; of the domains all
	// up to young.sg but gone.sg.
	found := ledger.Found{
		Partition: p, Started: at(30), Files: ledger.Range{UpTo: "raw_0008"}, Domains: ledger.Range{UpTo: "young.sg"},
		Changes: ledger.Changes{
			FoundFiles: []ledger.FileChange{{RawFile: file(1), Processed: at(2), Met: at(2)}, {RawFile: file(5), Processed: at(2), Met: at(2)}},
			Files:      []ledger.FileChange{{RawFile: file(2)}, {RawFile: file(4)}},
			Domains: []ledger.DomainChange{
				{Partition: p, Domain: "example.com", Outcome: outcome(1, true)}, {Partition: p, Domain: "example.com.au", Outcome: outcome(9, false)}, {Partition: p, Domain: "new.sg", Outcome: outcome(2, true)},
			},
		},
	}
	for range 2 {
		must(t, "Reconcile", ledger.New(db).Reconcile(ctx, found))
		states := map[string]any{}
		for _, row := range query(t, db, `SELECT name, state FROM files JOIN partitions ON id = partition WHERE category = ?1
UNION ALL SELECT domain, state FROM domains JOIN partitions ON id = partition WHERE category = ?1`, name) {
			states[row["name"].(string)] = row["state"]
		}
		expect(t, "states", states, map[string]any{
			"raw_0001": "processed", "raw_0002": "pending", "raw_0004": "pending", "raw_0005": "processed", "raw_0009": "processed",
			"example.com": "processed", "example.com.au": "failed", "new.sg": "processed", "pending.sg": "pending", "young.sg": "processed", "zz.sg": "processed",
		})
		recount(t, db, name, "after reconcile")
	}
	rows := query(t, db, `SELECT processed_at FROM files JOIN partitions ON id = partition WHERE category = ?1 AND name = 'raw_0001'`, name)
	expect(t, "a time that was known", rows, []map[string]any{{"processed_at": float64(at(1).UnixMilli())}})
}
