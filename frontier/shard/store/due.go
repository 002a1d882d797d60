package store

import (
	"maps"
	"slices"

	"github.com/newsfork/seed-engine/epoch"
)

// ---- pointers

func dueKey(second int64) int64 { return second << blockBits }

func dueSecond(key int64) int64 { return key >> blockBits }

// Due is the table due: blocks of hosts by the second at which they are to be checked.
type Due struct {
	tx      *Tx
	watched map[int64][]int64 // hosts that arrived, by second
}

// dueBlock is a row of the table due.
type dueBlock struct {
	Key   int64
	Hosts []int64
}

// Second returns the second at which the hosts are to be checked.
func (b *dueBlock) Second() epoch.Seconds { return epoch.Seconds(dueSecond(b.Key)) }

// DueBlocks returns the first blocks of hosts that are to be checked until a second.
func (c *Due) Blocks(until, limit int64) (blocks []dueBlock, err error) {
	rows, err := c.tx.db.Run(`SELECT key, data FROM due WHERE key < ?1 ORDER BY key LIMIT ?2`, dueKey(until+1), limit)
	if err != nil {
		return nil, err
	}
	for rows.Next() {
		blocks = append(blocks, dueBlock{rows.Int(), unpackIDs(rows.Blob())})
	}
	return blocks, rows.Err()
}

// KeepDue writes what is left of blocks.
func (c *Due) Keep(left map[int64][]int64) error {
	blocks := make(map[int64][]byte, len(left))
	for key, ids := range left {
		blocks[key] = PackIDs(ids)
	}
	return c.tx.writeData("due", blocks)
}

// FirstDue returns the first second at which a host is to be checked; 0 means not set.
func (c *Due) First() (int64, error) {
	rows, err := c.tx.db.Run(`SELECT min(key) FROM due`)
	if err != nil || !rows.Next() {
		return 0, err
	}
	return dueSecond(rows.Int()), nil
}

// CountDueHosts counts the hosts that are to be checked now, and returns the second of the first one.
func (c *Due) Count() (n, first int64, err error) {
	rows, err := c.tx.db.Run(`SELECT coalesce(sum(length(data)), 0), coalesce(min(key), 0) FROM due WHERE key < ?1`, dueKey(c.tx.seconds()+1))
	if err != nil || !rows.Next() {
		return 0, 0, err
	}
	return rows.Int() / idBytes, dueSecond(rows.Int()), nil
}

// WatchHost notes that a host is to be checked in a second.
func (c *Due) Watch(h *Host, second int64) { c.watched[second] = append(c.watched[second], h.ID) }

// NextDue returns when the first entry point of a host is due, in seconds; -1 when it has none.
func (h *Host) NextDue() int64 {
	first := int64(-1)
	for i := range h.Entries {
		if due := h.Entries[i].Due; first < 0 || due < first {
			first = due
		}
	}
	return first
}

// WriteDue adds pointers to hosts, unless the last block of their second has them.
func (c *Due) Write(hosts map[int64][]int64) error {
	if len(hosts) == 0 {
		return nil
	}
	var firsts []int64
	for _, second := range slices.Sorted(maps.Keys(hosts)) {
		firsts = append(firsts, dueKey(second))
	}
	rows, err := c.tx.db.Run(`SELECT j.value, d.key, d.data FROM json_each(?1) j LEFT JOIN due d ON d.key = (SELECT max(key) FROM due WHERE key BETWEEN j.value AND j.value + 16383)`, numbers(firsts))
	if err != nil {
		return err
	}
	changed := map[int64][]byte{}
	for rows.Next() {
		first, key, block := rows.Int(), rows.Int(), slices.Clone(rows.Blob())
		if block == nil {
			key = first
		}
		there := map[int64]bool{}
		for at := 0; at+idBytes <= len(block); at += idBytes {
			there[idAt(block, at)] = true
		}
		for _, id := range hosts[dueSecond(first)] {
			if there[id] {
				continue
			}
			there[id] = true
			if len(block) >= MaxBlock*idBytes {
				if key++; dueSecond(key) != dueSecond(first) {
					return errFull
				}
				block = nil
			}
			block = appendID(block, id)
			changed[key] = block
		}
	}
	if err := rows.Err(); err != nil {
		return err
	}
	return c.tx.writeData("due", changed)
}
