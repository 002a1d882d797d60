// Package swar looks at eight bytes at a time (SIMD within a register): a word has the first byte at its
// bottom, and what is found in it is marked in the top bits of its bytes.
package swar

import "math/bits"

const (
	Ones  = 0x0101010101010101 // times a byte: a word of that byte
	Highs = 0x8080808080808080 // where marks are
)

// Zeroes marks the zero bytes of a word, and leaves rubbish in the other bits: mask it with Highs. The lowest mark is
// exact; those above it may come from a borrow.
func Zeroes(w uint64) uint64 { return (w - Ones) &^ w }

// Match marks the bytes of w that are c. The lowest mark is exact; higher ones may be false alarms.
func Match(w uint64, c byte) uint64 { return Zeroes(w^Ones*uint64(c)) & Highs }

// First returns the index of the byte with the lowest mark, or 8 without marks.
func First(marks uint64) int { return bits.TrailingZeros64(marks) >> 3 }

// Equal reports whether a and b are the same, as bytes.Equal does. That compares byte by byte in WebAssembly.
func Equal(a, b []byte) bool {
	if len(a) != len(b) {
		return false
	}
	if len(a) < 8 {
		return string(a) == string(b)
	}
	last := len(a) - 8
	for i := 0; i < last; i += 8 {
		if Load(a, i) != Load(b, i) {
			return false
		}
	}
	return Load(a, last) == Load(b, last)
}

// HasPrefix reports whether b begins with prefix, as bytes.HasPrefix does.
func HasPrefix(b, prefix []byte) bool { return len(b) >= len(prefix) && Equal(b[:len(prefix)], prefix) }

// Common returns how many bytes a and b have in common at their beginnings.
func Common(a, b []byte) int {
	n, i := min(len(a), len(b)), 0
	for ; i+8 <= n; i += 8 {
		if x := Load(a, i) ^ Load(b, i); x != 0 {
			return i + First(x)
		}
	}
	for i < n && a[i] == b[i] {
		i++
	}
	return i
}
