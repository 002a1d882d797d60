package discovery

import "strings"

// maxShapes bounds the memory of shapes. What stands there depends on the shape alone, so nothing
// else changes when it is emptied.
const maxShapes = 4096

// shapes classifies the URLs of a domain when there are many. Those that differ only in numbers have
// one shape, which is classified once; the numbers change the type of hardly one URL in two hundred
// (TestShapes). Titles tell more, so a URL with a title is classified by itself.
type shapes struct {
	classifier *Classifier
	known      map[string]shapeClass
	buf        []byte
}

type shapeClass struct {
	class      int
	confidence float64
}

func (s *shapes) classify(p *page) (class int, confidence float64) {
	if n := len(p.parts()); n > 0 && p.kinds[n-1] == slugKind {
		return s.classifier.likely(p.url)
	}
	s.buf = appendShape(s.buf[:0], p)
	c, ok := s.known[string(s.buf)]
	if !ok {
		shape := string(s.buf)
		c.class, c.confidence = s.classifier.likely(shape)
		if s.known == nil || len(s.known) == maxShapes {
			s.known = make(map[string]shapeClass)
		}
		s.known[shape] = c
	}
	return c.class, c.confidence
}

// specimens stand in a shape for segments and values made of digits or hexadecimal digits.
var specimens = [...]string{
	numberKind: "123456", idKind: "a1b2c3d4e5f60718", yearKind: "2020", dateKind: "2020-06-15",
}

// appendShape appends the URL with a specimen for each number, date and key.
func appendShape(dst []byte, p *page) []byte {
	dst = append(dst, p.url[:strings.Index(p.url, "://")+3]...)
	dst = append(dst, p.host...)
	for i, s := range p.parts() {
		dst = appendSpecimen(append(dst, '/'), s, p.kinds[i])
	}
	if p.depth == 0 || p.path[len(p.path)-1] == '/' {
		dst = append(dst, '/')
	}
	separator := byte('?')
	for f := range strings.SplitSeq(p.query, "&") {
		if f == "" {
			continue
		}
		name, value, _ := strings.Cut(f, "=")
		dst = append(append(dst, separator), name...)
		dst = appendSpecimen(append(dst, '='), value, kindOf(value))
		separator = '&'
	}
	return dst
}

func appendSpecimen(dst []byte, s string, k kind) []byte {
	s, e := s[:len(s)-extensionLength(s)], s[len(s)-extensionLength(s):]
	switch {
	case (k == monthKind || k == dayKind) && isDigit(s[0]):
		return append(append(dst, "10"...), e...)
	case k == numberKind, k == yearKind, k == dateKind, k == idKind && isHexadecimal(s):
		return append(append(dst, specimens[k]...), e...)
	}
	for i := range len(s) {
		c := s[i]
		if isDigit(c) && (i < 1 || s[i-1] != '%') && (i < 2 || s[i-2] != '%') {
			c = '1'
		}
		dst = append(dst, c)
	}
	return append(dst, e...)
}

// isHexadecimal tells keys that have no words in them.
func isHexadecimal(s string) bool {
	for i := range len(s) {
		if c := s[i]; !isDigit(c) && c != '-' && (c|0x20 < 'a' || c|0x20 > 'f') {
			return false
		}
	}
	return true
}
