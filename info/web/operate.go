package web

import (
	"context"
	"crypto/sha256"
	"crypto/subtle"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"maps"
	"mime"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/newsfork/seed-engine/contract"
	"github.com/newsfork/seed-engine/info"
	"github.com/newsfork/seed-engine/info/store"
	"github.com/newsfork/seed-engine/info/watch"
	"github.com/newsfork/seed-engine/ledger"
)

// Collector is what operators start.
type Collector interface {
	Run(ctx context.Context, names ...string) []info.Report
	Replay(ctx context.Context, source string) (info.Replayed, error)
	Refresh(ctx context.Context) (done bool, err error)
}

// Records is what operators read and change.
type Records interface {
	Sources(ctx context.Context) ([]store.Source, error)
	DeadLetters(ctx context.Context, source string, limit int) ([]store.Letter, error)
	Resolve(ctx context.Context, source, request string) (bool, error)
	SetDeleted(ctx context.Context, id string, deleted bool) (bool, error)
	Cached(ctx context.Context) (store.Cached, error)
	Alarms(ctx context.Context) ([]ledger.SavedAlarm, error)
	Ping(ctx context.Context) error
}

// Operating serves operators. Every answer is {"success": true, "data": …} or {"success": false, "error":
// {"code", "message", "field"?}}.
type Operating struct {
	Collector   Collector
	Records     Records
	Configured  []string                   // names of the sources that are on
	Intervals   watch.Sources              // how often these are collected
	Tokens      []string                   // API_TOKEN and API_TOKEN_PREVIOUS
	Open        func(r *http.Request) bool // reports whether a request needs no token: a local run without one
	Environment string
	Log         *slog.Logger
	Now         func() time.Time
	Extend      func(d time.Duration) // gives the current request so much time from now
}

// asks is how long it may take to ask all sources: as long as a cron has.
const asks = 13 * time.Minute

// refusal is an error of an operator's request with a status of its own.
type refusal struct {
	status        int
	code, message string
}

func (f *refusal) Error() string { return f.message }

// Handler serves the routes.
func (o *Operating) Handler() http.Handler {
	mux := http.NewServeMux()
	type methods map[string]handler
	for pattern, m := range map[string]methods{
		"/{$}":                              {"GET": o.index},
		"/health":                           {"GET": o.health},
		"/api/v1/info/status":               {"GET": o.status},
		"/api/v1/info/collect":              {"POST": o.collect},
		"/api/v1/info/cache/refresh":        {"POST": o.refresh},
		"/api/v1/info/dead-letters":         {"GET": o.letters},
		"/api/v1/info/dead-letters/replay":  {"POST": o.replay},
		"/api/v1/info/dead-letters/discard": {"POST": o.discard},
		"/api/v1/info/news/{id}":            {"DELETE": o.remove},
		"/api/v1/info/news/{id}/restore":    {"POST": o.restore},
		"/metrics":                          {"GET": o.metrics},
	} {
		mux.HandleFunc(pattern, func(w http.ResponseWriter, r *http.Request) {
			if err := o.dispatch(w, r, m, pattern == "/{$}" || pattern == "/health"); err != nil {
				o.fail(w, r, err)
			}
		})
	}
	mux.HandleFunc("/", func(w http.ResponseWriter, r *http.Request) {
		o.fail(w, r, &refusal{http.StatusNotFound, "not_found", "there is nothing at this path"})
	})
	return mux
}

func (o *Operating) dispatch(w http.ResponseWriter, r *http.Request, methods map[string]handler, public bool) error {
	if !public {
		if err := o.authorise(w, r); err != nil {
			return err
		}
	}
	method := r.Method
	if method == http.MethodHead {
		method = http.MethodGet
	}
	h := methods[method]
	if h == nil {
		allowed := strings.Join(slices.Sorted(maps.Keys(methods)), ", ")
		w.Header().Set("Allow", allowed)
		return &refusal{http.StatusMethodNotAllowed, "method_not_allowed", r.Method + " is not possible here; send " + allowed}
	}
	w.Header().Set("Cache-Control", "no-store")
	return h(w, r)
}

// authorise compares the bearer token in constant time. Without API_TOKEN only a local run answers, and what
// changes something then needs the content type of JSON, which a page of another site cannot send.
func (o *Operating) authorise(w http.ResponseWriter, r *http.Request) error {
	if len(o.Tokens) == 0 {
		if !o.Open(r) {
			return &refusal{http.StatusServiceUnavailable, "token_not_configured", "the secret API_TOKEN is not set; run `wrangler secret put API_TOKEN`"}
		}
		if kind, _, _ := mime.ParseMediaType(r.Header.Get("Content-Type")); r.Method != http.MethodGet && r.Method != http.MethodHead && kind != "application/json" {
			return &refusal{http.StatusUnsupportedMediaType, "unsupported_media_type", "without a token, send \"Content-Type: application/json\""}
		}
		return nil
	}
	scheme, token, _ := strings.Cut(r.Header.Get("Authorization"), " ")
	equal := 0
	if strings.EqualFold(scheme, "Bearer") {
		given := sha256.Sum256([]byte(strings.TrimSpace(token)))
		for _, t := range o.Tokens { // all, so that the time taken says nothing
			want := sha256.Sum256([]byte(t))
			equal |= subtle.ConstantTimeCompare(given[:], want[:])
		}
	}
	if equal == 1 {
		return nil
	}
	w.Header().Set("WWW-Authenticate", `Bearer realm="info-collector"`)
	return &refusal{http.StatusUnauthorized, "unauthorized", "send the API token as \"Authorization: Bearer …\""}
}

func (o *Operating) fail(w http.ResponseWriter, r *http.Request, err error) {
	body := map[string]string{}
	var f *refusal
	var e *contract.Error
	status := 0
	switch {
	case errors.As(err, &f):
		status, body["code"], body["message"] = f.status, f.code, f.message
	default:
		kind := contract.KindOf(err)
		status, body["code"], body["message"] = contract.HTTPStatus(kind), string(kind), "something went wrong; the log has the details"
		if errors.As(err, &e) && e.Message != "" {
			body["message"] = e.Message
			if e.Field != "" {
				body["field"] = e.Field
			}
		}
		if status >= 500 {
			o.Log.Error("info_request_failed", "error_type", kind, "error", err.Error(), "method", r.Method, "path", r.URL.Path)
		}
	}
	w.Header().Set("Cache-Control", "no-store")
	writeJSON(w, status, map[string]any{"success": false, "error": body})
}

// Misconfigured answers what can be answered while a setting is wrong: which.
func Misconfigured(w http.ResponseWriter, err error) {
	w.Header().Set("Cache-Control", "no-store")
	writeJSON(w, http.StatusInternalServerError, map[string]any{"success": false, "error": map[string]string{"code": string(contract.KindOf(err)), "message": err.Error()}})
}

func succeed(w http.ResponseWriter, data any) error {
	writeJSON(w, http.StatusOK, map[string]any{"success": true, "data": data})
	return nil
}

// body reads a JSON object of at most 64 KB; none is an empty one.
func body(r *http.Request, v any) error {
	const most = 64 << 10
	b, err := io.ReadAll(io.LimitReader(r.Body, most+1))
	switch {
	case err != nil:
		return contract.Wrap(contract.Network, "web.body", err)
	case len(b) > most:
		return &refusal{http.StatusRequestEntityTooLarge, "payload_too_large", "the body is larger than 64 KB; send less"}
	case len(strings.TrimSpace(string(b))) == 0:
		return nil
	}
	d := json.NewDecoder(strings.NewReader(string(b)))
	d.DisallowUnknownFields()
	if err := d.Decode(v); err != nil {
		if name, ok := strings.CutPrefix(err.Error(), "json: unknown field "); ok {
			return contract.Invalid(strings.Trim(name, `"`), "is not a field of this request; leave it out")
		}
		return contract.JSONError(err)
	}
	return nil
}

func (o *Operating) index(w http.ResponseWriter, _ *http.Request) error {
	return succeed(w, map[string]any{"name": "newsfork-info-collector", "version": contract.Version, "environment": o.Environment, "sources": o.Configured})
}

func (o *Operating) health(w http.ResponseWriter, _ *http.Request) error {
	return succeed(w, map[string]string{"status": "ok", "service": "info-collector"})
}

// named checks the name of a source that is on; "" means all of them.
func (o *Operating) named(source string) ([]string, error) {
	switch {
	case source == "":
		return o.Configured, nil
	case slices.Contains(o.Configured, source):
		return []string{source}, nil
	case info.IsSource(source):
		return nil, contract.Invalid("source", "%s is off: its key or URL is not set", source)
	}
	return nil, contract.Invalid("source", "%.40q is none; send one of %s", source, strings.Join(info.Sources, ", "))
}

type sourceBody struct {
	Source string `json:"source"`
}

func (o *Operating) collect(w http.ResponseWriter, r *http.Request) error {
	var in sourceBody
	if err := body(r, &in); err != nil {
		return err
	}
	names, err := o.named(in.Source)
	if err != nil {
		return err
	}
	o.Extend(asks)
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
		return contract.Invalid("source", "%.40q is none; send one of %s", source, strings.Join(info.Sources, ", "))
	}
	list, err := o.Records.DeadLetters(r.Context(), source, 500)
	if err != nil {
		return err
	}
	letters := []info.DeadLetter{}
	for _, l := range list {
		letters = append(letters, info.DeadLetter{
			Source: l.Source, Request: l.Request, ErrorType: l.Class, Error: l.Error, Attempts: l.Attempts, FirstAt: contract.At(l.FirstAt), LastAt: contract.At(l.LastAt),
		})
	}
	return succeed(w, map[string]any{"dead_letters": letters})
}

func (o *Operating) replay(w http.ResponseWriter, r *http.Request) error {
	var in sourceBody
	if err := body(r, &in); err != nil {
		return err
	}
	if _, err := o.named(in.Source); err != nil {
		return err
	}
	o.Extend(asks)
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
	if err := body(r, &in); err != nil {
		return err
	}
	if in.Source == "" || in.Request == "" {
		return contract.Invalid("request", "is needed, and source: send both as the list of dead letters has them")
	}
	found, err := o.Records.Resolve(r.Context(), in.Source, in.Request)
	if err != nil {
		return err
	}
	if !found {
		return &refusal{http.StatusNotFound, "not_found", "there is no such dead letter"}
	}
	return succeed(w, map[string]bool{"discarded": true})
}

func (o *Operating) remove(w http.ResponseWriter, r *http.Request) error { return o.delete(w, r, true) }

func (o *Operating) restore(w http.ResponseWriter, r *http.Request) error {
	return o.delete(w, r, false)
}

// delete takes an article down, or brings it back, and says whether readers see it now or after the next collection.
func (o *Operating) delete(w http.ResponseWriter, r *http.Request, deleted bool) error {
	id := r.PathValue("id")
	found, err := o.Records.SetDeleted(r.Context(), id, deleted)
	if err != nil {
		return err
	}
	if !found {
		return &refusal{http.StatusNotFound, "not_found", "there is no article with this id"}
	}
	done, err := o.Collector.Refresh(r.Context())
	if err != nil {
		o.Log.Warn("info_cache_failed", "error_type", contract.KindOf(err), "error", err.Error())
	}
	return succeed(w, map[string]any{"id": id, "is_deleted": deleted, "refreshed": done})
}

// firing are the alarms that operators should look at.
func (o *Operating) firing(list []store.Source, saved []ledger.SavedAlarm) []contract.Alarm {
	return slices.DeleteFunc(watch.Judge(o.Intervals, list, saved, o.Now()), func(a contract.Alarm) bool { return a.State != contract.AlarmFiring })
}

func (o *Operating) status(w http.ResponseWriter, r *http.Request) error {
	list, err := o.Records.Sources(r.Context())
	if err != nil {
		return err
	}
	cached, err := o.Records.Cached(r.Context())
	if err != nil {
		return err
	}
	saved, err := o.Records.Alarms(r.Context())
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
			}
		}
		sources = append(sources, s)
	}
	return succeed(w, info.Status{
		Sources: sources, Alarms: o.firing(list, saved), UpdatedAt: contract.At(now.UTC()),
		Cache: info.CacheStatus{ChangedAt: contract.At(cached.ChangedAt), RefreshedAt: contract.At(cached.RefreshedAt)},
	})
}

func describe(s store.Source, on bool, now time.Time) info.SourceStatus {
	d := info.SourceStatus{
		Name: s.Name, On: on, StartedAt: contract.At(s.StartedAt), SucceededAt: contract.At(s.SucceededAt), FailedAt: contract.At(s.FailedAt), Failures: s.Failures,
		ErrorClass: contract.Text(s.ErrorClass), Error: contract.Text(s.Error), Last: s.Counts, Quotas: s.Quotas, DeadLetters: s.DeadLetters,
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
	list, err := o.Records.Sources(r.Context())
	if err != nil {
		return err
	}
	saved, err := o.Records.Alarms(r.Context())
	if err != nil {
		return err
	}
	now := o.Now()
	var b strings.Builder
	family := func(name, help string, value func(s *store.Source) []string) {
		fmt.Fprintf(&b, "# HELP newsfork_info_%s %s\n# TYPE newsfork_info_%s gauge\n", name, help, name)
		for i := range list {
			for _, sample := range value(&list[i]) {
				labels, v, _ := strings.Cut(sample, " ")
				fmt.Fprintf(&b, "newsfork_info_%s{source=%q%s} %s\n", name, list[i].Name, labels, v)
			}
		}
	}
	seconds := func(t time.Time) []string {
		if t.IsZero() {
			return nil
		}
		return []string{" " + strconv.FormatInt(int64(now.Sub(t).Seconds()), 10)}
	}
	family("seconds_since_success", "Time since the source was collected.", func(s *store.Source) []string { return seconds(s.SucceededAt) })
	family("failures", "Failed collections in a row.", func(s *store.Source) []string { return []string{" " + strconv.Itoa(s.Failures)} })
	family("dead_letters", "Requests that failed and were neither replayed nor discarded.", func(s *store.Source) []string { return []string{" " + strconv.Itoa(s.DeadLetters)} })
	quota := func(value func(info.Quota) int) func(s *store.Source) []string {
		return func(s *store.Source) (samples []string) {
			for _, q := range s.Quotas {
				kind, _, _ := strings.Cut(q.Period, ":")
				samples = append(samples, fmt.Sprintf(",window=%q %d", kind, value(q)))
			}
			return samples
		}
	}
	family("calls_used", "Calls counted in the provider's window.", quota(func(q info.Quota) int { return q.Used }))
	family("calls_allowed", "Calls that the provider's window allows.", quota(func(q info.Quota) int { return q.Allowed }))
	b.WriteString("# HELP newsfork_info_alarm_firing 1 while the alarm fires.\n# TYPE newsfork_info_alarm_firing gauge\n")
	for _, a := range watch.Judge(o.Intervals, list, saved, now) {
		fires := 0
		if a.State == contract.AlarmFiring {
			fires = 1
		}
		fmt.Fprintf(&b, "newsfork_info_alarm_firing{alarm=%q,source=%q} %d\n", a.Name, a.Source, fires)
	}
	w.Header().Set("Content-Type", "text/plain; version=0.0.4; charset=utf-8")
	io.WriteString(w, b.String())
	return nil
}
