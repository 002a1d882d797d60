package markup

import (
	"bufio"
	"bytes"
	"cmp"
	"io"
	"unicode/utf8"

	"golang.org/x/text/encoding"
	"golang.org/x/text/encoding/charmap"
	"golang.org/x/text/encoding/unicode"
	"golang.org/x/text/transform"
)

// sniffLength is the size of the prefix that is searched for a charset, in bytes.
const sniffLength = 4 << 10

// Names of charsets that are guessed as well as declared.
const (
	utf8Name  = "utf-8"
	utf16LE   = "utf-16le"
	utf16BE   = "utf-16be"
	eucKR     = "euc-kr"
	eucJP     = "euc-jp"
	shiftJIS  = "shift_jis"
	gb18030   = "gb18030"
	big5      = "big5"
	cyrillic  = "windows-1251"
	undefined = ""
)

// charset returns the encoding behind a label (https://encoding.spec.whatwg.org/#names-and-labels)
// and its name; nil for UTF-8 and for unknown labels. Latin-1 and US-ASCII mean
// windows-1252 there, as they do in practice.
func charset(label string) (string, encoding.Encoding) {
	switch label {
	case utf16LE, "utf-16":
		return utf16LE, unicode.UTF16(unicode.LittleEndian, unicode.IgnoreBOM)
	case utf16BE:
		return utf16BE, unicode.UTF16(unicode.BigEndian, unicode.IgnoreBOM)
	case eucKR, "ks_c_5601-1987", "ks_c_5601-1989", "ksc5601", "ks_c_5601", "cp949", "ms949", "uhc", "windows-949",
		"korean":
		return eucKR, eastAsian(eucKR)
	case shiftJIS, "shift-jis", "sjis", "x-sjis", "ms_kanji", "windows-31j", "cp932", "ms932":
		return shiftJIS, eastAsian(shiftJIS)
	case eucJP, "x-euc-jp", "eucjp":
		return eucJP, eastAsian(eucJP)
	case gb18030, "gbk", "gb2312", "gb_2312-80", "cp936", "x-gbk", "chinese":
		return gb18030, eastAsian(gb18030)
	case big5, "big5-hkscs", "big5_hkscs", "cn-big5", "csbig5", "x-x-big5", "cp950", "ms950":
		return big5, eastAsian(big5)
	case "windows-1252", "iso-8859-1", "iso8859-1", "iso_8859-1", "latin1", "l1", "cp1252", "x-cp1252", "us-ascii",
		"ascii":
		return "windows-1252", charmap.Windows1252
	case cyrillic, "cp1251", "x-cp1251":
		return cyrillic, charmap.Windows1251
	case "windows-1250", "cp1250", "x-cp1250":
		return "windows-1250", charmap.Windows1250
	case "windows-1253", "cp1253":
		return "windows-1253", charmap.Windows1253
	case "windows-1254", "cp1254", "iso-8859-9", "iso8859-9", "latin5":
		return "windows-1254", charmap.Windows1254
	case "windows-1255", "cp1255":
		return "windows-1255", charmap.Windows1255
	case "windows-1256", "cp1256":
		return "windows-1256", charmap.Windows1256
	case "windows-1257", "cp1257":
		return "windows-1257", charmap.Windows1257
	case "windows-1258", "cp1258":
		return "windows-1258", charmap.Windows1258
	case "windows-874", "tis-620", "iso-8859-11":
		return "windows-874", charmap.Windows874
	case "iso-8859-2", "iso8859-2", "latin2":
		return "iso-8859-2", charmap.ISO8859_2
	case "iso-8859-4", "iso8859-4", "latin4":
		return "iso-8859-4", charmap.ISO8859_4
	case "iso-8859-5", "iso8859-5":
		return "iso-8859-5", charmap.ISO8859_5
	case "iso-8859-6", "iso8859-6":
		return "iso-8859-6", charmap.ISO8859_6
	case "iso-8859-7", "iso8859-7", "greek":
		return "iso-8859-7", charmap.ISO8859_7
	case "iso-8859-8", "iso8859-8", "iso-8859-8-i":
		return "iso-8859-8", charmap.ISO8859_8
	case "iso-8859-13", "iso8859-13":
		return "iso-8859-13", charmap.ISO8859_13
	case "iso-8859-15", "iso8859-15", "latin9", "latin-9":
		return "iso-8859-15", charmap.ISO8859_15
	case "koi8-r", "koi8", "koi8r":
		return "koi8-r", charmap.KOI8R
	case "koi8-u":
		return "koi8-u", charmap.KOI8U
	}
	return utf8Name, nil
}

// Decode returns the document as UTF-8 and the name of the charset it was in. It looks for, in order: a byte order
// mark, the zero bytes of UTF-16, what its XML declaration says, what the Content-Type says, what its meta elements
// say. A declaration that the bytes contradict gives way to UTF-8, and bytes that are not the UTF-8 they should be are
// guessed at. Single stray bytes are repaired later, field by field (see AppendUTF8).
func Decode(r io.Reader, contentType string) (text io.Reader, charsetName string) {
	b := bufio.NewReaderSize(r, sniffLength)
	start, _ := b.Peek(sniffLength) // an error here comes again when the document is read
	var name string
	var enc encoding.Encoding
	skip := 0
	switch {
	case bytes.HasPrefix(start, []byte("\xef\xbb\xbf")):
		name, skip = utf8Name, 3
	case bytes.HasPrefix(start, []byte("\xff\xfe")):
		name, skip = utf16LE, 2
	case bytes.HasPrefix(start, []byte("\xfe\xff")):
		name, skip = utf16BE, 2
	default:
		name = utf16Without(start)
	}
	if name == undefined {
		label := cmp.Or(xmlEncoding(start), charsetParam(contentType), metaCharset(start))
		name, enc = charset(label)
		if name == utf16LE || name == utf16BE { // a document whose declaration could be read is not UTF-16
			name, enc = utf8Name, nil
		}
		switch good, bad := countUTF8(start); {
		case enc == nil && bad > good:
			if name, enc = charset(charsetParam(contentType)); enc == nil {
				name, enc = charset(metaCharset(start))
			}
			if enc == nil || name == utf16LE || name == utf16BE {
				name = guess(start)
			}
		case enc != nil && bad == 0 && good >= pairsToDoubt(name):
			name = utf8Name
		}
	}
	name, enc = charset(name)
	if skip > 0 {
		b.Discard(skip) // peeked, so it cannot fail
	}
	if enc == nil {
		return b, name
	}
	return transform.NewReader(b, enc.NewDecoder()), name
}

// pairsToDoubt returns the number of characters of valid UTF-8 that outweigh the declaration of another charset: one
// if its letters are single bytes, more if pairs of its bytes can look like UTF-8 by chance.
func pairsToDoubt(name string) int {
	switch name {
	case eucKR, eucJP, shiftJIS, gb18030, big5:
		return 4
	}
	return 1
}

// utf16Without recognises UTF-16 that has no byte order mark by its first two characters.
func utf16Without(b []byte) string {
	if len(b) < 4 {
		return undefined
	}
	switch {
	case b[0] != 0 && b[1] == 0 && b[2] != 0 && b[3] == 0:
		return utf16LE
	case b[0] == 0 && b[1] != 0 && b[2] == 0 && b[3] != 0:
		return utf16BE
	}
	return undefined
}

// xmlEncoding returns the label of an XML declaration, lower case. It need not stand at the very
// beginning.
func xmlEncoding(b []byte) string {
	i := bytes.Index(b, []byte("<?xml"))
	if i < 0 {
		return undefined
	}
	b = b[i:]
	if end := bytes.IndexByte(b, '>'); end >= 0 {
		b = b[:end]
	}
	if i = bytes.Index(b, []byte("encoding")); i < 0 {
		return undefined
	}
	b = bytes.TrimLeft(b[i+len("encoding"):], " \t\r\n=")
	if len(b) == 0 || b[0] != '"' && b[0] != '\'' {
		return undefined
	}
	quote := b[0]
	b = b[1:]
	if end := bytes.IndexByte(b, quote); end >= 0 {
		b = b[:end]
	}
	return string(bytes.ToLower(bytes.TrimSpace(b)))
}

// metaCharset returns the label of HTML's <meta charset> or <meta http-equiv="content-type">, lower case.
func metaCharset(b []byte) string {
	for i := 0; ; {
		i = NextLT(b, i)
		if i < 0 {
			return undefined
		}
		i++
		if tag := b[i:]; len(tag) < 6 || !EqualFold(tag[:4], "meta") || tag[4] > ' ' && tag[4] != '/' {
			continue
		}
		end, _ := TagEnd(b, i)
		if end < 0 {
			return undefined
		}
		attrs := b[i+len("meta") : end]
		if label := Attribute(attrs, "charset"); len(label) > 0 {
			return string(bytes.ToLower(label))
		}
		if EqualFold(Attribute(attrs, "http-equiv"), "content-type") {
			if label := charsetParam(string(Attribute(attrs, "content"))); label != undefined {
				return label
			}
		}
	}
}

// charsetParam returns the charset parameter of a Content-Type header, lower case.
func charsetParam(contentType string) string {
	b := bytes.ToLower([]byte(contentType))
	i := bytes.Index(b, []byte("charset="))
	if i < 0 {
		return undefined
	}
	b = b[i+len("charset="):]
	if end := bytes.IndexByte(b, ';'); end >= 0 {
		b = b[:end]
	}
	return string(bytes.Trim(b, " \t\"'"))
}

// countUTF8 counts the multi-byte characters of b, and the bytes beyond ASCII that are part of
// none. A character that the end of b cuts is neither.
func countUTF8(b []byte) (good, bad int) {
	for len(b) > 0 {
		if b[0] < utf8.RuneSelf {
			b = b[1:]
			continue
		}
		if r, n := utf8.DecodeRune(b); r != utf8.RuneError || n > 1 {
			good++
			b = b[n:]
			continue
		}
		if !utf8.FullRune(b) {
			break
		}
		bad++
		b = b[1:]
	}
	return good, bad
}

// guess infers the charset of text that declares none, or UTF-8 wrongly, from its bytes beyond ASCII.
// In doubt it is UTF-8, in which stray bytes are repaired as windows-1252. It distinguishes the charsets
// that the web still serves undeclared. Japanese is half kana: they lead with 0x82 and 0x83 in
// Shift_JIS, with 0xA4 and 0xA5 in EUC-JP. Korean syllables lead with 0xB0 to 0xC8, Chinese
// characters with twice that range. Cyrillic words are runs of letters, odd as often as even.
func guess(b []byte) string {
	var high, runs, letters, sjisKana, pairs, kana, hangul int
	for i := 0; i < len(b); i++ {
		if b[i] < 0x80 {
			continue
		}
		start, euc := i, true
		for ; i < len(b) && b[i] >= 0x80; i++ {
			switch c := b[i]; {
			case c == 0x82 || c == 0x83:
				sjisKana++
				euc = false
			case c <= 0xa0:
				euc = false
			case c >= 0xc0:
				letters++
			}
		}
		run := b[start:i]
		high += len(run)
		runs++
		if !euc || len(run)%2 != 0 {
			continue
		}
		for k := 0; k < len(run); k += 2 {
			pairs++
			switch lead := run[k]; {
			case lead == 0xa4 || lead == 0xa5:
				kana++
			case lead >= 0xb0 && lead <= 0xc8:
				hangul++
			}
		}
	}
	switch {
	case high < 8:
		return utf8Name
	case 6*sjisKana >= high:
		return shiftJIS
	case 10*letters >= 9*high && high >= 3*runs:
		return cyrillic
	case 10*2*pairs < 8*high:
		return utf8Name
	case 4*kana >= pairs:
		return eucJP
	case 4*hangul >= 3*pairs:
		return eucKR
	}
	return gb18030
}
