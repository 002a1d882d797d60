package store

import (
	"fmt"
)

// QueueReader reads lanes of the queue from the slots that have been ready longest.
type QueueReader struct {
	c      *Tx
	wanted func(Pointer) bool
	lanes  []*laneReader
	size   int // blocks that are loaded at once
	looked int // pointers
}

// laneReader is a selector's position in a lane.
type laneReader struct {
	number int
	blocks []*queueBlock
	first  int   // of blocks that is not read to the end
	from   int64 // key of the first block that is not loaded
	ended  bool
}

// queueBlock is a row of the queue that is being read.
type queueBlock struct {
	key  int64
	data []byte
	at   int    // what is before was looked at
	kept []byte // of that
}

// Candidate is a pointer whose host may have what is wanted.
type Candidate struct {
	block   *queueBlock
	Pointer Pointer
}

func (k *Candidate) Keep() { k.block.kept = appendPointer(k.block.kept, k.Pointer) }

func (k *Candidate) Lane() int { return laneOf(k.block.key) }

func (k *Candidate) Slot() int64 { return slotOf(k.block.key) }

// maxLooked bounds how many pointers a lease with filters looks at.
const maxLooked = 200_000

// ReadQueue begins to read lanes, some blocks at once. Hosts whose pointers are not wanted stay where they are.
func (c *Queue) Read(lanes []int, blocks int, wanted func(Pointer) bool) (*QueueReader, error) {
	s := &QueueReader{c: c.tx, wanted: wanted, size: blocks}
	for _, number := range lanes {
		s.lanes = append(s.lanes, &laneReader{number: number, from: blockKey(number, 0)})
	}
	return s, s.load(s.lanes)
}

// load reads the next blocks of lanes that are ready.
func (s *QueueReader) load(readers []*laneReader) error {
	ranges := []byte{'['}
	for i, l := range readers {
		if i > 0 {
			ranges = append(ranges, ',')
		}
		ranges = fmt.Appendf(ranges, "[%d,%d]", l.from, blockKey(l.number, s.c.seconds()+1)-1)
		l.ended = true
	}
	rows, err := s.c.db.Run(`SELECT queue.key, queue.data FROM json_each(?1) r CROSS JOIN queue
WHERE queue.key IN (SELECT q.key FROM queue q WHERE q.key BETWEEN r.value->>0 AND r.value->>1 ORDER BY q.key LIMIT ?2)`, string(append(ranges, ']')), int64(s.size))
	if err != nil {
		return err
	}
	count := map[int]int{}
	for rows.Next() {
		b := &queueBlock{key: rows.Int(), data: rows.Blob()}
		if len(b.data)%pointerLen != 0 {
			return errDamaged
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
	return rows.Err()
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
		p := pointerAt(b.data, b.at)
		b.at += pointerLen
		s.looked++
		if s.wanted(p) {
			return Candidate{b, p}, true
		}
		b.kept = appendPointer(b.kept, p)
	}
	return k, false
}

// Finish writes the blocks from which something was taken.
func (s *QueueReader) Finish() error {
	for _, l := range s.lanes {
		for _, b := range l.blocks {
			if len(b.kept) < b.at {
				s.c.Queue.blocks[b.key] = append(b.kept, b.data[b.at:]...)
			}
		}
	}
	return nil
}
