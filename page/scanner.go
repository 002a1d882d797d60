package page

import (
	"bytes"
	"io"

	"github.com/newsfork/seed-engine/markup"
)

// windowSize is the part of a page that is in memory at a time, in bytes. A tag that is longer is cut.
const windowSize = 32 << 10

// scanner takes a page apart into texts and tags, in one pass. Each byte is read a bounded number of times,
// whatever the markup.
type scanner struct {
	r       io.Reader // of UTF-8, more or less
	window  [windowSize]byte
	at, end int // the unread part of window
	done    bool
	inTag   bool  // unread begins in the middle of a tag that was cut
	err     error // other than io.EOF

	text []byte     // of the last token, or nil
	tag  markup.Tag // of the last token if text is nil
}

// fill moves the unread part to the front, and reads on. It reports whether there is more than before.
func (s *scanner) fill() bool {
	if s.done || s.end-s.at == windowSize {
		return false
	}
	s.end = copy(s.window[:], s.window[s.at:s.end])
	s.at = 0
	before := s.end
	for s.end < windowSize && !s.done {
		n, err := s.r.Read(s.window[s.end:])
		s.end += n
		if err != nil {
			s.done = true
			if err != io.EOF {
				s.err = err
			}
		}
	}
	return s.end > before
}

func (s *scanner) unread() []byte { return s.window[s.at:s.end] }

// next reads the next text or tag. What it returns is valid until the next call. It reports whether there is one.
func (s *scanner) next() bool {
	if s.inTag {
		s.skipTag()
	}
	for {
		b := s.unread()
		if len(b) < len("<!--") && s.fill() {
			continue
		}
		switch {
		case len(b) == 0:
			return false
		case b[0] != '<':
			return s.readText()
		case bytes.HasPrefix(b, []byte("<!--")):
			s.at += len("<!--")
			s.skipPast("-->")
		case len(b) > 1 && (b[1] == '!' || b[1] == '?'):
			s.skipPast(">")
		case len(b) > 1 && b[1]|0x20 >= 'a' && b[1]|0x20 <= 'z',
			len(b) > 2 && b[1] == '/' && b[2]|0x20 >= 'a' && b[2]|0x20 <= 'z':
			return s.readTag()
		case len(b) > 1 && b[1] == '/':
			s.skipPast(">")
		default: // "<" as a character
			s.text = b[:1]
			s.at++
			return true
		}
	}
}

// readText reads a text up to the next tag. A long text is cut between words.
func (s *scanner) readText() bool {
	n := markup.NextLT(s.unread(), 0)
	if n < 0 && s.fill() {
		n = markup.NextLT(s.unread(), 0)
	}
	b := s.unread()
	if n < 0 {
		n = len(b)
		if cut := bytes.LastIndexByte(b, ' ') + 1; !s.done && cut > 0 {
			n = cut
		}
	}
	s.text = b[:n]
	s.at += n
	return true
}

// readTag reads a tag. If the tag is longer than the window, only its first attributes are read.
func (s *scanner) readTag() bool {
	end, next := markup.TagEnd(s.unread(), 1)
	if end < 0 && s.fill() {
		end, next = markup.TagEnd(s.unread(), 1)
	}
	b := s.unread()
	switch {
	case end >= 0:
		s.at += next
	case s.done: // in the middle of a tag
		s.at = s.end
		return false
	default:
		end = len(b)
		s.at, s.inTag = s.end, true
	}
	s.text, s.tag = nil, markup.ParseTag(b[1:end])
	return true
}

// skipTag skips the rest of a tag that was cut.
func (s *scanner) skipTag() {
	s.inTag = false
	for {
		b := s.unread()
		if i := markup.NextOf(b, 0, '>', '<'); i >= 0 {
			s.at += i
			if b[i] == '>' {
				s.at++
			}
			return
		}
		s.at = s.end
		if !s.fill() {
			return
		}
	}
}

// skipPast skips everything up to the end of what is searched for.
func (s *scanner) skipPast(what string) {
	for {
		b := s.unread()
		if i := bytes.Index(b, []byte(what)); i >= 0 {
			s.at += i + len(what)
			return
		}
		s.at += max(0, len(b)-len(what)+1)
		if !s.fill() {
			s.at = s.end
			return
		}
	}
}

// raw skips the content of an element that has no tags inside, such as a script, and returns at most the first limit
// bytes of it.
func (s *scanner) raw(name string, limit int) []byte {
	var kept []byte
	keep := func(b []byte) { kept = append(kept, b[:min(len(b), limit-len(kept))]...) }
	for {
		b := s.unread()
		end := markup.EndTag(b, 0, []byte(name))
		if end < len(b) {
			keep(b[:end])
			s.at += end
			return kept
		}
		n := max(0, len(b)-len(name)-2)
		keep(b[:n])
		s.at += n
		if !s.fill() {
			keep(s.unread())
			s.at = s.end
			return kept
		}
	}
}
