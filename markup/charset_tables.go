//go:build !js

package markup

import (
	"golang.org/x/text/encoding"
	"golang.org/x/text/encoding/japanese"
	"golang.org/x/text/encoding/korean"
	"golang.org/x/text/encoding/simplifiedchinese"
)

// eastAsian is the encoding of one of the East Asian charsets, by its WHATWG name.
func eastAsian(charset string) encoding.Encoding {
	switch charset {
	case eucKR:
		return korean.EUCKR
	case shiftJIS:
		return japanese.ShiftJIS
	case eucJP:
		return japanese.EUCJP
	}
	return simplifiedchinese.GB18030
}
