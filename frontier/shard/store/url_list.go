package store

import (
	"encoding/binary"
	"math/bits"
	"sort"
)

// A urlList is a packed list of known URLs in ascending order of their hashes, each with a code for what became of it.
// It consists of:
//
//   - the number of URLs, and that of different codes; 0 if each URL has a code of its own
//   - from fewURLs on, the first bytes of the hashes: for each value of the byte as many ones as there are hashes that
//     begin with it, then a zero; in words of 64 bits, from the lowest bit on
//   - the hashes, without their first bytes if these stand above
//   - the codes
//   - if URLs share codes, the number of each URL's code, in as many bits as the highest number has
type urlList struct {
	n, kinds  int
	hashBytes int // of each of hashes
	codeBytes int // of each of codes
	width     int // bits of a number

	firsts, hashes, codes, numbers []byte
}

const (
	fewURLs    = 64
	firstShift = 8 * (hashBytes - 1)
	wordBytes  = 8
	wordBits   = 8 * wordBytes
	maxKinds   = 1 << 10 // different codes of one list; with more, each URL has its own
)

// firstsBytes returns the number of bytes that the first bytes of n hashes take.
func firstsBytes(n int) int { return (n + 256 + wordBits - 1) / wordBits * wordBytes }

// readURLs reads a list at the beginning of b and returns its size, or 0 if it is damaged.
func readURLs(b []byte, codeBytes int) (l urlList, size int) {
	n, head := binary.Uvarint(b)
	kinds, more := binary.Uvarint(b[max(head, 0):])
	if head <= 0 || more <= 0 || n > uint64(len(b)) || kinds > min(n, maxKinds) {
		return urlList{}, 0
	}
	l = urlList{n: int(n), kinds: int(kinds), hashBytes: hashBytes, codeBytes: codeBytes}
	size = head + more
	cut := func(n int) (part []byte) {
		if size += n; size <= len(b) {
			part = b[size-n : size]
		}
		return part
	}
	if l.n >= fewURLs {
		l.hashBytes--
		l.firsts = cut(firstsBytes(l.n))
	}
	l.hashes = cut(l.n * l.hashBytes)
	if l.kinds == 0 {
		l.codes = cut(l.n * codeBytes)
	} else {
		l.codes = cut(l.kinds * codeBytes)
		l.width = bits.Len(uint(l.kinds - 1))
		l.numbers = cut((l.n*l.width + 7) / 8)
	}
	if size > len(b) || !l.validFirsts() {
		return urlList{}, 0
	}
	return l, size
}

// validFirsts reports whether there are as many first bytes as hashes.
func (l *urlList) validFirsts() bool {
	if l.n < fewURLs {
		return true
	}
	ones, last := 0, uint64(0)
	for at := 0; at < len(l.firsts); at += wordBytes {
		last = binary.LittleEndian.Uint64(l.firsts[at:])
		ones += bits.OnesCount64(last)
	}
	return ones == l.n && last>>((l.n+255)%wordBits) == 0 // the last zero ends the highest value
}

// rest returns what hashes has of one of them.
func (l *urlList) rest(i int) uint64 {
	b := l.hashes[i*l.hashBytes:]
	if l.n < fewURLs {
		return hashAt(b, 0)
	}
	return uint64(b[0])<<32 | uint64(binary.BigEndian.Uint32(b[1:]))
}

// code returns the code of a URL.
func (l *urlList) code(i int) (code uint32) {
	if l.kinds > 0 {
		i = l.number(i)
	}
	for _, b := range l.codes[i*l.codeBytes : (i+1)*l.codeBytes] {
		code = code<<8 | uint32(b)
	}
	return code
}

// number returns the number of a URL's code; 0 for a number that is too high.
func (l *urlList) number(i int) int {
	at, v := i*l.width, uint(0)
	for k := (at + l.width - 1) / 8; k >= at/8 && l.width > 0; k-- {
		v = v<<8 | uint(l.numbers[k])
	}
	if v = v >> (at % 8) & (1<<l.width - 1); v >= uint(l.kinds) {
		return 0
	}
	return int(v)
}

// isHash reports whether a bit of firsts is that of a hash.
func (l *urlList) isHash(at int) bool { return l.firsts[at/8]>>(at%8)&1 == 1 }

// before counts the hashes whose first byte is less than first.
func (l *urlList) before(first int) (n int) {
	for at := 0; first > 0; at += wordBytes {
		word := binary.LittleEndian.Uint64(l.firsts[at:])
		if ones := bits.OnesCount64(word); wordBits-ones < first {
			first -= wordBits - ones
			n += ones
			continue
		}
		for ; first > 0; first-- {
			ones := bits.TrailingZeros64(^word)
			word >>= ones + 1
			n += ones
		}
	}
	return n
}

// find returns where a hash is, or would be.
func (l *urlList) find(hash uint64) (i int, found bool) {
	if l.n < fewURLs {
		i = sort.Search(l.n, func(i int) bool { return l.rest(i) >= hash })
		return i, i < l.n && l.rest(i) == hash
	}
	first, rest := int(hash>>firstShift), hash&(1<<firstShift-1)
	i = l.before(first)
	for l.isHash(i+first) && l.rest(i) < rest {
		i++
	}
	return i, l.isHash(i+first) && l.rest(i) == rest
}

// unpack returns all URLs; known tells what a code says.
func (l *urlList) unpack(known func(code uint32) Known) []recentURL {
	list := make([]recentURL, l.n, l.n+8)
	at := 0
	for i := range list {
		hash := l.rest(i)
		if l.n >= fewURLs {
			for !l.isHash(at) {
				at++
			}
			hash |= uint64(at-i) << firstShift
			at++
		}
		list[i] = recentURL{hash, known(l.code(i))}
	}
	return list
}

// appendURLs packs URLs in ascending order of their hashes.
func appendURLs(b []byte, list []recentURL, code func(k *Known) uint32, codeBytes int) []byte {
	n := len(list)
	numbers := make([]uint16, n)
	var k kinds
	for i := range list {
		numbers[i] = k.number(code(&list[i].Known))
	}
	width := bits.Len(uint(max(len(k.codes), 1) - 1))
	if k.tooMany || len(k.codes)*codeBytes+(n*width+7)/8 >= n*codeBytes {
		k.codes = nil
	}
	b = appendUint(appendUint(b, int64(n)), int64(len(k.codes)))
	if n >= fewURLs {
		at := len(b)
		b = append(b, make([]byte, firstsBytes(n))...)
		for i := range list {
			bit := int(list[i].hash>>firstShift) + i
			b[at+bit/8] |= 1 << (bit % 8)
		}
	}
	for i := range list {
		hash := list[i].hash
		if n < fewURLs {
			b = append(b, byte(hash>>firstShift))
		}
		b = append(b, byte(hash>>32), byte(hash>>24), byte(hash>>16), byte(hash>>8), byte(hash))
	}
	if k.codes == nil {
		for i := range list {
			b = appendCode(b, code(&list[i].Known), codeBytes)
		}
		return b
	}
	for _, code := range k.codes {
		b = appendCode(b, code, codeBytes)
	}
	at := len(b)
	b = append(b, make([]byte, (n*width+7)/8)...)
	for i, number := range numbers {
		bit := i * width
		for v, k := uint(number)<<(bit%8), at+bit/8; v > 0; v, k = v>>8, k+1 {
			b[k] |= byte(v)
		}
	}
	return b
}

func appendCode(b []byte, code uint32, codeBytes int) []byte {
	for shift := 8 * (codeBytes - 1); shift >= 0; shift -= 8 {
		b = append(b, byte(code>>shift))
	}
	return b
}

// kinds numbers different codes in the order in which they come.
type kinds struct {
	codes   []uint32
	tooMany bool
	slots   [2 * maxKinds]uint16 // a hash table of numbers plus 1
}

// number returns the number of a code, and 0 if there are too many.
func (k *kinds) number(code uint32) uint16 {
	at := code * 0x9e3779b1 >> 21 % uint32(len(k.slots))
	for ; k.slots[at] > 0; at = (at + 1) % uint32(len(k.slots)) {
		if n := k.slots[at] - 1; k.codes[n] == code {
			return n
		}
	}
	if len(k.codes) == maxKinds {
		k.tooMany = true
		return 0
	}
	k.codes = append(k.codes, code)
	k.slots[at] = uint16(len(k.codes))
	return k.slots[at] - 1
}
