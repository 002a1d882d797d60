//go:build js && wasm

package bindings

import "syscall/js"

// Cell is the name of a number that all instances of the program in an isolate share. It is initially 0.
type Cell string

// Load returns the number.
func (c Cell) Load() int64 {
	if v := js.Global().Get(string(c)); v.Type() == js.TypeNumber {
		return int64(v.Float())
	}
	return 0
}

// Store replaces the number.
func (c Cell) Store(n int64) { js.Global().Set(string(c), n) }
