//go:build js && wasm

package fetch

import (
	"context"
	"errors"
	"io"
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

func (edge) Do(ctx context.Context, r *Request) (*Response, error) {
	// What an origin says must come from the origin, and the Guard stands before every hop: Fetch uses
	// no cache and follows no redirects.
	answer, err := worker.Fetch(ctx, &worker.Request{Method: r.Method, URL: r.URL, Header: r.Header, Timeout: r.Timeout})
	if err != nil {
		return nil, platformError(err)
	}
	resp := &Response{Status: answer.Status, Header: answer.Header, Body: edgeBody{answer.Body}}
	if err := edgeFailure(resp.Status, resp.Header); err != nil {
		resp.Body.Close()
		return nil, err
	}
	return resp, nil
}

// edgeBody gives the faults of a body their kinds.
type edgeBody struct{ io.ReadCloser }

func (b edgeBody) Read(p []byte) (int, error) {
	n, err := b.ReadCloser.Read(p)
	if err != nil && err != io.EOF {
		err = platformError(err)
	}
	return n, err
}

func platformError(err error) *contract.Error {
	var e *worker.JSError
	if errors.As(err, &e) {
		return described(e.Name, e.Message, err)
	}
	return Failure(nil, err)
}
