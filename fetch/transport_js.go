//go:build js && wasm

package fetch

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"net/http"
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
	jsJSON      = js.Global().Get("JSON")
	jsArray     = js.Global().Get("Array")
	globalFetch = js.Global().Get("fetch")
)

// requestInit is the RequestInit of fetch, but for its signal.
type requestInit struct {
	Method   string            `json:"method"`
	Headers  map[string]string `json:"headers"`
	Redirect string            `json:"redirect"` // manual: the Guard stands before every hop
	Cache    string            `json:"cache"`    // no-store: what an origin says must come from the origin
}

func (edge) Do(ctx context.Context, r *Request) (*Response, error) {
	init := requestInit{Method: r.Method, Headers: make(map[string]string, len(r.Header)), Redirect: "manual", Cache: "no-store"}
	for name, values := range r.Header {
		init.Headers[name] = values[0]
	}
	text, err := json.Marshal(init)
	if err != nil {
		return nil, contract.Wrap(contract.Internal, "fetch.Transport", err)
	}
	options := jsJSON.Call("parse", string(text))
	signal, stop := worker.Signal(ctx, r.Timeout)
	options.Set("signal", signal)
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
		Body:   &edgeBody{worker.BodyReader(answer.Get("body")), stop},
	}
	if resp.Header, err = header(answer); err == nil {
		err = edgeFailure(resp.Status, resp.Header)
	}
	if err != nil {
		resp.Body.Close()
		return nil, err
	}
	return resp, nil
}

// header crosses all fields in one string.
func header(response js.Value) (http.Header, error) {
	var fields [][2]string
	text := jsJSON.Call("stringify", jsArray.Call("from", response.Get("headers"))).String()
	if err := json.Unmarshal([]byte(text), &fields); err != nil {
		return nil, contract.Wrap(contract.Internal, "fetch.Transport", err)
	}
	h := make(http.Header, len(fields))
	for _, f := range fields {
		if f[0] != "set-cookie" {
			h.Add(f[0], f[1])
		}
	}
	return h, nil
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
