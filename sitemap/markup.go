package sitemap

import "bytes"

// Tag is a start or end tag of HTML or XML.
type Tag struct {
	Name    []byte // local name as written, valid as long as the markup
	Closing bool
	attrs   attributes
}

// NextTag returns the next tag of b from i on, with the tolerance of Parse, and where to go on behind
// it; next is -1 when there is none. Comments are skipped. The content of HTML's script, style and
// the like is the caller's to skip.
func NextTag(b []byte, i int) (t Tag, next int) {
	for {
		if i = nextLT(b, i); i < 0 || i+1 == len(b) {
			return t, -1
		}
		switch c := b[i+1]; {
		case bytes.HasPrefix(b[i:], []byte("<!--")):
			end := bytes.Index(b[i+4:], []byte("-->"))
			if end < 0 {
				return t, -1
			}
			i += 4 + end + 3
		case c == '/' || c|0x20 >= 'a' && c|0x20 <= 'z':
			end, next := tagEnd(b, i+1)
			if end < 0 {
				return t, -1
			}
			body := b[i+1 : end]
			if t.Closing = c == '/'; t.Closing {
				body = body[1:]
			}
			n := 0
			for n < len(body) && body[n] > ' ' && body[n] != '/' {
				n++
			}
			t.Name, t.attrs = body[:n], attributes(body[n:])
			return t, next
		default:
			i++
		}
	}
}

// Is reports whether the tag has this name, given in lower case.
func (t *Tag) Is(name string) bool { return equalFold(t.Name, name) }

// Attr returns the value of an attribute, whose name is given in lower case, with its references
// decoded; "" when it is not there.
func (t *Tag) Attr(name string) string {
	value, _ := unescape(bytes.Clone(rawAttribute(t.attrs, name)))
	return string(trim(value))
}

// Resolve returns the absolute http or https URL that ref means in the document at base; ok is
// false when there is none.
func Resolve(base string, ref []byte) (loc string, ok bool) {
	l, _ := parseLocation([]byte(base))
	b, ok := l.resolve(nil, trim(ref))
	return string(b), ok
}
