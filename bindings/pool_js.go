//go:build js && wasm

package bindings

import (
	"encoding/json"

	"github.com/newsfork/seed-engine/handlers"
	"github.com/newsfork/seed-engine/worker"
)

// Pool returns the counters and the state of this isolate's instance pool.
func Pool() (s handlers.PoolStats, err error) {
	stats, err := worker.PoolStats()
	if err != nil {
		return s, err
	}
	b, err := json.Marshal(stats)
	if err == nil {
		err = json.Unmarshal(b, &s)
	}
	return s, err
}
