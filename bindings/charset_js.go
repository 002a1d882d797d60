//go:build js && wasm

package bindings

import (
	"syscall/js"

	"golang.org/x/text/transform"

	"github.com/newsfork/seed-engine/worker"
)

var textDecoder = js.Global().Get("TextDecoder")

// Decoder returns a decoder from a charset to UTF-8 that uses the platform's tables. charset is a
// label of the WHATWG Encoding standard.
func Decoder(charset string) transform.Transformer {
	d := &charsetDecoder{charset: charset}
	d.Reset()
	return d
}

type charsetDecoder struct {
	charset string
	decoder js.Value
	pending []byte // decoded but not yet returned
	flushed bool   // the decoder has seen the end of the input
}

func (d *charsetDecoder) Reset() {
	d.decoder = textDecoder.New(d.charset)
	d.pending, d.flushed = nil, false
}

// Transform implements transform.Transformer. The platform's decoder cannot back up, so output that
// does not fit in dst stays in d.pending.
func (d *charsetDecoder) Transform(dst, src []byte, atEOF bool) (nDst, nSrc int, err error) {
	for {
		n := copy(dst[nDst:], d.pending)
		nDst += n
		if d.pending = d.pending[n:]; len(d.pending) > 0 {
			return nDst, nSrc, transform.ErrShortDst
		}
		if nSrc == len(src) && (!atEOF || d.flushed) {
			return nDst, nSrc, nil
		}
		text := d.decoder.Call("decode", worker.Array(src[nSrc:]), map[string]any{"stream": !atEOF})
		d.pending, d.flushed = []byte(text.String()), atEOF
		nSrc = len(src)
	}
}
