//go:build js && wasm

package bindings

import (
	"context"
	"strconv"

	"github.com/newsfork/seed-engine/contract"
	"github.com/newsfork/seed-engine/frontier/client"
	"github.com/newsfork/seed-engine/frontier/shard/store"
	"github.com/newsfork/seed-engine/worker"
)

// Frontier is a client.Caller bound to the Durable Object class Frontier. Each shard is an object.
type Frontier struct{ binding string }

var _ client.Caller = Frontier{}

// NewFrontier returns the shards bound under a name. Every call looks the binding up, because bindings
// belong to an event.
func NewFrontier(binding string) Frontier { return Frontier{binding} }

// Call implements client.Caller. Its errors have the kind Storage or Timeout. The end of ctx does
// not stop a call under way.
func (f Frontier) Call(ctx context.Context, shard, operation string, request []byte) ([]byte, error) {
	const op = "frontier.Call"
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	timeout := strconv.FormatInt(client.CallTimeout.Milliseconds(), 10)
	answer, _, err := worker.Ask("objectCall", request, f.binding, shard, operation, timeout)
	if worker.ErrorName(err) == "TimeoutError" {
		return nil, contract.Wrap(contract.Timeout, op, err)
	}
	return []byte(answer), contract.Wrap(contract.Storage, op, err)
}

// ShardDatabase is the SQLite database of the Durable Object being called.
type ShardDatabase struct{}

var _ store.DB = ShardDatabase{}

// Run implements store.DB. Errors of statements have the kind Storage.
func (ShardDatabase) Run(sql string, args ...any) (*store.Rows, error) {
	const op = "frontier.DB"
	encoded, err := store.AppendArgs(nil, args...)
	if err != nil {
		return nil, err
	}
	answer, err := worker.SQL(sql, encoded)
	if err != nil {
		return nil, contract.Wrap(contract.Storage, op, err)
	}
	return store.NewRows(answer)
}

// Size implements store.DB.
func (ShardDatabase) Size() (int64, error) { return worker.DatabaseSize(), nil }
