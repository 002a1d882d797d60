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

// chunkKey returns the key of the chunk that holds the hash of a host's URL.
func (h *Host) chunkKey(hash uint64) int64 {
	return h.ID<<partBits | int64(hash>>(48-h.seenBits))
}

func chunkIndex(chunk []byte, hash uint64) (int, bool) {
	n := len(chunk) / hashBytes
	i := sort.Search(n, func(i int) bool { return hashAt(chunk, i*hashBytes) >= hash })
	return i, i < n && hashAt(chunk, i*hashBytes) == hash
}

// Seen reports whether the host has had a URL. LoadSeen must have loaded what is known of the URL.
func (h *Host) Seen(hash uint64) bool {
	if slices.Contains(h.recent, hash) {
		return true
	}
	_, ok := chunkIndex(h.tx.parts.rows[h.chunkKey(hash)], hash)
	return ok
}

// Remember notes that the host has had a URL.
func (h *Host) Remember(hash uint64) error {
	h.recent = append(h.recent, hash)
	h.Change()
	if len(h.recent) <= maxRecent {
		return nil
	}
	return h.mergeRecent()
}

// mergeRecent moves the recent hashes into their chunks.
func (h *Host) mergeRecent() error {
	for {
		if err := h.loadSeen(h.recent); err != nil {
			return err
		}
		if h.seenBits == maxBits || !h.overfull() {
			break
		}
		if err := h.splitChunks(); err != nil {
			return err
		}
	}
	slices.Sort(h.recent)
	for len(h.recent) > 0 {
		key := h.chunkKey(h.recent[0])
		n := 1
		for n < len(h.recent) && h.chunkKey(h.recent[n]) == key {
			n++
		}
		h.tx.parts.set(key, mergeHashes(h.tx.parts.rows[key], h.recent[:n]))
		h.recent = h.recent[n:]
	}
	h.recent = nil
	h.Change()
	return nil
}

// overfull reports whether the recent hashes would make a chunk too large.
func (h *Host) overfull() bool {
	more := map[int64]int{}
	for _, v := range h.recent {
		key := h.chunkKey(v)
		if more[key]++; len(h.tx.parts.rows[key])/hashBytes+more[key] > maxChunk {
			return true
		}
	}
	return false
}

// splitChunks divides every chunk in two.
func (h *Host) splitChunks() error {
	old := make([]int64, 1<<h.seenBits)
	for i := range old {
		old[i] = h.ID<<partBits | int64(i)
	}
	if err := h.tx.parts.Load(old); err != nil {
		return err
	}
	h.seenBits++
	halves := map[int64][]byte{}
	for i, key := range old {
		chunk := h.tx.parts.rows[key]
		at, _ := chunkIndex(chunk, uint64(2*i+1)<<(48-h.seenBits))
		halves[h.ID<<partBits|int64(2*i)] = slices.Clone(chunk[:at*hashBytes])
		halves[h.ID<<partBits|int64(2*i+1)] = slices.Clone(chunk[at*hashBytes:])
	}
	for key, half := range halves {
		h.tx.parts.set(key, half)
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

// loadSeen loads the chunks to which hashes of the host belong.
func (h *Host) loadSeen(hashes []uint64) error {
	keys := make([]int64, len(hashes))
	for i, v := range hashes {
		keys[i] = h.chunkKey(v)
	}
	return h.tx.parts.Load(keys)
}

// URLKey identifies a URL of the shard.
type URLKey struct {
	Host int64
	Hash uint64 // see Hash48
}

// LoadSeen loads what is known of URLs of hosts that were loaded, so that Host.Seen answers.
func (c *Tx) LoadSeen(urls []URLKey) error {
	keys := make([]int64, len(urls))
	for i, u := range urls {
		keys[i] = c.hosts[u.Host].chunkKey(u.Hash)
	}
	return c.parts.Load(keys)
}
