// Package store keeps the tables of a shard, packed so that an operation writes few rows: rows written are the price,
// and an entry of an index is one more. There are no indexes, and what belongs together is one row:
//
//	hosts    id → the host: delays, lease, its next pages (buffer), recently known URLs, entry points
//	domains  id → the registrable domain: collector, its hosts, leased and parked ones, contracts
//	parts    host<<12 | n → chunks of the host's known URLs (n < 1024), then its segments of up to 512 pages or 32 KB
//	queue    lane<<47 | second<<14 | n → a block of up to 256 pointers to hosts
//	leases   number of a lease → its end and hosts; −1−domain → when its parked hosts are checked
//	due      second<<14 | n → hosts whose entry points are to be checked then
//	mirrors  first bits of a digest → which domain showed it first
//	feed     new pages in the order in which they were found, but for the last block; changes: contracts that changed
//	state    counters and schema version, classes (country and category), excluded URL patterns and others; pointers
//	         of queue and due that are in no block yet (pending.go)
//
// Ids are 40 bits of a hash of the name; a name whose id is taken gets the next one that is free. Rows of hosts and
// domains are never deleted, or names behind them would not be found.
//
// A pointer in the queue counts only if it agrees with its host's place. A host that moves leaves the old pointer
// behind, which is dropped when its turn comes: that costs no write.
//
// A record that does not decode goes to the table quarantine, see quarantine.go. Versions only append to records and
// tables; what a later version appended is kept, so that two versions can share a shard while a deploy is under way.
package store
