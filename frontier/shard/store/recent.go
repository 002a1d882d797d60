package store

import (
	"cmp"
	"slices"
)

// recentURL is a URL in the host's row.
type recentURL struct {
	hash uint64
	Known
}

// recentURLs are the URLs in a host's row, in ascending order of their hashes. They stay packed until one is looked
// for, which no lease does.
type recentURLs struct {
	packed []byte // as stored, while that is so
	list   []recentURL
}

// A code of the host's row has the hour of a URL in its lower hourShift bits, and these flags above.
const (
	recentBytes = 4
	hourShift   = 24

	lifeMask      = 3
	recentListed  = 1 << 2
	recentForeign = 1 << 3
	partShift     = 4
)

// recentCode returns the code of a URL in the host's row.
func recentCode(k *Known) uint32 {
	flags := uint32(k.Life) | uint32(k.Part)<<partShift
	listed, foreign := k.packed()
	if listed {
		flags |= recentListed
	}
	if foreign {
		flags |= recentForeign
	}
	return flags<<hourShift | uint32(min(max(k.At, 0), 1<<hourShift-1))
}

func knownOfRecent(code uint32) Known {
	flags := code >> hourShift
	k := unpackKnown(Life(flags&lifeMask), flags&recentListed != 0, flags&recentForeign != 0)
	k.At, k.Part = int64(code&(1<<hourShift-1)), uint8(flags>>partShift)
	return k
}

func compareHashes(a, b recentURL) int { return cmp.Compare(a.hash, b.hash) }

// all returns the URLs.
func (s *recentURLs) all() []recentURL {
	if s.packed != nil {
		l, _ := readURLs(s.packed, recentBytes)
		s.replace(l.unpack(knownOfRecent))
	}
	return s.list
}

// replace takes a list in any order.
func (s *recentURLs) replace(list []recentURL) {
	if !slices.IsSortedFunc(list, compareHashes) {
		slices.SortFunc(list, compareHashes)
	}
	s.packed, s.list = nil, list
}

func (s *recentURLs) len() int {
	if s.packed != nil {
		l, _ := readURLs(s.packed, recentBytes)
		return l.n
	}
	return len(s.list)
}

// find returns where a hash is, or would be.
func (s *recentURLs) find(hash uint64) (at int, found bool) {
	return slices.BinarySearchFunc(s.all(), recentURL{hash: hash}, compareHashes)
}

// add adds a URL that is not there.
func (s *recentURLs) add(r recentURL) {
	at, _ := s.find(r.hash)
	s.list = slices.Insert(s.list, at, r)
}

func (s *recentURLs) append(b []byte) []byte {
	if s.packed != nil {
		return append(b, s.packed...)
	}
	return appendURLs(b, s.list, recentCode, recentBytes)
}

// recent reads URLs of the record, which has them at the same place.
func (d *decoder) recent(record []byte) (s recentURLs) {
	_, size := readURLs(record[d.at:], recentBytes)
	if size == 0 {
		d.fail()
		return s
	}
	s.packed = record[d.at : d.at+size : d.at+size]
	d.at += size
	return s
}
