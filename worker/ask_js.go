//go:build js && wasm

package worker

import (
	"strings"
	"unsafe"
)

// The functions with a wasmimport directive are those of pool.mjs. They take numbers only: every
// JavaScript object that reaches Go costs a finalizer.

//go:wasmimport worker ask
func ask(id int32, text unsafe.Pointer, textLength int32, data unsafe.Pointer, dataLength int32)

//go:wasmimport worker load
func load(id int32, at unsafe.Pointer)

// Ask calls the function of helpers.mjs with this name, with the bindings of the current event, the
// data and the arguments, and waits for its promise. It gives the answer; ok is false when there is
// none. A rejection becomes a *JSError. data may be changed when Ask has returned.
func Ask(name string, data []byte, args ...string) (answer string, ok bool, err error) {
	b, ok, err := AskBytes(name, data, args...)
	return unsafe.String(unsafe.SliceData(b), len(b)), ok, err
}

// AskBytes is Ask for answers that are bytes.
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

// Fields reads an answer of a helper that is one field a line.
type Fields struct{ Rest string }

// Next gives the next field, "" when there is none.
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
