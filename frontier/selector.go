package frontier

import "fmt"

// selector walks through lanes from the slots that have been ready longest, and chooses among the
// lanes by turns.
type selector struct {
	c      *call
	filter *filter
	lanes  []*laneReader
	size   int // blocks that are loaded at once
	looked int // pointers
}

// laneReader is where a selector is in a lane.
type laneReader struct {
	number int
	blocks []*block
	first  int   // of blocks that is not read to the end
	from   int64 // key of the first block that is not loaded
	ended  bool
}

// block is a row of the queue that is being read.
type block struct {
	key  int64
	data []byte
	at   int    // what is before was looked at
	kept []byte // of that
}

// candidate is a pointer whose host may have what is wanted.
type candidate struct {
	block   *block
	pointer pointer
}

func (k *candidate) keep()       { k.block.kept = appendPointer(k.block.kept, k.pointer) }
func (k *candidate) lane() int   { return laneOf(k.block.key) }
func (k *candidate) slot() int64 { return slotOf(k.block.key) }

// maxLooked bounds how many pointers a lease with filters looks at.
const maxLooked = 200_000

func (c *call) newSelector(lanes []int, f *filter, hosts int) (*selector, error) {
	s := &selector{c: c, filter: f, size: 2 + hosts/32}
	for _, number := range lanes {
		s.lanes = append(s.lanes, &laneReader{number: number, from: blockKey(number, 0)})
	}
	return s, s.load(s.lanes)
}

// load reads the next blocks of lanes that are ready.
func (s *selector) load(readers []*laneReader) error {
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
		b := &block{key: rows.Int(), data: rows.Blob()}
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

// next gives up to n candidates; none when all lanes are at their end.
func (s *selector) next(n int) ([]candidate, error) {
	var list []candidate
	for len(list) < n {
		k, ok, err := s.choose()
		if err != nil || !ok {
			return list, err
		}
		list = append(list, k)
	}
	return list, nil
}

// choose gives the next candidate of the lane whose turn it is, else of the first that has one.
func (s *selector) choose() (k candidate, ok bool, err error) {
	turn := 0
	if len(s.lanes) == Bands {
		turn = bandOfTurn(int(s.c.state.turn))
	}
	for _, i := range append([]int{turn}, 0, 1, 2, 3) {
		if i >= len(s.lanes) {
			continue
		}
		if k, ok, err = s.read(s.lanes[i]); ok || err != nil {
			s.c.state.turn = (s.c.state.turn + 1) % turns
			return k, ok, err
		}
	}
	return k, false, nil
}

// read gives the next candidate of a lane.
func (s *selector) read(l *laneReader) (k candidate, ok bool, err error) {
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

// scan gives the next candidate of a block. What does not match stays in it.
func (s *selector) scan(b *block) (k candidate, ok bool) {
	for b.at < len(b.data) {
		p := pointerAt(b.data, b.at)
		b.at += pointerLen
		s.looked++
		if s.filter.pointer(p) {
			return candidate{b, p}, true
		}
		b.kept = appendPointer(b.kept, p)
	}
	return k, false
}

// finish writes the blocks from which something was taken.
func (s *selector) finish() error {
	for _, l := range s.lanes {
		for _, b := range l.blocks {
			if len(b.kept) < b.at {
				s.c.blocks[b.key] = append(b.kept, b.data[b.at:]...)
			}
		}
	}
	return nil
}
