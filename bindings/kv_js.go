//go:build js && wasm

package bindings

import (
	"context"
	"strconv"
	"time"

	"github.com/newsfork/seed-engine/worker"
)

// Namespace is a KV namespace bound to a Worker of the Info service. It is a cache.Namespace.
type Namespace struct{ name string }

// NewNamespace returns the KV namespace bound under name.
func NewNamespace(name string) Namespace { return Namespace{name} }

// Get returns the value of a key, or nil if the key does not exist.
func (n Namespace) Get(_ context.Context, key string) ([]byte, error) {
	value, _, err := worker.AskBytes("kvGet", nil, n.name, key)
	return value, err
}

// Put stores a value that expires after ttl.
func (n Namespace) Put(_ context.Context, key string, value []byte, ttl time.Duration) error {
	_, _, err := worker.Ask("kvPut", value, n.name, key, strconv.Itoa(int(ttl.Seconds())))
	return err
}
