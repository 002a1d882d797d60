//go:build js

package markup

import (
	"golang.org/x/text/encoding"
	"golang.org/x/text/transform"
)

// PlatformDecoder returns the platform's decoder of a charset, by its WHATWG name. The tables of the East
// Asian charsets are a tenth of the compressed program, and the platform has them. main sets
// it before the first document.
var PlatformDecoder func(charset string) transform.Transformer

// eastAsian is an encoding that can only be decoded.
func eastAsian(charset string) encoding.Encoding { return platformEncoding(charset) }

type platformEncoding string

func (e platformEncoding) NewDecoder() *encoding.Decoder {
	return &encoding.Decoder{Transformer: PlatformDecoder(string(e))}
}

func (platformEncoding) NewEncoder() *encoding.Encoder {
	return encoding.Replacement.NewEncoder()
}
