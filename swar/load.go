//go:build !wasm

package swar

import "encoding/binary"

// Load returns the eight bytes of b from i on; it panics when there are not that many.
func Load(b []byte, i int) uint64 { return binary.LittleEndian.Uint64(b[i:]) }

// Store writes w to eight bytes of b from i on, little-endian. It panics if b is too short.
func Store(b []byte, i int, w uint64) { binary.LittleEndian.PutUint64(b[i:], w) }
