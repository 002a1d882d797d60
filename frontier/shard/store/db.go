package store

import (
	"encoding/binary"
	"errors"
	"fmt"
	"math"
	"slices"

	"github.com/newsfork/seed-engine/epoch"
)

// DB is the database of one shard. Run does one statement at once. args are nil, int64, string or
// []byte, at most 100 of them; integers are exact within ±2^53. Whatever runs between the beginning
// and the end of one operation of a Shard must be one transaction: when the operation returns an
// error, the caller rolls it back.
//
// An adapter that has to cross into another runtime passes args as AppendArgs encodes them, and the
// answer comes back as NewRows reads it: one crossing each way.
type DB interface {
	Run(sql string, args ...any) (*Rows, error)

	// Size returns the bytes that the database takes.
	Size() (int64, error)
}

// Kinds of values in the encoding of arguments and answers.
const (
	valueNull = iota
	valueInt  // 8 bytes: an IEEE 754 double, little-endian
	valueText // 4 bytes: the length, little-endian; then UTF-8
	valueBlob // as text
)

// AppendArgs appends the arguments of a statement: for each one byte for its kind, then its value.
// There is no count; the last value ends with the encoding.
func AppendArgs(dst []byte, args ...any) ([]byte, error) {
	size := 0 // the values are large: the slice grows once
	for _, arg := range args {
		switch v := arg.(type) {
		case string:
			size += len(v)
		case []byte:
			size += len(v)
		}
		size += 1 + 8 // the kind, and a number or a length
	}
	dst = slices.Grow(dst, size)
	for _, arg := range args {
		switch v := arg.(type) {
		case nil:
			dst = append(dst, valueNull)
		case int64:
			dst = binary.LittleEndian.AppendUint64(append(dst, valueInt), math.Float64bits(float64(v)))
		case string:
			dst = append(binary.LittleEndian.AppendUint32(append(dst, valueText), uint32(len(v))), v...)
		case []byte:
			dst = append(binary.LittleEndian.AppendUint32(append(dst, valueBlob), uint32(len(v))), v...)
		default:
			return nil, fmt.Errorf("frontier: an argument of type %T", arg)
		}
	}
	return dst, nil
}

// Rows is the answer to a statement: its rows one after the other, and how many rows it wrote as the
// platform counts and charges them (a row or an index entry inserted, a row updated or deleted: 1).
type Rows struct {
	Written int

	left    int // rows not read yet
	columns int
	column  int // columns not read yet of the current row
	data    []byte
	err     error
}

var errAnswer = errors.New("frontier: the database's answer is malformed")

// rowsHeader is the length of the header: rows written, rows, columns, 4 bytes each.
const rowsHeader = 12

// NewRows reads an answer: three little-endian 32-bit numbers (rows written, rows, columns), then
// the values row by row, encoded like arguments. It keeps the bytes, which must not change.
func NewRows(answer []byte) (*Rows, error) {
	if len(answer) < rowsHeader {
		return nil, errAnswer
	}
	n := func(at int) int { return int(binary.LittleEndian.Uint32(answer[at:])) }
	r := &Rows{Written: n(0), left: n(4), columns: n(8), data: answer[rowsHeader:]}
	if uint64(r.left)*uint64(r.columns) > uint64(len(r.data)) {
		return nil, errAnswer
	}
	return r, nil
}

// AppendHeader appends the head of an answer, which the values follow.
func AppendHeader(dst []byte, written, rows, columns int) []byte {
	for _, n := range [...]int{written, rows, columns} {
		dst = binary.LittleEndian.AppendUint32(dst, uint32(n))
	}
	return dst
}

// Next goes to the next row and reports whether there is one. What the caller did not read of the
// row before is skipped.
func (r *Rows) Next() bool {
	for ; r.column > 0 && r.err == nil; r.column-- {
		r.value()
	}
	if r.left == 0 || r.err != nil {
		return false
	}
	r.left--
	r.column = r.columns
	return true
}

// Int reads the next column as an integer, or returns 0.
func (r *Rows) Int() int64 {
	if kind, v := r.next(); kind == valueInt {
		return int64(math.Float64frombits(binary.LittleEndian.Uint64(v)))
	}
	return 0
}

// Millis reads the next column as an instant.
func (r *Rows) Millis() epoch.Millis { return epoch.Millis(r.Int()) }

// Text reads the next column as text.
func (r *Rows) Text() string {
	_, v := r.next()
	return string(v)
}

// Blob reads the next column as bytes, nil when it is null. They are part of the answer.
func (r *Rows) Blob() []byte {
	kind, v := r.next()
	if kind == valueNull {
		return nil
	}
	return v
}

// Err returns the error that ended Next early.
func (r *Rows) Err() error { return r.err }

func (r *Rows) next() (kind byte, v []byte) {
	if r.column == 0 {
		r.err = errAnswer
		return valueNull, nil
	}
	r.column--
	return r.value()
}

func (r *Rows) value() (kind byte, v []byte) {
	size := 1
	if len(r.data) > 0 {
		switch kind = r.data[0]; kind {
		case valueNull:
			r.data = r.data[1:]
			return kind, nil
		case valueInt:
			size = 9
			if len(r.data) >= size {
				v, r.data = r.data[1:size:size], r.data[size:]
				return kind, v
			}
		case valueText, valueBlob:
			if len(r.data) >= 5 {
				size = 5 + int(binary.LittleEndian.Uint32(r.data[1:]))
			}
			if size >= 5 && len(r.data) >= size {
				v, r.data = r.data[5:size:size], r.data[size:]
				return kind, v
			}
		}
	}
	r.err = errAnswer
	r.data = nil
	return valueNull, nil
}
