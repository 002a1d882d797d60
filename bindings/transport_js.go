//go:build js && wasm

package bindings

import (
	"context"
	"errors"
	"io"
	"time"

	"github.com/newsfork/seed-engine/contract"
	"github.com/newsfork/seed-engine/fetch"
	"github.com/newsfork/seed-engine/worker"
)

// Clock is the platform's clock. It advances only across I/O, in steps of a millisecond.
type Clock struct{}

var _ fetch.Clock = Clock{}

// Now implements fetch.Clock.
func (Clock) Now() time.Time { return time.Now() }

// Sleep implements fetch.Clock. It rounds d up to milliseconds, the unit of the platform's timers.
func (Clock) Sleep(ctx context.Context, d time.Duration) error {
	return worker.Sleep(ctx, (d + time.Millisecond - 1).Truncate(time.Millisecond))
}

// Transport fetches through the service binding named Service. If Service is empty, it uses the
// binding EGRESS or, if that is not bound, the global fetch.
type Transport struct{ Service string }

var _ fetch.Transport = Transport{}

// Do implements fetch.Transport.
func (t Transport) Do(ctx context.Context, r *fetch.Request) (*fetch.Response, error) {
	// Responses must come from the origin, and fetch.Guard checks every hop: so Fetch uses no cache
	// and follows no redirects.
	answer, err := worker.Fetch(ctx, &worker.Request{
		Method:  r.Method,
		URL:     r.URL,
		Header:  r.Header,
		Body:    r.Body,
		Timeout: r.Timeout,
		Service: t.Service,
	})
	if err != nil {
		return nil, transportError(err)
	}
	resp := &fetch.Response{Status: answer.Status, Header: answer.Header, Body: transportBody{answer.Body}}
	if err := fetch.EdgeFailure(resp.Status, resp.Header); err != nil {
		resp.Body.Close()
		return nil, err
	}
	return resp, nil
}

// transportBody converts read errors to contract.Errors.
type transportBody struct{ io.ReadCloser }

func (b transportBody) Read(p []byte) (int, error) {
	n, err := b.ReadCloser.Read(p)
	if err != nil && err != io.EOF {
		err = transportError(err)
	}
	return n, err
}

func transportError(err error) *contract.Error {
	var e *worker.JSError
	if errors.As(err, &e) {
		return fetch.ScriptFailure(e.Name, e.Message, err)
	}
	return fetch.Failure(nil, err)
}
