package main

import (
	"bytes"
	"cmp"
	"context"
	"crypto/tls"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"mime"
	"net"
	"net/http"
	"net/url"
	"strconv"
	"time"

	"github.com/newsfork/seed-engine/contract"
)

// How long the client waits, and how much it takes; tests lower them.
var (
	backOff         = time.Second     // before the first of maxRetries retries, then twice as long each time
	patience        = 2 * time.Minute // for the whole answer, from the last byte sent
	maxAnswer int64 = 64 << 20        // bytes that are read
)

const (
	maxRetries    = 4
	maxRetryAfter = 30 * time.Second // of a Retry-After that is obeyed
)

// client speaks the engine's HTTP API.
type client struct {
	base  *url.URL
	token string
	http  *http.Client
	retry func(wait time.Duration, err error) // told before each retry
}

// newClient takes the address of an engine and its token, which may be empty.
func newClient(address, token string) (*client, error) {
	base, err := url.Parse(address)
	switch {
	case err != nil || base.Scheme != "http" && base.Scheme != "https" || base.Host == "":
		return nil, usageError(fmt.Sprintf("%q is not the address of an engine; --url or SEED_API_URL needs one such as https://seed.example.com", address))
	case base.User != nil || base.RawQuery != "" || base.Fragment != "":
		return nil, usageError("--url or SEED_API_URL: give scheme, host and path alone")
	case token != "" && base.Scheme == "http" && !isLoopback(base.Hostname()):
		return nil, usageError("the token would cross the network unencrypted; give an https address with --url or SEED_API_URL")
	}
	for _, c := range []byte(token) {
		if c <= ' ' || c > '~' {
			return nil, usageError("the token holds blanks or characters that no token has; check SEED_API_TOKEN or --token-file")
		}
	}
	return &client{
		base:  base,
		token: token,
		http: &http.Client{
			// The API never redirects; whoever does is something else, and gets no second request.
			CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
		},
	}, nil
}

func isLoopback(host string) bool {
	ip := net.ParseIP(host)
	return host == "localhost" || ip != nil && ip.IsLoopback()
}

// apiError is an answer {"success": false}.
type apiError struct {
	Status     int             `json:"-"`
	Code       string          `json:"code"`
	Message    string          `json:"message"`
	Field      string          `json:"field,omitempty"`
	RequestID  string          `json:"-"`
	RetryAfter time.Duration   `json:"-"`
	Data       json.RawMessage `json:"-"` // what was done before the error, or nil
}

// Error is one line that may be shown on a terminal.
func (e *apiError) Error() string {
	s := plain(e.Message) + " (" + plain(e.Code)
	if e.Status >= 500 && e.RequestID != "" {
		s += ", request " + plain(e.RequestID)
	}
	if e.Field != "" {
		s = plain(e.Field) + ": " + s
	}
	return s + ")"
}

// unreachable says that no answer of an engine came back.
type unreachable struct {
	host  string
	err   error
	again bool // it may be otherwise in a moment
}

func (e *unreachable) Error() string {
	return plain(fmt.Sprintf("%s %v; --url or SEED_API_URL says where the engine is", e.host, e.err))
}

func (e *unreachable) Unwrap() error { return e.err }

// request is one call of the API.
type request struct {
	method string
	path   []string // segments below /api/v1
	query  url.Values
	body   any  // sent as JSON unless it is nil
	once   bool // it is repeated only if the engine cannot have begun with it
}

// call sends a request until it is answered, and decodes the answer's data into data.
func (c *client) call(ctx context.Context, rq request, data any) error {
	var body []byte
	if rq.body != nil {
		var err error
		if body, err = json.Marshal(rq.body); err != nil {
			panic(err) // bodies are plain structs
		}
	}
	return c.repeat(ctx, rq.once, func() error {
		raw, err := c.send(ctx, rq, bytes.NewReader(body), int64(len(body)))
		if err != nil {
			return err
		}
		if err := json.Unmarshal(raw, data); err != nil {
			return &unreachable{c.base.Host, fmt.Errorf("answers otherwise than the Seed Engine %s does: %w", contract.Version, err), false}
		}
		return nil
	})
}

// repeat calls try until it succeeds, fails for good, or has failed too often.
func (c *client) repeat(ctx context.Context, once bool, try func() error) error {
	wait := backOff
	for n := 0; ; n++ {
		err := try()
		pause, again := retryable(err, once)
		if !again || n == maxRetries || ctx.Err() != nil {
			return err
		}
		pause = max(wait, pause)
		if c.retry != nil {
			c.retry(pause, err)
		}
		if !sleep(ctx, pause) {
			return ctx.Err()
		}
		wait *= 2
	}
}

// retryable says whether to try again after err, and how long the engine asked to wait.
func retryable(err error, once bool) (wait time.Duration, again bool) {
	var lost *unreachable
	var answer *apiError
	var dial *net.OpError
	switch {
	case errors.As(err, &lost):
		neverSent := errors.As(err, &dial) && dial.Op == "dial"
		return 0, lost.again && (!once || neverSent)
	case errors.As(err, &answer):
		switch answer.Status {
		case http.StatusTooManyRequests:
			return answer.RetryAfter, true
		case http.StatusBadGateway, http.StatusServiceUnavailable, http.StatusGatewayTimeout:
			return answer.RetryAfter, !once && answer.Code != "token_not_configured"
		}
	}
	return 0, false
}

var errLate = errors.New("gave no answer in time")

// send makes one attempt and gives the data of a successful answer. A body is sent with its length.
func (c *client) send(ctx context.Context, rq request, body io.Reader, length int64) (json.RawMessage, error) {
	attempt, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	late := time.AfterFunc(patience, func() { cancel(errLate) })
	defer late.Stop()

	segments := []string{"api", "v1"}
	for _, s := range rq.path {
		segments = append(segments, url.PathEscape(s))
	}
	address := c.base.JoinPath(segments...)
	address.RawQuery = rq.query.Encode()
	r, err := http.NewRequestWithContext(attempt, rq.method, address.String(), nil)
	if err != nil {
		return nil, usageError(err.Error())
	}
	if length > 0 {
		r.Body, r.ContentLength = &watched{body, late}, length
		r.Header.Set("Content-Type", "application/json")
	}
	r.Header.Set("Accept", "application/json")
	r.Header.Set("User-Agent", "seedctl/"+contract.Version)
	if c.token != "" {
		r.Header.Set("Authorization", "Bearer "+c.token)
	}

	data, err := c.receive(r)
	switch {
	case err == nil:
		return data, nil
	case ctx.Err() != nil:
		return nil, ctx.Err()
	case context.Cause(attempt) == errLate:
		return nil, &unreachable{c.base.Host, errLate, true}
	}
	return nil, err
}

func (c *client) receive(r *http.Request) (json.RawMessage, error) {
	response, err := c.http.Do(r)
	if err != nil {
		var wrapped *url.Error // repeats the whole address
		if errors.As(err, &wrapped) {
			err = wrapped.Err
		}
		return nil, &unreachable{c.base.Host, fmt.Errorf("could not be reached: %w", err), !forGood(err)}
	}
	defer response.Body.Close()

	foreign := func(what string) error {
		again := response.StatusCode >= 500 || response.StatusCode == http.StatusTooManyRequests
		return &unreachable{c.base.Host, fmt.Errorf("answered %d %s, otherwise than a Seed Engine", response.StatusCode, what), again}
	}
	if to := response.Header.Get("Location"); to != "" && response.StatusCode/100 == 3 {
		return nil, foreign("and redirects to " + to)
	}
	if kind, _, err := mime.ParseMediaType(response.Header.Get("Content-Type")); err != nil || kind != "application/json" {
		return nil, foreign("with " + cmp.Or(kind, "no Content-Type"))
	}
	body, err := io.ReadAll(io.LimitReader(response.Body, maxAnswer+1))
	switch {
	case err != nil:
		return nil, &unreachable{c.base.Host, fmt.Errorf("broke off its answer: %w", err), true}
	case int64(len(body)) > maxAnswer:
		return nil, foreign(fmt.Sprintf("with more than %d bytes", maxAnswer))
	}
	var answer struct {
		Success bool            `json:"success"`
		Data    json.RawMessage `json:"data"`
		Error   *apiError       `json:"error"`
	}
	if err := json.Unmarshal(body, &answer); err != nil {
		return nil, foreign("with broken JSON")
	}
	switch e := answer.Error; {
	case answer.Success && response.StatusCode/100 == 2 && answer.Data != nil && string(answer.Data) != "null":
		return answer.Data, nil
	case !answer.Success && response.StatusCode >= 400 && e != nil:
		e.Status, e.Data, e.RequestID = response.StatusCode, answer.Data, response.Header.Get("X-Request-Id")
		if seconds, err := strconv.Atoi(response.Header.Get("Retry-After")); err == nil && seconds > 0 {
			e.RetryAfter = min(time.Duration(min(seconds, 3600))*time.Second, maxRetryAfter)
		}
		return nil, e
	}
	return nil, foreign("with other JSON")
}

// forGood tells failures that no repetition mends.
func forGood(err error) bool {
	var certificate *tls.CertificateVerificationError
	var name *net.DNSError
	return errors.As(err, &certificate) || errors.As(err, &name) && name.IsNotFound
}

// watched is a body whose sending may take as long as it moves.
type watched struct {
	io.Reader
	late *time.Timer
}

func (w *watched) Read(p []byte) (int, error) {
	w.late.Reset(patience)
	return w.Reader.Read(p)
}

func (w *watched) Close() error { return nil }

// sleep waits unless ctx ends first; then it returns false.
func sleep(ctx context.Context, d time.Duration) bool {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-ctx.Done():
		return false
	case <-t.C:
		return true
	}
}
