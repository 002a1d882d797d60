package queues_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/newsfork/seed-engine/collector"
	"github.com/newsfork/seed-engine/contract"
	"github.com/newsfork/seed-engine/controls"
	"github.com/newsfork/seed-engine/deadletters"
	"github.com/newsfork/seed-engine/fetch"
	"github.com/newsfork/seed-engine/frontier"
	"github.com/newsfork/seed-engine/ledger"
	"github.com/newsfork/seed-engine/ledger/sqlite"
	"github.com/newsfork/seed-engine/orchestrator"
	"github.com/newsfork/seed-engine/processor"
	"github.com/newsfork/seed-engine/queues"
	"github.com/newsfork/seed-engine/r2"
)

// message is a delivery that records how it was settled. The first settlement counts, as on the platform.
type message struct {
	id       string
	body     string
	attempts int
	settled  string
	delay    time.Duration
	mu       sync.Mutex
}

func (m *message) ID() string      { return m.id }
func (m *message) Body() []byte    { return []byte(m.body) }
func (m *message) Attempts() int   { return m.attempts }
func (m *message) Sent() time.Time { return time.Date(2026, 1, 28, 9, 0, 0, 0, time.UTC) }
func (m *message) Ack()            { m.settle("ack", 0) }

func (m *message) Retry(d time.Duration) { m.settle("retry", d) }

func (m *message) settle(how string, d time.Duration) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.settled == "" {
		m.settled, m.delay = how, d
	}
}

// steps is a fake of the three steps of the pipeline.
type steps struct {
	process  func(m *contract.SeedMessage, sender processor.Sender) error
	collect  func(m *contract.DomainMessage, last bool) error
	document func(*contract.DomainMessage) *contract.Document // returned by Collect; nil for an empty document
	excluded func(link string) bool
	runs     []contract.Continuation
	readyAt  time.Time
	visits   []frontier.HostFindings
	begun    []string          // domains
	changes  []frontier.Change // reported at the end of each visit
	reuse    collector.Evidence
	gathered collector.Evidence
	owner    string
	admit    map[string]fetch.Admit
	contexts map[string]context.Context // of Collect, by domain
	under    func(context.Context)      // runs beside Collect, with its context
	done     bool                       // returned by Done
	mu       sync.Mutex

	refresh  func(*contract.Refresh) (collector.Refreshed, error)
	together []string // domains whose refreshes began together
}

func (s *steps) Process(_ context.Context, m *contract.SeedMessage, sender processor.Sender) (processor.Result,
	error) {
	return processor.Result{}, s.process(m, sender)
}

func (s *steps) Run(_ context.Context, c contract.Continuation) (orchestrator.Result, error) {
	s.runs = append(s.runs, c)
	return orchestrator.Result{}, nil
}

func (s *steps) Collect(ctx context.Context, m *contract.DomainMessage, last bool) (*contract.Document, error) {
	s.mu.Lock()
	if s.contexts == nil {
		s.contexts = map[string]context.Context{}
	}
	s.contexts[m.Domain] = ctx
	s.mu.Unlock()
	if s.under != nil {
		go s.under(ctx)
	}
	if s.document != nil {
		return s.document(m), s.collect(m, last)
	}
	return &contract.Document{}, s.collect(m, last)
}

func (s *steps) BeginRefreshes(_ context.Context, list []*contract.Refresh) {
	for _, r := range list {
		s.together = append(s.together, r.Domain)
	}
}

func (s *steps) Refresh(_ context.Context, r *contract.Refresh) (collector.Refreshed, error) {
	return s.refresh(r)
}

func (s *steps) Hosts(string) []frontier.HostFindings { return s.visits }

func (s *steps) Visit(domain string) queues.Visit { return visit{s, domain} }

// visit is a fake visit to a domain.
type visit struct {
	*steps
	domain string
}

func (v visit) Done(context.Context, *contract.DomainMessage) (bool, error) { return v.done, nil }
func (v visit) MayReuse(*contract.DomainMessage) bool                       { return false }
func (v visit) ReadyAt() time.Time                                          { return v.readyAt }
func (v visit) End() collector.Outcome {
	return collector.Outcome{Evidence: v.gathered, Changes: v.changes}
}

func (v visit) Begin(l collector.Lease) {
	v.mu.Lock()
	defer v.mu.Unlock()
	v.begun = append(v.begun, v.domain)
	v.owner, v.reuse = l.Owner, l.Evidence
	if v.admit == nil {
		v.admit = map[string]fetch.Admit{}
	}
	v.admit[v.domain] = l.Admit
}

// ask requests admission to a host, as the domain's collection would.
func (s *steps) ask(domain, host string) (fetch.Admission, error) {
	s.mu.Lock()
	admit, ctx := s.admit[domain], s.contexts[domain]
	s.mu.Unlock()
	return admit(ctx, host)
}

type fixture struct {
	*queues.Consumer
	steps   *steps
	bucket  *r2.Memory
	dlq     *queues.Memory
	seeds   *queues.Memory
	domains *queues.Memory
	db      *sqlite.DB
	shards  *shards
	now     time.Time
	passed  atomic.Int64 // time.Duration that passed since, while an event runs
}

// fastClock advances two seconds with every reading, because a key accepts one write a second.
func fastClock() func() time.Time {
	var seconds atomic.Int64
	return func() time.Time { return time.Unix(1769601600+2*seconds.Add(1), 0).UTC() }
}

func newFixture(t *testing.T) *fixture {
	t.Helper()
	db, err := sqlite.Open()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { db.Close() })
	f := &fixture{steps: &steps{}, bucket: r2.NewMemory(), dlq: queues.NewMemory(), seeds: queues.NewMemory(),
		domains: queues.NewMemory(), db: db, shards: newShards(t), now: time.Date(2026, 1, 28, 10, 0, 0, 0, time.UTC)}
	log := slog.New(slog.DiscardHandler)
	sleep := func(ctx context.Context, d time.Duration) error {
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(d):
			return nil
		}
	}
	now := func() time.Time { return f.now.Add(time.Duration(f.passed.Load())) }
	f.bucket.Now = fastClock()
	f.Consumer = &queues.Consumer{
		Orchestrator: f.steps, Processor: f.steps,
		NewBatch:    func(excluded func(string) bool) queues.Batch { f.steps.excluded = excluded; return f.steps },
		DeadLetters: &deadletters.Store{Ledger: ledger.New(db), Bucket: f.bucket, Version: "v1", Log: log},
		Ledger:      ledger.New(db),
		Leases: &queues.Leases{
			Frontier: f.shards.remotes(), Queue: f.domains, Log: log, Now: time.Now, Sleep: sleep,
		},
		Controls: &controls.Store{Bucket: f.bucket, Sleep: sleep},
		Seeds:    f.seeds, Domains: f.domains, DLQ: f.dlq, Version: "v1",
		RetryDelay: 10 * time.Second, Log: log, Now: now,
	}
	return f
}

func (f *fixture) handle(t *testing.T, queue string, messages ...*message) {
	t.Helper()
	list := make([]queues.Message, len(messages))
	for i, m := range messages {
		list[i] = m
	}
	f.Handle(t.Context(), queue, list)
	for _, m := range messages {
		if m.settled == "" {
			t.Errorf("message %s was not settled", m.id)
		}
	}
}

const (
	rawKey    = "raw/country=sg/category=news/date=2026-01-28/raw_0001.json"
	partition = `"partition_info":{"country":"sg","category":"news","date":"2026-01-28"}`
)

func seedBody() string { return `{"file_path":"` + rawKey + `",` + partition + `}` }

func domainBody(domain string) string {
	return fmt.Sprintf(`{"domain":%q,"domain_id":"gov:sg:%s",`+
		`"urls":[{"url":"https://%s/a","title":null,"path":"/a"}],%s,"source_file_path":%q}`, domain, domain, domain,
		partition, rawKey)
}

func TestSettlement_EachMessage(t *testing.T) {
	f := newFixture(t)
	calls := map[string]int{}
	var mu sync.Mutex
	f.steps.collect = func(m *contract.DomainMessage, last bool) error {
		mu.Lock()
		defer mu.Unlock()
		calls[m.Domain]++
		if last {
			t.Error("a first delivery is taken for the last")
		}
		switch m.Domain {
		case "fails.sg":
			return &contract.Error{Kind: contract.Network, Message: "refused"}
		case "panics.sg":
			panic("as the test wants it")
		}
		return nil
	}
	messages := []*message{
		{id: "1", body: domainBody("a.sg"), attempts: 1},
		{id: "2", body: domainBody("fails.sg"), attempts: 1},
		{id: "3", body: domainBody("b.sg"), attempts: 1},
		{id: "4", body: domainBody("panics.sg"), attempts: 2},
		{id: "5", body: domainBody("c.sg"), attempts: 1},
	}
	f.handle(t, "newsfork-domain-staging", messages...)
	for i, want := range []struct {
		how   string
		delay time.Duration
	}{{"ack", 0}, {"retry", 10 * time.Second}, {"ack", 0}, {"retry", 20 * time.Second}, {"ack", 0}} {
		if m := messages[i]; m.settled != want.how || m.delay != want.delay {
			t.Errorf("message %s: %s after %v, want %s after %v", m.id, m.settled, m.delay, want.how, want.delay)
		}
	}
	for domain, n := range calls {
		if n != 1 {
			t.Errorf("%s was collected %d times", domain, n)
		}
	}
}

func TestSettlement_RetryDelayDoubles(t *testing.T) {
	f := newFixture(t)
	f.steps.process = func(_ *contract.SeedMessage, _ processor.Sender) error { return errors.New("fails") }
	for attempt, want := range map[int]time.Duration{1: 10 * time.Second, 2: 20 * time.Second, 3: 40 * time.Second,
		4: 80 * time.Second} {
		m := &message{id: "1", body: seedBody(), attempts: attempt}
		f.handle(t, "newsfork-seed-staging", m)
		if m.settled != "retry" || m.delay != want {
			t.Errorf("attempt %d: %s after %v, want retry after %v", attempt, m.settled, m.delay, want)
		}
	}
}

func TestSettlement_RetryDelayIsCapped(t *testing.T) {
	f := newFixture(t)
	f.RetryDelay = 20 * time.Hour
	f.steps.process = func(_ *contract.SeedMessage, _ processor.Sender) error { return errors.New("fails") }
	for attempt, want := range map[int]time.Duration{1: 20 * time.Hour, 2: queues.MaxDelay, 60: queues.MaxDelay} {
		m := &message{id: "1", body: seedBody(), attempts: attempt}
		f.handle(t, "newsfork-seed-staging", m)
		if m.delay != want {
			t.Errorf("attempt %d: after %v, want %v", attempt, m.delay, want)
		}
	}
}

func TestDomain_OneCollectionAtATime(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFixture(t)
		var mu sync.Mutex
		busy := map[string]bool{}
		highest, now := 0, 0
		f.steps.collect = func(m *contract.DomainMessage, _ bool) error {
			mu.Lock()
			if busy[m.Domain] {
				t.Errorf("%s is worked on twice at once", m.Domain)
			}
			busy[m.Domain] = true
			now++
			highest = max(highest, now)
			mu.Unlock()
			time.Sleep(time.Second)
			mu.Lock()
			busy[m.Domain] = false
			now--
			mu.Unlock()
			return nil
		}
		f.handle(t, "newsfork-domain-dev",
			&message{id: "1", body: domainBody("a.sg"), attempts: 1},
			&message{id: "2", body: domainBody("a.sg"), attempts: 1},
			&message{id: "3", body: domainBody("b.sg"), attempts: 1},
			&message{id: "4", body: domainBody("a.sg"), attempts: 1},
			&message{id: "5", body: domainBody("c.sg"), attempts: 1})
		if highest != 3 {
			t.Errorf("at most %d domains side by side, want 3", highest)
		}
	})
}

func TestDomain_LastDelivery(t *testing.T) {
	f := newFixture(t)
	var lasts []bool
	f.steps.collect = func(_ *contract.DomainMessage, last bool) error { lasts = append(lasts, last); return nil }
	for attempt := 1; attempt <= contract.MaxRetries+1; attempt++ {
		f.handle(t, "newsfork-domain-dev", &message{id: "1", body: domainBody("a.sg"), attempts: attempt})
	}
	if fmt.Sprint(lasts) != "[false false false true]" {
		t.Errorf("got %v", lasts)
	}
}

func TestSeed_Messages(t *testing.T) {
	f := newFixture(t)
	var processed []string
	f.steps.process = func(m *contract.SeedMessage, _ processor.Sender) error {
		processed = append(processed, fmt.Sprint(m.FilePath, " ", m.Force))
		return nil
	}
	event := func(action, key string) string {
		return fmt.Sprintf(`{"account":"a","action":%q,"bucket":"newsfork-datasets-staging","object":{"key":%q,`+
			`"size":65536,"eTag":"c846ff7a18f28c2e262116d6e8719ef0"},"eventTime":"2026-01-28T10:00:00Z"}`, action, key)
	}
	for _, c := range []struct{ name, body, settled string }{
		{"file", seedBody(), "ack"},
		{"forced", `{"file_path":"` + rawKey + `",` + partition +
			`,"force":true,"requested_at":"2026-01-28T10:00:00Z"}`, "ack"},
		{"event", event("PutObject", rawKey), "ack"},
		{"event of a multipart upload", event("CompleteMultipartUpload", rawKey), "ack"},
		{"event of a checkpoint", event("PutObject", rawKey+".success"), "ack"},
		{"event of a deletion", event("DeleteObject", rawKey), "ack"},
		{"event of a foreign key", event("PutObject", "prod/raw_0001.json"), "ack"},
		{"continuation", `{"orchestrate":{"country":"sg","cursor":"raw/x","requested_at":"2026-01-28T10:00:00Z"}}`,
			"ack"},
		{"not JSON", `hello`, "retry"},
		{"an array", `[]`, "retry"},
		{"nothing", ``, "retry"},
		{"another shape", `{"foo":1}`, "retry"},
		{"a wrong type", `{"file_path":5,` + partition + `}`, "retry"},
		{"another partition", `{"file_path":"` + rawKey +
			`","partition_info":{"country":"kr","category":"news","date":"2026-01-28"}}`, "retry"},
		{"no partition", `{"file_path":"` + rawKey + `"}`, "retry"},
		{"a bad filter", `{"orchestrate":{"country":"Singapore","cursor":""}}`, "retry"},
	} {
		m := &message{id: "1", body: c.body, attempts: 1}
		f.handle(t, "newsfork-seed-dev", m)
		if m.settled != c.settled {
			t.Errorf("%s: %s, want %s", c.name, m.settled, c.settled)
		}
	}
	want := []string{rawKey + " false", rawKey + " true", rawKey + " false", rawKey + " false"}
	if fmt.Sprint(processed) != fmt.Sprint(want) {
		t.Errorf("processed %v, want %v", processed, want)
	}
	if len(f.steps.runs) != 1 || f.steps.runs[0].Cursor != "raw/x" || f.steps.runs[0].Country != "sg" {
		t.Errorf("continued %+v", f.steps.runs)
	}
}

func TestDomain_MalformedMessages(t *testing.T) {
	f := newFixture(t)
	f.steps.collect = func(m *contract.DomainMessage, _ bool) error { t.Errorf("collected %+v", m); return nil }
	for _, body := range []string{
		`{}`, `"mom.gov.sg"`, `{"domain":"mom.gov.sg"}`,
		`{"domain":"../x","urls":[],` + partition + `,"source_file_path":"` + rawKey + `"}`,
		`{"domain":"MOM.gov.sg","urls":[],` + partition + `,"source_file_path":"` + rawKey + `"}`,
		`{"domain":"a.sg","registrable_domain":"b.sg",` + partition + `,"source_file_path":"` + rawKey + `"}`,
		`{"domain":"a.sg","urls":"https://a.sg/",` + partition + `,"source_file_path":"` + rawKey + `"}`,
		`{"domain":"a.sg","urls":[{"title":"x"}],` + partition + `,"source_file_path":"` + rawKey + `"}`,
		`{"domain":"a.sg","urls":[],` + partition + `,"source_file_path":"prod/x"}`,
		`{"domain":"a.sg","urls_path":"prod/country=sg/category=news/date=2026-01-28/b.sg/urls/raw_0001-1.json",` +
			partition + `,"source_file_path":"` + rawKey + `"}`,
	} {
		m := &message{id: "1", body: body, attempts: 1}
		f.handle(t, "newsfork-domain-dev", m)
		if m.settled != "retry" {
			t.Errorf("%s: %s", body, m.settled)
		}
	}
}

// giveUp delivers a failing message until its attempts are used up, then to the dead-letter queue.
func (f *fixture) giveUp(t *testing.T, queue, id, body string) *message {
	t.Helper()
	for attempt := 1; attempt <= contract.MaxRetries+1; attempt++ {
		m := &message{id: id, body: body, attempts: attempt}
		f.handle(t, queue, m)
		if m.settled != "retry" {
			t.Fatalf("attempt %d was %s", attempt, m.settled)
		}
	}
	m := &message{id: id, body: body, attempts: 1}
	f.handle(t, "newsfork-dlq-"+queue[strings.LastIndex(queue, "-")+1:], m)
	return m
}

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

func TestDeadLetter_Reason(t *testing.T) {
	f := newFixture(t)
	f.steps.process = func(_ *contract.SeedMessage, _ processor.Sender) error {
		return &contract.Error{Kind: contract.Storage, Op: "processor.Process", Message: "the queue is down"}
	}
	f.steps.collect = func(*contract.DomainMessage, bool) error {
		return &contract.Error{Kind: contract.Storage, Op: "collector.Collect", Message: "R2 is down"}
	}
	for _, c := range []struct {
		queue, id, body string
		kind            contract.Kind
		message         string
	}{
		{"newsfork-seed-staging", "m1", seedBody(), contract.Storage, "the queue is down"},
		{"newsfork-domain-staging", "m2", domainBody("a.sg"), contract.Storage, "R2 is down"},
		{"newsfork-domain-staging", "m3", `{"wrong":"shape"}`, contract.Validation, "domain: is missing"},
		{"newsfork-seed-staging", "m4", `not even JSON`, contract.Validation, "body: must be a JSON object"},
	} {
		if m := f.giveUp(t, c.queue, c.id, c.body); m.settled != "ack" {
			t.Errorf("%s: the dead letter was %s", c.id, m.settled)
		}
		l := f.letter(t, "dlq/queue="+c.queue+"/date=2026-01-28/"+c.id+".json")
		if l.ErrorInfo.ErrorType != c.kind || !strings.HasPrefix(l.ErrorInfo.ErrorMessage, c.message) ||
			l.ErrorInfo.RetryCount != 3 {
			t.Errorf("%s: %+v, want %s %q after 3 retries", c.id, l.ErrorInfo, c.kind, c.message)
		}
		if l.Context.QueueName != c.queue || l.Context.WorkerVersion != "v1" {
			t.Errorf("%s: %+v", c.id, l.Context)
		}
		var want any = c.body
		if json.Valid([]byte(c.body)) {
			json.Unmarshal([]byte(c.body), &want)
		}
		var got any
		json.Unmarshal(l.OriginalMessage, &got)
		if fmt.Sprint(got) != fmt.Sprint(want) {
			t.Errorf("%s: the original message is %v, want %v", c.id, got, want)
		}
	}
}

// Retrying a malformed message cannot help, so it becomes a dead letter at once. A redelivery adds no second one, nor
// does it matter whether D1 answers.
func TestDeadLetter_MalformedIsNotRetried(t *testing.T) {
	for name, c := range map[string]struct {
		arrange func(f *fixture)
		settled string
	}{
		"it is stored":    {nil, "ack"},
		"the ledger away": {func(f *fixture) { f.Ledger, f.DeadLetters.Ledger = away{}, away{} }, "ack"},
		"R2 away": {func(f *fixture) {
			f.bucket.Fail = func(string, string) error { return errors.New("R2 is away") }
			f.Controls = &controls.Store{Bucket: r2.NewMemory()}
		}, "retry"},
	} {
		t.Run(name, func(t *testing.T) {
			f := newFixture(t)
			f.steps.process = func(_ *contract.SeedMessage, _ processor.Sender) error {
				return &contract.Error{Kind: contract.Parse, Op: "processor.Process",
					Message: "line 3, column 7: not JSON"}
			}
			if c.arrange != nil {
				c.arrange(f)
			}
			for range 2 { // redelivered, as after a crash before the acknowledgement
				m := &message{id: "m1", body: seedBody(), attempts: 1}
				if f.handle(t, "newsfork-seed-dev", m); m.settled != c.settled {
					t.Fatalf("it was settled by %s, want %s", m.settled, c.settled)
				}
			}
			if c.settled == "retry" {
				return
			}
			l := f.letter(t, "dlq/queue=newsfork-seed-dev/date=2026-01-28/m1.json")
			if e := l.ErrorInfo; e.ErrorType != contract.Parse || e.ErrorMessage != "line 3, column 7: not JSON" ||
				e.RetryCount != 0 || l.Context.QueueName != "newsfork-seed-dev" {
				t.Errorf("%+v", l)
			}
			if name != "it is stored" {
				return
			}
			d, err := ledger.New(f.db).DeadLetter(t.Context(), "m1")
			if err != nil || d == nil || d.State != contract.Stored || len(d.Attempts) != 1 || len(d.History) != 0 {
				t.Errorf("%+v, %v", d, err)
			}
			if s := f.stats(t).Processing; s.FilesFailed != 1 || s.FilesPending != 0 {
				t.Errorf("%+v", s)
			}
		})
	}
}

func TestSettlement_Panic(t *testing.T) {
	f := newFixture(t)
	var log bytes.Buffer
	f.Log = slog.New(slog.NewJSONHandler(&log, nil))
	f.steps.collect = func(*contract.DomainMessage, bool) error { return indexing(nil) }
	f.giveUp(t, "newsfork-domain-staging", "m1", domainBody("a.sg"))
	l := f.letter(t, "dlq/queue=newsfork-domain-staging/date=2026-01-28/m1.json")
	text := l.ErrorInfo.ErrorMessage
	if l.ErrorInfo.ErrorType != contract.Internal ||
		text != "panic: runtime error: index out of range [5] with length 0: see the stack in the log" {
		t.Errorf("%+v", l.ErrorInfo)
	}
	if n := strings.Count(log.String(), `"stack":"goroutine`); n != contract.MaxRetries+1 {
		t.Errorf("the stack is logged %d times for %d attempts:\n%s", n, contract.MaxRetries+1, &log)
	}
}

func indexing(list []int) error { return fmt.Errorf("%d", list[len(list)+5]) }

func TestDeadLetter_ReasonIsDeletedOnSuccess(t *testing.T) {
	f := newFixture(t)
	fail := true
	f.steps.process = func(_ *contract.SeedMessage, _ processor.Sender) error {
		if fail {
			return errors.New("once")
		}
		return nil
	}
	f.handle(t, "newsfork-seed-dev", &message{id: "1", body: seedBody(), attempts: 1})
	work := ledger.Work{Queue: "newsfork-seed-dev", Key: rawKey}
	l := ledger.New(f.db)
	if r, err := l.Reasons(t.Context(), []ledger.Work{work}); err != nil || len(r[work]) != 1 {
		t.Fatalf("after a failure: %v, %v", r, err)
	}
	fail = false
	f.handle(t, "newsfork-seed-dev", &message{id: "1", body: seedBody(), attempts: 2})
	if r, err := l.Reasons(t.Context(), []ledger.Work{work}); err != nil || len(r[work]) != 0 {
		t.Errorf("after success: %v, %v", r, err)
	}
}

// away is a ledger that never answers.
type away struct{}

func (away) Record(context.Context, ledger.Changes) error { return errors.New("D1 is away") }
func (away) Reasons(context.Context, []ledger.Work) (map[ledger.Work][]ledger.Failure, error) {
	return nil, errors.New("D1 is away")
}

func TestSettlement_LedgerFails(t *testing.T) {
	f := newFixture(t)
	f.Ledger, f.DeadLetters.Ledger = away{}, away{}
	f.steps.process = func(_ *contract.SeedMessage, _ processor.Sender) error { return errors.New("fails") }
	if m := f.giveUp(t, "newsfork-seed-dev", "m1", seedBody()); m.settled != "ack" {
		t.Errorf("the dead letter was %s", m.settled)
	}
	l := f.letter(t, "dlq/queue=newsfork-seed-dev/date=2026-01-28/m1.json")
	if l.ErrorInfo.ErrorMessage != "the reason was not recorded" || l.Context.QueueName != "newsfork-seed-dev" {
		t.Errorf("got %+v", l)
	}
}

func TestDeadLetter_RequeuedIfNotStored(t *testing.T) {
	f := newFixture(t)
	f.bucket.Fail = func(string, string) error { return errors.New("R2 is away") }
	for attempt := 1; attempt <= contract.MaxRetries; attempt++ {
		m := &message{id: "m1", body: seedBody(), attempts: attempt}
		f.handle(t, "newsfork-dlq-dev", m)
		if m.settled != "retry" || len(f.dlq.Sent()) != 0 {
			t.Errorf("attempt %d: %s, sent %v", attempt, m.settled, f.dlq.Sent())
		}
	}
	m := &message{id: "m1", body: seedBody(), attempts: contract.MaxRetries + 1}
	f.handle(t, "newsfork-dlq-dev", m)
	if m.settled != "ack" || len(f.dlq.Sent()) != 1 {
		t.Errorf("last attempt: %s, sent %v", m.settled, f.dlq.Sent())
	}
}

func TestDeadLetter_Redelivered(t *testing.T) {
	f := newFixture(t)
	f.steps.process = func(_ *contract.SeedMessage, _ processor.Sender) error { return errors.New("fails") }
	f.giveUp(t, "newsfork-seed-dev", "m1", seedBody())
	f.handle(t, "newsfork-dlq-dev", &message{id: "m1", body: seedBody(), attempts: 1})
	page, err := f.bucket.List(t.Context(), r2.ListOptions{Prefix: "dlq/"})
	if err != nil || len(page.Objects) != 1 {
		t.Errorf("%d objects, %v", len(page.Objects), err)
	}
}

func TestConsumer_UnknownQueue(t *testing.T) {
	f := newFixture(t)
	m := &message{id: "1", body: "{}", attempts: 1}
	f.handle(t, "somebody-elses", m)
	if m.settled != "retry" {
		t.Errorf("got %s", m.settled)
	}
}

// A forced message without requested_at counts from when it was sent. Otherwise any checkpoint would satisfy it, or
// none.
func TestDomain_ForceCountsFromSending(t *testing.T) {
	f := newFixture(t)
	sent := (&message{}).Sent()
	var got []time.Time
	f.steps.collect = func(m *contract.DomainMessage, _ bool) error { got = append(got, m.RequestedAt); return nil }
	f.steps.process = func(m *contract.SeedMessage, _ processor.Sender) error {
		got = append(got,
			m.RequestedAt)
		return nil
	}
	with := func(body, fields string) *message {
		return &message{id: "1", body: strings.TrimSuffix(body, "}") + fields + "}", attempts: 1}
	}
	const requested, busy = `,"requested_at":"2026-01-20T00:00:00Z"`, `,"busy_since":"2026-01-27T00:00:00Z"`
	for _, c := range []struct {
		name, fields string
		want         time.Time
	}{
		{"plain", "", time.Time{}},
		{"forced", `,"force":true`, sent},
		{"forced at a time", `,"force":true` + requested, time.Date(2026, 1, 20, 0, 0, 0, 0, time.UTC)},
		{"forced, requeued since", `,"force":true` + busy, time.Date(2026, 1, 27, 0, 0, 0, 0, time.UTC)},
		{"busy", busy, time.Time{}},
	} {
		got = nil
		f.handle(t, "newsfork-domain-dev", with(domainBody("a.sg"), c.fields))
		if len(got) != 1 || !got[0].Equal(c.want) {
			t.Errorf("a domain, %s: counts from %v, want %v", c.name, got, c.want)
		}
		if strings.Contains(c.fields, "busy") {
			continue
		}
		got = nil
		f.handle(t, "newsfork-seed-dev", with(seedBody(), c.fields))
		if len(got) != 1 || !got[0].Equal(c.want) {
			t.Errorf("a file, %s: counts from %v, want %v", c.name, got, c.want)
		}
	}
}
