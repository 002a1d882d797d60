//go:build js && wasm

package bindings

import (
	"context"
	"strconv"

	"github.com/newsfork/seed-engine/contract"
	"github.com/newsfork/seed-engine/frontier"
	"github.com/newsfork/seed-engine/worker"
)

// Frontier is a frontier.Caller behind a binding of the Worker's class Frontier, of which each shard is
// an object.
type Frontier struct{ binding string }

var _ frontier.Caller = Frontier{}

// NewFrontier gives the objects bound under a name. The binding is looked up at every call, since each
// event brings its own.
func NewFrontier(binding string) Frontier { return Frontier{binding} }

// Call implements frontier.Caller. Errors are of the kinds Storage and Timeout. A call that has begun
// goes on when ctx ends.
func (f Frontier) Call(ctx context.Context, shard, operation string, request []byte) ([]byte, error) {
	const op = "frontier.Call"
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	answer, _, err := worker.Ask("objectCall", request, f.binding, shard, operation, strconv.FormatInt(frontier.CallTimeout.Milliseconds(), 10))
	if worker.ErrorName(err) == "TimeoutError" {
		return nil, contract.Wrap(contract.Timeout, op, err)
	}
	return []byte(answer), contract.Wrap(contract.Storage, op, err)
}

// ShardDatabase is the SQLite of the Durable Object whose call the program is working on.
type ShardDatabase struct{}

var _ frontier.DB = ShardDatabase{}

// Run implements frontier.DB. Statements that fail are errors of the kind Storage.
func (ShardDatabase) Run(sql string, args ...any) (*frontier.Rows, error) {
	const op = "frontier.DB"
	encoded, err := frontier.AppendArgs(nil, args...)
	if err != nil {
		return nil, err
	}
	answer, err := worker.SQL(sql, encoded)
	if err != nil {
		return nil, contract.Wrap(contract.Storage, op, err)
	}
	return frontier.NewRows(answer)
}
