//go:build race

package shard_test

// slowness divides the sizes of the long tests: the race detector makes them many times slower, and
// a shard has no goroutines.
const slowness = 8
