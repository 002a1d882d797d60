package deadletters_test

import (
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"strings"
	"testing"
	"time"

	"github.com/newsfork/seed-engine/contract"
	"github.com/newsfork/seed-engine/deadletters"
	"github.com/newsfork/seed-engine/ledger"
	"github.com/newsfork/seed-engine/ledger/sqlite"
	"github.com/newsfork/seed-engine/queues"
	"github.com/newsfork/seed-engine/r2"
)

var (
	place  = contract.Partition{Country: "sg", Category: "news", Date: "2026-01-28"}
	sentAt = time.Date(2026, 1, 28, 9, 0, 0, 0, time.UTC)
)

const (
	rawKey    = "raw/country=sg/category=news/date=2026-01-28/raw_0001.json"
	partition = `"partition_info":{"country":"sg","category":"news","date":"2026-01-28"}`
)

func seedBody() string { return `{"file_path":"` + rawKey + `",` + partition + `}` }

func domainBody(domain string) string {
	return fmt.Sprintf(
		`{"domain":%q,"domain_id":"gov:sg:%s","urls":[{"url":"https://%s/a","title":null,"path":"/a"}],%s,`+
			`"source_file_path":%q}`, domain, domain, domain, partition, rawKey)
}

// fixture is a store and a replayer on fakes of R2, D1 and the queues.
type fixture struct {
	store    *deadletters.Store
	replayer *deadletters.Replayer
	bucket   *r2.Memory
	ledger   *ledger.Ledger
	seeds    *queues.Memory
	domains  *queues.Memory
	now      time.Time
	excluded []contract.Exclusion
}

func (f *fixture) exclusions(context.Context) (*contract.Exclusions, error) {
	return contract.NewExclusions(f.excluded), nil
}

func newFixture(t *testing.T) *fixture {
	t.Helper()
	db, err := sqlite.Open()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { db.Close() })
	f := &fixture{bucket: r2.NewMemory(), ledger: ledger.New(db), seeds: queues.NewMemory(),
		domains: queues.NewMemory(), now: sentAt.Add(time.Hour)}
	writes := 0
	// a key accepts one write a second
	f.bucket.Now = func() time.Time { writes++; return f.now.Add(time.Duration(2*writes) * time.Second) }
	f.store = &deadletters.Store{Ledger: f.ledger, Bucket: f.bucket, Version: "v1", Log: slog.New(slog.DiscardHandler)}
	f.replayer = &deadletters.Replayer{Ledger: f.ledger, Store: f.store, Seeds: f.seeds, Domains: f.domains,
		Exclusions: f.exclusions, Now: func() time.Time { return f.now }}
	return f
}

// giveUp records that every delivery of a message failed, and stores the message, as the consumer does.
func (f *fixture) giveUp(t *testing.T, queue, id, body string, why contract.Kind) {
	t.Helper()
	var c ledger.Changes
	for attempt := range contract.MaxRetries + 1 {
		c.Failures = append(c.Failures, ledger.Failure{
			Work: deadletters.WorkOf(queue, []byte(body)), MessageID: id, Attempt: attempt + 1,
			ErrorType: why, ErrorMessage: "failed", WorkerVersion: "v1", FailedAt: f.now,
		})
	}
	if err := f.ledger.Record(t.Context(), c); err != nil {
		t.Fatal(err)
	}
	dlq := contract.SiblingQueue(queue, contract.DeadLetterQueue)
	for _, err := range f.store.Put(t.Context(), dlq, []deadletters.Message{{ID: id, Body: []byte(body),
		Sent: sentAt}}) {
		if err != nil {
			t.Fatal(err)
		}
	}
}

// giveUpTwo stores dead letters of a file, "seed", and of a busy domain, "domain".
func (f *fixture) giveUpTwo(t *testing.T) {
	t.Helper()
	f.giveUp(t, "newsfork-seed-dev", "seed", seedBody(), contract.Parse)
	busy := strings.TrimSuffix(domainBody("a.sg"), "}") + `,"busy_since":"2026-01-28T08:00:00Z"}`
	f.giveUp(t, "newsfork-domain-dev", "domain", busy, contract.Storage)
}

// letter reads a stored dead letter, which must exist.
func (f *fixture) letter(t *testing.T, key string) contract.DeadLetter {
	t.Helper()
	b, err := f.bucket.Get(t.Context(), key)
	if err != nil {
		t.Fatalf("%s: %v", key, err)
	}
	defer b.Close()
	var l contract.DeadLetter
	if err := json.NewDecoder(b).Decode(&l); err != nil {
		t.Fatal(err)
	}
	return l
}

func (f *fixture) processing(t *testing.T) contract.ProcessingStats {
	t.Helper()
	s, err := f.ledger.Status(t.Context(), ledger.StatusQuery{Now: time.Now()})
	if err != nil {
		t.Fatal(err)
	}
	return s.Stats.Processing
}

// last returns the last message sent to a queue.
func last(t *testing.T, q *queues.Memory) string {
	t.Helper()
	sent := q.Sent()
	if len(sent) == 0 {
		t.Fatal("nothing was sent")
	}
	return string(sent[len(sent)-1].Body)
}
