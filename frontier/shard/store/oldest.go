package store

import (
	"fmt"
	"slices"

	"github.com/newsfork/seed-engine/epoch"
)

// Bounds of one search for the oldest host of a lane.
const (
	firstBlocks    = 1  // that are read at once, at the beginning; then four times as many each time
	moreBlocks     = 16 // the most
	maxOldest      = 128
	maxOldestHosts = 1024 // that are loaded
)

// oldest returns the slot of the first host of a lane that is ready. It returns 0 if no host is, or if the search
// ended early. Blocks all of whose hosts have moved are deleted on the way, so the next search gets further.
func (c *queueTable) oldest(lane int, ready func(*Host) bool) (slot epoch.Seconds, err error) {
	from, loaded := blockKey(lane, 0), 0
	for read, size := 0, firstBlocks; read < maxOldest; size = min(4*size, moreBlocks) {
		blocks, err := c.blocksFrom(from, lane, size)
		if err != nil {
			return 0, err
		}
		read += len(blocks)
		standing, err := c.standing(blocks)
		if err != nil {
			return 0, err
		}
		for pointers := range slices.Chunk(standing, 64) {
			if loaded += len(pointers); loaded > maxOldestHosts || c.tx.state.Full(1) {
				return pointers[0].slot, nil // all before are late and not ready
			}
			if slot, err = c.firstReady(lane, pointers, ready); slot > 0 || err != nil {
				return slot, err
			}
		}
		if len(blocks) < size {
			return 0, nil
		}
		from = blocks[len(blocks)-1].key + 1
	}
	return 0, nil
}

// blocksFrom reads blocks of a lane whose slots have come.
func (c *queueTable) blocksFrom(from int64, lane, limit int) (blocks []*queueBlock, err error) {
	rows, err := c.tx.db.Run(`SELECT key, data FROM queue WHERE key BETWEEN ?1 AND ?2 ORDER BY key LIMIT ?3`,
		from, blockKey(lane, c.tx.seconds()+1)-1, int64(limit))
	if err != nil {
		return nil, err
	}
	for rows.Next() {
		b := &queueBlock{key: rows.Int(), data: rows.Blob()}
		if len(b.data) == 0 || len(b.data)%pointerLen != 0 {
			if err := c.dropBlock(b.key, b.data); err != nil {
				return nil, err
			}
			b.data = nil
		}
		blocks = append(blocks, b)
	}
	blocks = append(blocks, c.pending(lane, from)...)
	sortBlocks(blocks)
	return blocks[:min(len(blocks), limit)], rows.Err()
}

// placedPointer is a pointer and its slot.
type placedPointer struct {
	host int64
	slot epoch.Seconds
}

// standing returns the pointers whose hosts may still stand there, by the column due of their rows. It deletes blocks
// that have none.
func (c *queueTable) standing(blocks []*queueBlock) (pointers []placedPointer, err error) {
	pairs := []byte{'['}
	for number, b := range blocks {
		for at := 0; at < len(b.data); at += pointerLen {
			if len(pairs) > 1 {
				pairs = append(pairs, ',')
			}
			pairs = fmt.Appendf(pairs, "[%d,%d,%d]", idAt(b.data, at), slotOf(b.key), number)
		}
	}
	rows, err := c.tx.db.Run(`SELECT j.value->>0, j.value->>1, j.value->>2
FROM json_each(?1) j JOIN hosts h ON h.id = j.value->>0
WHERE h.due BETWEEN 1 AND max(j.value->>1 * 1000, 1) ORDER BY j.key`, string(append(pairs, ']')))
	if err != nil {
		return nil, err
	}
	needed := map[int64]bool{}
	for rows.Next() {
		pointers = append(pointers, placedPointer{rows.Int(), epoch.Seconds(rows.Int())})
		needed[rows.Int()] = true
	}
	for number, b := range blocks {
		if !needed[int64(number)] {
			c.put(b, nil)
		}
	}
	return pointers, rows.Err()
}

// firstReady returns the slot of the first pointer with which its host's place agrees, if the host is ready.
func (c *queueTable) firstReady(lane int, pointers []placedPointer, ready func(*Host) bool) (slot epoch.Seconds,
	err error) {
	ids := make([]int64, len(pointers))
	for i, p := range pointers {
		ids[i] = p.host
	}
	hosts, err := c.tx.Hosts(ids)
	if err != nil {
		return 0, err
	}
	for i, h := range hosts {
		stands := func(p place) bool { return p.Queued && p.Lane == lane && p.Slot == pointers[i].slot }
		if h != nil && slices.ContainsFunc(h.places[:], stands) && ready(h) {
			return pointers[i].slot, nil
		}
	}
	return 0, nil
}
