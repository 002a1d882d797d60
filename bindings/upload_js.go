//go:build js && wasm

package bindings

import (
	"context"
	"net/http"

	"github.com/newsfork/seed-engine/handlers"
	"github.com/newsfork/seed-engine/r2"
	"github.com/newsfork/seed-engine/worker"
)

var _ handlers.Bucket = Bucket{}

// Store implements handlers.Bucket. It streams the body from the request to R2, without passing it
// through Go. It may return handlers.ErrTooManyUploads.
func (b Bucket) Store(ctx context.Context, key string, r *http.Request, c r2.Condition) (*r2.Object, error) {
	stream, err := worker.RawBody(r)
	if err != nil {
		return nil, handlers.ErrTooManyUploads
	}
	return b.PutStream(ctx, key, stream, &r2.PutOptions{If: c, ContentType: "application/json"})
}

// MD5 implements handlers.Bucket. The body does not pass through Go.
func (b Bucket) MD5(ctx context.Context, r *http.Request) (string, error) {
	stream, err := worker.RawBody(r)
	if err != nil {
		return "", handlers.ErrTooManyUploads
	}
	sum, _, err := worker.Ask("streamMD5", nil, worker.Keep(stream).String())
	return sum, err
}
