package web

import (
	"context"
	_ "embed"
	"encoding/json"
	"log/slog"
	"math"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/newsfork/seed-engine/contract"
	"github.com/newsfork/seed-engine/httpapi"
	"github.com/newsfork/seed-engine/info"
	"github.com/newsfork/seed-engine/info/cache"
	"github.com/newsfork/seed-engine/info/store"
	"github.com/newsfork/seed-engine/info/watch"
	"github.com/newsfork/seed-engine/ledger"
	"github.com/newsfork/seed-engine/prometheus"
)

// Collector collects on request.
type Collector interface {
	Run(ctx context.Context, names ...string) []info.Report
	Replay(ctx context.Context, source string) (info.Replayed, error)
	Refresh(ctx context.Context) (done bool, err error)
}

// Records is the part of the store for operators.
type Records interface {
	Sources(ctx context.Context) ([]store.Source, error)
	DeadLetters(ctx context.Context, source string, limit int) ([]store.Letter, error)
	Resolve(ctx context.Context, source, request string) (bool, error)
	SetDeleted(ctx context.Context, id string, deleted bool) (bool, error)
	Cached(ctx context.Context) (store.Cached, error)
	Alarms(ctx context.Context) ([]ledger.SavedAlarm, error)
	Size(ctx context.Context) (int64, error)
	Find(ctx context.Context, id, key string) (*store.Found, error)
	Page(ctx context.Context, q info.Query) (info.Page, error)
	Name() string
	Crons(ctx context.Context) ([]store.Cron, error)
	Export(ctx context.Context, after string, limit int) ([]store.Found, error)
	Upsert(ctx context.Context, articles []store.New) (store.Saved, error)
}

// Operating serves operators.
type Operating struct {
	Collector  Collector
	Records    Records
	Configured []string      // names of the sources that are on
	Crons      []string      // expressions of those that start a source that is on
	Intervals  watch.Sources // how often these are collected
	Limit      int64         // what the database can hold, in bytes
	Cache      cache.Cache   // nil if there is none
	// Feeds returns a row per feed from the state of the source "feed"; nil if it is off.
	Feeds       func(state []byte) []info.FeedStatus
	Guard       httpapi.Guard
	Environment string
	Log         *slog.Logger
	Now         func() time.Time
	Extend      func(d time.Duration) // moves the current request's deadline to d from now
}

// collectTimeout limits the collection of all sources to the duration of a cron run.
const collectTimeout = 13 * time.Minute

// OperatorsOpenAPI describes the routes of operators.
//
//go:embed operators.json
var OperatorsOpenAPI []byte

// Handler serves the routes.
func (o *Operating) Handler() http.Handler {
	server := &httpapi.Server{Guard: o.Guard, Log: o.Log, LogEvent: "info_request_failed"}
	return server.Handler(o.routes())
}

func (o *Operating) routes() []httpapi.Route {
	type methods = httpapi.Methods
	return []httpapi.Route{
		{Path: "/openapi.json", Access: httpapi.Public, Methods: methods{"GET": o.openAPI}},
		{Path: "/{$}", Access: httpapi.Public, Methods: methods{"GET": o.index}},
		{Path: "/health", Access: httpapi.Public, Methods: methods{"GET": o.health}},
		{Path: "/api/v1/info/status", Access: httpapi.Operators, Methods: methods{"GET": o.status}},
		{Path: "/api/v1/info/collect", Access: httpapi.Operators, Methods: methods{"POST": o.collect}},
		{Path: "/api/v1/info/cache/refresh", Access: httpapi.Operators, Methods: methods{"POST": o.refresh}},
		{Path: "/api/v1/info/dead-letters", Access: httpapi.Operators, Methods: methods{"GET": o.letters}},
		{Path: "/api/v1/info/dead-letters/replay", Access: httpapi.Operators, Methods: methods{"POST": o.replay}},
		{Path: "/api/v1/info/dead-letters/discard", Access: httpapi.Operators, Methods: methods{"POST": o.discard}},
		{Path: "/api/v1/info/articles", Access: httpapi.Operators, Methods: methods{"GET": o.find}},
		{Path: "/api/v1/info/export", Access: httpapi.Operators, Methods: methods{"GET": o.export}},
		{Path: "/api/v1/info/import", Access: httpapi.Operators, Methods: methods{"POST": o.importArticles}},
		{Path: "/api/v1/info/news/{id}", Access: httpapi.Operators, Methods: methods{"DELETE": o.remove}},
		{Path: "/api/v1/info/news/{id}/restore", Access: httpapi.Operators, Methods: methods{"POST": o.restore}},
		{Path: "/metrics", Access: httpapi.Operators, Methods: methods{"GET": o.metrics}},
	}
}

func (o *Operating) openAPI(w http.ResponseWriter, _ *http.Request) error {
	w.Header().Set("Content-Type", "application/json")
	w.Header().Set("Cache-Control", "public, max-age=3600")
	w.Write(OperatorsOpenAPI)
	return nil
}

func succeed(w http.ResponseWriter, data any) error {
	httpapi.Succeed(w, http.StatusOK, data)
	return nil
}

func (o *Operating) index(w http.ResponseWriter, _ *http.Request) error {
	return succeed(w, map[string]any{"name": "newsfork-info-collector", "version": contract.Version,
		"environment": o.Environment, "sources": o.Configured})
}

// healthTimeout limits what health waits for the database.
const healthTimeout = 2 * time.Second

// health answers 200 as long as the Worker runs. It lists the last run of each cron, unless the database does not
// answer: then crons is null.
func (o *Operating) health(w http.ResponseWriter, r *http.Request) error {
	answer := info.CollectorHealth{Status: "ok", Service: "info-collector"}
	ctx, cancel := context.WithTimeout(r.Context(), healthTimeout)
	defer cancel()
	switch list, err := o.Records.Crons(ctx); {
	case err != nil:
		o.Log.Warn("info_store_failed", "error_type", contract.KindOf(err), "error", err.Error())
	default:
		answer.Crons = o.lastRuns(list)
	}
	w.Header().Set("Cache-Control", "no-store")
	return succeed(w, answer)
}

// lastRuns describes the crons that ran, and those that never did though they start a source that is on.
func (o *Operating) lastRuns(list []store.Cron) []info.CronStatus {
	runs := []info.CronStatus{}
	ran := map[string]bool{}
	for _, c := range list {
		ran[c.Expression] = true
		run := info.CronStatus{Cron: c.Expression, BeganAt: contract.At(c.BeganAt), EndedAt: contract.At(c.EndedAt)}
		switch {
		case c.EndedAt.IsZero():
		case c.ErrorKind != "":
			run.Outcome, run.ErrorType = contract.Text("failed"), contract.Text(string(c.ErrorKind))
		default:
			run.Outcome = contract.Text("ok")
		}
		runs = append(runs, run)
	}
	for _, expression := range o.Crons {
		if !ran[expression] {
			ran[expression] = true
			runs = append(runs, info.CronStatus{Cron: expression})
		}
	}
	return runs
}

// named returns a source that is on, or all of them for "".
func (o *Operating) named(source string) ([]string, error) {
	switch {
	case source == "":
		return o.Configured, nil
	case slices.Contains(o.Configured, source):
		return []string{source}, nil
	case info.IsSource(source):
		return nil, contract.Invalid("source", "%s is off; set its key or URL", source)
	}
	return nil, unknownSource(source)
}

func unknownSource(source string) error {
	return contract.Invalid("source", "%.40q is not a source; use %s", source, strings.Join(info.Sources, ", "))
}

type sourceBody struct {
	Source string `json:"source"`
}

func (o *Operating) collect(w http.ResponseWriter, r *http.Request) error {
	var in sourceBody
	if err := httpapi.ReadJSON(r, &in); err != nil {
		return err
	}
	names, err := o.named(in.Source)
	if err != nil {
		return err
	}
	if len(names) == 0 {
		return contract.Invalid("source", "none is on; set FEEDS, bind SEED_ENGINE, or set the keys of a provider")
	}
	o.Extend(collectTimeout)
	return succeed(w, info.Collections{Collections: o.Collector.Run(r.Context(), names...)})
}

func (o *Operating) refresh(w http.ResponseWriter, r *http.Request) error {
	done, err := o.Collector.Refresh(r.Context())
	if err != nil {
		return err
	}
	return succeed(w, map[string]bool{"refreshed": done})
}

func (o *Operating) letters(w http.ResponseWriter, r *http.Request) error {
	source := parameters(r).Get("source")
	if source != "" && !info.IsSource(source) {
		return unknownSource(source)
	}
	list, err := o.Records.DeadLetters(r.Context(), source, 500)
	if err != nil {
		return err
	}
	letters := []info.DeadLetter{}
	for _, l := range list {
		letters = append(letters, info.DeadLetter{
			Source: l.Source, Request: l.Request, ErrorType: l.Class, Error: l.Error, Attempts: l.Attempts,
			FirstAt: contract.At(l.FirstAt), LastAt: contract.At(l.LastAt),
		})
	}
	return succeed(w, map[string]any{"dead_letters": letters})
}

func (o *Operating) replay(w http.ResponseWriter, r *http.Request) error {
	var in sourceBody
	if err := httpapi.ReadJSON(r, &in); err != nil {
		return err
	}
	if _, err := o.named(in.Source); err != nil {
		return err
	}
	o.Extend(collectTimeout)
	done, err := o.Collector.Replay(r.Context(), in.Source)
	if err != nil {
		return err
	}
	return succeed(w, done)
}

func (o *Operating) discard(w http.ResponseWriter, r *http.Request) error {
	var in struct {
		Source  string `json:"source"`
		Request string `json:"request"`
	}
	if err := httpapi.ReadJSON(r, &in); err != nil {
		return err
	}
	if in.Source == "" || in.Request == "" {
		return contract.Invalid("request",
			"source and request are required; GET /api/v1/info/dead-letters lists both")
	}
	found, err := o.Records.Resolve(r.Context(), in.Source, in.Request)
	if err != nil {
		return err
	}
	if !found {
		return httpapi.NotFound("no such dead letter; GET /api/v1/info/dead-letters lists them")
	}
	return succeed(w, map[string]bool{"discarded": true})
}

func (o *Operating) remove(w http.ResponseWriter, r *http.Request) error { return o.delete(w, r, true) }

func (o *Operating) restore(w http.ResponseWriter, r *http.Request) error {
	return o.delete(w, r, false)
}

// delete removes or restores an article, and reports whether readers already see that.
func (o *Operating) delete(w http.ResponseWriter, r *http.Request, deleted bool) error {
	id := r.PathValue("id")
	found, err := o.Records.SetDeleted(r.Context(), id, deleted)
	if err != nil {
		return err
	}
	if !found {
		return httpapi.NotFound("no article has this id")
	}
	done, err := o.Collector.Refresh(r.Context())
	if err != nil {
		o.Log.Warn("info_cache_failed", "error_type", contract.KindOf(err), "error", err.Error())
	}
	return succeed(w, info.Takedown{ID: id, Deleted: deleted, Refreshed: done})
}

// maxFound caps the articles that find returns.
const maxFound = 20

// find answers with the article that has a URL or an id, or else with the newest that contain words.
func (o *Operating) find(w http.ResponseWriter, r *http.Request) error {
	q := strings.TrimSpace(parameters(r).Get("q"))
	list := []info.Found{}
	add := func(a *info.Article, deleted bool) {
		list = append(list, info.Found{ID: a.ID, URL: a.URL, Title: a.Title, SourceName: a.SourceName,
			PublishedAt: contract.At(a.PublishedAt), Deleted: deleted})
	}
	search := info.ParseSearch(q)
	if len(search) == 0 || search.Beginnings() > info.MaxBeginnings {
		return contract.Invalid("q", "%.40q is not possible; send the URL of an article, its id, or words", q)
	}
	if key := info.Key(q); key != "" || info.IsID(q) {
		found, err := o.Records.Find(r.Context(), q, key)
		switch {
		case err != nil:
			return err
		case found != nil:
			add(&found.Article, found.Deleted)
			return succeed(w, info.FoundArticles{Articles: list})
		case key != "":
			return succeed(w, info.FoundArticles{Articles: list})
		}
	}
	page, err := o.Records.Page(r.Context(), info.Query{Category: info.All, Search: search, Limit: maxFound})
	if err != nil {
		return err
	}
	for i := range page.Articles {
		add(&page.Articles[i], false)
	}
	return succeed(w, info.FoundArticles{Articles: list})
}

// cacheStatus describes the cache. Its errors are loud: without it readers are served, but slowly.
func (o *Operating) cacheStatus(ctx context.Context, c store.Cached) info.CacheStatus {
	s := info.CacheStatus{ChangedAt: contract.At(c.ChangedAt), RefreshedAt: contract.At(c.RefreshedAt)}
	if o.Cache == nil {
		s.Error = contract.Text("there is no cache: bind INFO_CACHE, or set REDIS_URL")
		return s
	}
	s.Name = o.Cache.Name()
	if err := o.Cache.Ping(ctx); err != nil {
		o.Log.Warn("info_cache_failed", "error_type", contract.KindOf(err), "error", err.Error())
		s.Error = contract.Text(s.Name + " does not answer: " + contract.Reason(err))
	} else if both := cache.Two(c.Filled, o.Now()); both {
		s.Error = contract.Text("both kv and redis are filled: REDIS_URL is set in one of the two Workers only")
	}
	return s
}

// readings returns the sources, the size of the database, and all alarms.
func (o *Operating) readings(ctx context.Context) (list []store.Source, size int64, alarms []contract.Alarm,
	err error) {
	if list, err = o.Records.Sources(ctx); err != nil {
		return nil, 0, nil, err
	}
	saved, err := o.Records.Alarms(ctx)
	if err != nil {
		return nil, 0, nil, err
	}
	if size, err = o.Records.Size(ctx); err != nil {
		return nil, 0, nil, err
	}
	database := watch.Database{Bytes: size, Limit: o.Limit}
	return list, size, watch.Judge(o.Intervals, list, database, saved, o.Now()), nil
}

// firing returns the alarms that fire.
func firing(alarms []contract.Alarm) []contract.Alarm {
	return slices.DeleteFunc(alarms, func(a contract.Alarm) bool { return a.State != contract.AlarmFiring })
}

func (o *Operating) status(w http.ResponseWriter, r *http.Request) error {
	list, size, alarms, err := o.readings(r.Context())
	if err != nil {
		return err
	}
	cached, err := o.Records.Cached(r.Context())
	if err != nil {
		return err
	}
	now := o.Now()
	sources := []info.SourceStatus{}
	for _, name := range info.Sources {
		s := info.SourceStatus{Name: name, On: slices.Contains(o.Configured, name), Quotas: []info.Quota{}}
		for _, known := range list {
			if known.Name == name {
				s = describe(known, s.On, now)
				if name == info.Feed && o.Feeds != nil {
					s.Feeds = o.Feeds(known.State)
				}
			}
		}
		sources = append(sources, s)
	}
	return succeed(w, info.Status{
		Sources: sources, Alarms: firing(alarms), UpdatedAt: contract.At(now.UTC()),
		Cache:    o.cacheStatus(r.Context(), cached),
		Database: info.DatabaseStatus{Name: o.Records.Name(), Bytes: size, Limit: o.Limit},
	})
}

func describe(s store.Source, on bool, now time.Time) info.SourceStatus {
	d := info.SourceStatus{
		Name: s.Name, On: on, StartedAt: contract.At(s.StartedAt), SucceededAt: contract.At(s.SucceededAt),
		FailedAt: contract.At(s.FailedAt), Failures: s.Failures,
		ErrorClass: contract.Text(s.ErrorClass), Error: contract.Text(s.Error), Last: s.Counts, Quotas: s.Quotas,
		DeadLetters: s.DeadLetters,
	}
	if s.NotBefore.After(now) {
		d.NotBefore = contract.At(s.NotBefore)
	}
	if d.Quotas == nil {
		d.Quotas = []info.Quota{}
	}
	return d
}

// metrics answers in Prometheus' text format.
func (o *Operating) metrics(w http.ResponseWriter, r *http.Request) error {
	list, size, alarms, err := o.readings(r.Context())
	if err != nil {
		return err
	}
	now := o.Now()
	var text prometheus.Text
	family := func(name, help string) { text.Family("newsfork_info_"+name, "gauge", help) }
	family("seconds_since_success", "Time since the source was collected.")
	for _, s := range list {
		if !s.SucceededAt.IsZero() {
			text.Sample(math.Trunc(now.Sub(s.SucceededAt).Seconds()), "source", s.Name)
		}
	}
	family("failures", "Failed collections in a row.")
	for _, s := range list {
		text.Sample(float64(s.Failures), "source", s.Name)
	}
	family("dead_letters", "Requests that failed and were neither replayed nor discarded.")
	for _, s := range list {
		text.Sample(float64(s.DeadLetters), "source", s.Name)
	}
	family("gaps", "Searches of the last collection that had more new articles than were taken.")
	for _, s := range list {
		var last info.Counts
		if len(s.Counts) > 0 && json.Unmarshal(s.Counts, &last) == nil {
			text.Sample(float64(last.Gaps), "source", s.Name)
		}
	}
	quotas := func(value func(info.Quota) int) {
		for _, s := range list {
			for _, q := range s.Quotas {
				window, _, _ := strings.Cut(q.Period, ":")
				text.Sample(float64(value(q)), "source", s.Name, "window", window)
			}
		}
	}
	family("calls_used", "Calls counted in the provider's window.")
	quotas(func(q info.Quota) int { return q.Used })
	family("calls_allowed", "Calls that the provider's window allows.")
	quotas(func(q info.Quota) int { return q.Allowed })
	if size > 0 {
		family("database_bytes", "Size of the database.")
		text.Sample(float64(size))
	}
	family("database_limit_bytes", "What the database can hold.")
	text.Sample(float64(o.Limit))
	family("alarm_firing", "1 while the alarm fires.")
	for _, a := range alarms {
		text.Sample(prometheus.Flag(a.State == contract.AlarmFiring), "alarm", a.Name, "source", a.Source)
	}
	text.WriteAnswer(w)
	return nil
}
