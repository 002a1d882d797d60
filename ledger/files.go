package ledger

import (
	"context"
	"time"

	"github.com/newsfork/seed-engine/contract"
	"github.com/newsfork/seed-engine/epoch"
)

// FileChange records what happened to one raw file. Zero fields change nothing.
type FileChange struct {
	contract.RawFile
	Queued        time.Time
	Processed     time.Time     // when it was processed
	SatisfiedUpTo time.Time     // requests made up to then are satisfied
	Duration      time.Duration // of the processing; 0 if not measured
	Records       contract.RecordCounts
	GaveUp        time.Time // when its message was given up
	ErrorType     contract.Kind
	ErrorMessage  string
	Replaced      time.Time // when another file was stored under its name
	Discarded     time.Time // when an operator discarded its dead letter
}

// Like those of domains, records can arrive in any order and repeatedly.
const (
	queueFiles = queued + `
INSERT INTO files (partition, name, queued_at, needed_at, processed_at, met_at, gave_up_at)
SELECT q.id, n.value, q.queued_at, q.needed_at, 0, 0, 0 FROM q JOIN json_each(q.names) AS n WHERE true` + laterQueued

	fileRows = `INSERT INTO files (partition, name, queued_at, needed_at, processed_at, met_at, gave_up_at,
duration_ms, error_type, error_message,
  replaced_at, discarded_at, records, rejected, rejections)
SELECT p.id, value->>'name', value->>'queued_at', 0, value->>'processed_at', value->>'met_at', value->>'gave_up_at',
  value->>'duration_ms', value->>'error_type', value->>'error_message',
  value->>'replaced_at', value->>'discarded_at', value->>'records', value->>'rejected', value->>'rejections'
FROM json_each(?1) JOIN partitions AS p ON p.country = value->>'country' AND p.category = value->>'category'
AND p.date = value->>'date' WHERE true
ON CONFLICT DO UPDATE SET
  queued_at = max(queued_at, excluded.queued_at),
  met_at = max(met_at, excluded.met_at),
  replaced_at = max(replaced_at, excluded.replaced_at),
  discarded_at = max(discarded_at, excluded.discarded_at),
  records = CASE WHEN excluded.processed_at > processed_at THEN excluded.records ELSE records END,
  rejected = CASE WHEN excluded.processed_at > processed_at THEN excluded.rejected ELSE rejected END,
  rejections = CASE WHEN excluded.processed_at > processed_at THEN excluded.rejections ELSE rejections END,
  error_type = CASE WHEN excluded.gave_up_at > gave_up_at THEN excluded.error_type ELSE error_type END,
  error_message = CASE WHEN excluded.gave_up_at > gave_up_at THEN excluded.error_message ELSE error_message END,
  gave_up_at = max(gave_up_at, excluded.gave_up_at),
  `

	changeFiles = fileRows + `duration_ms = CASE WHEN excluded.processed_at > processed_at THEN excluded.duration_ms
ELSE duration_ms END,
  processed_at = max(processed_at, excluded.processed_at)`

	// A file found processed counts again only if the ledger had no record of it.
	findFiles = fileRows +
		`processed_at = CASE WHEN processed_at = 0 THEN excluded.processed_at ELSE processed_at END`

	selectStandings = `SELECT p.country, p.category, p.date, f.name, iif(f.state = 'failed', f.gave_up_at,
0) AS broken_at
FROM json_each(?1)
JOIN partitions AS p ON p.country = value->>'country' AND p.category = value->>'category' AND p.date = value->>'date'
JOIN files AS f ON f.partition = p.id AND f.name = value->>'name'
WHERE f.state = 'failed' AND f.error_type = ?4
  OR f.state = 'pending' AND f.queued_at > ?2 AND f.queued_at >= f.replaced_at AND f.needed_at >= ?3`
)

type fileRow struct {
	contract.Partition
	Name          string       `json:"name"`
	QueuedAt      epoch.Millis `json:"queued_at"`
	ProcessedAt   epoch.Millis `json:"processed_at"`
	SatisfiedUpTo epoch.Millis `json:"met_at"`
	GaveUpAt      epoch.Millis `json:"gave_up_at"`
	DurationMS    *int64       `json:"duration_ms"`
	ErrorType     *string      `json:"error_type"`
	ErrorMessage  *string      `json:"error_message"`
	ReplacedAt    epoch.Millis `json:"replaced_at"`
	DiscardedAt   epoch.Millis `json:"discarded_at"`
	Records       int64        `json:"records"`
	Rejected      int64        `json:"rejected"`
	Rejections    *string      `json:"rejections"`
}

func (c FileChange) row() fileRow {
	r := fileRow{
		Partition: c.Partition, Name: c.Name,
		QueuedAt: epoch.MillisOf(c.Queued), ProcessedAt: epoch.MillisOf(c.Processed),
		SatisfiedUpTo: max(epoch.MillisOf(c.SatisfiedUpTo), epoch.MillisOf(c.Processed)),
		GaveUpAt:      epoch.MillisOf(c.GaveUp),
		ErrorType:     contract.Text(string(c.ErrorType)), ErrorMessage: contract.Text(clip(c.ErrorMessage)),
		ReplacedAt: epoch.MillisOf(c.Replaced), DiscardedAt: epoch.MillisOf(c.Discarded), Records: c.Records.Total,
		Rejected: c.Records.Rejected,
	}
	if len(c.Records.First) > 0 {
		r.Rejections = contract.Text(string(contract.Encode(c.Records.First)))
	}
	if c.Duration > 0 {
		ms := c.Duration.Milliseconds()
		r.DurationMS = &ms
	}
	return r
}

// Queued records that files were sent to their queue. Only forced requests set requiredSince.
func (l *Ledger) Queued(ctx context.Context, files []contract.RawFile, at, requiredSince time.Time) error {
	names := map[contract.Partition][]string{}
	for _, f := range files {
		names[f.Partition] = append(names[f.Partition], f.Name)
	}
	var c Changes
	for p, list := range names {
		c.QueuedFiles = append(c.QueuedFiles, Queued{p, list, at, requiredSince})
	}
	return l.Record(ctx, c)
}

// Standings returns the files that are in flight or malformed. A file is in flight if it was queued after since,
// and neither replaced since then nor finished. With requiredSince, it must have been queued by a request forced
// then or later.
func (l *Ledger) Standings(ctx context.Context, files []contract.RawFile, since,
	requiredSince time.Time) (map[contract.RawFile]contract.FileStanding, error) {
	const op = "ledger.Standings"
	type row struct {
		contract.Partition
		Name     string       `json:"name"`
		BrokenAt epoch.Millis `json:"broken_at,omitempty"`
	}
	names := make([]row, len(files))
	for i, f := range files {
		names[i] = row{Partition: f.Partition, Name: f.Name}
	}
	results, err := l.batch(ctx, op, statement(selectStandings, names, epoch.MillisOf(since),
		epoch.MillisOf(requiredSince), string(contract.Parse)))
	if err != nil {
		return nil, err
	}
	rows, err := decode[row](op, results[0])
	standings := make(map[contract.RawFile]contract.FileStanding, len(rows))
	for _, r := range rows {
		s := contract.FileStanding{InFlight: r.BrokenAt == 0}
		if !s.InFlight {
			s.BrokenAt = r.BrokenAt.Time()
		}
		standings[contract.RawFile{Partition: r.Partition, Name: r.Name}] = s
	}
	return standings, err
}

const (
	deleteFile = `DELETE FROM files WHERE partition = (SELECT id FROM partitions WHERE country = ?1
AND category = ?2 AND date = ?3) AND name = ?4`

	discardLetters = `UPDATE dead_letters SET state = 'discarded', resolved_at = ?3, resolved_by = ?4
WHERE queue_name LIKE ?1 AND work = ?2 AND state = 'stored'`

	selectFiles = `SELECT f.name, f.state, f.error_type, f.error_message
FROM partitions AS p JOIN files AS f ON f.partition = p.id
WHERE p.country = ?2 AND p.category = ?3 AND p.date = ?4 AND f.name IN (SELECT value FROM json_each(?1))`
)

// EndFile records that an operator replaced or deleted a raw file, and discards the file's dead letters. by names
// the token.
func (l *Ledger) EndFile(ctx context.Context, file contract.RawFile, deleted bool, at time.Time, by string) error {
	p := file.Partition
	statements := []Statement{{deleteFile, []any{p.Country, p.Category, p.Date, file.Name}}}
	if !deleted {
		c := Changes{Files: []FileChange{{RawFile: file, Replaced: at}}}
		statements = c.statements()
	}
	letters := []any{contract.QueueName(contract.SeedQueue, "%"), file.Key(), epoch.MillisOf(at), by}
	_, err := l.batch(ctx, "ledger.EndFile", append(statements, Statement{discardLetters, letters})...)
	return err
}

// FileRecord is the ledger's record of a raw file.
type FileRecord struct {
	Name         string  `json:"name"`
	State        string  `json:"state"`
	ErrorType    *string `json:"error_type"`
	ErrorMessage *string `json:"error_message"`
}

// Files returns the records of raw files of a partition, by name.
func (l *Ledger) Files(ctx context.Context, p contract.Partition, names []string) (map[string]FileRecord, error) {
	const op = "ledger.Files"
	results, err := l.batch(ctx, op, statement(selectFiles, names, p.Country, p.Category, p.Date))
	if err != nil {
		return nil, err
	}
	rows, err := decode[FileRecord](op, results[0])
	records := make(map[string]FileRecord, len(rows))
	for _, r := range rows {
		records[r.Name] = r
	}
	return records, err
}
