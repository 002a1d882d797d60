package processor

import (
	"bytes"
	"encoding/binary"
	"math/bits"

	"github.com/newsfork/seed-engine/dataset"
	"github.com/newsfork/seed-engine/swar"
)

// An entry is a contract.URL as it waits to be sent. The URLs and titles of a domain are much alike, so an entry is the
// difference from the first URL and title of its domain (pattern). All strings are JSON-escaped.
//
//	URL     as a difference, see appendDifference
//	flags   byte
//	title   as a JSON value, likewise
//	path    entryOwnPath: number of bytes, and they; entryPathAt: offset in the URL, and number of bytes; otherwise
//	        all of the URL from where the path of the first URL begins
//	members for each optional member that flags name: its JSON value as a difference from that of the file's first
//	        record; empty if the record lacks it. Other members are as in that record
const (
	entryOwnPath = 1 << iota
	entryPathAt
	entryMember // of the first optional member; those of the others follow
)

// The text around the values.
const (
	beforeURL   = `{"url":"`
	beforeTitle = `","title":`
	beforePath  = `,"path":"`
	behindPath  = `"`
	behindURL   = `}`
)

var noTitle = []byte("null")

// optional lists the optional members of a contract.URL.
var optional = [...]struct {
	field dataset.Field
	name  string
}{
	{dataset.DiscoveryMethod, `,"discovery_method":`},
	{dataset.Language, `,"language":`},
	{dataset.DiscoveredAt, `,"discovered_at":`},
	{dataset.Confidence, `,"confidence":`},
}

var optionalFields = func() (set dataset.Fields) {
	for _, member := range optional {
		set.Add(member.field)
	}
	return set
}()

// pattern is the first URL and title of a domain, or their beginnings.
type pattern struct {
	text   string // URL and title
	url    uint16 // bytes of the URL
	pathAt uint16 // offset of the path in the URL
}

// maxPattern is the most bytes of a URL, and of a title, in a pattern.
const maxPattern = 512

func newPattern(url, title []byte, split *parts) pattern {
	url, title = url[:min(len(url), maxPattern)], title[:min(len(title), maxPattern)]
	return pattern{string(url) + string(title), uint16(len(url)), uint16(split.pathAt)}
}

// members are the optional members of the records of a file. The zero value is that before its first record.
type members struct {
	first  [len(optional)][]byte // JSON values of the file's first record; empty if it lacks them
	common []byte                // these as a JSON object

	// What follows is of the last record.
	record int    // its number; 0 before the first
	flags  byte   // of those that differ from the first record's
	entry  []byte // what entries say of these
	lacks  bool   // it lacks one that the first record has
	size   int    // bytes as JSON
	alike  int    // bytes of those that are as in the first record
}

// of reads the optional members of a record, which is the last one then.
func (m *members) of(r *dataset.Record) {
	same := m.record > 0 && r.SameAs(m.record, optionalFields)
	isFirst := m.record == 0
	m.record = r.Number
	if same {
		return
	}
	m.flags, m.entry, m.lacks, m.size, m.alike = 0, m.entry[:0], false, 0, 0
	for i := range optional {
		v := r.JSON(optional[i].field)
		if isFirst {
			m.first[i] = append(m.first[i][:0], v...)
		}
		size := 0
		if len(v) > 0 {
			size = len(optional[i].name) + len(v)
		}
		m.size += size
		if swar.Equal(v, m.first[i]) {
			m.alike += size
			continue
		}
		m.flags |= entryMember << i
		m.entry = appendDifference(m.entry, view(m.first[i]), v)
		m.lacks = m.lacks || size == 0
	}
	if isFirst {
		var list []byte
		for i, v := range m.first {
			list = appendMember(list, i, v)
		}
		m.common = append(append(append(m.common[:0], '{'), bytes.TrimPrefix(list, []byte(","))...), '}')
	}
}

// start begins a file.
func (m *members) start() { m.record = 0 }

// appendMember appends an optional member that has a value, and the comma before it.
func appendMember(b []byte, i int, value []byte) []byte {
	if len(value) == 0 {
		return b
	}
	return append(append(b, optional[i].name...), value...)
}

// appendRest appends an entry after its URL. Its optional members are those of the last record.
func appendRest(b []byte, p *pattern, m *members, url, title []byte, split *parts) []byte {
	flags := m.flags
	switch {
	case split.pathAt == 0:
		flags |= entryOwnPath
	case split.pathAt != int(p.pathAt) || split.pathAt+len(split.path) != len(url):
		flags |= entryPathAt
	}
	b = appendDifference(append(b, flags), p.text[p.url:], title)
	switch {
	case flags&entryOwnPath != 0:
		b = append(appendNumber(b, len(split.path)), split.path...)
	case flags&entryPathAt != 0:
		b = appendNumber(appendNumber(b, split.pathAt), len(split.path))
	}
	return append(b, m.entry...)
}

// appendDifference appends a text as what it shares with another one: how many bytes at the beginning and at the end;
// the number of those between, and they.
func appendDifference(b []byte, other string, text []byte) []byte {
	o := bytesOf(other)
	begin := swar.Common(text, o)
	end := commonEnd(text[begin:], o[begin:])
	between := text[begin : len(text)-end]
	b = appendNumber(appendNumber(appendNumber(b, begin), end), len(between))
	return append(b, between...)
}

// appendNumber appends a number that is not negative. Most are less than 128.
func appendNumber(b []byte, n int) []byte {
	if n < 0x80 {
		return append(b, byte(n))
	}
	return binary.AppendUvarint(b, uint64(n))
}

// commonEnd returns how many bytes a and b have in common at their ends.
func commonEnd(a, b []byte) int {
	n, i := min(len(a), len(b)), 0
	for ; i+8 <= n; i += 8 {
		if x := swar.Load(a, len(a)-i-8) ^ swar.Load(b, len(b)-i-8); x != 0 {
			return i + bits.LeadingZeros64(x)>>3
		}
	}
	for i < n && a[len(a)-1-i] == b[len(b)-1-i] {
		i++
	}
	return i
}

// sizeOf returns the number of bytes of a contract.URL as JSON.
func sizeOf(m *members, url, title []byte, split *parts) int {
	return len(beforeURL) + len(url) + len(beforeTitle) + len(title) + len(beforePath) + len(split.path) +
		len(behindPath) + m.size + len(behindURL)
}

// entryReader reads entries of one domain, one after the other.
type entryReader struct {
	chainReader
	pattern *pattern
	members *members
	value   []byte // of a member that differs
}

// appendURL reads the next entry up to its URL, and appends that.
func (r *entryReader) appendURL(b []byte) []byte {
	return r.appendDifferent(b, r.pattern.text[:r.pattern.url])
}

// appendDifferent appends what appendDifference wrote.
func (r *entryReader) appendDifferent(b []byte, other string) []byte {
	begin, end := r.number(), r.number()
	b = r.append(append(b, other[:begin]...), r.number())
	return append(b, other[len(other)-end:]...)
}

// appendJSON reads the next entry, and appends it as the JSON of a contract.URL, without the optional members that are
// as in the file's first record if these are common.
func (r *entryReader) appendJSON(b []byte, common bool) []byte {
	b = append(b, beforeURL...)
	at := len(b)
	b = r.appendURL(b)
	urlEnd, flags := len(b), r.byte()
	b = append(b, beforeTitle...)
	b = r.appendDifferent(b, r.pattern.text[r.pattern.url:])
	b = append(b, beforePath...)
	switch {
	case flags&entryOwnPath != 0:
		b = r.append(b, r.number())
	case flags&entryPathAt != 0:
		at += r.number()
		b = append(b, b[at:at+r.number()]...)
	default:
		b = append(b, b[at+int(r.pattern.pathAt):urlEnd]...)
	}
	b = append(b, behindPath...)
	if flags >= entryMember || !common {
		b = r.appendMembers(b, flags, common)
	}
	return append(b, behindURL...)
}

// appendMembers appends the optional members of the entry.
func (r *entryReader) appendMembers(b []byte, flags byte, common bool) []byte {
	for i, first := range r.members.first {
		switch {
		case flags&(entryMember<<i) != 0:
			r.value = r.appendDifferent(r.value[:0], view(first))
			b = appendMember(b, i, r.value)
		case !common:
			b = appendMember(b, i, first)
		}
	}
	return b
}
