package swar

import (
	"bytes"
	"encoding/binary"
	"math/rand/v2"
	"testing"
)

func TestLoad(t *testing.T) {
	b := []byte("0123456789abcdef")
	for i := range len(b) - 7 {
		if Load(b, i) != binary.LittleEndian.Uint64(b[i:]) {
			t.Errorf("from %d: %x", i, Load(b, i))
		}
	}
	for _, i := range []int{-1, 9, 16, 17} {
		func() {
			defer func() {
				if recover() == nil {
					t.Errorf("eight bytes were loaded from %d of 16", i)
				}
			}()
			Load(b, i)
		}()
	}
}

func TestStore(t *testing.T) {
	for _, i := range []int{-1, 0, 3, 8, 9, 16} {
		b := bytes.Repeat([]byte{'x'}, 16)
		func() {
			defer func() {
				if fits := i >= 0 && i <= 8; fits != (recover() == nil) {
					t.Errorf("eight bytes stored at %d of 16: %v", i, !fits)
				}
			}()
			Store(b, i, 0x6867666564636261)
			if want := "xxxxxxxxxxxxxxxx"[:i] + "abcdefgh" + "xxxxxxxx"[:8-i]; string(b) != want {
				t.Errorf("at %d: %s, not %s", i, b, want)
			}
		}()
	}
}

// TestEqual compares with loops over bytes.
func TestEqual(t *testing.T) {
	rnd := rand.New(rand.NewPCG(1, 2))
	for range 20_000 {
		a := make([]byte, rnd.IntN(40))
		for i := range a {
			a[i] = byte(rnd.IntN(3)) * 127
		}
		b := bytes.Clone(a[:rnd.IntN(len(a)+1)])
		for range rnd.IntN(3) {
			if len(b) > 0 {
				b[rnd.IntN(len(b))] ^= 1 << rnd.IntN(8)
			}
		}
		b = append(b, a[len(b):]...)[:max(0, len(a)-rnd.IntN(2))]
		if Equal(a, b) != bytes.Equal(a, b) {
			t.Fatalf("%x and %x", a, b)
		}
		if n := len(b) / 2; HasPrefix(a, b[:n]) != bytes.HasPrefix(a, b[:n]) ||
			HasPrefix(b[:n], a) != bytes.HasPrefix(b[:n], a) {
			t.Fatalf("%x at the beginning of %x", b[:n], a)
		}
	}
}

func TestMarks(t *testing.T) {
	rnd := rand.New(rand.NewPCG(3, 4))
	b := make([]byte, 8)
	for range 20_000 {
		for i := range b {
			b[i] = '<' + byte(rnd.IntN(3)) - 1
		}
		want := bytes.IndexByte(b, '<')
		if want < 0 {
			want = 8
		}
		if got := First(Match(Load(b, 0), '<')); got != want {
			t.Fatalf("%q: the first is %d, not %d", b, want, got)
		}
	}
}

// TestCommon compares with a loop over bytes.
func TestCommon(t *testing.T) {
	rnd := rand.New(rand.NewPCG(5, 6))
	for range 20_000 {
		a := make([]byte, rnd.IntN(40))
		for i := range a {
			a[i] = byte(rnd.IntN(3)) * 127
		}
		b := bytes.Clone(a[:rnd.IntN(len(a)+1)])
		for range rnd.IntN(3) {
			if len(b) > 0 {
				b[rnd.IntN(len(b))] ^= 1 << rnd.IntN(8)
			}
		}
		want := 0
		for want < min(len(a), len(b)) && a[want] == b[want] {
			want++
		}
		if got := Common(a, b); got != want {
			t.Fatalf("%x and %x: %d, not %d", a, b, got, want)
		}
	}
}
