package contract

import (
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/newsfork/seed-engine/epoch"
)

// The keys of all objects that the pipeline reads and writes. No other code spells one out.

const (
	rawRoot        = "raw/"
	rawName        = "raw_"
	prodRoot       = "prod/"
	deadLetterRoot = "dlq/"
	checkpointExt  = ".success"
	discardExt     = ".discarded"
	listExt        = ".json"
)

// Beginnings of the directories of a partition, in this order.
const (
	CountryDir  = "country="
	CategoryDir = "category="
	DateDir     = "date="
)

// RawFile names one raw dataset file, and is the parsed form of its key.
type RawFile struct {
	Partition Partition
	Name      string // raw_NNNN, see IsRawName
}

// Key returns the key of the file. Only uploads write it.
func (f RawFile) Key() string { return rawRoot + partitionPath(f.Partition) + f.Name + ".json" }

// Checkpoint returns the key of the empty object that marks the file as processed.
func (f RawFile) Checkpoint() string { return f.Key() + checkpointExt }

// DiscardMark returns the key of the empty object that marks the file as discarded or deleted by an operator. It
// applies to a file that is not newer than itself and has no checkpoint. It sorts between the two keys.
func (f RawFile) DiscardMark() string { return f.Key() + discardExt }

// ParseRawKey parses the key of a raw file, or of its checkpoint (then checkpoint is true). For any other
// key, in a partition or not, ok is false.
func ParseRawKey(key string) (f RawFile, checkpoint, ok bool) {
	key, checkpoint = strings.CutSuffix(key, checkpointExt)
	path, inRoot := strings.CutPrefix(key, rawRoot)
	f.Partition, path, ok = cutPartition(path)
	name, isJSON := strings.CutSuffix(path, ".json")
	if !inRoot || !ok || !isJSON || !IsRawName(name) {
		return RawFile{}, false, false
	}
	f.Name = name
	return f, checkpoint, true
}

// checkRawKey accepts the key of a raw file in partition p.
func checkRawKey(field, key string, p Partition) error {
	if f, checkpoint, ok := ParseRawKey(key); !ok || checkpoint || f.Partition != p {
		return Invalid(field, "%q is not a raw file of that partition; use a key such as %q", clip(key),
			RawFile{p, "raw_0001"}.Key())
	}
	return nil
}

// IsRawName reports whether s names a raw file: raw_ and IsRawNumber.
func IsRawName(s string) bool {
	number, ok := strings.CutPrefix(s, rawName)
	return ok && IsRawNumber(number)
}

// IsRawNumber reports whether s is the number of a raw file: four to twelve digits.
func IsRawNumber(s string) bool {
	for i := range len(s) {
		if s[i] < '0' || s[i] > '9' {
			return false
		}
	}
	return len(s) >= 4 && len(s) <= 12
}

// RawName returns the name of the raw file with a number.
func RawName(number string) string { return rawName + number }

// RawNumber returns the number in the name of a raw file. It returns a number unchanged.
func RawNumber(name string) string { return strings.TrimPrefix(name, rawName) }

// RawPrefix returns the longest common prefix of the keys of raw files that match the filters. An empty filter ends
// the prefix.
func RawPrefix(country, category, date string) string {
	return filterPrefix(rawRoot, country, category, date)
}

// ProdPrefix is RawPrefix for the contracts of domains.
func ProdPrefix(country, category, date string) string {
	return filterPrefix(prodRoot, country, category, date)
}

// Names of the objects that make up the contract of one domain, beside its URL lists.
const (
	DocumentName   = "domain_metadata.json"
	CheckpointName = DocumentName + checkpointExt // written last
	RobotsName     = "robots.txt"                 // as received
	SitemapName    = "sitemap.xml"                // the root sitemap as received, decompressed
	DiscoveryName  = "discovery.json"             // what a merge needs to score again
	// SitemapURLsName is the list of the pages in sitemaps other than the root.
	SitemapURLsName = "sitemap_urls.txt"
	listsDir        = "urls/"
)

// DomainDir is the directory of the contract of one domain in one partition.
type DomainDir struct {
	Partition Partition
	Domain    string // in lower-case A-labels, see CheckDomain
}

// Prefix returns the prefix of every key of the contract; it ends with a slash.
func (d DomainDir) Prefix() string { return prodRoot + partitionPath(d.Partition) + d.Domain + "/" }

// Document, Checkpoint, Robots, Sitemap and Discovery return the keys of the objects with these names.
func (d DomainDir) Document() string   { return d.Prefix() + DocumentName }
func (d DomainDir) Checkpoint() string { return d.Prefix() + CheckpointName }
func (d DomainDir) Robots() string     { return d.Prefix() + RobotsName }
func (d DomainDir) Sitemap() string    { return d.Prefix() + SitemapName }
func (d DomainDir) Discovery() string  { return d.Prefix() + DiscoveryName }

// SitemapURLs returns the key of the list of the pages in sitemaps other than the root.
func (d DomainDir) SitemapURLs() string { return d.Prefix() + SitemapURLsName }

// URLListPrefix returns the prefix of the keys of the domain's URL lists.
func (d DomainDir) URLListPrefix() string { return d.Prefix() + listsDir }

// URLList returns the key of part (1, 2, …) of the URLs of a domain in a raw file, if they are too many for a
// message. rawName is RawFile.Name.
func (d DomainDir) URLList(rawName string, part int) string {
	return d.URLListPrefix() + rawName + "-" + strconv.Itoa(part) + listExt
}

// SortedList returns the key of a list of URLs that the domain's document does not contain. digest is that of the
// list.
func (d DomainDir) SortedList(digest string) string {
	return d.URLListPrefix() + digest + listExt
}

// DeadLetterKey names one stored dead letter, and is the parsed form of its key.
type DeadLetterKey struct {
	Queue     string // where the message was given up
	Date      string // YYYY-MM-DD in UTC
	MessageID string
}

// NewDeadLetterKey returns the key for a message that was given up at the given time. The queue's name and
// the message id must be of letters, digits, "_" and "-".
func NewDeadLetterKey(queue string, at time.Time, messageID string) (DeadLetterKey, error) {
	k := DeadLetterKey{queue, at.UTC().Format(time.DateOnly), messageID}
	if !isToken(queue) {
		return k, Invalid("queue", "%q is not the name of a queue; use letters, digits, \"_\" or \"-\"", queue)
	}
	if !isToken(messageID) {
		return k, Invalid("message_id", "%q is not a message id; use letters, digits, \"_\" or \"-\"", messageID)
	}
	return k, nil
}

// String returns the key.
func (k DeadLetterKey) String() string {
	return DeadLetterPrefix(k.Queue, k.Date) + k.MessageID + ".json"
}

// ParseDeadLetterKey parses the key of a dead letter.
func ParseDeadLetterKey(key string) (k DeadLetterKey, ok bool) {
	path, inRoot := strings.CutPrefix(key, deadLetterRoot+"queue=")
	queue, path, hasQueue := strings.Cut(path, "/"+DateDir)
	date, path, hasDate := strings.Cut(path, "/")
	id, isJSON := strings.CutSuffix(path, ".json")
	if !inRoot || !hasQueue || !hasDate || !isJSON || !isToken(queue) || !isToken(id) ||
		CheckDate("date", date) != nil {
		return DeadLetterKey{}, false
	}
	return DeadLetterKey{queue, date, id}, true
}

// DeadLetterPrefix returns the prefix of the keys of a queue's dead letters of one date; of all dates for
// date "", of all queues for queue "".
func DeadLetterPrefix(queue, date string) string {
	switch {
	case queue == "":
		return deadLetterRoot
	case date == "":
		return deadLetterRoot + "queue=" + queue + "/"
	}
	return deadLetterRoot + "queue=" + queue + "/" + DateDir + date + "/"
}

// ControlsKey is the key of the decisions of operators, see Controls.
const ControlsKey = "control/pipeline.json"

// CheckpointMetadata returns the custom metadata of every checkpoint.
func CheckpointMetadata(processedAt time.Time, workerVersion string) map[string]string {
	return map[string]string{
		"processed_at": processedAt.UTC().Format(time.RFC3339),
		"processor":    "seed-engine",
		"version":      workerVersion,
	}
}

func partitionPath(p Partition) string {
	return CountryDir + p.Country + "/" + CategoryDir + p.Category + "/" + DateDir + p.Date + "/"
}

// cutPartition cuts the output of partitionPath off the beginning of path.
func cutPartition(path string) (p Partition, after string, ok bool) {
	part := func(name string) string {
		v, found := strings.CutPrefix(path, name)
		v, after, more := strings.Cut(v, "/")
		if !found || !more {
			return ""
		}
		path = after
		return v
	}
	p = Partition{Country: part(CountryDir), Category: part(CategoryDir), Date: part(DateDir)}
	return p, path, p.Validate("") == nil
}

func filterPrefix(root, country, category, date string) string {
	switch {
	case country == "":
		return root
	case category == "":
		return root + CountryDir + country + "/"
	case date == "":
		return root + CountryDir + country + "/" + CategoryDir + category + "/"
	}
	return root + partitionPath(Partition{Country: country, Category: category, Date: date})
}

func isToken(s string) bool {
	for i := range len(s) {
		c := s[i]
		if (c < 'a' || c > 'z') && (c < 'A' || c > 'Z') && (c < '0' || c > '9') && c != '_' && c != '-' {
			return false
		}
	}
	return s != "" && len(s) <= 128
}

// SnapshotRoot is the directory of all snapshots of the frontier.
const SnapshotRoot = "frontier/"

// SnapshotDir returns the directory of a shard's snapshots.
func SnapshotDir(shard string) string { return SnapshotRoot + shard + "/" }

// Snapshot names a snapshot of a shard. Each has a directory of its own, so one that ends half-way leaves the others as
// they are.
type Snapshot struct {
	Shard string
	Date  string       // its day (UTC)
	Born  epoch.Millis // of the shard's database: one that was lost is followed by one that is younger
	Taken epoch.Millis // 0 for one by a version before Born and Taken were in the name
}

// Dir returns the directory of the snapshot. Directories sort by day, then by Born and Taken.
func (s Snapshot) Dir() string {
	if s.Taken == 0 {
		return SnapshotDay(s.Shard, s.Date) + "/"
	}
	return fmt.Sprintf("%s%d/", s.Siblings(), s.Taken)
}

// Siblings returns the common prefix of the directories of a day's snapshots of the same database.
func (s Snapshot) Siblings() string {
	return fmt.Sprintf("%s.%d.", SnapshotDay(s.Shard, s.Date), s.Born)
}

// SnapshotDay returns the common prefix of the directories of a day's snapshots.
func SnapshotDay(shard, date string) string { return SnapshotDir(shard) + DateDir + date }

// SnapshotPrefix returns the common prefix of the keys of a snapshot's pages.
func SnapshotPrefix(dir string) string { return dir + "page-" }

// SnapshotPage returns the key of a page of a snapshot, from 1.
func SnapshotPage(dir string, page int) string {
	return fmt.Sprintf("%s%04d%s", SnapshotPrefix(dir), page, listExt)
}

// ParseSnapshot parses the directory of a snapshot.
func ParseSnapshot(dir string) (s Snapshot, ok bool) {
	path, inRoot := strings.CutPrefix(dir, SnapshotRoot)
	shard, path, found := strings.Cut(path, "/"+DateDir)
	name, isDir := strings.CutSuffix(path, "/")
	date, times, named := strings.Cut(name, ".")
	s = Snapshot{Shard: shard, Date: date}
	if _, err := time.Parse(time.DateOnly, date); err != nil || !inRoot || !found || !isDir {
		return s, false
	}
	if named {
		born, taken, _ := strings.Cut(times, ".")
		s.Born, s.Taken = millis(born), millis(taken)
	}
	return s, s.Dir() == dir
}

func millis(s string) epoch.Millis {
	n, _ := strconv.ParseInt(s, 10, 64)
	return epoch.Millis(n)
}
