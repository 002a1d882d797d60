package ledger_test

import (
	"context"
	"encoding/json"
	"fmt"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/newsfork/seed-engine/contract"
	"github.com/newsfork/seed-engine/ledger"
	"github.com/newsfork/seed-engine/ledger/sqlite"
)

var (
	noon  = time.Date(2026, 1, 28, 12, 0, 0, 0, time.UTC)
	place = contract.Partition{Country: "sg", Category: "news", Date: "2026-01-28"}
)

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func rows(t *testing.T, db ledger.DB, sql string, args ...any) []map[string]any {
	t.Helper()
	results, err := db.Batch(ctx, []ledger.Statement{{SQL: sql, Args: args}})
	must(t, err)
	var list []map[string]any
	must(t, json.Unmarshal(results[0].Rows, &list))
	return list
}

// finish records domains that were collected at a time: good ones and unreachable ones.
func finish(t *testing.T, l *ledger.Ledger, at time.Time, good, bad int, duration time.Duration) {
	t.Helper()
	var c ledger.Changes
	for i := range good + bad {
		o := &contract.Outcome{CollectedAt: at, Reachable: i < good, Duration: duration}
		c.Domains = append(c.Domains, ledger.DomainChange{Partition: place, Domain: fmt.Sprintf("d%d-%d.sg", at.Unix(), i), Outcome: o})
	}
	must(t, l.Record(ctx, c))
}

// update is a change of an alarm to state, with a notice.
func update(name, state, id string, at time.Time) []ledger.AlarmUpdate {
	return []ledger.AlarmUpdate{{Name: name, State: state, Notice: &ledger.AlarmNotice{ID: id, Body: `{"id":"` + id + `"}`, At: at.UnixMilli()}}}
}

func TestAlarmReading(t *testing.T) {
	l := ledger.New(open(t))
	finish(t, l, noon.Add(-59*time.Minute), 2, 1, 3*time.Second)
	finish(t, l, noon.Add(-60*time.Minute), 4, 0, time.Second)
	finish(t, l, noon, 1, 0, time.Second)
	must(t, l.Record(ctx, ledger.Changes{DeadLetters: []ledger.DeadLetter{{MessageID: "1", DeadLetterContext: contract.DeadLetterContext{QueueName: "q"}}}}))
	must(t, l.SaveAlarms(ctx, noon, update("domain_failures", "firing", "a", noon), true))
	must(t, l.SaveAlarms(ctx, noon.Add(time.Minute), update("domain_failures", "firing", "b", noon), true))
	want := ledger.AlarmReading{
		Windows: map[int]ledger.Window{
			1:  {DomainsProcessed: 1, DurationMS: 1000},
			60: {DomainsProcessed: 3, DomainsFailed: 1, DurationMS: 7000},
			61: {DomainsProcessed: 7, DomainsFailed: 1, DurationMS: 11000},
		},
		DeadLetters: contract.DeadLetterCounts{Stored: 1},
		SavedAlarms: []ledger.SavedAlarm{{Name: "domain_failures", State: "firing", Since: noon}},
	}
	reading, err := l.Alarms(ctx, noon, []int{60, 1, 61})
	must(t, err)
	if !reflect.DeepEqual(reading, want) {
		t.Errorf("%+v, want %+v", reading, want)
	}
	s, err := l.Status(ctx, ledger.StatusQuery{Now: noon, Windows: []int{60, 1, 61}})
	must(t, err)
	if !reflect.DeepEqual(s.AlarmReading, want) {
		t.Errorf("in a status: %+v, want %+v", s.AlarmReading, want)
	}
	reading, err = l.Alarms(ctx, noon.Add(24*time.Hour), []int{5})
	must(t, err)
	if got := reading.Windows; !reflect.DeepEqual(got, map[int]ledger.Window{5: {}}) {
		t.Errorf("a window in which nothing was finished: %+v", got)
	}

	db := &recorder{DB: open(t)}
	_, err = ledger.New(db).Alarms(ctx, noon, []int{60})
	must(t, err)
	plan := fmt.Sprint(rows(t, db.DB, "EXPLAIN QUERY PLAN "+db.statements[0].SQL, db.statements[0].Args...))
	if !strings.Contains(plan, "SEARCH m USING INTEGER PRIMARY KEY (rowid>?)") {
		t.Errorf("the minutes are read whole: %s", plan)
	}
}

func TestAlarmChangesArePostedOnce(t *testing.T) {
	l := ledger.New(open(t))
	// Two crons that see the change at once write it once.
	var wg sync.WaitGroup
	for i := range 5 {
		wg.Go(func() {
			if err := l.SaveAlarms(ctx, noon, update("domain_failures", "firing", fmt.Sprint(i), noon), true); err != nil {
				t.Error(err)
			}
		})
	}
	wg.Wait()
	notices, err := l.ClaimAlarmChanges(ctx, 10, time.Minute)
	must(t, err)
	if len(notices) != 1 {
		t.Fatalf("%d notices, want 1", len(notices))
	}
	id := notices[0].ID
	if n := notices[0]; n.Body != `{"id":"`+id+`"}` || n.At != noon.UnixMilli() {
		t.Errorf("notice: %+v", n)
	}
	claim := func(what string, want int) {
		t.Helper()
		if n, err := l.ClaimAlarmChanges(ctx, 10, 200*time.Millisecond); err != nil || len(n) != want {
			t.Errorf("%s: %d notices, %v, want %d", what, len(n), err, want)
		}
	}
	claim("while another has it", 0)
	must(t, l.SettleAlarmChanges(ctx, nil, []string{id}, noon))
	claim("given back", 1)
	claim("claimed a moment ago", 0)
	time.Sleep(300 * time.Millisecond)
	claim("the run that claimed it was killed", 1)
	must(t, l.SettleAlarmChanges(ctx, []string{id}, nil, noon))
	time.Sleep(300 * time.Millisecond)
	claim("posted", 0)

	must(t, l.SaveAlarms(ctx, noon, update("domain_failures", "ok", "not to be posted", noon), false))
	claim("nothing is to be posted", 0)
}

func TestPrune(t *testing.T) {
	db := open(t)
	l := ledger.New(db)
	old, young := place, place
	old.Date = "2025-01-28"
	var c ledger.Changes
	for i := range 6_000 {
		c.Domains = append(c.Domains, ledger.DomainChange{Partition: old, Domain: fmt.Sprintf("d%d.sg", i), Queued: noon})
	}
	for _, p := range []contract.Partition{old, young} {
		c.Files = append(c.Files, ledger.FileChange{RawFile: contract.RawFile{Partition: p, Name: "raw_0001"}, Processed: noon})
		c.Domains = append(c.Domains, ledger.DomainChange{Partition: p, Domain: "a.sg", Outcome: &contract.Outcome{CollectedAt: noon, Reachable: true}})
	}
	c.Domains = append(c.Domains, ledger.DomainChange{Partition: old, Domain: "failed.sg", GaveUp: noon, ErrorType: contract.Storage})
	c.DeadLetters = []ledger.DeadLetter{
		{MessageID: "old", DeadLetterError: contract.DeadLetterError{FailedAt: noon}},
		{MessageID: "young", DeadLetterError: contract.DeadLetterError{FailedAt: time.Now()}},
	}
	c.Failures = []ledger.Failure{{MessageID: "old", FailedAt: noon}, {MessageID: "young", FailedAt: time.Now()}}
	must(t, l.Record(ctx, c))
	if _, err := l.Acquire(ctx, "o", []string{"held.sg", "over.sg"}, time.Hour); err != nil {
		t.Fatal(err)
	}
	finish(t, l, time.Now(), 0, 20, 0)
	must(t, l.SaveAlarms(ctx, time.Now(), update("domain_failures", "firing", "young", time.Now()), false))
	rows(t, db, `UPDATE partitions SET updated_at = ?1 WHERE date = ?2`, noon.UnixMilli(), old.Date)
	rows(t, db, `UPDATE leases SET expires_at = 1 WHERE domain = 'over.sg'`)
	must(t, l.Prune(ctx, noon.Add(time.Hour)))
	for sql, want := range map[string]string{
		`SELECT date FROM partitions`: "2026-01-28",
		`SELECT DISTINCT p.date FROM domains JOIN partitions AS p ON p.id = partition`: "2026-01-28",
		`SELECT p.date FROM files JOIN partitions AS p ON p.id = partition`:            "2026-01-28",
		`SELECT count(*) FROM error_counts`:                                            "1",
		`SELECT message_id FROM dead_letters`:                                          "young",
		`SELECT message_id FROM failures`:                                              "young",
		`SELECT domain FROM leases`:                                                    "held.sg",
		`SELECT count(*) FROM minutes WHERE minute < 29493480`:                         "0",
		`SELECT state FROM dead_letter_counts WHERE count = 1`:                         "stored",
		`SELECT count(*) FROM alarm_changes`:                                           "1",
	} {
		var got []string
		for _, row := range rows(t, db, sql) {
			for _, v := range row {
				got = append(got, fmt.Sprint(v))
			}
		}
		if !slices.Equal(got, []string{want}) {
			t.Errorf("%s: %v, want %s", sql, got, want)
		}
	}
}

// Events that run at once never lose a count.
func TestCountsAreExactUnderConcurrency(t *testing.T) {
	db := open(t)
	l := ledger.New(db)
	var wg sync.WaitGroup
	for worker := range 8 {
		wg.Go(func() {
			for i := range 30 {
				d := ledger.DomainChange{Partition: place, Domain: fmt.Sprintf("d%d.sg", (worker+i)%20), Queued: noon}
				switch (worker * i) % 3 {
				case 1:
					d.Outcome = &contract.Outcome{CollectedAt: noon.Add(time.Duration(worker*i) * time.Second), Reachable: i%2 == 0, Robots: true, Duration: time.Duration(i) * time.Millisecond}
				case 2:
					d.GaveUp = noon.Add(time.Duration(i) * time.Second)
				}
				if err := l.Record(ctx, ledger.Changes{Domains: []ledger.DomainChange{d}}); err != nil {
					t.Error(err)
				}
			}
		})
	}
	wg.Wait()
	kept := rows(t, db, `SELECT domains_processed, domains_failed, domains_pending, robots_found, domains_duration_ms FROM partitions`)
	counted := rows(t, db, `SELECT sum(state = 'processed') AS domains_processed, sum(state = 'failed') AS domains_failed, sum(state = 'pending') AS domains_pending,
  sum(iif(state = 'processed', robots, 0)) AS robots_found, sum(iif(state = 'processed', duration_ms, 0)) AS domains_duration_ms FROM domains`)
	if fmt.Sprint(kept) != fmt.Sprint(counted) {
		t.Errorf("kept %v, counted %v", kept, counted)
	}
	if kept[0]["domains_processed"].(float64) == 0 || kept[0]["domains_failed"].(float64) == 0 {
		t.Errorf("the test is of no use: %v", kept)
	}
}

// recorder keeps the statements that pass.
type recorder struct {
	*sqlite.DB
	statements []ledger.Statement
}

func (r *recorder) Batch(ctx context.Context, statements []ledger.Statement) ([]ledger.Result, error) {
	r.statements = append(r.statements, statements...)
	return r.DB.Batch(ctx, statements)
}

// What operators look at is found by index, and a status never reads files or domains at all: it
// takes as long with a million domains as with one.
func TestQueryPlans(t *testing.T) {
	no := false
	slow := int64(5000)
	filter := contract.Filter{Country: "sg", Category: "news", Date: "2026-01-28"}
	domains := func(q ledger.DomainQuery) func(*ledger.Ledger) error {
		return func(l *ledger.Ledger) error { q.Limit = 50; _, err := l.Domains(ctx, q); return err }
	}
	cursor := "eyJ0Ijo1MDAwLCJwIjoxLCJkIjoiYS5zZyJ9"
	status := func(q ledger.StatusQuery) func(*ledger.Ledger) error {
		return func(l *ledger.Ledger) error { q.Now = noon; _, err := l.Status(ctx, q); return err }
	}
	for _, c := range []struct {
		what  string
		run   func(*ledger.Ledger) error
		index string // how the table of files or domains is found; "" for not at all
	}{
		{"status", status(ledger.StatusQuery{}), ""},
		{"status of a partition", status(ledger.StatusQuery{Filter: filter, TrendHours: 24}), ""},
		{"status by partition", status(ledger.StatusQuery{ByPartition: true, TrendHours: 168}), ""},
		{"status by error", status(ledger.StatusQuery{ByError: true}), ""},
		{"domains", domains(ledger.DomainQuery{}), "d USING INTEGER PRIMARY KEY|d USING PRIMARY KEY|SCAN d"},
		{"the next domains", domains(ledger.DomainQuery{Cursor: cursor}), "SEARCH d USING PRIMARY KEY"},
		{"domains of a partition", domains(ledger.DomainQuery{Filter: filter}), "SEARCH d USING PRIMARY KEY"},
		{"failed", domains(ledger.DomainQuery{State: contract.Failed, Cursor: cursor}), "SEARCH d USING (COVERING )?INDEX (domains_by_state|domains_failed)"},
		{"pending of a partition", domains(ledger.DomainQuery{State: contract.Pending, Filter: filter}), "SEARCH d USING (COVERING )?INDEX domains_by_state"},
		{"without robots.txt", domains(ledger.DomainQuery{Robots: &no, Cursor: cursor}), "d USING (COVERING )?INDEX domains_without_robots"},
		{"without sitemap", domains(ledger.DomainQuery{Sitemap: &no, Cursor: cursor}), "d USING (COVERING )?INDEX domains_without_sitemap"},
		{"of an error", domains(ledger.DomainQuery{ErrorType: "network_error", Cursor: cursor}), "SEARCH d USING (COVERING )?INDEX domains_failed"},
		{"slow ones", domains(ledger.DomainQuery{SlowerThanMS: &slow, SlowestFirst: true, Cursor: cursor}), "SEARCH d USING (COVERING )?INDEX domains_by_duration"},
		{"the slowest", domains(ledger.DomainQuery{SlowestFirst: true}), "d USING (COVERING )?INDEX domains_by_duration"},
		{"the slowest of a partition", domains(ledger.DomainQuery{SlowestFirst: true, Filter: filter}), "SEARCH d USING INDEX domains_by_state"},
		{"one domain", func(l *ledger.Ledger) error { _, err := l.Domain(ctx, "a.sg", contract.Filter{}); return err }, "SEARCH d USING (COVERING )?INDEX domains_by_name"},
		{"files in flight", func(l *ledger.Ledger) error {
			_, err := l.InFlight(ctx, []contract.RawFile{{}}, noon, noon)
			return err
		}, "SEARCH f USING PRIMARY KEY"},
	} {
		db := &recorder{DB: open(t)}
		must(t, c.run(ledger.New(db)))
		var plan []string
		for _, s := range db.statements {
			for _, row := range rows(t, db.DB, "EXPLAIN QUERY PLAN "+s.SQL, s.Args...) {
				plan = append(plan, row["detail"].(string))
			}
		}
		text := strings.Join(plan, "\n")
		touched := regexp.MustCompile(`(?m)^(SCAN|SEARCH) (files|domains|d|f)\b.*$`).FindAllString(text, -1)
		for _, line := range touched {
			if c.index == "" || !regexp.MustCompile(c.index).MatchString(line) {
				t.Errorf("%s: %s, want %q\n%s", c.what, line, c.index, text)
			}
		}
		if c.index != "" && len(touched) == 0 {
			t.Errorf("%s: no table was found in\n%s", c.what, text)
		}
		few := strings.HasPrefix(c.what, "status") || c.what == "one domain" || c.what == "the slowest of a partition"
		if strings.Contains(text, "TEMP B-TREE FOR ORDER BY") && !few {
			t.Errorf("%s is sorted after it was read:\n%s", c.what, text)
		}
	}
}

// The time of a status does not grow with the number of domains. How long it takes with a million of
// them is measured by bench/status.
func TestStatusIsQuickWithManyDomains(t *testing.T) {
	if testing.Short() {
		t.Skip("fills a database")
	}
	db := open(t)
	l := ledger.New(db)
	const partitions, few, many = 50, 10, 600
	rows(t, db, `WITH RECURSIVE n(i) AS (SELECT 0 UNION ALL SELECT i + 1 FROM n WHERE i + 1 < ?1)
INSERT INTO partitions (id, country, category, date) SELECT i + 1, 'sg', 'c' || i, '2026-01-28' FROM n`, int64(partitions))
	best := func(each int64) time.Duration {
		rows(t, db, `WITH RECURSIVE n(i) AS (SELECT 0 UNION ALL SELECT i + 1 FROM n WHERE i + 1 < ?1)
INSERT OR IGNORE INTO domains (partition, domain, queued_at, needed_at, collected_at, met_at, gave_up_at, excluded_at, reachable, robots, sitemap, duration_ms)
SELECT i % ?2 + 1, 'd' || i || '.sg', 1, 0, 1 + i, 1 + i, 0, 0, i % 10 > 0, i % 3 > 0, i % 5 > 0, i % 7000 FROM n`, partitions*each, int64(partitions))
		best := time.Hour
		for range 10 {
			started := time.Now()
			s, err := l.Status(ctx, ledger.StatusQuery{Now: noon, ByPartition: true, ByError: true, TrendHours: 24})
			best = min(best, time.Since(started))
			must(t, err)
			if s.Processing.DomainsTotal != partitions*each || len(s.Partitions) != partitions || s.Errors[0].Domains != partitions*each/10 {
				t.Fatalf("%+v", s.Processing)
			}
		}
		return best
	}
	if small, large := best(few), best(many); large > 4*small {
		t.Errorf("a status takes %v with %d domains, and %v with %d", small, partitions*few, large, partitions*many)
	}
}
