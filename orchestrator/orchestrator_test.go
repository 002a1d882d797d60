package orchestrator_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/newsfork/seed-engine/contract"
	"github.com/newsfork/seed-engine/orchestrator"
	"github.com/newsfork/seed-engine/r2"
)

// queue captures messages and can fail.
type queue struct {
	files []string
	etags []string // of the files
	more  []contract.Continuation
	sends int
	fail  func(nth int) error
	force bool
}

func (q *queue) Send(_ context.Context, b *contract.Batch) error {
	q.sends++
	if q.fail != nil {
		if err := q.fail(q.sends); err != nil {
			return err
		}
	}
	for message := range b.Messages() {
		w, err := contract.ParseSeed(message)
		if err != nil {
			return err
		}
		if w.Continue != nil {
			q.more = append(q.more, *w.Continue)
		} else {
			q.files, q.etags = append(q.files, w.File.FilePath), append(q.etags, w.File.ETag)
			q.force = w.File.Force
		}
	}
	return nil
}

// inFlight is a fake ledger that records when files were sent.
type inFlight struct {
	at            map[contract.RawFile]time.Time
	broken        map[contract.RawFile]time.Time
	requiredSince time.Time
	asked         int
	writes        int
	err           error
}

func (l *inFlight) Standings(_ context.Context, files []contract.RawFile, since,
	requiredSince time.Time) (map[contract.RawFile]contract.FileStanding, error) {
	l.asked++
	found := map[contract.RawFile]contract.FileStanding{}
	for f, at := range l.broken {
		found[f] = contract.FileStanding{BrokenAt: at}
	}
	for _, f := range files {
		if l.at[f].After(since) && !l.requiredSince.Before(requiredSince) {
			found[f] = contract.FileStanding{InFlight: true}
		}
	}
	return found, l.err
}

func (l *inFlight) Queued(_ context.Context, files []contract.RawFile, at, requiredSince time.Time) error {
	l.writes++
	if l.err != nil {
		return l.err
	}
	for _, f := range files {
		if l.at == nil {
			l.at = map[contract.RawFile]time.Time{}
		}
		l.at[f] = at
	}
	l.requiredSince = requiredSince
	return nil
}

func key(country, category, date string, n int) string {
	return fmt.Sprintf("raw/country=%s/category=%s/date=%s/raw_%04d.json", country, category, date, n)
}

func bucketOf(t *testing.T, keys ...string) *r2.Memory {
	t.Helper()
	b := r2.NewMemory()
	for _, k := range keys {
		if _, err := b.Put(t.Context(), k, nil, nil); err != nil {
			t.Fatal(err)
		}
	}
	return b
}

func noSleep(context.Context, time.Duration) error { return nil }

func run(t *testing.T, b orchestrator.Lister, q *queue, f contract.Filter) orchestrator.Result {
	t.Helper()
	o := &orchestrator.Orchestrator{Bucket: b, Queue: q, Ledger: &inFlight{}, Log: slog.New(slog.DiscardHandler),
		Now: time.Now, Sleep: noSleep}
	r, err := o.Run(t.Context(), contract.Continuation{Filter: f})
	if err != nil {
		t.Fatal(err)
	}
	return r
}

func TestRun_Filters(t *testing.T) {
	all := []string{
		key("kr", "news", "2026-01-28", 1),
		key("sg", "finance", "2026-01-28", 1),
		key("sg", "news", "2026-01-27", 1),
		key("sg", "news", "2026-01-28", 1),
		key("sg", "news", "2026-01-28", 2),
	}
	noise := []string{
		"raw/country=sg/category=news/date=2026-01-28/raw_metadata.json",
		"raw/country=sg/category=news/date=2026-01-28/.DS_Store",
		"raw/country=sg/category=news/date=2026-01-28/raw_01.json",
		"raw/country=sg/category=news/date=2026-01-28/raw_0001.json.tmp",
		"raw/country=SG/category=news/date=2026-01-28/raw_0001.json",
		"raw/country=sg/category=news/date=2026-02-30/raw_0001.json",
		"raw/country=sg/raw_0001.json",
		"prod/country=sg/category=news/date=2026-01-28/raw_0001.json",
	}
	b := bucketOf(t, append(all, noise...)...)
	for _, c := range []struct {
		filter contract.Filter
		want   []string
	}{
		{contract.Filter{}, all},
		{contract.Filter{Country: "sg"}, all[1:]},
		{contract.Filter{Country: "sg", Category: "news"}, all[2:]},
		{contract.Filter{Country: "sg", Category: "news", Date: "2026-01-28"}, all[3:]},
		{contract.Filter{Category: "news"}, []string{all[0], all[2], all[3], all[4]}},
		{contract.Filter{Category: "news", Date: "2026-01-28"}, []string{all[0], all[3], all[4]}},
		{contract.Filter{Date: "2026-01-28"}, []string{all[0], all[1], all[3], all[4]}},
		{contract.Filter{Country: "sg", Date: "2026-01-28"}, []string{all[1], all[3], all[4]}},
		{contract.Filter{Country: "us"}, nil},
	} {
		q := &queue{}
		r := run(t, b, q, c.filter)
		if !slices.Equal(q.files, c.want) || r.FilesFound != len(c.want) || r.Sent != len(c.want) || r.Skipped != 0 {
			t.Errorf("%+v: queued %v (%+v), want %v", c.filter, q.files, r, c.want)
		}
	}
}

func TestSkip_FinishedUnlessForced(t *testing.T) {
	b := bucketOf(t, key("sg", "news", "2026-01-28", 1), key("sg", "news", "2026-01-28", 1)+".success",
		key("sg", "news", "2026-01-28", 2),
		// Sorts between a raw file and its checkpoint.
		key("sg", "news", "2026-01-28", 1)+"-copy", key("sg", "news", "2026-01-28", 3)+".success")
	q := &queue{}
	if r := run(t, b, q, contract.Filter{}); r != (orchestrator.Result{FilesFound: 2, Sent: 1, Skipped: 1,
		Finished: 1}) {
		t.Errorf("got %+v", r)
	}
	q = &queue{}
	if r := run(t, b, q, contract.Filter{Force: true}); r != (orchestrator.Result{FilesFound: 2, Sent: 2}) ||
		!q.force {
		t.Errorf("forced: got %+v, force in messages %v", r, q.force)
	}
}

func TestRun_PagesAndBatches(t *testing.T) {
	var keys []string
	for n := range 2500 {
		keys = append(keys, key("sg", "news", "2026-01-28", n))
		if n%5 == 0 {
			keys = append(keys, key("sg", "news", "2026-01-28", n)+".success")
		}
	}
	q := &queue{}
	r := run(t, bucketOf(t, keys...), q, contract.Filter{})
	if r.FilesFound != 2500 || r.Sent != 2000 || r.Skipped != 500 || r.Continued {
		t.Errorf("got %+v", r)
	}
	if q.sends != 20 {
		t.Errorf("2,000 messages took %d sends, want 20 of 100", q.sends)
	}
	if !slices.IsSorted(q.files) {
		t.Error("files are not queued in the order of their names")
	}
}

func TestSend_FailuresAreCounted(t *testing.T) {
	var keys []string
	for n := range 250 {
		keys = append(keys, key("sg", "news", "2026-01-28", n))
	}
	q := &queue{fail: func(nth int) error {
		if nth >= 2 && nth < 6 { // the second batch, however often
			return errors.New("queue is down")
		}
		return nil
	}}
	o := &orchestrator.Orchestrator{Bucket: bucketOf(t, keys...), Queue: q, Ledger: &inFlight{},
		Log: slog.New(slog.DiscardHandler), Now: time.Now, Sleep: noSleep}
	r, err := o.Run(t.Context(), contract.Continuation{})
	if contract.KindOf(err) != contract.Storage {
		t.Errorf("got error %v, want a storage error", err)
	}
	if r != (orchestrator.Result{FilesFound: 250, Sent: 150, Failed: 100}) {
		t.Errorf("got %+v", r)
	}
}

func TestRun_ListingFails(t *testing.T) {
	b := bucketOf(t, key("sg", "news", "2026-01-28", 1))
	b.Fail = func(op, _ string) error {
		if op == "list" {
			return errors.New("bucket is down")
		}
		return nil
	}
	o := &orchestrator.Orchestrator{Bucket: b, Queue: &queue{}, Ledger: &inFlight{},
		Log: slog.New(slog.DiscardHandler), Now: time.Now, Sleep: noSleep}
	if _, err := o.Run(t.Context(), contract.Continuation{}); contract.KindOf(err) != contract.Storage {
		t.Errorf("got %v, want a storage error", err)
	}
}

// counted counts listings.
type counted struct {
	orchestrator.Lister
	lists int
}

func (c *counted) List(ctx context.Context, o r2.ListOptions) (*r2.Page, error) {
	c.lists++
	return c.Lister.List(ctx, o)
}

// An orchestration too large for one event continues through the JSON of its messages. Every file is queued exactly
// once, and no event exceeds its limit of calls.
func TestRun_Continuation(t *testing.T) {
	var keys, want []string
	for _, country := range []string{"de", "kr", "sg"} {
		for _, category := range []string{"finance", "news"} {
			for _, date := range []string{"2026-01-27", "2026-01-28"} {
				for n := range 400 {
					k := key(country, category, date, n)
					keys = append(keys, k)
					if n%3 == 0 {
						keys = append(keys, k+".success")
					} else {
						want = append(want, k)
					}
				}
			}
		}
	}
	memory := bucketOf(t, keys...)
	requested := time.Date(2026, 1, 28, 10, 0, 0, 0, time.UTC)
	for _, f := range []contract.Filter{{}, {Category: "news"}, {Date: "2026-01-28"},
		{Country: "sg", Date: "2026-01-27"}, {Category: "none"}, {Date: "2026-03-01"}} {
		const maxCalls = 20
		b := &counted{Lister: memory}
		q := &queue{}
		o := &orchestrator.Orchestrator{Bucket: b, Queue: q, Ledger: &inFlight{}, Log: slog.New(slog.DiscardHandler),
			Now: time.Now, Sleep: noSleep, MaxCalls: maxCalls}
		next := contract.Continuation{Filter: f, RequestedAt: requested}
		var total orchestrator.Result
		events := 0
		for {
			events++
			b.lists, q.sends, q.more = 0, 0, nil
			r, err := o.Run(t.Context(), next)
			if err != nil {
				t.Fatal(err)
			}
			total.FilesFound += r.FilesFound
			total.Sent += r.Sent
			total.Skipped += r.Skipped
			if calls := b.lists + q.sends; calls > maxCalls+1 {
				t.Fatalf("%+v: event %d made %d calls, limit %d and the continuation", f, events, calls, maxCalls)
			}
			if r.Continued != (len(q.more) == 1) {
				t.Fatalf("%+v: continued is %v, continuation messages %v", f, r.Continued, q.more)
			}
			if !r.Continued {
				break
			}
			if !q.more[0].RequestedAt.Equal(requested) {
				t.Errorf("the continuation lost requested_at: %v", q.more[0])
			}
			if events > 200 {
				t.Fatalf("%+v: no end after %d events; at %q", f, events, q.more[0].Cursor)
			}
			next = q.more[0]
		}
		var expected []string
		for _, k := range want {
			file, _, _ := contract.ParseRawKey(k)
			p := file.Partition
			if (f.Country == "" || f.Country == p.Country) && (f.Category == "" || f.Category == p.Category) &&
				(f.Date == "" || f.Date == p.Date) {
				expected = append(expected, k)
			}
		}
		if !slices.Equal(q.files, expected) {
			t.Errorf("%+v: queued %d files, want %d, in %d events", f, len(q.files), len(expected), events)
		}
		if total.FilesFound != total.Sent+total.Skipped || total.Sent != len(expected) {
			t.Errorf("%+v: totals %+v do not add up", f, total)
		}
	}
}

// million generates a listing of n raw files of one partition, every second of them finished.
type million struct{ n, lists int }

func (m *million) List(_ context.Context, o r2.ListOptions) (*r2.Page, error) {
	m.lists++
	const first = 10_000_000 // as many digits for all, so that the order of keys is that of numbers
	at := 0                  // index of the next key: 2i the file, 2i+1 its checkpoint
	after := o.StartAfter
	if o.Cursor != "" {
		after = o.Cursor
	}
	if f, checkpoint, ok := contract.ParseRawKey(after); ok {
		var number int
		fmt.Sscanf(f.Name, "raw_%d", &number)
		at = 2*(number-first) + 1
		if checkpoint {
			at++
		}
	} else if after != "" {
		return &r2.Page{}, nil
	}
	page := &r2.Page{}
	for ; at < 2*m.n; at++ {
		if len(page.Objects) == r2.MaxListKeys {
			page.Truncated, page.Cursor = true, page.Objects[len(page.Objects)-1].Key
			return page, nil
		}
		k := key("sg", "news", "2026-01-28", first+at/2)
		if at%2 == 1 {
			if at/2%2 == 0 {
				continue // not finished
			}
			k += ".success"
		}
		page.Objects = append(page.Objects, r2.Object{Key: k})
	}
	return page, nil
}

// A bucket with 1,000,000 raw files takes about ten events, each far below the platform's 10,000 subrequests.
func TestRun_MillionFiles(t *testing.T) {
	b := &million{n: 1_000_000}
	q := &counting{}
	o := &orchestrator.Orchestrator{Bucket: b, Queue: q, Ledger: &inFlight{}, Log: slog.New(slog.DiscardHandler),
		Now: time.Now, Sleep: noSleep}
	var next contract.Continuation
	events, sent, skipped := 0, 0, 0
	for {
		events++
		b.lists, q.sends, q.next = 0, 0, nil
		r, err := o.Run(t.Context(), next)
		if err != nil {
			t.Fatal(err)
		}
		sent, skipped = sent+r.Sent, skipped+r.Skipped
		if calls := b.lists + q.sends; calls > orchestrator.MaxCalls+1 {
			t.Fatalf("event %d made %d calls", events, calls)
		}
		if !r.Continued {
			break
		}
		next = *q.next
	}
	if sent != 500_000 || skipped != 500_000 {
		t.Errorf("sent %d, skipped %d, want 500,000 each", sent, skipped)
	}
	// 1,500,000 keys are 1,500 listings, 500,000 messages are 5,000 sends: 6,500 calls.
	if events < 7 || events > 10 {
		t.Errorf("took %d events of at most %d calls, want about 7", events, orchestrator.MaxCalls)
	}
	t.Logf("%d events", events)
}

// counting counts messages and keeps the last continuation.
type counting struct {
	sends int
	next  *contract.Continuation
}

func (q *counting) Send(_ context.Context, b *contract.Batch) error {
	q.sends++
	if b.Len() == 1 && strings.HasPrefix(string(b.Bytes()), `{"orchestrate"`) {
		var m struct{ Orchestrate *contract.Continuation }
		if err := json.Unmarshal(b.Bytes(), &m); err != nil {
			return err
		}
		q.next = m.Orchestrate
	}
	return nil
}

func TestSkip_InFlight(t *testing.T) {
	var keys []string
	for i := range 250 {
		keys = append(keys, key("sg", "news", "2026-01-28", i+1))
	}
	b := bucketOf(t, keys...)
	l, q := &inFlight{}, &queue{}
	clock := time.Date(2026, 1, 28, 10, 0, 0, 0, time.UTC)
	o := &orchestrator.Orchestrator{Bucket: b, Queue: q, Ledger: l, Log: slog.New(slog.DiscardHandler),
		Now: func() time.Time { return clock }, Sleep: noSleep}
	steps := []struct {
		what          string
		after         time.Duration
		force         bool
		sent, skipped int
	}{
		{"at first", 0, false, 250, 0},
		{"at once again", 0, false, 0, 250},
		{"forced", 0, true, 250, 0},
		{"nine minutes later", 9 * time.Minute, false, 0, 250},
		{"ten minutes after they were sent", time.Minute, false, 250, 0},
	}
	for _, c := range steps {
		clock = clock.Add(c.after)
		r, err := o.Run(t.Context(), contract.Continuation{Filter: contract.Filter{Force: c.force}})
		if err != nil || r.FilesFound != 250 || r.Sent != c.sent || r.Skipped != c.skipped {
			t.Errorf("%s: %+v, %v; want %d sent", c.what, r, err, c.sent)
		}
		if want := c.force; c.sent > 0 && want == l.requiredSince.IsZero() {
			t.Errorf("%s: required since %v", c.what, l.requiredSince)
		}
	}
	if l.writes != 3 {
		t.Errorf("%d writes for 3 runs that sent anything", l.writes)
	}

	l.err = errors.New("D1 is away")
	if r, err := o.Run(t.Context(), contract.Continuation{}); err != nil || r.Sent != 250 {
		t.Errorf("without the ledger: %+v, %v", r, err)
	}
}

// A file that cannot be parsed is not queued again, unless it is another one by now; and the counts say why what was
// skipped was.
func TestSkip_Reasons(t *testing.T) {
	b := bucketOf(t)
	clock := time.Date(2026, 1, 28, 10, 0, 0, 0, time.UTC)
	b.Now = func() time.Time { clock = clock.Add(2 * time.Second); return clock }
	file := func(n int) string { return key("sg", "news", "2026-01-28", n) }
	raw := func(n int) contract.RawFile {
		f, _, _ := contract.ParseRawKey(file(n))
		return f
	}
	for _, k := range []string{file(1), file(1) + ".success", file(2), file(2) + ".discarded", file(3), file(4)} {
		if _, err := b.Put(t.Context(), k, nil, nil); err != nil {
			t.Fatal(err)
		}
	}
	l := &inFlight{at: map[contract.RawFile]time.Time{raw(3): clock},
		broken: map[contract.RawFile]time.Time{raw(4): clock.Add(time.Second), raw(5): clock.Add(time.Second)}}
	if _, err := b.Put(t.Context(), file(5), nil, nil); err != nil { // in place of the one that was broken
		t.Fatal(err)
	}
	for force, want := range map[bool]orchestrator.Result{
		false: {FilesFound: 5, Sent: 1, Skipped: 4, Finished: 1, Discarded: 1, InFlight: 1, Broken: 1},
		true:  {FilesFound: 5, Sent: 4, Skipped: 1, Discarded: 1},
	} {
		q := &queue{}
		before := &inFlight{at: maps.Clone(l.at), broken: l.broken}
		o := &orchestrator.Orchestrator{Bucket: b, Queue: q, Ledger: before, Log: slog.New(slog.DiscardHandler),
			Now: func() time.Time { return clock }, Sleep: noSleep}
		r, err := o.Run(t.Context(), contract.Continuation{Filter: contract.Filter{Force: force}})
		if err != nil || r != want {
			t.Errorf("force %v: %+v, %v", force, r, err)
		}
		if !force && !slices.Equal(q.files, []string{file(5)}) {
			t.Errorf("queued: %v", q.files)
		}
	}
}

// What could not be sent is not in flight.
func TestSend_FailedFilesAreNotInFlight(t *testing.T) {
	b := bucketOf(t, key("sg", "news", "2026-01-28", 1))
	l, q := &inFlight{}, &queue{fail: func(int) error { return errors.New("the queue is away") }}
	o := &orchestrator.Orchestrator{Bucket: b, Queue: q, Ledger: l, Log: slog.New(slog.DiscardHandler), Now: time.Now,
		Sleep: noSleep}
	if r, err := o.Run(t.Context(), contract.Continuation{}); err == nil || r.Failed != 1 {
		t.Errorf("with a failing queue: %+v, %v", r, err)
	}
	q.fail = nil
	if r, err := o.Run(t.Context(), contract.Continuation{}); err != nil || r.Sent != 1 {
		t.Errorf("afterwards: %+v, %v", r, err)
	}
}

func TestSkip_FinishedNeedsNoLedger(t *testing.T) {
	l := &inFlight{}
	b := bucketOf(t, key("sg", "news", "2026-01-28", 1), key("sg", "news", "2026-01-28", 1)+".success")
	o := &orchestrator.Orchestrator{Bucket: b, Queue: &queue{}, Ledger: l, Log: slog.New(slog.DiscardHandler),
		Now: time.Now, Sleep: noSleep}
	if r, err := o.Run(t.Context(), contract.Continuation{}); err != nil || r.Skipped != 1 || l.asked+l.writes != 0 {
		t.Errorf("%+v, %v, asked %d times", r, err, l.asked+l.writes)
	}
}

// A checkpoint counts for the content that was processed, whenever that was replaced.
func TestRun_ReplacedFiles(t *testing.T) {
	b := bucketOf(t)
	put := func(key, body string) *r2.Object {
		o, err := b.Put(t.Context(), key, []byte(body), nil)
		if err != nil {
			t.Fatal(err)
		}
		return o
	}
	file := func(n int) string { return key("sg", "news", "2026-01-28", n) }
	clock := time.Date(2026, 1, 28, 10, 0, 0, 0, time.UTC)
	b.Now = func() time.Time { clock = clock.Add(time.Second); return clock }

	unchanged := put(file(1), "one")
	put(file(1)+".success", unchanged.ETag)
	replacedAfter := put(file(2), "two")
	put(file(2)+".success", replacedAfter.ETag)
	put(file(2), "other")
	replacedDuring := put(file(3), "three")
	put(file(3), "other")
	put(file(3)+".success", replacedDuring.ETag)
	same := put(file(4), "four")
	put(file(4)+".success", same.ETag)
	put(file(4), "four") // uploaded again
	put(file(5), "five")
	put(file(5)+".success", "") // of an earlier version
	put(file(6)+".success", "")
	put(file(6), "six")

	q := &queue{}
	r := run(t, b, q, contract.Filter{Country: "sg"})
	if want := []string{file(2), file(3), file(6)}; !slices.Equal(q.files, want) || r.Finished != 3 {
		t.Errorf("%v, want %v; %+v", q.files, want, r)
	}
	for i, m := range q.etags {
		if o, err := b.Head(t.Context(), q.files[i]); err != nil || o.ETag != m {
			t.Errorf("%s is queued with ETag %q: %v", q.files[i], m, err)
		}
	}
}
