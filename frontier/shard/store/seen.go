package store

import (
	"slices"
	"sort"
)

// The seen-set of a host keeps its URLs from returning: a hash of 48 bits each. New ones gather in
// the host's row (recent); maxRecent of them are merged into sorted chunks, chosen by the hash's
// first bits. A chunk that outgrows maxChunk doubles the number of chunks. A host with a hundred
// thousand URLs takes another for one of them with a probability of 2^-31.
const (
	maxRecent = 64
	maxChunk  = 2048 // hashes: 12 KiB
	maxBits   = 10   // the chunks are parts 0 to 1023 of a host
)

// SeenSet knows which URLs a host has had.
type SeenSet struct{ tx *Tx }

// ChunkKey returns the key of the chunk that holds the hash of a host's URL.
func (h *Host) ChunkKey(hash uint64) int64 {
	return h.ID<<partBits | int64(hash>>(48-h.seenBits))
}

func chunkIndex(chunk []byte, hash uint64) (int, bool) {
	n := len(chunk) / hashBytes
	i := sort.Search(n, func(i int) bool { return hashAt(chunk, i*hashBytes) >= hash })
	return i, i < n && hashAt(chunk, i*hashBytes) == hash
}

// Seen reports whether a host has had the URL. The chunk must have been loaded.
func (c *SeenSet) Has(h *Host, hash uint64) bool {
	if slices.Contains(h.recent, hash) {
		return true
	}
	_, ok := chunkIndex(c.tx.Pages.parts[h.ChunkKey(hash)], hash)
	return ok
}

// Remember adds a hash that was not seen.
func (c *SeenSet) Add(h *Host, hash uint64) error {
	h.recent = append(h.recent, hash)
	c.tx.Change(h)
	if len(h.recent) <= maxRecent {
		return nil
	}
	return c.merge(h)
}

// mergeRecent moves the recent hashes into their chunks.
func (c *SeenSet) merge(h *Host) error {
	for {
		if err := c.Load(h, h.recent); err != nil {
			return err
		}
		if h.seenBits == maxBits || !c.overfull(h) {
			break
		}
		if err := c.split(h); err != nil {
			return err
		}
	}
	slices.Sort(h.recent)
	for len(h.recent) > 0 {
		key := h.ChunkKey(h.recent[0])
		n := 1
		for n < len(h.recent) && h.ChunkKey(h.recent[n]) == key {
			n++
		}
		c.tx.Pages.set(key, mergeHashes(c.tx.Pages.parts[key], h.recent[:n]))
		h.recent = h.recent[n:]
	}
	h.recent = nil
	c.tx.Change(h)
	return nil
}

// overfull reports whether the recent hashes would make a chunk too large.
func (c *SeenSet) overfull(h *Host) bool {
	more := map[int64]int{}
	for _, v := range h.recent {
		key := h.ChunkKey(v)
		if more[key]++; len(c.tx.Pages.parts[key])/hashBytes+more[key] > maxChunk {
			return true
		}
	}
	return false
}

// splitChunks divides every chunk in two.
func (c *SeenSet) split(h *Host) error {
	old := make([]int64, 1<<h.seenBits)
	for i := range old {
		old[i] = h.ID<<partBits | int64(i)
	}
	if err := c.tx.Pages.Load(old); err != nil {
		return err
	}
	h.seenBits++
	halves := map[int64][]byte{}
	for i, key := range old {
		chunk := c.tx.Pages.parts[key]
		at, _ := chunkIndex(chunk, uint64(2*i+1)<<(48-h.seenBits))
		halves[h.ID<<partBits|int64(2*i)] = slices.Clone(chunk[:at*hashBytes])
		halves[h.ID<<partBits|int64(2*i+1)] = slices.Clone(chunk[at*hashBytes:])
	}
	for key, half := range halves {
		c.tx.Pages.set(key, half)
	}
	return nil
}

func mergeHashes(chunk []byte, sorted []uint64) []byte {
	merged := make([]byte, 0, len(chunk)+len(sorted)*hashBytes)
	for _, v := range sorted {
		i, ok := chunkIndex(chunk, v)
		merged = append(merged, chunk[:i*hashBytes]...)
		if chunk = chunk[i*hashBytes:]; !ok {
			merged = appendHash(merged, v)
		}
	}
	return append(merged, chunk...)
}

// LoadChunks loads the chunks to which hashes of a host belong.
func (c *SeenSet) Load(h *Host, hashes []uint64) error {
	var keys []int64
	for _, v := range hashes {
		keys = append(keys, h.ChunkKey(v))
	}
	return c.tx.Pages.Load(keys)
}
