package r2

import (
	"strconv"
	"strings"
	"time"

	"github.com/newsfork/seed-engine/contract"
	"github.com/newsfork/seed-engine/markup"
)

const (
	rawRoot        = "raw/"
	prodRoot       = "prod/"
	deadLetterRoot = "dlq/"
	checkpointExt  = ".success"
	listExt        = ".json"
)

// RawFile names one raw dataset file, and is the parsed form of its key.
type RawFile struct {
	Partition contract.Partition
	Name      string // raw_NNNN, with four or more digits
}

// Key is where the file lies. The pipeline never writes it.
func (f RawFile) Key() string { return rawRoot + partitionPath(f.Partition) + f.Name + ".json" }

// Checkpoint is the key of the empty object that says the file was processed.
func (f RawFile) Checkpoint() string { return f.Key() + checkpointExt }

// ParseRaw reads the key of a raw file, or of its checkpoint (then checkpoint is true). Everything
// else that lies in a partition, or outside of one, is not ok.
func ParseRaw(key string) (f RawFile, checkpoint, ok bool) {
	key, checkpoint = strings.CutSuffix(key, checkpointExt)
	path, inRoot := strings.CutPrefix(key, rawRoot)
	f.Partition, path, ok = cutPartition(path)
	name, isJSON := strings.CutSuffix(path, ".json")
	if !inRoot || !ok || !isJSON || !isRawName(name) {
		return RawFile{}, false, false
	}
	f.Name = name
	return f, checkpoint, true
}

// RawPartition tells of which partition key is a raw file. It has the form that
// contract.ParseSeed asks for.
func RawPartition(key string) (contract.Partition, bool) {
	f, checkpoint, ok := ParseRaw(key)
	if !ok || checkpoint {
		return contract.Partition{}, false
	}
	return f.Partition, true
}

// RawPrefix is the longest prefix of the raw files that the filters allow: the parts are used in
// this order up to the first empty one.
func RawPrefix(country, category, date string) string {
	return filterPrefix(rawRoot, country, category, date)
}

// ProdPrefix is RawPrefix for what the pipeline writes.
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
	listsDir       = "urls/"
)

// DomainDir is where the contract of one domain in one partition lies.
type DomainDir struct {
	Partition contract.Partition
	Domain    string // sanitised, see SanitizeDomain
}

// Prefix is the beginning of every key of the contract; it ends with a slash.
func (d DomainDir) Prefix() string { return prodRoot + partitionPath(d.Partition) + d.Domain + "/" }

// Document, Checkpoint, Robots, Sitemap and Discovery are the keys of the objects so named.
func (d DomainDir) Document() string   { return d.Prefix() + DocumentName }
func (d DomainDir) Checkpoint() string { return d.Prefix() + CheckpointName }
func (d DomainDir) Robots() string     { return d.Prefix() + RobotsName }
func (d DomainDir) Sitemap() string    { return d.Prefix() + SitemapName }
func (d DomainDir) Discovery() string  { return d.Prefix() + DiscoveryName }

// URLList is the key of the URLs that part (1, 2, …) of a raw file holds for the domain, when they
// are too many for a message. rawName is RawFile.Name.
func (d DomainDir) URLList(rawName string, part int) string {
	return d.Prefix() + listsDir + rawName + "-" + strconv.Itoa(part) + listExt
}

// DeadLetter names one stored dead letter, and is the parsed form of its key.
type DeadLetter struct {
	Queue     string // where the message was given up
	Date      string // YYYY-MM-DD in UTC
	MessageID string
}

// NewDeadLetter names the dead letter of a message given up at the given time. The queue's name and
// the message id must be of letters, digits, "_" and "-".
func NewDeadLetter(queue string, at time.Time, messageID string) (DeadLetter, error) {
	l := DeadLetter{queue, at.UTC().Format(time.DateOnly), messageID}
	if !isToken(queue) {
		return l, contract.Invalid("queue", "%q is not the name of a queue; send letters, digits, \"_\" or \"-\"", queue)
	}
	if !isToken(messageID) {
		return l, contract.Invalid("message_id", "%q is not a message id; send letters, digits, \"_\" or \"-\"", messageID)
	}
	return l, nil
}

// Key is where the dead letter lies.
func (l DeadLetter) Key() string {
	return DeadLetterPrefix(l.Queue, l.Date) + l.MessageID + ".json"
}

// ParseDeadLetter reads the key of a dead letter.
func ParseDeadLetter(key string) (l DeadLetter, ok bool) {
	path, inRoot := strings.CutPrefix(key, deadLetterRoot+"queue=")
	queue, path, hasQueue := strings.Cut(path, "/date=")
	date, path, hasDate := strings.Cut(path, "/")
	id, isJSON := strings.CutSuffix(path, ".json")
	if !inRoot || !hasQueue || !hasDate || !isJSON || !isToken(queue) || !isToken(id) || contract.CheckDate("date", date) != nil {
		return DeadLetter{}, false
	}
	return DeadLetter{queue, date, id}, true
}

// DeadLetterPrefix is the beginning of the keys of a queue's dead letters of one date, of all dates
// for date "", and of all queues for queue "".
func DeadLetterPrefix(queue, date string) string {
	switch {
	case queue == "":
		return deadLetterRoot
	case date == "":
		return deadLetterRoot + "queue=" + queue + "/"
	}
	return deadLetterRoot + "queue=" + queue + "/date=" + date + "/"
}

// SanitizeDomain gives the form of a domain that stands in keys: lower-case ASCII, IDNA A-labels
// (RFC 5891), without a trailing dot. What cannot be brought into that form is a Validation error.
func SanitizeDomain(domain string) (string, error) {
	d := strings.ToLower(strings.TrimSuffix(domain, "."))
	if contract.CheckDomain("domain", d) == nil {
		return d, nil
	}
	a, err := markup.Host(d)
	if err != nil {
		a = d
	}
	return a, contract.CheckDomain("domain", a)
}

// CheckpointMetadata is the custom metadata of every checkpoint.
func CheckpointMetadata(processedAt time.Time, workerVersion string) map[string]string {
	return map[string]string{
		"processed_at": processedAt.UTC().Format(time.RFC3339),
		"processor":    "seed-engine",
		"version":      workerVersion,
	}
}

func partitionPath(p contract.Partition) string {
	return "country=" + p.Country + "/category=" + p.Category + "/date=" + p.Date + "/"
}

// cutPartition reads what partitionPath wrote from the beginning of path.
func cutPartition(path string) (p contract.Partition, rest string, ok bool) {
	part := func(name string) string {
		v, found := strings.CutPrefix(path, name)
		v, after, more := strings.Cut(v, "/")
		if !found || !more {
			return ""
		}
		path = after
		return v
	}
	p = contract.Partition{Country: part("country="), Category: part("category="), Date: part("date=")}
	return p, path, p.Validate("") == nil
}

func filterPrefix(root, country, category, date string) string {
	switch {
	case country == "":
		return root
	case category == "":
		return root + "country=" + country + "/"
	case date == "":
		return root + "country=" + country + "/category=" + category + "/"
	}
	return root + partitionPath(contract.Partition{Country: country, Category: category, Date: date})
}

func isRawName(s string) bool {
	digits, ok := strings.CutPrefix(s, "raw_")
	return ok && contract.IsChunk(digits)
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

// SortedList is the key of a part of the domain's URLs beyond those that its document holds, named
// by a digest of its content.
func (d DomainDir) SortedList(digest string) string {
	return d.Prefix() + listsDir + digest + listExt
}
