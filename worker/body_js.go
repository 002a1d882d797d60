//go:build js && wasm

package worker

import (
	"io"
	"syscall/js"
)

// chunkSize is how much of a byte stream one read asks for, in bytes. Large reads keep the number
// of crossings between Go and JavaScript small.
const chunkSize = 256 << 10

// spareBuffers are ArrayBuffers of chunkSize that no read uses at the moment. They are reused by
// later bodies and events, because Go keeps every JavaScript object alive until its next collection.
var spareBuffers []js.Value

const maxSpareBuffers = 4

var (
	arrayBuffer = js.Global().Get("ArrayBuffer")
	byob        = js.ValueOf(map[string]any{"mode": "byob"})
)

// BodyReader reads a ReadableStream, such as the body of a response or of an R2 object. While Go
// works on one chunk the next one is already being read. Errors of the stream are *JSError.
//
// Close it: an unread rest is cancelled, and a read left pending would cost the instance. A null
// or undefined stream is an empty body.
func BodyReader(stream js.Value) io.ReadCloser {
	if stream.IsNull() || stream.IsUndefined() {
		return &body{err: io.EOF}
	}
	return &body{stream: stream}
}

type body struct {
	stream js.Value
	reader js.Value // undefined before the first read
	byob   bool     // the stream fills our buffer; otherwise it brings its own chunks
	buffer js.Value // of the next byob read

	next  pending // the read that is under way, if any
	chunk []byte  // kept from chunk to chunk
	rest  []byte  // part of chunk that Read has yet to give
	err   error   // what Read answers when rest is empty
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
			b.fail(err)
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
// straight into p, any other is copied whole into b.rest, so that its buffer is free again.
func (b *body) fill(p []byte) (int, error) {
	if b.reader.IsUndefined() {
		if err := b.open(); err != nil {
			return 0, err
		}
	}
	if b.next.id == 0 {
		if err := b.request(); err != nil {
			return 0, err
		}
	}
	result, err := b.take()
	if err != nil {
		return 0, err
	}
	n := 0
	value := result.Get("value")
	if !value.IsUndefined() {
		n = value.Length()
		dst := p
		if n > len(p) {
			if cap(b.chunk) < n {
				b.chunk = make([]byte, n)
			}
			dst = b.chunk[:n]
			b.rest = dst
		}
		js.CopyBytesToGo(dst, value)
		if b.byob {
			b.buffer = value.Get("buffer")
		}
	}
	if result.Get("done").Bool() {
		b.fail(io.EOF)
	} else if err := b.request(); err != nil {
		b.fail(err) // after what this chunk brought
	}
	if len(b.rest) > 0 {
		return 0, nil
	}
	return n, nil
}

func (b *body) open() error {
	reader, err := Try(func() js.Value { return b.stream.Call("getReader", byob) })
	if err == nil {
		b.byob = true
		if n := len(spareBuffers); n > 0 {
			b.buffer, spareBuffers = spareBuffers[n-1], spareBuffers[:n-1]
		} else {
			b.buffer = arrayBuffer.New(chunkSize)
		}
	} else { // not a byte stream
		if reader, err = Try(func() js.Value { return b.stream.Call("getReader") }); err != nil {
			return err
		}
	}
	b.reader = reader
	return nil
}

func (b *body) request() error {
	promise, err := Try(func() js.Value {
		if b.byob {
			return b.reader.Call("readAtLeast", chunkSize, uint8Array.New(b.buffer))
		}
		return b.reader.Call("read")
	})
	if err == nil {
		b.next = begin(promise)
	}
	return err
}

func (b *body) take() (js.Value, error) {
	next := b.next
	b.next = pending{}
	return next.result()
}

// fail ends the stream: err is what Read answers once the rest is given.
func (b *body) fail(err error) {
	b.err = err
	if b.byob && !b.buffer.IsUndefined() {
		if len(spareBuffers) < maxSpareBuffers && b.buffer.Get("byteLength").Int() == chunkSize {
			spareBuffers = append(spareBuffers, b.buffer)
		}
		b.buffer = js.Undefined()
	}
}

// Close cancels what was not read. Reading after Close fails with io.ErrClosedPipe.
func (b *body) Close() error {
	b.rest = nil
	if b.err == nil {
		b.err = io.ErrClosedPipe
		target := b.reader
		if target.IsUndefined() {
			target = b.stream
		}
		Call(target, "cancel") // a stream that broke already has nothing to cancel
		if b.next.id != 0 {
			b.take()
		}
	}
	return nil
}
