//go:build js && wasm

// Command pooled serves the benchmark's handler through this repository's runtime.
package main

import (
	"github.com/newsfork/seed-engine/bench/runtime/health"
	"github.com/newsfork/seed-engine/worker"
)

func main() { worker.Run(health.Handler(), nil, nil) }
