//go:build !js

package markup

import (
	"golang.org/x/text/encoding"
	"golang.org/x/text/encoding/japanese"
	"golang.org/x/text/encoding/korean"
	"golang.org/x/text/encoding/simplifiedchinese"
	"golang.org/x/text/encoding/traditionalchinese"
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
	case big5:
		return traditionalchinese.Big5
	}
	return simplifiedchinese.GB18030
}
