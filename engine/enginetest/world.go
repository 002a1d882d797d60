// Package enginetest runs the whole engine natively on fakes of its platform: a bucket and queues in memory, SQLite
// and a scripted web. It uses the simulated time of testing/synctest, so hours of retries and pauses take no time.
package enginetest

import (
	"bytes"
	"context"
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/newsfork/seed-engine/alarms"
	"github.com/newsfork/seed-engine/contract"
	"github.com/newsfork/seed-engine/engine"
	"github.com/newsfork/seed-engine/fetch"
	"github.com/newsfork/seed-engine/fetch/fetchtest"
	"github.com/newsfork/seed-engine/handlers"
	"github.com/newsfork/seed-engine/ledger/sqlite"
	"github.com/newsfork/seed-engine/queues"
	"github.com/newsfork/seed-engine/queues/queuestest"
	"github.com/newsfork/seed-engine/r2"
)

// Names of the queues.
const (
	Seeds   = "newsfork-seed-dev"
	Domains = "newsfork-domain-dev"
	DLQ     = "newsfork-dlq-dev"
)

// Queues are the queue consumers of a deployed environment, as in wrangler.jsonc.
var Queues = []queuestest.Queue{
	{Name: Seeds, MaxBatchSize: 1, MaxBatchTimeout: 30 * time.Second, MaxRetries: 3, DeadLetterQueue: DLQ},
	{Name: Domains, MaxBatchSize: 5, MaxBatchTimeout: 60 * time.Second, MaxRetries: 3, DeadLetterQueue: DLQ},
	{Name: DLQ, MaxBatchSize: 10, MaxBatchTimeout: 30 * time.Second, MaxRetries: 3},
}

// World is an engine with its platform. Tests set its fields before they use it.
type World struct {
	Bucket    *r2.Memory
	Database  *sqlite.DB
	Frontier  *Shards
	Broker    *queuestest.Broker
	Web       *fetchtest.Web
	Hooks     *Hooks
	Variables map[string]string
	// Kill, if set, reports whether the event that makes the nth call to the platform, from 1, dies with it. That call
	// and all later calls of the event have no effect.
	Kill func(nth int) bool
	// Slow, if set, returns the duration of an operation of the platform, such as "R2.put", "D1.batch" or
	// "object.call". Requests take the time of the Web. An event then has six connections, as on the platform.
	Slow func(operation string) time.Duration
	// SnapshotPages is the number of pages of a snapshot that an alarm stores, 0 for all of them.
	SnapshotPages int

	t     testing.TB
	mu    sync.Mutex
	idle  []*instance
	calls int
	log   bytes.Buffer
}

// Run runs a test in a world of its own, in a bubble of testing/synctest. All settings have their defaults, but there
// is no request interval and no retry of requests.
func Run(t *testing.T, test func(t *testing.T, w *World)) {
	synctest.Test(t, func(t *testing.T) { test(t, New(t)) })
}

// New returns a world like that of Run in real time, for benchmarks.
func New(t testing.TB) *World {
	db, err := sqlite.Open()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { db.Close() })
	w := &World{
		Bucket: r2.NewMemory(), Database: db, Broker: queuestest.New(Queues...),
		Web:   &fetchtest.Web{Clock: fetch.SystemClock()},
		Hooks: &Hooks{}, Variables: map[string]string{"REQUEST_INTERVAL_MS": "0", "FETCH_RETRIES": "0"}, t: t,
	}
	w.Broker.Consume = w.consume
	w.Frontier = &Shards{world: w}
	t.Cleanup(w.Frontier.close)
	return w
}

// instance is an engine that serves one event at a time.
type instance struct {
	*engine.Engine
	life life
}

func (w *World) start() *instance {
	i := &instance{life: life{world: w}}
	producer := func(queue string) queues.Producer { return producer{w.Broker.Producer(queue), &i.life} }
	i.Engine = engine.New(engine.Platform{
		Bucket:  bucket{w.Bucket, &i.life},
		Seeds:   producer(Seeds),
		Domains: producer(Domains),
		DLQ:     producer(DLQ),
		Backlogs: func(context.Context) ([]contract.Backlog, []error) {
			return []contract.Backlog{w.Broker.Backlog(Seeds), w.Broker.Backlog(Domains), w.Broker.Backlog(DLQ)},
				make([]error, 3)
		},
		Database:  database{w.Database, &i.life},
		Frontier:  caller{w.Frontier, &i.life},
		Transport: transport{w.Web, &i.life},
		Clock:     fetch.SystemClock(),
		Model:     model{&i.life}.load,
		Asset:     func(_ context.Context, path string) ([]byte, error) { return contract.Published(path) },
		Webhook:   func(string) alarms.Webhook { return poster{w.Hooks, &i.life} },
		Variable:  w.variable,
		Version:   func() string { return "test" },
		Pool:      func() (handlers.PoolStats, error) { return handlers.PoolStats{}, nil },
		Timed:     func(map[string]time.Duration) {},
		Local:     func() bool { return true },
		Log:       contract.NewLogger(&lockedWriter{w: w}),
	})
	return i
}

func (w *World) variable(name string) (value string, ok bool) {
	value, ok = w.Variables[name]
	return value, ok
}

// lend returns an idle instance, or a new one. The event returns it at its end.
func (w *World) lend() *instance {
	w.mu.Lock()
	defer w.mu.Unlock()
	n := len(w.idle)
	if n == 0 {
		return w.start()
	}
	i := w.idle[n-1]
	w.idle = w.idle[:n-1]
	return i
}

func (w *World) giveBack(i *instance) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.idle = append(w.idle, i)
}

// Deploy makes later events run on new instances, which read the settings again.
func (w *World) Deploy() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.idle = nil
}

// event runs one event on an instance. An instance whose event died is dropped.
func (w *World) event(ctx context.Context, work func(ctx context.Context, i *instance)) (died bool) {
	i := w.lend()
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	i.life.begin(cancel)
	work(ctx, i)
	if i.life.over() {
		return true
	}
	w.giveBack(i)
	return false
}

// consume is the broker's consumer. An event that died settles nothing.
func (w *World) consume(ctx context.Context, queue string, messages []queues.Message) {
	settlements := make([]*settlement, len(messages))
	deliveries := make([]queues.Message, len(messages))
	for n, m := range messages {
		settlements[n] = &settlement{Message: m}
		deliveries[n] = settlements[n]
	}
	died := w.event(ctx, func(ctx context.Context, i *instance) {
		if err := i.Consume(ctx, queue, deliveries); err != nil {
			w.t.Errorf("%s: the engine did not start: %v", queue, err)
		}
	})
	if died {
		return
	}
	for _, s := range settlements {
		s.pass()
	}
}

// settlement holds the first settlement of a delivery until the event ends.
type settlement struct {
	queues.Message
	mu     sync.Mutex
	settle func()
}

func (s *settlement) Ack()                  { s.hold(s.Message.Ack) }
func (s *settlement) Retry(d time.Duration) { s.hold(func() { s.Message.Retry(d) }) }

func (s *settlement) hold(settle func()) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.settle == nil {
		s.settle = settle
	}
}

func (s *settlement) pass() {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.settle != nil {
		s.settle()
	}
}

// Deliver delivers messages in one batch, past the broker. All of them must be acknowledged.
func (w *World) Deliver(queue string, messages ...any) {
	w.t.Helper()
	batch := make([]queues.Message, len(messages))
	for i, m := range messages {
		batch[i] = &delivered{body: contract.Encode(m)}
	}
	w.consume(w.t.Context(), queue, batch)
	for _, m := range batch {
		if !m.(*delivered).done {
			w.t.Fatalf("%s was not acknowledged", m.Body())
		}
	}
}

// delivered is a message of Deliver.
type delivered struct {
	body []byte
	done bool
}

func (d *delivered) ID() string        { return "delivered" }
func (d *delivered) Body() []byte      { return d.body }
func (d *delivered) Attempts() int     { return 1 }
func (d *delivered) Sent() time.Time   { return time.Now() }
func (d *delivered) Ack()              { d.done = true }
func (*delivered) Retry(time.Duration) {}

// Drain delivers all pending messages.
func (w *World) Drain() {
	w.t.Helper()
	if err := w.Broker.Drain(w.t.Context()); err != nil {
		w.t.Fatal(err)
	}
}

// Calls returns the number of calls to the platform.
func (w *World) Calls() int {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.calls
}

// Cron runs the cron's work once.
func (w *World) Cron() {
	w.t.Helper()
	w.event(w.t.Context(), func(ctx context.Context, i *instance) {
		if err := i.Cron(ctx, time.Now()); err != nil {
			w.t.Errorf("cron: %v", err)
		}
	})
}

// CronMayDie is like Cron but ignores errors, for events that die.
func (w *World) CronMayDie() {
	w.event(w.t.Context(), func(ctx context.Context, i *instance) { _ = i.Cron(ctx, time.Now()) })
}

// Answer is a response of the API.
type Answer struct {
	Status  int
	Header  http.Header
	Success bool            `json:"success"`
	Data    json.RawMessage `json:"data"`
	Error   struct {
		Code, Message, Field string
	} `json:"error"`
}

// Ask sends a request to the API. body is JSON, or "" for none.
func (w *World) Ask(method, path, body string) Answer {
	w.t.Helper()
	recorder := httptest.NewRecorder()
	w.event(w.t.Context(), func(ctx context.Context, i *instance) {
		r := httptest.NewRequestWithContext(ctx, method, path, strings.NewReader(body))
		r.Header.Set("Content-Type", "application/json")
		i.ServeHTTP(recorder, r)
	})
	a := Answer{Status: recorder.Code, Header: recorder.Header()}
	if err := json.Unmarshal(recorder.Body.Bytes(), &a); err != nil {
		w.t.Fatalf("%s %s answers %q: %v", method, path, recorder.Body, err)
	}
	return a
}

// Data sends a request that must succeed, and decodes the data of its response.
func Data[T any](w *World, method, path, body string) (data T) {
	w.t.Helper()
	a := w.Ask(method, path, body)
	if !a.Success {
		w.t.Fatalf("%s %s: %d %+v", method, path, a.Status, a.Error)
	}
	if err := json.Unmarshal(a.Data, &data); err != nil {
		w.t.Fatalf("%s %s: %v", method, path, err)
	}
	return data
}

// Status requests the status. query begins with "?" or is "".
func (w *World) Status(query string) contract.Status {
	w.t.Helper()
	return Data[contract.Status](w, "GET", "/api/v1/seeds/status"+query, "")
}

// Put stores an object.
func (w *World) Put(key, content string) {
	w.t.Helper()
	if _, err := w.Bucket.Put(w.t.Context(), key, []byte(content), nil); err != nil {
		w.t.Fatal(err)
	}
}

// Send puts a message on a queue.
func (w *World) Send(queue string, message any) {
	w.t.Helper()
	if err := w.Broker.Producer(queue).SendOne(w.t.Context(), contract.Encode(message), 0); err != nil {
		w.t.Fatal(err)
	}
}

// Read decodes the object under key, and reports whether it exists.
func (w *World) Read(key string, v any) bool {
	w.t.Helper()
	text, ok := w.Text(key)
	if ok {
		if err := json.Unmarshal([]byte(text), v); err != nil {
			w.t.Fatalf("%s: %v", key, err)
		}
	}
	return ok
}

// Text returns the content of the object under key, and whether it exists.
func (w *World) Text(key string) (text string, ok bool) {
	w.t.Helper()
	o, err := w.Bucket.Get(w.t.Context(), key)
	if err != nil {
		return "", false
	}
	defer o.Close()
	b, err := io.ReadAll(o)
	if err != nil {
		w.t.Fatal(err)
	}
	return string(b), true
}

// Keys lists the keys with a prefix and a suffix.
func (w *World) Keys(prefix, suffix string) (keys []string) {
	w.t.Helper()
	for o := (r2.ListOptions{Prefix: prefix}); ; {
		page, err := w.Bucket.List(w.t.Context(), o)
		if err != nil {
			w.t.Fatal(err)
		}
		for _, object := range page.Objects {
			if strings.HasSuffix(object.Key, suffix) {
				keys = append(keys, object.Key)
			}
		}
		if !page.Truncated {
			return keys
		}
		o.Cursor = page.Cursor
	}
}

// Document reads the document of a domain.
func (w *World) Document(p contract.Partition, domain string) *contract.Document {
	w.t.Helper()
	var d contract.Document
	if !w.Read(contract.DomainDir{Partition: p, Domain: domain}.Document(), &d) {
		return nil
	}
	return &d
}

// Events returns the log lines of an event.
func (w *World) Events(name string) (lines []map[string]any) {
	w.t.Helper()
	w.mu.Lock()
	defer w.mu.Unlock()
	for line := range strings.Lines(w.log.String()) {
		if !strings.Contains(line, `"event":"`+name+`"`) {
			continue
		}
		var fields map[string]any
		if err := json.Unmarshal([]byte(line), &fields); err != nil {
			w.t.Fatalf("%s: %v", line, err)
		}
		lines = append(lines, fields)
	}
	return lines
}

type lockedWriter struct{ w *World }

func (l *lockedWriter) Write(p []byte) (int, error) {
	l.w.mu.Lock()
	defer l.w.mu.Unlock()
	return l.w.log.Write(p)
}

// Refused delivers a message that the engine must refuse to handle, and returns its error.
func (w *World) Refused(queue string) (err error) {
	w.t.Helper()
	w.event(w.t.Context(), func(ctx context.Context, i *instance) {
		err = i.Consume(ctx, queue, []queues.Message{untouched{w.t}})
	})
	return err
}

// untouched is a message that must not be settled.
type untouched struct{ t testing.TB }

func (untouched) ID() string            { return "untouched" }
func (untouched) Body() []byte          { return []byte(`{}`) }
func (untouched) Attempts() int         { return 1 }
func (untouched) Sent() time.Time       { return time.Now() }
func (u untouched) Ack()                { u.t.Error("it was acknowledged") }
func (u untouched) Retry(time.Duration) { u.t.Error("it was retried") }
