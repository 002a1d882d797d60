package markup

import "bytes"

// Tag is a start or end tag of HTML or XML.
type Tag struct {
	Name    []byte // local name as written, valid as long as the markup
	Closing bool
	attrs   Attributes
}

// NextTag returns the next tag of b from i on, and the index after it, or -1 without one. It tolerates the errors of
// real documents and skips comments. The caller has to skip the content of script, style and the like.
func NextTag(b []byte, i int) (t Tag, next int) {
	for {
		if i = NextLT(b, i); i < 0 || i+1 == len(b) {
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
			end, next := TagEnd(b, i+1)
			if end < 0 {
				return t, -1
			}
			return ParseTag(b[i+1 : end]), next
		default:
			i++
		}
	}
}

// ParseTag returns the tag of what stands between "<" and ">".
func ParseTag(body []byte) (t Tag) {
	if t.Closing = len(body) > 0 && body[0] == '/'; t.Closing {
		body = body[1:]
	}
	n := 0
	for n < len(body) && body[n] > ' ' && body[n] != '/' {
		n++
	}
	t.Name, t.attrs = body[:n], Attributes(body[n:])
	return t
}

// EndTag returns the index of an element's end tag in b, if its content begins at i, or len(b). Callers use it to
// skip raw text elements such as script and style.
func EndTag(b []byte, i int, name []byte) int {
	for {
		at := bytes.Index(b[i:], []byte("</"))
		if at < 0 {
			return len(b)
		}
		i += at
		if end := b[i+2:]; len(end) >= len(name) && bytes.EqualFold(end[:len(name)], name) {
			return i
		}
		i += 2
	}
}

// Is reports whether the tag has this name, given in lower case.
func (t *Tag) Is(name string) bool { return EqualFold(t.Name, name) }

// Attr returns the value of an attribute, whose name is given in lower case, with its references
// decoded; "" when it is not there.
func (t *Tag) Attr(name string) string {
	value, _ := Unescape(bytes.Clone(Attribute(t.attrs, name)))
	return string(Trim(value))
}

// Attributes returns all attributes of the tag.
func (t *Tag) Attributes() Attributes { return t.attrs }

// Resolve returns the absolute http or https URL of ref in the document at base; ok is false without one.
func Resolve(base string, ref []byte) (loc string, ok bool) {
	l, _ := ParseLocation([]byte(base))
	b, ok := l.Resolve(nil, Trim(ref))
	return string(b), ok
}

// Attributes iterates over the attributes of a tag: what follows its name.
type Attributes []byte

// Next returns the next attribute; a nil name after the last.
func (a *Attributes) Next() (name, value []byte) {
	b := *a
	for len(b) > 0 && (b[0] <= ' ' || b[0] == '/') {
		b = b[1:]
	}
	n := 0
	for n < len(b) && b[n] > ' ' && b[n] != '=' && (b[n] != '/' || n+1 < len(b)) {
		n++
	}
	if n == 0 {
		*a = nil
		return nil, nil
	}
	name, b = b[:n], bytes.TrimLeft(b[n:], " \t\r\n")
	if len(b) == 0 || b[0] != '=' {
		*a = b
		return name, nil
	}
	b = bytes.TrimLeft(b[1:], " \t\r\n")
	end, skip := 0, 0
	if len(b) > 0 && (b[0] == '"' || b[0] == '\'') {
		quote := b[0]
		b = b[1:]
		skip = 1
		if end = bytes.IndexByte(b, quote); end < 0 {
			end, skip = len(b), 0
		}
	} else {
		for end < len(b) && b[end] > ' ' {
			end++
		}
	}
	*a = b[end+skip:]
	return name, b[:end]
}

// Attribute returns the value of an attribute as it stands in the tag, trimmed; nil when it is
// not there. wanted is in lower case.
func Attribute(attrs []byte, wanted string) []byte {
	for a := Attributes(attrs); len(a) > 0; {
		if name, value := a.Next(); EqualFold(name, wanted) {
			if value = Trim(value); value == nil {
				value = []byte{}
			}
			return value
		}
	}
	return nil
}
