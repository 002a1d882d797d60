// Package frontier is the one authority on which URL is fetched next and who may ask a host: scrapers,
// collectors and refreshes alike. It is the program of one shard, some registrable domains in an
// SQLite database of their own, and runs natively (package sqlite) as in a Durable Object.
//
// # How a URL travels
//
// Put refuses traps and what it has had, and of a domain keeps the best pages. It gives each page a score
// and thereby one of four bands, and stores it in the back queue of its host. A host with pages stands in
// the front queue of the band of its best page, at the second from which it may be asked. Lease takes hosts from the front queues by turns (8, 4, 2 and 1 of 15, so
// that higher bands are chosen more often and none starves), those ready longest first, and of each
// host the page whose band's turn it is there. Report ends the lease, sets the time from which the
// host may be asked again, and puts the host back into a queue. A lease without a report ends by
// itself: every later Lease or Acquire takes back what is over.
//
// Entry points (feeds, sitemaps, listing pages) are asked again and again, at an interval that
// follows how often they change. The shard has them refreshed itself (due.go), or scrapers are given them
// from a queue of their own.
//
// # Who may ask a host
//
//   - A host is leased to one at a time, and not before its ready time: the end of the last request
//     plus its interval (see politeness.go), a Retry-After, an operator's block, or the hour for which
//     a name that does not resolve is left alone.
//   - A collector acquires a registrable domain with all its hosts. While it has the domain, or waits
//     for it, scrapers get none of them.
//   - A refresh claims one host, as a lease does.
//   - Of one registrable domain at most Settings.HostsPerDomain hosts are leased or claimed at once: one
//     server often stands behind all of them. A domain with more hosts lists those (domain.active, claims).
//   - A collector or a refresh that never comes back may have asked a host until its time was over, so the
//     host's interval counts from then (domain.readyFor).
//   - A host whose turn comes while its domain lets nobody in is parked at the domain, out of the
//     queues, so that it costs nothing until the domain opens.
//   - What operators excluded is neither taken in nor given out. Of a domain that is a mirror of another
//     only the entry points are.
//
// # Tables
//
// Rows written are the price, and an entry of an index is one more. So there are no indexes, and what
// belongs together is packed into one row:
//
//	hosts    id → the host: delays, lease, its next pages (buffer), 64 recent hashes, entry points
//	domains  id → the registrable domain: collector, its hosts, leased and parked ones
//	parts    host<<12 | n → chunks of the host's seen-set (n < 1024), then its segments of up to 512 pages
//	queue    lane<<47 | second<<14 | n → a block of up to 256 pointers to hosts
//	leases   number of a lease → its end and hosts; −1−domain → when its parked hosts are looked at
//	due      second<<14 | n → hosts whose entry points are to be looked at then
//	mirrors  first bits of a digest → which domain showed it first
//	feed     new pages in the order in which they were found; changes: contracts that changed
//	state    counters and schema version, classes (country and category), excluded URL patterns and others: see schema.go
//
// Ids are 40 bits of a hash of the name; a name whose id is taken gets the next one that is free (find).
// Rows of hosts and domains are never deleted, or names behind them would not be found.
//
// A pointer in the queue counts only if it agrees with its host's place. A host that moves leaves the
// old one behind, which is dropped when its turn comes: that costs no write.
//
// # Operations
//
// A Worker asks a shard by a Remote, whose calls Shard.Serve answers (serve.go). Remotes are all shards:
// what is asked of one domain goes to its own, a lease to as many as it takes (remotes.go and others).
//
// Each method of Shard is one call (call.go): it opens the state, loads the rows it needs with few
// statements, changes them in memory, and writes each changed row once, one statement a table. The
// caller makes it one transaction and rolls back when there is an error. A record that does not
// decode is an error, never a panic. Versions only append to records; what a later version appended
// is kept, so that two of them can work on one shard while a deploy is under way.
//
// # Where to change what
//
//   - what a score means, and the turns of the bands: score.go
//   - delays, slowing down, attempts: politeness.go, expiry.go; intervals of entry points: entry.go
//   - the order in which hosts are chosen: selector.go, lease.go; where they are queued: queue.go; which of a
//     host's pages is given: pick.go
//   - what is refused: put.go, trap.go, best.go; mirrors: mirror.go
//   - collectors: collect.go; operators: operate.go, look.go; rebuilding: snapshot.go
//   - refreshes: tick.go, due.go, refresh.go; what is followed from outside: feed.go, changes.go
//   - a field of a record: host.go, domain.go, schema.go, with codec_test.go
//
// The rules that must hold between any two operations are in audit_test.go; model_test.go compares
// random operations with a simple model, chaos_test.go does all of them with a clock that jumps,
// crash_test.go fails each operation at each of its statements, rows_test.go keeps what is written below
// its ceilings, and simulation_test.go is a whole crawl.
// Package frontiertest is the part of it that also runs in a Durable Object.
package frontier
