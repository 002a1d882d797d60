package ledgertest

import (
	"fmt"
	"strings"
	"time"

	"github.com/newsfork/seed-engine/contract"
	"github.com/newsfork/seed-engine/ledger"
)

func failure(w ledger.Work, id string, attempt int) ledger.Failure {
	return ledger.Failure{
		Work: w, MessageID: id, Attempt: attempt,
		ErrorType: contract.Parse, ErrorMessage: fmt.Sprintf("attempt %d of %s", attempt, id), WorkerVersion: "v1",
		Duration: time.Duration(attempt) * 1500 * time.Millisecond,
		FailedAt: noon.Add(time.Duration(attempt) * time.Second),
	}
}

func reasons(t T, db ledger.DB, name string) {
	l := ledger.New(db)
	a, b := ledger.Work{Queue: name, Key: "a"}, ledger.Work{Queue: name, Key: "b"}
	elsewhere := ledger.Work{Queue: name + "2", Key: "a"}
	must(t, "Record", l.Record(ctx, ledger.Changes{Failures: []ledger.Failure{failure(a, "m1", 2),
		failure(b, "m2", 1), failure(elsewhere, "m3", 1)}}))
	must(t, "Record", l.Record(ctx, ledger.Changes{Failures: []ledger.Failure{failure(a, "m1", 1),
		failure(a, "m0", 3)}}))
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
	must(t, "Record", l.Record(ctx, ledger.Changes{Failures: []ledger.Failure{failure(a, "m1", 1),
		failure(a, "m1", 2), failure(b, "m2", 1), failure(elsewhere, "m3", 1)}}))
	must(t, "Record", l.Record(ctx, ledger.Changes{Finished: []ledger.Work{a, {Queue: name, Key: "none"}}}))
	got, err := l.Reasons(ctx, []ledger.Work{a, b, elsewhere})
	must(t, "Reasons", err)
	expect(t, "works left", len(got), 2)
	expect(t, "reasons of finished work", len(got[a]), 0)
}

// leadingErrors counts with what other cases left: they record before, and this one after them.
func leadingErrors(t T, db ledger.DB, name string) {
	p, since := place(name, "2026-01-28"), at(100_000)
	var c ledger.Changes
	for i, kind := range []contract.Kind{contract.Timeout, contract.Network, contract.Network, contract.Storage} {
		domain := fmt.Sprint("d", i, ".sg")
		c.Domains = append(c.Domains,
			ledger.DomainChange{Partition: p, Domain: domain, GaveUp: since.Add(time.Second), ErrorType: kind},
			ledger.DomainChange{Partition: p, Domain: "early-" + domain, GaveUp: since.Add(-time.Second),
				ErrorType: contract.Parse})
		file := contract.RawFile{Partition: p, Name: fmt.Sprint("raw_000", i)}
		c.Files = append(c.Files, ledger.FileChange{RawFile: file, GaveUp: since.Add(time.Second),
			ErrorType: contract.Parse})
	}
	record(t, db, c)
	l := ledger.New(db)
	for of, want := range map[ledger.Failing]*contract.AlarmCause{
		ledger.FailingDomains: {ErrorType: "network_error", Count: 2, Of: 4},
		ledger.FailingFiles:   {ErrorType: "parse_error", Count: 4, Of: 4},
		ledger.FailingLetters: nil,
	} {
		got, err := l.LeadingError(ctx, of, since)
		must(t, "LeadingError", err)
		expect(t, string(of), string(contract.Encode(got)), string(contract.Encode(want)))
	}
}
