//go:build !race

package shard_test

import "testing"

const slowness = 1

func needsNoRace(*testing.T) {}
