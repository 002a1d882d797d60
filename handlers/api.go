// Package handlers is the HTTP API of the Seed Engine. Package httpapi has its envelope and auth.
package handlers

import (
	"context"
	"log/slog"
	"net/http"
	"time"

	"github.com/newsfork/seed-engine/botauth"
	"github.com/newsfork/seed-engine/classify"
	"github.com/newsfork/seed-engine/collector"
	"github.com/newsfork/seed-engine/contract"
	"github.com/newsfork/seed-engine/frontier"
	"github.com/newsfork/seed-engine/frontier/client"
	"github.com/newsfork/seed-engine/httpapi"
	"github.com/newsfork/seed-engine/ledger"
	"github.com/newsfork/seed-engine/orchestrator"
	"github.com/newsfork/seed-engine/r2"
	"github.com/newsfork/seed-engine/settings"
)

// Orchestrator queues the raw files that a filter selects.
type Orchestrator interface {
	Run(ctx context.Context, c contract.Continuation) (orchestrator.Result, error)
}

// Bucket is the part of r2.Bucket that the API uses. Store streams the request's body into the bucket, if its
// condition holds (else r2.ErrPrecondition). MD5 reads the body without storing it and returns its digest in
// hexadecimal.
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

// Ledger is the part of the ledger that the API uses.
type Ledger interface {
	Ping(ctx context.Context) error
	Record(ctx context.Context, c ledger.Changes) error
	Files(ctx context.Context, p contract.Partition, names []string) (map[string]ledger.FileRecord, error)
	EndFile(ctx context.Context, file contract.RawFile, deleted bool, at time.Time, by string) error
	Standings(ctx context.Context, files []contract.RawFile, since,
		requiredSince time.Time) (map[contract.RawFile]contract.FileStanding, error)
	Status(ctx context.Context, q ledger.StatusQuery) (*ledger.Status, error)
	Domains(ctx context.Context, q ledger.DomainQuery) (contract.DomainPage, error)
	Domain(ctx context.Context, domain string, f contract.Filter) ([]contract.DomainRecord, error)
	AddRetries(ctx context.Context, records []contract.DomainRecord, delay time.Duration) error
	DeadLetters(ctx context.Context, q ledger.DeadLetterQuery) (contract.DeadLetterPage, error)
	DeadLetter(ctx context.Context, id string) (*contract.DeadLetterDetail, error)
}

// DeadLetters reads, replays and discards stored dead letters. Read returns nil for one that is gone. by names the
// caller's token.
type DeadLetters interface {
	Read(ctx context.Context, key string) (*contract.DeadLetter, error)
	Replay(ctx context.Context, choice contract.DeadLetterChoice, by string) (contract.Resolved, error)
	Discard(ctx context.Context, choice contract.DeadLetterChoice, by string) (contract.Resolved, error)
}

// Controls stores the decisions of operators. Change is called again if another change came in between.
type Controls interface {
	Read(ctx context.Context) (contract.Controls, *contract.Exclusions, error)
	Change(ctx context.Context, change func(*contract.Controls) error) (contract.Controls, error)
}

// ExclusionApplier makes the shards of the frontier that answer apply a changed exclusion.
type ExclusionApplier interface {
	Apply(ctx context.Context, kind, value string)
}

// Evidence reads what a collection stored beside a document, without the URLs for which excluded returns true.
type Evidence interface {
	Stored(ctx context.Context, dir contract.DomainDir, doc *contract.Document,
		excluded func(url string) bool) (*collector.Stored, error)
}

// Reconciler rebuilds the ledger of a partition in steps.
type Reconciler interface {
	Run(ctx context.Context, p contract.Partition, cursor string) (contract.Reconciled, error)
}

// FeedWebhook shows and skips deliveries of the feed. Skip returns nil if the delivery with the id is not held.
type FeedWebhook interface {
	State(ctx context.Context) (contract.FeedWebhook, error)
	Skip(ctx context.Context, id, by string) (*contract.FeedSkipped, error)
}

// Restorer restores a shard of the frontier from its snapshot in steps, or all shards for "".
type Restorer interface {
	Run(ctx context.Context, shard string, live bool, cursor string) (contract.Restored, error)
	Import(ctx context.Context, page frontier.Snapshot) (hosts int64, err error)
}

// API serves the routes.
type API struct {
	Settings     *settings.Settings
	Orchestrator Orchestrator
	Bucket       Bucket
	Seeds        Sender // SEED_QUEUE
	Domains      Sender // DOMAIN_QUEUE
	Ledger       Ledger
	DeadLetters  DeadLetters
	Controls     Controls
	Exclusions   ExclusionApplier
	Evidence     Evidence
	Reconciler   Reconciler
	Restorer     Restorer
	Webhook      FeedWebhook
	Alarms       AlarmWatch
	Frontier     client.Frontier
	Model        func(context.Context) (*classify.Model, error)
	// Asset returns a static file that was deployed with the program.
	Asset    func(ctx context.Context, path string) ([]byte, error)
	Backlogs func(context.Context) ([]contract.Backlog, []error) // of contract.QueueRoles; see engine.Platform
	Pool     func() (PoolStats, error)
	// Reserve takes bytes of memory out of the instance pool until the request ends, beyond what each request has. It
	// returns false if other events leave too little. Nil has no limit.
	Reserve func(bytes int64) bool
	Signer  *botauth.Signer // of the directory
	Local   func() bool     // reports whether this is a local run; nil means no
	Log     *slog.Logger
	Now     func() time.Time

	readiness readiness
}

// Routes by their subject, on what the API depends on.
type (
	datasetRoutes    struct{ *API }
	domainRoutes     struct{ *API }
	frontierRoutes   struct{ *API }
	deadLetterRoutes struct{ *API }
	controlRoutes    struct{ *API }
)

func (a *API) routes() []httpapi.Route {
	type methods = httpapi.Methods
	datasets, domains, shards := datasetRoutes{a}, domainRoutes{a}, frontierRoutes{a}
	letters, controls := deadLetterRoutes{a}, controlRoutes{a}
	return []httpapi.Route{
		{Path: "/{$}", Access: httpapi.Public, Methods: methods{"GET": a.index}},
		{Path: "/health", Access: httpapi.Public, Methods: methods{"GET": a.live}},
		{Path: "/health/live", Access: httpapi.Public, Methods: methods{"GET": a.live}},
		{Path: "/health/ready", Access: httpapi.Public, Methods: methods{"GET": a.ready}},
		{Path: "/schemas/{name}", Access: httpapi.Public, Methods: methods{"GET": a.schema}},
		{Path: "/openapi.json", Access: httpapi.Public, Methods: methods{"GET": a.openAPI}},
		{Path: "/bot", Access: httpapi.Public, Methods: methods{"GET": a.bot}},
		{Path: botauth.DirectoryPath, Access: httpapi.Public, Methods: methods{"GET": a.directory}},
		{Path: "/metrics", Access: httpapi.Readers, Methods: methods{"GET": a.metrics}},
		{Path: "/api/v1/seeds/orchestrate", Access: httpapi.Readers, Methods: methods{"POST": a.orchestrate}},
		{Path: "/api/v1/seeds/status", Access: httpapi.Readers, Methods: methods{"GET": a.status}},
		{Path: "/api/v1/seeds/domains", Access: httpapi.Readers, Methods: methods{"GET": domains.listDomains}},
		{Path: "/api/v1/seeds/domains/{domain}", Access: httpapi.Readers, Methods: methods{"GET": domains.showDomain}},
		{Path: "/api/v1/seeds/domains/{domain}/robots.txt", Access: httpapi.Readers,
			Methods: methods{"GET": domains.domainFile(contract.DomainDir.Robots, "text/plain; charset=utf-8")}},
		{Path: "/api/v1/seeds/domains/{domain}/sitemap.xml", Access: httpapi.Readers,
			Methods: methods{"GET": domains.domainFile(contract.DomainDir.Sitemap, "application/xml")}},
		{Path: "/api/v1/seeds/domains/{domain}/urls", Access: httpapi.Readers,
			Methods: methods{"GET": domains.domainURLs}},
		{Path: "/api/v1/seeds/domains/{domain}/collect", Access: httpapi.Readers,
			Methods: methods{"POST": domains.collect}},
		{Path: "/api/v1/seeds/reconcile", Access: httpapi.Readers, Methods: methods{"POST": a.reconcile}},
		{Path: "/api/v1/seeds/changes", Access: httpapi.Readers, Methods: methods{"GET": a.changes}},
		{Path: "/api/v1/feed", Access: httpapi.Readers, Methods: methods{"GET": a.feed}},
		{Path: "/api/v1/feed/webhook", Access: httpapi.Readers, Methods: methods{"GET": a.feedWebhook}},
		{Path: "/api/v1/feed/webhook/{id}/skip", Access: httpapi.Readers, Methods: methods{"POST": a.skipDelivery}},
		{Path: "/api/v1/alarms/test", Access: httpapi.Readers, Methods: methods{"POST": a.tryAlarms}},
		{Path: "/api/v1/dlq", Access: httpapi.Readers, Methods: methods{"GET": letters.listDeadLetters}},
		{Path: "/api/v1/dlq/{id}", Access: httpapi.Readers, Methods: methods{"GET": letters.showDeadLetter}},
		{Path: "/api/v1/dlq/replay", Access: httpapi.Readers, Methods: methods{"POST": letters.replay}},
		{Path: "/api/v1/dlq/discard", Access: httpapi.Readers, Methods: methods{"POST": letters.discard}},
		{Path: "/api/v1/exclusions", Access: httpapi.Readers, Methods: methods{"GET": controls.listExclusions}},
		{Path: "/api/v1/exclusions/{kind}/{value}", Access: httpapi.Readers,
			Methods: methods{"GET": controls.showExclusion, "PUT": controls.exclude, "DELETE": controls.include}},
		{Path: "/api/v1/frontier/restore", Access: httpapi.Readers, Methods: methods{"POST": shards.restore}},
		{Path: "/api/v1/frontier/snapshot", Access: httpapi.Readers, Methods: methods{"POST": shards.snapshot}},
		{Path: "/api/v1/frontier/import", Access: httpapi.Readers, Methods: methods{"POST": shards.importPage}},
		{Path: "/api/v1/frontier/lease", Access: httpapi.Scrapers, Methods: methods{"POST": shards.leaseURLs}},
		{Path: "/api/v1/frontier/lease/{lease_id}/renew", Access: httpapi.Scrapers,
			Methods: methods{"POST": shards.renewLease}},
		{Path: "/api/v1/frontier/lease/{lease_id}/release", Access: httpapi.Scrapers,
			Methods: methods{"POST": shards.releaseLease}},
		{Path: "/api/v1/frontier/visit", Access: httpapi.Scrapers, Methods: methods{"POST": shards.beginVisit}},
		{Path: "/api/v1/frontier/visit/end", Access: httpapi.Scrapers, Methods: methods{"POST": shards.endVisit}},
		{Path: "/api/v1/frontier/report", Access: httpapi.Scrapers, Methods: methods{"POST": shards.reportURLs}},
		{Path: "/api/v1/frontier/urls", Access: httpapi.Scrapers,
			Methods: methods{"POST": shards.putURLs, "DELETE": shards.removeURLs}},
		{Path: "/api/v1/frontier/stats", Access: httpapi.Readers, Methods: methods{"GET": shards.frontierStats}},
		{Path: "/api/v1/frontier/url", Access: httpapi.Readers, Methods: methods{"GET": shards.frontierURL}},
		{Path: "/api/v1/frontier/hosts", Access: httpapi.Readers, Methods: methods{"GET": shards.frontierHosts}},
		{Path: "/api/v1/frontier/hosts/{host}", Access: httpapi.Readers,
			Methods: methods{"GET": shards.frontierHost, "POST": shards.changeHost}},
		{Path: "/api/v1/frontier/hosts/{host}/robots.txt", Access: httpapi.Readers,
			Methods: methods{"GET": shards.frontierRobots}},
		{Path: "/api/v1/frontier/shards/{shard}/export", Access: httpapi.Operators,
			Methods: methods{"GET": shards.exportShard}},
		{Path: "/api/v1/frontier/shards/{shard}/quarantine", Access: httpapi.Readers,
			Methods: methods{"GET": shards.quarantine}},
		{Path: "/api/v1/frontier/shards/{shard}/quarantine/{id}", Access: httpapi.Readers,
			Methods: methods{"DELETE": shards.dropRow}},
		{Path: "/api/v1/frontier/shards/{shard}/quarantine/{id}/restore", Access: httpapi.Readers,
			Methods: methods{"POST": shards.restoreRow}},
		{Path: "/api/v1/pipeline", Access: httpapi.Readers, Methods: methods{"GET": controls.pipeline}},
		{Path: "/api/v1/pipeline/pause", Access: httpapi.Readers, Methods: methods{"POST": controls.pause}},
		{Path: "/api/v1/pipeline/resume", Access: httpapi.Readers, Methods: methods{"POST": controls.resume}},
		{Path: "/api/v1/datasets/{country}/{category}/{date}", Access: httpapi.Readers,
			Methods: methods{"GET": datasets.listDataset}},
		{Path: "/api/v1/datasets/{country}/{category}/{date}/{chunk}", Access: httpapi.Readers,
			Methods: methods{"PUT": datasets.upload, "DELETE": datasets.deleteFile}},
	}
}

// Handler serves the API.
func (a *API) Handler() http.Handler { return a.server().Handler(a.routes()) }

func (a *API) server() *httpapi.Server {
	s := a.Settings
	return &httpapi.Server{
		Guard: httpapi.Guard{
			Realm: "seed-engine", Token: s.APIToken, Previous: s.APITokenPrevious,
			Scraper: s.ScraperToken, Read: s.ReadToken,
			Local: func() bool { return s.Environment == settings.Development && a.Local != nil && a.Local() },
		},
		Log:      a.Log,
		LogEvent: "request_failed",
	}
}

// record adds changes to the ledger. A failure is only logged: the work itself is done.
func (a *API) record(ctx context.Context, c ledger.Changes) {
	if err := a.Ledger.Record(ctx, c); err != nil {
		a.Log.Warn("ledger_failed", "error_type", contract.KindOf(err), "error", err.Error())
	}
}
