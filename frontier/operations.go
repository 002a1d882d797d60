package frontier

import (
	"cmp"
	"strings"
	"time"

	"github.com/newsfork/seed-engine/contract"
	"github.com/newsfork/seed-engine/epoch"
	"github.com/newsfork/seed-engine/markup"
)

// This file is what a shard can be asked: the requests and answers of its operations, which client.Shard lists.
// They cross between Worker and shard as JSON with these fields. During a deploy both ends can be one version
// apart, so operations and fields are only added.

// ---- Put: URLs to fetch

// Put holds URLs of one registrable domain.
type Put struct {
	Domain    string
	Partition contract.Partition
	Pages     []NewPage
	Entries   []NewEntry
	Since     epoch.Millis // the last collection; 0: none. Pages dated after it are new.

	// What the collector has learned. It counts only while Owner has the domain; repeated visits cost nothing.
	Owner    string
	Visits   []HostFindings
	MirrorOf string // while set, new pages are refused and waiting ones are not leased; see MirrorRequest

	Found  bool `json:",omitempty"` // by scrapers, who can add only a few hosts
	Remove bool `json:",omitempty"` // take the pages out: they are gone

	// Stored is the position of the pages among the domain's stored URLs; nil if they were not read from them.
	Stored *StoredPages `json:",omitempty"`
}

// StoredPages is a position in the URLs that the engine has stored of a domain in the put's partition, best first. A
// shard takes only the best of them, and asks for the next ones when half of those are fetched; see MethodRefill.
type StoredPages struct {
	Collected bool   `json:",omitempty"` // the put has the best of a collection, which replaces what was stored before
	From      string `json:",omitempty"` // where the pages of the put began; "" with the best
	Next      string `json:",omitempty"` // where the next ones begin, at most MaxPosition bytes
	More      bool   // there are next ones
}

// PutAll holds the puts of several domains.
type PutAll struct {
	Puts []Put
}

// NewPage is a page to be fetched once.
type NewPage struct {
	URL      string
	Title    string
	Type     string        // content type; any other text means unknown
	Priority float64       // 0 to 1, now; it falls as the page ages
	LastMod  epoch.Seconds // 0 when unknown
	Refetch  bool          `json:",omitempty"` // bring the page back, whatever became of it, before others

	// For the feed.
	Fresh   bool // the page was not listed at the last look
	Snippet string
	Image   string
	FoundBy string // as in the contract: feed, news_sitemap, sitemap, link, research …
}

// FreshFor is the age up to which a page is news at its first sighting, though its entry point was read since.
// Publishers date some pages to the day, and list them late.
const FreshFor = 2 * epoch.Day

// NewEntry is an entry point. Fields that are empty leave a known entry point as it is.
type NewEntry struct {
	NewPage
	Method   string // feed, news_sitemap, sitemap, listing …
	Interval int64  // seconds between checks; 0 removes the entry point

	// The response, if the caller has just fetched the entry point.
	ETag, LastModified, SHA256 string
	Status                     int
	Failed                     bool // there was no response
	NoRobots                   bool `json:",omitempty"` // of MethodCollect: its robots.txt cannot be read
}

// PutAnswer holds the verdicts in the order of the put.
type PutAnswer struct {
	Pages, Entries []Verdict
	States         []EntryState      // of the entry points; zero for an unknown one
	Added          int               // new pages and entry points
	Observed       []ObservedPattern `json:",omitempty"` // of a put with entry points: of its hosts
	Room           int               `json:",omitempty"` // of a put with Stored: for so many more pages of the domain
}

// Verdict is the outcome for one URL of a put.
type Verdict string

// Verdicts.
const (
	Accepted     Verdict = "accepted"
	Duplicate    Verdict = "duplicate"
	Updated      Verdict = "updated" // a known entry point
	Removed      Verdict = "removed" // an entry point with interval 0, or a page that was to be removed
	InLease      Verdict = "leased"  // of a page to be removed: a scraper has it
	EntryPoint   Verdict = "entry_point"
	UnknownURL   Verdict = "unknown" // of a page to be removed: the frontier does not have it
	InvalidURL   Verdict = "invalid_url"
	Trapped      Verdict = "trap"           // its shape suggests endlessly many such URLs
	ForeignHost  Verdict = "foreign_host"   // not a host of the domain
	Excluded     Verdict = "excluded"       // by an operator
	Disallowed   Verdict = "forbidden"      // by its host's robots.txt
	Mirrored     Verdict = "mirror"         // the domain mirrors another one
	HostFull     Verdict = "host_full"      // the host's queue is full; put it later
	DomainFull   Verdict = "domain_full"    // enough better pages of the domain wait; put it later
	TooManyHosts Verdict = "too_many_hosts" // of the domain, or added by reports today
	Unavailable  Verdict = "unavailable"    // its shard does not answer; put it again
)

// ---- Lease and report: scrapers fetch pages

// LeaseRequest requests URLs to fetch.
type LeaseRequest struct {
	Max      int   // items, 1 to MaxLease
	Seconds  int64 // duration, MinLeaseSeconds to MaxLeaseSeconds
	PerHost  int   // items of one host, to be fetched in turn at its delay; 0 (1) to MaxPerHost
	MaxHosts int   `json:",omitempty"` // different hosts; 0 (MaxLease) to MaxLease
	Country  string
	Category string
	Types    []string // content types; none: all
	Kinds    []string // "page", "entry"; none: page

	Domain   string `json:",omitempty"` // only its hosts
	Host     string `json:",omitempty"` // only this one
	MinScore int    `json:",omitempty"` // of a page, now, in thousandths

	Scraper string `json:",omitempty"` // its name, which the shard counts; "" counts nothing
}

// Lease holds items that nobody else gets, of hosts that nobody else may fetch from, until they are reported or the
// lease expires.
type Lease struct {
	ID         string
	ExpiresAt  epoch.Millis
	Items      []Item
	RetryAfter int64 // seconds, if there are no items
	More       bool  `json:",omitempty"` // others may have something: the lease looked at a part of them
}

// Item is a URL to fetch.
type Item struct {
	ID           string
	URL          string
	Host         string
	Domain       string
	Kind         string
	Method       string // of an entry point
	Type         string
	Priority     float64 // 0 to 1, now
	Title        string
	LastMod      epoch.Seconds // 0 when unknown
	ETag         string
	LastModified string
	CrawlDelay   int64 // ms between requests to the host
	Partition    contract.Partition

	Reason  string        `json:",omitempty"` // of a page: new, lastmod, revisit or requested
	Visits  int           `json:",omitempty"` // fetches before, as far as they are known
	Fetched epoch.Seconds `json:",omitempty"` // last

	RobotsExpires epoch.Millis `json:",omitempty"` // of the host's rules, see HostDetail; 0 if they are not fresh
	RobotsPartial bool         `json:",omitempty"` // they are not all, see PartialRules

	Signals string `json:",omitempty"` // the Content-Signal of the host's rules
	Usage   string `json:",omitempty"` // of the host, see HostFindings
}

// Kinds of items.
const (
	KindPage  = "page"
	KindEntry = "entry"
)

// MaxRetryAfter is the longest RetryAfter of a lease in seconds: new URLs can come at any time.
const MaxRetryAfter = 60

// Report holds the outcomes of the items of a lease.
type Report struct {
	Lease   string
	Results []Result

	// Partitions requests the partition of each item. Found URLs of other shards are put with it.
	Partitions bool

	Scraper string `json:",omitempty"` // as in LeaseRequest
}

// Result is the outcome of one item.
type Result struct {
	ID           string
	Status       int    // of the last response; 0 if there was none
	Unresolved   bool   // the host's name does not resolve
	Error        string `json:",omitempty"` // why there was no response, in the scraper's words; any text
	NotFetched   bool   // there was no time for it
	Forbidden    bool   // robots.txt disallows it
	NoRobots     bool   `json:",omitempty"` // robots.txt cannot be read
	RetryAfter   int64  // seconds; 0 if the response had none
	CrawlDelay   int64  `json:",omitempty"` // ms that robots.txt asks for, as the scraper read it; 0 for none
	ETag         string
	LastModified string
	SHA256       string        // of the body, in hexadecimal
	TextSHA256   string        `json:",omitempty"` // of the text, which is the same when only an advertisement changed
	Copy         bool          `json:",omitempty"` // the scraper found that another page has the same content
	Closed       bool          `json:",omitempty"` // a login or a paywall stood before the content
	CopyOf       string        `json:",omitempty"` // that page's URL, with Copy; previous versions do not send it
	Canonical    string        `json:",omitempty"` // the URL that the page calls its own; any text
	RedirectedTo string        // final URL of the redirects
	Title        string        `json:",omitempty"` // that the page has itself
	Type         string        `json:",omitempty"` // content type by who fetched it
	Published    epoch.Seconds `json:",omitempty"` // by the page; 0 if it does not say
	Modified     epoch.Seconds `json:",omitempty"` // likewise
	Found        []FoundURL
}

// FoundURL is a URL that was found on a page.
type FoundURL struct {
	NewPage
	Domain string // registrable domain; "": the same as the page
}

// FoundByScraper is the FoundBy of URLs in a report.
const FoundByScraper = "scraper"

// ReportAnswer counts results.
type ReportAnswer struct {
	Accepted int
	Late     int `json:",omitempty"`
	Unknown  int
	Added    int         // new URLs among those found
	Outcomes []Outcome   `json:",omitempty"` // in the order of the results
	Found    FoundCounts // what became of the URLs that were found

	// Partitions of the items in the order of the results, on request; zero for an unknown item.
	Partitions []contract.Partition `json:",omitempty"`
}

// MaxLeased limits the duration of a lease that is renewed, since others wait for its hosts.
const MaxLeased = time.Hour

// RenewLease prolongs a lease.
type RenewLease struct {
	Lease   string
	Seconds int64 // from now, MinLeaseSeconds to MaxLeaseSeconds
}

// RenewedLease answers RenewLease.
type RenewedLease struct {
	Hosts     int          // that the lease still has; 0: it is over, or was given to nobody
	ExpiresAt epoch.Millis // of the first of them
	Closed    bool         `json:",omitempty"` // nothing is prolonged: operators blocked or excluded one of them
}

// ReleaseLease returns a lease.
type ReleaseLease struct {
	Lease string
}

// Outcome is accepted, late or unknown.
type Outcome string

// Outcomes.
const (
	ReportAccepted Outcome = "accepted" // a repeated one changes nothing
	ReportLate     Outcome = "late"     // the lease was over; it counts, since nobody else was given the host
	ReportUnknown  Outcome = "unknown"  // there is no such lease, the item is not in it, or others were given it since
)

// Count adds the outcome of the next result.
func (a *ReportAnswer) Count(o Outcome) {
	a.Outcomes = append(a.Outcomes, o)
	switch o {
	case ReportAccepted:
		a.Accepted++
	case ReportLate:
		a.Late++
	default:
		a.Unknown++
	}
}

// FoundCounts counts URLs that were found, by what became of them.
type FoundCounts struct {
	Added     int `json:"added"`
	Known     int `json:"known"`
	Excluded  int `json:"excluded"`  // by an operator
	Forbidden int `json:"forbidden"` // by robots.txt
	Trap      int `json:"trap"`
	Mirror    int `json:"mirror"`
	Invalid   int `json:"invalid"`
	Over      int `json:"over"` // a limit
}

// Count counts a URL by its verdict.
func (c *FoundCounts) Count(v Verdict) {
	switch v {
	case Accepted:
		c.Added++
	case Duplicate:
		c.Known++
	case Excluded:
		c.Excluded++
	case Disallowed:
		c.Forbidden++
	case Trapped:
		c.Trap++
	case Mirrored:
		c.Mirror++
	case InvalidURL, ForeignHost:
		c.Invalid++
	default:
		c.Over++
	}
}

// Add adds other counts.
func (c *FoundCounts) Add(o FoundCounts) {
	c.Added += o.Added
	c.Known += o.Known
	c.Excluded += o.Excluded
	c.Forbidden += o.Forbidden
	c.Trap += o.Trap
	c.Mirror += o.Mirror
	c.Invalid += o.Invalid
	c.Over += o.Over
}

// ---- Acquire, renew, release: collectors own a domain

// UnresolvedFor is the time for which a host is left alone if its name does not resolve.
const UnresolvedFor = time.Hour

// AcquireRequest requests a registrable domain with all its hosts. The owner may fetch from each of them, one request
// at a time at its delay. Nobody else may.
type AcquireRequest struct {
	Domain  string
	Owner   string   // names one attempt; the same owner can repeat the request
	Seconds int64    // 1 to MaxOwnership
	Hosts   []string // whose states the owner wants; at most MaxAcquire
	Try     bool     // do not keep scrapers out if the domain is busy

	// If Unless already has a contract, the domain is refused with Collected.
	Unless *contract.Partition `json:",omitempty"`
}

// Acquired answers an AcquireRequest.
type Acquired struct {
	Granted   bool
	Excluded  bool // by an operator
	Collected bool `json:",omitempty"` // the partition of Unless has a contract
	// RetryIn is the time in ms until the domain is free. The caller counts as waiting, so scrapers get no more of its
	// hosts.
	RetryIn int64
	// Evidence is the last complete collection, whether the domain is granted or not.
	Evidence Evidence
	Hosts    []HostState // in the order of the request
	// LastOwned returns when the last owner released or lost the domain; 0 if it had none. No collection ended
	// later.
	LastOwned epoch.Millis
}

// HostState describes a host to a collector. An instant of 0 is not set.
type HostState struct {
	Host          string
	Delay         int64        // ms between requests
	ReadyAt       epoch.Millis // no request before
	BlockedUntil  epoch.Millis // by an operator
	RobotsExpires epoch.Millis // 0 if robots.txt was never fetched
	Unresolved    epoch.Millis // its name did not resolve; no request before
	Excluded      bool
	Usage         string `json:",omitempty"` // see HostFindings
}

// Evidence names the last complete collection of a domain. Collections for other partitions can reuse it.
type Evidence struct {
	Partition contract.Partition
	At        epoch.Millis // 0 if there is none
}

// ReleaseRequest returns a domain, with what the collector has learned of its hosts.
type ReleaseRequest struct {
	Domain string
	Owner  string
	Hosts  []HostFindings

	// Returns reserves the domain for a collector that found a host not ready, until shortly after this instant:
	// scrapers get none of its hosts. 0 and instants further away than MaxReserved reserve nothing.
	Returns epoch.Millis `json:",omitempty"`

	// Evidence is the collection that is complete now; zero if none is.
	Evidence Evidence
	// Changes are rewritten contracts of the domain. They count even if another owner has the domain by now.
	Changes []Change `json:",omitempty"`
}

// HostFindings are what a collector has learned of a host.
type HostFindings struct {
	Host          string
	Delay         int64        // ms, by its robots.txt; 0 is the default. Only a robots.txt shortens it.
	AskedAt       epoch.Millis // of the last request; 0 if there was none. A repeated visit counts once.
	RetryAfter    int64        // seconds, by the last response
	Throttled     bool         // the last response was 429 or 503
	RobotsExpires epoch.Millis // 0 if robots.txt was not fetched
	Unresolved    bool         // its name does not resolve
	// Rules are those of its robots.txt that are for the engine's crawlers, as a robots.txt of at most MaxRules bytes;
	// "" allows everything. Nil leaves them as they are.
	Rules *string `json:",omitempty"`
	// Usage holds its reservations about the use of its content, as usage.Encode writes it; nil leaves that as it is.
	Usage *string `json:",omitempty"`
}

// MaxUsage caps HostFindings.Usage, in bytes.
const MaxUsage = 4096

// MaxRules caps the rules of a host's robots.txt that are kept, in bytes.
const MaxRules = 4096

// PartialRules begins rules that are not all of the host's: the others exceed MaxRules, or somebody who read robots.txt
// since then did not say what is in it.
const PartialRules = "# partial\n"

// SignalsLine begins the line of rules with the host's Content-Signal, which is the second one.
const SignalsLine = "Content-Signal:"

// SignalsOf returns the Content-Signal of rules, or "", and the rules without it.
func SignalsOf(rules string) (signals, rest string) {
	before, after, found := strings.Cut(rules, "\n"+SignalsLine)
	if !found {
		return "", rules
	}
	signals, after, _ = strings.Cut(after, "\n")
	return signals, before + "\n" + after
}

// MirrorRequest asks which domain showed a digest first.
type MirrorRequest struct {
	Domain string // that shows the digest now
	Digest string // SHA-256 of home page and sitemap, in lower-case hexadecimal

	// The pages of the domain that showed the digest first name this one as their original: the digest becomes its own.
	Original bool
}

// MirrorAnswer answers a MirrorRequest.
type MirrorAnswer struct {
	Of string // "" if the domain of the request is the first
}

// ---- Refresh: entry points are checked again

// RefreshRequest requests an entry point's host, to refresh the entry point.
type RefreshRequest struct {
	Domain string
	URL    string
	Owner  string // names one attempt
}

// RefreshRequests are requests of refreshes that begin together, at most contract.MaxRefreshes.
type RefreshRequests struct{ Refreshes []RefreshRequest }

// RefreshGrants answer RefreshRequests, in the same order.
type RefreshGrants struct{ Grants []RefreshGrant }

// RefreshGrant answers a RefreshRequest. If granted, the owner may fetch the entry point, one request at a time at the
// host's delay, for Seconds.
type RefreshGrant struct {
	Granted bool
	Over    bool  // nothing to do: refreshed meanwhile, removed or excluded
	RetryIn int64 // ms, if it is neither granted nor over

	Seconds   int64
	Host      HostState
	Entry     EntryState
	SHA256    string       // of the content at the last read: the first 32 digits
	Since     epoch.Millis // of the last read; 0 if there was none
	Type      string
	Partition contract.Partition // the newest
	// Rewrite is true if an earlier refresh of the host changed what the contract should say, and nobody has confirmed
	// that the contract was rewritten.
	Rewrite bool
}

// RefreshResult ends a refresh.
type RefreshResult struct {
	Domain string
	URL    string
	Owner  string

	// The response.
	Skipped      bool // there was no request: the entry point stays due
	Status       int  // 0 if there was none
	ETag         string
	LastModified string
	SHA256       string       // of the body, in hexadecimal
	Visit        HostFindings // of the host

	Pages []NewPage // listed there for the first time, at most 1,000

	// Rewritten confirms what RefreshGrant.Rewrite asks for.
	Rewritten bool

	// Next is the owner of another refresh that the caller can do now; "" if it cannot.
	Next string
}

// RefreshEnd answers a RefreshResult.
type RefreshEnd struct {
	Accepted  bool // if not, the grant had expired, and nothing changed
	Changed   bool
	Entry     EntryState
	Interval  int64        // seconds
	DueAt     epoch.Millis // of the next refresh
	Added     int          // new pages
	Announced int          // new pages in the feed

	// Rewrite is true if the contract should show what became of the host's entry points.
	Rewrite bool

	// Next is the next refresh, if the caller asked for one: the host is granted to it again.
	Next *NextRefresh `json:",omitempty"`
}

// NextRefresh is the refresh of another entry point of the same host.
type NextRefresh struct {
	URL, Method string
	RefreshGrant
}

// MethodCollect is the method of the entry point that stands for a whole domain: when it is due, the domain is
// collected again. Its URL is that of robots.txt.
const MethodCollect = "collect"

// MethodRefill is the method of a message that asks for the next pages of a domain among those that are stored.
const MethodRefill = "refill"

// FailuresShown is the number of failed checks in a row after which the contract says so.
const FailuresShown = 3

// ---- Follow: what changed

// FeedRequest requests new URLs after a sequence number that match every filter.
type FeedRequest struct {
	After    int64 // Next of the last page; 0 for the oldest
	Limit    int   // 1 to 200
	Types    []string
	MinScore float64
	Country  string
	Category string
	Events   []string `json:",omitempty"` // none: new
}

// Events of the feed.
const (
	EventNew     = "new"
	EventUpdated = "updated" // its site gives a newer date, or its text changed
	EventRemoved = "removed" // it was fetched, and is gone
)

// FeedEvents are all events.
var FeedEvents = []string{EventNew, EventUpdated, EventRemoved}

// FeedPage is a page of the feed of one shard.
type FeedPage struct {
	Items   []FeedItem
	Next    int64 // the last sequence number that was read
	More    bool  // there might be more
	Expired bool  `json:",omitempty"` // items after FeedRequest.After were deleted
}

// FeedItem is a new URL.
type FeedItem struct {
	Sequence  int64 // in its shard
	FoundAt   epoch.Millis
	URL       string
	Domain    string
	Title     string
	Type      string
	Priority  float64       // 0 to 1, at FoundAt
	LastMod   epoch.Seconds // 0 if unknown
	OwnDate   bool          `json:",omitempty"` // LastMod is the date that the page states
	Snippet   string
	Image     string
	FoundBy   string
	Partition contract.Partition
	Event     string `json:",omitempty"` // "": new
}

// Shown returns the item as readers of the feed get it.
func (i *FeedItem) Shown() contract.FeedItem {
	f := contract.FeedItem{
		URL: i.URL, Domain: i.Domain, Host: markup.HostOf(i.URL), Title: contract.Text(i.Title), Type: i.Type,
		Priority: i.Priority,
		FoundAt:  contract.Time{Time: i.FoundAt.Time()}, FoundBy: contract.Text(i.FoundBy),
		Snippet: contract.Text(i.Snippet), Image: contract.Text(i.Image), Partition: i.Partition,
		Event: cmp.Or(i.Event, EventNew),
	}
	if i.LastMod > 0 {
		f.LastMod = contract.At(i.LastMod.Time())
		source := contract.DateFromListing
		if i.OwnDate {
			source = contract.DateFromPage
		}
		f.DateSource = &source
	}
	return f
}

// Changed holds rewritten contracts of one domain.
type Changed struct {
	Domain  string
	Changes []Change
}

// Change is a new revision of a contract.
type Change struct {
	Partition contract.Partition
	Revision  int
	ChangedAt epoch.Millis
	Reachable bool
}

// ChangesRequest requests the contracts that changed after a sequence number.
type ChangesRequest struct {
	After int64
	Limit int // 1 to 200
}

// ChangesPage is a page of the changes of one shard.
type ChangesPage struct {
	Items   []ChangeItem
	Next    int64
	More    bool
	Expired bool `json:",omitempty"` // changes after ChangesRequest.After were deleted
}

// ChangeItem is the newest revision of a contract.
type ChangeItem struct {
	Sequence int64 // in its shard
	Domain   string
	Change
	Excluded bool // by an operator: do not use the contract any more
}

// ---- Inspect: what the frontier has

// Stats counts what a shard has.
type Stats struct {
	Hosts   int64
	URLs    int64 // pages that wait or are leased
	Entries int64 // entry points
	Leased  int64 // pages and entry points
	Done    int64 // pages, since the beginning
	Failed  int64

	Answers   int64 // reported responses, since the beginning
	Faults    int64 // failed answers: none, 5xx, or no success of an entry point
	Answered  int64 // reported responses today (UTC)
	Refreshed int64 // refreshes today (UTC)

	Bytes       int64 // of the database
	Quarantined int64 // damaged rows
	Withheld    int64 // pages that were not announced since their domain had too many that day

	Scheduled int64   // pages that are to be fetched again
	Revisited int64   // pages that were given again on schedule, since the beginning
	Threshold float64 // the worth from which a page is fetched again; of all shards, the highest

	Due       [Lanes]int64        // ready hosts by lane: those of the front queues, of entry points and of visits
	OldestDue [Lanes]epoch.Millis // the earliest of each; 0 if there is none

	Found []FoundHour // last 24 hours, oldest first, without empty ones

	Scrapers []ScraperCounts `json:",omitempty"` // those that were active last
}

// ScraperCounts counts what a scraper did, since First, or what all that do not name themselves did.
type ScraperCounts struct {
	Name        string        // "" of those without a name
	First, Last epoch.Seconds // lease with items, or report
	Leased      int64         // items
	Fetched     int64         // items whose server answered usefully
	Failed      int64         // the others: no answer, 5xx, or no success of an entry point
}

// QuarantineRequest requests a page of the damaged rows of a shard.
type QuarantineRequest struct {
	After int64 // Next of the last page
	Limit int   // 1 to 500
}

// QuarantinePage is a page of damaged rows, oldest first.
type QuarantinePage struct {
	Rows []QuarantinedRow
	Next int64 // 0 at the end
}

// QuarantinedRow is a stored row that could not be read.
type QuarantinedRow struct {
	ID     int64
	At     epoch.Millis // when it was met
	Table  string
	Key    int64
	Name   string // of its host or domain
	Reason string
	Bytes  int64
}

// QuarantinedID names a damaged row of a shard.
type QuarantinedID struct{ ID int64 }

// FoundHour counts the new URLs of one hour.
type FoundHour struct {
	Hour  epoch.Millis     // its beginning
	Types map[string]int64 // by content type
}

// HostsRequest requests a page of hosts.
type HostsRequest struct {
	Sort    string // "due" (longest due first), "size" (most pages first) or "" (any order)
	Blocked bool   // only blocked hosts
	Cursor  string // Next of the last page
	Limit   int    // 1 to 500
}

// HostsPage is a page of hosts. A host that moves between two pages can be missing or listed twice.
type HostsPage struct {
	Hosts []HostInfo
	Next  string // "" at the end
}

// HostInfo describes a host. An instant of 0 is not set.
type HostInfo struct {
	HostState
	Domain      string
	URLs        int64
	Entries     int
	Due         int64 // pages and entry points that wait only for the host
	Done        int64
	Failed      int64
	Traps       int64        // URLs that were refused since their shape is a trap's
	DueAt       epoch.Millis // when the host has something to fetch
	LeasedUntil epoch.Millis
	Failures    int64  // in a row: requests without an answer, and answers of a broken server
	Refusals    int64  // in a row: 401, 403 and 451
	Fault       *Fault `json:",omitempty"` // the last one, also if it answered since; nil if none is known
	Forbidden   bool   `json:",omitempty"` // its robots.txt forbids everything
	NoRobots    bool   `json:",omitempty"` // its robots.txt could not be read, by those who asked last
	Cursor      string // for a page after this host
}

// Fault is a failed request to a host: there was no useful answer, or it was refused.
type Fault struct {
	At     epoch.Seconds
	Status int    // 0 if there was no answer
	Error  string `json:",omitempty"` // why there was none, at most MaxFaultBytes; "" if nobody said
}

// HostDetail describes a host in full.
type HostDetail struct {
	HostInfo
	Override  int64    // ms: the delay that an operator set; 0 for none
	Leased    []string // URLs
	Patterns  []ObservedPattern
	Scheduled int64        // pages that are to be fetched again
	VisitAt   epoch.Millis // when the first of them is due
	Stale     bool         // its lastmods have proved untrue: newer ones bring nothing back

	// The domain.
	DomainURLs int64        // pages that wait or are leased
	Backlogs   []Backlog    // what is stored of it and was not put yet
	OwnedUntil epoch.Millis // by a collector
	MirrorOf   string
	Evidence   Evidence
	Limit      int64 // of DomainURLs

	Visits VisitBudget // of the shard
	Rules  string      `json:",omitempty"` // of its robots.txt, see HostFindings

	TrapExample string `json:",omitempty"` // the last URL that was refused as a trap
}

// VisitBudget bounds the number of pages that a shard fetches again.
type VisitBudget struct {
	PerDay    int64
	Made      int64   // since the beginning
	Scheduled int64   // pages that are to be fetched again
	Threshold float64 // a page is fetched when the value of looking reaches it; see package revisit
}

// URLState is the state of a URL. An instant of 0 is not set.
type URLState struct {
	State      string // contract.URLDue, …; never contract.URLForbidden
	Why        string // in words
	WhyCode    contract.WhyCode
	DueAt      epoch.Millis
	LeaseUntil epoch.Millis
	Entry      *EntryState // nil unless it is an entry point

	// Set for pages, as far as the shard has kept them.
	Reason     string        // why it waits; see Item
	Attempts   int           // answers that its server is broken, or refusals, since the last fetch
	LastStatus int           // of the last answer; 0 if there was none
	Visits     int           // fetches
	Fetched    epoch.Seconds // last, to the hour or better
	Priority   float64       // now
	Type       string        // content type
	LastMod    epoch.Seconds // 0 when unknown
	Yield      float64       // the factor of its priority by what became of pages like it; 1 if nothing is known

	BlockedUntil epoch.Millis `json:",omitempty"` // its host, by an operator
	Fault        *Fault       `json:",omitempty"` // the last of the URL if it is kept, or of its host while that rests
	Rule         string       `json:",omitempty"` // of its host's robots.txt, which forbids it

	Domain   string
	Evidence Evidence // of the domain's last complete collection
}

// URLsRequest requests the states of URLs of a domain.
type URLsRequest struct {
	Domain string
	URLs   []string // at most MaxPut
}

// URLStates are states in the order of the request, as in URLState; waiting includes due.
type URLStates struct{ States []string }

// EntryState is the state of an entry point.
type EntryState struct {
	Method       string
	Interval     int64 // seconds
	ETag         string
	LastModified string
	LastStatus   int
	ChangedAt    epoch.Millis // 0 if never
	Failures     int          // in a row
	Checks       []Check      // the last 10, oldest first
	DueAt        epoch.Millis // of the next check
}

// Check is one look at an entry point.
type Check struct {
	At      epoch.Seconds `json:"at"`
	Status  int           `json:"status"`  // 0 if there was no response
	Changed bool          `json:"changed"` // the content differed
}

// EntryInfo is an entry point of a domain.
type EntryInfo struct {
	URL       string
	Type      string             // content type of most listed pages
	Partition contract.Partition // the newest
	EntryState
}

// EntryList holds the entry points of a domain.
type EntryList struct{ Entries []EntryInfo }

// PagesRequest requests the pages of a domain.
type PagesRequest struct {
	Domain string
	At     epoch.Seconds // priorities are as of then, since they fall with age
}

// PageInfo is a page that waits or is leased.
type PageInfo struct {
	URL      string
	Title    string // "" if unknown
	Type     string
	Priority float64       // 0 to 1
	LastMod  epoch.Seconds // 0 if unknown
}

// PageList holds the pages of a domain.
type PageList struct{ Pages []PageInfo }

// ---- Operate: what operators decide

// HostChange is an operator's decision about a host. Nil fields change nothing.
type HostChange struct {
	BlockUntil *epoch.Millis // an instant in the past ends a block and a Retry-After
	Delay      *int64        // ms between requests, whatever the host asks for; 0 for what it asks for
	Empty      bool          // drops the waiting pages for good
	Forget     string        `json:",omitempty"` // ForgetFailures, ForgetTraps or ForgetAll
}

// What of a host can be forgotten.
const (
	ForgetFailures = "failures" // what its answers led to: rests, slowing down, Retry-After
	ForgetTraps    = "traps"    // what was found to be a trap by its volume, or by its copies: it is none
	// that, and which pages were fetched or are gone: they are put again from what is stored
	ForgetAll = "all"
)

// Exclusion is a domain, a host or a URL pattern that operators excluded.
type Exclusion struct {
	Kind   string // contract.ExcludeDomain, ExcludeHost or ExcludeURL
	Value  string // as contract.CheckExclusion returns it
	Domain string // registrable domain of a host
}

// ---- Export and restore: snapshots

// Snapshot is a page of what a shard has: first hosts with their queues, known URLs, delays and entry points as they
// are stored, then domains. It can be restored into any number of shards, since ids are made again from the names.
//
// Leases and owners are not restored: what was leased waits again, and is given when the lease is over. Mirrors are
// missing because the next collections bring them. Exclusions are shown but not restored: operators might have changed
// them since, and R2 has the latest.
type Snapshot struct {
	Version  int              `json:"version"`
	Taken    epoch.Millis     `json:"taken,omitempty"` // 0 without a SnapshotOrder
	Classes  []Class          `json:"classes"`         // by their number in the records, from 1
	Patterns []string         `json:"patterns"`        // excluded URL patterns
	Hosts    []HostSnapshot   `json:"hosts"`
	Domains  []DomainSnapshot `json:"domains,omitempty"`
	Next     int64            `json:"next,omitempty"` // start of the next page; 0 at the end
}

// HostSnapshot is a host with its parts.
type HostSnapshot struct {
	Host           string `json:"host"`
	Domain         string `json:"domain"`
	DomainExcluded bool   `json:"domain_excluded,omitempty"`
	Record         []byte `json:"record"`
	Parts          []Part `json:"parts,omitempty"`
}

// Part is a chunk of the known URLs or a segment of the queue.
type Part struct {
	Number int    `json:"number"`
	Data   []byte `json:"data"`
}

// DomainSnapshot is a domain, with hosts or without.
type DomainSnapshot struct {
	Domain   string   `json:"domain"`
	Excluded bool     `json:"excluded,omitempty"`
	Evidence Evidence `json:"evidence"`
	MirrorOf string   `json:"mirror_of,omitempty"`

	Backlogs []Backlog `json:"backlogs,omitempty"`
}

// Backlog is the rest of a domain's stored URLs in one partition: those that were not put yet.
type Backlog struct {
	Partition contract.Partition `json:"partition_info"`
	Next      string             `json:"next"` // as StoredPages.Next
	// pages that were put lost their place: at the end, begin again
	Again bool `json:"again,omitempty"`
}

// MaxExport is the last position at which a page of a snapshot can begin.
const MaxExport = 1 << 52

// ---- Common

// Class is country and category: what the partitions of all days have in common.
type Class struct {
	Country  string `json:"country"`
	Category string `json:"category"`
}

// Bands is the number of front queues for pages, by score:
//
//	0 immediate_crawl ≥ 0.8 · 1 scheduled_crawl ≥ 0.6 · 2 periodic_check ≥ 0.4 · 3 the others
const Bands = 4

// Lanes are the front queues: one a band, then the entry points, then pages that are fetched again.
const (
	EntryLane = Bands
	VisitLane = Bands + 1
	Lanes     = Bands + 2
)

// Limits of one operation.
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
	MaxPosition     = 4096 // bytes of a position in what is stored of a domain
	MaxOwner        = 200
	MaxFaultBytes   = 150
	MaxScraper      = 40
	MaxAcquire      = 64        // hosts of an AcquireRequest
	MaxOwnership    = 3600      // seconds of an AcquireRequest
	MaxReserved     = time.Hour // of a ReleaseRequest: other hosts of the domain are closed meanwhile
)
