package fetch

import (
	"errors"
	"net/http"
	"testing"

	"github.com/newsfork/seed-engine/contract"
)

func TestTransport_DescribesErrors(t *testing.T) {
	for _, c := range []struct {
		name, message string
		kind          contract.Kind
		what          error
	}{
		{"TimeoutError", "The operation was aborted due to timeout", contract.Timeout, nil},
		{"AbortError", "The operation was aborted", contract.Timeout, nil},
		{"Error", "the connection timed out", contract.Timeout, nil},
		{"Error",
			"The Workers runtime canceled this request because it detected that your Worker's code had hung and " +
				"would never generate a response.", contract.Timeout, nil},
		{"Error", "Network connection lost.", contract.Network, errNetwork},
		{"Error", "internal error; reference = dnstlsreset0", contract.Network, errUnnamed},
		{"Error", "getaddrinfo ENOTFOUND nowhere.sg", contract.Network, ErrNotResolved},
		{"TypeError", "DNS lookup failed.", contract.Network, ErrNotResolved},
		{"Error", "Could not resolve host", contract.Network, ErrNotResolved},
		{"Error", "connect ECONNREFUSED 203.0.113.1:443", contract.Network, ErrConnRefused},
		{"Error", "read ECONNRESET", contract.Network, ErrReset},
		{"Error", "the connection was reset", contract.Network, ErrReset},
		{"Error", "TLS peer's certificate is not trusted", contract.Network, ErrTLS},
		{"", "", contract.Network, errNetwork},
	} {
		detail := errors.New(c.message)
		err := ScriptFailure(c.name, c.message, detail)
		if err.Kind != c.kind || c.what != nil && !errors.Is(err, c.what) || !errors.Is(err, detail) ||
			err.Message == "" {
			t.Errorf("%s: %s: %v", c.name, c.message, err)
		}
	}
}

func TestEdgeFailure(t *testing.T) {
	cloudflare := http.Header{"Server": {"cloudflare"}}
	for status, want := range map[int]struct {
		kind contract.Kind
		what error
	}{521: {contract.Network, ErrConnRefused}, 522: {contract.Timeout, nil}, 523: {contract.Network,
		nil}, 524: {contract.Timeout, nil}, 525: {contract.Network, ErrTLS}, 526: {contract.Network, ErrTLS},
		530: {contract.Network, ErrNotResolved}} {
		if err := EdgeFailure(status, cloudflare); contract.KindOf(err) != want.kind || want.what != nil &&
			!errors.Is(err, want.what) {
			t.Errorf("%d: %v", status, err)
		}
		if err := EdgeFailure(status, http.Header{"Server": {"nginx"}}); err != nil { // an origin may answer anything
			t.Errorf("%d of nginx: %v", status, err)
		}
	}
	for _, status := range []int{200, 301, 403, 404, 429, 500, 502, 503, 504, 520} {
		if err := EdgeFailure(status, cloudflare); err != nil {
			t.Errorf("%d: %v", status, err)
		}
	}
}
