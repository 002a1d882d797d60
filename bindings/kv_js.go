//go:build js && wasm

package bindings

import (
	"context"
	"strconv"
	"time"

	"github.com/newsfork/seed-engine/worker"
)

// Namespace is a KV namespace behind a binding of the Worker: a cache.Namespace of the Info service, which
// the Seed Engine's Worker has no part of.
type Namespace struct{ name string }

// NewNamespace gives the KV namespace bound under name.
func NewNamespace(name string) Namespace { return Namespace{name} }

// Get returns the value of a key, nil when there is none.
func (n Namespace) Get(_ context.Context, key string) ([]byte, error) {
	value, _, err := worker.AskBytes("kvGet", nil, n.name, key)
	return value, err
}

// Put writes a value that is gone after ttl.
func (n Namespace) Put(_ context.Context, key string, value []byte, ttl time.Duration) error {
	_, _, err := worker.Ask("kvPut", value, n.name, key, strconv.Itoa(int(ttl.Seconds())))
	return err
}
