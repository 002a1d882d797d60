// Package httpapi is what the HTTP APIs of this module have in common: routes with bearer tokens, request ids,
// limited JSON bodies, and answers that are {"success": true, "data": …} or {"success": false, "error": {"code",
// "message", "field"?}}.
package httpapi

import (
	"context"
	"crypto/rand"
	"encoding/hex"
	"log/slog"
	"maps"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"sync"
)

// Handler answers a request, or returns the error to answer with.
type Handler func(w http.ResponseWriter, r *http.Request) error

// Methods maps a method to its handler. GET also serves HEAD.
type Methods map[string]Handler

// Route is a path pattern of http.ServeMux with its methods.
type Route struct {
	Path    string
	Access  Access
	Methods Methods
}

// Server serves routes.
type Server struct {
	Guard    Guard
	Log      *slog.Logger
	LogEvent string // names the log line of a request that failed with a server error
}

const (
	requestIDHeader = "X-Request-Id"
	accessHeader    = "X-Access" // what the request's token may do: "read", "scrape" or "full"
)

// Handler returns the handler of the routes. A path without wildcard is compared as it is. What other paths mean is up
// to http.ServeMux, which is built when the first of them arrives: that takes a tenth of a cold start.
func (s *Server) Handler(routes []Route) http.Handler {
	mux := sync.OnceValue(func() *http.ServeMux { return s.mux(routes) })
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set(requestIDHeader, requestID(r))
		if i := fixed(routes, r.URL); i >= 0 {
			s.serve(w, r, routes[i])
			return
		}
		mux().ServeHTTP(w, r)
	})
}

// fixed returns the number of the route without wildcard that has the path of a URL, or -1.
func fixed(routes []Route, u *url.URL) int {
	if u.RawPath != "" { // escapes that the path does not show
		return -1
	}
	return slices.IndexFunc(routes, func(route Route) bool {
		return route.Path == u.Path && !strings.ContainsAny(route.Path, "{}")
	})
}

func (s *Server) mux(routes []Route) *http.ServeMux {
	mux := http.NewServeMux()
	for _, route := range routes {
		mux.HandleFunc(route.Path, func(w http.ResponseWriter, r *http.Request) { s.serve(w, r, route) })
	}
	mux.HandleFunc("/", func(w http.ResponseWriter, r *http.Request) {
		s.Fail(w, r, NotFound("no route has this path; GET / describes this service"), nil)
	})
	return mux
}

func (s *Server) serve(w http.ResponseWriter, r *http.Request, route Route) {
	if err := s.dispatch(w, r, route); err != nil {
		s.Fail(w, r, err, nil)
	}
}

func (s *Server) dispatch(w http.ResponseWriter, r *http.Request, route Route) error {
	var by string
	if route.Access != Public {
		var err error
		if by, err = s.Guard.authorize(w, r, route.Access); err != nil {
			return err
		}
		w.Header().Set(accessHeader, permission(by))
		r = r.WithContext(context.WithValue(r.Context(), actorKey{}, by))
	}
	method := r.Method
	if method == http.MethodHead {
		method = http.MethodGet
	}
	handle := route.Methods[method]
	if handle == nil {
		allowed := slices.Sorted(maps.Keys(route.Methods))
		w.Header().Set("Allow", strings.Join(allowed, ", "))
		return Errorf(http.StatusMethodNotAllowed, "method_not_allowed",
			"method %s is not allowed; use %s", r.Method, strings.Join(allowed, " or "))
	}
	if by == localActor && method != http.MethodGet {
		if err := refuseForeignPage(r); err != nil {
			return err
		}
	}
	return handle(w, r)
}

type actorKey struct{}

// Actor returns the name of the token that came with the request, for the record of changes.
func Actor(r *http.Request) string {
	by, _ := r.Context().Value(actorKey{}).(string)
	return by
}

// NoScraper refuses the scraper's token on a route that it opens, for what only operators may do.
func NoScraper(r *http.Request) error {
	if Actor(r) != scraperActor {
		return nil
	}
	return Errorf(http.StatusForbidden, "forbidden", "SCRAPER_TOKEN may not do this; send the API token")
}

// requestID returns the caller's request id if it is a plain token, else a new one.
func requestID(r *http.Request) string {
	const plain = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789._-"
	if id := r.Header.Get(requestIDHeader); id != "" && len(id) <= 128 && strings.Trim(id, plain) == "" {
		return id
	}
	var b [16]byte
	rand.Read(b[:])
	return hex.EncodeToString(b[:])
}
