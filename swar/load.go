//go:build !wasm

package swar

import "encoding/binary"

// Load returns the eight bytes of b from i on; it panics when there are not that many.
func Load(b []byte, i int) uint64 { return binary.LittleEndian.Uint64(b[i:]) }

// Store writes w as eight bytes of b from i on, the lowest first; it panics when there is no room for them.
func Store(b []byte, i int, w uint64) { binary.LittleEndian.PutUint64(b[i:], w) }
