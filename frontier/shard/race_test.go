//go:build race

package shard_test

import "testing"

// slowness divides the sizes of the long tests: the race detector makes them many times slower, and
// a shard has no goroutines.
const slowness = 8

// needsNoRace skips a long test of one goroutine, in which the race detector finds nothing.
func needsNoRace(t *testing.T) {
	t.Helper()
	t.Skip("long, of one goroutine")
}
