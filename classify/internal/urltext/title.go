package urltext

import (
	"strings"

	"github.com/newsfork/seed-engine/classify/internal/lexicon"
)

// The features of a URL that ends in a title are those of the title (its words and their types) and those of
// everything else, its frame. Sites have many titles but few frames.

// ReadTitle reads the last segment of a path by itself, and reports whether it is a title. File names are not titles,
// since they are judged with their path. Afterwards the Reading holds the segment only.
func (r *Reading) ReadTitle(segment string) bool {
	r.mem.reset()
	r.Query = r.Query[:0]
	if len(r.Path) == 0 {
		r.Path = append(r.Path, Segment{})
	}
	r.Path = r.Path[:1]
	s := &r.Path[0] // readSegment clears it, which is dear
	if strings.IndexByte(segment, ';') >= 0 {
		return false
	}
	text, extAt := r.unescape(&r.mem, s, clip(segment, maxSegmentBytes), true)
	if r.titled = r.readWords(s, text, extAt); !r.titled {
		s.fold(&r.mem, text, extAt)
		r.lookUp(&r.mem, s)
	}
	s.Kind = s.shape()
	return s.Kind == Slug && !isDocument(s.extClass)
}

// AppendTitleKey appends the properties of the title last read by ReadTitle on which the features of its frame
// depend.
func (r *Reading) AppendTitleKey(dst []byte) []byte {
	s := &r.Path[0]
	flags := byte(0)
	for i, on := range [...]bool{
		s.Digits > 0, s.hasDate(), startsEscaped(s), lexiconUnspaced(s.Text), s.Exact(),
		hasRole(s, lexicon.Form), hasRole(s, lexicon.Section),
	} {
		if on {
			flags |= 1 << i
		}
	}
	return append(append(dst, 0, byte(min(s.Words, 255)), flags), s.Ext...)
}

// ExtractTitle sets f to the features of the title last read by ReadTitle, or at the end of the URL last read.
func (r *Reading) ExtractTitle(f *Features, host HostKind) {
	f.reset()
	f.host = host
	r.titleFeatures(f, &r.Path[len(r.Path)-1])
}

// ExtractFrame sets f to the features of the URL last read, except those of the title at its end, and returns the
// kind of its host, which ExtractTitle needs.
func (r *Reading) ExtractFrame(f *Features) HostKind {
	r.extract(f, false)
	return f.host
}

// titleFeatures adds the types of the words of a title, and the words themselves.
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
	if r.titled {
		f.Plain = append(f.Plain, r.words.features...)
		return
	}
	f.titleWords(s)
}

func startsEscaped(s *Segment) bool { return len(s.Raw) > 2 && s.Raw[0] == '%' }
