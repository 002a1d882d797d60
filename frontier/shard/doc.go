// Package shard has the rules of one shard of the frontier: which URL is fetched next, and who may fetch from a host.
// It runs natively (package sqlite) as in a Durable Object.
//
// Each method of Shard is one operation. It opens a transaction of package store (interface Store), loads hosts and
// domains with few statements, and changes them. Each changed row is written once, at the end. The caller rolls back
// on an error. Serve runs the operations that a client.Shard requests.
//
// # How a URL travels
//
// Put refuses traps and duplicates, and keeps only a domain's best pages. Each page gets a score, which puts it into
// one of four bands, and is stored in the back queue of its host. A host with pages is in the front queue of its best
// page's band, at the second at which it becomes ready. Lease takes hosts from the front queues by turns: 8, 4, 2 and
// 1 of 15, so that higher bands are chosen more often and none starves. Hosts that have been ready longest come first,
// and the same turns choose among the bands of a host's pages. The lease's row keeps them meanwhile, as
// they are then (store/journal.go). Report ends the lease, sets the host's next ready time, and puts the host back into
// a queue. Later operations (sweep) take back leases that expired without a report.
//
// Entry points (feeds, sitemaps, listing pages) are fetched again and again, at an interval that follows how often
// they change. The engine refreshes them (schedule.go, refresh.go), or else scrapers lease them from a queue of their
// own.
//
// # Who may fetch from a host
//
//   - A host has one lease at a time, and none before its ready time: the end of the last request plus its interval
//     (politeness.go), a Retry-After, an operator's block, or an hour after its name did not resolve.
//   - A collector acquires a registrable domain with all its hosts. While it has the domain, or waits for it, none of
//     them is leased.
//   - A refresh claims one host, as a lease does. Refreshes that begin together list their claims in one row
//     (store.ListClaim).
//   - At most Settings.HostsPerDomain hosts of a registrable domain are leased or claimed at once: one server often
//     stands behind all of them. A domain with more hosts than that lists the leased and the claimed ones
//     (store.Domain.Active, Claims).
//   - A collector or a refresh that vanishes might have sent requests until its time was over, so the host's interval
//     counts from then (store.Domain.ReadyFor).
//   - A host whose turn comes while its domain is closed is parked at the domain, out of the queues, and costs nothing
//     until the domain opens.
//   - What operators excluded is neither queued nor leased. A domain that mirrors another keeps only its entry points.
//
// # Where to change what
//
//   - delays, slowing down, attempts: politeness.go, expiry.go; who may fetch from a host: access.go, acquire.go
//   - the order in which hosts are chosen: lease.go, select.go; where they are queued: host_queues.go; a lease of one
//     domain or host: lease_hosts.go
//   - what is refused: put.go, trap.go, sections.go, patterns.go, robots.go, best.go; mirrors: mirror.go
//   - what a report changes: report.go, correct.go, visit.go; ids of leases: seal.go; their renewal: renew.go
//   - stored pages that wait for room: backlog.go; another list of public suffixes: suffixes.go
//   - entry points, their intervals and refreshes: schedule.go, tick.go, refresh.go
//   - logs for readers: feed.go, changes.go; operators: operate.go, inspect.go, url.go; rebuilding: snapshot.go
//
// store.Audit checks the rules that hold between any two operations. model_test.go compares random operations with a
// simple model, chaos_test.go runs all of them with a clock that jumps, crash_test.go fails each operation at each of
// its statements, rows_test.go limits the rows that each writes, and simulation_test.go is a whole crawl. The tests of
// package frontiertest also run in a Durable Object.
package shard
