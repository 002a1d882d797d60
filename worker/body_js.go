//go:build js && wasm

package worker

import (
	"io"
	"strconv"
	"syscall/js"
	"unsafe"
)

//go:wasmimport worker read
func readChunk(id, handle int32)

//go:wasmimport worker copy
func copyChunk(handle int32, at unsafe.Pointer, length int32)

// Handle is a number for a JavaScript object that the pool keeps until the event ends.
type Handle int32

// ParseHandle parses a handle in a helper's answer.
func ParseHandle(field string) Handle {
	n, err := strconv.ParseInt(field, 10, 32)
	if err != nil {
		panic("worker: the helper returned " + strconv.Quote(field) + " instead of a handle")
	}
	return Handle(n)
}

func (h Handle) String() string { return strconv.Itoa(int(h)) }

// Keep returns a handle to v, to pass to helpers.
func Keep(v js.Value) Handle { return Handle(host.Call("keep", v).Int()) }

//go:wasmimport worker write
func writeTo(handle int32, at unsafe.Pointer, length int32)

// Write appends p to the upload behind the handle.
func (h Handle) Write(p []byte) { writeTo(int32(h), start(p), int32(len(p))) }

// BodyReader reads a ReadableStream. A null or undefined stream is an empty body.
func BodyReader(stream js.Value) io.ReadCloser {
	if stream.IsNull() || stream.IsUndefined() {
		return &body{err: io.EOF}
	}
	return Handle(host.Call("adopt", stream).Int()).Reader()
}

// Reader reads the stream behind the handle, such as the body of a response or an R2 object. While
// Go works on one chunk the next is already being read. Errors of the stream are *JSError.
//
// Close it, even when it was read only partly: with a read left pending the pool drops the instance.
func (h Handle) Reader() io.ReadCloser { return &body{handle: h} }

type body struct {
	handle Handle
	next   pending // the read under way, if any
	chunk  []byte  // buffer, reused for every chunk
	rest   []byte  // unread part of chunk
	err    error   // returned once rest is empty
}

func (b *body) Read(p []byte) (int, error) {
	for len(b.rest) == 0 {
		if b.err != nil {
			return 0, b.err
		}
		if len(p) == 0 {
			return 0, nil
		}
		n, err := b.fill(p)
		if err != nil {
			b.err = err
		}
		if n > 0 {
			return n, nil
		}
	}
	n := copy(p, b.rest)
	b.rest = b.rest[n:]
	return n, nil
}

// fill takes the next chunk from the stream and starts the read after it. A chunk that fits goes
// straight into p; any other is copied whole into b.rest, which frees the JavaScript buffer.
func (b *body) fill(p []byte) (int, error) {
	if b.next.id == 0 {
		b.request()
	}
	chunk, err := b.take()
	if err != nil {
		return 0, err
	}
	n := int(chunk.length)
	if n > 0 {
		dst := p
		if n > len(p) {
			if cap(b.chunk) < n {
				b.chunk = make([]byte, n)
			}
			dst = b.chunk[:n]
			b.rest = dst
		}
		copyChunk(int32(b.handle), start(dst), chunk.length)
	}
	if chunk.status == last {
		b.err = io.EOF
	} else {
		b.request()
	}
	if len(b.rest) > 0 {
		return 0, nil
	}
	return n, nil
}

func (b *body) request() {
	b.next = promised()
	readChunk(b.next.id, int32(b.handle))
}

func (b *body) take() (settlement, error) {
	next := b.next
	b.next = pending{}
	return next.settlement()
}

// Close cancels the rest of the stream. Read after Close returns io.ErrClosedPipe.
func (b *body) Close() error {
	b.rest = nil
	if b.err == nil {
		b.err = io.ErrClosedPipe
		Ask("cancel", nil, b.handle.String()) // fails only if the stream broke before
		if b.next.id != 0 {
			b.take()
		}
	}
	return nil
}
