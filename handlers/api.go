// Package handlers is the HTTP API of the Seed Engine. Every answer is
// {"success": true, "data": …} or {"success": false, "error": {"code", "message", "field"?}} and
// carries X-Request-Id.
package handlers

import (
	"context"
	"crypto/rand"
	"encoding/hex"
	"log/slog"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/newsfork/seed-engine/classify"
	"github.com/newsfork/seed-engine/collector"
	"github.com/newsfork/seed-engine/contract"
	"github.com/newsfork/seed-engine/frontier"
	"github.com/newsfork/seed-engine/ledger"
	"github.com/newsfork/seed-engine/orchestrator"
	"github.com/newsfork/seed-engine/r2"
	"github.com/newsfork/seed-engine/settings"
)

// Orchestrator queues the raw files that a filter selects.
type Orchestrator interface {
	Run(ctx context.Context, c contract.Continuation) (orchestrator.Result, error)
}

// Bucket is what the API needs of the object store. Store takes the request's body as it streams in, under a condition
// (r2.ErrPrecondition); MD5 reads it as well, and returns its digest in hexadecimal.
type Bucket interface {
	Head(ctx context.Context, key string) (*r2.Object, error)
	Get(ctx context.Context, key string) (*r2.Body, error)
	List(ctx context.Context, o r2.ListOptions) (*r2.Page, error)
	Put(ctx context.Context, key string, data []byte, o *r2.PutOptions) (*r2.Object, error)
	Delete(ctx context.Context, keys ...string) error
	Store(ctx context.Context, key string, r *http.Request, c r2.Condition) (*r2.Object, error)
	MD5(ctx context.Context, r *http.Request) (string, error)
}

// Sender puts messages on a queue.
type Sender interface {
	Send(ctx context.Context, b *contract.Batch) error
}

// Ledger is what the API needs of package ledger.
type Ledger interface {
	Ping(ctx context.Context) error
	Record(ctx context.Context, c ledger.Changes) error
	Files(ctx context.Context, p contract.Partition, names []string) (map[string]ledger.FileRecord, error)
	EndFile(ctx context.Context, file contract.RawFile, deleted bool, at time.Time, by string) error
	Standings(ctx context.Context, files []contract.RawFile, since, requiredSince time.Time) (map[contract.RawFile]contract.FileStanding, error)
	Status(ctx context.Context, q ledger.StatusQuery) (*ledger.Status, error)
	Domains(ctx context.Context, q ledger.DomainQuery) (contract.DomainPage, error)
	Domain(ctx context.Context, domain string, f contract.Filter) ([]contract.DomainRecord, error)
	DeadLetters(ctx context.Context, q ledger.DeadLetterQuery) (contract.DeadLetterPage, error)
	DeadLetter(ctx context.Context, id string) (*contract.DeadLetterDetail, error)
}

// DeadLetters reads stored dead letters (nil when one is gone), and replays or discards them. by is the
// name of the token that asks for it.
type DeadLetters interface {
	Read(ctx context.Context, key string) (*contract.DeadLetter, error)
	Replay(ctx context.Context, choice contract.DeadLetterChoice, by string) (contract.Resolved, error)
	Discard(ctx context.Context, choice contract.DeadLetterChoice, by string) (contract.Resolved, error)
}

// Controls keeps the decisions of operators. Change is applied again when another came in between.
type Controls interface {
	Read(ctx context.Context) (contract.Controls, *contract.Exclusions, error)
	Change(ctx context.Context, change func(*contract.Controls) error) (contract.Controls, error)
}

// Obeyed has the frontier obey a change of exclusions, as far as it answers.
type Obeyed interface {
	Apply(ctx context.Context, kind, value string)
}

// Evidence reads what a collection stored beside a document. URLs for which excluded returns true are left out.
type Evidence interface {
	Stored(ctx context.Context, dir contract.DomainDir, doc *contract.Document, excluded func(url string) bool) (*collector.Stored, error)
}

// Reconciler rebuilds the ledger of a partition, a piece at a time.
type Reconciler interface {
	Run(ctx context.Context, p contract.Partition, cursor string) (contract.Reconciled, error)
}

// Restorer restores shards of the frontier from their snapshots, a piece at a time; all of them for "".
type Restorer interface {
	Run(ctx context.Context, shard string, live bool, cursor string) (contract.Restored, error)
}

// API is everything that the routes work with.
type API struct {
	Settings     *settings.Settings
	Orchestrator Orchestrator
	Bucket       Bucket
	Seeds        Sender // SEED_QUEUE
	Domains      Sender // DOMAIN_QUEUE
	Ledger       Ledger
	DeadLetters  DeadLetters
	Controls     Controls
	Exclusions   Obeyed
	Evidence     Evidence
	Reconciler   Reconciler
	Restorer     Restorer
	Frontier     frontier.Remotes
	Model        func(context.Context) (*classify.Model, error)
	Asset        func(ctx context.Context, path string) ([]byte, error) // a static file that is deployed with the program
	Backlogs     func(context.Context) ([]contract.Backlog, []error)    // of contract.QueueRoles; see engine.Platform
	Pool         func() (PoolStats, error)
	Local        func() bool // reports whether this is a local run; nil is no
	Log          *slog.Logger
	Now          func() time.Time

	readiness readiness
}

const requestID = "X-Request-Id"

// route maps a path to its methods.
type route struct {
	path    string
	access  access
	methods map[string]func(http.ResponseWriter, *http.Request) error
}

func (a *API) routes() []route {
	type methods = map[string]func(http.ResponseWriter, *http.Request) error
	return []route{
		{"/{$}", everybody, methods{"GET": a.index}},
		{"/health", everybody, methods{"GET": a.live}},
		{"/health/live", everybody, methods{"GET": a.live}},
		{"/health/ready", everybody, methods{"GET": a.ready}},
		{"/schemas/{name}", everybody, methods{"GET": a.schema}},
		{"/openapi.json", everybody, methods{"GET": a.openAPI}},
		{"/metrics", tokens, methods{"GET": a.metrics}},
		{"/api/v1/seeds/orchestrate", tokens, methods{"POST": a.orchestrate}},
		{"/api/v1/seeds/status", tokens, methods{"GET": a.status}},
		{"/api/v1/seeds/domains", tokens, methods{"GET": a.listDomains}},
		{"/api/v1/seeds/domains/{domain}", tokens, methods{"GET": a.showDomain}},
		{"/api/v1/seeds/domains/{domain}/robots.txt", tokens, methods{"GET": a.domainFile(contract.DomainDir.Robots, "text/plain; charset=utf-8")}},
		{"/api/v1/seeds/domains/{domain}/sitemap.xml", tokens, methods{"GET": a.domainFile(contract.DomainDir.Sitemap, "application/xml")}},
		{"/api/v1/seeds/domains/{domain}/urls", tokens, methods{"GET": a.domainURLs}},
		{"/api/v1/seeds/domains/{domain}/collect", tokens, methods{"POST": a.collect}},
		{"/api/v1/seeds/reconcile", tokens, methods{"POST": a.reconcile}},
		{"/api/v1/seeds/changes", tokens, methods{"GET": a.changes}},
		{"/api/v1/feed", tokens, methods{"GET": a.feed}},
		{"/api/v1/dlq", tokens, methods{"GET": a.listDeadLetters}},
		{"/api/v1/dlq/{id}", tokens, methods{"GET": a.showDeadLetter}},
		{"/api/v1/dlq/replay", tokens, methods{"POST": a.replay}},
		{"/api/v1/dlq/discard", tokens, methods{"POST": a.discard}},
		{"/api/v1/exclusions", tokens, methods{"GET": a.listExclusions}},
		{"/api/v1/exclusions/{kind}/{value}", tokens, methods{"GET": a.showExclusion, "PUT": a.exclude, "DELETE": a.include}},
		{"/api/v1/frontier/restore", tokens, methods{"POST": a.restore}},
		{"/api/v1/frontier/lease", scrapers, methods{"POST": a.leaseURLs}},
		{"/api/v1/frontier/report", scrapers, methods{"POST": a.reportURLs}},
		{"/api/v1/frontier/urls", tokens, methods{"POST": a.putURLs}},
		{"/api/v1/frontier/stats", tokens, methods{"GET": a.frontierStats}},
		{"/api/v1/frontier/url", tokens, methods{"GET": a.frontierURL}},
		{"/api/v1/frontier/hosts", tokens, methods{"GET": a.frontierHosts}},
		{"/api/v1/frontier/hosts/{host}", tokens, methods{"POST": a.changeHost}},
		{"/api/v1/frontier/shards/{shard}/export", operators, methods{"GET": a.exportShard}},
		{"/api/v1/pipeline", tokens, methods{"GET": a.pipeline}},
		{"/api/v1/pipeline/pause", tokens, methods{"POST": a.pause}},
		{"/api/v1/pipeline/resume", tokens, methods{"POST": a.resume}},
		{"/api/v1/datasets/{country}/{category}/{date}", tokens, methods{"GET": a.listDataset}},
		{"/api/v1/datasets/{country}/{category}/{date}/{chunk}", tokens, methods{"PUT": a.upload, "DELETE": a.deleteFile}},
	}
}

// Handler serves the API.
func (a *API) Handler() http.Handler {
	mux := http.NewServeMux()
	for _, rt := range a.routes() {
		mux.HandleFunc(rt.path, func(w http.ResponseWriter, r *http.Request) {
			if err := a.dispatch(w, r, rt); err != nil {
				fail(w, r, a.Log, err, nil)
			}
		})
	}
	mux.HandleFunc("/", func(w http.ResponseWriter, r *http.Request) {
		fail(w, r, a.Log, &failure{http.StatusNotFound, "not_found", "there is nothing at this path; GET / lists the endpoints"}, nil)
	})
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set(requestID, idOf(r))
		mux.ServeHTTP(w, r)
	})
}

func (a *API) dispatch(w http.ResponseWriter, r *http.Request, rt route) error {
	method := r.Method
	if method == http.MethodHead {
		method = http.MethodGet
	}
	var by string
	if rt.access != everybody {
		var err error
		if by, err = a.authorise(w, r, rt.access); err != nil {
			return err
		}
		w.Header().Set(accessHeader, mayDo(by))
		r = r.WithContext(context.WithValue(r.Context(), actorKey{}, by))
	}
	handle := rt.methods[method]
	if handle == nil {
		var allowed []string
		for m := range rt.methods {
			allowed = append(allowed, m)
		}
		slices.Sort(allowed)
		w.Header().Set("Allow", strings.Join(allowed, ", "))
		return &failure{http.StatusMethodNotAllowed, "method_not_allowed", r.Method + " is not possible here; send " + strings.Join(allowed, " or ")}
	}
	if by == settings.Development && method != http.MethodGet {
		if err := refuseForeignPage(r); err != nil {
			return err
		}
	}
	return handle(w, r)
}

// idOf repeats the caller's request id when it is a plain token, else makes one.
func idOf(r *http.Request) string {
	id := r.Header.Get(requestID)
	if id != "" && len(id) <= 128 && strings.Trim(id, "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789._-") == "" {
		return id
	}
	var b [16]byte
	rand.Read(b[:])
	return hex.EncodeToString(b[:])
}

// record writes to the ledger what was done. It stays done if that fails.
func (a *API) record(ctx context.Context, c ledger.Changes) {
	if err := a.Ledger.Record(ctx, c); err != nil {
		a.Log.Warn("ledger_failed", "error_type", contract.KindOf(err), "error", err.Error())
	}
}
