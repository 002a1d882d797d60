package store

import (
	"cmp"
	"fmt"
	"slices"
)

// QueueReader reads lanes of the queue from the slots that have been ready longest.
type QueueReader struct {
	c       *Tx
	filter  *Filter
	lanes   []*laneReader
	walk    walk
	resumed bool
	size    int // blocks that are loaded at once
	looked  int // pointers
}

// laneReader is a selector's position in a lane.
type laneReader struct {
	number  int
	blocks  []*queueBlock
	pending []*queueBlock // that are not among blocks yet
	first   int           // of blocks that is not read to the end
	from    int64         // key of the first block that is not loaded
	ended   bool
}

// queueBlock is a row of the queue that is being read, or pointers of a slot that are in no row yet.
type queueBlock struct {
	key     int64
	pending bool
	data    []byte
	at      int    // what is before was looked at
	kept    []byte // of that
	skipped int    // candidates at the end of kept that were not looked at
	first   int    // where the first of them stood
}

// Candidate is a pointer whose host may have what is wanted.
type Candidate struct {
	reader  *QueueReader
	block   *queueBlock
	at      int
	pointer pointer
}

// Host returns the id of the host.
func (k *Candidate) Host() int64 { return k.pointer.Host }

// Stands reports whether the host still stands there for a kind. Without one, the pointer is damaged, and the hosts
// that stand there get new ones.
func (k *Candidate) Stands(h *Host, kind int) (bool, error) {
	lane, slot := laneOf(k.block.key), slotOf(k.block.key)
	if h == nil {
		return false, k.reader.c.queue.repoint(lane, slot)
	}
	shown := place{Queued: true, Lane: lane, Slot: slot, Types: k.pointer.Types, Class: k.pointer.Class}
	return h.places[kind] == shown, nil
}

func (k *Candidate) Keep() { k.block.kept = appendPointer(k.block.kept, k.pointer) }

// Skip keeps a candidate for the next lease that wants the same. The caller must also skip all later candidates.
func (k *Candidate) Skip() {
	if k.block.skipped == 0 {
		k.block.first = k.at
	}
	k.block.skipped++
	k.Keep()
}

// maxLooked bounds how many pointers a lease with filters looks at.
const maxLooked = 200_000

// ReadQueue begins to read lanes for a lease of some hosts. It goes on where the last lease that wants the same
// stopped. Hosts whose pointers are not wanted stay where they are.
func (c *Tx) ReadQueue(lanes []int, hosts int, wants string, f *Filter) (*QueueReader, error) {
	if !c.queue.read { // it reads what is stored
		c.queue.read = true
		if err := c.queue.flush(); err != nil {
			return nil, err
		}
	}
	s := &QueueReader{c: c, filter: f, size: 2 + hosts/32, walk: c.state.takeWalk(Hash48(wants))}
	s.resumed = s.walk.begun()
	for _, number := range lanes {
		from := max(s.walk.positions[number].key, blockKey(number, 0))
		s.lanes = append(s.lanes, &laneReader{number: number, from: from, pending: c.queue.pending(number, from)})
	}
	if err := s.load(s.lanes); err != nil {
		return nil, err
	}
	for _, l := range s.lanes {
		if p := s.walk.positions[l.number]; len(l.blocks) > 0 && l.blocks[0].key == p.key {
			b := l.blocks[0]
			b.at = min(int(p.at)/pointerLen*pointerLen, len(b.data))
			b.kept = slices.Clone(b.data[:b.at])
		}
	}
	return s, nil
}

// load reads the next blocks of lanes that are ready.
func (s *QueueReader) load(readers []*laneReader) error {
	ranges := []byte{'['}
	loaded := make([]int, len(readers))
	for i, l := range readers {
		loaded[i] = len(l.blocks)
		if i > 0 {
			ranges = append(ranges, ',')
		}
		ranges = fmt.Appendf(ranges, "[%d,%d]", l.from, blockKey(l.number, s.c.seconds()+1)-1)
		l.ended = true
	}
	rows, err := s.c.db.Run(`SELECT queue.key, queue.data FROM json_each(?1) r CROSS JOIN queue
WHERE queue.key IN (SELECT q.key FROM queue q WHERE q.key BETWEEN r.value->>0 AND r.value->>1 ORDER BY q.key LIMIT ?2)`,
		string(append(ranges, ']')), int64(s.size))
	if err != nil {
		return err
	}
	count := map[int]int{}
	for rows.Next() {
		b := &queueBlock{key: rows.Int(), data: rows.Blob()}
		if len(b.data) == 0 || len(b.data)%pointerLen != 0 {
			if err := s.c.queue.dropBlock(b.key, b.data); err != nil {
				return err
			}
			b.data = nil
		}
		for _, l := range readers {
			if l.number == laneOf(b.key) {
				l.blocks = append(l.blocks, b)
				l.from = b.key + 1
				count[l.number]++
				l.ended = count[l.number] < s.size
			}
		}
	}
	for i, l := range readers {
		l.addPending(loaded[i])
	}
	return rows.Err()
}

// addPending puts pending blocks among those that were loaded since there were so many.
func (l *laneReader) addPending(since int) {
	n := 0
	for ; n < len(l.pending) && (l.ended || l.pending[n].key < l.from); n++ {
		l.blocks = append(l.blocks, l.pending[n])
	}
	if n > 0 {
		l.from = max(l.from, l.pending[n-1].key+1)
		l.pending = l.pending[n:]
		sortBlocks(l.blocks[since:])
	}
}

func sortBlocks(blocks []*queueBlock) {
	slices.SortStableFunc(blocks, func(a, b *queueBlock) int { return cmp.Compare(a.key, b.key) })
}

// pending returns the pointers that are in no block of a lane yet and whose slots have come, from a key on.
func (c *queueTable) pending(lane int, from int64) (blocks []*queueBlock) {
	for _, s := range c.tx.state.pointers.slots(firstOf(from), blockKey(lane, c.tx.seconds()+1)) {
		if key := s.key | lastBlock; key >= from {
			blocks = append(blocks, &queueBlock{key: key, pending: true, data: s.data})
		}
	}
	return blocks
}

// put replaces the pointers of a block.
func (c *queueTable) put(b *queueBlock, pointers []byte) {
	if b.pending {
		c.tx.state.pointers.replace(firstOf(b.key), pointers)
	} else {
		c.blocks[b.key] = pointers
	}
}

// Read returns the next candidate of the lane with an index among those that are read.
func (s *QueueReader) Read(index int) (k Candidate, ok bool, err error) {
	l := s.lanes[index]
	for {
		for ; l.first < len(l.blocks); l.first++ {
			if k, ok = s.scan(l.blocks[l.first]); ok {
				return k, true, nil
			}
		}
		if l.ended || s.looked > maxLooked {
			return k, false, nil
		}
		if err := s.load([]*laneReader{l}); err != nil {
			return k, false, err
		}
	}
}

// scan returns the next candidate of a block. What does not match stays in it.
func (s *QueueReader) scan(b *queueBlock) (k Candidate, ok bool) {
	for b.at < len(b.data) {
		at, p := b.at, pointerAt(b.data, b.at)
		b.at += pointerLen
		s.looked++
		if s.filter.pointer(p) {
			return Candidate{s, b, at, p}, true
		}
		b.kept = appendPointer(b.kept, p)
	}
	return k, false
}

// Finish writes the blocks from which something was taken. If the lease stopped before the end of the lanes, the next
// one that wants the same goes on from there.
func (s *QueueReader) Finish(stopped bool) {
	for _, l := range s.lanes {
		s.walk.positions[l.number] = position{}
		if stopped && l.number < walkedLanes {
			s.walk.positions[l.number] = l.position()
		}
		for _, b := range l.blocks {
			if len(b.kept) < b.at {
				s.c.queue.put(b, append(b.kept, b.data[b.at:]...))
			}
		}
	}
	if s.walk.begun() {
		s.c.state.keepWalk(s.walk)
	}
}

// Prefetch loads the segments from which the next pages of hosts will come, with one statement, as long as the
// transaction may load more. It skips the segments of the other hosts.
func (s *QueueReader) Prefetch(hosts []*Host, kind int) error {
	c := s.c
	var keys []int64
	for _, h := range hosts {
		if kind == KindVisit {
			if i := slices.IndexFunc(h.Schedule.segments, func(s segment) bool {
				return s.region[waiting].left > 0 && s.due <= c.seconds()
			}); i >= 0 {
				keys = append(keys, h.segmentKey(h.Schedule.segments[i].number))
			}
			continue
		}
		band := BandOfTurn(h.turn)
		if slices.ContainsFunc(h.buffer, func(p Page) bool {
			return p.Due <= c.seconds() &&
				(p.band(c.seconds()) == band || !h.has(band))
		}) {
			continue
		}
		if !h.has(band) {
			band = slices.IndexFunc([]int{0, 1, 2, 3}, h.has)
		}
		if i := slices.IndexFunc(h.segments, func(s segment) bool {
			return band >= 0 && s.region[band].left > 0
		}); i >= 0 {
			keys = append(keys, h.segmentKey(h.segments[i].number))
		}
	}
	keys = slices.DeleteFunc(keys, func(key int64) bool { return c.parts.loaded(key) })
	if len(keys) == 0 {
		return nil
	}
	return c.parts.read(`SELECT key, data FROM parts WHERE key IN (SELECT key FROM (
SELECT p.key AS key, sum(length(p.data)) OVER (ORDER BY j.key) AS size FROM json_each(?1) j JOIN parts p ON p.key = j.value) WHERE size <= ?2)`,
		numbers(keys), max(maxLoaded-c.state.loaded, 0))
}

// Resumed reports whether the reader did not begin at the front.
func (s *QueueReader) Resumed() bool { return s.resumed }

// position returns how far a lane was looked at, as its blocks are when they are written.
func (l *laneReader) position() position {
	for _, b := range l.blocks {
		switch rewritten := len(b.kept) < b.at; {
		case b.skipped > 0 && rewritten:
			return position{b.key, int64(len(b.kept) - b.skipped*pointerLen)}
		case b.skipped > 0:
			return position{b.key, int64(b.first)}
		case b.at < len(b.data) && rewritten:
			return position{b.key, int64(len(b.kept))}
		case b.at < len(b.data):
			return position{b.key, int64(b.at)}
		}
	}
	return position{l.from, 0}
}
