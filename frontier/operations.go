package frontier

import (
	"cmp"
	"encoding/json"
	"fmt"
	"time"

	"github.com/newsfork/seed-engine/contract"
	"github.com/newsfork/seed-engine/markup"
)

// Change is what became of the contract of a domain in one partition.
type Change struct {
	Partition contract.Partition
	Revision  int
	ChangedAt int64 // ms since 1970
	Reachable bool
}

// Changed is contracts of one domain that were rewritten.
type Changed struct {
	Domain  string
	Changes []Change
}

// ChangeItem is the newest revision of a contract.
type ChangeItem struct {
	Sequence int64 // in its shard
	Domain   string
	Change
	Excluded bool // an operator excluded the domain since: the contract is no longer to be used
}

// ChangesRequest asks for the contracts that changed after a number.
type ChangesRequest struct {
	After int64
	Limit int // 1 to maxFeed
}

// ChangesPage is a page of the changes of one shard.
type ChangesPage struct {
	Items []ChangeItem
	Next  int64
	More  bool
	// Expired: changes after ChangesRequest.After are gone.
	Expired bool `json:",omitempty"`
}

// AcquireRequest asks for a registrable domain with all its hosts. Whoever has it may ask each of
// them, one request at a time, at its delay; nobody else may.
type AcquireRequest struct {
	Domain  string
	Owner   string   // names one attempt at some work; the same owner may ask again
	Seconds int64    // 1 to maxOwnership; see Renew
	Hosts   []string // about which the owner wants to know; at most maxAcquire
	Try     bool     // an owner that does without a busy domain is not waited for

	// Unless has the domain not granted where its contract in that partition is written: the answer is then Collected,
	// and nothing is. An older version grants it.
	Unless *contract.Partition `json:",omitempty"`
}

// Acquired answers an AcquireRequest.
type Acquired struct {
	Granted   bool
	Excluded  bool // an operator excluded the domain: it will not be granted
	Collected bool `json:",omitempty"` // see AcquireRequest.Unless
	// RetryIn is for how many ms somebody else has the domain, or some of its hosts. Until it has had
	// its turn the caller is counted as waiting, and no scraper is given a host of the domain.
	RetryIn int64
	// Evidence is where the last complete collection of the domain lies, granted or not.
	Evidence Evidence
	Hosts    []HostState // of the hosts that were named, in the same order
	// LastOwned is when the last owner of the domain gave it back or lost it, in ms since 1970: no collection of it
	// ended later. 0 when it had none, or the shard is of a version that does not say.
	LastOwned int64
}

// HostState is what a collector must know of a host. Times are ms since 1970, 0 when there is none.
type HostState struct {
	Host          string
	Delay         int64 // ms between two requests
	ReadyAt       int64 // not to be asked before
	BlockedUntil  int64 // by an operator
	RobotsExpires int64 // robots.txt is to be asked for from then on; 0: it never was
	Unresolved    int64 // its name did not resolve; not to be asked before
	Excluded      bool
}

// ReleaseRequest gives a domain back, with what the collector has learned of its hosts.
type ReleaseRequest struct {
	Domain string
	Owner  string
	Hosts  []Visit

	// Evidence is where the collection lies that has just become complete; zero when none has.
	Evidence Evidence
	// Changes are contracts of the domain that were rewritten, as Changed takes them, whoever has the domain now.
	Changes []Change `json:",omitempty"`
}

// Visit is what a collector learned of a host.
type Visit struct {
	Host          string
	Delay         int64 // ms that its robots.txt asks for, 0: the default. It is never shortened.
	AskedAt       int64 // ms since 1970, of the last request; 0: it was not asked. The same visit reported twice counts once.
	RetryAfter    int64 // seconds that the last answer asked to wait
	Throttled     bool  // its last answer was 429 or 503
	RobotsExpires int64 // ms since 1970; 0: robots.txt was not asked for
	Unresolved    bool  // its name does not resolve
}

// Evidence says where the last complete collection of a domain lies: collections of it for other
// partitions can use what was learned then.
type Evidence struct {
	Partition contract.Partition
	At        int64 // ms since 1970, when it was complete; 0: there is none
}

// Which host has an entry point that is due is found in the table due: blocks of ids of hosts by the
// second at which the host is to be looked at, key = second << 14 | number of the block. Every host
// with entry points has a pointer there that is not later than its first entry point, but for the
// rounding of slot. Pointers are hints: Tick looks at the host itself and gives the pointer its next
// second, many in one write, and a host that has two loses one where they meet. So a refresh moves
// no pointer, and writes only the host's row: once when it begins, once when it ends.

// MethodCollect is the entry point that stands for a whole domain: when it is due, the domain is
// collected again. Its URL is that of robots.txt, with which a collection begins.
const MethodCollect = "collect"

// EntryInfo is an entry point of a domain.
type EntryInfo struct {
	URL       string
	Type      string             // content type of most of what it lists
	Partition contract.Partition // the newest one
	EntryState
}

// EntriesOf is the entry points of a domain.
type EntryList struct{ Entries []EntryInfo }

// Check is one look at an entry point.
type Check struct {
	At      int64 `json:"at"`      // seconds
	Status  int   `json:"status"`  // 0 when nothing answered
	Changed bool  `json:"changed"` // its content differed from before
}

// FeedItem is a new URL.
type FeedItem struct {
	Sequence  int64 // in its shard
	FoundAt   int64 // ms since 1970
	URL       string
	Domain    string
	Title     string
	Type      string
	Priority  float64 // 0 to 1, when it was found
	LastMod   int64   // seconds since 1970; 0 when unknown
	Snippet   string
	Image     string
	FoundBy   string
	Partition contract.Partition
}

// Shown is the item as readers of the feed see it.
func (i *FeedItem) Shown() contract.FeedItem {
	f := contract.FeedItem{
		URL: i.URL, Domain: i.Domain, Host: markup.HostOf(i.URL), Title: contract.Text(i.Title), Type: i.Type, Priority: i.Priority,
		FoundAt: contract.Time{Time: time.UnixMilli(i.FoundAt).UTC()}, FoundBy: contract.Text(i.FoundBy),
		Snippet: contract.Text(i.Snippet), Image: contract.Text(i.Image), Partition: i.Partition,
	}
	if i.LastMod > 0 {
		f.LastMod = contract.At(time.Unix(i.LastMod, 0).UTC())
	}
	return f
}

// FeedRequest asks for the items after a number that match all of what is given.
type FeedRequest struct {
	After    int64 // Next of the page before; 0 for the oldest that is kept
	Limit    int   // 1 to maxFeed
	Types    []string
	MinScore float64
	Country  string
	Category string
}

// FeedPage is a page of the feed of one shard.
type FeedPage struct {
	Items []FeedItem
	Next  int64 // the number up to which items were looked at
	More  bool  // there may be more after it
	// Expired: items after FeedRequest.After were older than the feed is kept, and are gone.
	Expired bool `json:",omitempty"`
}

// FoundHour is how many new URLs were announced within an hour.
type FoundHour struct {
	Hour  int64            // its beginning, ms since 1970
	Types map[string]int64 // by their type, those of which there are some
}

// LeaseRequest says what a scraper can take.
type LeaseRequest struct {
	Max      int   // items, 1 to MaxLease
	Seconds  int64 // until they must be reported, MinLeaseSeconds to MaxLeaseSeconds
	PerHost  int   // items of one host, 0 (1) to MaxPerHost: fetched one by one, at its delay
	Country  string
	Category string
	Types    []string // content types; none: all
	Kinds    []string // "page", "entry"; none: page
}

// Kinds of items.
const (
	KindPage  = "page"
	KindEntry = "entry"
)

// Lease is items that nobody else is given, and whose hosts nobody else may ask, until they are
// reported or the lease is over.
type Lease struct {
	ID         string
	ExpiresAt  int64 // ms
	Items      []Item
	RetryAfter int64 // seconds; when there are no items: how long there will be none
}

// Item is a URL to be fetched.
type Item struct {
	ID           string
	URL          string
	Host         string
	Domain       string
	Kind         string
	Method       string // of an entry point
	Type         string
	Priority     float64 // now
	Title        string
	LastMod      int64 // seconds; 0 when unknown
	ETag         string
	LastModified string
	CrawlDelay   int64 // ms between two requests to the host
	Partition    contract.Partition
}

// maxRetryAfter is the longest time, in seconds, after which a scraper should ask again: new URLs
// may come at any time.
const MaxRetryAfter = 60

// Stats is how much a shard has.
type Stats struct {
	Hosts   int64
	URLs    int64 // pages that wait or are leased
	Entries int64 // entry points
	Leased  int64 // pages and entry points
	Done    int64 // pages, since the beginning
	Failed  int64

	Answers   int64 // that were reported since the beginning, of pages and entry points
	Faults    int64 // of these: none came, 5xx, or of an entry point anything that is no success
	Refreshed int64 // messages for refreshes that were given today (UTC)

	Due       [Lanes]int64 // hosts that stand ready in each front queue, and for an entry point
	OldestDue [Lanes]int64 // since when the first of them does, ms; 0: there is none

	Found []FoundHour // new URLs of the last 24 hours, oldest first; hours without any are left out
}

// HostsRequest asks for a page of hosts.
type HostsRequest struct {
	Sort    string // "due" (first those due longest), "size" (most pages first) or "" (no order that means anything)
	Blocked bool   // only those that an operator blocked
	Cursor  string // Next of the page before
	Limit   int    // 1 to 500
}

// HostsPage is a page of hosts. It is a look at what changes: a host that moves meanwhile may be
// left out or come twice.
type HostsPage struct {
	Hosts []HostInfo
	Next  string // "" at the end
}

// HostInfo describes a host. Times are ms since 1970, 0 when there is none.
type HostInfo struct {
	HostState
	Domain      string
	URLs        int64
	Entries     int
	Due         int64 // pages and entry points that may be fetched as soon as the host is ready
	Done        int64
	Failed      int64
	DueAt       int64 // from when on there is something to fetch
	LeasedUntil int64
	Cursor      string // of a page that begins after this host
}

// URLState is what the frontier has of a URL. Times are ms since 1970, 0 when there is none.
type URLState struct {
	State      string // due, waiting, leased, done, excluded or unknown
	DueAt      int64
	LeaseUntil int64
	Entry      *EntryState // nil when it is no entry point
}

// EntryState is what the frontier has of an entry point.
type EntryState struct {
	Method       string
	Interval     int64 // seconds
	ETag         string
	LastModified string
	LastStatus   int
	ChangedAt    int64   // ms; 0: it never has
	Failures     int     // checks in a row
	Checks       []Check // the last ones, oldest first
	DueAt        int64   // ms: when it is asked next
}

// MirrorRequest asks for the domain that showed a digest first.
type MirrorRequest struct {
	Domain string // that shows it now
	Digest string // SHA-256, in lower-case hexadecimal
}

// MirrorAnswer answers a MirrorRequest.
type MirrorAnswer struct {
	Of string // "": the domain that asks is the first
}

// HostChange is what an operator decides about a host. What is nil stays.
type HostChange struct {
	BlockUntil *int64 // ms since 1970; a time that has passed ends a block, and a Retry-After
	Delay      *int64 // the least ms between two requests, 0 for what the host asks for; it holds at once
	Empty      bool   // drops the pages that wait; they do not return
}

// Exclusion is what operators ruled out: a domain, a host of a domain, or URLs by a pattern.
type Exclusion struct {
	Kind   string // contract.ExcludeDomain, ExcludeHost or ExcludeURL
	Value  string // as contract.CheckExclusion gives it
	Domain string // the registrable domain of a host
}

// PagesRequest asks for the pages of a domain.
type PagesRequest struct {
	Domain string
	At     int64 // seconds since 1970: the time for which their priorities are given, since they fall with age
}

// PageInfo is a page that waits or is leased.
type PageInfo struct {
	URL      string
	Title    string // "" when unknown
	Type     string
	Priority float64 // 0 to 1
	LastMod  int64   // seconds since 1970; 0 when unknown
}

// PagesOf is the pages of a domain.
type PageList struct{ Pages []PageInfo }

// Put is URLs of one registrable domain.
type Put struct {
	Domain    string
	Partition contract.Partition
	Pages     []NewPage
	Entries   []NewEntry
	Since     int64 // ms: when the domain was looked at before; 0: never. Pages dated after it are new.

	// What a collector has learned that has the domain under this name; otherwise it counts for nothing.
	// Release need not repeat the visits, or does so at no cost.
	Owner    string
	Visits   []Visit
	MirrorOf string // see Mirror. While it is set, pages are refused, and those that wait are not given out.

	Found bool `json:",omitempty"` // reported by scrapers, which may add few hosts
}

// PutAll is the puts of several domains at once: one call, and few statements however many they are.
type PutAll struct {
	Puts []Put
}

// NewPage is a page to be fetched once.
type NewPage struct {
	URL      string
	Title    string
	Type     string  // a content type; anything else is unknown
	Priority float64 // 0 to 1, at the time of the call; it falls as the page ages
	LastMod  int64   // seconds since 1970; 0 when unknown

	// For the feed. Fresh says that the page was not there when the caller looked before.
	Fresh   bool
	Snippet string
	Image   string
	FoundBy string // as in the contract: feed, news_sitemap, sitemap, link, research …
}

// NewEntry is an entry point. One that is there already keeps what is known of it, but for what is
// given here.
type NewEntry struct {
	NewPage
	Method   string // feed, news_sitemap, sitemap, listing …
	Interval int64  // seconds between two checks; 0 removes the entry point

	// What the caller has just seen there; "" when it did not look.
	ETag, LastModified, SHA256 string
	// Status of the answer, when the caller has just looked; 0 with Failed when there was none.
	Status int
	Failed bool
}

// Verdict is what became of a URL.
type Verdict string

// The verdicts of a put.
const (
	Accepted     Verdict = "accepted"
	Duplicate    Verdict = "duplicate"
	Updated      Verdict = "updated" // an entry point that was there
	Removed      Verdict = "removed" // an entry point with interval 0
	InvalidURL   Verdict = "invalid_url"
	Trapped      Verdict = "trap"           // by its shape one of endlessly many
	ForeignHost  Verdict = "foreign_host"   // not a host of the domain
	Excluded     Verdict = "excluded"       // by an operator
	Mirrored     Verdict = "mirror"         // the domain shows the pages of another
	HostFull     Verdict = "host_full"      // the host's queue is at its limit; it may be put later
	DomainFull   Verdict = "domain_full"    // as many better pages of the domain wait; it may be put later
	TooManyHosts Verdict = "too_many_hosts" // the domain has maxHosts hosts, or reports have added as many as they may
	Unavailable  Verdict = "unavailable"    // its shard does not answer; it may be put again
)

// PutAnswer gives the verdicts in the order of what was put.
type PutAnswer struct {
	Pages, Entries []Verdict
	States         []EntryState // of the entry points, as they are now; empty for one that is not there
	Added          int          // pages and entry points that are new
}

// RefreshRequest asks for an entry point's host, to refresh it.
type RefreshRequest struct {
	Domain string
	URL    string
	Owner  string // names one attempt
}

// Refreshing answers a RefreshRequest. Whoever was granted a refresh may ask the host for it, one request
// at a time at its delay, for Seconds; nobody else may meanwhile.
type RefreshGrant struct {
	Granted bool
	Over    bool  // there is nothing to do: it was refreshed meanwhile, removed or excluded
	RetryIn int64 // ms after which to ask again, when neither

	Seconds int64
	Host    HostState
	Entry   EntryState
	SHA256  string // of what it was when it was last read: the first 32 digits
	Since   int64  // ms: when it was last read, 0: it never was
	Type    string
	// Partition is the newest one of the entry point.
	Partition contract.Partition
	// Rewrite says that the contract was to be rewritten after an earlier refresh of the host, and nobody has said since
	// that it was, and that it is among the changes.
	Rewrite bool
}

// RefreshResult ends a refresh.
type RefreshResult struct {
	Domain string
	URL    string
	Owner  string

	// The answer. Skipped says that the entry point was not asked after all: it stays due.
	Skipped      bool
	Status       int // 0 when there was none
	ETag         string
	LastModified string
	SHA256       string // of the body, in hexadecimal
	Visit        Visit  // of the host

	Pages []NewPage // that it lists and the caller has not seen before, at most maxNewPages

	// Rewritten says that the contract was seen to be as Refreshing.Rewrite asks for.
	Rewritten bool

	// Next is the owner of another refresh that the caller would do now; "": it would not.
	Next string
}

// RefreshEnd answers a RefreshResult.
type RefreshEnd struct {
	Accepted  bool // false: the time was over, and nothing changed
	Changed   bool
	Entry     EntryState
	Interval  int64 // seconds
	DueAt     int64 // ms: when it is refreshed next
	Added     int   // pages that are new
	Announced int   // of them, those in the feed

	// Rewrite says that scrapers which go by the contract should see what became of the host's entry points.
	Rewrite bool

	// Next is what the caller is to refresh now if it asked for more: it has the host again.
	Next *NextRefresh `json:",omitempty"`
}

// NextRefresh is a refresh of another entry point of the same host, which began when the one before ended.
type NextRefresh struct {
	URL, Method string
	RefreshGrant
}

// FailuresShown is after how many checks in a row that failed the contract says so.
const FailuresShown = 3

func (s *Stats) add(other *Stats) {
	s.Hosts += other.Hosts
	s.URLs += other.URLs
	s.Entries += other.Entries
	s.Leased += other.Leased
	s.Refreshed += other.Refreshed
	s.Found = mergeFound(s.Found, other.Found)
	s.Done += other.Done
	s.Failed += other.Failed
	s.Answers += other.Answers
	s.Faults += other.Faults
	for lane := range Lanes {
		s.Due[lane] += other.Due[lane]
		if at := other.OldestDue[lane]; at > 0 && (s.OldestDue[lane] == 0 || at < s.OldestDue[lane]) {
			s.OldestDue[lane] = at
		}
	}
}

func (i FeedItem) place() (number, time int64) { return i.Sequence, i.FoundAt }

// before reports whether a host comes first. What has no order is by name, so that pages are stable.
func (r *HostsRequest) before(a, b *HostInfo) bool {
	switch r.Sort {
	case "due":
		return a.DueAt < b.DueAt
	case "size":
		return a.URLs > b.URLs
	}
	return cmp.Or(cmp.Compare(a.Domain, b.Domain), cmp.Compare(a.Host, b.Host)) < 0
}

// wants is what a lease asks for, but for how much.
func (r *LeaseRequest) wants() string {
	return fmt.Sprintf("%s/%s/%q/%q", r.Country, r.Category, r.Types, r.Kinds)
}

// Report says what became of the items of a lease.
type Report struct {
	Lease   string
	Results []Result

	// Partitions asks for the partition of each item, for URLs found there that belong to other shards.
	Partitions bool
}

// Result is what became of one item.
type Result struct {
	ID           string
	Status       int   // of the last answer; 0 when there was none
	Unresolved   bool  // there was none because the host's name does not resolve
	NotFetched   bool  // nobody asked, for want of time: it comes back
	Forbidden    bool  // nobody asked, since robots.txt forbids it
	NoRobots     bool  `json:",omitempty"` // nobody asked, since robots.txt cannot be read: it comes back, the host later
	RetryAfter   int64 // seconds that the answer asked to wait; 0: it did not
	ETag         string
	LastModified string
	SHA256       string // of the body, in hexadecimal
	RedirectedTo string // where the answer came from in the end
	Found        []FoundURL
}

// FoundURL is a URL that was found on a page. It belongs to this shard.
type FoundURL struct {
	NewPage
	Domain string // its registrable domain; "": that of the page
}

// ReportAnswer counts what was reported. A repeated result, or one of a lease that is over, counts
// as accepted and changes nothing.
type ReportAnswer struct {
	Accepted int
	Unknown  int // neither the lease nor the item exists, or they do not belong together
	Added    int // found URLs that are new

	// Partitions are those of the items, in the order of the results, if they were asked for: the zero
	// value for an unknown one. Of a page that was reported before it is one of its host's.
	Partitions []contract.Partition `json:",omitempty"`
}

// foundByScraper is how a URL was found that a scraper reports.
const FoundByScraper = "scraper"

// Class is what the pages of a partition have in common, whatever its day.
type Class struct {
	Country  string `json:"country"`
	Category string `json:"category"`
}

// Bands are the front queues: a page stands in the one of its score at the time.
//
//	0 immediate_crawl ≥ 0.8 · 1 scheduled_crawl ≥ 0.6 · 2 periodic_check ≥ 0.4 · 3 the others
const Bands = 4

// Lanes are the front queues, and that of the entry points.
const (
	EntryLane = Bands
	Lanes     = Bands + 1
)

// Bounds of one operation.
const (
	MaxPut          = 5000 // pages and entry points of a Put
	MaxLease        = 500  // items of a lease
	MaxPerHost      = 20
	MinLeaseSeconds = 10
	MaxLeaseSeconds = 900
	MaxResults      = 500
	MaxFound        = 5000 // URLs in a report
	MaxURL          = 2083 // bytes, in its canonical form
	MaxTitle        = 200
	MaxOwner        = 200
	MaxAcquire      = 64   // hosts that a collector names
	MaxOwnership    = 3600 // seconds for which a collector may have a domain
)

// Snapshot is a page of what a shard has: its hosts with their back queues, seen-sets, delays and
// entry points, as they are stored, then what is to be kept of its domains. It can be restored into any
// shard, also into another number of shards: ids are made again from the names.
//
// Leases and the times of collectors are not restored. The snapshot is older than all that runs now, so
// what was leased then has been reported or is over; its pages wait again, a report of them counts as
// late, and numbers of leases grow with the clock, so that none is given twice. Digests of mirrors are not
// part of it, since the next collections bring them. What operators excluded is shown and not restored: it
// may have been allowed since, and lies in R2 as they decided it last.
type Snapshot struct {
	Version  int              `json:"version"`
	Taken    int64            `json:"taken,omitempty"` // see SnapshotOrder; 0 where it was not ordered
	Classes  []Class          `json:"classes"`         // by the number that the records use, from 1
	Patterns []string         `json:"patterns"`        // of excluded URLs
	Hosts    []HostSnapshot   `json:"hosts"`
	Domains  []DomainSnapshot `json:"domains,omitempty"`
	Next     int64            `json:"next,omitempty"` // where the next page begins; 0 at the end
}

// HostSnapshot is a host with its parts.
type HostSnapshot struct {
	Host           string `json:"host"`
	Domain         string `json:"domain"`
	DomainExcluded bool   `json:"domain_excluded,omitempty"`
	Record         []byte `json:"record"`
	Parts          []Part `json:"parts,omitempty"`
}

// Part is a chunk of the seen-set or a segment.
type Part struct {
	Number int    `json:"number"`
	Data   []byte `json:"data"`
}

// DomainSnapshot is what is kept of a domain, whether it has hosts or none.
type DomainSnapshot struct {
	Domain   string   `json:"domain"`
	Excluded bool     `json:"excluded,omitempty"`
	Evidence Evidence `json:"evidence"`
	MirrorOf string   `json:"mirror_of,omitempty"`
}

// MaxExport is the last place where a page of a snapshot may begin.
const MaxExport = 1 << 52

// TickRequest is what a shard's alarm asks its program.
type TickRequest struct {
	Shard  string `json:"shard"`            // its name
	Paused bool   `json:"paused,omitempty"` // operators paused the pipeline: nothing is refreshed
}

// Tick is what the alarm has to do. It does it after the operation, and may fail at any point of it: what
// is lost must turn up in a later Tick by itself, and what was done twice must do no harm.
type Tick struct {
	Messages []json.RawMessage `json:"messages"` // for the domain queue
	Snapshot *SnapshotOrder    `json:"snapshot,omitempty"`
	AlarmAt  int64             `json:"alarm_at"` // ms since 1970, when it asks again
}

// SnapshotOrder has the pages that Export gives stored one by one, as Prefix + "0001.json" and so on; then
// Stored is told, and what sorts before Keep is deleted from Dir. Taken goes into each page: an order that was
// not carried out is given again, and pages of the two must not be taken for one snapshot.
type SnapshotOrder struct {
	Taken  int64  `json:"taken"` // ms since 1970, when it was given
	Date   string `json:"date"`
	Dir    string `json:"dir"`
	Prefix string `json:"prefix"`
	Keep   string `json:"keep"`
}
