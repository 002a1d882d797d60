//go:build js && wasm

// Command stock serves the benchmark's handler through the entry of github.com/syumai/workers,
// which starts the program again for every request. It imports what the runtime imports of the
// library, so that both programs are about the same size.
package main

import (
	"github.com/syumai/workers"
	_ "github.com/syumai/workers/cloudflare/cron"
	_ "github.com/syumai/workers/cloudflare/queues"

	"github.com/newsfork/seed-engine/bench/runtime/health"
)

func main() { workers.Serve(health.Handler()) }
