package dataset

import "github.com/newsfork/seed-engine/swar"

// Consecutive records are mostly alike: the same keys in the same order, the same white space, and many equal values.
// Equal bytes at the same place of a record mean the same. So they are compared, eight at a time, and not parsed
// again. That is about 30 % of the time for a raw file.

// maxMembers caps the members of a record that can be compared with the next record.
const maxMembers = 32

// members are the first maxMembers members of one record.
type members struct {
	number  int // of the record; 0 for none
	begin   int // of the record in the window
	good    nameSet
	doubled nameSet // names that might be duplicated in it
	parsed  bool    // some were parsed; all others equal those of the previous record
	beyond  nameSet // of members that are not in the list
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

// end ends a record that was compared with the previous one.
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

// after returns the position after the value, and after the quote of a string.
func (m *member) after() int {
	if m.kind == str {
		return int(m.end) + 1
	}
	return int(m.end)
}

// take sets the value of a name, which ends before pos.
func (r *Reader) take(n name, s span) {
	m := member{span: s, name: n, use: useOf(n, s, r.buf[r.keep:])}
	r.record.put(&m)
	r.now.add(&m)
}

// repeat consumes the next members while they differ from those of the previous record only in the values of plain
// strings in the window. It starts and ends after the '{' or a value, and leaves the rest to the parser.
func (r *Reader) repeat() {
	count, before := r.now.count, r.before
	if r.keep == none || count >= before.count {
		return
	}
	from := 1 // in the previous record, after the same value
	if count > 0 {
		from = before.list[count-1].after()
	}
	old := r.buf[before.begin:]
	last := int(before.list[before.count-1].end) + 1 // with the byte after the last value
	fresh := r.buf[r.keep:]
	pos := r.pos - r.keep
	rec := &r.record
	for count < before.count {
		move := pos - from
		same := from // in the previous record, end of the equal bytes
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
		// The next value, if it is a string that begins alike.
		if count == before.count || m.kind != str || same < int(m.start) {
			break
		}
		start := same + move
		if m.traits != 0 {
			start = int(m.start) + move // its equal bytes have traits, too
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
