package processor

import (
	"encoding/binary"
	"math/bits"

	"github.com/newsfork/seed-engine/dataset"
	"github.com/newsfork/seed-engine/swar"
)

// An entry is a contract.URL as it waits to be sent. The URLs and titles of a domain are much alike, so an entry is the
// difference from the first URL and title of its domain (pattern). All strings are JSON-escaped.
//
//	flags       byte
//	URL         how many bytes at the beginning are those of the first URL; number of the others, and they
//	title       as a JSON value: how many bytes at the beginning, and at the end, are those of the first title;
//	            number of the others, and they
//	path        entryOwnPath: number of bytes, and they; entryPathAt: offset in the URL, and number of bytes;
//	            otherwise all of the URL from where the path of the first URL begins
//	description entryDescribed: like the title, from the description of the file's first record; otherwise that
const (
	entryOwnPath = 1 << iota
	entryPathAt
	entryDescribed
)

// The text around the values.
const (
	beforeURL   = `{"url":"`
	beforeTitle = `","title":`
	beforePath  = `,"path":"`
	behindPath  = `"`
)

var noTitle = []byte("null")

// optional lists the optional members of a contract.URL, of which its description consists.
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

// descriptions describes the records of a file. The zero value is that before its first record.
type descriptions struct {
	first  []byte
	last   []byte // that of the last record
	record int    // its number; 0 before the first
	entry  []byte // what entries say of it; empty if it is as the first
}

// of makes last and entry those of a record.
func (d *descriptions) of(r *dataset.Record) {
	same := d.record > 0 && r.SameAs(d.record, optionalFields)
	isFirst := d.record == 0
	d.record = r.Number
	if same {
		return
	}
	d.last = append(d.last[:0], behindPath...)
	for i := range optional {
		if v := r.JSON(optional[i].field); v != nil {
			d.last = append(append(d.last, optional[i].name...), v...)
		}
	}
	d.last = append(d.last, '}')
	if isFirst {
		d.first = append(d.first[:0], d.last...)
	}
	if d.entry = d.entry[:0]; !swar.Equal(d.last, d.first) {
		d.entry = appendDifference(d.entry, view(d.first), d.last)
	}
}

// start begins a file.
func (d *descriptions) start() { d.record = 0 }

// appendEntry appends an entry. The description is that of the last record.
func appendEntry(b []byte, p *pattern, d *descriptions, url, title []byte, split *parts) []byte {
	flags := byte(0)
	switch {
	case split.pathAt == 0:
		flags |= entryOwnPath
	case split.pathAt != int(p.pathAt) || split.pathAt+len(split.path) != len(url):
		flags |= entryPathAt
	}
	if len(d.entry) > 0 {
		flags |= entryDescribed
	}
	same := swar.Common(url, bytesOf(p.text[:p.url]))
	b = appendNumber(appendNumber(append(b, flags), same), len(url)-same)
	b = append(b, url[same:]...)
	b = appendDifference(b, p.text[p.url:], title)
	switch {
	case flags&entryOwnPath != 0:
		b = append(appendNumber(b, len(split.path)), split.path...)
	case flags&entryPathAt != 0:
		b = appendNumber(appendNumber(b, split.pathAt), len(split.path))
	}
	return append(b, d.entry...)
}

// appendDifference appends a text as what it shares with another one at both ends, and what is between.
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
func sizeOf(d *descriptions, url, title []byte, split *parts) int {
	return len(beforeURL) + len(url) + len(beforeTitle) + len(title) + len(beforePath) + len(split.path) + len(d.last)
}

// entryReader reads entries of one domain, one after the other.
type entryReader struct {
	chainReader
	pattern *pattern
	first   []byte // the file's first description
}

// appendURL reads the next entry up to its URL, and appends that.
func (r *entryReader) appendURL(b []byte) (flags byte, _ []byte) {
	flags = r.byte()
	b = append(b, r.pattern.text[:r.number()]...)
	return flags, r.append(b, r.number())
}

// appendDifferent appends what appendDifference wrote.
func (r *entryReader) appendDifferent(b []byte, other string) []byte {
	begin, end := r.number(), r.number()
	b = r.append(append(b, other[:begin]...), r.number())
	return append(b, other[len(other)-end:]...)
}

// appendJSON reads the next entry, and appends it as the JSON of a contract.URL.
func (r *entryReader) appendJSON(b []byte) []byte {
	b = append(b, beforeURL...)
	at := len(b)
	flags, b := r.appendURL(b)
	urlEnd := len(b)
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
	if flags&entryDescribed != 0 {
		return r.appendDifferent(b, view(r.first))
	}
	return append(b, r.first...)
}
