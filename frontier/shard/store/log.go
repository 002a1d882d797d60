package store

import (
	"errors"
	"slices"

	"github.com/newsfork/seed-engine/epoch"
)

// A packed log is a table of blocks: records in the order in which they were appended, as many in a row
// as fit, since rows written are the price. An append rewrites the last block, which is one row, or
// begins new ones. The last block of the feed is a column of the shard's counters, whose row is written
// anyway when something is announced. A record's number is its block's key plus its index there. Keys grow with the
// clock, so that numbers are not given twice when a shard is lost and restored without its logs.
const (
	feedLog    = "feed"
	changesLog = "changes"
)

// Limits of a packed log.
const (
	maxLogBlock  = 48 << 10  // bytes, but for its first record: an append rewrites a block
	maxLogAge    = epoch.Day // after which a block is not added to, so that it can be deleted when it is old
	logBatch     = 4         // blocks that are read at once
	maxLogBlocks = 64        // blocks that one operation reads
)

// logTables are the tables feed and changes.
type logTables struct {
	tx     *Tx
	news   [][]byte  // items of the feed that are not written yet
	feed   *logBlock // the last block of the feed; nil before it was loaded
	grown  bool      // it is to be written
	before int64     // the last number of the feed's table, if there is no last block; 0 before it was loaded
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

// logBlock is the last block of a log. Without a key there is none.
type logBlock struct {
	key   int64
	count int64 // of its records
	data  []byte
}

func (b *logBlock) encode() []byte { return append(appendUint(nil, b.key), b.data...) }

// lastOfFeed loads the last block of the feed, once.
func (c *logTables) lastOfFeed() (*logBlock, error) {
	if c.feed != nil {
		return c.feed, nil
	}
	rows, err := c.tx.db.Run(`SELECT feed FROM state WHERE key = 0`)
	if err != nil {
		return nil, err
	}
	c.feed = &logBlock{}
	if !rows.Next() {
		return c.feed, rows.Err()
	}
	record := rows.Blob()
	if len(record) == 0 {
		return c.feed, nil
	}
	d := decode(record)
	key := d.int()
	valid := d.err == nil
	if valid && epoch.Millis(key) > c.tx.now.Add(maxLogAge) {
		if valid, err = c.clockWasAhead(key, record[d.at:]); err != nil {
			return nil, err
		}
	}
	if !valid {
		key, d.at = int64(c.tx.now), 0
	}
	*c.feed = logBlock{key: key, data: slices.Clone(record[d.at:])}
	records, err := logRecords(key, c.feed.data)
	if err != nil {
		return c.feed, c.dropBlock(feedLog, key, c.feed.data)
	}
	c.feed.count = int64(len(records))
	return c.feed, nil
}

// clockWasAhead reports whether the last block of the feed may have a key that is later than now: if its first record,
// what is before it in the feed or what was deleted is as late.
func (c *logTables) clockWasAhead(key int64, block []byte) (bool, error) {
	_, latest, err := c.lastBlock(feedLog)
	if err != nil {
		return false, err
	}
	if item, err := decodeFeedItem(decode(block).string()); err == nil {
		latest = max(latest, int64(item.FoundAt))
	}
	return epoch.Millis(key) <= epoch.Millis(max(latest, *c.deleted(feedLog))).Add(maxLogAge), nil
}

// lastNumber returns the number of the last record of the feed, once it has loaded what an append needs.
func (c *logTables) lastNumber() (int64, error) {
	block, err := c.lastOfFeed()
	if err != nil {
		return 0, err
	}
	if block.key != 0 {
		return block.last(), nil
	}
	if c.before == 0 { // an earlier version has written the feed
		_, c.before, err = c.lastBlock(feedLog)
	}
	return c.before, err
}

// last returns the number of the last record.
func (b *logBlock) last() int64 { return b.key + b.count - 1 }

// lastBlock reads the last block of a log from its table. One that is damaged is dropped, and only its last number is
// returned.
func (c *logTables) lastBlock(log string) (block logBlock, last int64, err error) {
	rows, err := c.tx.db.Run("SELECT key, data FROM " + log + " ORDER BY key DESC LIMIT 1")
	if err != nil || !rows.Next() {
		return block, 0, err
	}
	block = logBlock{key: rows.Int(), data: slices.Clone(rows.Blob())}
	records, err := logRecords(block.key, block.data)
	if err != nil { // it had no more records than bytes
		return logBlock{}, block.key + int64(len(block.data)), c.dropBlock(log, block.key, block.data)
	}
	block.count = int64(len(records))
	return block, block.last(), nil
}

// append appends records to a log whose last block has a last number, and returns their numbers, and the blocks that
// are full.
func (c *logTables) append(log string, block *logBlock, last int64, records [][]byte) (numbers []int64,
	full map[int64][]byte) {
	full = map[int64][]byte{}
	for _, record := range records {
		if block.key == 0 || len(block.data) > 0 && len(block.data)+len(record) > maxLogBlock ||
			c.tx.now.Sub(epoch.Millis(block.key)) > maxLogAge {
			if block.key != 0 {
				full[block.key] = block.data
			}
			*block = logBlock{key: max(last+1, int64(c.tx.now), *c.deleted(log)+1)}
		}
		block.data = appendString(block.data, string(record))
		block.count++
		last = block.last()
		numbers = append(numbers, last)
	}
	return numbers, full
}

// appendChanges appends to the log of changed contracts, and returns the numbers.
func (c *logTables) appendChanges(records [][]byte) ([]int64, error) {
	block, last, err := c.lastBlock(changesLog)
	if err != nil {
		return nil, err
	}
	stored := block
	numbers, rows := c.append(changesLog, &block, last, records)
	rows[block.key] = block.data
	if len(rows[stored.key]) == len(stored.data) { // nothing fitted into it
		delete(rows, stored.key)
	}
	return numbers, c.tx.writeData(changesLog, rows)
}

// appendFeed appends to the feed.
func (c *logTables) appendFeed(records [][]byte) error {
	last, err := c.lastNumber()
	if err != nil {
		return err
	}
	c.grown = true
	_, rows := c.append(feedLog, c.feed, last, records)
	return c.tx.writeData(feedLog, rows)
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
	visit := func(key int64, block []byte) (done bool, err error) {
		records, err := logRecords(key, block)
		if skip := from - key; skip > 0 {
			records = records[min(skip, int64(len(records))):]
		}
		taken := 0
		if err == nil {
			taken, err = each(records)
		}
		if errors.Is(err, ErrDamaged) {
			from = max(from, key+1)
			return false, c.dropBlock(log, key, block)
		}
		if err != nil {
			return false, err
		}
		if taken > 0 {
			page.Next = records[taken-1].number
		}
		if taken < len(records) {
			page.More = true
			return true, nil
		}
		from = max(from, key+1)
		if len(records) > 0 {
			from = records[len(records)-1].number + 1
		}
		return false, nil
	}
	for range maxLogBlocks / logBatch {
		rows, err := c.tx.db.Run("SELECT key, data FROM "+log+" WHERE key >= coalesce((SELECT max(key) FROM "+log+
			" WHERE key <= ?1), 0) ORDER BY key LIMIT ?2", from, int64(logBatch))
		if err != nil {
			return page, err
		}
		blocks := 0
		for ; rows.Next(); blocks++ {
			if done, err := visit(rows.Int(), rows.Blob()); done || err != nil {
				return page, err
			}
		}
		if err := rows.Err(); err != nil {
			return page, err
		}
		if blocks == logBatch {
			continue
		}
		if log == feedLog {
			last, err := c.lastOfFeed()
			if err == nil && last.key != 0 {
				_, err = visit(last.key, last.data)
			}
			return page, err
		}
		return page, nil
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
		next := int64(0) // the last block of the feed, if it was begun before
		if log == feedLog {
			last, err := c.logs.lastOfFeed()
			if err != nil {
				return false, err
			}
			if last.key <= int64(kept) {
				next = last.key
			}
		}
		// A block was begun after the last record of the one before, so that one is as old.
		rows, err := c.db.Run("WITH old AS (SELECT key FROM "+log+" WHERE key < max(?3, coalesce((SELECT max(key) "+
			"FROM "+log+" WHERE key <= ?1), 0)) ORDER BY key LIMIT ?2) SELECT key, (SELECT count(*) FROM old), data "+
			"FROM "+log+" WHERE key = (SELECT max(key) FROM old)", int64(kept), int64(maxPruned), next)
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
