package urltext

import "github.com/newsfork/seed-engine/discovery/internal/lexicon"

// The features of a URL that ends in a title are those of the title (its words and what they speak
// of) and those of everything else, its frame. Sites have many titles and few frames.

// ReadTitle reads the last segment of a path by itself, and tells whether it is a title. The
// Reading holds nothing else then.
func (r *Reading) ReadTitle(segment string) bool {
	r.mem.reset()
	r.Query = r.Query[:0]
	r.Path = append(r.Path[:0], Segment{})
	s := &r.Path[0]
	for i := range len(segment) {
		if segment[i] == ';' {
			return false
		}
	}
	r.readSegment(&r.mem, s, clip(segment, maxSegmentBytes), true)
	s.Kind = s.shape()
	return s.Kind == Slug
}

// AppendTitleKey appends what the frame depends on of the title that ReadTitle read.
func (r *Reading) AppendTitleKey(dst []byte) []byte {
	s := &r.Path[0]
	flags := byte(0)
	for i, on := range [...]bool{
		s.Digits > 0, s.hasDate(), startsEscaped(s), lexiconUnspaced(s.Text), s.Exact(),
		speaks(s, lexicon.Form), speaks(s, lexicon.Section),
	} {
		if on {
			flags |= 1 << i
		}
	}
	return append(append(dst, 0, byte(min(s.Words, 255)), flags), s.Ext...)
}

// ExtractTitle fills f with the features of the title that ReadTitle read.
func (r *Reading) ExtractTitle(f *Features) {
	f.reset()
	r.titleFeatures(f, &r.Path[0])
}

// ExtractFrame fills f with the features of the URL read, but for those of the title that it ends in.
func (r *Reading) ExtractFrame(f *Features) {
	r.extract(f, false)
}

// titleFeatures notes what the words of a title speak of, and the words themselves.
func (r *Reading) titleFeatures(f *Features, s *Segment) {
	for _, h := range s.Hits {
		switch {
		case isDocument(s.Ext):
			f.hit(h.Sense, fileName)
		case h.First:
			f.hit(h.Sense, slugHead)
		default:
			f.hit(h.Sense, slugInside)
		}
	}
	f.words(s, 's')
}

func startsEscaped(s *Segment) bool { return len(s.Raw) > 2 && s.Raw[0] == '%' }
