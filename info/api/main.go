//go:build js && wasm

// Command api is the Worker for readers of the Info service. It only reads: without the collector it still answers
// from store and cache.
package main

import (
	"time"

	"github.com/newsfork/seed-engine/bindings"
	"github.com/newsfork/seed-engine/contract"
	"github.com/newsfork/seed-engine/info/service"
	"github.com/newsfork/seed-engine/worker"
)

func main() {
	database := bindings.NewDatabase("INFO_DB")
	database.Timeout = service.ReaderTimeout
	worker.Run(service.NewAPI(service.Platform{
		Bound:      bindings.Bound,
		D1:         database,
		KV:         bindings.NewNamespace("INFO_CACHE"),
		Hyperdrive: func() string { return bindings.Hyperdrive("HYPERDRIVE") },
		Dial:       bindings.Dial,
		Variable:   bindings.Variable,
		After:      worker.After,
		Shared:     func(name string) service.Cell { return bindings.Cell(name) },
		Log:        contract.NewLogger(worker.Console{}),
		Now:        time.Now,
	}), nil, nil)
}
