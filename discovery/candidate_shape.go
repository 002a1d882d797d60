package discovery

import (
	"strings"

	"github.com/newsfork/seed-engine/classify"
	"github.com/newsfork/seed-engine/swar"
)

// maxShapes caps the cached shapes. A class depends on its shape alone, so emptying the cache changes no result.
const maxShapes = 4096

// shapes classifies many URLs of a domain quickly. URLs that differ only in numbers share a shape, which is classified
// once. A URL that ends in a title is classified by the shape of the rest, its frame, and by its title if the frame
// leaves doubt. Fewer than one URL in two hundred would have another type by itself (TestShapes).
type shapes struct {
	classifier *classify.Classifier
	titles     *classify.Titles
	classes    map[string]shapeClass
	streak     streak // the last one
	buf        []byte
}

type shapeClass struct {
	class      classify.Class
	confidence float64
}

func newShapes(c *classify.Classifier) *shapes {
	return &shapes{classifier: c, titles: classify.NewTitles(c), classes: map[string]shapeClass{}}
}

func (s *shapes) classify(p *page) (class classify.Class, confidence float64) {
	if n := len(p.parts()); n > 0 && p.kinds[n-1] == slugKind {
		if class, confidence, ok := s.titled(p); ok {
			return class, confidence
		}
	}
	s.buf = appendShape(s.buf[:0], p, len(p.parts()))
	c, ok := s.classes[string(s.buf)]
	if !ok {
		shape := string(s.buf)
		c.class, c.confidence = s.classifier.Best(shape)
		if len(s.classes) == maxShapes {
			clear(s.classes)
		}
		s.classes[shape] = c
	}
	return c.class, c.confidence
}

// titled classifies a page whose URL ends in a title.
func (s *shapes) titled(p *page) (class classify.Class, confidence float64, ok bool) {
	title := p.segments[p.depth-1]
	extension := title[p.bodies[p.depth-1]:]
	end := int(p.ends[p.depth-1])
	frame, ends := p.url[:end-len(title)], end == len(p.url)
	if ends && swar.Equal([]byte(frame), s.streak.frame) && extension == string(s.streak.extension) {
		return s.streak.class, s.streak.confidence, true
	}
	s.buf = append(append(appendShape(s.buf[:0], p, p.depth-1), 0), extension...)
	url := func(last string) string {
		url := append(appendFrame(nil, p, p.depth-1), '/')
		return string(appendShapeEnd(append(url, last...), p))
	}
	class, confidence, ok = s.titles.Sure(s.buf, extension, url)
	switch {
	case !ok:
		return s.titles.Best(s.buf, title, url)
	case ends:
		r := &s.streak
		r.frame, r.extension = append(r.frame[:0], frame...), append(r.extension[:0], extension...)
		r.shapeClass = shapeClass{class, confidence}
	}
	return class, confidence, true
}

// exactly classifies a page as its whole URL does, if that ends in a title and what stands around the title may well
// be that of other pages: it is scored once for all titles.
func (s *shapes) exactly(p *page, site *classify.Site) (v classify.Verdict, ok bool) {
	last := p.depth - 1
	if last < 0 || last >= len(p.segments) || p.kinds[last] != slugKind {
		return v, false
	}
	for _, k := range p.kinds[:last] {
		switch k {
		case numberKind, idKind, yearKind, monthKind, dayKind, dateKind, pageKind:
			return v, false // few pages have the same
		}
	}
	title, end := p.segments[last], int(p.ends[last])
	frame, rest := p.url[:end-len(title)], p.url[end:]
	if strings.IndexByte(frame, ';') >= 0 { // the classifier takes what follows for a segment
		return v, false
	}
	s.buf = append(append(append(s.buf[:0], frame...), 0, 0), rest...)
	return s.titles.Judge(s.buf, title, func(last string) string { return frame + last + rest }, site)
}

// streak is of URLs in a row that are the same up to a title, all of one class.
type streak struct {
	frame, extension []byte // none at the beginning: no URL has an empty frame
	shapeClass
}

// specimens replace segments and values of digits or hexadecimal digits in a shape.
var specimens = [...]string{
	numberKind: "123456", idKind: "a1b2c3d4e5f60718", yearKind: "2020", dateKind: "2020-06-15",
}

// appendShape appends the URL with a specimen for each number, date and key, and only the first segments of its
// path.
func appendShape(dst []byte, p *page, segments int) []byte {
	return appendShapeEnd(appendFrame(dst, p, segments), p)
}

// appendFrame appends host and segments as appendShape does.
func appendFrame(dst []byte, p *page, segments int) []byte {
	dst = append(dst, p.url[:p.hostAt]...)
	dst = append(dst, p.host...)
	for i, s := range p.segments[:segments] {
		dst = append(appendSpecimen(append(dst, '/'), p.body(i), p.kinds[i]), s[p.bodies[i]:]...)
	}
	return dst
}

// appendShapeEnd appends the part after the segments.
func appendShapeEnd(dst []byte, p *page) []byte {
	if p.depth == 0 || p.path[len(p.path)-1] == '/' {
		dst = append(dst, '/')
	}
	separator := byte('?')
	if p.query == "" {
		return dst
	}
	for f := range strings.SplitSeq(p.query, "&") {
		if f == "" {
			continue
		}
		name, value, _ := strings.Cut(f, "=")
		dst = append(append(dst, separator), name...)
		body := value[:len(value)-extensionLength(value)]
		dst = append(appendSpecimen(append(dst, '='), body, kindOfBody(body)), value[len(body):]...)
		separator = '&'
	}
	return dst
}

func appendSpecimen(dst []byte, s string, k kind) []byte {
	switch {
	case (k == monthKind || k == dayKind) && isDigit(s[0]):
		return append(dst, "10"...)
	case k == numberKind, k == yearKind, k == dateKind, k == idKind && isHexadecimal(s):
		return append(dst, specimens[k]...)
	}
	for i := range len(s) {
		c := s[i]
		if isDigit(c) && (i < 1 || s[i-1] != '%') && (i < 2 || s[i-2] != '%') {
			c = '1'
		}
		dst = append(dst, c)
	}
	return dst
}

// isHexadecimal reports whether a key consists of hexadecimal digits and hyphens.
func isHexadecimal(s string) bool {
	for i := range len(s) {
		if c := s[i]; !isDigit(c) && c != '-' && (c|0x20 < 'a' || c|0x20 > 'f') {
			return false
		}
	}
	return true
}
