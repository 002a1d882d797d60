package handlers

import (
	"crypto/sha256"
	"crypto/subtle"
	"mime"
	"net"
	"net/http"
	"net/url"
	"strings"

	"github.com/newsfork/seed-engine/settings"
)

type actorKey struct{}

// actor is the name of the token that came with the request, for the record of changes.
func actor(r *http.Request) string {
	by, _ := r.Context().Value(actorKey{}).(string)
	return by
}

// access says which tokens open a route.
type access int

const (
	everybody access = iota // no token is needed
	tokens                  // API_TOKEN opens all methods, READ_TOKEN those that only read
	scrapers                // both open all methods
	operators               // API_TOKEN alone
)

// admitsReader reports whether READ_TOKEN opens a route for a method.
func (a access) admitsReader(method string) bool {
	return a == scrapers || a == tokens && (method == http.MethodGet || method == http.MethodHead)
}

// authorise compares the bearer token in constant time, and gives its name. Without API_TOKEN only
// a local run of development answers.
func (a *API) authorise(w http.ResponseWriter, r *http.Request, to access) (by string, err error) {
	s := a.Settings
	if s.APIToken == "" {
		if s.Environment == settings.Development && a.Local != nil && a.Local() && !throughEdge(r) {
			return settings.Development, nil
		}
		return "", &failure{http.StatusServiceUnavailable, "token_not_configured", "the secret API_TOKEN is not set; run `wrangler secret put API_TOKEN`"}
	}
	scheme, token, _ := strings.Cut(r.Header.Get("Authorization"), " ")
	token = strings.TrimSpace(token)
	if !strings.EqualFold(scheme, "Bearer") {
		token = ""
	}
	// Every token is compared, so that the time taken does not reveal which one is close.
	full, previous, read := same(token, s.APIToken), same(token, s.APITokenPrevious), same(token, s.ReadToken)
	switch {
	case full == 1:
		return "API_TOKEN", nil
	case previous == 1:
		return "API_TOKEN_PREVIOUS", nil
	case read == 1 && to.admitsReader(r.Method):
		return "READ_TOKEN", nil
	case read == 1:
		return "", &failure{http.StatusForbidden, "forbidden", "this token may only read, and lease and report URLs of the frontier; send the API token"}
	}
	w.Header().Set("WWW-Authenticate", `Bearer realm="seed-engine"`)
	if token != "" {
		return "", &failure{http.StatusUnauthorized, "unauthorized", "the token is neither API_TOKEN nor another secret of this engine; send its API_TOKEN, or its READ_TOKEN to read"}
	}
	return "", &failure{http.StatusUnauthorized, "unauthorized", "send the API token as \"Authorization: Bearer …\""}
}

// accessHeader says what the token of a request may do. The dashboard offers no more.
const accessHeader = "X-Access"

func mayDo(by string) string {
	if by == "READ_TOKEN" {
		return "read"
	}
	return "full"
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

// throughEdge reports whether a request came over Cloudflare's network, which gives each a CF-Ray that
// callers can neither set nor remove. A local run gets one only through a tunnel.
func throughEdge(r *http.Request) bool { return r.Header.Get("CF-Ray") != "" }

// refuseForeignPage refuses a request, sent without a token, that a page of another site may have made
// a browser send. A browser sends JSON elsewhere only after a preflight, which the API never grants,
// and says in Origin where a page is from.
func refuseForeignPage(r *http.Request) error {
	if m, _, err := mime.ParseMediaType(r.Header.Get("Content-Type")); err != nil || m != "application/json" {
		return &failure{http.StatusUnsupportedMediaType, "unsupported_media_type", "without a token a request that changes something needs \"Content-Type: application/json\", with an empty body too"}
	}
	if origin := r.Header.Get("Origin"); origin != "" && !ownOrigin(origin, r.Host) {
		return &failure{http.StatusForbidden, "foreign_origin", "without a token pages of other sites may change nothing; open the engine's own address, or set API_TOKEN"}
	}
	return nil
}

// ownOrigin reports whether pages of origin are those of host, or of this machine.
func ownOrigin(origin, host string) bool {
	u, err := url.Parse(origin)
	if err != nil || u.Host == "" {
		return false
	}
	ip := net.ParseIP(u.Hostname())
	return strings.EqualFold(u.Host, host) || u.Hostname() == "localhost" || ip != nil && ip.IsLoopback()
}
