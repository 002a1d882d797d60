// Package service puts the Info service together into what its two Workers run. All that it needs of the
// platform it is given, so that tests run the same service natively.
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
	"time"

	"github.com/newsfork/seed-engine/alarms"
	"github.com/newsfork/seed-engine/contract"
	"github.com/newsfork/seed-engine/fetch"
	"github.com/newsfork/seed-engine/httpapi"
	"github.com/newsfork/seed-engine/info"
	"github.com/newsfork/seed-engine/info/cache"
	"github.com/newsfork/seed-engine/info/collect"
	"github.com/newsfork/seed-engine/info/postgres"
	"github.com/newsfork/seed-engine/info/redis"
	"github.com/newsfork/seed-engine/info/sources"
	"github.com/newsfork/seed-engine/info/store"
	"github.com/newsfork/seed-engine/info/watch"
	"github.com/newsfork/seed-engine/info/web"
	"github.com/newsfork/seed-engine/settings"
)

// Platform is what the service works with.
type Platform struct {
	Bound      func(name string) bool // whether there is a binding or variable with a name
	D1         store.DB               // INFO_DB
	KV         cache.Namespace        // INFO_CACHE
	Hyperdrive func() string          // the connection string of HYPERDRIVE; "" where there is none
	Dial       func(ctx context.Context, address string, encrypted bool) (net.Conn, error)
	Transport  fetch.Transport // to the world
	Webhook    func(userAgent string) alarms.Webhook
	Engine     fetch.Transport // the service binding SEED_ENGINE
	Variable   func(name string) (value string, ok bool)
	Local      func() bool                          // reports whether this is a local run
	After      func(work func(ctx context.Context)) // runs work when the current request is answered; nil: at once
	// a number that all instances in an isolate share; nil: there is but one
	Shared func(name string) Cell
	Log    *slog.Logger
	Now    func() time.Time
	Sleep  func(ctx context.Context, d time.Duration) error
	Extend func(d time.Duration) // gives the current event so much time from now
}

// Cell is a number, 0 at first.
type Cell = cache.Cell

// The names of bindings.
const (
	d1Binding         = "INFO_DB"
	kvBinding         = "INFO_CACHE"
	hyperdriveBinding = "HYPERDRIVE"
	engineBinding     = "SEED_ENGINE"
)

// parts are what both Workers have in common.
type parts struct {
	Platform
	settings *settings.Info
	store    *store.Store
	cache    cache.Cache // nil: there is none
	owner    string
	closers  []func() error // of connections, which belong to an event
}

// assemble chooses store and cache by the bindings that there are: PostgreSQL before D1, Redis before KV.
func assemble(p Platform) (*parts, error) {
	s, err := settings.ReadInfo(p.Variable)
	if err != nil {
		return nil, err
	}
	a := &parts{Platform: p, settings: s, owner: unique()}
	switch {
	case p.Bound(hyperdriveBinding):
		db, err := postgres.New(p.Hyperdrive(),
			func(ctx context.Context, address string) (net.Conn, error) { return p.Dial(ctx, address, false) })
		if err != nil {
			return nil, contract.Invalid(hyperdriveBinding, "%s", err.Error())
		}
		a.store = store.NewPostgres(db)
		a.closers = append(a.closers, db.Close)
	case p.Bound(d1Binding):
		a.store = store.NewD1(p.D1)
	default:
		return nil, contract.Invalid(d1Binding, "is not bound, and neither is %s: bind one of them",
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

// unique names an instance where leases are.
func unique() string {
	var b [8]byte
	rand.Read(b[:])
	return hex.EncodeToString(b[:])
}

// end closes connections with the event that they belong to.
func (a *parts) end() {
	for _, c := range a.closers {
		c() // nothing depends on it
	}
}

// background has the event go on with work after its answer, and closes the connections that the work opens.
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
func once[T any](p Platform, build func(*parts) T) func() (*parts, T, error) {
	type built struct {
		parts *parts
		it    T
	}
	get := sync.OnceValues(func() (built, error) {
		a, err := assemble(p)
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

// NewAPI makes the handler of the Worker that readers ask.
func NewAPI(p Platform) http.Handler {
	get := once(p, func(a *parts) http.Handler {
		pages := &cache.Reader{Cache: a.cache, Store: a.store, Kind: a.store.Name(), Owner: a.owner,
			Background: a.background(), Log: p.Log, Now: p.Now}
		if p.Shared != nil {
			pages.Pulse.Due, pages.Pulse.Silent = p.Shared("infoStoreDue"), p.Shared("infoStoreSilent")
		}
		r := &web.Reading{Pages: pages, Store: a.store, Origins: a.settings.Origins, Log: p.Log, Now: p.Now}
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

// NewCollector makes the Worker that collects.
func NewCollector(p Platform) *Collector {
	return &Collector{once(p, func(a *parts) *collecting {
		c := &collect.Collector{
			Sources: a.sources(), Store: a.store, Cache: a.cache, Transport: p.Transport,
			Via:       map[string]fetch.Transport{},
			UserAgent: a.settings.UserAgent, Default: info.Category(a.settings.CategoryDefault),
			Retention: a.settings.Retention,
			Owner:     a.owner, Log: p.Log, Now: p.Now, Sleep: p.Sleep,
		}
		if p.Bound(engineBinding) {
			c.Via[info.Seed] = p.Engine
		}
		o := &web.Operating{
			Collector: c, Records: a.store, Environment: a.settings.Environment, Log: p.Log, Now: p.Now,
			Extend: p.Extend,
			Guard: httpapi.Guard{
				Realm: "info-collector", Token: a.settings.APIToken, Previous: a.settings.APITokenPrevious,
				Local: func() bool { return a.settings.Environment == settings.Development && p.Local() },
			},
		}
		for _, s := range c.Sources {
			o.Configured = append(o.Configured, s.Name())
		}
		o.Intervals = watch.Sources{}
		for _, s := range a.crons() {
			for _, name := range s.names {
				if slices.Contains(o.Configured, name) {
					o.Intervals[name] = watch.Interval(s.cron)
				}
			}
		}
		return &collecting{c, o.Handler(), &watch.Watch{
			Sources: o.Intervals, Store: a.store, Webhook: p.Webhook(a.settings.UserAgent),
			URL:         a.settings.AlertWebhookURL,
			Environment: a.settings.Environment, Owner: a.owner, Log: p.Log, Now: p.Now,
		}}
	})}
}

// sources are those that have a key or URL.
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
		list = append(list, &sources.Feeds{URLs: s.Feeds})
	}
	endpoint := s.SeedURL
	if endpoint == "" && a.Bound(engineBinding) {
		endpoint = "https://seed-engine.example" // a binding needs no name, but a URL has one
	}
	if endpoint != "" {
		list = append(list, &sources.Seed{Endpoint: endpoint, Token: s.SeedToken})
	}
	return list
}

// start is what a cron expression starts.
type start struct {
	cron  string
	names []string // of sources
}

func (a *parts) crons() []start {
	return []start{
		{a.settings.NaverCron, []string{info.Naver}},
		{a.settings.NewsDataCron, []string{info.NewsData}},
		{a.settings.FeedsCron, []string{info.Feed, info.Seed}},
	}
}

// ServeHTTP implements http.Handler: what operators ask for.
func (c *Collector) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	a, it, err := c.get()
	if err != nil {
		httpapi.Misconfigured(w, err)
		return
	}
	defer a.end()
	it.handler.ServeHTTP(w, r)
}

// Cron collects what a cron expression starts, and sees to the alarms. An expression that starts no source is
// that of the day.
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
	return errors.Join(it.work(ctx, names), it.watch.Run(ctx))
}

// work collects from sources, or does what is done once a day when there are none.
func (it *collecting) work(ctx context.Context, names []string) error {
	if len(names) == 0 {
		return it.Daily(ctx)
	}
	var failures []error
	for _, r := range it.Run(ctx, names...) {
		if r.Error != "" {
			failures = append(failures, errors.New(r.Error))
		}
	}
	return errors.Join(failures...)
}
