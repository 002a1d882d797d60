package swar

import "unsafe"

// Load returns the eight bytes of b from i on; it panics when there are not that many. Go's compiler makes
// one load of encoding/binary's eight on other machines, but not for WebAssembly, which is
// little-endian and needs no alignment.
func Load(b []byte, i int) uint64 {
	_, _ = b[i], b[i+7]
	return *(*uint64)(unsafe.Add(unsafe.Pointer(unsafe.SliceData(b)), i))
}

// Store writes w to eight bytes of b from i on, little-endian. It panics if b is too short.
func Store(b []byte, i int, w uint64) {
	_, _ = b[i], b[i+7]
	*(*uint64)(unsafe.Add(unsafe.Pointer(unsafe.SliceData(b)), i)) = w
}
