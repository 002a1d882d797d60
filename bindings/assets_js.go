//go:build js && wasm

package bindings

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"time"

	"github.com/newsfork/seed-engine/contract"
	"github.com/newsfork/seed-engine/worker"
)

// Assets is the name of the binding to the static files deployed with this version of the Worker.
type Assets string

const (
	assetTimeout = 10 * time.Second
	maxAsset     = 16 << 20
)

// Read returns the file at a path, which begins with a slash. Its errors have the kind contract.Storage, unless ctx
// ended.
func (a Assets) Read(ctx context.Context, path string) ([]byte, error) {
	const op = "bindings.Assets"
	answer, err := worker.Fetch(ctx, &worker.Request{
		Method:  http.MethodGet,
		URL:     "https://assets.invalid" + path, // the binding ignores the host
		Timeout: assetTimeout,
		Service: string(a),
	})
	if err != nil {
		return nil, contract.Wrap(contract.Storage, op, err)
	}
	defer answer.Body.Close()
	if answer.Status != http.StatusOK {
		message := fmt.Sprintf("static file %s: status %d; was it deployed?", path, answer.Status)
		return nil, &contract.Error{Kind: contract.Storage, Op: op, Message: message}
	}
	file, err := io.ReadAll(io.LimitReader(answer.Body, maxAsset))
	return file, contract.Wrap(contract.Storage, op, err)
}
