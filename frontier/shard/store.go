package shard

import (
	"github.com/newsfork/seed-engine/epoch"
	"github.com/newsfork/seed-engine/frontier"
	"github.com/newsfork/seed-engine/frontier/shard/store"
)

// Store is one transaction on the tables of a shard. Hosts and domains that it returns can be changed, and load their
// own pages, queues and contracts. Changes are written when the operation ends.
type Store interface {
	// State returns the counters, classes and excluded patterns of the shard.
	State() *store.State

	// Hosts and HostsNamed return hosts with their domains, in the same order; nil for one that does not exist.
	Hosts(ids []int64) ([]*store.Host, error)
	HostsNamed(names []string) ([]*store.Host, error)
	ListHosts(q store.HostQuery) ([]*store.Host, []store.HostPosition, error)

	// DomainsNamed returns nil for a domain that does not exist; MakeDomain makes it.
	DomainsNamed(names []string) ([]*store.Domain, error)
	MakeDomain(name string) (*store.Domain, error)
	LoadedDomains() []*store.Domain

	// LoadKnown makes Host.Known ready for URLs, and CountPages makes Domain.Pages ready.
	LoadKnown(urls []store.URLKey) error
	CountPages(domains []*store.Domain) error

	// ReadQueue returns a reader of the hosts that are due in some lanes. NextSlot returns the second of a lane's
	// first host that is not due yet. LaneStats returns the number of due hosts, and the second of the first one that
	// is ready.
	ReadQueue(lanes []int, hosts int, wants string, f *store.Filter) (*store.QueueReader, error)
	NextSlot(lane int) (epoch.Seconds, error)
	LaneStats(lane int, until epoch.Seconds, ready func(*store.Host) bool) (due int64, oldest epoch.Seconds, err error)

	// DueHosts returns hosts whose entry points have to be checked until a second. CountDue returns the number of
	// those to be checked now, and the second of the first one.
	DueHosts(until epoch.Seconds, limit int64) (blocks []store.DueBlock, more bool, err error)
	CountDue() (n int64, first epoch.Seconds, err error)

	// PutLease stores the hosts of a lease, and LeaseHosts returns them. TakeEnded removes expired leases. EndLease
	// removes a lease if all its hosts are finished; otherwise it stays until it expires.
	PutLease(number int64, ends epoch.Millis, hosts []int64)
	TakeEnded(limit int64) (store.EndedLeases, error)
	EndLease(number int64, finished map[int64]bool) error
	LeaseHosts(number int64) ([]*store.Host, error)

	// The feed of new pages, and the log of contracts that changed.
	AppendFeed(i *store.FeedItem)
	ReadFeed(after int64, take func(number int64, i *store.FeedItem) bool) (store.LogPage, error)
	ReadChanges(after int64, limit int) ([]store.ChangedContract, store.LogPage, error)
	PruneLogs(kept epoch.Millis) (more bool, err error)

	// Mirrors and SaveMirrors read and write a bucket of digests: for each, the domain that showed it first.
	Mirrors(digest string) ([]store.Mirror, error)
	SaveMirrors(digest string, list []store.Mirror) error

	// Export returns a page of a snapshot. Quarantined lists damaged rows; QuarantinedRow returns one.
	Export(from int64) (frontier.Snapshot, error)
	Quarantined(after, limit int64) ([]store.QuarantinedRow, error)
	QuarantinedRow(id int64) (*store.QuarantinedRow, error)
}
