package fetch

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"time"

	"github.com/newsfork/seed-engine/contract"
)

// Request is one HTTP exchange.
type Request struct {
	Method  string // GET or HEAD; for services of ours also POST
	URL     string // as returned by Guard
	Header  http.Header
	Body    []byte        // of a POST
	Timeout time.Duration // from the start of the exchange to the end of the body; 0 for no limit
}

// Response is the response to a Request. The caller closes Body, which is never nil and already decoded; Header still
// names the Content-Encoding that was sent.
type Response struct {
	Status int
	Header http.Header // without Set-Cookie
	Body   io.ReadCloser
}

// Transport does one HTTP exchange, without redirects, retries, cookies or a cache. Errors of Do and of reading
// Response.Body are *contract.Error of the kind Timeout or Network. The latter match ErrNotResolved, ErrConnRefused,
// ErrReset or ErrTLS if the platform distinguishes them. A Transport is safe for concurrent use.
type Transport interface {
	Do(ctx context.Context, r *Request) (*Response, error)
}

// Errors below HTTP, as far as the platform distinguishes them.
var (
	ErrNotResolved = errors.New("the host name does not resolve")
	ErrConnRefused = errors.New("the connection was refused")
	ErrReset       = errors.New("the connection was reset")
	ErrTLS         = errors.New("the TLS handshake failed")
	errNetwork     = errors.New("the connection failed or was lost")
	// workerd does not say which
	errUnnamed = errors.New("the connection failed, or the host name does not resolve")
	errTimeout = errors.New("there was no answer in time")
)

// Failure returns the error of a Transport. what is one of the errors above, or nil for any other; detail is the
// platform's error.
func Failure(what, detail error) *contract.Error {
	if what == nil {
		what = errNetwork
	}
	return &contract.Error{Kind: contract.Network, Op: "fetch.Transport", Message: what.Error(),
		Err: &cause{what, detail}}
}

// NoAnswer returns the error of a Transport whose Timeout has passed.
func NoAnswer(detail error) *contract.Error {
	return &contract.Error{Kind: contract.Timeout, Op: "fetch.Transport", Message: errTimeout.Error(),
		Err: &cause{errTimeout, detail}}
}

// cause prints detail, for the log, and matches both errors.
type cause struct{ what, detail error }

func (c *cause) Error() string {
	if c.detail == nil {
		return c.what.Error()
	}
	return c.detail.Error()
}

func (c *cause) Unwrap() []error { return []error{c.what, c.detail} }

// ScriptFailure returns the Failure or NoAnswer for the name and message of a JavaScript error. Only the wording
// distinguishes causes, and not all of them: workerd reports "Network connection lost." for refused and reset
// connections, and "internal error; reference = …" for a name that does not resolve, among others.
func ScriptFailure(name, message string, err error) *contract.Error {
	if name == "TimeoutError" || name == "AbortError" {
		return NoAnswer(err)
	}
	m := strings.ToLower(message)
	if strings.HasPrefix(m, "internal error") { // its reference might contain any word
		return Failure(errUnnamed, err)
	}
	for _, s := range symptoms {
		if strings.Contains(m, s.words) {
			if s.what == errTimeout {
				return NoAnswer(err)
			}
			return Failure(s.what, err)
		}
	}
	return Failure(nil, err)
}

// symptoms are tried in this order.
var symptoms = []struct {
	words string
	what  error
}{
	{"enotfound", ErrNotResolved},
	{"eai_again", ErrNotResolved},
	{"dns", ErrNotResolved},
	{"not resolve", ErrNotResolved},
	{"certificate", ErrTLS},
	{"tls", ErrTLS},
	{"ssl", ErrTLS},
	{"timed out", errTimeout},
	{"timeout", errTimeout},
	{"hung", errTimeout}, // from the service binding of a Worker that never answers
	{"refused", ErrConnRefused},
	{"reset", ErrReset},
}

// EdgeFailure returns the error behind a response that no website sent, or nil for any other response. If
// Cloudflare's edge cannot reach an origin, a Worker's fetch does not fail but returns 52x, or 530 if the name does
// not resolve (developers.cloudflare.com/workers/platform/known-issues/ and …/support/troubleshooting/
// http-status-codes/cloudflare-5xx-errors/).
func EdgeFailure(status int, h http.Header) error {
	if !strings.EqualFold(h.Get("Server"), "cloudflare") {
		return nil
	}
	detail := fmt.Errorf("the platform answered %d instead of the origin", status)
	switch status {
	case 521:
		return Failure(ErrConnRefused, detail)
	case 522, 524:
		return NoAnswer(detail)
	case 523:
		return Failure(nil, detail)
	case 525, 526:
		return Failure(ErrTLS, detail)
	case 530:
		return Failure(ErrNotResolved, detail)
	}
	return nil
}
