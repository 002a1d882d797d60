//go:build js && wasm

package handlers

import (
	"context"
	"net/http"

	"github.com/newsfork/seed-engine/r2"
	"github.com/newsfork/seed-engine/worker"
)

// Binding is the Bucket of a Worker: an upload's body goes from the request to R2 as a stream,
// without passing through Go.
type Binding struct{ r2.Binding }

// Store implements Bucket.
func (b Binding) Store(ctx context.Context, key string, r *http.Request) (*r2.Object, error) {
	return b.PutStream(ctx, key, worker.RawBody(r), &r2.PutOptions{
		If:          r2.Condition{Absent: true},
		ContentType: "application/json",
	})
}
