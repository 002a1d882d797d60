package urltext

import (
	"strings"
	"unicode"

	"github.com/newsfork/seed-engine/classify/internal/lexicon"
)

// ReadText reads the texts by which other pages call the page whose URL was read last: its title, and the text of
// a link to it or to its section. Either may be "".
func (r *Reading) ReadText(title, anchor string) {
	title, after := cutTitle(clip(title, maxSegmentBytes))
	r.readSegment(&r.mem, &r.Title, title, false)
	r.readSegment(&r.mem, &r.After, after, false)
	r.readSegment(&r.mem, &r.Anchor, clip(anchor, maxSegmentBytes), false)
}

// separators stand between the title of a page and the names of its sections and its site.
var separators = [...]string{" | ", " - ", " – ", " — ", " • ", " · ", " » ", " « ", " › ", " ‹ ", " > ", " < ",
	" :: ", " : ", " / ", "｜"}

// cutTitle takes a title apart from what follows it. A separator with which it begins separates nothing.
func cutTitle(title string) (own, after string) {
	for i := 1; i < len(title); i++ {
		if c := title[i]; c != ' ' && c != "｜"[0] {
			continue
		}
		for _, s := range separators {
			if strings.HasPrefix(title[i:], s) && !strings.HasPrefix(title, s) {
				return title[:i], title[i+len(s):]
			}
		}
	}
	return title, ""
}

// ExtractText sets f, which has the features of the URL, to those that the URL has in addition because of the texts
// that ReadText has read.
func (r *Reading) ExtractText(f *Features) {
	v := r.view()
	f.beside()
	f.text(&r.Title, v, flagTitle, titleWhole, titleSpace)
	f.text(&r.Anchor, v, flagAnchor, anchorWhole, anchorSpace)
	for _, h := range r.After.Hits {
		if t, ok := f.hit(h.Sense, afterTitle); ok {
			f.tied(t, withCover+int(afterTitle)*covers+r.After.cover(h))
		}
	}
}

// beside replaces the features of a URL, but for the hashed ones, by those for a URL with a text beside it: it has
// less to say then, and a key says nothing.
func (f *Features) beside() {
	plain, tied := f.Plain, f.Tied
	f.reset()
	for _, p := range plain {
		if int(p) < plainURL {
			f.plain(plainURL + int(p))
		}
	}
	for _, t := range tied {
		f.tied(lexicon.Role(t.For), tiedURL+int(t.At))
	}
}

// text adds the words of a text. Its places are in the order whole, head, part.
func (f *Features) text(s *Segment, v view, flag int, whole place, space byte) {
	if len(s.Text) == 0 {
		return
	}
	f.flag(true, flag)
	for _, h := range s.Hits {
		p := whole + 2
		switch {
		case s.Exact():
			p = whole
		case h.First:
			p = whole + 1
		}
		if t, ok := f.hit(h.Sense, p); ok {
			f.tied(t, withCover+int(p)*covers+s.cover(h))
			f.tied(t, withWords+int(p)*wordsMax+min(s.Words/2, wordsMax-1))
		}
	}
	f.words(s, space)
	f.shape(s, v, space)
}

// shape adds the form of a text, and how its words go with those of the URL.
func (f *Features) shape(s *Segment, v view, space byte) {
	length := byte(min(s.Letters/8, 15))
	f.cross('L', space, length)
	f.cross('Q', space, marks(s.Raw))
	written := capitals(s.Raw)
	f.cross('C', space, written, byte(min(s.Words, 9)))
	f.cross('c', space, written, byte(f.host))
	const none = 255
	first, last, right := byte(none), byte(none), byte(none)
	for _, h := range s.Hits {
		if t, ok := typeOf(h.Role); ok {
			if first == none {
				first = byte(t)
			}
			last = byte(t)
		}
	}
	if v.rightSet {
		right = byte(v.right.Role)
	}
	f.cross('R', space, first, right)
	f.cross('V', space, first, last)
	f.cross('Z', space, length/2, right)
	f.cross('Y', space, first, byte(v.trailing), byte(f.host))
}

// marks are signs of a text: a question, a year, a colon, a reference to a paragraph.
func marks(text string) (m byte) {
	for _, c := range text {
		switch c {
		case '?', '？':
			m |= 1
		case ':', '：':
			m |= 2
		case '§', '№':
			m |= 4
		case '0', '1', '2', '3', '4', '5', '6', '7', '8', '9':
			m |= 8
		}
	}
	return m
}

// capitals describes the capitals of a text in one byte: whether its first word begins with a small letter, a capital
// or neither, and whether none, few, most or all words begin with a capital, or every letter is one.
func capitals(text string) byte {
	const (
		small = 1 + iota
		capital
		neither
	)
	var first, uppers, lowers byte
	begins, shouted := true, true
	for _, c := range text {
		lower, upper := unicode.IsLower(c), unicode.IsUpper(c)
		if begins && unicode.IsLetter(c) {
			switch {
			case lower:
				lowers = min(lowers+1, 99)
			case upper:
				uppers = min(uppers+1, 99)
			}
			if first == 0 {
				first = neither
				if lower {
					first = small
				} else if upper {
					first = capital
				}
			}
		}
		shouted = shouted && !lower
		begins = c == ' '
	}
	share := byte(0)
	switch {
	case first == 0 || first == neither:
	case shouted:
		share = 4
	case uppers > 1 && lowers == 0:
		share = 3
	case uppers > lowers:
		share = 2
	case uppers > 1:
		share = 1
	}
	return first + 4*share
}

// WithText returns a URL like that last read, in which a key stands for the last words of the path, and these words
// as a text. long reports whether they are a title. ok is false when the path has no such words, or is that of a file.
// Training learns from both together what texts say.
func (r *Reading) WithText() (url, text string, long, ok bool) {
	v := r.view()
	if v.last < 0 || v.file {
		return "", "", false, false
	}
	s := &r.Path[v.last]
	words := string(s.words(len(s.Text) - s.extBytes))
	if words == "" {
		return "", "", false, false
	}
	i := strings.LastIndex(r.Parts.Path, s.Raw)
	url = "https://" + r.Host + r.Parts.Path[:i] + "a1010" + r.Parts.Path[i+len(s.Raw):]
	if r.Parts.Query != "" {
		url += "?" + r.Parts.Query
	}
	return url, words, s.Kind == Slug, true
}

// words returns the first n bytes of the segment's text, its words apart.
func (s *Segment) words(n int) []byte {
	var text []byte
	for i := range n {
		if s.starts[i] && i > 0 {
			text = append(text, ' ')
		}
		text = append(text, s.Text[i])
	}
	return text
}

// Roles returns the roles of the words of a text in the lexicon, in their order, and whether the text has no other
// words. It needs no URL, and keeps that which was read last.
func (r *Reading) Roles(text string) (roles []lexicon.Role, whole bool) {
	var s Segment
	r.readSegment(&r.mem, &s, clip(text, maxSegmentBytes), false)
	for _, h := range s.Hits {
		if role, ok := typeOf(h.Role); ok {
			roles = append(roles, role)
		}
	}
	return roles, s.Exact()
}

// HostKind returns the kind of the host of the URL that was read last.
func (r *Reading) HostKind() HostKind { return r.hostKind() }

// IsFront reports whether the URL that was read last is that of a home page.
func (r *Reading) IsFront() bool {
	for i := range r.Path {
		if k := r.Path[i].Kind; k != HomePage && k != Lang {
			return false
		}
	}
	return len(r.Query) == 0
}
