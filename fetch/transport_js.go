//go:build js && wasm

package fetch

import (
	"context"
	"errors"
	"io"
	"net/http"
	"strings"
	"syscall/js"
	"time"

	"github.com/newsfork/seed-engine/contract"
	"github.com/newsfork/seed-engine/worker"
)

// NewTransport returns the Transport of the Workers platform: the fetch of the service binding
// EGRESS where the current event has one, else the global fetch.
func NewTransport() Transport { return edge{} }

// SystemClock returns the platform's clock, which moves only across I/O, in steps of a millisecond.
func SystemClock() Clock { return edgeClock{} }

type edgeClock struct{}

func (edgeClock) Now() time.Time { return time.Now() }

// Sleep rounds up to the grain of the platform's timers.
func (edgeClock) Sleep(ctx context.Context, d time.Duration) error {
	return worker.Sleep(ctx, (d + time.Millisecond - 1).Truncate(time.Millisecond))
}

type edge struct{}

var (
	jsArray     = js.Global().Get("Array")
	globalFetch = js.Global().Get("fetch")
)

func (edge) Do(ctx context.Context, r *Request) (*Response, error) {
	headers := make(map[string]any, len(r.Header))
	for name, values := range r.Header {
		headers[name] = values[0]
	}
	signal, stop := worker.Signal(ctx, r.Timeout)
	options := map[string]any{
		"method":   r.Method,
		"headers":  headers,
		"redirect": "manual",   // the Guard stands before every hop
		"cache":    "no-store", // what an origin says must come from the origin
		"signal":   signal,
	}
	promise, err := worker.Try(func() js.Value {
		if egress := worker.Env("EGRESS"); !egress.IsUndefined() {
			return egress.Call("fetch", r.URL, options)
		}
		return globalFetch.Invoke(r.URL, options)
	})
	var answer js.Value
	if err == nil {
		answer, err = worker.Await(promise)
	}
	if err != nil {
		stop()
		return nil, platformError(err)
	}
	resp := &Response{
		Status: answer.Get("status").Int(),
		Header: header(answer),
		Body:   &edgeBody{worker.BodyReader(answer.Get("body")), stop},
	}
	if err := edgeFailure(resp.Status, resp.Header); err != nil {
		resp.Body.Close()
		return nil, err
	}
	return resp, nil
}

// header crosses all fields in one string: joined, they are lines of name, comma and value.
func header(response js.Value) http.Header {
	lines := jsArray.Call("from", response.Get("headers")).Call("join", "\n").String()
	h := http.Header{}
	for line := range strings.Lines(lines) {
		name, value, _ := strings.Cut(strings.TrimSuffix(line, "\n"), ",")
		if name != "" && name != "set-cookie" {
			h.Add(name, value)
		}
	}
	return h
}

// edgeBody is a body under the signal of its request.
type edgeBody struct {
	io.ReadCloser
	stop func()
}

func (b *edgeBody) Read(p []byte) (int, error) {
	n, err := b.ReadCloser.Read(p)
	if err != nil && err != io.EOF {
		err = platformError(err)
	}
	return n, err
}

func (b *edgeBody) Close() error {
	defer b.stop()
	return b.ReadCloser.Close()
}

func platformError(err error) *contract.Error {
	var e *worker.JSError
	if errors.As(err, &e) {
		return described(e.Name, e.Message, err)
	}
	return Failure(nil, err)
}
