package reconcile_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"testing"
	"time"

	"github.com/newsfork/seed-engine/contract"
	"github.com/newsfork/seed-engine/deadletters"
	"github.com/newsfork/seed-engine/frontier/client"
	twin "github.com/newsfork/seed-engine/frontier/sqlite"
	"github.com/newsfork/seed-engine/ledger"
	"github.com/newsfork/seed-engine/ledger/sqlite"
	"github.com/newsfork/seed-engine/r2"
	"github.com/newsfork/seed-engine/reconcile"
)

var (
	place  = contract.Partition{Country: "sg", Category: "news", Date: "2026-01-28"}
	before = time.Date(2026, 1, 28, 10, 0, 0, 0, time.UTC)
)

// small returns a bucket with pages of a few keys.
type small struct {
	*r2.Memory
	limit int
	gets  int
}

func (s *small) List(ctx context.Context, o r2.ListOptions) (*r2.Page, error) {
	if o.Limit == 0 {
		o.Limit = s.limit
	}
	return s.Memory.List(ctx, o)
}

func (s *small) Get(ctx context.Context, key string) (*r2.Body, error) {
	s.gets++
	return s.Memory.Get(ctx, key)
}

type fixture struct {
	*reconcile.Reconciler
	bucket *small
	db     *sqlite.DB
	shards *twin.Shards
}

func newFixture(t *testing.T, limit int) *fixture {
	t.Helper()
	db, err := sqlite.Open()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { db.Close() })
	f := &fixture{bucket: &small{Memory: r2.NewMemory(), limit: limit}, db: db, shards: &twin.Shards{}}
	t.Cleanup(f.shards.Close)
	l := ledger.New(db)
	deadLetters := &deadletters.Store{Ledger: l, Bucket: f.bucket, Log: slog.New(slog.DiscardHandler)}
	f.Reconciler = &reconcile.Reconciler{Bucket: f.bucket, DeadLetters: deadLetters, Ledger: l,
		Now: func() time.Time { return time.Now().Add(time.Hour) }, MaxPages: 2,
		Frontier: client.Frontier{Caller: f.shards, Shards: 4}, URLs: 500}
	return f
}

func (f *fixture) put(t *testing.T, key, content string, metadata map[string]string) {
	t.Helper()
	if _, err := f.bucket.Put(t.Context(), key, []byte(content), &r2.PutOptions{Metadata: metadata}); err != nil {
		t.Fatal(err)
	}
}

func (f *fixture) raw(t *testing.T, n int, processed bool) {
	t.Helper()
	raw := contract.RawFile{Partition: place, Name: fmt.Sprintf("raw_%04d", n)}
	f.put(t, raw.Key(), "[]", nil)
	if processed {
		f.put(t, raw.Checkpoint(), "", contract.CheckpointMetadata(before, "1"))
	}
}

// domain stores what a collection stores. Without metadata in its checkpoint it is one of an older program.
func (f *fixture) domain(t *testing.T, name string, reachable, robots, sitemap, metadata bool) {
	t.Helper()
	dir := contract.DomainDir{Partition: place, Domain: name}
	d := &contract.Document{Domain: name, Reachable: reachable, CollectedAt: contract.Time{Time: before}}
	d.Robots.Exists, d.Sitemap.Exists, d.Processing.ProcessingDurationMS = robots, sitemap, 1000
	d.Technical.RobotsTxt.AllowsCrawling = sitemap
	if !reachable {
		d.Robots.Error, d.Robots.ErrorType = contract.Text("refused"), contract.Text("network_error")
	}
	body, err := json.Marshal(d)
	if err != nil {
		t.Fatal(err)
	}
	f.put(t, dir.Document(), string(body), nil)
	if robots {
		f.put(t, dir.Robots(), "x", nil)
	}
	for i := range len(name) % 3 {
		f.put(t, dir.URLList("raw_0001", i+1), "[]", nil)
	}
	m := contract.CheckpointMetadata(before, "1")
	if metadata {
		for k, v := range contract.OutcomeOf(d).Metadata() {
			m[k] = v
		}
	}
	f.put(t, dir.Checkpoint(), "", m)
}

// run calls until it is done, and adds up.
func (f *fixture) run(t *testing.T) (sum contract.Reconciled, calls int) {
	t.Helper()
	cursor := ""
	for calls = 1; ; calls++ {
		got, err := f.Run(t.Context(), place, cursor)
		if err != nil {
			t.Fatal(err)
		}
		sum.Files, sum.Domains, sum.DeadLetters = sum.Files+got.Files, sum.Domains+got.Domains,
			sum.DeadLetters+got.DeadLetters
		if got.Done != (got.Cursor == nil) {
			t.Fatalf("done is %v with the cursor %v", got.Done, got.Cursor)
		}
		if got.Done {
			return sum, calls
		}
		if *got.Cursor == cursor || calls > 500 {
			t.Fatalf("no progress after %d calls", calls)
		}
		cursor = *got.Cursor
	}
}

func (f *fixture) stats(t *testing.T) contract.Stats {
	t.Helper()
	s, err := ledger.New(f.db).Status(t.Context(), ledger.StatusQuery{Now: time.Now()})
	if err != nil {
		t.Fatal(err)
	}
	return s.Stats
}

func storeDeadLetter(t *testing.T, f *fixture, queue, id, message string, metadata map[string]string) {
	t.Helper()
	body, err := json.Marshal(contract.DeadLetter{
		OriginalMessage: json.RawMessage(message),
		ErrorInfo: contract.DeadLetterError{ErrorType: contract.Parse, ErrorMessage: "not JSON", RetryCount: 3,
			FailedAt: before},
		Context: contract.DeadLetterContext{QueueName: queue, WorkerVersion: "1"},
	})
	if err != nil {
		t.Fatal(err)
	}
	f.put(t, "dlq/queue="+queue+"/date=2026-01-28/"+id+".json", string(body), metadata)
}

// fill stores a partition with objects of every kind.
func fill(t *testing.T, f *fixture) {
	t.Helper()
	for n := range 30 {
		f.raw(t, n+1, n%3 > 0)
	}
	f.put(t, "raw/country=sg/category=news/date=2026-01-28/raw_metadata.json", "{}", nil)
	f.put(t, "raw/country=sg/category=news/date=2026-01-29/raw_0001.json", "[]", nil)
	for i := range 40 {
		f.domain(t, fmt.Sprintf("d%d.sg", i), i%4 > 0, i%4 > 0 && i%5 > 0, i%4 > 1, i%2 == 0)
	}
	f.domain(t, "example.com", true, true, true, true)
	f.domain(t, "example.com.au", true, true, true, true)
	f.put(t, "prod/country=sg/category=news/date=2026-01-28/halfway.sg/domain_metadata.json", "{}", nil)
	f.put(t, "prod/country=sg/category=news/date=2026-01-28/zz.sg/robots.txt", "x", nil)
	const partition = `"partition_info":{"country":"sg","category":"news","date":"2026-01-28"}`
	storeDeadLetter(t, f, "newsfork-seed-dev", "m1",
		`{"file_path":"raw/country=sg/category=news/date=2026-01-28/raw_0001.json",`+partition+`}`,
		map[string]string{"partition": "sg/news/2026-01-28"})
	storeDeadLetter(t, f, "newsfork-seed-dev", "m2",
		`{"file_path":"raw/country=sg/category=news/date=2026-01-28/raw_0002.json",`+partition+`}`, nil)
	storeDeadLetter(t, f, "newsfork-domain-dev", "m3",
		`{"domain":"never.sg","domain_id":"x","urls":[],`+partition+
			`,"source_file_path":"raw/country=sg/category=news/date=2026-01-28/raw_0001.json"}`, nil)
	storeDeadLetter(t, f, "newsfork-seed-dev", "m4",
		`{"file_path":"raw/country=sg/category=news/date=2026-01-29/raw_0001.json","partition_info":{"country":"sg",`+
			`"category":"news","date":"2026-01-29"}}`, map[string]string{"partition": "sg/news/2026-01-29"})
}

func TestLedger_Rebuilt(t *testing.T) {
	want := contract.Stats{
		Processing: contract.ProcessingStats{
			FilesTotal: 30, FilesProcessed: 20, FilesFailed: 1, FilesPending: 9,
			DomainsTotal: 43, DomainsProcessed: 32, DomainsFailed: 11,
		},
		Collection: contract.CollectionStats{RobotsFound: 26, RobotsRate: 0.6, SitemapFound: 22, SitemapRate: 0.51,
			AvgProcessingMS: 1000},
		Barred: contract.BarrierCounts{Forbidden: 10, Empty: 22},
	}
	for _, limit := range []int{1, 2, 7, 1000} {
		f := newFixture(t, limit)
		fill(t, f)
		for range 2 { // again, it changes nothing
			sum, calls := f.run(t)
			if sum.Files != 30 || sum.Domains != 42 || sum.DeadLetters != 3 {
				t.Errorf("pages of %d keys: %+v in %d calls", limit, sum, calls)
			}
			if got := f.stats(t); got != want {
				t.Errorf("pages of %d keys: %+v, want %+v", limit, got, want)
			}
		}
		if limit == 1000 && f.bucket.gets != 2*(42+3) {
			t.Errorf("%d objects were read, want the 42 documents and 3 dead letters without metadata, twice",
				f.bucket.gets)
		}
	}
}

func TestLedger_Corrected(t *testing.T) {
	f := newFixture(t, 3)
	fill(t, f)
	f.run(t)
	right := f.stats(t)
	l := ledger.New(f.db)
	stale := time.Now().Add(-time.Hour)
	out := contract.Outcome{CollectedAt: stale, Reachable: true, Robots: true, Duration: time.Second}
	var c ledger.Changes
	for n := range 5 { // files and domains that are not there, and files whose checkpoint is not
		c.Files = append(c.Files, ledger.FileChange{RawFile: contract.RawFile{Partition: place,
			Name: fmt.Sprintf("raw_1%03d", n)}, Processed: stale},
			ledger.FileChange{RawFile: contract.RawFile{Partition: place, Name: fmt.Sprintf("raw_%04d", 3*n+4)},
				Processed: stale})
		c.Domains = append(c.Domains, ledger.DomainChange{Partition: place, Domain: fmt.Sprintf("gone%d.sg", n),
			Outcome: &out})
	}
	if err := l.Record(t.Context(), c); err != nil {
		t.Fatal(err)
	}
	if f.stats(t) == right {
		t.Fatal("the test is of no use")
	}
	f.run(t)
	if got := f.stats(t); got != right {
		t.Errorf("%+v, want %+v", got, right)
	}

	// What happens while it runs is left alone.
	f.Now = func() time.Time { return stale.Add(-time.Hour) }
	if err := l.Record(t.Context(), ledger.Changes{Domains: []ledger.DomainChange{{Partition: place,
		Domain: "young.sg", Outcome: &out}}}); err != nil {
		t.Fatal(err)
	}
	f.run(t)
	if got := f.stats(t); got.Processing.DomainsProcessed != right.Processing.DomainsProcessed+1 {
		t.Errorf("a domain collected meanwhile: %+v", got)
	}
}

func TestFaults(t *testing.T) {
	f := newFixture(t, 3)
	fill(t, f)
	for _, cursor := range []string{"x", "e30", strings.Repeat("A", 100)} {
		if _, err := f.Run(t.Context(), place, cursor); contract.KindOf(err) != contract.Validation {
			t.Errorf("cursor %q: %v", cursor, err)
		}
	}
	down := errors.New("down")
	f.db.Fail = func() error { return down }
	if _, err := f.Run(t.Context(), place, ""); contract.KindOf(err) != contract.Storage || !errors.Is(err, down) {
		t.Errorf("a failing ledger: %v", err)
	}
	f.db.Fail = nil
	f.bucket.Fail = func(op, _ string) error { return down }
	if _, err := f.Run(t.Context(), place, ""); contract.KindOf(err) != contract.Storage {
		t.Errorf("a failing bucket: %v", err)
	}
	// Documents that are gone or broken are passed over.
	f.bucket.Fail = nil
	for _, name := range []string{"d1.sg", "d3.sg"} {
		f.bucket.Memory.Now = func() time.Time { return time.Now().Add(time.Minute) }
		f.put(t, contract.DomainDir{Partition: place, Domain: name}.Document(), "{", nil)
	}
	if sum, _ := f.run(t); sum.Domains != 40 {
		t.Errorf("with two broken documents: %+v", sum)
	}
}

// What operators discarded, and which records were rejected, comes back too, wherever a listing breaks off.
func TestRefill_DiscardedAndRejected(t *testing.T) {
	for limit := 1; limit <= 7; limit++ {
		f := newFixture(t, limit)
		clock := before
		f.bucket.Now = func() time.Time { clock = clock.Add(2 * time.Second); return clock }
		raw := func(n int) contract.RawFile {
			return contract.RawFile{Partition: place, Name: fmt.Sprintf("raw_%04d", n)}
		}
		m := contract.CheckpointMetadata(before, "1")
		contract.RecordCounts{Total: 9, Rejected: 1, First: []contract.Rejection{{Record: 2,
			Reason: "has no url"}}}.AddTo(m)
		f.put(t, raw(1).Key(), "x", nil)
		f.put(t, raw(1).DiscardMark(), "", nil)
		f.put(t, raw(2).Key(), "x", nil)
		f.put(t, raw(2).DiscardMark(), "", nil)
		f.put(t, raw(2).Checkpoint(), "", m) // processed in the end
		f.put(t, raw(3).DiscardMark(), "", nil)
		f.put(t, raw(3).Key(), "x", nil)        // replaced
		f.put(t, raw(4).DiscardMark(), "", nil) // deleted
		f.put(t, raw(5).Key(), "x", nil)
		f.put(t, raw(5).Checkpoint(), "", map[string]string{contract.RawETagField: "of the file before"})
		if sum, _ := f.run(t); sum.Files != 4 {
			t.Errorf("limit %d: %+v", limit, sum)
		}
		s := f.stats(t)
		if p := s.Processing; s.Discarded != 1 || p.FilesProcessed != 1 || p.FilesPending != 2 || p.FilesTotal != 3 ||
			s.Records != 9 || s.RecordsRejected != 1 {
			t.Errorf("limit %d: %+v", limit, s)
		}
	}
}
