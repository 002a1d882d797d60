package store

import (
	"encoding/binary"
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/newsfork/seed-engine/epoch"
)

// urlsOf returns n URLs in order that became known in as many quarters of an hour.
func urlsOf(n, instants int) []recentURL {
	r := rand.New(rand.NewPCG(uint64(n), uint64(instants)))
	list := make([]recentURL, n)
	for i := range list {
		k := Known{Life: Fetched, Foreign: true}.On(epoch.Seconds(490_000*3600 + 900*r.IntN(instants)))
		list[i] = recentURL{r.Uint64() >> 16, k}
	}
	slices.SortFunc(list, compareHashes)
	return list
}

// TestURLList_Survives: a list of any size is read as it was written, whole and URL by URL.
func TestURLList_Survives(t *testing.T) {
	r := rand.New(rand.NewPCG(5, 1))
	for _, n := range []int{0, 1, 2, fewURLs - 1, fewURLs, 65, 255, 256, 257, 1000, 2 * maxChunk} {
		for _, list := range [][]recentURL{randomURLs(r, n), urlsOf(n, 1), urlsOf(n, 2), urlsOf(n, 40)} {
			if n >= fewURLs {
				list[0].hash, list[1].hash, list[2].hash = 0, 1<<48-1, 1<<firstShift
			}
			slices.SortFunc(list, compareHashes)
			data := append(appendURLs(nil, list, recentCode, recentBytes), 1, 2, 3)
			l, size := readURLs(data, recentBytes)
			if size != len(data)-3 {
				t.Fatalf("%d URLs: %d of %d bytes were read", n, size, len(data)-3)
			}
			if got := l.unpack(knownOfRecent); !slices.Equal(got, list) {
				t.Fatalf("%d URLs: got %v, want %v", n, got, list)
			}
			for i, r := range list {
				if at, found := l.find(r.hash); !found || at != i || knownOfRecent(l.code(at)) != r.Known {
					t.Fatalf("%d URLs: number %d is at %d, %v", n, i, at, found)
				}
				next := (r.hash + 1) % (1 << 48)
				want, known := slices.BinarySearchFunc(list, recentURL{hash: next}, compareHashes)
				if at, found := l.find(next); at != want || found != known {
					t.Fatalf("%d URLs: %x is at %d, %v, want %d", n, next, at, found, want)
				}
			}
		}
	}
}

// TestURLList_Bytes: a URL takes no more in the host's row than in a chunk, and in both less than its hash and two
// bytes.
func TestURLList_Bytes(t *testing.T) {
	for _, c := range []struct {
		n, instants int
		row, chunk  float64 // bytes of a URL, at most
	}{
		{20, 1, 6.4, 7},
		{200, 1, 5.5, 5.6}, // as a put leaves them
		{240, 1, 5.4, 5.5},
		{240, 48, 7, 6.3}, // leased by fives
		{500, 1, 5.3, 5.3},
		{500, 100, 7, 6.2},
		{2000, 400, 7.2, 6.6},
	} {
		t.Run(fmt.Sprint(c.n, " of ", c.instants), func(t *testing.T) {
			list := urlsOf(c.n, c.instants)
			row := float64(len(appendURLs(nil, list, recentCode, recentBytes))) / float64(c.n)
			part := float64(len(newChunk(list, 490_100))) / float64(c.n)
			if row > c.row || part > c.chunk {
				t.Errorf("%.2f bytes in the row, at most %g; %.2f in a chunk, at most %g", row, c.row, part, c.chunk)
			}
		})
	}
}

// pairsOf packs URLs as chunks before version 5 did.
func pairsOf(list []recentURL, base int64) chunk {
	c := binary.BigEndian.AppendUint32(appendHash(nil, chunkMark), uint32(base))
	for _, r := range list {
		code := uint16(r.Life)<<14 | uint16(r.At-base)
		if r.Foreign {
			code |= foreignBit
		}
		c = binary.BigEndian.AppendUint16(appendHash(c, r.hash), code)
	}
	return c
}

// TestChunk_OfVersion4: a chunk of an earlier version says what it said.
func TestChunk_OfVersion4(t *testing.T) {
	for _, n := range []int{1, 2, 500} {
		list := urlsOf(n, 40)
		c := pairsOf(list, 489_990)
		if !c.valid() || c[:len(c)-1].valid() || c.len() != n {
			t.Fatalf("%d URLs, valid: %v", c.len(), c.valid())
		}
		again := newChunk(c.all(), 490_000)
		if len(again) >= len(c)+8 || !slices.Equal(again.all(), c.all()) {
			t.Errorf("%d of %d bytes, %v became %v", len(again), len(c), c.all(), again.all())
		}
		for _, r := range list {
			k, found := c.find(r.hash)
			if r.Part = 0; !found || k != r.Known {
				t.Errorf("%x is %+v, want %+v", r.hash, k, r.Known)
			}
			if k, found := c.find(r.hash + 1); found {
				t.Errorf("another is %+v", k)
			}
		}
	}
}

func FuzzURLList(f *testing.F) {
	for _, n := range []int{0, 1, 3, fewURLs, 300} {
		f.Add([]byte(newChunk(urlsOf(n, 1+n/5), 490_100)), uint64(1)<<47)
		f.Add([]byte(pairsOf(urlsOf(n, 3), 490_000)), uint64(1))
	}
	f.Fuzz(func(t *testing.T, data []byte, hash uint64) {
		c := chunk(data)
		if !c.valid() {
			return
		}
		c.find(hash >> 16)
		list := c.all()
		if len(list) != c.len() {
			t.Errorf("%d of %d URLs", len(list), c.len())
		}
		slices.SortFunc(list, compareHashes)
		if again := newChunk(list, 490_000); !again.valid() || again.len() != len(list) {
			t.Errorf("%x became %x", data, again)
		}
	})
}
