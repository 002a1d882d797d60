// Package ledgertest is the conformance suite of the ledger: what the pipeline relies on, run on
// SQLite by the tests of ledger and on D1 by test/conformance.
package ledgertest

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/newsfork/seed-engine/contract"
	"github.com/newsfork/seed-engine/ledger"
)

// T is the part of *testing.T that the suite needs; it also runs where there is no testing.
type T interface {
	Helper()
	Errorf(format string, args ...any)
	Fatalf(format string, args ...any)
}

// Case is one property. Every string that it stores begins with name, which nothing else may use.
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
	{"a lease excludes others", leaseExcludes},
	{"a lease expires", leaseExpires},
	{"a lease is extended when its owner takes it again", leaseAgain},
	{"a lease is released by its owner only", leaseRelease},
	{"a released lease cools down", leaseCoolDown},
	{"a lease is renewed while it is held", leaseRenew},
	{"of many takers one gets the lease", leaseRace},
	{"a context that is done", contextDone},
}

var (
	ctx  = context.Background()
	noon = time.Date(2026, 1, 28, 12, 0, 0, 123e6, time.UTC)
)

func expect(t T, what string, got, want any) {
	t.Helper()
	if !reflect.DeepEqual(got, want) {
		t.Errorf("%s: got %+v, want %+v", what, got, want)
	}
}

func must(t T, what string, err error) {
	t.Helper()
	if err != nil {
		t.Fatalf("%s: %v", what, err)
	}
}

func expectStorage(t T, what string, err error) {
	t.Helper()
	var e *contract.Error
	if !errors.As(err, &e) || e.Kind != contract.Storage {
		t.Errorf("%s: got error %v, want one of kind %s", what, err, contract.Storage)
	}
}

// query runs one statement and gives its rows.
func query(t T, db ledger.DB, sql string, args ...any) []map[string]any {
	t.Helper()
	results, err := db.Batch(ctx, []ledger.Statement{{SQL: sql, Args: args}})
	must(t, sql, err)
	var rows []map[string]any
	must(t, "rows of "+sql, json.Unmarshal(results[0].Rows, &rows))
	return rows
}

func values(t T, db ledger.DB, name string) {
	text := "a\n\"b\"\\ é 한 \x00"
	rows := query(t, db, `SELECT ?1 AS text, ?2 AS whole, ?3 AS missing, 0.5 AS fraction, ?2 + 1 AS sum UNION ALL SELECT '', 0, 1, 2, 3`, text, int64(1769601600123), nil)
	expect(t, "rows", rows, []map[string]any{
		{"text": text, "whole": 1769601600123.0, "missing": nil, "fraction": 0.5, "sum": 1769601600124.0},
		{"text": "", "whole": 0.0, "missing": 1.0, "fraction": 2.0, "sum": 3.0},
	})
	results, err := db.Batch(ctx, []ledger.Statement{
		{SQL: `INSERT INTO leases (domain, owner, expires_at) VALUES (?1, '', 0), (?2, '', 0)`, Args: []any{name + "a", name + "b"}},
		{SQL: `UPDATE leases SET expires_at = 1 WHERE domain = ?1`, Args: []any{name + "a"}},
		{SQL: `DELETE FROM leases WHERE domain IN (?1, ?2, ?3)`, Args: []any{name + "a", name + "b", name + "c"}},
		{SQL: `SELECT domain FROM leases WHERE domain = ?1`, Args: []any{name + "a"}},
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
	insert := ledger.Statement{SQL: `INSERT INTO leases (domain, owner, expires_at) VALUES (?1, '', 0)`, Args: []any{name}}
	if _, err := db.Batch(ctx, []ledger.Statement{insert, insert}); err == nil {
		t.Errorf("the second insert of one key gave no error")
	}
	rows := query(t, db, `SELECT domain FROM leases WHERE domain = ?1`, name)
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
		sql := `SELECT domain FROM leases WHERE domain IN (?` + strings.Repeat(", ?", n-1) + `)`
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

func failure(w ledger.Work, id string, attempt int) ledger.Failure {
	return ledger.Failure{
		Work: w, MessageID: id, Attempt: attempt,
		ErrorType: contract.Parse, ErrorMessage: fmt.Sprintf("attempt %d of %s", attempt, id), WorkerVersion: "v1",
		Duration: time.Duration(attempt) * 1500 * time.Millisecond, FailedAt: noon.Add(time.Duration(attempt) * time.Second),
	}
}

func reasons(t T, db ledger.DB, name string) {
	l := ledger.New(db)
	a, b := ledger.Work{Queue: name, Key: "a"}, ledger.Work{Queue: name, Key: "b"}
	elsewhere := ledger.Work{Queue: name + "2", Key: "a"}
	must(t, "Record", l.Record(ctx, ledger.Changes{Failures: []ledger.Failure{failure(a, "m1", 2), failure(b, "m2", 1), failure(elsewhere, "m3", 1)}}))
	must(t, "Record", l.Record(ctx, ledger.Changes{Failures: []ledger.Failure{failure(a, "m1", 1), failure(a, "m0", 3)}}))
	got, err := l.Reasons(ctx, []ledger.Work{a, b, {Queue: name, Key: "none"}})
	must(t, "Reasons", err)
	expect(t, "reasons", got, map[ledger.Work][]ledger.Failure{
		a: {failure(a, "m1", 1), failure(a, "m1", 2), failure(a, "m0", 3)},
		b: {failure(b, "m2", 1)},
	})
	got, err = l.Reasons(ctx, nil)
	must(t, "Reasons of nothing", err)
	expect(t, "reasons of nothing", len(got), 0)
}

func failureTwice(t T, db ledger.DB, name string) {
	l := ledger.New(db)
	w := ledger.Work{Queue: name, Key: "a"}
	first, second := failure(w, "m", 1), failure(w, "m", 1)
	second.ErrorType, second.ErrorMessage, second.WorkerVersion = contract.Storage, "another", "v2"
	second.Duration, second.FailedAt = time.Minute, noon.Add(time.Hour)
	must(t, "Record", l.Record(ctx, ledger.Changes{Failures: []ledger.Failure{first}}))
	must(t, "Record", l.Record(ctx, ledger.Changes{Failures: []ledger.Failure{first, second}}))
	got, err := l.Reasons(ctx, []ledger.Work{w})
	must(t, "Reasons", err)
	expect(t, "reasons", got[w], []ledger.Failure{second})
}

func anyText(t T, db ledger.DB, name string) {
	l := ledger.New(db)
	w := ledger.Work{Queue: name, Key: `raw/"x"\` + "\n한"}
	f := failure(w, "m", 1)
	f.ErrorMessage = strings.Repeat("한", 1000) // cut inside a character
	f2 := failure(w, "m", 2)
	f2.ErrorMessage = `');DROP TABLE failures;--` + "\x00\n"
	must(t, "Record", l.Record(ctx, ledger.Changes{Failures: []ledger.Failure{f, f2}}))
	got, err := l.Reasons(ctx, []ledger.Work{w})
	must(t, "Reasons", err)
	if len(got[w]) != 2 {
		t.Fatalf("got %d reasons, want 2", len(got[w]))
	}
	expect(t, "a long message", got[w][0].ErrorMessage, strings.Repeat("한", 666))
	expect(t, "an odd message", got[w][1].ErrorMessage, f2.ErrorMessage)
}

func finished(t T, db ledger.DB, name string) {
	l := ledger.New(db)
	a, b := ledger.Work{Queue: name, Key: "a"}, ledger.Work{Queue: name, Key: "b"}
	elsewhere := ledger.Work{Queue: name + "2", Key: "a"}
	must(t, "Record", l.Record(ctx, ledger.Changes{Failures: []ledger.Failure{failure(a, "m1", 1), failure(a, "m1", 2), failure(b, "m2", 1), failure(elsewhere, "m3", 1)}}))
	must(t, "Record", l.Record(ctx, ledger.Changes{Finished: []ledger.Work{a, {Queue: name, Key: "none"}}}))
	got, err := l.Reasons(ctx, []ledger.Work{a, b, elsewhere})
	must(t, "Reasons", err)
	expect(t, "works left", len(got), 2)
	expect(t, "reasons of finished work", len(got[a]), 0)
}

func manyRecords(t T, db ledger.DB, name string) {
	l := ledger.New(db)
	var c ledger.Changes
	var works []ledger.Work
	var domains []string
	for i := range 250 { // over the number of parameters of a statement
		w := ledger.Work{Queue: name, Key: fmt.Sprint("raw/country=sg/category=news/date=2026-01-28/", i)}
		f := failure(w, "m", 1)
		f.ErrorMessage = strings.Repeat("x", 2000)
		works, domains = append(works, w), append(domains, fmt.Sprint(name, i, ".example"))
		c.Failures = append(c.Failures, f)
		c.DeadLetters = append(c.DeadLetters, letter(name, fmt.Sprint(i)))
		c.Releases = append(c.Releases, ledger.Release{Domain: domains[i], Owner: name})
	}
	busy, err := l.Acquire(ctx, name, domains, time.Minute)
	must(t, "Acquire", err)
	expect(t, "busy", len(busy), 0)
	must(t, "Record", l.Record(ctx, c))
	got, err := l.Reasons(ctx, works)
	must(t, "Reasons", err)
	expect(t, "works", len(got), 250)
	must(t, "Record", l.Record(ctx, ledger.Changes{Finished: works}))
	got, err = l.Reasons(ctx, works)
	must(t, "Reasons", err)
	expect(t, "works left", len(got), 0)
	busy, err = l.Acquire(ctx, "another", domains, time.Minute)
	must(t, "Acquire", err)
	expect(t, "busy after release", len(busy), 0)
}

func letter(name, id string) ledger.DeadLetter {
	return ledger.DeadLetter{
		MessageID: name + id, WorkKey: "raw/x", R2Key: "dlq/queue=q/date=2026-01-28/" + id + ".json",
		DeadLetterError:   contract.DeadLetterError{ErrorType: contract.Validation, ErrorMessage: "wrong", RetryCount: 3, FailedAt: noon},
		DeadLetterContext: contract.DeadLetterContext{QueueName: "newsfork-seed-dev", WorkerVersion: "v1", ProcessingDurationMS: 12},
	}
}

func deadLetters(t T, db ledger.DB, name string) {
	must(t, "Record", ledger.New(db).Record(ctx, ledger.Changes{DeadLetters: []ledger.DeadLetter{letter(name, "1"), letter(name, "2")}}))
	rows := query(t, db, `SELECT * FROM dead_letters WHERE message_id LIKE ?1 ORDER BY message_id`, name+"%")
	expect(t, "rows", len(rows), 2)
	expect(t, "row", rows[0], map[string]any{
		"message_id": name + "1", "queue_name": "newsfork-seed-dev", "work": "raw/x", "error_type": "validation_error", "error_message": "wrong",
		"retry_count": 3.0, "failed_at": float64(noon.UnixMilli()), "worker_version": "v1", "processing_duration_ms": 12.0,
		"r2_key": "dlq/queue=q/date=2026-01-28/1.json", "state": "stored",
		"country": nil, "category": nil, "date": nil, "domain": nil, "resolved_at": nil, "resolved_by": nil,
	})
}

func deadLetterTwice(t T, db ledger.DB, name string) {
	l := ledger.New(db)
	first, second := letter(name, "1"), letter(name, "1")
	second.ErrorMessage = "another"
	must(t, "Record", l.Record(ctx, ledger.Changes{DeadLetters: []ledger.DeadLetter{first}}))
	query(t, db, `UPDATE dead_letters SET state = 'replayed' WHERE message_id = ?1`, first.MessageID)
	must(t, "Record", l.Record(ctx, ledger.Changes{DeadLetters: []ledger.DeadLetter{second, second}}))
	rows := query(t, db, `SELECT error_message, state FROM dead_letters WHERE message_id = ?1`, first.MessageID)
	expect(t, "rows", rows, []map[string]any{{"error_message": "wrong", "state": "replayed"}})
}

func recordAtomic(t T, db ledger.DB, name string) {
	l := ledger.New(db)
	w := ledger.Work{Queue: name, Key: "a"}
	must(t, "Record", l.Record(ctx, ledger.Changes{Failures: []ledger.Failure{failure(w, "m", 1)}}))
	broken := failing{db, 1} // the second statement of the batch
	err := ledger.New(broken).Record(ctx, ledger.Changes{Failures: []ledger.Failure{failure(w, "m", 2)}, Finished: []ledger.Work{w}})
	expectStorage(t, "Record", err)
	got, err := l.Reasons(ctx, []ledger.Work{w})
	must(t, "Reasons", err)
	expect(t, "reasons", got[w], []ledger.Failure{failure(w, "m", 1)})
}

// failing spoils one statement of every batch.
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

func acquire(t T, db ledger.DB, owner string, ttl time.Duration, domains ...string) map[string]time.Duration {
	t.Helper()
	busy, err := ledger.New(db).Acquire(ctx, owner, domains, ttl)
	must(t, "Acquire", err)
	return busy
}

func names(busy map[string]time.Duration) []string {
	names := []string{}
	for name := range busy {
		names = append(names, name)
	}
	slices.Sort(names)
	return names
}

func leaseExcludes(t T, db ledger.DB, name string) {
	a, b, c := name+"a.example", name+"b.example", name+"c.example"
	expect(t, "busy at first", names(acquire(t, db, "one", time.Minute, a, b, a)), []string{})
	busy := acquire(t, db, "two", time.Minute, b, c)
	expect(t, "busy for another", names(busy), []string{b})
	if busy[b] > time.Minute || busy[b] < 50*time.Second {
		t.Errorf("it remains busy for %v, want about a minute", busy[b])
	}
	expect(t, "busy for the first", names(acquire(t, db, "one", time.Minute, a, b, c)), []string{c})
	expect(t, "busy for a third", names(acquire(t, db, "three", time.Minute, a, b, c)), []string{a, b, c})
}

const short = 100 * time.Millisecond

func leaseExpires(t T, db ledger.DB, name string) {
	acquire(t, db, "one", short, name)
	time.Sleep(2 * short)
	expect(t, "busy after its time", names(acquire(t, db, "two", time.Minute, name)), []string{})
	expect(t, "busy for the first", names(acquire(t, db, "one", time.Minute, name)), []string{name})
}

func leaseAgain(t T, db ledger.DB, name string) {
	acquire(t, db, "one", short, name)
	acquire(t, db, "one", time.Minute, name)
	time.Sleep(2 * short)
	expect(t, "busy", names(acquire(t, db, "two", time.Minute, name)), []string{name})
}

func release(t T, db ledger.DB, releases ...ledger.Release) {
	t.Helper()
	must(t, "Record", ledger.New(db).Record(ctx, ledger.Changes{Releases: releases}))
}

func leaseRelease(t T, db ledger.DB, name string) {
	a, b := name+"a", name+"b"
	acquire(t, db, "one", time.Minute, a)
	acquire(t, db, "two", time.Minute, b)
	release(t, db, ledger.Release{Domain: a, Owner: "one"}, ledger.Release{Domain: b, Owner: "one"}, ledger.Release{Domain: name + "none", Owner: "one"})
	expect(t, "busy", names(acquire(t, db, "three", time.Minute, a, b)), []string{b})
}

func leaseCoolDown(t T, db ledger.DB, name string) {
	a, b := name+"a", name+"b"
	acquire(t, db, "one", time.Minute, a, b)
	release(t, db, ledger.Release{Domain: a, Owner: "one", CoolDown: 3 * short}, ledger.Release{Domain: b, Owner: "one"})
	for _, owner := range []string{"two", "one"} {
		busy := acquire(t, db, owner, time.Minute, a)
		expect(t, "busy while it cools down", names(busy), []string{a})
		if busy[a] > 3*short {
			t.Errorf("it cools down for %v, want at most %v", busy[a], 3*short)
		}
	}
	time.Sleep(4 * short)
	expect(t, "busy afterwards", names(acquire(t, db, "two", time.Minute, a)), []string{})
}

func leaseRenew(t T, db ledger.DB, name string) {
	l := ledger.New(db)
	a, b, c := name+"a", name+"b", name+"c"
	acquire(t, db, "one", short, a, b)
	lost, err := l.Renew(ctx, "one", []string{a}, time.Minute)
	must(t, "Renew", err)
	expect(t, "lost", len(lost), 0)
	time.Sleep(2 * short)
	expect(t, "busy", names(acquire(t, db, "two", time.Minute, a, b)), []string{a})
	lost, err = l.Renew(ctx, "one", []string{a, b, c}, time.Minute)
	must(t, "Renew", err)
	slices.Sort(lost)
	expect(t, "lost", lost, []string{b, c})
	expect(t, "busy for the first", names(acquire(t, db, "one", time.Minute, a, b)), []string{b})

	acquire(t, db, "two", short, b)
	_, err = l.Renew(ctx, "one", []string{b}, time.Minute)
	must(t, "Renew", err)
	time.Sleep(2 * short)
	expect(t, "busy after another tried to renew", names(acquire(t, db, "three", time.Minute, b)), []string{})
}

func leaseRace(t T, db ledger.DB, name string) {
	var wg sync.WaitGroup
	busy, errs := make([]map[string]time.Duration, 5), make([]error, 5)
	for i := range busy {
		wg.Go(func() {
			busy[i], errs[i] = ledger.New(db).Acquire(ctx, fmt.Sprint("owner", i), []string{name}, time.Minute)
		})
	}
	wg.Wait()
	must(t, "Acquire", errors.Join(errs...))
	holders := 0
	for _, b := range busy {
		holders += 1 - len(b)
	}
	expect(t, "holders", holders, 1)
}

func contextDone(t T, db ledger.DB, name string) {
	done, cancel := context.WithCancel(ctx)
	cancel()
	_, err := ledger.New(db).Acquire(done, "one", []string{name}, time.Minute)
	expectStorage(t, "Acquire", err)
	expect(t, "busy", len(acquire(t, db, "two", time.Minute, name)), 0)
}
