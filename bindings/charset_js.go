//go:build js && wasm

package bindings

import (
	"syscall/js"

	"golang.org/x/text/transform"

	"github.com/newsfork/seed-engine/worker"
)

var textDecoder = js.Global().Get("TextDecoder")

// Decoder decodes a charset to UTF-8 with the platform's tables. charset is a name of the WHATWG
// Encoding standard.
func Decoder(charset string) transform.Transformer {
	d := &charsetDecoder{charset: charset}
	d.Reset()
	return d
}

type charsetDecoder struct {
	charset string
	decoder js.Value
	pending []byte // decoded, not handed out yet
	flushed bool   // the decoder has been given the end
}

func (d *charsetDecoder) Reset() {
	d.decoder = textDecoder.New(d.charset)
	d.pending, d.flushed = nil, false
}

// Transform implements transform.Transformer. What the platform has decoded cannot be given back, so
// the output waits here while dst is full.
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
