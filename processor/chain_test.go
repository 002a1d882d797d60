package processor

import (
	"bytes"
	"encoding/binary"
	"math/rand/v2"
	"testing"
)

// TestBlocks compares chains that grow and are given back in turn with slices.
func TestBlocks(t *testing.T) {
	rnd := rand.New(rand.NewPCG(1, 2))
	var m blocks
	var chains [50]chain
	var want [50][]byte
	most := 0
	for range 20_000 {
		i := rnd.IntN(len(chains))
		if rnd.IntN(40) == 0 {
			m.release(&chains[i])
			want[i] = nil
			continue
		}
		b := make([]byte, rnd.IntN(1<<rnd.IntN(12)))
		for j := range b {
			b[j] = byte(rnd.Uint32())
		}
		m.append(&chains[i], b)
		want[i] = append(want[i], b...)
		most = max(most, m.taken)
	}
	taken := 0
	for i, c := range chains {
		if taken += int(c.blocks); len(want[i]) == 0 {
			continue
		}
		r := m.read(c)
		have := []byte{r.byte()}
		for left := len(want[i]) - 1; left > 0; {
			n := min(left, rnd.IntN(300))
			have = r.append(have, n)
			left -= n
		}
		if !bytes.Equal(have, want[i]) {
			t.Errorf("chain %d of %d bytes differs", i, len(want[i]))
		}
	}
	if m.taken != taken {
		t.Errorf("%d blocks are taken, the chains have %d", m.taken, taken)
	}
	if int(m.fresh) != most {
		t.Errorf("%d blocks were used, at most %d at once", m.fresh, most)
	}
	m.append(&chains[0], make([]byte, keptSlabs*slabSize))
	if !m.reset() || m.slabs != nil || m.taken != 0 {
		t.Errorf("%d slabs are kept", len(m.slabs))
	}
}

// TestBlocks_Kept: the slabs of a small file are those of the next one.
func TestBlocks_Kept(t *testing.T) {
	var m blocks
	var c chain
	fill := func() {
		c = chain{}
		m.append(&c, make([]byte, keptSlabs*slabSize*9/10))
	}
	fill()
	slab := &m.slabs[0][0]
	if m.reset() {
		t.Error("few slabs are given back")
	}
	fill()
	if len(m.slabs) != keptSlabs || &m.slabs[0][0] != slab {
		t.Errorf("%d slabs, the first new: %v", len(m.slabs), &m.slabs[0][0] != slab)
	}
}

func TestChainReader_Number(t *testing.T) {
	var m blocks
	var c chain
	numbers := []int{0, 1, 127, 128, 300, 16383, 16384, 1 << 20}
	for range 50 {
		for _, n := range numbers {
			m.append(&c, binary.AppendUvarint(nil, uint64(n)))
		}
	}
	r := m.read(c)
	for range 50 {
		for _, n := range numbers {
			if have := r.number(); have != n {
				t.Fatalf("got %d, want %d", have, n)
			}
		}
	}
}
