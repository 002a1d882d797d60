package store

import (
	"cmp"
	"maps"
	"slices"

	"github.com/newsfork/seed-engine/epoch"
)

func dueKey(second epoch.Seconds) int64 { return int64(second) << blockBits }

func dueSecond(key int64) epoch.Seconds { return epoch.Seconds(key >> blockBits) }

// dueTable is the table due: blocks of hosts by the second at which they are to be checked.
type dueTable struct {
	tx      *Tx
	watched map[int64][]byte  // ids of hosts that arrived, by key
	left    map[int64][]int64 // of blocks from which hosts were taken, by key
}

// DueBlock is some of the hosts that are to be checked at the same second.
type DueBlock struct {
	Second epoch.Seconds
	Hosts  []int64

	tx      *Tx
	key     int64
	pending bool // in no block yet
}

// Take removes the first n hosts from the table. Those to be checked again must be watched again.
func (b *DueBlock) Take(n int) {
	if b.pending {
		b.tx.state.due.replace(b.key, packIDs(b.Hosts[n:]))
	} else {
		b.tx.due.left[b.key] = b.Hosts[n:]
	}
}

// DueHosts returns the first hosts that are to be checked until a second, about limit of them, and reports whether
// there may be more.
func (c *Tx) DueHosts(until epoch.Seconds, limit int64) (blocks []DueBlock, more bool, err error) {
	atMost := limit/MaxBlock + 1
	rows, err := c.db.Run(`SELECT key, data FROM due WHERE key < ?1 ORDER BY key LIMIT ?2`, dueKey(until+1), atMost)
	if err != nil {
		return nil, false, err
	}
	for rows.Next() {
		key, data := rows.Int(), rows.Blob()
		blocks = append(blocks, DueBlock{Second: dueSecond(key), Hosts: unpackIDs(data), tx: c, key: key})
	}
	more = int64(len(blocks)) == atMost
	for _, s := range c.state.due.slots(0, dueKey(until+1)) {
		blocks = append(blocks, DueBlock{Second: dueSecond(s.key), Hosts: unpackIDs(s.data), tx: c, key: s.key,
			pending: true})
	}
	slices.SortStableFunc(blocks, func(a, b DueBlock) int { return cmp.Compare(a.Second, b.Second) })
	return blocks, more, rows.Err()
}

// CountDue counts the hosts that are to be checked now. first is the second of the first host in the table, which
// may be later; 0 if the table is empty.
func (c *Tx) CountDue() (n int64, first epoch.Seconds, err error) {
	if err := c.due.flush(); err != nil {
		return 0, 0, err
	}
	rows, err := c.db.Run(`SELECT (SELECT coalesce(sum(length(data)), 0) FROM due WHERE key < ?1),
(SELECT coalesce(min(key), 0) FROM due)`, dueKey(c.seconds()+1))
	if err != nil || !rows.Next() {
		return 0, 0, err
	}
	n, first = rows.Int()/idBytes, dueSecond(rows.Int())
	if pending := &c.state.due; pending.len() > 0 {
		n += int64(pending.from(dueKey(c.seconds() + 1)))
		if second := dueSecond(pending.key(0)); first == 0 || second < first {
			first = second
		}
	}
	return n, first, nil
}

// Watch schedules a check of the host's entry points at a second.
func (h *Host) Watch(second epoch.Seconds) {
	due, key := &h.tx.due, dueKey(second)
	due.watched[key] = appendID(due.watched[key], h.ID)
}

// flush writes what is left of blocks. The hosts that are watched go into the state's list, or into blocks if that is
// full, which may be the same.
func (c *dueTable) flush() error {
	if len(c.left) > 0 {
		blocks := make(map[int64][]byte, len(c.left))
		for key, ids := range c.left {
			blocks[key] = packIDs(ids)
		}
		clear(c.left)
		if err := c.tx.writeData("due", blocks); err != nil {
			return err
		}
	}
	err := c.write(c.tx.state.due.add(c.watched))
	clear(c.watched)
	return err
}

// NextDue returns when the first entry point of a host is due; -1 when it has none.
func (h *Host) NextDue() epoch.Seconds {
	first := epoch.Seconds(-1)
	for i := range h.Entries {
		if due := h.Entries[i].Due; first < 0 || due < first {
			first = due
		}
	}
	return first
}

// write adds pointers to hosts, unless the last block of their second has them.
func (c *dueTable) write(hosts map[int64][]byte) error {
	if len(hosts) == 0 {
		return nil
	}
	firsts := slices.Sorted(maps.Keys(hosts))
	rows, err := c.tx.db.Run(
		`SELECT j.value, d.key, d.data FROM json_each(?1) j LEFT JOIN due d ON d.key = (SELECT max(key) FROM due `+
			`WHERE key BETWEEN j.value AND j.value + 16383)`, numbers(firsts))
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
		for _, id := range unpackIDs(hosts[first]) {
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
