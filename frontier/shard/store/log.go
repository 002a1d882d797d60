package store

import (
	"errors"
	"slices"
)

// A packed log is a table of blocks: records in the order in which they were appended, as many in a row
// as fit, since rows written are the price. An append rewrites the last block, which is one row, or
// begins new ones. A record's number is its block's key plus its index there. Keys grow with the
// clock, so that numbers are not given twice when a shard is lost and restored without its logs.
const (
	FeedLog    = "feed"
	ChangesLog = "changes"
)

// Limits of a packed log.
const (
	maxLogBlock  = 32 << 10   // bytes, but for its first record: an append rewrites a block
	maxLogAge    = 86_400_000 // ms after which a block is not added to, so that it can be deleted when it is old
	logBatch     = 4          // blocks that are read at once
	maxLogBlocks = 64         // blocks that one operation reads
)

// Logs are the tables feed and changes.
type Logs struct {
	tx   *Tx
	news [][]byte // items of the feed that are not written yet
}

// LogRecord is a record with its number.
type LogRecord struct {
	Number int64
	data   string
}

// logRecords takes a block apart.
func logRecords(key int64, block []byte) ([]LogRecord, error) {
	var records []LogRecord
	d := decode(block)
	for n := key; d.at < len(d.text); n++ {
		records = append(records, LogRecord{n, d.string()})
	}
	return records, d.err
}

// appendLog appends records to a log and gives their numbers.
func (c *Logs) append(log string, records [][]byte) ([]int64, error) {
	rows, err := c.tx.db.Run("SELECT key, data FROM " + log + " ORDER BY key DESC LIMIT 1")
	if err != nil {
		return nil, err
	}
	key, last := int64(0), int64(0) // of the block, and of the last record
	var block []byte
	if rows.Next() {
		key, block = rows.Int(), slices.Clone(rows.Blob())
		known, err := logRecords(key, block)
		last = key + int64(len(known)) - 1
		if err != nil {
			if err := c.dropBlock(log, key, block); err != nil {
				return nil, err
			}
			last = key + int64(len(block)) // it had no more records than bytes
			key = 0
		}
	}
	numbers := make([]int64, len(records))
	changed := map[int64][]byte{}
	for i, record := range records {
		if key == 0 || len(block) > 0 && len(block)+len(record) > maxLogBlock || c.tx.now-key > maxLogAge {
			key, block = max(last+1, c.tx.now, 1), nil
			last = key - 1
		}
		last++
		block = appendString(block, string(record))
		numbers[i], changed[key] = last, block
	}
	return numbers, c.tx.writeData(log, changed)
}

// ReadLog returns the records of a log after a number to each, in their order, until it returns false or
// maxLogBlocks are read. It reports the number of the last record that was given, and whether there may
// be more.
func (c *Logs) Read(log string, after int64, each func([]LogRecord) (taken int, err error)) (last int64, more bool, err error) {
	last = after
	from := after + 1
	for range maxLogBlocks / logBatch {
		rows, err := c.tx.db.Run("SELECT key, data FROM "+log+" WHERE key >= coalesce((SELECT max(key) FROM "+log+" WHERE key <= ?1), 0) ORDER BY key LIMIT ?2", from, int64(logBatch))
		if err != nil {
			return last, false, err
		}
		blocks := 0
		for ; rows.Next(); blocks++ {
			key, block := rows.Int(), rows.Blob()
			records, err := logRecords(key, block)
			if skip := from - key; skip > 0 {
				records = records[min(skip, int64(len(records))):]
			}
			taken := 0
			if err == nil {
				taken, err = each(records)
			}
			if errors.Is(err, ErrDamaged) {
				if err := c.dropBlock(log, key, block); err != nil {
					return last, false, err
				}
				from = max(from, key+1)
				continue
			}
			if err != nil {
				return last, false, err
			}
			if taken > 0 {
				last = records[taken-1].Number
			}
			if taken < len(records) {
				return last, true, nil
			}
			from = max(from, key+1)
			if len(records) > 0 {
				from = records[len(records)-1].Number + 1
			}
		}
		if err := rows.Err(); err != nil || blocks < logBatch {
			return last, false, err
		}
	}
	return last, true, nil
}

// deletedLogs are the numbers of the last records that were deleted of each log; 0 where none was.
type deletedLogs struct{ Feed, Changes int64 }

func (d *deletedLogs) numbers() []*int64 { return []*int64{&d.Feed, &d.Changes} }

// Expired reports whether records after a number were deleted. A reader that begins has missed nothing.
func Expired(after, deleted int64) bool { return after > 0 && after < deleted }

// PruneLogs deletes blocks whose records are all older than the time that logs are kept.
func (c *Logs) Prune(kept int64) error {
	for log, deleted := range map[string]*int64{FeedLog: &c.tx.state.Deleted.Feed, ChangesLog: &c.tx.state.Deleted.Changes} {
		// A block was begun after the last record of the one before, so that one is as old.
		rows, err := c.tx.db.Run("SELECT key, data FROM "+log+" WHERE key < (SELECT max(key) FROM "+log+" WHERE key <= ?1) ORDER BY key DESC LIMIT 1", kept)
		if err != nil {
			return err
		}
		if !rows.Next() {
			if err := rows.Err(); err != nil {
				return err
			}
			continue
		}
		key := rows.Int()
		records, _ := logRecords(key, rows.Blob()) // a damaged block is deleted like the others
		if n := len(records); n > 0 {
			*deleted = records[n-1].Number
		}
		if _, err := c.tx.db.Run("DELETE FROM "+log+" WHERE key <= ?1", key); err != nil {
			return err
		}
	}
	return nil
}
