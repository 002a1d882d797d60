//go:build !wasm

package swar

import "encoding/binary"

// Load returns the eight bytes of b from i on; it panics when there are not that many.
func Load(b []byte, i int) uint64 { return binary.LittleEndian.Uint64(b[i:]) }
