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

// seenSet is the seen-set of a host.
type seenSet struct {
	host     *Host
	seenBits int // first bits of a hash that choose its chunk
	recent   []uint64
}

// chunkKey returns the key of the chunk that holds the hash of a host's URL.
func (s *seenSet) chunkKey(hash uint64) int64 {
	return s.host.ID<<partBits | int64(hash>>(48-s.seenBits))
}

func chunkIndex(chunk []byte, hash uint64) (int, bool) {
	n := len(chunk) / hashBytes
	i := sort.Search(n, func(i int) bool { return hashAt(chunk, i*hashBytes) >= hash })
	return i, i < n && hashAt(chunk, i*hashBytes) == hash
}

// Seen reports whether the host has had a URL. LoadSeen must have loaded what is known of the URL.
func (s *seenSet) Seen(hash uint64) bool {
	if slices.Contains(s.recent, hash) {
		return true
	}
	_, ok := chunkIndex(s.host.tx.parts.rows[s.chunkKey(hash)], hash)
	return ok
}

// Remember notes that the host has had a URL.
func (s *seenSet) Remember(hash uint64) error {
	s.recent = append(s.recent, hash)
	s.host.Change()
	if len(s.recent) <= maxRecent {
		return nil
	}
	return s.mergeRecent()
}

// mergeRecent moves the recent hashes into their chunks.
func (s *seenSet) mergeRecent() error {
	for {
		if err := s.loadSeen(s.recent); err != nil {
			return err
		}
		if s.seenBits == maxBits || !s.overfull() {
			break
		}
		if err := s.splitChunks(); err != nil {
			return err
		}
	}
	slices.Sort(s.recent)
	for len(s.recent) > 0 {
		key := s.chunkKey(s.recent[0])
		n := 1
		for n < len(s.recent) && s.chunkKey(s.recent[n]) == key {
			n++
		}
		s.host.tx.parts.set(key, mergeHashes(s.host.tx.parts.rows[key], s.recent[:n]))
		s.recent = s.recent[n:]
	}
	s.recent = nil
	s.host.Change()
	return nil
}

// overfull reports whether the recent hashes would make a chunk too large.
func (s *seenSet) overfull() bool {
	more := map[int64]int{}
	for _, v := range s.recent {
		key := s.chunkKey(v)
		if more[key]++; len(s.host.tx.parts.rows[key])/hashBytes+more[key] > maxChunk {
			return true
		}
	}
	return false
}

// splitChunks divides every chunk in two.
func (s *seenSet) splitChunks() error {
	old := make([]int64, 1<<s.seenBits)
	for i := range old {
		old[i] = s.host.ID<<partBits | int64(i)
	}
	if err := s.host.tx.parts.Load(old); err != nil {
		return err
	}
	s.seenBits++
	halves := map[int64][]byte{}
	for i, key := range old {
		chunk := s.host.tx.parts.rows[key]
		at, _ := chunkIndex(chunk, uint64(2*i+1)<<(48-s.seenBits))
		halves[s.host.ID<<partBits|int64(2*i)] = slices.Clone(chunk[:at*hashBytes])
		halves[s.host.ID<<partBits|int64(2*i+1)] = slices.Clone(chunk[at*hashBytes:])
	}
	for key, half := range halves {
		s.host.tx.parts.set(key, half)
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
func (s *seenSet) loadSeen(hashes []uint64) error {
	keys := make([]int64, len(hashes))
	for i, v := range hashes {
		keys[i] = s.chunkKey(v)
	}
	return s.host.tx.parts.Load(keys)
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
