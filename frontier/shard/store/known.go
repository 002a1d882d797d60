package store

import (
	"cmp"
	"slices"
	"sort"

	"github.com/newsfork/seed-engine/epoch"
)

// A host remembers its URLs by hashes of 48 bits, each with 16 bits that say what became of the URL. New entries gather
// in the host's row (recent). They are merged into sorted chunks, chosen by the hash's first bits. A chunk that
// outgrows maxChunk doubles the number of chunks. At the limit of that, with two million URLs, the chunk forgets URLs
// that were never fetched, the oldest first. A host with a hundred thousand URLs takes another for one of them with a
// probability of 2^-31.
const (
	maxRecent   = 256
	maxUnmerged = 1024 // of one transaction
	maxChunk    = 2048 // URLs: 16 KiB
	maxBits     = 10   // the chunks are parts 0 to 1023 of a host
)

// Life is the state of a known URL. A URL that was seen need not have been fetched.
type Life uint8

// Lives.
const (
	Idle    Life = iota // it waits nowhere, and was never fetched
	Waiting             // in the queue, leased, or an entry point
	Fetched
	Gone // refused for good, until something says that it is back
)

// Known holds what a host remembers of a URL.
type Known struct {
	Life Life
	// Listed: its own site has listed it with a date, or it was announced. It is not new any more.
	Listed bool
	// Foreign: only pages of other domains have named it.
	Foreign bool
	// Disallowed: it is gone because a scraper read in robots.txt that it must not be fetched. It counts as listed.
	Disallowed bool
	// At is the hour of the last fetch or refusal, else of the first sight; hours since 1970. What is older than
	// keptHours counts as so old.
	At int64
	// Part is the part of that hour, from 1 to hourParts; 0 if it is unknown. Chunks do not keep it.
	Part uint8
}

const (
	hourParts   = 15
	partSeconds = 3600 / hourParts
)

// On returns k with an instant as its time.
func (k Known) On(at epoch.Seconds) Known {
	at = max(at, 0)
	k.At, k.Part = int64(at/3600), uint8(1+at%3600/partSeconds)
	return k
}

// over returns what is known when k became known after before: nothing makes a URL that was listed new again, or one
// that its own site named foreign.
func (k Known) over(before Known) Known {
	k.Listed, k.Foreign = k.Listed || before.Listed, k.Foreign && before.Foreign
	return k
}

// Since and Until return the beginning and the end of the hour of At, or of its part if that is known.
func (k Known) Since() epoch.Seconds {
	return epoch.Seconds(k.At*3600 + partSeconds*max(int64(k.Part)-1, 0))
}

func (k Known) Until() epoch.Seconds {
	if k.Part == 0 {
		return k.Since() + 3600
	}
	return k.Since() + partSeconds
}

// keptHours is the age, in hours, beyond which a chunk does not distinguish times. 12 bits also have to hold the hours
// after the chunk is written.
const keptHours = 4000

// recentURL is a URL in the host's row.
type recentURL struct {
	hash uint64
	Known
}

// knownURLs holds what a host remembers of its URLs.
type knownURLs struct {
	host       *Host
	bits       int // first bits of a hash that choose its chunk
	recent     []recentURL
	hashesOnly bool // version 1 wrote the host, see verify
	unsure     bool // pages may count as waiting that are not in the queue, see verify
}

// A chunk begins with a mark that no list of hashes has, and the hour from which its entries count: that of the oldest
// one, or keptHours before the chunk was written. An entry is a hash, two bits for its life, one for Listed and Foreign
// each, and 12 for its hour. A URL that is gone has both bits if it is disallowed.
const (
	chunkMark  = 1<<48 - 1
	chunkHead  = hashBytes + 4
	knownBytes = hashBytes + 2

	listedBit  = 1 << 13
	foreignBit = 1 << 12
	hourBits   = 12
	maxHour    = 1<<hourBits - 1
)

type chunk []byte

// valid reports whether stored data is a chunk.
func (c chunk) valid() bool {
	return len(c) == 0 || len(c) >= chunkHead && (len(c)-chunkHead)%knownBytes == 0 && hashAt([]byte(c), 0) == chunkMark
}

func (c chunk) len() int { return max(0, len(c)-chunkHead) / knownBytes }

func (c chunk) hash(i int) uint64 { return hashAt([]byte(c), chunkHead+i*knownBytes) }

func (c chunk) base() int64 {
	return int64(c[hashBytes])<<24 | int64(c[hashBytes+1])<<16 | int64(c[hashBytes+2])<<8 | int64(c[hashBytes+3])
}

func (c chunk) known(i int) Known {
	at := chunkHead + i*knownBytes + hashBytes
	bits := int64(c[at])<<8 | int64(c[at+1])
	k := unpackKnown(Life(bits>>14), bits&listedBit != 0, bits&foreignBit != 0)
	k.At = c.base() + bits&maxHour
	return k
}

// packed returns the two flags that are stored for k.
func (k Known) packed() (listed, foreign bool) {
	disallowed := k.Life == Gone && k.Disallowed
	return k.Listed || disallowed, k.Foreign && !k.Listed || disallowed
}

func unpackKnown(life Life, listed, foreign bool) Known {
	return Known{Life: life, Listed: listed, Foreign: foreign && !listed, Disallowed: life == Gone && listed && foreign}
}

func (c chunk) find(hash uint64) (int, bool) {
	i := sort.Search(c.len(), func(i int) bool { return c.hash(i) >= hash })
	return i, i < c.len() && c.hash(i) == hash
}

// all returns the entries of a chunk.
func (c chunk) all() []recentURL {
	list := make([]recentURL, c.len())
	for i := range list {
		list[i] = recentURL{c.hash(i), c.known(i)}
	}
	return list
}

// newChunk encodes sorted entries.
func newChunk(list []recentURL, now int64) chunk {
	if len(list) == 0 {
		return nil
	}
	base := max(now, 0)
	for i := range list {
		base = min(base, list[i].At)
	}
	base = max(base, now-keptHours, 0)
	c := make(chunk, 0, chunkHead+len(list)*knownBytes)
	c = append(appendHash(c, chunkMark), byte(base>>24), byte(base>>16), byte(base>>8), byte(base))
	for i := range list {
		k := &list[i]
		bits := int64(k.Life)<<14 | min(max(k.At-base, 0), maxHour)
		listed, foreign := k.packed()
		if listed {
			bits |= listedBit
		}
		if foreign {
			bits |= foreignBit
		}
		c = append(appendHash(c, k.hash), byte(bits>>8), byte(bits))
	}
	return c
}

// chunkKey returns the key of the chunk that holds the hash of a host's URL.
func (s *knownURLs) chunkKey(hash uint64) int64 {
	return s.host.ID<<partBits | int64(hash>>(48-s.bits))
}

func (s *knownURLs) chunk(key int64) chunk { return s.host.tx.parts.rows[key] }

// Known returns what the host remembers of a URL, and false if it does not know it. LoadKnown must have loaded it.
func (s *knownURLs) Known(hash uint64) (Known, bool) {
	c := s.chunk(s.chunkKey(hash))
	i, stored := c.find(hash)
	switch at := s.recently(hash); {
	case at >= 0 && stored:
		return s.recent[at].over(c.known(i)), true
	case at >= 0:
		return s.recent[at].Known, true
	case stored:
		return c.known(i), true
	}
	return Known{}, false
}

func (s *knownURLs) recently(hash uint64) int {
	for i := range s.recent {
		if s.recent[i].hash == hash {
			return i
		}
	}
	return -1
}

// Remember notes what became of a URL.
func (s *knownURLs) Remember(hash uint64, k Known) error {
	if err := s.verify(); err != nil {
		return err
	}
	s.host.Change()
	k.Disallowed = k.Disallowed && k.Life == Gone
	if i := s.recently(hash); i >= 0 {
		s.recent[i].Known = k.over(s.recent[i].Known)
		return nil
	}
	if s.recent = append(s.recent, recentURL{hash, k}); len(s.recent) >= maxUnmerged {
		return s.mergeRecent()
	}
	return nil
}

// crowded reports whether the host's row has more recent URLs than it may keep.
func (s *knownURLs) crowded() bool {
	return len(s.recent) > maxRecent<<min(s.bits, 1) // the more chunks, the more of them a merge writes
}

// End notes what became now of a URL that waited. LoadKnown need not have loaded it.
func (s *knownURLs) End(hash uint64, life Life) error {
	return s.Remember(hash, Known{Life: life, Foreign: true}.On(s.host.tx.seconds()))
}

// drop notes that pages, which were not fetched, left the queue; life is Idle or Gone. Idle pages that were fetched
// before become Fetched.
func (s *knownURLs) drop(pages []Page, life Life) error {
	hashes := make([]uint64, len(pages))
	for i := range pages {
		hashes[i] = Hash48(pages[i].Path)
	}
	if err := s.load(hashes); err != nil {
		return err
	}
	for i, hash := range hashes {
		k, _ := s.Known(hash)
		switch k.Life = life; {
		case life == Gone:
			k = k.On(s.host.tx.seconds())
		case pages[i].Visit != nil:
			k.Life = Fetched
			k = k.On(pages[i].Visit.Fetched)
		}
		if err := s.Remember(hash, k); err != nil {
			return err
		}
	}
	return nil
}

// mergeRecent moves what is recent into the chunks.
func (s *knownURLs) mergeRecent() error {
	for {
		if err := s.load(s.hashes()); err != nil {
			return err
		}
		if s.bits == maxBits || !s.overfull() {
			break
		}
		if err := s.splitChunks(); err != nil {
			return err
		}
	}
	slices.SortFunc(s.recent, func(a, b recentURL) int { return cmp.Compare(a.hash, b.hash) })
	for len(s.recent) > 0 {
		key := s.chunkKey(s.recent[0].hash)
		n := 1
		for n < len(s.recent) && s.chunkKey(s.recent[n].hash) == key {
			n++
		}
		merged := mergeKnown(s.chunk(key).all(), s.recent[:n])
		if s.bits == maxBits && len(merged) > maxChunk {
			merged = forgetOldest(merged, len(merged)-maxChunk*7/8)
		}
		s.host.tx.parts.set(key, newChunk(merged, hourOf(s.host.tx.now)))
		s.recent = s.recent[n:]
	}
	s.recent = nil
	s.host.Change()
	return nil
}

// overfull reports whether what is recent would make a chunk too large.
func (s *knownURLs) overfull() bool {
	more := map[int64]int{}
	for _, r := range s.recent {
		key := s.chunkKey(r.hash)
		if more[key]++; s.chunk(key).len()+more[key] > maxChunk {
			return true
		}
	}
	return false
}

// splitChunks divides every chunk in two.
func (s *knownURLs) splitChunks() error {
	old := make([]int64, 1<<s.bits)
	for i := range old {
		old[i] = s.host.ID<<partBits | int64(i)
	}
	if err := s.host.tx.parts.Load(old); err != nil {
		return err
	}
	s.bits++
	now := hourOf(s.host.tx.now)
	halves := map[int64]chunk{}
	for i, key := range old {
		c := s.chunk(key)
		at, _ := c.find(uint64(2*i+1) << (48 - s.bits))
		list := c.all()
		halves[s.host.ID<<partBits|int64(2*i)] = newChunk(list[:at], now)
		halves[s.host.ID<<partBits|int64(2*i+1)] = newChunk(list[at:], now)
	}
	for key, half := range halves {
		s.host.tx.parts.set(key, half)
	}
	return nil
}

// mergeKnown merges two sorted lists, of which news is newer.
func mergeKnown(list, news []recentURL) []recentURL {
	merged := make([]recentURL, 0, len(list)+len(news))
	for _, r := range news {
		n := sort.Search(len(list), func(i int) bool { return list[i].hash >= r.hash })
		merged = append(merged, list[:n]...)
		if list = list[n:]; len(list) > 0 && list[0].hash == r.hash {
			r.Known = r.over(list[0].Known)
			list = list[1:]
		}
		merged = append(merged, r)
	}
	return append(merged, list...)
}

// forgetOldest drops n entries of URLs that were seen first and never fetched, or all of these if there are fewer.
func forgetOldest(list []recentURL, n int) []recentURL {
	var hours []int64
	for _, r := range list {
		if r.Life == Idle {
			hours = append(hours, r.At)
		}
	}
	if len(hours) == 0 {
		return list
	}
	slices.Sort(hours)
	last := hours[min(n, len(hours))-1]
	return slices.DeleteFunc(list, func(r recentURL) bool {
		is := n > 0 && r.Life == Idle && r.At <= last
		if is {
			n--
		}
		return is
	})
}

// hashes returns the hashes of the recent URLs.
func (s *knownURLs) hashes() []uint64 {
	hashes := make([]uint64, len(s.recent))
	for i := range s.recent {
		hashes[i] = s.recent[i].hash
	}
	return hashes
}

// load loads the chunks to which hashes of the host belong.
func (s *knownURLs) load(hashes []uint64) error {
	if err := s.verify(); err != nil {
		return err
	}
	keys := make([]int64, len(hashes))
	for i, v := range hashes {
		keys[i] = s.chunkKey(v)
	}
	if err := s.host.tx.parts.Load(keys); err != nil {
		return err
	}
	return s.check(keys)
}

// check drops damaged chunks. What waits is remembered again; the rest is as if it had never been seen.
func (s *knownURLs) check(keys []int64) error {
	for _, key := range keys {
		if data := s.host.tx.parts.rows[key]; !chunk(data).valid() {
			s.host.tx.quarantine.add(damagedRow{"parts", key, s.host.Name, ErrDamaged.Error(), data})
			s.host.tx.parts.set(key, nil)
			s.unsure = true
		}
	}
	return s.verify()
}

// URLKey identifies a URL of the shard.
type URLKey struct {
	Host int64
	Hash uint64 // see Hash48
}

// LoadKnown loads what is known of URLs of hosts that were loaded, so that Host.Known answers.
func (c *Tx) LoadKnown(urls []URLKey) error {
	keys := make([]int64, len(urls))
	for i, u := range urls {
		h := c.hosts[u.Host]
		if err := h.verify(); err != nil {
			return err
		}
		keys[i] = h.chunkKey(u.Hash)
	}
	if err := c.parts.Load(keys); err != nil {
		return err
	}
	for i, u := range urls {
		if err := c.hosts[u.Host].check(keys[i : i+1]); err != nil {
			return err
		}
	}
	return nil
}

// verify corrects what is remembered by what is in the queue, after damaged pages were dropped and in a host that
// version 1 wrote.
func (s *knownURLs) verify() error {
	if !s.hashesOnly && !s.unsure {
		return nil
	}
	known, err := s.readAll()
	if err != nil {
		return err
	}
	if err := s.host.UnpackEntries(); err != nil {
		return err
	}
	pages, err := s.host.Pages()
	if err != nil {
		return err
	}
	for i := range pages {
		hash := Hash48(pages[i].Path)
		k, ok := known[hash]
		switch {
		case !ok: // version 1 remembered what only other domains named by a hash with another last bit
			delete(known, hash^1)
			k = Known{Foreign: pages[i].Foreign, At: hourOf(s.host.tx.now)}
		case s.hashesOnly:
			k.Foreign = false
		}
		k.Life = Waiting
		known[hash] = k
	}
	for i := range s.host.Entries {
		hash := Hash48(s.host.Entries[i].Path)
		k := known[hash]
		k.Life = Waiting
		known[hash] = k
	}
	s.recent, s.bits, s.hashesOnly, s.unsure = s.recent[:0:0], 0, false, false
	for hash, k := range known {
		s.recent = append(s.recent, recentURL{hash, k})
	}
	s.host.Change()
	return s.mergeRecent()
}

// readAll returns all known URLs, and drops the chunks. No URL counts as waiting. Version 1 did not remember whether a
// page was fetched, so its pages count as fetched now.
func (s *knownURLs) readAll() (map[uint64]Known, error) {
	parts := &s.host.tx.parts
	keys := make([]int64, 1<<s.bits)
	for i := range keys {
		keys[i] = s.host.ID<<partBits | int64(i)
	}
	if err := parts.Load(keys); err != nil {
		return nil, err
	}
	var list []recentURL
	for _, key := range keys {
		data := parts.rows[key]
		if len(data) == 0 {
			continue
		}
		if s.hashesOnly {
			for at := 0; at+hashBytes <= len(data); at += hashBytes {
				list = append(list, recentURL{hash: hashAt(data, at)})
			}
		} else if c := chunk(data); c.valid() {
			list = append(list, c.all()...)
		}
		parts.set(key, nil)
	}
	known := map[uint64]Known{}
	for _, r := range append(list, s.recent...) {
		switch {
		case s.hashesOnly:
			r.Known = Known{Life: Fetched, Listed: true, At: hourOf(s.host.tx.now)}
		case r.Life == Waiting:
			r.Life = Idle
		}
		known[r.hash] = r.Known
	}
	return known, nil
}

// forget forgets what became of all URLs but those that are leased, and entry points.
func (s *knownURLs) forget() error {
	if err := s.verify(); err != nil {
		return err
	}
	known, err := s.readAll()
	if err != nil {
		return err
	}
	h := s.host
	if err := h.UnpackEntries(); err != nil {
		return err
	}
	s.recent, s.bits = s.recent[:0:0], 0
	for hash, k := range known {
		if k.Life = Idle; h.LeasedPage(hash) >= 0 || h.Entry(hash) >= 0 {
			k.Life = Waiting
		}
		s.recent = append(s.recent, recentURL{hash, k})
	}
	h.Change()
	return s.mergeRecent()
}
