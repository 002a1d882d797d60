// Package shard has the rules of one shard of the frontier: which URL is fetched next, and who may ask a host. It
// runs natively (package sqlite) as in a Durable Object.
//
// Each method of Shard is one operation, in a file of its own name. It opens a transaction of package store, which it
// knows as a Store, asks for hosts and domains with few statements, and changes them; each changed row is written
// once, at the end. The caller rolls back when there is an error. Serve runs the operations that a client.Shard
// asks for.
//
// # How a URL travels
//
// Put refuses traps and what it has had, and of a domain keeps the best pages. It gives each page a score
// and thereby one of four bands, and stores it in the back queue of its host. A host with pages stands in
// the front queue of the band of its best page, at the second from which it may be fetched from. Lease takes hosts
// from the front queues by turns (8, 4, 2 and 1 of 15, so that higher bands are chosen more often and none starves),
// those ready longest first, and of each host the page whose band's turn it is there. Report ends the lease, sets the
// time from which the host may be fetched from again, and puts the host back into a queue. A lease without a report
// ends by itself: every later Lease or Acquire takes back what is over.
//
// Entry points (feeds, sitemaps, listing pages) are asked again and again, at an interval that
// follows how often they change. The shard has them refreshed itself (schedule.go), or scrapers are given them
// from a queue of their own.
//
// # Who may ask a host
//
//   - A host is leased to one at a time, and not before its ready time: the end of the last request
//     plus its interval (politeness.go), a Retry-After, an operator's block, or the hour for which
//     a name that does not resolve is left alone.
//   - A collector acquires a registrable domain with all its hosts. While it has the domain, or waits
//     for it, scrapers get none of them.
//   - A refresh claims one host, as a lease does.
//   - At most Settings.HostsPerDomain hosts of a registrable domain are leased or claimed at once: one
//     server often stands behind all of them. A domain with more hosts lists those (store.Domain.Active, Claims).
//   - A collector or a refresh that never comes back may have asked a host until its time was over, so the
//     host's interval counts from then (store.Domain.ReadyFor).
//   - A host whose turn comes while its domain lets nobody in is parked at the domain, out of the
//     queues, so that it costs nothing until the domain opens.
//   - What operators excluded is neither taken in nor given out. If a domain mirrors another,
//     only its entry points are.
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
