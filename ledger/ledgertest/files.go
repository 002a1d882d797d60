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
		{"queued", ledger.Changes{QueuedFiles: []ledger.Queued{{Partition: p, Names: []string{"raw_0001"},
			At: at(10)}}}, 0, 0, 1},
		{"given up", ledger.Changes{Files: []ledger.FileChange{{RawFile: file, GaveUp: at(20),
			ErrorType: contract.Parse, ErrorMessage: "x"}}}, 0, 1, 0},
		{"given up, delivered twice", ledger.Changes{
			Files: []ledger.FileChange{{RawFile: file, GaveUp: at(20), ErrorType: contract.Parse}}}, 0, 1, 0},
		{"replayed", ledger.Changes{Files: []ledger.FileChange{{RawFile: file, Queued: at(30)}}}, 0, 0, 1},
		{"processed", ledger.Changes{Files: []ledger.FileChange{{RawFile: file, Processed: at(40),
			Duration: time.Second}}}, 1, 0, 0},
		{"found processed", ledger.Changes{FoundFiles: []ledger.FileChange{{RawFile: file, Processed: at(50)}}}, 1, 0,
			0},
		{"another message of it given up",
			ledger.Changes{Files: []ledger.FileChange{{RawFile: file, GaveUp: at(60)}}}, 1, 0, 0},
		{"sent once more", ledger.Changes{QueuedFiles: []ledger.Queued{{Partition: p, Names: []string{"raw_0001"},
			At: at(70)}}}, 1, 0, 0},
		{"forced", ledger.Changes{QueuedFiles: []ledger.Queued{{Partition: p, Names: []string{"raw_0001"}, At: at(80),
			RequiredSince: at(80)}}}, 0, 0, 1},
		{"an old message processed it", ledger.Changes{
			Files: []ledger.FileChange{{RawFile: file, Processed: at(79)}}}, 0, 0, 1},
		{"processed again", ledger.Changes{
			Files: []ledger.FileChange{{RawFile: file, Processed: at(90), SatisfiedUpTo: at(80),
				Duration: 3 * time.Second}}}, 1, 0, 0},
	} {
		record(t, db, step.changes)
		s := stats(t, db, name).Processing
		if s.FilesProcessed != step.processed || s.FilesFailed != step.failed || s.FilesPending != step.pending ||
			s.FilesTotal != 1 {
			t.Errorf("%s: %+v", step.what, s)
		}
	}
	s := status(t, db, ledger.StatusQuery{Filter: contract.Filter{Category: name}, Now: noon, ByPartition: true,
		TrendHours: 1})
	expect(t, "files whose duration was measured", s.FilesTimed, int64(1))
	expect(t, "average of a file", s.AvgFileMS, int64(3000))
	expect(t, "average of a partition's file", s.Partitions[0].AvgFileMS, int64(3000))
	expect(t, "files finished in the hour", []int64{s.Trend[0].FilesProcessed, s.Trend[0].FilesFailed}, []int64{3, 1})
}

// An operator discards, replaces and deletes a file; records arrive late and twice.
func fileEnded(t T, db ledger.DB, name string) {
	l := ledger.New(db)
	p := place(name, "2026-01-28")
	file := contract.RawFile{Partition: p, Name: "raw_0001"}
	counts := contract.RecordCounts{Total: 7, Rejected: 2,
		First: []contract.Rejection{{Record: 2, Offset: 5, Reason: "has no url"}}}
	letter := deadLetter(name, "letter")
	letter.WorkKey, letter.FailedAt = file.Key(), at(20)
	change := func(f ledger.FileChange) func() {
		f.RawFile = file
		return func() { record(t, db, ledger.Changes{Files: []ledger.FileChange{f}}) }
	}
	end := func(deleted bool, minute int) func() {
		return func() { must(t, "EndFile", l.EndFile(ctx, file, deleted, at(minute), "API_TOKEN")) }
	}
	for _, step := range []struct {
		what  string
		do    func()
		state string // "" for no file
	}{
		{"queued", change(ledger.FileChange{Queued: at(10)}), "pending"},
		{"given up", func() {
			record(t, db, ledger.Changes{Files: []ledger.FileChange{{RawFile: file, GaveUp: at(20),
				ErrorType: contract.Parse, ErrorMessage: "line 1"}}, DeadLetters: []ledger.DeadLetter{letter}})
		}, "failed"},
		{"discarded", change(ledger.FileChange{Discarded: at(30)}), "discarded"},
		{"discarded twice", change(ledger.FileChange{Discarded: at(30)}), "discarded"},
		{"a late message of it was given up", change(ledger.FileChange{GaveUp: at(35), ErrorType: contract.Parse}),
			"discarded"},
		{"replayed", change(ledger.FileChange{Queued: at(40)}), "pending"},
		{"discarded again", change(ledger.FileChange{Discarded: at(50)}), "discarded"},
		{"replaced", end(false, 60), "pending"},
		{"a late record of the file before",
			change(ledger.FileChange{GaveUp: at(59), Discarded: at(58), Processed: at(57)}), "pending"},
		{"processed", change(ledger.FileChange{Processed: at(70), Records: counts}), "processed"},
		{"found processed", func() {
			record(t, db, ledger.Changes{FoundFiles: []ledger.FileChange{{RawFile: file, Processed: at(80),
				Records: counts}}})
		}, "processed"},
		{"discarded although it was processed", change(ledger.FileChange{Discarded: at(90)}), "processed"},
		{"deleted", end(true, 100), ""},
		{"deleted twice", end(true, 100), ""},
	} {
		step.do()
		files, err := l.Files(ctx, p, []string{"raw_0001", "raw_0002"})
		must(t, "Files", err)
		s := stats(t, db, name)
		one := func(state string) (n int64) {
			if step.state == state {
				n = 1
			}
			return n
		}
		expect(t, step.what, files["raw_0001"].State, step.state)
		expect(t, step.what+", counted", []int64{s.Processing.FilesPending, s.Processing.FilesFailed,
			s.Processing.FilesProcessed, s.Discarded},
			[]int64{one("pending"), one("failed"), one("processed"), one("discarded")})
		expect(t, step.what+", its records", []int64{s.Records, s.RecordsRejected},
			[]int64{7 * one("processed"), 2 * one("processed")})
	}
	rows := query(t, db, `SELECT state, resolved_at, resolved_by FROM dead_letters WHERE message_id = ?1`,
		letter.MessageID)
	expect(t, "its dead letter", rows, []map[string]any{{"state": "discarded",
		"resolved_at": float64(at(60).UnixMilli()), "resolved_by": "API_TOKEN"}})
}

// The status has a limited number of rejected records of the selected partitions.
func fileRejections(t T, db ledger.DB, name string) {
	var c ledger.Changes
	for day := 1; day <= 3; day++ {
		counts := contract.RecordCounts{Total: 10, Rejected: 8}
		for i := range 6 {
			counts.First = append(counts.First, contract.Rejection{Record: i + 1, Reason: "has no url"})
		}
		c.Files = append(c.Files, ledger.FileChange{
			RawFile:   contract.RawFile{Partition: place(name, fmt.Sprintf("2026-01-%02d", day)), Name: "raw_0001"},
			Processed: at(1), Records: counts})
	}
	c.Files = append(c.Files, ledger.FileChange{RawFile: contract.RawFile{Partition: place(name, "2026-01-04"),
		Name: "raw_0001"}, Processed: at(1), Records: contract.RecordCounts{Total: 10}})
	record(t, db, c)
	s := status(t, db, ledger.StatusQuery{Filter: contract.Filter{Category: name}, Now: noon})
	expect(t, "records", []int64{s.Records, s.RecordsRejected}, []int64{40, 24})
	expect(t, "examples", len(s.Rejections), contract.MaxRejections)
	expect(t, "the first", s.Rejections[0],
		contract.FileRejection{Partition: place(name, "2026-01-03"), Chunk: "raw_0001",
			Rejection: contract.Rejection{Record: 1, Reason: "has no url"}})
	s = status(t, db, ledger.StatusQuery{Filter: contract.Filter{Category: name, Date: "2026-01-01"}, Now: noon})
	expect(t, "examples of a partition", len(s.Rejections), 6)
}

func filesInFlight(t T, db ledger.DB, name string) {
	l := ledger.New(db)
	p, other := place(name, "2026-01-28"), place(name, "2026-01-29")
	file := func(p contract.Partition, n int) contract.RawFile {
		return contract.RawFile{Partition: p, Name: fmt.Sprintf("raw_%04d", n)}
	}
	must(t, "Queued", l.Queued(ctx, []contract.RawFile{file(p, 1), file(p, 2), file(p, 3), file(p, 4)}, at(0),
		time.Time{}))
	must(t, "Queued", l.Queued(ctx, []contract.RawFile{file(p, 5), file(other, 1)}, at(60), time.Time{}))
	must(t, "Queued", l.Queued(ctx, []contract.RawFile{file(other, 2)}, at(70), at(65)))
	record(t, db, ledger.Changes{Files: []ledger.FileChange{
		{RawFile: file(p, 2), Processed: at(5)}, {RawFile: file(p, 3), GaveUp: at(5)}, {RawFile: file(p, 6)},
		{RawFile: file(p, 8), Queued: at(80), Replaced: at(85)}, // the message belongs to the previous file
		{RawFile: file(p, 9), Queued: at(60), Replaced: at(60)},
		{RawFile: file(p, 10), Queued: at(60), GaveUp: at(65), ErrorType: contract.Parse},
		{RawFile: file(p, 11), Queued: at(0), GaveUp: at(65), ErrorType: contract.Storage},
		{RawFile: file(p, 12), Queued: at(-60), GaveUp: at(-50), ErrorType: contract.Parse, Replaced: at(-40)},
	}})
	asked := []contract.RawFile{file(other, 1), file(other, 2), file(other, 9)}
	for n := 1; n <= 12; n++ {
		asked = append(asked, file(p, n))
	}
	for _, c := range []struct {
		since         int
		requiredSince time.Time
		want          []contract.RawFile
	}{
		{-1, time.Time{}, []contract.RawFile{file(p, 1), file(p, 4), file(p, 5), file(p, 9), file(other, 1),
			file(other, 2)}},
		{0, time.Time{}, []contract.RawFile{file(p, 5), file(p, 9), file(other, 1), file(other, 2)}},
		{60, time.Time{}, []contract.RawFile{file(other, 2)}},
		{70, time.Time{}, nil},
		{-1, at(65), []contract.RawFile{file(other, 2)}},
		{-1, at(66), nil},
	} {
		got, err := l.Standings(ctx, asked, at(c.since), c.requiredSince)
		must(t, "Standings", err)
		want := map[contract.RawFile]contract.FileStanding{file(p, 10): {BrokenAt: at(65)}}
		for _, f := range c.want {
			want[f] = contract.FileStanding{InFlight: true}
		}
		for f, s := range got {
			s.BrokenAt = s.BrokenAt.UTC()
			got[f] = s
		}
		expect(t, fmt.Sprint("in flight since ", c.since), got, want)
	}
}
