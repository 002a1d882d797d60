package store

import (
	"encoding/binary"
	"errors"
	"math"
	"strings"
	"time"

	"github.com/newsfork/seed-engine/epoch"
)

// ErrDamaged is the error of a record that does not decode. A stored one goes to the quarantine.
var ErrDamaged = errors.New("frontier: a stored record is damaged")

// decoder reads a stored record. What is missing or malformed sets err and reads as zero, so that a
// record is checked once, at its end. Texts share one copy of the record.
type decoder struct {
	text string
	at   int
	err  error

	joined strings.Builder // the results of join
}

// join returns a + b. All that a decoder joins share their memory.
func (d *decoder) join(a, b string) string {
	at := d.joined.Len()
	if at == 0 {
		d.joined.Grow(len(d.text))
	}
	d.joined.WriteString(a)
	d.joined.WriteString(b)
	return d.joined.String()[at:]
}

func decode(record []byte) *decoder { return &decoder{text: string(record)} }

func (d *decoder) fail() { d.at, d.err = len(d.text), ErrDamaged }

func (d *decoder) byte() byte {
	if d.at >= len(d.text) {
		d.fail()
		return 0
	}
	d.at++
	return d.text[d.at-1]
}

func (d *decoder) uint() uint64 {
	var v uint64
	for shift := 0; shift < 63; shift += 7 {
		b := d.byte()
		v |= uint64(b&0x7f) << shift
		if b < 0x80 {
			return v
		}
	}
	d.fail()
	return 0
}

// int reads a number that the platform's database can hold.
func (d *decoder) int() int64 {
	v := d.uint()
	if v > 1<<53 {
		d.fail()
		return 0
	}
	return int64(v)
}

// count reads the length of a list whose items take at least size bytes each.
func (d *decoder) count(size int) int {
	n := d.uint()
	if n > uint64(len(d.text)-d.at)/uint64(size) {
		d.fail()
		return 0
	}
	return int(n)
}

// millis and seconds read instants.
func (d *decoder) millis() epoch.Millis { return epoch.Millis(d.int()) }

func (d *decoder) seconds() epoch.Seconds { return epoch.Seconds(d.int()) }

// span reads a length of time in a unit.
func (d *decoder) span(unit time.Duration) time.Duration {
	v := d.int()
	if v > math.MaxInt64/int64(unit) {
		d.fail()
		return 0
	}
	return time.Duration(v) * unit
}

func (d *decoder) string() string {
	n := d.count(1)
	d.at += n
	return d.text[d.at-n : d.at]
}

// hash reads 6 bytes, big-endian.
func (d *decoder) hash() uint64 {
	if len(d.text)-d.at < hashBytes {
		d.fail()
		return 0
	}
	v := hashAt(d.text, d.at)
	d.at += hashBytes
	return v
}

func (d *decoder) id() int64 {
	var v int64
	for range idBytes {
		v = v<<8 | int64(d.byte())
	}
	return v
}

func appendUint[T ~int64](b []byte, v T) []byte { return binary.AppendUvarint(b, uint64(max(v, 0))) }

func appendString(b []byte, s string) []byte {
	return append(binary.AppendUvarint(b, uint64(len(s))), s...)
}

// Sizes of stored numbers.
const (
	hashBytes = 6 // of a URL's hash
	idBytes   = 5 // of a host's or domain's id
)

func appendHash(b []byte, v uint64) []byte {
	return append(b, byte(v>>40), byte(v>>32), byte(v>>24), byte(v>>16), byte(v>>8), byte(v))
}

func hashAt[T string | []byte](s T, at int) uint64 {
	return uint64(s[at])<<40 | uint64(s[at+1])<<32 | uint64(s[at+2])<<24 | uint64(s[at+3])<<16 | uint64(s[at+
		4])<<8 | uint64(s[at+5])
}

func appendID(b []byte, id int64) []byte {
	return append(b, byte(id>>32), byte(id>>24), byte(id>>16), byte(id>>8), byte(id))
}

// unpackIDs reads ids that were appended one after the other.
func unpackIDs(b []byte) []int64 {
	ids := make([]int64, 0, len(b)/idBytes)
	for at := 0; at+idBytes <= len(b); at += idBytes {
		ids = append(ids, idAt(b, at))
	}
	return ids
}

func packIDs(ids []int64) []byte {
	b := make([]byte, 0, len(ids)*idBytes)
	for _, id := range ids {
		b = appendID(b, id)
	}
	return b
}

func idAt(b []byte, at int) int64 {
	return int64(b[at])<<32 | int64(binary.BigEndian.Uint32(b[at+1:]))
}
