// Package client speaks the HTTP APIs of a running Seed Engine and of the Info service for seedctl.
package client

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
	"strings"
	"syscall"
	"time"

	"github.com/newsfork/seed-engine/contract"
	"github.com/newsfork/seed-engine/fetch"
)

// MaxRetries is the number of times a request is repeated.
const MaxRetries = 4

const (
	maxRetryAfter = 30 * time.Second // of a Retry-After that is obeyed
	maxMessage    = 300              // characters of a message or code in Error
)

// Limits say how long a client waits, and how much it takes.
type Limits struct {
	BackOff   time.Duration // before the first of MaxRetries retries, then twice as long each time
	Patience  time.Duration // for the whole answer, from the last byte sent
	MaxAnswer int64         // bytes that are read
}

// DefaultLimits are those of seedctl.
var DefaultLimits = Limits{BackOff: time.Second, Patience: 2 * time.Minute, MaxAnswer: 64 << 20}

// Service is a service that a client talks to.
type Service struct {
	Name    string // such as Seed Engine
	Noun    string // the same in a word or two, such as engine
	Article string // before Noun: a or an
	Example string // of an address
	Address string // the variable that has its address
	Token   string // the variable that has its token; "" where it needs none
	// Bare: answers are the data alone, and errors {"detail", "code"}.
	Bare bool
}

// Engine is the Seed Engine.
var Engine = Service{Name: "Seed Engine", Noun: "engine", Article: "an", Example: "https://seed.example.com",
	Address: "SEED_API_URL", Token: "SEED_API_TOKEN"}

// Client sends requests to one service.
type Client struct {
	Limits  Limits
	OnRetry func(wait time.Duration, err error) // called before each retry, unless it is nil

	service Service
	base    *url.URL
	token   string
	from    string // where the token comes from, for messages
	http    *http.Client
}

// New takes the address of a service and its token, which may be empty, and where that comes from. Its error says
// what is wrong with one of them.
func New(service Service, address, token, from string) (*Client, error) {
	base, err := url.Parse(address)
	switch {
	case err != nil || base.Scheme != "http" && base.Scheme != "https" || base.Host == "":
		return nil, fmt.Errorf("%q is not the address of %s %s; --url or %s needs one such as %s", address,
			service.Article,
			service.Noun, service.Address, service.Example)
	case base.User != nil || base.RawQuery != "" || base.Fragment != "":
		return nil, errors.New("--url or " + service.Address + ": give scheme, host and path alone")
	case token != "" && base.Scheme == "http" && !contract.IsLoopback(base.Hostname()):
		return nil, errors.New("the token would cross the network unencrypted; give an https address with --url or " +
			service.Address)
	}
	for _, c := range []byte(token) {
		if c <= ' ' || c > '~' {
			return nil, errors.New("the token holds blanks or characters that no token has; check " + service.Token +
				" or --token-file")
		}
	}
	return &Client{
		Limits:  DefaultLimits,
		service: service,
		base:    base,
		token:   token,
		from:    from,
		http: &http.Client{
			// The API never redirects; a server that does is something else, and gets no second request.
			CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
		},
	}, nil
}

// Error is an answer {"success": false}.
type Error struct {
	Status     int             `json:"-"`
	Code       string          `json:"code"`
	Message    string          `json:"message"`
	Field      string          `json:"field,omitempty"`
	RequestID  string          `json:"-"`
	RetryAfter time.Duration   `json:"-"`
	Data       json.RawMessage `json:"-"` // what was done before the error, or nil
}

// Error returns the message, the code, and the request's id if the engine's log explains more.
func (e *Error) Error() string {
	s := clip(routes.Replace(e.Message)) + " (" + clip(e.Code)
	if e.Status >= 500 && e.RequestID != "" {
		s += ", request " + clip(e.RequestID)
	}
	if e.Field != "" {
		s = clip(e.Field) + ": " + s
	}
	return s + ")"
}

// routes replaces the routes that messages recommend by commands.
var routes = strings.NewReplacer(
	"no route has this path; GET / describes this service",
	"the engine has no such route; it may be older than this seedctl",
	"GET /api/v1/seeds/domains lists", "seedctl domains lists",
	"GET /api/v1/dlq lists", "seedctl dlq list lists",
	"GET /api/v1/exclusions lists", "seedctl exclusions list lists",
	"GET /api/v1/frontier/hosts lists", "seedctl frontier hosts lists",
	"repeat this request, or POST /api/v1/seeds/orchestrate", "repeat this command, or run seedctl orchestrate",
)

// clip shortens a text from outside.
func clip(s string) string {
	n := 0
	for i := range s {
		if n++; n > maxMessage {
			return s[:i] + "…"
		}
	}
	return s
}

// Unreachable is returned if no answer of the service came back.
type Unreachable struct {
	Host      string
	Service   Service
	Err       error
	Temporary bool // a repetition may succeed
}

func (e *Unreachable) Error() string {
	return fmt.Sprintf("%s %s; --url or %s says where the %s is", e.Host, clip(e.Err.Error()), e.Service.Address,
		e.Service.Noun)
}

func (e *Unreachable) Unwrap() error { return e.Err }

// Unexpected is the error for an answer that makes no sense to the caller.
func (c *Client) Unexpected(what string) error {
	return c.lost(errors.New(what), false)
}

func (c *Client) lost(err error, temporary bool) error {
	return &Unreachable{c.base.Host, c.service, err, temporary}
}

// Request is one call of the API.
type Request struct {
	Method string
	Path   []string // segments below /api/v1
	Query  url.Values
	Body   any  // sent as JSON unless it is nil
	Once   bool // it is repeated only if the engine cannot have begun with it
}

// Call sends a request until it is answered, and decodes the answer's data into data.
func (c *Client) Call(ctx context.Context, rq Request, data any) error {
	var body []byte
	if rq.Body != nil {
		var err error
		if body, err = json.Marshal(rq.Body); err != nil {
			panic(err) // bodies are plain structs
		}
	}
	return c.Repeat(ctx, rq.Once, func() error {
		raw, err := c.Send(ctx, rq, bytes.NewReader(body), int64(len(body)))
		if err != nil {
			return err
		}
		if err := json.Unmarshal(raw, data); err != nil {
			return c.lost(fmt.Errorf("answers otherwise than the %s %s does: %w", c.service.Name, contract.Version,
				err), false)
		}
		return nil
	})
}

// Repeat calls try until it succeeds, fails for good, or has failed too often.
func (c *Client) Repeat(ctx context.Context, once bool, try func() error) error {
	wait := c.Limits.BackOff
	for n := 0; ; n++ {
		err := try()
		pause, again := retryable(err, once)
		if !again || n == MaxRetries || ctx.Err() != nil {
			return err
		}
		pause = max(wait, pause)
		if c.OnRetry != nil {
			c.OnRetry(pause, err)
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(pause):
		}
		wait *= 2
	}
}

// retryable reports whether to try again after err, and how long the engine asked to wait.
func retryable(err error, once bool) (wait time.Duration, again bool) {
	var lost *Unreachable
	var answer *Error
	var dial *net.OpError
	switch {
	case errors.As(err, &lost):
		neverSent := errors.As(err, &dial) && dial.Op == "dial"
		return 0, lost.Temporary && (!once || neverSent)
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

// Send makes one attempt and gives the data of a successful answer. A body is sent with its length.
func (c *Client) Send(ctx context.Context, rq Request, body io.Reader, length int64) (json.RawMessage, error) {
	attempt, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	late := time.AfterFunc(c.Limits.Patience, func() { cancel(errLate) })
	defer late.Stop()

	segments := []string{"api", "v1"}
	for _, s := range rq.Path {
		segments = append(segments, url.PathEscape(s))
	}
	address := c.base.JoinPath(segments...)
	address.RawQuery = rq.Query.Encode()
	r, err := http.NewRequestWithContext(attempt, rq.Method, address.String(), nil)
	if err != nil {
		return nil, err
	}
	if length > 0 {
		r.Body, r.ContentLength = &watchedBody{body, late, c.Limits.Patience}, length
	}
	if rq.Method != http.MethodGet { // an engine without a token wants it of an empty body too
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
		return nil, c.lost(errLate, true)
	}
	return nil, err
}

func (c *Client) receive(r *http.Request) (json.RawMessage, error) {
	response, err := c.http.Do(r)
	if err != nil {
		var wrapped *url.Error // repeats the whole address
		if errors.As(err, &wrapped) {
			err = wrapped.Err
		}
		return nil, c.lost(&unreached{err}, !permanent(err))
	}
	defer response.Body.Close()

	foreign := func(what string) error {
		again := response.StatusCode >= 500 || response.StatusCode == http.StatusTooManyRequests
		return c.lost(fmt.Errorf("answered %d %s, otherwise than the %s", response.StatusCode, what, c.service.Name),
			again)
	}
	if to := response.Header.Get("Location"); to != "" && response.StatusCode/100 == 3 {
		return nil, foreign("and redirects to " + to)
	}
	if kind, _, err := mime.ParseMediaType(response.Header.Get("Content-Type")); err != nil ||
		kind != "application/json" {
		return nil, foreign("with " + cmp.Or(kind, "no Content-Type"))
	}
	body, err := io.ReadAll(io.LimitReader(response.Body, c.Limits.MaxAnswer+1))
	switch {
	case err != nil:
		return nil, c.lost(fmt.Errorf("broke off its answer: %w", err), true)
	case int64(len(body)) > c.Limits.MaxAnswer:
		return nil, foreign(fmt.Sprintf("with more than %d bytes", c.Limits.MaxAnswer))
	}
	answer, err := c.open(response.StatusCode, body)
	if err != nil {
		return nil, foreign("with broken JSON")
	}
	switch e := answer.Error; {
	case answer.Success && response.StatusCode/100 == 2 && answer.Data != nil && string(answer.Data) != "null":
		return answer.Data, nil
	case !answer.Success && response.StatusCode >= 400 && e != nil:
		e.Status, e.Data, e.RequestID = response.StatusCode, answer.Data, response.Header.Get("X-Request-Id")
		c.denied(e)
		if seconds, err := strconv.Atoi(response.Header.Get("Retry-After")); err == nil && seconds > 0 {
			e.RetryAfter = min(time.Duration(min(seconds, 3600))*time.Second, maxRetryAfter)
		}
		return nil, e
	}
	return nil, foreign("with other JSON")
}

// denied replaces what the service says of the token by which one it was: a header means nothing to people at
// a command line.
func (c *Client) denied(e *Error) {
	switch {
	case e.Status == http.StatusUnauthorized && c.token == "":
		e.Message = fmt.Sprintf("the %s wants a token: set %s, or name a file that has it with --token-file",
			c.service.Noun, c.service.Token)
	case e.Status == http.StatusUnauthorized:
		e.Message = fmt.Sprintf("the %s does not accept the token from %s", c.service.Noun, c.from)
	case e.Status == http.StatusForbidden && e.Code == "forbidden":
		e.Message = fmt.Sprintf("the token from %s is not enough: %s", c.from, e.Message)
	}
}

// envelope is an answer as most routes give it.
type envelope struct {
	Success bool            `json:"success"`
	Data    json.RawMessage `json:"data"`
	Error   *Error          `json:"error"`
}

func (c *Client) open(status int, body []byte) (answer envelope, err error) {
	if !c.service.Bare {
		err = json.Unmarshal(body, &answer)
		return answer, err
	}
	if status < http.StatusBadRequest {
		if !json.Valid(body) {
			err = errors.New("no JSON")
		}
		return envelope{Success: true, Data: body}, err
	}
	var problem struct {
		Detail json.RawMessage `json:"detail"`
		Code   string          `json:"code"`
	}
	if err := json.Unmarshal(body, &problem); err != nil || problem.Detail == nil {
		return answer, err
	}
	answer.Error = &Error{Code: cmp.Or(problem.Code, strconv.Itoa(status))}
	var wrong []struct { // a parameter each
		Loc []string `json:"loc"`
		Msg string   `json:"msg"`
	}
	switch {
	case json.Unmarshal(problem.Detail, &answer.Error.Message) == nil:
	case json.Unmarshal(problem.Detail, &wrong) == nil && len(wrong) > 0:
		answer.Error.Message = wrong[0].Msg
		if n := len(wrong[0].Loc); n > 0 {
			answer.Error.Field = wrong[0].Loc[n-1]
		}
	default:
		answer.Error = nil
	}
	return answer, nil
}

// unreached is the error of a request that got no answer, in the words of the engine's own fetches where they have
// some.
type unreached struct{ err error }

func (u *unreached) Error() string {
	what := u.err
	var name *net.DNSError
	switch {
	case errors.Is(u.err, syscall.ECONNREFUSED):
		what = fetch.ErrConnRefused
	case errors.As(u.err, &name) && name.IsNotFound:
		what = fetch.ErrNotResolved
	}
	return "could not be reached: " + what.Error()
}

func (u *unreached) Unwrap() error { return u.err }

// permanent reports whether no repetition mends a failure.
func permanent(err error) bool {
	var certificate *tls.CertificateVerificationError
	var name *net.DNSError
	return errors.As(err, &certificate) || errors.As(err, &name) && name.IsNotFound
}

// watchedBody is a body whose sending may take as long as it moves.
type watchedBody struct {
	io.Reader
	late     *time.Timer
	patience time.Duration
}

func (w *watchedBody) Read(p []byte) (int, error) {
	w.late.Reset(w.patience)
	return w.Reader.Read(p)
}

func (w *watchedBody) Close() error { return nil }
