package handlers_test

import (
	"cmp"
	"context"
	"crypto/md5"
	"encoding/hex"
	"encoding/json"
	"errors"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/newsfork/seed-engine/alarms"
	"github.com/newsfork/seed-engine/botauth"
	"github.com/newsfork/seed-engine/classify"
	"github.com/newsfork/seed-engine/classify/embedded"
	"github.com/newsfork/seed-engine/collector"
	"github.com/newsfork/seed-engine/contract"
	"github.com/newsfork/seed-engine/controls"
	"github.com/newsfork/seed-engine/deadletters"
	"github.com/newsfork/seed-engine/epoch"
	"github.com/newsfork/seed-engine/fetch"
	"github.com/newsfork/seed-engine/frontier"
	"github.com/newsfork/seed-engine/frontier/client"
	"github.com/newsfork/seed-engine/frontier/shard"
	"github.com/newsfork/seed-engine/frontier/shard/store"
	frontiersqlite "github.com/newsfork/seed-engine/frontier/sqlite"
	"github.com/newsfork/seed-engine/handlers"
	"github.com/newsfork/seed-engine/ledger"
	"github.com/newsfork/seed-engine/ledger/sqlite"
	"github.com/newsfork/seed-engine/orchestrator"
	"github.com/newsfork/seed-engine/r2"
	"github.com/newsfork/seed-engine/reconcile"
	"github.com/newsfork/seed-engine/settings"
	"github.com/newsfork/seed-engine/webhook"
)

// bucket stores uploads in the memory twin.
type bucket struct{ *r2.Memory }

func (b bucket) Store(ctx context.Context, key string, r *http.Request, c r2.Condition) (*r2.Object, error) {
	body, err := io.ReadAll(r.Body)
	if err != nil {
		return nil, err
	}
	return b.Put(ctx, key, body, &r2.PutOptions{If: c})
}

func (b bucket) MD5(_ context.Context, r *http.Request) (string, error) {
	sum := md5.New()
	_, err := io.Copy(sum, r.Body)
	return hex.EncodeToString(sum.Sum(nil)), err
}

type seeds struct {
	sent []string
	err  error
}

func (s *seeds) Send(ctx context.Context, b *contract.Batch) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	if s.err != nil {
		return s.err
	}
	for message := range b.Messages() {
		s.sent = append(s.sent, string(message))
	}
	return nil
}

type fixture struct {
	api     *handlers.API
	bucket  bucket
	seeds   *seeds
	domains *seeds
	db      *sqlite.DB
	ledger  *ledger.Ledger
	shards  *shards
	obeyed  *obeyed
	assets  error  // of reading static files
	leased  string // id of a lease: what requests name {lease}
	now     time.Time
}

// obeyed records applied changes of exclusions.
type obeyed struct{ changes []string }

func (o *obeyed) Apply(_ context.Context, kind, value string) {
	o.changes = append(o.changes, kind+" "+value)
}

func newFixture(t testing.TB, change func(*settings.Settings)) *fixture {
	t.Helper()
	s, err := settings.Read(func(string) (string, bool) { return "", false })
	if err != nil {
		panic(err)
	}
	s.Signing.Agent = "https://example.com" // where httptest sends its requests
	s.Signing.Keys = []botauth.Key{signingKey}
	if change != nil {
		change(s)
	}
	db, err := sqlite.Open()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { db.Close() })
	f := &fixture{
		bucket: bucket{r2.NewMemory()}, seeds: &seeds{}, domains: &seeds{}, db: db, ledger: ledger.New(db),
		obeyed: &obeyed{},
		now:    time.Date(2026, 1, 28, 10, 0, 0, 0, time.UTC),
	}
	f.shards = &shards{fixture: f, t: t, databases: map[string]*frontiersqlite.DB{}, frozen: map[string]bool{}}
	var writes time.Duration
	// A key accepts one write a second.
	f.bucket.Now = func() time.Time { writes += 2 * time.Second; return f.now.Add(writes) }
	log := slog.New(slog.DiscardHandler)
	now := func() time.Time { return f.now }
	sleep := func(context.Context, time.Duration) error { return nil }
	deadLetters := &deadletters.Store{Ledger: f.ledger, Bucket: f.bucket, Version: "v1", Log: log}
	decisions := &controls.Store{Bucket: f.bucket, Sleep: sleep}
	f.api = &handlers.API{
		Settings: s, Bucket: f.bucket, Seeds: f.seeds, Domains: f.domains, Log: log,
		Orchestrator: &orchestrator.Orchestrator{Bucket: f.bucket, Queue: f.seeds, Ledger: f.ledger, Log: log,
			Now: now, Sleep: sleep},
		Ledger: f.ledger,
		DeadLetters: &deadletters.Replayer{Ledger: f.ledger, Store: deadLetters, Seeds: f.seeds, Domains: f.domains,
			Exclusions: decisions.Exclusions, Now: now},
		Controls:   decisions,
		Exclusions: f.obeyed,
		Evidence: &collector.Collector{Bucket: f.bucket, Clock: fetch.SystemClock(), Model: embedded.Load,
			UserAgent: s.UserAgent, Log: log},
		Reconciler: &reconcile.Reconciler{Bucket: f.bucket, DeadLetters: deadLetters, Ledger: f.ledger, Now: now},
		Webhook: &webhook.Sender{Frontier: client.Frontier{Caller: f.shards, Shards: 3}, Shards: 3,
			Exclusions: decisions.Exclusions, Ledger: f.ledger, DeadLetters: deadLetters,
			URL:         "https://receiver.example/",
			Environment: s.Environment, Log: log, Now: now},
		Alarms: &alarms.Watch{Webhook: received{}, URL: "https://alerts.example/", Environment: s.Environment, Log: log,
			Now: now},
		Restorer: &reconcile.Restorer{Bucket: f.bucket, Frontier: client.Frontier{Caller: f.shards, Shards: 3}},
		Frontier: client.Frontier{Caller: f.shards, Shards: 3},
		Backlogs: func(context.Context) ([]contract.Backlog, []error) {
			three := contract.Backlog{Messages: 3, Bytes: 300, Oldest: contract.At(f.now.Add(-time.Minute))}
			return []contract.Backlog{three, three, {}}, []error{nil, nil, errors.New("the platform does not say")}
		},
		Model: func(ctx context.Context) (*classify.Model, error) {
			if f.assets != nil {
				return nil, f.assets
			}
			return embedded.Load(ctx)
		},
		Asset: func(_ context.Context, path string) ([]byte, error) {
			if f.assets != nil {
				return nil, f.assets
			}
			return contract.Published(path)
		},
		Pool: func() (handlers.PoolStats, error) {
			return handlers.PoolStats{Created: 2, Reused: 5, Idle: 2, Memory: []int{1 << 20, 2 << 20}, Peak: 5 << 20,
				Reserved: 14 << 20, Refused: map[string]int{"memory": 3},
				Dropped: map[string]int{"memory": 1}, Recovered: map[string]int{"handler": 1},
				Timed: 4, Seconds: map[string]float64{"robots": 0.5, "sitemaps": 2.25}}, nil
		},
		Signer: &botauth.Signer{Keys: s.Signing.Keys, Agent: s.Signing.Agent, Sign: signed, Now: now},
		Local:  func() bool { return true },
		Now:    now,
	}
	return f
}

// received is a webhook that answers every post with an error, or takes it.
type received struct{ err error }

func (r received) Post(context.Context, string, http.Header, []byte, time.Duration) error {
	return r.err
}

var signingKey = func() botauth.Key {
	keys, err := botauth.ParseKeys(`{"kty":"OKP","crv":"Ed25519","x":"11qYAYKxCrfVS_7TyWQHOg7hcvPapiMlrwIaaPcHURo",` +
		`"d":"nWGxne_9WmC6hEr0kuwsxERJxWl7MmkZcDusAxyuf2A"}`) // RFC 8037, A.1
	if err != nil {
		panic(err)
	}
	return keys[0]
}()

// signed is a botauth.Sign.
func signed(context.Context, botauth.Key, string) ([]byte, error) { return []byte("signed"), nil }

// shards are the objects of the frontier.
type shards struct {
	fixture *fixture
	t       testing.TB

	mu        sync.Mutex
	databases map[string]*frontiersqlite.DB
	frozen    map[string]bool // by name; "" freezes all
	calls     int
}

var errRefused = errors.New("refused")

// Call implements client.Caller.
func (s *shards) Call(_ context.Context, name, operation string, request []byte) (answer []byte, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.calls++
	if s.frozen[name] || s.frozen[""] {
		return nil, &contract.Error{Kind: contract.Timeout, Op: "shards.Call",
			Message: "no answer, and a secret in the message"}
	}
	db := s.databases[name]
	if db == nil {
		if db, err = frontiersqlite.Open(); err != nil {
			s.t.Fatal(err)
		}
		s.t.Cleanup(func() { db.Close() })
		s.databases[name] = db
	}
	shard := shard.Shard{DB: db, Settings: shard.Settings{Delay: time.Second}}
	err = db.Transaction(func() error {
		a := shard.Serve(epoch.MillisOf(s.fixture.now), operation, request)
		if answer = a.Text; !a.OK {
			return errRefused
		}
		return nil
	})
	if errors.Is(err, errRefused) {
		err = nil
	}
	return answer, err
}

type reply struct {
	Success bool            `json:"success"`
	Data    json.RawMessage `json:"data"`
	Error   *struct {
		Code, Message, Field string
	} `json:"error"`
	status int
	header http.Header
}

// raw sends a request, as JSON unless header, alternating names and values, says otherwise.
func (f *fixture) raw(t *testing.T, method, target, body string, header ...string) *httptest.ResponseRecorder {
	t.Helper()
	return f.rawWith(t, t.Context(), method, target, body, header...)
}

func (f *fixture) rawWith(t *testing.T, ctx context.Context, method, target, body string,
	header ...string) *httptest.ResponseRecorder {
	t.Helper()
	target = strings.ReplaceAll(target, "{lease}", cmp.Or(f.leased, "none"))
	r := httptest.NewRequestWithContext(ctx, method, target, strings.NewReader(body))
	if method != "GET" && method != "HEAD" {
		r.Header.Set("Content-Type", "application/json")
	}
	for i := 0; i < len(header); i += 2 {
		if header[i] == "Content-Length" {
			r.ContentLength = -1
			continue
		}
		r.Header.Set(header[i], header[i+1])
	}
	w := httptest.NewRecorder()
	f.api.Handler().ServeHTTP(w, r)
	conforms(t, r, w)
	return w
}

func (f *fixture) do(t *testing.T, method, target, body string, header ...string) reply {
	t.Helper()
	w := f.raw(t, method, target, body, header...)
	out := reply{status: w.Code, header: w.Header()}
	if err := json.Unmarshal(w.Body.Bytes(), &out); err != nil {
		t.Fatalf("%s %s: the answer is not JSON: %q", method, target, w.Body)
	}
	if out.header.Get("X-Request-Id") == "" {
		t.Errorf("%s %s: no X-Request-Id", method, target)
	}
	if out.Success != (out.status < 400) {
		t.Errorf("%s %s: success is %v with status %d", method, target, out.Success, out.status)
	}
	return out
}

var place = contract.Partition{Country: "sg", Category: "news", Date: "2026-01-28"}

const newestDocument = `{"domain":"a.sg","domain_id":"gov:sg:a.sg","authority":"gov","revision":7,` +
	`"source":{"raw_file_path":"raw/country=sg/category=news/date=2026-01-29/raw_0003.json"},` +
	`"urls":[{"url":"https://a.sg/1"},{"url":"https://www.a.sg/2"},{"url":"https://x.a.sg/3"}]}`

// fill stores an example of everything.
func fill(t *testing.T, f *fixture) {
	t.Helper()
	holdDelivery(t, f)
	at := f.now.Add(-time.Minute)
	later := contract.Partition{Country: "sg", Category: "news", Date: "2026-01-29"}
	good := contract.Outcome{CollectedAt: at, Reachable: true, Robots: true, Duration: 1250 * time.Millisecond}
	bad := contract.Outcome{CollectedAt: at, ErrorType: "network_error", ErrorMessage: "refused"}
	deadLetter := func(id, queue string, p contract.Partition, domain string) ledger.DeadLetter {
		l := ledger.DeadLetter{
			MessageID: id, WorkKey: contract.RawFile{Partition: place, Name: "raw_0002"}.Key(), R2Key: "dlq/queue=" +
				queue + "/date=2026-01-28/" + id + ".json", Partition: p, Domain: domain,
			DeadLetterError: contract.DeadLetterError{ErrorType: contract.Parse, ErrorMessage: "not JSON",
				RetryCount: 3, FailedAt: at},
			DeadLetterContext: contract.DeadLetterContext{QueueName: queue, WorkerVersion: "v1"},
		}
		body, err := json.Marshal(contract.DeadLetter{OriginalMessage: json.RawMessage(`{"id":"` + id + `"}`),
			ErrorInfo: l.DeadLetterError, Context: l.DeadLetterContext})
		if err != nil {
			t.Fatal(err)
		}
		f.store(t, l.R2Key, string(body))
		return l
	}
	err := f.ledger.Record(t.Context(), ledger.Changes{
		Files: []ledger.FileChange{
			{RawFile: contract.RawFile{Partition: place, Name: "raw_0001"}, Processed: at,
				Duration: 400 * time.Millisecond},
			{RawFile: contract.RawFile{Partition: place, Name: "raw_0002"}, GaveUp: at, ErrorType: contract.Parse,
				ErrorMessage: "not JSON"},
		},
		Domains: []ledger.DomainChange{
			{Partition: place, Domain: "a.sg", Outcome: &good}, {Partition: later, Domain: "a.sg", Outcome: &good},
			{Partition: place, Domain: "b.sg", Outcome: &bad},
			{Partition: place, Domain: "c.sg", Queued: at}, {Partition: place, Domain: "out.sg", Excluded: at},
		},
		DeadLetters: []ledger.DeadLetter{deadLetter("m1", "newsfork-seed-dev", place, ""),
			deadLetter("m2", "newsfork-domain-dev", later, "a.sg"),
			deadLetter("m3", "newsfork-seed-dev", contract.Partition{}, "")},
	})
	if err != nil {
		t.Fatal(err)
	}
	f.store(t, contract.RawFile{Partition: place, Name: "raw_0002"}.Key(), "broken")
	f.store(t, contract.DomainDir{Partition: later, Domain: "a.sg"}.Document(), newestDocument)
	f.store(t, contract.DomainDir{Partition: later, Domain: "a.sg"}.Robots(), "User-agent: *\nDisallow:\n")
	f.store(t, contract.DomainDir{Partition: later, Domain: "a.sg"}.Sitemap(), "<urlset/>")
	if _, err := f.api.Frontier.Put(t.Context(), place, []frontier.NewPage{{URL: "https://a.sg/1"}}); err != nil {
		t.Fatal(err)
	}
	f.readRobots(t, "a.sg", f.now.Add(time.Hour), "User-agent:*\nDisallow:/private/\n")
	f.damage(t, "damaged.sg")
	f.leased = f.leaseOf(t, "leased.sg")
	_, err = f.api.Controls.Change(t.Context(), func(c *contract.Controls) error {
		for _, e := range [][2]string{{"domain", "out.sg"}, {"host", "www.out.sg"}} {
			c.Exclusions = append(c.Exclusions,
				contract.Exclusion{Kind: e[0], Value: e[1], CreatedAt: contract.Time{Time: at},
					CreatedBy: "API_TOKEN"})
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
}

// readRobots plays a collector that reads the robots.txt of a domain's host of the same name.
func (f *fixture) readRobots(t *testing.T, domain string, expires time.Time, rules string) {
	t.Helper()
	shard := f.api.Frontier.Of(domain)
	if a, err := shard.Acquire(t.Context(), frontier.AcquireRequest{Domain: domain, Owner: "collector",
		Seconds: 9}); err != nil || !a.Granted {
		t.Fatal(a, err)
	}
	visit := frontier.HostFindings{Host: domain, RobotsExpires: epoch.MillisOf(expires), Rules: &rules}
	if _, err := shard.Release(t.Context(), frontier.ReleaseRequest{Domain: domain, Owner: "collector",
		Hosts: []frontier.HostFindings{visit}}); err != nil {
		t.Fatal(err)
	}
}

// leaseOf puts a page of a domain and leases it.
func (f *fixture) leaseOf(t *testing.T, domain string) string {
	t.Helper()
	page := frontier.NewPage{URL: "https://" + domain + "/video", Type: "multimedia"}
	if _, err := f.api.Frontier.Put(t.Context(), place, []frontier.NewPage{page}); err != nil {
		t.Fatal(err)
	}
	lease, err := f.api.Frontier.Lease(t.Context(), epoch.MillisOf(f.now),
		frontier.LeaseRequest{Max: 1, PerHost: 1, Seconds: 600, Types: []string{page.Type}})
	if err != nil || lease.ID == "" {
		t.Fatalf("%+v, %v", lease, err)
	}
	return lease.ID
}

// damage makes a host whose row was taken for damaged.
func (f *fixture) damage(t *testing.T, host string) {
	t.Helper()
	if _, err := f.api.Frontier.Put(t.Context(), place, []frontier.NewPage{{URL: "https://" + host + "/1"}}); err !=
		nil {
		t.Fatal(err)
	}
	shard := f.api.Frontier.Of(host)
	db := f.shards.databases[shard.Name()]
	run := func(sql string) {
		t.Helper()
		if err := db.Query(sql, func(*store.Rows) {}); err != nil {
			t.Fatal(err)
		}
	}
	run("CREATE TABLE whole AS SELECT record FROM hosts WHERE host = '" + host + "'")
	run("UPDATE hosts SET record = X'FF' WHERE host = '" + host + "'")
	if _, err := shard.Hosts(t.Context(), frontier.HostsRequest{Limit: 10}); err != nil {
		t.Fatal(err)
	}
	run("UPDATE quarantine SET data = (SELECT record FROM whole)")
}

func (f *fixture) store(t *testing.T, key, content string) {
	t.Helper()
	if _, err := f.bucket.Put(t.Context(), key, []byte(content), nil); err != nil {
		t.Fatal(err)
	}
}

// get decodes the data of a successful answer.
func get[T any](t *testing.T, f *fixture, method, target, body string) (data T) {
	t.Helper()
	r := f.do(t, method, target, body)
	if r.status > 299 {
		t.Fatalf("%s %s: %d %+v", method, target, r.status, r.Error)
	}
	if err := json.Unmarshal(r.Data, &data); err != nil {
		t.Fatal(err)
	}
	return data
}

func open(t *testing.T) *fixture {
	t.Helper()
	f := newFixture(t, nil)
	fill(t, f)
	return f
}

func TestRequestID(t *testing.T) {
	f := newFixture(t, nil)
	if r := f.do(t, "GET", "/health", "", "X-Request-Id", "trace-1.a"); r.header.Get("X-Request-Id") != "trace-1.a" {
		t.Errorf("a plain id is not repeated: %s", r.header)
	}
	if r := f.do(t, "GET", "/health", "", "X-Request-Id", "<script>"); r.header.Get("X-Request-Id") == "<script>" {
		t.Error("an id that could do harm is repeated")
	}
}
