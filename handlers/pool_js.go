//go:build js && wasm

package handlers

import (
	"encoding/json"

	"github.com/newsfork/seed-engine/worker"
)

// Pool tells what the instance pool of this isolate did and holds.
func Pool() (s PoolStats, err error) {
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
