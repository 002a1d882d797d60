package classify

import (
	"github.com/newsfork/seed-engine/classify/internal/linear"
	"github.com/newsfork/seed-engine/classify/internal/urltext"
)

// maxFrames bounds the memory of Titles. What is stored depends on the frame alone, so answers do not
// change when the store is emptied.
const maxFrames = 4096

// Titles classifies URLs that end in a title. A site has many titles but few frames, a frame being everything
// else in a URL: a frame is scored once, a title each time. Titles shares the buffers of its classifier; the
// two are not safe for concurrent use.
type Titles struct {
	classifier *Classifier
	frames     map[string]*frame
	key        []byte
}

// frame is the share of a frame in the scores of its URLs.
type frame struct {
	sums linear.Sums
	host urltext.HostKind
}

// NewTitles returns Titles for the URLs of c's domain.
func NewTitles(c *Classifier) *Titles {
	return &Titles{classifier: c, frames: map[string]*frame{}}
}

// Best returns the class and confidence of a URL whose path ends in the segment title. Outline identifies the
// frame; url is called for a URL that has this frame and title if the frame was not scored before. ok is false
// when the segment is not a title: such a URL has to be classified as a whole.
func (t *Titles) Best(outline []byte, title string, url func() string) (class Class, confidence float64, ok bool) {
	c := t.classifier
	if !c.reading.ReadTitle(title) {
		return 0, 0, false
	}
	t.key = c.reading.AppendTitleKey(append(t.key[:0], outline...))
	f := t.frames[string(t.key)]
	if f == nil {
		f = t.score(url())
		t.frames[string(t.key)] = f
		c.reading.ReadTitle(title)
	}
	sums := f.sums
	c.reading.ExtractTitle(&c.features, f.host)
	c.model.Add(&sums, &c.features)
	class, confidence = c.best(&sums)
	return class, confidence, true
}

// score scores the frame of a URL.
func (t *Titles) score(url string) *frame {
	if len(t.frames) == maxFrames {
		clear(t.frames)
	}
	c := t.classifier
	c.reading.Read(url, c.sector)
	host := c.reading.ExtractFrame(&c.features)
	return &frame{sums: c.model.Score(&c.features), host: host}
}
