package store

import (
	"errors"
	"slices"

	"github.com/newsfork/seed-engine/epoch"
)

// A packed log is a table of blocks: records in the order in which they were appended, as many in a row
// as fit, since rows written are the price. An append rewrites the last block, which is one row, or
// begins new ones. A record's number is its block's key plus its index there. Keys grow with the
// clock, so that numbers are not given twice when a shard is lost and restored without its logs.
const (
	feedLog    = "feed"
	changesLog = "changes"
)

// Limits of a packed log.
const (
	maxLogBlock  = 32 << 10  // bytes, but for its first record: an append rewrites a block
	maxLogAge    = epoch.Day // after which a block is not added to, so that it can be deleted when it is old
	logBatch     = 4         // blocks that are read at once
	maxLogBlocks = 64        // blocks that one operation reads
)

// logTables are the tables feed and changes.
type logTables struct {
	tx   *Tx
	news [][]byte // items of the feed that are not written yet
}

// logRecord is a record with its number.
type logRecord struct {
	number int64
	data   string
}

// logRecords returns the records of a block.
func logRecords(key int64, block []byte) ([]logRecord, error) {
	var records []logRecord
	d := decode(block)
	for n := key; d.at < len(d.text); n++ {
		records = append(records, logRecord{n, d.string()})
	}
	return records, d.err
}

// append appends records to a log and returns their numbers.
func (c *logTables) append(log string, records [][]byte) ([]int64, error) {
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
		if key == 0 || len(block) > 0 && len(block)+len(record) > maxLogBlock ||
			c.tx.now.Sub(epoch.Millis(key)) > maxLogAge {
			key, block = max(last+1, int64(c.tx.now), *c.deleted(log)+1), nil
			last = key - 1
		}
		last++
		block = appendString(block, string(record))
		numbers[i], changed[key] = last, block
	}
	return numbers, c.tx.writeData(log, changed)
}

// LogPage describes what was read of a log.
type LogPage struct {
	Next    int64 // number of the last record that was read
	More    bool  // there may be more
	Expired bool  // records after the requested number were deleted
}

// read returns the records of a log after a number to each, in their order, until it does not take all of them or
// maxLogBlocks are read.
func (c *logTables) read(log string, after int64, each func([]logRecord) (taken int, err error)) (page LogPage,
	err error) {
	page.Next = after
	if deleted := *c.deleted(log); after > 0 && after < deleted { // a reader that begins has missed nothing
		page.Next, page.Expired = deleted, true
	}
	from := after + 1
	for range maxLogBlocks / logBatch {
		rows, err := c.tx.db.Run("SELECT key, data FROM "+log+" WHERE key >= coalesce((SELECT max(key) FROM "+log+
			" WHERE key <= ?1), 0) ORDER BY key LIMIT ?2", from, int64(logBatch))
		if err != nil {
			return page, err
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
					return page, err
				}
				from = max(from, key+1)
				continue
			}
			if err != nil {
				return page, err
			}
			if taken > 0 {
				page.Next = records[taken-1].number
			}
			if taken < len(records) {
				page.More = true
				return page, nil
			}
			from = max(from, key+1)
			if len(records) > 0 {
				from = records[len(records)-1].number + 1
			}
		}
		if err := rows.Err(); err != nil || blocks < logBatch {
			return page, err
		}
	}
	page.More = true
	return page, nil
}

// deletedLogs are the numbers of the last records that were deleted of each log; 0 where none was.
type deletedLogs struct{ Feed, Changes int64 }

// begin makes cursors from before now expire, as the shard is new: it might replace one that was lost.
func (c *logTables) begin() {
	before := max(int64(c.tx.now)-1, 0)
	c.tx.state.deleted = deletedLogs{Feed: before, Changes: before}
}

func (d *deletedLogs) numbers() []*int64 { return []*int64{&d.Feed, &d.Changes} }

// deleted returns the number of the last record of a log that was deleted, to be read or set.
func (c *logTables) deleted(log string) *int64 {
	if log == feedLog {
		return &c.tx.state.deleted.Feed
	}
	return &c.tx.state.deleted.Changes
}

// maxPruned is the number of blocks of a log that one operation deletes.
const maxPruned = 64

// PruneLogs deletes blocks whose records are all older than an instant, the oldest first, and reports whether there are
// more than one operation deletes.
func (c *Tx) PruneLogs(kept epoch.Millis) (more bool, err error) {
	for _, log := range [...]string{feedLog, changesLog} {
		// A block was begun after the last record of the one before, so that one is as old.
		rows, err := c.db.Run("WITH old AS (SELECT key FROM "+log+" WHERE key < (SELECT max(key) FROM "+log+
			" WHERE key <= ?1) ORDER BY key LIMIT ?2) SELECT key, (SELECT count(*) FROM old), data FROM "+log+
			" WHERE key = (SELECT max(key) FROM old)", int64(kept), int64(maxPruned))
		if err != nil {
			return false, err
		}
		if !rows.Next() {
			if err := rows.Err(); err != nil {
				return false, err
			}
			continue
		}
		key, blocks := rows.Int(), rows.Int()
		more = more || blocks == maxPruned
		records, _ := logRecords(key, rows.Blob()) // a damaged block is deleted like the others
		*c.logs.deleted(log) = key + int64(max(len(records)-1, 0))
		if _, err := c.db.Run("DELETE FROM "+log+" WHERE key <= ?1", key); err != nil {
			return false, err
		}
	}
	return more, nil
}
