//go:build !race

package shard_test

const slowness = 1
