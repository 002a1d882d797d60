// Package web is the HTTP side of the Info service: the readers' API, field for field that of the original service,
// and the operators' API.
package web

import (
	"context"
	_ "embed"
	"errors"
	"fmt"
	"hash/fnv"
	"log/slog"
	"math"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"

	"github.com/newsfork/seed-engine/contract"
	"github.com/newsfork/seed-engine/info"
	"github.com/newsfork/seed-engine/info/cache"
	"github.com/newsfork/seed-engine/info/store"
)

// OpenAPI describes the routes of readers.
//
//go:embed openapi.json
var OpenAPI []byte

// Store is the part of package store for readers, apart from pages.
type Store interface {
	Count(ctx context.Context, q info.Query) (n int, more bool, err error)
	Ready(ctx context.Context) error
}

// Reading serves readers.
type Reading struct {
	Pages   *cache.Reader
	Store   Store
	Origins []string // CORS_ORIGINS; "*" means every origin, without credentials
	Public  string   // PUBLIC_URL, without a final slash; "": the host of the request
	Log     *slog.Logger
	Now     func() time.Time
}

// problem is an error in the original's shape: {"detail", "code"}.
type problem struct {
	status int
	code   string
	detail string
}

func (p *problem) Error() string { return p.detail }

func invalid(code, format string, args ...any) *problem {
	return &problem{http.StatusBadRequest, code, fmt.Sprintf(format, args...)}
}

// unprocessable is an error of parameters that the original's framework checked, in its shape.
type unprocessable []parameterError

type parameterError struct {
	Type  string         `json:"type"`
	Loc   [2]string      `json:"loc"`
	Msg   string         `json:"msg"`
	Input string         `json:"input"`
	Ctx   map[string]int `json:"ctx,omitempty"`
}

func (u unprocessable) Error() string { return u[0].Msg }

type handler func(w http.ResponseWriter, r *http.Request) error

// Handler serves the API.
func (a *Reading) Handler() http.Handler {
	mux := http.NewServeMux()
	for pattern, h := range map[string]handler{
		"/api/v1/info/news":            a.news,
		"/api/v1/info/news/count":      a.count,
		"/api/v1/info/news/categories": a.categories,
		"/api/v1/info/categories":      a.categories,
		"/api/v1/info/news/{id}":       a.article,
		"/api/v1/info/feeds/{file}":    a.feed,
		"/api/v1/info/health":          a.health,
		"/api/v1/info/health/ready":    a.ready,
		"/openapi.json":                a.openAPI,
	} {
		mux.HandleFunc(pattern, a.only(h))
	}
	mux.HandleFunc("/", a.only(func(http.ResponseWriter, *http.Request) error {
		return &problem{status: http.StatusNotFound, detail: "Not Found"}
	}))
	return mux
}

// only accepts GET and HEAD, answers preflights, and turns errors into answers.
func (a *Reading) only(h handler) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		a.allowOrigin(w, r)
		var err error
		switch r.Method {
		case http.MethodGet, http.MethodHead:
			err = h(w, r)
		case http.MethodOptions:
			w.Header().Set("Access-Control-Allow-Methods", "GET, HEAD, OPTIONS")
			w.Header().Set("Access-Control-Allow-Headers", "Accept, Content-Type, If-None-Match")
			w.Header().Set("Access-Control-Max-Age", "600")
			w.Header().Set("Cache-Control", "no-store")
			w.WriteHeader(http.StatusNoContent)
		default:
			w.Header().Set("Allow", "GET, HEAD, OPTIONS")
			err = &problem{status: http.StatusMethodNotAllowed, detail: "Method Not Allowed"}
		}
		if err != nil {
			a.fail(w, r, err)
		}
	}
}

func (a *Reading) allowOrigin(w http.ResponseWriter, r *http.Request) {
	origin := r.Header.Get("Origin")
	w.Header().Add("Vary", "Origin")
	for _, o := range a.Origins {
		switch {
		case o == "*":
			w.Header().Set("Access-Control-Allow-Origin", "*")
		case origin != "" && o == origin:
			w.Header().Set("Access-Control-Allow-Origin", origin)
			w.Header().Set("Access-Control-Allow-Credentials", "true")
			return
		}
	}
}

func (a *Reading) fail(w http.ResponseWriter, r *http.Request, err error) {
	w.Header().Set("Cache-Control", "no-store")
	switch e := err.(type) {
	case *problem:
		body := map[string]string{"detail": e.detail}
		if e.code != "" {
			body["code"] = e.code
		}
		writeJSON(w, e.status, body)
	case unprocessable:
		writeJSON(w, http.StatusUnprocessableEntity, map[string]any{"detail": e})
	default:
		kind := contract.KindOf(err)
		a.Log.Error("info_request_failed", "error_type", kind, "error", err.Error(), "method", r.Method, "path",
			r.URL.Path)
		w.Header().Set("Retry-After", "5")
		writeJSON(w, contract.HTTPStatus(kind),
			map[string]string{"detail": "The articles cannot be read at the moment. Try again.",
				"code": "APPLICATION_ERROR"})
	}
}

func writeJSON(w http.ResponseWriter, status int, v any) {
	w.Header().Set("Content-Type", "application/json; charset=utf-8")
	w.WriteHeader(status)
	w.Write(contract.Encode(v))
}

// parameters returns those of a request. As in the original, malformed encodings are kept, so that they are
// refused: a dropped cursor would mean the first page.
func parameters(r *http.Request) url.Values {
	values := url.Values{}
	for field := range strings.SplitSeq(r.URL.RawQuery, "&") {
		name, value, _ := strings.Cut(field, "=")
		values.Add(unescaped(name), unescaped(value))
	}
	return values
}

func unescaped(s string) string {
	if text, err := url.QueryUnescape(s); err == nil {
		return text
	}
	return s
}

// query parses the parameters of a page. As in the original, the last of repeated parameters counts.
func query(values url.Values) (q info.Query, err error) {
	last := func(name string) (string, bool) {
		list := values[name]
		if len(list) == 0 {
			return "", false
		}
		return list[len(list)-1], true
	}
	q.Category, q.Limit = info.All, 10
	if v, ok := last("category"); ok {
		if !info.IsCategory(v) {
			return q, invalid("INVALID_CATEGORY", "Invalid category: %s. Use one of %s.", quoted(v),
				categoryList(", "))
		}
		q.Category = info.Category(v)
	}
	if v, ok := last("source"); ok && v != "all" {
		if !info.IsSource(v) {
			return q, invalid("INVALID_SOURCE", "Invalid source: %s. Use one of all, %s.", quoted(v),
				strings.Join(info.Sources, ", "))
		}
		q.Source = v
	}
	if v, ok := last("cursor"); ok && v != "" {
		c, ok := info.ParseCursor(v)
		if !ok {
			return q, invalid("INVALID_CURSOR_FORMAT",
				"Invalid cursor: %s. Send the next_cursor of an answer as it is.", quoted(v))
		}
		q.From = &c
	}
	if v, ok := last("direction"); ok && v != "older" {
		if v != "newer" || q.From == nil {
			return q, invalid("APPLICATION_ERROR",
				"Invalid direction: %s. Use older, or newer together with a cursor.", quoted(v))
		}
		q.Newer = true
	}
	if v, ok := last("q"); ok && strings.TrimSpace(v) != "" {
		if q.Search = info.ParseSearch(v); len(q.Search) == 0 {
			return q, invalid("APPLICATION_ERROR", "Nothing in %s can be searched for. Send words.", quoted(v))
		}
		if q.Search.Beginnings() > info.MaxBeginnings {
			return q, invalid("APPLICATION_ERROR", "Too many beginnings in %s. At most %d words may end in * or be a "+
				"single Korean, Chinese or Japanese character.", quoted(v), info.MaxBeginnings)
		}
	}
	var wrong unprocessable
	if v, ok := last("limit"); ok {
		n, e := limit(v)
		if q.Limit = n; e != nil {
			wrong = append(wrong, *e)
		}
	}
	if v, ok := last("has_image"); ok {
		yes, valid := booleans[strings.ToLower(v)]
		if q.HasImage = yes; !valid { // false filters nothing
			wrong = append(wrong, parameterError{Type: "bool_parsing", Loc: [2]string{"query", "has_image"},
				Msg: "Input should be a valid boolean, unable to interpret input", Input: clip(v)})
		}
	}
	if wrong != nil {
		return q, wrong
	}
	return q, nil
}

// booleans are the spellings of the original's framework.
var booleans = map[string]bool{
	"true": true, "1": true, "yes": true, "on": true, "t": true, "y": true,
	"false": false, "0": false, "no": false, "off": false, "f": false, "n": false,
}

func limit(v string) (int, *parameterError) {
	e := &parameterError{Loc: [2]string{"query", "limit"}, Input: clip(v)}
	n, err := strconv.Atoi(strings.TrimSpace(v))
	switch {
	case err != nil:
		e.Type, e.Msg = "int_parsing", "Input should be a valid integer, unable to parse string as an integer"
	case n < 1:
		e.Type, e.Msg, e.Ctx = "greater_than_equal", "Input should be greater than or equal to 1",
			map[string]int{"ge": 1}
	case n > info.MaxLimit:
		e.Type, e.Msg, e.Ctx = "less_than_equal",
			fmt.Sprintf("Input should be less than or equal to %d", info.MaxLimit),
			map[string]int{"le": info.MaxLimit}
	default:
		return n, nil
	}
	return 0, e
}

func quoted(v string) string { return strconv.Quote(clip(v)) }

// clip shortens a caller's value.
func clip(v string) string {
	const max = 100 // characters
	if r := []rune(v); len(r) > max {
		return string(r[:max]) + "…"
	}
	return v
}

func (a *Reading) news(w http.ResponseWriter, r *http.Request) error {
	q, err := query(parameters(r))
	if err != nil {
		return err
	}
	page, err := a.Pages.Page(r.Context(), q)
	if err != nil {
		return err
	}
	articles := render(&page, &q)
	w.Header().Set("Content-Type", "application/json; charset=utf-8")
	if a.unchanged(w, r, fmt.Appendf(articles, `,"has_more":%t`, page.More), &page, true) {
		return nil
	}
	w.Write(a.withMeta(articles, &page, &q))
	return nil
}

// render returns the beginning of a page: what only changes with its articles.
func render(p *cache.Result, q *info.Query) []byte {
	b := []byte(`{"articles":[`)
	for i, item := range p.Items {
		if i > 0 {
			b = append(b, ',')
		}
		b = append(b, item.JSON...)
	}
	next := "null"
	switch n := len(p.Items); {
	case q.Newer && len(q.Search) == 0:
	case p.Next != nil && !q.Newer:
		next = quotedCursor(*p.Next)
	case n > 0 && (p.More || q.Newer):
		next = quotedCursor(p.Items[n-1].Cursor)
	}
	return fmt.Appendf(b, `],"next_cursor":%s`, next)
}

func quotedCursor(c info.Cursor) string { return `"` + c.String() + `"` }

// newerThan returns the cursor of what is newer than a page.
func newerThan(p *cache.Result, q *info.Query) string {
	switch {
	case len(q.Search) == 0:
		return quotedCursor(p.Arrived)
	case p.Next != nil && q.Newer:
		return quotedCursor(*p.Next)
	case len(p.Items) > 0:
		return quotedCursor(p.Items[0].Cursor)
	}
	return "null"
}

// withMeta completes a page.
func (a *Reading) withMeta(articles []byte, p *cache.Result, q *info.Query) []byte {
	articles = fmt.Appendf(articles, `,"prev_cursor":%s,"has_more":%t`, newerThan(p, q), p.More)
	expires := 0
	if !p.Expires.IsZero() {
		expires = int(math.Ceil(max(p.Expires.Sub(a.Now()), 0).Seconds()))
	}
	return fmt.Appendf(articles, `,"meta":{"total_cached":%d,"cache_expires_in":%d,"source":%q,"is_stale":%t}}`,
		p.Total, expires, p.Source, p.Stale)
}

// Cache-Control of fresh and stale pages. No cache keeps one for longer, even if the Worker fails: an article that was
// taken down must disappear.
const (
	fresh = "public, max-age=30, must-revalidate"
	stale = "public, max-age=5, must-revalidate"
)

// unchanged sets an ETag, and answers 304 if the caller has it. An answer that depends on the Host header is not
// shared: the platform's cache has one for all hosts.
func (a *Reading) unchanged(w http.ResponseWriter, r *http.Request, content []byte, p *cache.Result, shared bool) bool {
	h := fnv.New64a() // 128 bits cost WebAssembly ten times as much
	h.Write(content)
	tag := fmt.Sprintf("%x-%t", h.Sum64(), p != nil && p.Stale)
	// Weak: the age of the cache differs, and what has arrived elsewhere. An earlier prev_cursor serves as well.
	w.Header().Set("ETag", `W/"`+tag+`"`)
	control := fresh
	if p != nil && p.Stale {
		control = stale
	}
	if !shared {
		control = strings.Replace(control, "public", "private", 1)
	}
	w.Header().Set("Cache-Control", control)
	if !matches(r.Header.Values("If-None-Match"), tag) {
		return false
	}
	w.Header().Del("Content-Type")
	w.WriteHeader(http.StatusNotModified)
	return true
}

// matches compares validators weakly (RFC 9110, 13.1.2).
func matches(headers []string, tag string) bool {
	for _, h := range headers {
		for one := range strings.SplitSeq(h, ",") {
			one = strings.TrimSpace(one)
			if one == "*" || strings.Trim(strings.TrimPrefix(one, "W/"), `"`) == tag {
				return true
			}
		}
	}
	return false
}

// count answers with the number of articles that have arrived since a cursor.
func (a *Reading) count(w http.ResponseWriter, r *http.Request) error {
	values := parameters(r)
	q, err := query(values)
	switch {
	case err != nil:
		return err
	case q.From == nil:
		return invalid("INVALID_CURSOR_FORMAT", "A cursor is needed: send the prev_cursor of an answer as cursor.")
	case len(q.Search) > 0:
		return invalid("APPLICATION_ERROR", "A search cannot be counted. Leave out q.")
	}
	q.Newer = true
	n, more, err := a.Store.Count(r.Context(), q)
	if err != nil {
		return err
	}
	w.Header().Set("Cache-Control", "public, max-age=15")
	writeJSON(w, http.StatusOK, map[string]any{"count": n, "capped": more})
	return nil
}

func (a *Reading) article(w http.ResponseWriter, r *http.Request) error {
	none := &problem{http.StatusNotFound, "NOT_FOUND", "There is no article with this id."}
	id := r.PathValue("id")
	if !info.IsID(id) { // PostgreSQL refuses to compare some others
		return none
	}
	body, err := a.Pages.Article(r.Context(), id)
	if err != nil {
		return err
	}
	if body == nil {
		return none
	}
	w.Header().Set("Content-Type", "application/json; charset=utf-8")
	if !a.unchanged(w, r, body, nil, true) {
		w.Write(body)
	}
	return nil
}

// category names a category for readers.
type category struct {
	ID   info.Category `json:"id"`
	Name string        `json:"name"`
}

// named returns all topics, and what is about any or none, with their names in a language, "ko" or "en".
func named(language string) []category {
	list := []category{{info.All, map[string]string{"ko": "전체", "en": "All"}[language]}}
	for _, t := range info.Topics {
		list = append(list, category{t.ID, t.Names[language]})
	}
	return list
}

// categoryList joins the ids of all categories.
func categoryList(separator string) string {
	ids := string(info.All)
	for _, c := range info.Categories {
		ids += separator + string(c)
	}
	return ids
}

func (a *Reading) categories(w http.ResponseWriter, r *http.Request) error {
	language := "ko" // as in the original
	if v := parameters(r).Get("language"); v != "" {
		if language = v; v != "ko" && v != "en" {
			return invalid("APPLICATION_ERROR", "Invalid language: %s. Use ko or en.", quoted(v))
		}
	}
	w.Header().Set("Cache-Control", "public, max-age=3600")
	writeJSON(w, http.StatusOK, map[string]any{"categories": named(language)})
	return nil
}

func (a *Reading) health(w http.ResponseWriter, _ *http.Request) error {
	w.Header().Set("Cache-Control", "no-store")
	writeJSON(w, http.StatusOK, map[string]string{"status": "ok", "service": "info"})
	return nil
}

// ready answers 200 while readers get articles from cache or store, and the store has all migrations.
func (a *Reading) ready(w http.ResponseWriter, r *http.Request) error {
	checks := map[string]string{a.Pages.Kind: "ok"}
	storeErr := a.Store.Ready(r.Context())
	var lacks *store.NotMigratedError
	switch {
	case errors.As(storeErr, &lacks):
		checks[a.Pages.Kind] = "not_migrated"
	case storeErr != nil:
		checks[a.Pages.Kind] = "failed"
	}
	cacheErr := error(nil)
	if c := a.Pages.Cache; c != nil {
		checks[c.Name()] = "ok"
		if cacheErr = c.Ping(r.Context()); cacheErr != nil {
			checks[c.Name()] = "failed"
		}
	}
	status, word := http.StatusOK, "ok"
	answer := map[string]any{"service": "info", "checks": checks}
	switch {
	case lacks != nil:
		status, word = http.StatusServiceUnavailable, "failed"
		answer["detail"] = lacks.Error() + "; " + migrating[lacks.Database]
	case storeErr != nil && (cacheErr != nil || a.Pages.Cache == nil):
		status, word = http.StatusServiceUnavailable, "failed"
	case storeErr != nil || cacheErr != nil:
		word = "degraded"
	}
	answer["status"] = word
	w.Header().Set("Cache-Control", "no-store")
	writeJSON(w, status, answer)
	return nil
}

// migrating says how to apply migrations, by store.
var migrating = map[string]string{
	"d1": "make deploy-info-staging and make deploy-info-production apply it, or npx wrangler d1 migrations apply " +
		"INFO_DB -c info/collector/wrangler.jsonc",
	"postgres": "make migrate-info-postgres URL=… applies and records it",
}

func (a *Reading) openAPI(w http.ResponseWriter, _ *http.Request) error {
	w.Header().Set("Content-Type", "application/json")
	w.Header().Set("Cache-Control", "public, max-age=3600")
	w.Write(OpenAPI)
	return nil
}
