//go:build !race

package frontier_test

const slowness = 1
