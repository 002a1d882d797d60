package store

import (
	"encoding/binary"
	"slices"
	"sort"

	"github.com/newsfork/seed-engine/epoch"
)

// A host remembers its URLs by hashes of 48 bits, and of each what became of it. New entries gather in the host's row
// (recent). They are merged into sorted chunks, chosen by the hash's first bits. A chunk that outgrows maxChunk doubles
// the number of chunks. At the limit of that, with two million URLs, the chunk forgets URLs
// that were never fetched, the oldest first. A host with a hundred thousand URLs takes another for one of them with a
// probability of 2^-31.
const (
	maxRecent   = 256
	maxUnmerged = 1024 // of one transaction
	maxChunk    = 2048 // URLs: 11 to 15 KiB
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

// knownURLs holds what a host remembers of its URLs.
type knownURLs struct {
	host       *Host
	bits       int // first bits of a hash that choose its chunk
	recent     recentURLs
	hashesOnly bool // version 1 wrote the host, see verify
	unsure     bool // pages may count as waiting that are not in the queue, see verify
}

// A chunk begins with a mark that no list of hashes has, its form, and the hour from which its entries count: that of
// the oldest one, or keptHours before the chunk was written. A urlList follows, whose codes have two bits for the life,
// one for Listed and Foreign each, and 12 for the hour. A URL that is gone has both bits if it is disallowed. Before
// version 5, the form was 0, and each hash stood before its code.
const (
	chunkMark = 1<<48 - 1
	chunkForm = 1
	chunkHead = hashBytes + 4
	chunkCode = 2                     // bytes of a code
	pairBytes = hashBytes + chunkCode // of an entry before version 5

	listedBit  = 1 << 13
	foreignBit = 1 << 12
	hourBits   = 12
	maxHour    = 1<<hourBits - 1
)

type chunk []byte

// valid reports whether stored data is a chunk.
func (c chunk) valid() bool {
	switch {
	case len(c) == 0:
		return true
	case len(c) < chunkHead || hashAt([]byte(c), 0) != chunkMark:
		return false
	case c.hasPairs():
		return (len(c)-chunkHead)%pairBytes == 0
	}
	_, size := readURLs(c[chunkHead:], chunkCode)
	return c[hashBytes] == chunkForm && size > 0 && chunkHead+size == len(c)
}

// hasPairs reports whether a version before 5 wrote the chunk.
func (c chunk) hasPairs() bool { return len(c) > hashBytes && c[hashBytes] == 0 }

// pair returns an entry of a chunk that has pairs.
func (c chunk) pair(i int) (hash uint64, code uint32) {
	at := c[chunkHead+i*pairBytes:][:pairBytes]
	return hashAt([]byte(at), 0), uint32(binary.BigEndian.Uint16(at[hashBytes:]))
}

// urls returns the list of a chunk that has no pairs.
func (c chunk) urls() (l urlList) {
	if len(c) >= chunkHead {
		l, _ = readURLs(c[chunkHead:], chunkCode)
	}
	return l
}

func (c chunk) len() int {
	if c.hasPairs() {
		return max(0, len(c)-chunkHead) / pairBytes
	}
	return c.urls().n
}

func (c chunk) base() int64 {
	return int64(c[hashBytes+1])<<16 | int64(c[hashBytes+2])<<8 | int64(c[hashBytes+3])
}

// known returns what a code says.
func (c chunk) known(code uint32) Known {
	k := unpackKnown(Life(code>>14), code&listedBit != 0, code&foreignBit != 0)
	k.At = c.base() + int64(code&maxHour)
	return k
}

// find returns what the chunk has of a URL.
func (c chunk) find(hash uint64) (k Known, found bool) {
	if !c.hasPairs() {
		l := c.urls()
		i, found := l.find(hash)
		if found {
			k = c.known(l.code(i))
		}
		return k, found
	}
	i := sort.Search(c.len(), func(i int) bool { v, _ := c.pair(i); return v >= hash })
	if i < c.len() {
		v, code := c.pair(i)
		return c.known(code), v == hash
	}
	return k, false
}

// packed returns the two flags that are stored for k.
func (k Known) packed() (listed, foreign bool) {
	disallowed := k.Life == Gone && k.Disallowed
	return k.Listed || disallowed, k.Foreign && !k.Listed || disallowed
}

func unpackKnown(life Life, listed, foreign bool) Known {
	return Known{Life: life, Listed: listed, Foreign: foreign && !listed, Disallowed: life == Gone && listed && foreign}
}

// all returns the entries of a chunk.
func (c chunk) all() []recentURL {
	if !c.hasPairs() {
		l := c.urls()
		return l.unpack(c.known)
	}
	list := make([]recentURL, c.len())
	for i := range list {
		hash, code := c.pair(i)
		list[i] = recentURL{hash, c.known(code)}
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
	base = min(max(base, now-keptHours, 0), 1<<24-1)
	code := func(k *Known) uint32 {
		code := uint32(k.Life)<<14 | uint32(min(max(k.At-base, 0), maxHour))
		listed, foreign := k.packed()
		if listed {
			code |= listedBit
		}
		if foreign {
			code |= foreignBit
		}
		return code
	}
	c := append(appendHash(nil, chunkMark), chunkForm, byte(base>>16), byte(base>>8), byte(base))
	return appendURLs(c, list, code, chunkCode)
}

// chunkKey returns the key of the chunk that holds the hash of a host's URL.
func (s *knownURLs) chunkKey(hash uint64) int64 {
	return s.host.ID<<partBits | int64(hash>>(48-s.bits))
}

func (s *knownURLs) chunk(key int64) chunk { return s.host.tx.parts.rows[key] }

// Known returns what the host remembers of a URL, and false if it does not know it. LoadKnown must have loaded it.
func (s *knownURLs) Known(hash uint64) (Known, bool) {
	before, stored := s.chunk(s.chunkKey(hash)).find(hash)
	at, recent := s.recent.find(hash)
	switch {
	case recent && stored:
		return s.recent.list[at].over(before), true
	case recent:
		return s.recent.list[at].Known, true
	case stored:
		return before, true
	}
	return Known{}, false
}

// Remember notes what became of a URL.
func (s *knownURLs) Remember(hash uint64, k Known) error {
	if err := s.verify(); err != nil {
		return err
	}
	s.host.Change()
	k.Disallowed = k.Disallowed && k.Life == Gone
	if at, found := s.recent.find(hash); found {
		known := &s.recent.list[at].Known
		*known = k.over(*known)
		return nil
	}
	if s.recent.add(recentURL{hash, k}); s.recent.len() >= maxUnmerged {
		return s.mergeRecent()
	}
	return nil
}

// crowded reports whether the host's row has more recent URLs than it may keep.
func (s *knownURLs) crowded() bool {
	return s.recent.len() > maxRecent<<min(s.bits, 1) // the more chunks, the more of them a merge writes
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
	for list := s.recent.all(); len(list) > 0; {
		key := s.chunkKey(list[0].hash)
		n := 1
		for n < len(list) && s.chunkKey(list[n].hash) == key {
			n++
		}
		merged := mergeKnown(s.chunk(key).all(), list[:n])
		if s.bits == maxBits && len(merged) > maxChunk {
			merged = forgetOldest(merged, len(merged)-maxChunk*7/8)
		}
		s.host.tx.parts.set(key, newChunk(merged, hourOf(s.host.tx.now)))
		list = list[n:]
	}
	s.recent.replace(nil)
	s.host.Change()
	return nil
}

// overfull reports whether what is recent would make a chunk too large.
func (s *knownURLs) overfull() bool {
	more := map[int64]int{}
	for _, r := range s.recent.all() {
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
		list, middle := s.chunk(key).all(), uint64(2*i+1)<<(48-s.bits)
		at := sort.Search(len(list), func(i int) bool { return list[i].hash >= middle })
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
	list := s.recent.all()
	hashes := make([]uint64, len(list))
	for i := range list {
		hashes[i] = list[i].hash
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
	s.bits, s.hashesOnly, s.unsure = 0, false, false
	s.recent.replace(listOf(known))
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
	for _, r := range append(list, s.recent.all()...) {
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

func listOf(known map[uint64]Known) []recentURL {
	list := make([]recentURL, 0, len(known))
	for hash, k := range known {
		list = append(list, recentURL{hash, k})
	}
	return list
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
	for hash, k := range known {
		if k.Life = Idle; h.LeasedPage(hash) >= 0 || h.Entry(hash) >= 0 {
			k.Life = Waiting
		}
		known[hash] = k
	}
	s.bits = 0
	s.recent.replace(listOf(known))
	h.Change()
	return s.mergeRecent()
}
