// Package ledgertest is the conformance suite of the ledger: what the pipeline relies on, run on
// SQLite by the tests of ledger and on D1 by test/conformance.
package ledgertest

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/newsfork/seed-engine/contract"
	"github.com/newsfork/seed-engine/ledger"
	"github.com/newsfork/seed-engine/test/cases"
)

// T is the part of testing.T that cases use.
type T = cases.T

var must, expect = cases.Must, cases.Expect

// Case is one property. Every string that it stores begins with name, which is reserved for it.
type Case struct {
	Name string
	Run  func(t T, db ledger.DB, name string)
}

// Cases is the suite. The first ones are about the database itself.
var Cases = []Case{
	{"values and rows", values},
	{"a batch is all or nothing", atomic},
	{"limits of a statement", limits},
	{"a statement that is wrong", wrongStatement},
	{"ping", ping},
	{"reasons of failures", reasons},
	{"a failure recorded twice", failureTwice},
	{"any text in a failure", anyText},
	{"finished work is forgotten", finished},
	{"as many records as an event can have", manyRecords},
	{"dead letters", deadLetters},
	{"a dead letter stored twice", deadLetterTwice},
	{"records are all or nothing", recordAtomic},
	{"nothing to record", nothing},
	{"a context that is done", contextDone},
	{"a file from its upload to its checkpoint", fileLife},
	{"what operators discard, replace and delete", fileEnded},
	{"examples of rejected records", fileRejections},
	{"files in flight", filesInFlight},
	{"a domain's states", domainStates},
	{"records in any order end alike", anyOrder},
	{"domains of a batch are counted once", counted},
	{"more domains than a parameter holds", manyDomains},
	{"pages of domains", domainPages},
	{"revisions of domains", domainRevisions},
	{"domains of which nothing may be fetched", domainBarriers},
	{"attempts of domains that are retried", domainRetries},
	{"one domain in several partitions", domainPartitions},
	{"the leading error of what failed", leadingErrors},
	{"numbers of partitions, hours and errors", numbers},
	{"collections by the hour", domainHours},
	{"lists, choices and resolutions of dead letters", deadLettersResolved},
	{"the history of a dead letter", deadLetterHistory},
	{"letters by the beginning of their ids", deadLetterPrefix},
	{"reconcile adds, puts right and takes out", reconcile},
	{"readings of the frontier", frontierReadings},
	{"how far the feed was delivered", feedDelivery},
}

var (
	ctx  = context.Background()
	noon = time.Date(2026, 1, 28, 12, 0, 0, 123e6, time.UTC)
)

func expectStorage(t T, what string, err error) {
	t.Helper()
	cases.ExpectKind(t, what, err, contract.Storage)
}

// query runs one statement and returns its rows.
func query(t T, db ledger.DB, sql string, args ...any) []map[string]any {
	t.Helper()
	results, err := db.Batch(ctx, []ledger.Statement{{SQL: sql, Args: args}})
	must(t, sql, err)
	var rows []map[string]any
	must(t, "rows of "+sql, json.Unmarshal(results[0].Rows, &rows))
	return rows
}

// place returns the partition of a case, whose category is the case's name.
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

func outcome(seconds int, reachable bool) *contract.Outcome {
	o := &contract.Outcome{CollectedAt: at(seconds).Truncate(time.Second), Reachable: reachable, Robots: reachable,
		Sitemap: reachable && seconds%2 == 0, Duration: time.Duration(seconds) * time.Millisecond}
	if reachable {
		o.Barrier = []contract.Barrier{contract.Clear, contract.Forbidden, contract.Refuses, contract.Empty}[seconds%4]
	} else {
		o.ErrorType, o.ErrorMessage = "network_error", fmt.Sprint("refused at ", seconds)
	}
	return o
}

// recount compares the numbers of triggers with the rows.
func recount(t T, db ledger.DB, name, what string) {
	t.Helper()
	const rows = ` FROM partitions AS p WHERE p.category = ?1 ORDER BY p.date`
	counts := func(table, state string) string {
		return `(SELECT count(*) FROM ` + table + ` AS x WHERE x.partition = p.id AND x.state = '` + state + `')`
	}
	kept := query(t, db, `SELECT files_processed, files_failed, files_pending, files_timed, files_duration_ms,
  domains_processed, domains_failed, domains_pending, domains_excluded, robots_found, sitemaps_found,
domains_duration_ms, domains_forbidden, domains_refusing, domains_empty`+rows, name)
	barred := func(n string) string {
		return `(SELECT count(*) FROM domains AS d WHERE d.partition = p.id AND d.barrier = ` + n + `)`
	}
	counted := query(t, db, `SELECT `+counts("files", "processed")+` AS files_processed,
`+counts("files", "failed")+` AS files_failed, `+counts("files", "pending")+` AS files_pending,
  (SELECT count(duration_ms) FROM files AS f WHERE f.partition = p.id AND f.state = 'processed') AS files_timed,
  (SELECT ifnull(sum(duration_ms), 0) FROM files AS f WHERE f.partition = p.id
AND f.state = 'processed') AS files_duration_ms,
  `+counts("domains", "processed")+` AS domains_processed, `+counts("domains", "failed")+` AS domains_failed,
`+counts("domains", "pending")+` AS domains_pending, `+counts("domains", "excluded")+` AS domains_excluded,
  (SELECT ifnull(sum(robots), 0) FROM domains AS d WHERE d.partition = p.id
AND d.state = 'processed') AS robots_found,
  (SELECT ifnull(sum(sitemap), 0) FROM domains AS d WHERE d.partition = p.id
AND d.state = 'processed') AS sitemaps_found,
  (SELECT ifnull(sum(duration_ms), 0) FROM domains AS d WHERE d.partition = p.id
AND d.state = 'processed') AS domains_duration_ms,
  `+barred("1")+` AS domains_forbidden, `+barred("2")+` AS domains_refusing, `+barred("3")+` AS domains_empty`+rows,
		name)
	expect(t, what+": the numbers of the partitions", kept, counted)

	const here = ` WHERE partition IN (SELECT id FROM partitions WHERE category = ?1)`
	errors := query(t, db,
		`SELECT partition, error_type, files, domains FROM error_counts`+here+` AND (files, domains) <> (0, 0)
ORDER BY partition, error_type`, name)
	failed := query(t, db, `SELECT partition, error_type, sum(files) AS files, sum(domains) AS domains FROM (
  SELECT partition, ifnull(error_type, '') AS error_type, 1 AS files, 0 AS domains FROM files`+here+`
AND state = 'failed'
  UNION ALL SELECT partition, ifnull(error_type, ''), 0, 1 FROM domains`+here+` AND state = 'failed')
GROUP BY partition, error_type ORDER BY partition, error_type`, name)
	expect(t, what+": failures by error", errors, failed)
}

func values(t T, db ledger.DB, name string) {
	text := "a\n\"b\"\\ é 한 \x00"
	rows := query(t, db,
		`SELECT ?1 AS text, ?2 AS whole, ?3 AS missing, 0.5 AS fraction, ?2 + 1 AS sum UNION ALL SELECT '', 0, 1, 2,
3`, text, int64(1769601600123), nil)
	expect(t, "rows", rows, []map[string]any{
		{"text": text, "whole": 1769601600123.0, "missing": nil, "fraction": 0.5, "sum": 1769601600124.0},
		{"text": "", "whole": 0.0, "missing": 1.0, "fraction": 2.0, "sum": 3.0},
	})
	results, err := db.Batch(ctx, []ledger.Statement{
		{SQL: `INSERT INTO alarms (name, state, since) VALUES (?1, '', 0), (?2, '', 0)`,
			Args: []any{name + "a", name + "b"}},
		{SQL: `UPDATE alarms SET since = 1 WHERE name = ?1`, Args: []any{name + "a"}},
		{SQL: `DELETE FROM alarms WHERE name IN (?1, ?2, ?3)`, Args: []any{name + "a", name + "b", name + "c"}},
		{SQL: `SELECT name FROM alarms WHERE name = ?1`, Args: []any{name + "a"}},
	})
	must(t, "Batch", err)
	var changes []int64
	for _, r := range results[:3] {
		changes = append(changes, r.Changes)
	}
	expect(t, "changes", changes, []int64{2, 1, 2})
	expect(t, "no rows", string(results[3].Rows), "[]")
}

func atomic(t T, db ledger.DB, name string) {
	insert := ledger.Statement{SQL: `INSERT INTO alarms (name, state, since) VALUES (?1, '', 0)`, Args: []any{name}}
	if _, err := db.Batch(ctx, []ledger.Statement{insert, insert}); err == nil {
		t.Errorf("the second insert of one key gave no error")
	}
	rows := query(t, db, `SELECT name FROM alarms WHERE name = ?1`, name)
	expect(t, "rows after a failed batch", len(rows), 0)
	if _, err := db.Batch(ctx, []ledger.Statement{insert}); err != nil {
		t.Errorf("a batch after a failed one: %v", err)
	}
}

func limits(t T, db ledger.DB, name string) {
	in := func(n int) error {
		args := make([]any, n)
		for i := range args {
			args[i] = name
		}
		sql := `SELECT name FROM alarms WHERE name IN (?` + strings.Repeat(", ?", n-1) + `)`
		_, err := db.Batch(ctx, []ledger.Statement{{SQL: sql, Args: args}})
		return err
	}
	if err := in(ledger.MaxParameters); err != nil {
		t.Errorf("as many parameters as allowed: %v", err)
	}
	if in(ledger.MaxParameters+1) == nil {
		t.Errorf("%d parameters gave no error", ledger.MaxParameters+1)
	}
	for _, n := range []int{ledger.MaxSQLBytes, ledger.MaxSQLBytes + 1} {
		sql := `SELECT 1 AS one`
		sql += strings.Repeat(" ", n-len(sql))
		_, err := db.Batch(ctx, []ledger.Statement{{SQL: sql}})
		expect(t, fmt.Sprintf("a statement of %d bytes is refused", n), err != nil, n > ledger.MaxSQLBytes)
	}
	long := strings.Repeat("x", ledger.MaxStringBytes)
	rows := query(t, db, `SELECT length(?1) AS n`, long)
	expect(t, "length of the longest parameter", rows[0]["n"], float64(len(long)))
}

func wrongStatement(t T, db ledger.DB, _ string) {
	for _, s := range []ledger.Statement{
		{SQL: `SELECT nothing FROM nowhere`},
		{SQL: `SELECT ?1 AS a`},
		{SQL: `SELECT ?1 AS a`, Args: []any{"a", "b"}},
	} {
		if _, err := db.Batch(ctx, []ledger.Statement{s}); err == nil {
			t.Errorf("%s with %d parameters gave no error", s.SQL, len(s.Args))
		}
	}
}

func ping(t T, db ledger.DB, _ string) {
	must(t, "Ping", ledger.New(db).Ping(ctx))
}

func recordAtomic(t T, db ledger.DB, name string) {
	l := ledger.New(db)
	w := ledger.Work{Queue: name, Key: "a"}
	must(t, "Record", l.Record(ctx, ledger.Changes{Failures: []ledger.Failure{failure(w, "m", 1)}}))
	broken := failing{db, 1} // the second statement of the batch
	err := ledger.New(broken).Record(ctx, ledger.Changes{Failures: []ledger.Failure{failure(w, "m", 2)},
		Finished: []ledger.Work{w}})
	expectStorage(t, "Record", err)
	got, err := l.Reasons(ctx, []ledger.Work{w})
	must(t, "Reasons", err)
	expect(t, "reasons", got[w], []ledger.Failure{failure(w, "m", 1)})
}

// failing breaks one statement of every batch.
type failing struct {
	ledger.DB
	at int
}

func (f failing) Batch(ctx context.Context, statements []ledger.Statement) ([]ledger.Result, error) {
	statements = slices.Clone(statements)
	statements[f.at].SQL = "SELECT nothing FROM nowhere WHERE ?1"
	return f.DB.Batch(ctx, statements)
}

// noDB fails when it is used.
type noDB struct{ t T }

func (d noDB) Batch(context.Context, []ledger.Statement) ([]ledger.Result, error) {
	d.t.Errorf("the database was used")
	return nil, nil
}

func nothing(t T, _ ledger.DB, _ string) {
	must(t, "Record", ledger.New(noDB{t}).Record(ctx, ledger.Changes{}))
}

func manyRecords(t T, db ledger.DB, name string) {
	l := ledger.New(db)
	var c ledger.Changes
	var works []ledger.Work
	for i := range 250 { // more than a statement's parameters
		w := ledger.Work{Queue: name, Key: fmt.Sprint("raw/country=sg/category=news/date=2026-01-28/", i)}
		f := failure(w, "m", 1)
		f.ErrorMessage = strings.Repeat("x", 2000)
		works = append(works, w)
		c.Failures = append(c.Failures, f)
		c.DeadLetters = append(c.DeadLetters, deadLetter(name, fmt.Sprint(i)))
	}
	must(t, "Record", l.Record(ctx, c))
	got, err := l.Reasons(ctx, works)
	must(t, "Reasons", err)
	expect(t, "works", len(got), 250)
	must(t, "Record", l.Record(ctx, ledger.Changes{Finished: works}))
	got, err = l.Reasons(ctx, works)
	must(t, "Reasons", err)
	expect(t, "works left", len(got), 0)
}

func contextDone(t T, db ledger.DB, name string) {
	done, cancel := context.WithCancel(ctx)
	cancel()
	w := ledger.Work{Queue: name, Key: "a"}
	expectStorage(t, "Record", ledger.New(db).Record(done,
		ledger.Changes{Failures: []ledger.Failure{failure(w, "m", 1)}}))
	got, err := ledger.New(db).Reasons(ctx, []ledger.Work{w})
	must(t, "Reasons", err)
	expect(t, "reasons", len(got[w]), 0)
}
