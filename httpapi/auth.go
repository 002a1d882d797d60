package httpapi

import (
	"crypto/sha256"
	"crypto/subtle"
	"mime"
	"net/http"
	"net/url"
	"strings"

	"github.com/newsfork/seed-engine/contract"
)

// Access is who may use a route.
type Access int

const (
	Public    Access = iota // everybody, without a token
	Readers                 // the API token, and every other token for GET
	Scrapers                // the API token and the scraper token, and the read token for GET
	Operators               // the API token alone
)

// admits reports whether the read token or the scraper token opens a route for a method.
func (a Access) admits(actor, method string) bool {
	if method == http.MethodGet || method == http.MethodHead {
		return a == Readers || a == Scrapers
	}
	return a == Scrapers && actor == scraperActor
}

// Guard admits requests by bearer token. Without Token only a local run answers.
type Guard struct {
	Realm    string
	Token    string      // API_TOKEN
	Previous string      // API_TOKEN_PREVIOUS; "" if unset
	Scraper  string      // SCRAPER_TOKEN; "" if unset
	Read     string      // READ_TOKEN; "" if unset
	Local    func() bool // reports whether this is a local run of development; nil means no
}

// Names of actors.
const (
	localActor    = "development" // a local run without tokens
	tokenActor    = "API_TOKEN"
	previousActor = "API_TOKEN_PREVIOUS"
	scraperActor  = "SCRAPER_TOKEN"
	readActor     = "READ_TOKEN"
)

// authorize returns the name of the token that came with the request. Tokens are compared in constant time.
func (g *Guard) authorize(w http.ResponseWriter, r *http.Request, access Access) (by string, err error) {
	if g.Token == "" {
		if g.Local != nil && !cameThroughEdge(r) && g.Local() {
			return localActor, nil
		}
		return "", Errorf(http.StatusServiceUnavailable, "token_not_configured",
			"the secret API_TOKEN is not set; run `wrangler secret put API_TOKEN`")
	}
	scheme, token, _ := strings.Cut(r.Header.Get("Authorization"), " ")
	token = strings.TrimSpace(token)
	if !strings.EqualFold(scheme, "Bearer") {
		token = ""
	}
	// Every token is compared, so that the time taken does not reveal which one is close.
	full, previous := equal(token, g.Token), equal(token, g.Previous)
	scraper, read := equal(token, g.Scraper), equal(token, g.Read)
	switch {
	case full:
		return tokenActor, nil
	case previous:
		return previousActor, nil
	case scraper && access.admits(scraperActor, r.Method):
		return scraperActor, nil
	case read && access.admits(readActor, r.Method):
		return readActor, nil
	case scraper:
		return "", Errorf(http.StatusForbidden, "forbidden",
			"SCRAPER_TOKEN may read, and lease, report and put URLs of the frontier; send the API token")
	case read && access == Scrapers:
		return "", Errorf(http.StatusForbidden, "forbidden",
			"READ_TOKEN may only read; send SCRAPER_TOKEN or the API token")
	case read:
		return "", Errorf(http.StatusForbidden, "forbidden", "READ_TOKEN may only read; send the API token")
	}
	w.Header().Set("WWW-Authenticate", `Bearer realm="`+g.Realm+`"`)
	if token != "" {
		return "", Errorf(http.StatusUnauthorized, "unauthorized",
			"the token is not valid here; send the API_TOKEN, a SCRAPER_TOKEN to scrape, or a READ_TOKEN to read")
	}
	return "", Errorf(http.StatusUnauthorized, "unauthorized", `send the API token as "Authorization: Bearer …"`)
}

// permission returns what an actor may do. The dashboard offers no more.
func permission(by string) string {
	switch by {
	case readActor:
		return "read"
	case scraperActor:
		return "scrape"
	}
	return "full"
}

// equal reports whether two tokens are equal and not empty. Digests make the comparison independent of their lengths.
func equal(got, want string) bool {
	g, w := sha256.Sum256([]byte(got)), sha256.Sum256([]byte(want))
	return subtle.ConstantTimeCompare(g[:], w[:]) == 1 && want != ""
}

// cameThroughEdge reports whether a request came over Cloudflare's network, which adds a CF-Ray header that
// callers can neither set nor remove. A local run sees it only behind a tunnel.
func cameThroughEdge(r *http.Request) bool { return r.Header.Get("CF-Ray") != "" }

// refuseForeignPage refuses a request without a token that a page of another site may have made a browser send.
// Browsers send JSON to other sites only after a preflight, which no API here grants, and name the page's site
// in Origin.
func refuseForeignPage(r *http.Request) error {
	if !isJSON(r.Header.Get("Content-Type")) {
		return Errorf(http.StatusUnsupportedMediaType, "unsupported_media_type",
			`a change without a token needs "Content-Type: application/json", even with an empty body`)
	}
	if origin := r.Header.Get("Origin"); origin != "" && !isOwnOrigin(origin, r.Host) {
		return Errorf(http.StatusForbidden, "foreign_origin",
			"pages of other sites cannot change anything without a token; open this service's own address, or set "+
				"API_TOKEN")
	}
	return nil
}

// isOwnOrigin reports whether origin is that of host or of this machine.
func isOwnOrigin(origin, host string) bool {
	u, err := url.Parse(origin)
	if err != nil || u.Host == "" {
		return false
	}
	return strings.EqualFold(u.Host, host) || contract.IsLoopback(u.Hostname())
}

func isJSON(contentType string) bool {
	mediaType, _, err := mime.ParseMediaType(contentType)
	return err == nil && mediaType == "application/json"
}
