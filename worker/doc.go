// Package worker is the edge runtime of the Seed Engine: the entry module (entry.mjs), the pool of
// Go instances (pool.mjs) and the Go half of the bridge between them. One instance serves many
// events, one at a time; pool.mjs describes the rules that make this safe.
package worker
