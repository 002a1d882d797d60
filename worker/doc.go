// Package worker is the edge runtime of the Seed Engine: the entry module and the pool of Go
// instances (entry.mjs, pool.mjs), and the Go half of the bridge between the two. One instance
// serves many events, one at a time; see pool.mjs for the rules that make this safe.
package worker
