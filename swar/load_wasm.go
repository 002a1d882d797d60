package swar

import "unsafe"

// Load returns the eight bytes of b from i on; it panics when there are not that many. Go's compiler makes
// one load of encoding/binary's eight on other machines, but not for WebAssembly, which is
// little-endian and needs no alignment.
func Load(b []byte, i int) uint64 {
	_, _ = b[i], b[i+7]
	return *(*uint64)(unsafe.Add(unsafe.Pointer(unsafe.SliceData(b)), i))
}

// Store writes w as eight bytes of b from i on, the lowest first; it panics when there is no room for them.
func Store(b []byte, i int, w uint64) {
	_, _ = b[i], b[i+7]
	*(*uint64)(unsafe.Add(unsafe.Pointer(unsafe.SliceData(b)), i)) = w
}
