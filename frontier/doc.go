// Package frontier is the one authority on which URL is fetched next and who may ask a host: scrapers,
// collectors and refreshes alike. Registrable domains are divided among shards, each with
// an SQLite database of its own.
//
// # How a URL travels
//
// Put refuses traps and what it has had, and of a domain keeps the best pages. It gives each page a score
// and thereby one of four bands, and stores it in the back queue of its host. A host with pages stands in
// the front queue of the band of its best page, at the second from which it may be fetched from. Lease takes hosts from the front queues by turns (8, 4, 2 and 1 of 15, so
// that higher bands are chosen more often and none starves), those ready longest first, and of each
// host the page whose band's turn it is there. Report ends the lease, sets the time from which the
// host may be fetched from again, and puts the host back into a queue. A lease without a report ends by
// itself: every later Lease or Acquire takes back what is over.
//
// Entry points (feeds, sitemaps, listing pages) are asked again and again, at an interval that
// follows how often they change. The shard has them refreshed itself (shard/schedule.go), or scrapers are given them
// from a queue of their own.
//
// # Who may ask a host
//
//   - A host is leased to one at a time, and not before its ready time: the end of the last request
//     plus its interval (shard/politeness.go), a Retry-After, an operator's block, or the hour for which
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
// # Operations
//
// A Worker asks a shard by a Remote, whose calls Shard.Serve answers (shard/serve.go). Remotes are all shards:
// what is asked of one domain goes to its own, a lease to as many as it takes (remotes.go and others).
//
// The rules of a shard are in package shard, its tables in package store below it. This package has what they are
// asked (operations.go), and the client of all shards.
package frontier
