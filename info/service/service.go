// Package service assembles the Info service's two Workers. It gets the platform as a parameter, so that tests run
// the same service natively.
package service

import (
	"context"
	"crypto/rand"
	"encoding/hex"
	"errors"
	"log/slog"
	"net"
	"net/http"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/newsfork/seed-engine/alarms"
	"github.com/newsfork/seed-engine/botauth"
	"github.com/newsfork/seed-engine/contract"
	"github.com/newsfork/seed-engine/fetch"
	"github.com/newsfork/seed-engine/httpapi"
	"github.com/newsfork/seed-engine/info"
	"github.com/newsfork/seed-engine/info/cache"
	"github.com/newsfork/seed-engine/info/collect"
	"github.com/newsfork/seed-engine/info/connection"
	"github.com/newsfork/seed-engine/info/postgres"
	"github.com/newsfork/seed-engine/info/redis"
	"github.com/newsfork/seed-engine/info/sources"
	"github.com/newsfork/seed-engine/info/store"
	"github.com/newsfork/seed-engine/info/watch"
	"github.com/newsfork/seed-engine/info/web"
	"github.com/newsfork/seed-engine/ledger"
	"github.com/newsfork/seed-engine/settings"
)

// Platform is the environment of the service.
type Platform struct {
	Bound      func(name string) bool // reports whether a binding or variable exists
	D1         store.DB               // INFO_DB
	KV         cache.Namespace        // INFO_CACHE
	Hyperdrive func() string          // connection string; "" if not bound
	Dial       func(ctx context.Context, address string, encrypted bool) (net.Conn, error)
	Transport  fetch.Transport // to the web
	Sign       botauth.Sign
	Webhook    func(userAgent string) alarms.Webhook
	Engine     fetch.Transport // the service binding SEED_ENGINE
	Variable   func(name string) (value string, ok bool)
	Local      func() bool                          // reports whether this is a local run
	After      func(work func(ctx context.Context)) // runs work after the current answer; nil: at once
	// Shared returns a number that all instances in an isolate share; nil: there is only one instance.
	Shared func(name string) Cell
	Log    *slog.Logger
	Now    func() time.Time
	Sleep  func(ctx context.Context, d time.Duration) error
	Extend func(d time.Duration) // moves the current event's deadline to d from now
}

// Cell is a number, 0 at first.
type Cell = cache.Cell

// Names of bindings.
const (
	d1Binding         = "INFO_DB"
	kvBinding         = "INFO_CACHE"
	hyperdriveBinding = "HYPERDRIVE"
	engineBinding     = "SEED_ENGINE"
)

// parts are shared by both Workers.
type parts struct {
	Platform
	settings *settings.Info
	store    *store.Store
	cache    cache.Cache // nil: there is none
	owner    string
	closers  []func() error // of the event's connections
}

// ReaderTimeout limits what a reader waits for the database: a statement, and the opening of a connection.
const ReaderTimeout = 2 * time.Second

// pause follows a timeout of the database, or a failure of Redis.
const pause = 5 * time.Second

// sparing is a database that readers are not kept waiting for.
type sparing struct {
	store.DB
	breaker *connection.Breaker
}

// Batch implements store.DB.
func (s sparing) Batch(ctx context.Context, statements []ledger.Statement) (results []ledger.Result, err error) {
	err = s.breaker.Do(ctx, func() error {
		results, err = s.DB.Batch(ctx, statements)
		return err
	})
	return results, err
}

// breaker returns a Breaker that the instances in an isolate share.
func (p *Platform) breaker(name string) *connection.Breaker {
	b := &connection.Breaker{Until: new(atomic.Int64), Pause: pause, Now: p.Now}
	if p.Shared != nil {
		b.Until = p.Shared(name)
	}
	return b
}

// assemble selects store and cache by their bindings: PostgreSQL before D1, Redis before KV. For readers,
// calls of the database have a short timeout.
func assemble(p Platform, readers bool) (*parts, error) {
	s, err := settings.ReadInfo(p.Variable)
	if err != nil {
		return nil, err
	}
	if c := s.CategoryDefault; c != "" && !slices.Contains(info.Categories, info.Category(c)) {
		return nil, contract.Invalid("INFO_CATEGORY_DEFAULT", "%q is not one of the topics %v; name one, or none", c,
			info.Categories)
	}
	a := &parts{Platform: p, settings: s, owner: unique()}
	switch {
	case p.Bound(hyperdriveBinding):
		db, err := postgres.New(p.Hyperdrive(),
			func(ctx context.Context, address string) (net.Conn, error) { return p.Dial(ctx, address, false) })
		if err != nil {
			return nil, contract.Invalid(hyperdriveBinding, "%s", err.Error())
		}
		if readers {
			db.Timeout, db.ConnectTimeout = ReaderTimeout, ReaderTimeout
		}
		a.store = store.NewPostgres(a.database(db, readers))
		a.closers = append(a.closers, db.Close)
	case p.Bound(d1Binding):
		a.store = store.NewD1(a.database(p.D1, readers))
	default:
		return nil, contract.Invalid(d1Binding, "is not bound, nor is %s; bind one of them",
			hyperdriveBinding)
	}
	switch {
	case s.RedisURL != "":
		client, err := redis.New(s.RedisURL, p.Dial)
		if err != nil {
			return nil, contract.Invalid("REDIS_URL", "%s", err.Error())
		}
		a.cache = cache.NewRedis(client)
		a.closers = append(a.closers, client.Close)
	case p.Bound(kvBinding):
		a.cache = cache.NewKV(p.KV)
	}
	return a, nil
}

func (a *parts) database(db store.DB, readers bool) store.DB {
	if !readers {
		return db
	}
	return sparing{db, a.breaker("infoStoreRests")}
}

// unique returns a name for an instance in leases.
func unique() string {
	var b [8]byte
	rand.Read(b[:])
	return hex.EncodeToString(b[:])
}

// end closes the event's connections.
func (a *parts) end() {
	for _, c := range a.closers {
		c() // errors are irrelevant
	}
}

// background runs work after the event's answer, and closes the connections that the work opens.
func (a *parts) background() func(work func(ctx context.Context)) {
	if a.After == nil {
		return nil
	}
	return func(work func(ctx context.Context)) {
		a.After(func(ctx context.Context) {
			defer a.end()
			work(ctx)
		})
	}
}

// once assembles something at the first event, since only events see variables.
func once[T any](p Platform, readers bool, build func(*parts) T) func() (*parts, T, error) {
	type built struct {
		parts *parts
		it    T
	}
	get := sync.OnceValues(func() (built, error) {
		a, err := assemble(p, readers)
		if err != nil {
			return built{}, err
		}
		return built{a, build(a)}, nil
	})
	return func() (*parts, T, error) {
		b, err := get()
		if err != nil {
			p.Log.Error("settings_failed", "error_type", contract.Validation, "error", err.Error())
		}
		return b.parts, b.it, err
	}
}

func misconfigured(w http.ResponseWriter, err error) {
	w.Header().Set("Content-Type", "application/json; charset=utf-8")
	w.Header().Set("Cache-Control", "no-store")
	w.WriteHeader(http.StatusInternalServerError)
	w.Write(contract.Encode(map[string]string{"detail": err.Error(), "code": "APPLICATION_ERROR"}))
}

// NewAPI returns the handler of the Worker for readers.
func NewAPI(p Platform) http.Handler {
	get := once(p, true, func(a *parts) http.Handler {
		pages := &cache.Reader{Cache: a.cache, Store: a.store, Kind: a.store.Name(), Owner: a.owner,
			Background: a.background(), Log: p.Log, Now: p.Now}
		if p.Shared != nil {
			pages.Pulse.Due, pages.Pulse.Silent = p.Shared("infoStoreDue"), p.Shared("infoStoreSilent")
		}
		if a.settings.RedisURL != "" {
			pages.Breaker = a.breaker("infoCacheRests")
			pages.Breaker.Trips = func(error) bool { return true }
		}
		r := &web.Reading{Pages: pages, Store: a.store, Origins: a.settings.Origins, Public: a.settings.PublicURL,
			Log: p.Log, Now: p.Now}
		return r.Handler()
	})
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		a, h, err := get()
		if err != nil {
			misconfigured(w, err)
			return
		}
		defer a.end()
		h.ServeHTTP(w, r)
	})
}

// Collector is the Worker that collects.
type Collector struct {
	get func() (*parts, *collecting, error)
}

type collecting struct {
	*collect.Collector
	handler http.Handler
	watch   *watch.Watch
}

// NewCollector returns the Worker that collects.
func NewCollector(p Platform) *Collector {
	return &Collector{once(p, false, func(a *parts) *collecting {
		c := &collect.Collector{
			Sources: a.sources(), Store: a.store, Cache: a.cache, Transport: a.web(),
			// Providers know their callers by keys.
			Via: map[string]fetch.Transport{info.Naver: p.Transport, info.NewsData: p.Transport,
				info.Seed: p.Transport},
			UserAgent: a.settings.UserAgent, Interval: a.settings.Interval, Engine: a.engine(),
			Default:   info.Category(a.settings.CategoryDefault),
			Retention: a.settings.Retention, MaxArticles: a.settings.MaxArticles,
			Owner: a.owner, Log: p.Log, Now: p.Now, Sleep: p.Sleep,
		}
		if p.Bound(engineBinding) {
			c.Via[info.Seed] = p.Engine
		}
		o := &web.Operating{
			Collector: c, Records: a.store, Environment: a.settings.Environment, Log: p.Log, Now: p.Now,
			Extend: p.Extend, Limit: a.settings.DatabaseBytes, Cache: a.cache,
			Guard: httpapi.Guard{
				Realm: "info-collector", Token: a.settings.APIToken, Previous: a.settings.APITokenPrevious,
				Local: func() bool { return a.settings.Environment == settings.Development && p.Local() },
			},
		}
		for _, s := range c.Sources {
			o.Configured = append(o.Configured, s.Name())
			if f, ok := s.(*sources.Feeds); ok {
				o.Feeds = f.Status
			}
		}
		o.Intervals = watch.Sources{}
		c.Schedule = o.Intervals
		for _, s := range a.crons() {
			for _, name := range s.names {
				if slices.Contains(o.Configured, name) {
					o.Intervals[name] = watch.Interval(s.cron)
					o.Crons = append(o.Crons, s.cron)
				}
			}
		}
		return &collecting{c, o.Handler(), &watch.Watch{
			Sources: o.Intervals, Store: a.store, Limit: a.settings.DatabaseBytes,
			Webhook:     p.Webhook(a.settings.UserAgent),
			URL:         a.settings.AlertWebhookURL,
			Environment: a.settings.Environment, Owner: a.owner, Log: p.Log, Now: p.Now,
		}}
	})}
}

// web returns the transport to websites, which signs if the settings say so.
func (a *parts) web() fetch.Transport {
	s := a.settings.Signing
	if s.Form == "" {
		return a.Transport
	}
	signer := &botauth.Signer{Keys: s.Keys, Agent: s.Agent, Form: s.Form, Sign: a.Sign, Now: a.Now}
	return &fetch.Signed{Transport: a.Transport, Signer: signer, Log: a.Log}
}

// sources returns the sources that have a key or URL.
func (a *parts) sources() (list []info.Source) {
	s := a.settings
	if s.NaverID != "" {
		list = append(list, &sources.Naver{
			Endpoint: s.NaverURL, IDHeader: s.NaverIDHeader, SecretHeader: s.NaverSecretHeader, ID: s.NaverID,
			Secret:  s.NaverSecret,
			Queries: s.NaverQueries, Daily: s.NaverDailyLimit,
		})
	}
	if s.NewsDataKey != "" {
		list = append(list, &sources.NewsData{Endpoint: s.NewsDataURL, Key: s.NewsDataKey, Queries: s.NewsDataQueries,
			Daily: s.NewsDataDailyLimit, Window: s.NewsDataWindow})
	}
	if len(s.Feeds) > 0 {
		list = append(list, &sources.Feeds{URLs: s.Feeds, Zones: s.FeedZones})
	}
	if endpoint := a.engineURL(); endpoint != "" {
		list = append(list, &sources.Seed{Endpoint: endpoint, Token: s.SeedToken, All: s.SeedAll})
	}
	return list
}

// engineURL returns the address of the Seed Engine, or "" without one.
func (a *parts) engineURL() string {
	if a.settings.SeedURL == "" && a.Bound(engineBinding) {
		return "https://seed-engine.example" // a binding needs no name, but a URL has one
	}
	return a.settings.SeedURL
}

// engine returns the Seed Engine's frontier, or nil without an engine.
func (a *parts) engine() *collect.Engine {
	e := &collect.Engine{Transport: a.Transport, Endpoint: a.engineURL(), Token: a.settings.SeedToken}
	if a.Bound(engineBinding) {
		e.Transport = a.Engine
	}
	if e.Endpoint == "" {
		return nil
	}
	return e
}

// start is a cron expression with its sources.
type start struct {
	cron  string
	names []string
}

func (a *parts) crons() []start {
	return []start{
		{a.settings.NaverCron, []string{info.Naver}},
		{a.settings.NewsDataCron, []string{info.NewsData}},
		{a.settings.FeedsCron, []string{info.Feed, info.Seed}},
	}
}

// ServeHTTP serves operators.
func (c *Collector) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	a, it, err := c.get()
	if err != nil {
		httpapi.Misconfigured(w, err)
		return
	}
	defer a.end()
	it.handler.ServeHTTP(w, r)
}

// Cron collects from the sources of a cron expression and judges the alarms. Any other expression is the daily one.
func (c *Collector) Cron(ctx context.Context, expression string) error {
	a, it, err := c.get()
	if err != nil {
		return err
	}
	defer a.end()
	var names []string
	for _, s := range a.crons() {
		if s.cron == expression {
			names = append(names, s.names...)
		}
	}
	a.note(a.store.BeginCron(ctx, expression, a.Now()))
	err = errors.Join(it.work(ctx, names), it.watch.Run(ctx))
	kind := contract.Kind("")
	if err != nil {
		kind = contract.KindOf(err)
	}
	a.note(a.store.EndCron(context.WithoutCancel(ctx), expression, kind, a.Now()))
	return err
}

// note logs that the record of a cron was not stored.
func (a *parts) note(err error) {
	if err != nil {
		a.Log.Warn("info_store_failed", "error_type", contract.KindOf(err), "error", err.Error())
	}
}

// work collects from sources; without any, it does the daily work.
func (it *collecting) work(ctx context.Context, names []string) error {
	if len(names) == 0 {
		return it.Daily(ctx)
	}
	var failures []error
	for _, r := range it.Run(ctx, names...) {
		if r.Error != "" {
			failures = append(failures, &contract.Error{Kind: r.Kind, Op: "collect." + r.Source, Message: r.Error})
		}
	}
	return errors.Join(failures...)
}
