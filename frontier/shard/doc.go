// Package shard has the rules of one shard of the frontier: which URL is fetched next, and who may ask a host. It
// runs natively (package sqlite) as in a Durable Object.
//
// Each method of Shard is one operation, in a file of its own name. It opens a transaction of package store, loads
// the rows it needs with few statements, changes them in memory, and writes each changed row once. The caller rolls
// back when there is an error. Serve runs the operations that a frontier.Remote asks for.
//
// # Where to change what
//
//   - delays, slowing down, attempts: politeness.go, expiry.go; who may ask a host: access.go, acquire.go
//   - the order in which hosts are chosen: lease.go, select.go; where they are queued: placement.go
//   - what is refused: put.go, trap.go, best.go; mirrors: mirror.go
//   - entry points, their intervals and refreshes: schedule.go, tick.go, refresh.go
//   - what is followed from outside: feed.go, changes.go; operators: operate.go, inspect.go; rebuilding: snapshot.go
//
// The rules that must hold between any two operations are in store.Audit; model_test.go compares random operations
// with a simple model, chaos_test.go does all of them with a clock that jumps, crash_test.go fails each operation at
// each of its statements, rows_test.go keeps what is written below its ceilings, and simulation_test.go is a whole
// crawl. Package frontiertest is the part that also runs in a Durable Object.
package shard
