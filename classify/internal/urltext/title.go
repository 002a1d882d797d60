package urltext

import "github.com/newsfork/seed-engine/classify/internal/lexicon"

// The features of a URL that ends in a title are those of the title (its words and what they speak
// of) and those of everything else, its frame. Sites have many titles and few frames.

// ReadTitle reads the last segment of a path by itself, and tells whether it is a title, but not that
// of a document, whose name and path are judged together. The Reading holds nothing else then.
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
	return s.Kind == Slug && !isDocument(s.extClass)
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

// ExtractTitle fills f with the features of the title that ReadTitle read, or that a URL read ends in.
func (r *Reading) ExtractTitle(f *Features, host HostKind) {
	f.reset()
	f.host = host
	r.titleFeatures(f, &r.Path[len(r.Path)-1])
}

// ExtractFrame fills f with the features of the URL read, but for those of the title that it ends in,
// and tells what ExtractTitle needs to know of the host.
func (r *Reading) ExtractFrame(f *Features) HostKind {
	r.extract(f, false)
	return f.host
}

// titleFeatures notes what the words of a title speak of, and the words themselves.
func (r *Reading) titleFeatures(f *Features, s *Segment) {
	for _, h := range s.Hits {
		if isDocument(s.extClass) && h.Role == lexicon.Download {
			continue
		}
		p := slugInside
		switch {
		case isSheet(s.extClass):
			p = dataFile
		case isDocument(s.extClass):
			p = fileName
		case h.First:
			p = slugHead
		}
		if t, ok := f.hit(h.Sense, p); ok {
			f.tied(t, withWords+int(p)*wordsMax+min(s.Words/2, wordsMax-1))
		}
	}
	f.words(s, 's')
}

func startsEscaped(s *Segment) bool { return len(s.Raw) > 2 && s.Raw[0] == '%' }
