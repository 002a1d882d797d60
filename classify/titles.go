package classify

import (
	"github.com/newsfork/seed-engine/classify/internal/linear"
	"github.com/newsfork/seed-engine/classify/internal/urltext"
)

// maxFrames bounds the memory of Titles. What is stored depends on the frame alone, so answers do not
// change when the store is emptied.
const maxFrames = 4096

// Titles classifies URLs that end in a title. A site has many titles but few frames, a frame being everything
// else in a URL: a frame is scored once, a title only where the frame leaves doubt. Titles shares the buffers of its
// classifier; the two are not safe for concurrent use.
type Titles struct {
	classifier *Classifier
	verdicts   map[string]verdict // by outline and extension
	frames     map[string]*frame
	key        []byte
}

// verdict is the class of a frame whatever title it ends in.
type verdict struct {
	class      Class
	confidence float64
	sure       bool // no title changes it
}

// sureConfidence is the confidence from which on a frame decides for its titles: they change the type of less than one
// URL in two hundred (TestShapes of package discovery).
const sureConfidence = 0.9

// anyTitle stands for the title when a frame is judged by itself: six words of which the lexicon has none.
const anyTitle = "lorem-ipsum-dolor-amet-elit-nunc"

// frame is the share of a frame in the scores of its URLs.
type frame struct {
	sums linear.Sums
	host urltext.HostKind
}

// NewTitles returns Titles for the URLs of c's domain.
func NewTitles(c *Classifier) *Titles {
	return &Titles{classifier: c, verdicts: map[string]verdict{}, frames: map[string]*frame{}}
}

// Sure returns the class and confidence of the URLs of a frame whose titles have an extension, "" for none; ok is
// false where the frame leaves doubt. Outline identifies everything but the title; url is called for the URL with
// another last segment if its frame was not scored before.
func (t *Titles) Sure(outline []byte, extension string, url func(last string) string) (class Class, confidence float64,
	ok bool) {
	v := t.verdict(outline, extension, url)
	return v.class, v.confidence, v.sure
}

// Best returns the class and confidence of a URL whose path ends in the segment title, with outline and url as in
// Sure. ok is false when the segment is not a title: such a URL has to be classified as a whole.
func (t *Titles) Best(outline []byte, title string, url func(last string) string) (class Class, confidence float64,
	ok bool) {
	v, ok := t.Judge(outline, title, url, nil)
	return v.Class, v.Confidence, ok
}

// Judge is Best for a page of a site of which other pages are known, as Classifier.Judge is; s may be nil.
func (t *Titles) Judge(outline []byte, title string, url func(last string) string, s *Site) (v Verdict, ok bool) {
	c := t.classifier
	if !c.reading.ReadTitle(title) {
		return v, false
	}
	t.key = c.reading.AppendTitleKey(append(t.key[:0], outline...))
	f := t.frames[string(t.key)]
	if f == nil {
		if len(t.frames) == maxFrames {
			clear(t.frames)
		}
		f = t.score(url(title))
		t.frames[string(t.key)] = f
		c.reading.ReadTitle(title)
	}
	v.sums = f.sums
	c.reading.ExtractTitle(&c.features, f.host)
	c.model.Add(&v.sums, &c.features)
	if s != nil {
		c.model.Shift(&v.sums, (*[Classes]float64)(s))
	}
	v.Class, v.Confidence = c.best(&v.sums)
	return v, true
}

// score scores the frame of a URL.
func (t *Titles) score(url string) *frame {
	c := t.classifier
	c.reading.Read(url, c.sector)
	host := c.reading.ExtractFrame(&c.features)
	return &frame{sums: c.model.Score(&c.features), host: host}
}

// verdict returns that of the frame with an outline.
func (t *Titles) verdict(outline []byte, extension string, url func(last string) string) verdict {
	v, ok := t.verdicts[string(outline)]
	if ok {
		return v
	}
	key, c := string(outline), t.classifier
	if title := anyTitle + extension; c.reading.ReadTitle(title) {
		v.class, v.confidence = c.best(&t.score(url(title)).sums)
		v.sure = v.confidence >= sureConfidence
	}
	if len(t.verdicts) == maxFrames {
		clear(t.verdicts)
	}
	t.verdicts[key] = v
	return v
}
