package sitemap

import (
	"bytes"
	"io"
	"sync"

	"github.com/newsfork/seed-engine/markup"
	"github.com/newsfork/seed-engine/swar"
)

const (
	window   = 64 << 10 // how much of the document is in memory
	maxTag   = 16 << 10 // longest tag read, from "<" to ">"
	maxLine  = 16 << 10 // longest line of a text sitemap
	maxField = 16 << 10 // longest text kept of one element
)

// mode is the current way of reading the document.
type mode uint8

const (
	inStart   mode = iota // lines before the first tag or URL
	inLines               // a text sitemap
	inLongRow             // the remainder of an overlong line
	inMarkup
	inComment
	inCDATA
	inDoctype // its internal subset
	inPage    // a web page
)

// read scans the document to its end. The scanner sees it in windows that depend on nothing but its
// bytes, so the way they arrive cannot change the result.
func (p *parser) read(r io.Reader, buf *[window]byte) {
	n := 0
	for {
		m, err := io.ReadFull(r, buf[n:])
		n += m
		last := err != nil
		used := p.scan(buf[:n], last)
		n = copy(buf[:], buf[used:n])
		if last {
			return
		}
	}
}

// windows are used again: a collection reads several documents.
var windows = sync.Pool{New: func() any { return new([window]byte) }}

// scan reads as much of b as it can without knowing what follows, and returns how much that was.
// It always gets on: b fills the window, and nothing it waits for may be that long.
func (p *parser) scan(b []byte, last bool) int {
	i := 0
	for i < len(b) {
		n, before := 0, p.mode
		switch before {
		case inStart, inLines:
			n = p.line(b[i:], last)
		case inLongRow:
			n = p.restOfRow(b[i:])
		case inComment:
			n = p.comment(b[i:])
		case inDoctype:
			n = p.subset(b[i:], last)
		case inCDATA:
			n = p.characters(b[i:], last)
		case inPage:
			n = len(b) - i
		default:
			n = p.markup(b[i:], last)
		}
		if n == 0 && p.mode == before {
			break
		}
		i += n
	}
	if last {
		return len(b)
	}
	return i
}

// comment drops a comment.
func (p *parser) comment(b []byte) int {
	const end = "-->"
	if i := bytes.Index(b, []byte(end)); i >= 0 {
		p.mode = inMarkup
		return i + len(end)
	}
	return max(len(b)-len(end)+1, 0)
}

// subset drops the internal subset of a document type up to "]" and ">". Entities declared there
// are never looked at.
func (p *parser) subset(b []byte, last bool) int {
	i := bytes.IndexByte(b, ']')
	if i < 0 {
		return len(b)
	}
	k := i + 1
	for k < len(b) && b[k] <= ' ' {
		k++
	}
	switch {
	case k == len(b) && k-i < maxTag && !last:
		return i
	case k == len(b) || b[k] == '>':
		p.mode = inMarkup
	}
	return k
}

// characters takes the text of a CDATA section.
func (p *parser) characters(b []byte, last bool) int {
	i := bytes.Index(b, []byte("]]>"))
	switch {
	case i >= 0:
		p.keep(b[:i])
		p.mode = inMarkup
		return i + 3
	case last:
		p.keep(b)
		return len(b)
	}
	n := max(len(b)-2, 0)
	p.keep(b[:n])
	return n
}

// markup takes text and tags until the mode changes or more input is needed.
func (p *parser) markup(b []byte, last bool) int {
	i := 0
	for {
		lt := markup.NextLT(b, i)
		if p.field != none {
			end := lt
			if lt < 0 {
				end = len(b)
				if !last {
					end = wholeReferences(b, i)
				}
			}
			if end > i {
				p.keepEscaped(b[i:end])
			}
			if lt < 0 {
				return end
			}
		} else if lt < 0 {
			return len(b)
		}
		i = lt
		if i+1 == len(b) {
			return p.wait(b, i, last)
		}

		// Nearly every tag: lower case, no attributes.
		from := i + 1
		closing := b[from] == '/'
		if closing {
			from++
		}
		e, local, end := scanName(b, from)
		if end < len(b) && b[end] == '>' && end > from {
			i = end + 1
			if e == none && len(p.skip) == 0 {
				continue
			}
			p.element(e, b[local:end], b[from:max(local-1, from)], nil, closing, false)
			if p.field != none && p.fieldAt == len(p.buf) { // it was just opened
				i = p.leaf(b, i, b[from:end])
			}
			if p.mode != inMarkup {
				return i
			}
			continue
		}

		switch c := b[i+1]; {
		case c|0x20 >= 'a' && c|0x20 <= 'z' || c == '/' || c == '_' || c == ':' || c == '?' || c >= 0x80:
		case c == '!':
			n := p.declaration(b[i:], last)
			if n == 0 || p.mode != inMarkup {
				return i + n
			}
			i += n
			continue
		default: // a bare "<" in text
			p.keep(b[i : i+1])
			i++
			continue
		}
		end, next := markup.TagEnd(b, i+1)
		if end < 0 {
			if last || len(b)-i < maxTag {
				return p.wait(b, i, last)
			}
			p.keep(b[i : i+1])
			i++
			continue
		}
		if b[i+1] != '?' {
			p.tag(b[i+1 : end])
		}
		i = next
		if p.mode != inMarkup {
			return i
		}
	}
}

// scanName reads the name at b[from:] as far as it is plain: its element, where its local part
// begins, behind the prefix, and where it ends.
func scanName(b []byte, from int) (e element, local, end int) {
	if len(b)-from >= 8 { // one load for a short name and its ">"
		w := swar.Load(b, from)
		if m := swar.Match(w, '>'); m != 0 {
			n := 8 * swar.First(m)
			if e := key(w & (1<<n - 1)).element(nil); e != none {
				return e, from, from + n/8
			}
		}
	}
	local, end = from, from
	var k key
	for ; end < len(b) && plain[b[end]]; end++ {
		if b[end] == ':' {
			local, k = end+1, 0
		} else {
			k = k.with(b[end], end-local)
		}
	}
	return k.element(b[local:end]), local, end
}

// plain marks the bytes of names that need no closer look.
var plain = func() (t [256]bool) {
	for _, c := range "abcdefghijklmnopqrstuvwxyz0123456789_-.:" {
		t[c] = true
	}
	return t
}()

// leaf takes a field whole that is what most are: text without references, followed by its own end
// tag. It returns where to go on.
func (p *parser) leaf(b []byte, i int, name []byte) int {
	lt := markup.NextOf(b, i, '<', '&')
	if lt < 0 || lt-i > maxField || b[lt] != '<' {
		return i
	}
	end := lt + 2 + len(name)
	if end >= len(b) || b[lt+1] != '/' || b[end] != '>' || !bytes.Equal(b[lt+2:end], name) {
		return i
	}
	p.buf = append(p.buf, b[i:lt]...)
	p.commit()
	return end + 1
}

// wait requests more input from the tag at b[i] on. At the end of the input the tag is incomplete, and so is the
// document.
func (p *parser) wait(b []byte, i int, last bool) int {
	if !last {
		return i
	}
	p.cutTag = true
	if e, local, end := scanName(b, i+1); byRoot[e] != nil && end < len(b) {
		p.element(e, b[local:end], b[i+1:max(local-1, i+1)], nil, false, false)
	}
	return len(b)
}

// declaration reads the start of what begins with "<!": a comment, a CDATA section or a document
// type. 0 asks for more input.
func (p *parser) declaration(b []byte, last bool) int {
	const cdataStart, commentStart, doctypeStart = "<![CDATA[", "<!--", "<!doctype"
	if len(b) < len(cdataStart) && !last {
		return 0
	}
	switch {
	case bytes.HasPrefix(b, []byte(commentStart)):
		p.mode = inComment
		return len(commentStart)
	case bytes.HasPrefix(b, []byte(cdataStart)):
		p.mode = inCDATA
		return len(cdataStart)
	}
	i := bytes.IndexAny(b, "[>")
	if i < 0 {
		if last || len(b) >= maxTag {
			return len(b)
		}
		return 0
	}
	if len(b) >= len(doctypeStart) && markup.EqualFold(b[:len(doctypeStart)], doctypeStart) {
		if name := bytes.TrimLeft(b[len(doctypeStart):i], " \t\r\n"); len(name) >= 4 &&
			markup.EqualFold(name[:4], "html") {
			p.webPage()
		}
		if b[i] == '[' {
			p.mode = inDoctype
		}
	}
	return i + 1
}

// wholeReferences returns the end of b[i:] without a reference that b may have cut.
func wholeReferences(b []byte, i int) int {
	tail := max(i, len(b)-markup.MaxReference)
	if amp := bytes.LastIndexByte(b[tail:], '&'); amp >= 0 && bytes.IndexByte(b[tail+amp:], ';') < 0 {
		return tail + amp
	}
	return len(b)
}

// line reads one line of what may be a text sitemap. Before anything is recognised, other lines
// are skipped, and a "<" begins markup: servers put warnings in front of documents.
func (p *parser) line(b []byte, last bool) int {
	end := markup.NextOf(b, 0, '\r', '\n')
	whole := end >= 0
	if !whole {
		end = len(b)
	}
	if p.mode == inStart {
		if lt := markup.NextLT(b[:end], 0); lt >= 0 {
			p.row(b[:lt], nil)
			p.mode = inMarkup
			return lt
		}
	}
	switch {
	case whole:
		p.row(b[:end], b)
		end++
	case last:
		p.row(b, b)
	case len(b) < maxLine:
		return 0
	default: // no URL
		p.row(b, nil)
		if p.mode == inLines {
			p.mode = inLongRow
		}
	}
	return end
}

// restOfRow drops what is left of an overlong line.
func (p *parser) restOfRow(b []byte) int {
	end := markup.NextOf(b, 0, '\r', '\n')
	if end < 0 {
		return len(b)
	}
	p.mode = inLines
	return end
}
