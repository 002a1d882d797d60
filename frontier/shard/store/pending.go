package store

import (
	"bytes"
	"cmp"
	"math"
	"slices"
	"sort"

	"github.com/newsfork/seed-engine/frontier"
)

// Pointers that arrive in the tables queue and due stay in the shard's state for a while: most are taken from there
// before they need a row. If there are too many, half of them go to their blocks.

// A pendingList has pointers that are in no block yet, by their slots, those of a slot in the order of their arrival. A
// record is the slot, which is the key of its first block without the number of the block, and a pointer.
type pendingList struct {
	data  []byte
	width int // of a pointer; its first idBytes are the host's id
	most  int // pointers
}

// Limits of the lists, which every operation reads.
const (
	maxPendingPointers = 256
	maxPendingDue      = 128
)

// lastBlock is the number under which pointers of a slot that are in no block are read: behind its blocks.
const lastBlock = 1<<blockBits - 1

// firstOf returns the key of the first block of a slot.
func firstOf(key int64) int64 { return key &^ lastBlock }

func (l *pendingList) size() int { return idBytes + l.width }

func (l *pendingList) len() int { return len(l.data) / l.size() }

func (l *pendingList) key(i int) int64 { return idAt(l.data, i*l.size()) << blockBits }

func (l *pendingList) pointer(i int) []byte { return l.data[i*l.size()+idBytes : (i+1)*l.size()] }

// from returns the index of the first pointer whose slot is not before that of a key.
func (l *pendingList) from(key int64) int {
	return sort.Search(l.len(), func(i int) bool { return l.key(i) >= key })
}

// pendingSlot is a slot's pointers, as a block has them.
type pendingSlot struct {
	key  int64 // of the slot's first block
	data []byte
}

// slots returns the pointers of slots between two keys; none if the first key is the larger one, as after a clock that
// was ahead.
func (l *pendingList) slots(from, to int64) (slots []pendingSlot) {
	first, end := l.from(from), l.from(max(from, to))
	all := make([]byte, 0, (end-first)*l.width)
	for i, begun := first, 0; i < end; i++ {
		all = append(all, l.pointer(i)...)
		if i+1 == end || l.key(i+1) != l.key(i) {
			slots = append(slots, pendingSlot{l.key(i), all[begun:len(all):len(all)]})
			begun = len(all)
		}
	}
	return slots
}

// replace sets the pointers of a slot.
func (l *pendingList) replace(key int64, pointers []byte) {
	first, end := l.from(key), l.from(key+1)
	l.data = slices.Replace(l.data, first*l.size(), end*l.size(), l.records(key, pointers)...)
}

func (l *pendingList) records(key int64, pointers []byte) []byte {
	b := make([]byte, 0, len(pointers)/l.width*l.size())
	for p := range slices.Chunk(pointers, l.width) {
		b = append(appendID(b, key>>blockBits), p...)
	}
	return b
}

// maxCompared bounds the work of finding earlier pointers to the same host.
const maxCompared = 1024

// add adds pointers by the keys of their slots, and returns those that must go to blocks, since there are too many.
func (l *pendingList) add(arrived map[int64][]byte) (blocks map[int64][]byte) {
	n := 0
	for _, pointers := range arrived {
		n += len(pointers) / l.width
	}
	if n > l.most/2 {
		return arrived
	}
	for key, pointers := range arrived {
		first, end := l.from(key), l.from(key+1)
		var there []byte
		for i := first; i < end; i++ {
			if p := l.pointer(i); (end-first)*len(pointers)/l.width > maxCompared || !l.has(pointers, p) {
				there = append(there, p...)
			}
		}
		l.replace(key, append(there, pointers...))
	}
	if l.len() <= l.most {
		return nil
	}
	return l.takeLargest()
}

// has reports whether a pointer to the same host is among some.
func (l *pendingList) has(pointers, p []byte) bool {
	for other := range slices.Chunk(pointers, l.width) {
		if bytes.Equal(other[:idBytes], p[:idBytes]) {
			return true
		}
	}
	return false
}

// takeLargest takes slots off the list until it is half full: first those with the most pointers, whose blocks cost the
// fewest rows, then those that come last.
func (l *pendingList) takeLargest() map[int64][]byte {
	slots := l.slots(0, math.MaxInt64)
	slices.SortStableFunc(slots, func(a, b pendingSlot) int {
		return cmp.Or(cmp.Compare(len(b.data), len(a.data)), cmp.Compare(slotOf(b.key), slotOf(a.key)))
	})
	taken := map[int64][]byte{}
	for _, s := range slots {
		if l.len() <= l.most/2 {
			break
		}
		taken[s.key] = s.data
		l.replace(s.key, nil)
	}
	return taken
}

// decode reads a list.
func (l *pendingList) decode(record string) error {
	if len(record)%l.size() != 0 {
		return ErrDamaged
	}
	l.data = []byte(record)
	for i := range l.len() {
		if laneOf(l.key(i)) >= frontier.Lanes || i > 0 && cmp.Less(l.key(i), l.key(i-1)) {
			l.data = nil
			return ErrDamaged
		}
	}
	return nil
}
