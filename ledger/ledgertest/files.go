package ledgertest

import (
	"fmt"
	"time"

	"github.com/newsfork/seed-engine/contract"
	"github.com/newsfork/seed-engine/ledger"
)

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
		{"forced", ledger.Changes{QueuedFiles: []ledger.Queued{{Partition: p, Names: []string{"raw_0001"}, At: at(80), RequiredSince: at(80)}}}, 0, 0, 1},
		{"an old message processed it", ledger.Changes{Files: []ledger.FileChange{{RawFile: file, Processed: at(79)}}}, 0, 0, 1},
		{"processed again", ledger.Changes{Files: []ledger.FileChange{{RawFile: file, Processed: at(90), SatisfiedUpTo: at(80), Duration: 3 * time.Second}}}, 1, 0, 0},
	} {
		record(t, db, step.changes)
		s := stats(t, db, name).Processing
		if s.FilesProcessed != step.processed || s.FilesFailed != step.failed || s.FilesPending != step.pending || s.FilesTotal != 1 {
			t.Errorf("%s: %+v", step.what, s)
		}
	}
	s := status(t, db, ledger.StatusQuery{Filter: contract.Filter{Category: name}, Now: noon, TrendHours: 1})
	expect(t, "files whose duration was measured", s.FilesTimed, int64(1))
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
		since         int
		requiredSince time.Time
		want          []contract.RawFile
	}{
		{-1, time.Time{}, []contract.RawFile{file(p, 1), file(p, 4), file(p, 5), file(other, 1), file(other, 2)}},
		{0, time.Time{}, []contract.RawFile{file(p, 5), file(other, 1), file(other, 2)}},
		{60, time.Time{}, []contract.RawFile{file(other, 2)}},
		{70, time.Time{}, nil},
		{-1, at(65), []contract.RawFile{file(other, 2)}},
		{-1, at(66), nil},
	} {
		got, err := l.InFlight(ctx, asked, at(c.since), c.requiredSince)
		must(t, "InFlight", err)
		want := map[contract.RawFile]bool{}
		for _, f := range c.want {
			want[f] = true
		}
		expect(t, fmt.Sprint("in flight since ", c.since), got, want)
	}
}
