// Package engine assembles the packages into what a Worker runs: an HTTP handler, a consumer of queue batches, and
// the cron's work. The platform is passed in, so that tests run the same engine natively.
package engine

import (
	"context"
	"errors"
	"log/slog"
	"net/http"
	"sync"
	"time"

	"github.com/newsfork/seed-engine/alarms"
	"github.com/newsfork/seed-engine/botauth"
	"github.com/newsfork/seed-engine/classify"
	"github.com/newsfork/seed-engine/contract"
	"github.com/newsfork/seed-engine/epoch"
	"github.com/newsfork/seed-engine/fetch"
	"github.com/newsfork/seed-engine/frontier/client"
	"github.com/newsfork/seed-engine/frontier/shard"
	"github.com/newsfork/seed-engine/frontier/shard/store"
	"github.com/newsfork/seed-engine/handlers"
	"github.com/newsfork/seed-engine/httpapi"
	"github.com/newsfork/seed-engine/ledger"
	"github.com/newsfork/seed-engine/queues"
	"github.com/newsfork/seed-engine/r2"
)

// Platform is the environment of an engine. All fields are required.
type Platform struct {
	Bucket    Bucket
	Seeds     queues.Producer
	Domains   queues.Producer
	DLQ       queues.Producer
	Backlogs  func(context.Context) ([]contract.Backlog, []error) // of contract.QueueRoles, or the error for each
	Database  ledger.DB
	Frontier  client.Caller // calls CallShard in a shard's object
	Transport fetch.Transport
	Sign      botauth.Sign
	Clock     fetch.Clock
	Webhook   func(userAgent string) alarms.Webhook
	Variable  func(name string) (value string, ok bool) // reads a variable or secret
	Version   func() string                             // of the deployment, or ""
	Model     func(context.Context) (*classify.Model, error)
	Asset     func(ctx context.Context, path string) ([]byte, error) // reads a deployed static file
	Pool      func() (handlers.PoolStats, error)
	Timed     func(stages map[string]time.Duration) // adds the times of a collection to those of Pool
	// Reserve takes bytes of memory out of the instance pool until the event ends. See handlers.API.
	Reserve func(bytes int64) bool
	Local   func() bool // reports whether this is a local run, which needs no token
	Log     *slog.Logger
}

// Bucket is the object store, which also takes the body of an upload directly.
type Bucket interface {
	r2.Bucket
	Store(ctx context.Context, key string, r *http.Request, c r2.Condition) (*r2.Object, error)
	MD5(ctx context.Context, r *http.Request) (string, error)
}

// Engine is the Seed Engine. It is safe for concurrent use.
type Engine struct {
	log   *slog.Logger
	parts func() (*parts, error)
}

// New returns an engine. The platform shows variables only to events, so the first event reads the settings. Every
// event fails while one of them is wrong.
func New(p Platform) *Engine {
	return &Engine{p.Log, sync.OnceValues(func() (*parts, error) { return assemble(p) })}
}

// ServeHTTP implements http.Handler.
func (e *Engine) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	p, err := e.configured()
	if err != nil {
		httpapi.Misconfigured(w, err)
		return
	}
	p.handler.ServeHTTP(w, r)
}

// Consume works through a batch of a queue, and settles each message on its own. After an error none is settled.
func (e *Engine) Consume(ctx context.Context, queue string, messages []queues.Message) error {
	p, err := e.configured()
	if err != nil {
		return err
	}
	p.consumer.Handle(ctx, queue, messages)
	return nil
}

// Cron does the work of every minute: it evaluates the alarms, confirms that the frontier obeys the exclusions, and
// delivers new items to the feed's webhook. Once an hour it deletes old rows from the ledger. at is the planned time
// of the run.
func (e *Engine) Cron(ctx context.Context, at time.Time) error {
	p, err := e.configured()
	if err != nil {
		return err
	}
	err = errors.Join(p.alarms.Run(ctx), p.excluded.Run(ctx))
	if at.Minute() == 0 {
		err = errors.Join(err, p.ledger.Prune(ctx, at.Add(-p.retention)))
	}
	return errors.Join(err, p.webhook.Run(ctx)) // last, because the receiver might be slow
}

// CallShard runs an operation on the shard with a name, whose database is db, in one transaction. The caller rolls it
// back if the answer is not ok.
func (e *Engine) CallShard(db store.DB, name string, now epoch.Millis, operation string, request []byte) shard.Answer {
	p, err := e.configured()
	if err != nil {
		return shard.Failure(err)
	}
	number, ok := client.ShardNumber(name)
	if !ok {
		return shard.Failure(contract.Invalid("shard", "%.40q is not the name of a shard", name))
	}
	shard := shard.Shard{DB: db, Number: number, Settings: p.shard}
	return shard.Serve(now, operation, request)
}

func (e *Engine) configured() (*parts, error) {
	p, err := e.parts()
	if err != nil {
		e.log.Error("settings_failed", "error_type", contract.Validation, "error", err.Error())
	}
	return p, err
}
