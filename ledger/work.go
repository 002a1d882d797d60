package ledger

import (
	"cmp"
	"context"
	"encoding/json"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/newsfork/seed-engine/contract"
)

// Queued says that files, or domains of one partition, were sent to their queue.
type Queued struct {
	Partition contract.Partition
	Names     []string // raw_NNNN, or registrable domains
	At        time.Time
	Needed    time.Time // of a forced request: what was finished before is to be done again; else zero
}

// FileChange is news of one raw file. Zero fields are no news.
type FileChange struct {
	contract.RawFile
	Queued       time.Time
	Processed    time.Time     // when it was processed
	Met          time.Time     // every request up to then is answered
	Duration     time.Duration // of the processing; 0 when it is not known
	GaveUp       time.Time     // when its message was given up
	ErrorType    contract.Kind
	ErrorMessage string
}

// DomainChange is news of one domain of a partition. Zero fields are no news.
type DomainChange struct {
	Partition    contract.Partition
	Domain       string
	Queued       time.Time
	Needed       time.Time         // as in Queued
	Outcome      *contract.Outcome // of its collection
	Met          time.Time         // every request up to then is answered
	Excluded     time.Time         // when a message was dropped because the domain is excluded
	GaveUp       time.Time         // when a message was given up
	ErrorType    contract.Kind     // of what was given up
	ErrorMessage string
}

// Rows are written so that records may arrive in any order and any number of times: every time
// column keeps its greatest value, facts come from the newest collection, and an error from the
// newest failure.
const (
	insertPartitions = `INSERT INTO partitions (country, category, date)
SELECT value->>'country', value->>'category', value->>'date' FROM json_each(?1) WHERE true
ON CONFLICT DO NOTHING`

	// Materialised, or every name would have the list of all read again.
	queued = `WITH q AS MATERIALIZED (
  SELECT p.id, value->>'queued_at' AS queued_at, value->>'needed_at' AS needed_at, value->'names' AS names
  FROM json_each(?1) JOIN partitions AS p ON p.country = value->>'country' AND p.category = value->>'category' AND p.date = value->>'date')
`
	laterQueued = `
ON CONFLICT DO UPDATE SET queued_at = max(queued_at, excluded.queued_at), needed_at = max(needed_at, excluded.needed_at)
WHERE excluded.queued_at > queued_at OR excluded.needed_at > needed_at`

	queueFiles = queued + `INSERT INTO files (partition, name, queued_at, needed_at, processed_at, met_at, gave_up_at)
SELECT q.id, n.value, q.queued_at, q.needed_at, 0, 0, 0 FROM q JOIN json_each(q.names) AS n WHERE true` + laterQueued

	queueDomains = queued + `INSERT INTO domains (partition, domain, queued_at, needed_at, collected_at, met_at, gave_up_at, excluded_at)
SELECT q.id, n.value, q.queued_at, q.needed_at, 0, 0, 0, 0 FROM q JOIN json_each(q.names) AS n WHERE true` + laterQueued

	fileRows = `INSERT INTO files (partition, name, queued_at, needed_at, processed_at, met_at, gave_up_at, duration_ms, error_type, error_message)
SELECT p.id, value->>'name', value->>'queued_at', 0, value->>'processed_at', value->>'met_at', value->>'gave_up_at',
  value->>'duration_ms', value->>'error_type', value->>'error_message'
FROM json_each(?1) JOIN partitions AS p ON p.country = value->>'country' AND p.category = value->>'category' AND p.date = value->>'date' WHERE true
ON CONFLICT DO UPDATE SET
  queued_at = max(queued_at, excluded.queued_at),
  met_at = max(met_at, excluded.met_at),
  error_type = CASE WHEN excluded.gave_up_at > gave_up_at THEN excluded.error_type ELSE error_type END,
  error_message = CASE WHEN excluded.gave_up_at > gave_up_at THEN excluded.error_message ELSE error_message END,
  gave_up_at = max(gave_up_at, excluded.gave_up_at),
  `
	changeFiles = fileRows + `duration_ms = CASE WHEN excluded.processed_at > processed_at THEN excluded.duration_ms ELSE duration_ms END,
  processed_at = max(processed_at, excluded.processed_at)`

	// A file that is found processed was processed once more only if the ledger did not know.
	findFiles = fileRows + `processed_at = CASE WHEN processed_at = 0 THEN excluded.processed_at ELSE processed_at END`

	changeDomains = `INSERT INTO domains (partition, domain, queued_at, needed_at, collected_at, met_at, gave_up_at, excluded_at, reachable, robots, sitemap, duration_ms, error_type, error_message)
SELECT p.id, value->>'domain', value->>'queued_at', value->>'needed_at', value->>'collected_at', value->>'met_at', value->>'gave_up_at', value->>'excluded_at',
  value->>'reachable', value->>'robots', value->>'sitemap', value->>'duration_ms', value->>'error_type', value->>'error_message'
FROM json_each(?1) JOIN partitions AS p ON p.country = value->>'country' AND p.category = value->>'category' AND p.date = value->>'date' WHERE true
ON CONFLICT DO UPDATE SET
  queued_at = max(queued_at, excluded.queued_at),
  needed_at = max(needed_at, excluded.needed_at),
  met_at = max(met_at, excluded.met_at),
  excluded_at = max(excluded_at, excluded.excluded_at),
  reachable = CASE WHEN excluded.collected_at > collected_at THEN excluded.reachable ELSE reachable END,
  robots = CASE WHEN excluded.collected_at > collected_at THEN excluded.robots ELSE robots END,
  sitemap = CASE WHEN excluded.collected_at > collected_at THEN excluded.sitemap ELSE sitemap END,
  duration_ms = CASE WHEN excluded.collected_at > collected_at THEN excluded.duration_ms ELSE duration_ms END,
  error_type = CASE WHEN max(excluded.collected_at, excluded.gave_up_at) > max(collected_at, gave_up_at) THEN excluded.error_type ELSE error_type END,
  error_message = CASE WHEN max(excluded.collected_at, excluded.gave_up_at) > max(collected_at, gave_up_at) THEN excluded.error_message ELSE error_message END,
  gave_up_at = max(gave_up_at, excluded.gave_up_at),
  collected_at = max(collected_at, excluded.collected_at)`

	selectInFlight = `SELECT p.country, p.category, p.date, f.name
FROM json_each(?1)
JOIN partitions AS p ON p.country = value->>'country' AND p.category = value->>'category' AND p.date = value->>'date'
JOIN files AS f ON f.partition = p.id AND f.name = value->>'name'
WHERE f.state = 'pending' AND f.queued_at > ?2 AND f.needed_at >= ?3`
)

// queuedRow is a Queued, or a part of one.
type queuedRow struct {
	contract.Partition
	Names    []string `json:"names"`
	QueuedAt int64    `json:"queued_at"`
	NeededAt int64    `json:"needed_at"`
}

// maxNames keeps a queuedRow, whose names have at most 253 bytes, below MaxStringBytes.
const maxNames = 2000

func queuedRows(list []Queued) (rows []queuedRow) {
	for _, q := range list {
		for names := range slices.Chunk(q.Names, maxNames) {
			rows = append(rows, queuedRow{q.Partition, names, millis(q.At), millis(q.Needed)})
		}
	}
	return rows
}

type fileRow struct {
	contract.Partition
	Name         string  `json:"name"`
	QueuedAt     int64   `json:"queued_at"`
	ProcessedAt  int64   `json:"processed_at"`
	MetAt        int64   `json:"met_at"`
	GaveUpAt     int64   `json:"gave_up_at"`
	DurationMS   *int64  `json:"duration_ms"`
	ErrorType    *string `json:"error_type"`
	ErrorMessage *string `json:"error_message"`
}

func (c FileChange) row() fileRow {
	r := fileRow{
		Partition: c.Partition, Name: c.Name,
		QueuedAt: millis(c.Queued), ProcessedAt: millis(c.Processed), MetAt: max(millis(c.Met), millis(c.Processed)), GaveUpAt: millis(c.GaveUp),
		ErrorType: contract.Text(string(c.ErrorType)), ErrorMessage: contract.Text(clip(c.ErrorMessage)),
	}
	if c.Duration > 0 {
		ms := c.Duration.Milliseconds()
		r.DurationMS = &ms
	}
	return r
}

type domainRow struct {
	contract.Partition
	Domain       string  `json:"domain"`
	QueuedAt     int64   `json:"queued_at"`
	NeededAt     int64   `json:"needed_at"`
	CollectedAt  int64   `json:"collected_at"`
	MetAt        int64   `json:"met_at"`
	GaveUpAt     int64   `json:"gave_up_at"`
	ExcludedAt   int64   `json:"excluded_at"`
	Reachable    *int64  `json:"reachable"`
	Robots       *int64  `json:"robots"`
	Sitemap      *int64  `json:"sitemap"`
	DurationMS   *int64  `json:"duration_ms"`
	ErrorType    *string `json:"error_type"`
	ErrorMessage *string `json:"error_message"`
}

func (c DomainChange) row() domainRow {
	r := domainRow{
		Partition: c.Partition, Domain: c.Domain,
		QueuedAt: millis(c.Queued), NeededAt: millis(c.Needed), MetAt: millis(c.Met), GaveUpAt: millis(c.GaveUp), ExcludedAt: millis(c.Excluded),
		ErrorType: contract.Text(string(c.ErrorType)), ErrorMessage: contract.Text(clip(c.ErrorMessage)),
	}
	if o := c.Outcome; o != nil {
		ms := o.Duration.Milliseconds()
		r.CollectedAt = millis(o.CollectedAt)
		r.MetAt = max(r.MetAt, r.CollectedAt)
		r.Reachable, r.Robots, r.Sitemap, r.DurationMS = bit(o.Reachable), bit(o.Robots), bit(o.Sitemap), &ms
		if c.GaveUp.IsZero() {
			r.ErrorType, r.ErrorMessage = contract.Text(o.ErrorType), contract.Text(clip(o.ErrorMessage))
		}
	}
	return r
}

// work gives the statements for what happened to files and domains.
func (c *Changes) work() (statements []Statement) {
	partitions := map[contract.Partition]bool{}
	for _, q := range slices.Concat(c.QueuedFiles, c.QueuedDomains) {
		partitions[q.Partition] = true
	}
	files, found := []fileRow{}, []fileRow{}
	for _, f := range c.Files {
		partitions[f.Partition] = true
		files = append(files, f.row())
	}
	for _, f := range c.FoundFiles {
		partitions[f.Partition] = true
		found = append(found, f.row())
	}
	domains := []domainRow{}
	for _, d := range c.Domains {
		partitions[d.Partition] = true
		domains = append(domains, d.row())
	}
	named := slices.SortedFunc(maps.Keys(partitions), func(a, b contract.Partition) int {
		return cmp.Or(strings.Compare(a.Country, b.Country), strings.Compare(a.Category, b.Category), strings.Compare(a.Date, b.Date))
	})
	statements = append(statements, pieces(insertPartitions, named)...)
	statements = append(statements, pieces(queueFiles, queuedRows(c.QueuedFiles))...)
	statements = append(statements, pieces(queueDomains, queuedRows(c.QueuedDomains))...)
	statements = append(statements, pieces(changeFiles, files)...)
	statements = append(statements, pieces(findFiles, found)...)
	return append(statements, pieces(changeDomains, domains)...)
}

// maxPiece is about how many bytes of a list travel in one parameter, well below MaxStringBytes.
const maxPiece = MaxStringBytes / 4

// pieces makes list the parameter, as JSON, of as many statements as its size asks for; none when it
// is empty.
func pieces[Row any](sql string, list []Row) (statements []Statement) {
	piece := []byte{'['}
	flush := func() {
		statements = append(statements, Statement{sql, []any{string(append(piece, ']'))}})
		piece = piece[:1]
	}
	for _, row := range list {
		if len(piece) > maxPiece {
			flush()
		}
		if len(piece) > 1 {
			piece = append(piece, ',')
		}
		b, err := json.Marshal(row)
		if err != nil {
			panic(err) // strings and integers always marshal
		}
		piece = append(piece, b...)
	}
	if len(piece) > 1 {
		flush()
	}
	return statements
}

// Queued notes that files were sent to their queue. needed is zero but for forced requests.
func (l *Ledger) Queued(ctx context.Context, files []contract.RawFile, at, needed time.Time) error {
	names := map[contract.Partition][]string{}
	for _, f := range files {
		names[f.Partition] = append(names[f.Partition], f.Name)
	}
	var c Changes
	for p, list := range names {
		c.QueuedFiles = append(c.QueuedFiles, Queued{p, list, at, needed})
	}
	return l.Record(ctx, c)
}

// InFlight gives those of the files that were queued after since and are not finished. Where needed is
// not zero, they were queued by a request that was forced then or later.
func (l *Ledger) InFlight(ctx context.Context, files []contract.RawFile, since, needed time.Time) (map[contract.RawFile]bool, error) {
	const op = "ledger.InFlight"
	type name struct {
		contract.Partition
		Name string `json:"name"`
	}
	names := make([]name, len(files))
	for i, f := range files {
		names[i] = name{f.Partition, f.Name}
	}
	results, err := l.batch(ctx, op, statement(selectInFlight, names, millis(since), millis(needed)))
	if err != nil {
		return nil, err
	}
	rows, err := decode[name](op, results[0])
	inFlight := make(map[contract.RawFile]bool, len(rows))
	for _, r := range rows {
		inFlight[contract.RawFile{Partition: r.Partition, Name: r.Name}] = true
	}
	return inFlight, err
}

// millis is t in milliseconds since 1970; 0 for the zero time.
func millis(t time.Time) int64 {
	if t.IsZero() {
		return 0
	}
	return t.UnixMilli()
}

// moment is the time of milliseconds; nil for 0.
func moment(ms int64) *contract.Time {
	if ms == 0 {
		return nil
	}
	return contract.At(time.UnixMilli(ms).UTC())
}

func bit(b bool) *int64 {
	var n int64
	if b {
		n = 1
	}
	return &n
}
