//go:build js && wasm

package worker

import (
	"strings"
	"unsafe"
)

// pool.mjs implements the functions with a wasmimport directive. They take only numbers: every
// JavaScript object that reaches Go costs a finalizer.

//go:wasmimport worker ask
func ask(id int32, text unsafe.Pointer, textLength int32, data unsafe.Pointer, dataLength int32)

//go:wasmimport worker load
func load(id int32, at unsafe.Pointer)

// Ask calls a function of helpers.mjs with the bindings of the current event and awaits its promise.
// ok is false if the promise has no value. A rejection is returned as a *JSError. The caller may
// change data once Ask has returned.
func Ask(name string, data []byte, args ...string) (answer string, ok bool, err error) {
	b, ok, err := AskBytes(name, data, args...)
	return unsafe.String(unsafe.SliceData(b), len(b)), ok, err
}

// AskBytes is like Ask, for answers that are bytes.
func AskBytes(name string, data []byte, args ...string) (answer []byte, ok bool, err error) {
	text := make([]byte, 0, 256)
	text = append(text, name...)
	for _, arg := range args {
		text = append(text, '\n')
		if strings.ContainsAny(arg, "\n\\") {
			arg = escape.Replace(arg)
		}
		text = append(text, arg...)
	}
	p := promised()
	ask(p.id, start(text), int32(len(text)), start(data), int32(len(data)))
	s, err := p.settlement()
	if err != nil || s.status == nothing {
		return nil, false, err
	}
	if s.length == 0 {
		return []byte{}, true, nil
	}
	answer = make([]byte, s.length)
	load(p.id, start(answer))
	return answer, true, nil
}

// Fields reads a helper's answer of one field per line.
type Fields struct{ Rest string }

// Next returns the next field, or "" after the last.
func (f *Fields) Next() (field string) {
	field, f.Rest, _ = strings.Cut(f.Rest, "\n")
	if strings.IndexByte(field, '\\') >= 0 {
		field = unescape.Replace(field)
	}
	return field
}

var (
	escape   = strings.NewReplacer("\\", `\\`, "\n", `\n`)
	unescape = strings.NewReplacer(`\\`, `\`, `\n`, "\n")
)
