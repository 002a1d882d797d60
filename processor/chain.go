package processor

import "encoding/binary"

const (
	slabSize  = 1 << 20 // large, because allocating a slab takes almost a millisecond in WASM
	blockSize = 1 << blockBits
	blockBits = 7
	nextSize  = 4 // bytes at the start of a block: the number of the next one of its chain, or of the free ones

	keptSlabs = 2 // allocated between files
)

// chain is a sequence of bytes in blocks. The zero value is empty.
type chain struct {
	head, tail uint32 // numbers of blocks
	used       int32  // bytes of the last block
	blocks     int32
}

// blocks is the memory of chains, which grow in turn and are released one by one. The zero value is empty.
type blocks struct {
	slabs [][]byte
	free  uint32 // the first one that was released; 0 for none
	fresh uint32 // blocks that were never used begin here. 0 is no block
	taken int    // blocks of all chains
}

func (m *blocks) block(n uint32) []byte {
	const perSlab = slabSize / blockSize
	return m.slabs[n/perSlab][n%perSlab*blockSize:][:blockSize:blockSize]
}

func (m *blocks) next(n uint32) uint32 { return binary.LittleEndian.Uint32(m.block(n)) }

// take returns a block.
func (m *blocks) take() uint32 {
	m.taken++
	if n := m.free; n != 0 {
		m.free = m.next(n)
		return n
	}
	m.fresh++
	if int(m.fresh)*blockSize >= len(m.slabs)*slabSize {
		m.slabs = append(m.slabs, make([]byte, slabSize))
	}
	return m.fresh
}

// append appends bytes to a chain.
func (m *blocks) append(c *chain, b []byte) {
	if c.blocks == 0 {
		c.head = m.take()
		c.tail, c.used, c.blocks = c.head, nextSize, 1
	}
	for {
		n := copy(m.block(c.tail)[c.used:], b)
		c.used += int32(n)
		if b = b[n:]; len(b) == 0 {
			return
		}
		next := m.take()
		binary.LittleEndian.PutUint32(m.block(c.tail), next)
		c.tail, c.used = next, nextSize
		c.blocks++
	}
}

// release frees the blocks of a chain, and empties it.
func (m *blocks) release(c *chain) {
	if c.blocks > 0 {
		binary.LittleEndian.PutUint32(m.block(c.tail), m.free)
		m.free = c.head
		m.taken -= int(c.blocks)
		*c = chain{}
	}
}

// reset frees all chains, and the slabs if they are many, which it reports.
func (m *blocks) reset() bool {
	large := len(m.slabs) > keptSlabs
	if large {
		m.slabs = nil
	}
	*m = blocks{slabs: m.slabs}
	return large
}

// read returns a reader of a chain, which is not empty and does not change meanwhile.
func (m *blocks) read(c chain) chainReader {
	return chainReader{m, m.block(c.head), nextSize}
}

// chainReader reads the bytes of a chain. Its user knows where they end.
type chainReader struct {
	blocks *blocks
	block  []byte
	at     int
}

func (r *chainReader) byte() byte {
	if r.at == len(r.block) {
		r.advance()
	}
	r.at++
	return r.block[r.at-1]
}

func (r *chainReader) advance() {
	r.block, r.at = r.blocks.block(binary.LittleEndian.Uint32(r.block)), nextSize
}

// number reads what binary.AppendUvarint wrote.
func (r *chainReader) number() int {
	if r.at < len(r.block) && r.block[r.at] < 0x80 {
		r.at++
		return int(r.block[r.at-1])
	}
	n := 0
	for shift := 0; ; shift += 7 {
		b := r.byte()
		n |= int(b&0x7f) << shift
		if b < 0x80 {
			return n
		}
	}
}

// append appends the next n bytes to b.
func (r *chainReader) append(b []byte, n int) []byte {
	for n > len(r.block)-r.at {
		b = append(b, r.block[r.at:]...)
		n -= len(r.block) - r.at
		r.advance()
	}
	r.at += n
	return append(b, r.block[r.at-n:r.at]...)
}
