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

// Assets are the static files that were deployed with this version of the program, by the name of their binding.
type Assets string

const (
	assetTimeout = 10 * time.Second
	maxAsset     = 16 << 20
)

// Read returns the file at a path, which begins with a slash. Its errors have the kind contract.Storage, unless ctx ended.
func (a Assets) Read(ctx context.Context, path string) ([]byte, error) {
	const op = "bindings.Assets"
	// The binding looks at the path of a URL alone.
	answer, err := worker.Fetch(ctx, &worker.Request{Method: http.MethodGet, URL: "https://assets.invalid" + path, Timeout: assetTimeout, Service: string(a)})
	if err != nil {
		return nil, contract.Wrap(contract.Storage, op, err)
	}
	defer answer.Body.Close()
	if answer.Status != http.StatusOK {
		return nil, &contract.Error{Kind: contract.Storage, Op: op, Message: fmt.Sprintf("the static file %s answers %d; was it deployed?", path, answer.Status)}
	}
	file, err := io.ReadAll(io.LimitReader(answer.Body, maxAsset))
	return file, contract.Wrap(contract.Storage, op, err)
}
