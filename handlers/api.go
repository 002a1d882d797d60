// Package handlers is the HTTP API of the Seed Engine. Every answer is
// {"success": true, "data": …} or {"success": false, "error": {"code", "message", "field"?}} and
// carries X-Request-Id.
package handlers

import (
	"context"
	"crypto/rand"
	"crypto/sha256"
	"crypto/subtle"
	"encoding/hex"
	"encoding/json"
	"errors"
	"io"
	"log/slog"
	"mime"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/newsfork/seed-engine/contract"
	"github.com/newsfork/seed-engine/orchestrator"
	"github.com/newsfork/seed-engine/r2"
	"github.com/newsfork/seed-engine/settings"
)

// Orchestrator queues the raw files that a filter selects.
type Orchestrator interface {
	Run(ctx context.Context, c contract.Continuation) (orchestrator.Result, error)
}

// Bucket is what the API needs of the object store. Store takes the request's body as it streams
// in, unless the key exists (r2.ErrPrecondition).
type Bucket interface {
	Head(ctx context.Context, key string) (*r2.Object, error)
	List(ctx context.Context, o r2.ListOptions) (*r2.Page, error)
	Store(ctx context.Context, key string, r *http.Request) (*r2.Object, error)
}

// Sender puts messages on SEED_QUEUE.
type Sender interface {
	Send(ctx context.Context, b *contract.Batch) error
}

// API is everything that the routes work with.
type API struct {
	Settings     *settings.Settings
	Orchestrator Orchestrator
	Bucket       Bucket
	Seeds        Sender
	PingLedger   func(ctx context.Context) error // one cheap query to D1
	Log          *slog.Logger
	Now          func() time.Time
}

const (
	requestID    = "X-Request-Id"
	maxBodyBytes = 64 << 10
)

// routes maps each path to its methods; public ones need no token.
type route struct {
	path    string
	public  bool
	methods map[string]func(http.ResponseWriter, *http.Request) error
}

func (a *API) routes() []route {
	type methods = map[string]func(http.ResponseWriter, *http.Request) error
	return []route{
		{"/{$}", true, methods{"GET": a.index}},
		{"/health", true, methods{"GET": a.live}},
		{"/health/live", true, methods{"GET": a.live}},
		{"/health/ready", true, methods{"GET": a.ready}},
		{"/schemas/{name}", true, methods{"GET": a.schema}},
		{"/api/v1/seeds/orchestrate", false, methods{"POST": a.orchestrate}},
		{"/api/v1/datasets/{country}/{category}/{date}", false, methods{"GET": a.listDataset}},
		{"/api/v1/datasets/{country}/{category}/{date}/{chunk}", false, methods{"PUT": a.upload}},
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
	if !rt.public {
		if err := a.authorise(w, r); err != nil {
			return err
		}
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

// authorise compares the bearer token in constant time. Without API_TOKEN only development answers.
func (a *API) authorise(w http.ResponseWriter, r *http.Request) error {
	s := a.Settings
	if s.APIToken == "" {
		if s.Environment == settings.Development {
			return nil
		}
		return &failure{http.StatusServiceUnavailable, "token_not_configured", "the secret API_TOKEN is not set; run `wrangler secret put API_TOKEN`"}
	}
	scheme, token, _ := strings.Cut(r.Header.Get("Authorization"), " ")
	token = strings.TrimSpace(token)
	if !strings.EqualFold(scheme, "Bearer") {
		token = ""
	}
	// Every token is compared, so that the time taken does not tell which one is near.
	full := same(token, s.APIToken) | same(token, s.APITokenPrevious)
	read := same(token, s.ReadToken)
	switch {
	case full == 1, read == 1 && (r.Method == http.MethodGet || r.Method == http.MethodHead):
		return nil
	case read == 1:
		return &failure{http.StatusForbidden, "forbidden", "this token may only read; send the API token"}
	}
	w.Header().Set("WWW-Authenticate", `Bearer realm="seed-engine"`)
	return &failure{http.StatusUnauthorized, "unauthorized", "send the API token as \"Authorization: Bearer …\""}
}

// same is 1 for equal, non-empty tokens. Digests make the comparison independent of their lengths.
func same(got, want string) int {
	g, w := sha256.Sum256([]byte(got)), sha256.Sum256([]byte(want))
	equal := subtle.ConstantTimeCompare(g[:], w[:])
	if want == "" {
		return 0
	}
	return equal
}

// readJSON decodes the body into v, which is left alone when there is none.
func readJSON(r *http.Request, v any) error {
	body, err := io.ReadAll(io.LimitReader(r.Body, maxBodyBytes+1))
	if err != nil {
		return contract.Wrap(contract.Network, "handlers.readJSON", err)
	}
	if len(body) > maxBodyBytes {
		return &failure{http.StatusRequestEntityTooLarge, "payload_too_large", "the body is larger than 64 KB; send less"}
	}
	if len(strings.TrimSpace(string(body))) == 0 {
		return nil
	}
	if err := wantJSON(r); err != nil {
		return err
	}
	if strings.TrimSpace(string(body))[0] != '{' {
		return contract.Invalid("body", "is not a JSON object; send one, such as %s", `{"country":"sg"}`)
	}
	d := json.NewDecoder(strings.NewReader(string(body)))
	d.DisallowUnknownFields()
	if err := d.Decode(v); err != nil {
		if name, ok := strings.CutPrefix(err.Error(), "json: unknown field "); ok {
			return contract.Invalid(strings.Trim(name, `"`), "is not a field of this request; leave it out")
		}
		return contract.JSONError(err)
	}
	if _, err := d.Token(); !errors.Is(err, io.EOF) {
		return &contract.Error{Kind: contract.Parse, Field: "body", Message: "has more after its JSON object; send exactly one"}
	}
	return nil
}

// wantJSON accepts a missing Content-Type, which plain clients leave out.
func wantJSON(r *http.Request) error {
	t := r.Header.Get("Content-Type")
	if t == "" {
		return nil
	}
	if m, _, err := mime.ParseMediaType(t); err != nil || m != "application/json" {
		return &failure{http.StatusUnsupportedMediaType, "unsupported_media_type", "the body must be JSON; send \"Content-Type: application/json\""}
	}
	return nil
}

// onlyQuery rejects query parameters that the route does not know.
func onlyQuery(r *http.Request, known ...string) error {
	for name := range r.URL.Query() {
		if !slices.Contains(known, name) {
			return contract.Invalid(name, "is not a query parameter of this route; leave it out")
		}
	}
	return nil
}
