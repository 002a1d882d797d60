package dataset

import "github.com/newsfork/seed-engine/swar"

// Records of a file are mostly alike: the same keys in the same order, the same white space, and many of the values
// of the record before. What is as it was there, from the same place of a record on, means the same. So it is compared,
// eight bytes at a time, and not parsed again.

// maxMembers is how many members of a record the one after it can repeat.
const maxMembers = 32

// members are those of one record, the first maxMembers of them.
type members struct {
	number  int // of the record; 0 is none
	begin   int // of the record in the window
	good    nameSet
	doubled nameSet // that may come more than once in it
	parsed  bool    // some of them; all others are in their places as in the record before
	beyond  nameSet // of those that are not in the list
	count   int
	list    [maxMembers]member
}

// start begins a record.
func (m *members) start() { m.number, m.count, m.parsed, m.beyond = 0, 0, false, 0 }

// add adds a member that was parsed.
func (m *members) add(v *member) {
	m.parsed = true
	if m.count == maxMembers {
		m.beyond |= v.name.set()
		return
	}
	m.list[m.count] = *v
	m.count++
}

// end ends a record, which was compared with the one before.
func (m *members) end(r *Record, begin int, before *members) {
	m.number, m.begin, m.good = r.Number, begin, r.good
	m.doubled = before.doubled
	if m.parsed || m.count < before.count {
		m.doubled = m.beyond
		seen := nameSet(0)
		for i := range m.count {
			m.doubled |= seen & m.list[i].name.set()
			seen |= m.list[i].name.set()
		}
	}
}

// member is one member of a record.
type member struct {
	span // of its value, from the beginning of the record on
	name name
	use  use
}

// after is where the text behind the value begins: behind the quote of a string.
func (m *member) after() int {
	if m.kind == str {
		return int(m.end) + 1
	}
	return int(m.end)
}

// take gives the record the value of a name, which ends before pos.
func (r *Reader) take(n name, s span) {
	m := member{span: s, name: n, use: useOf(n, s, r.buf[r.keep:])}
	r.record.put(&m)
	r.now.add(&m)
}

// repeat takes the next members as long as they differ from those of the record before in the values of strings at
// most, and these strings are plain and in the window. It begins and ends behind the '{' or a value; what follows there
// is left to the grammar.
func (r *Reader) repeat() {
	count, before := r.now.count, r.before
	if r.keep == none || count >= before.count {
		return
	}
	from := 1 // in the record before, behind the same value
	if count > 0 {
		from = before.list[count-1].after()
	}
	old := r.buf[before.begin:]
	last := int(before.list[before.count-1].end) + 1 // with the byte behind the last value
	fresh := r.buf[r.keep:]
	pos := r.pos - r.keep
	rec := &r.record
	for count < before.count {
		move := pos - from
		same := from // in the record before, up to where all is the same
		for same < last {
			w := swar.Load(old, same) ^ swar.Load(fresh, same+move)
			v := swar.Load(old, same+8) ^ swar.Load(fresh, same+8+move)
			if w|v == 0 { // every jump costs more than a word in WebAssembly
				same += 16
				continue
			}
			if w == 0 {
				same += 8
				w = v
			}
			same += swar.First(w)
			break
		}
		m := &before.list[count]
		for int(m.end) < same {
			now := &r.now.list[count]
			*now = *m
			now.start += int32(move)
			now.end += int32(move)
			rec.put(now)
			rec.same |= m.name.set()
			from = m.after()
			if count++; count == before.count {
				break
			}
			m = &before.list[count]
		}
		pos = from + move
		// The value after it, if that is a string which begins alike.
		if count == before.count || m.kind != str || same < int(m.start) {
			break
		}
		start := same + move
		if m.traits != 0 {
			start = int(m.start) + move // what is the same needs another look
		}
		at, seen := plainEnd(fresh, start)
		if fresh[at] != '"' {
			break
		}
		now := &r.now.list[count]
		*now = *m
		now.start += int32(move)
		now.end = int32(at)
		now.traits = seen
		if size := at - int(now.start); now.use != good || size == 0 || size > MaxFieldBytes {
			now.use = useOf(m.name, now.span, fresh)
		}
		rec.put(now)
		from = int(m.end) + 1
		count++
		pos = at + 1
	}
	r.now.count = count
	r.pos = r.keep + pos
}
