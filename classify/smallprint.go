package classify

import (
	"slices"

	"github.com/newsfork/seed-engine/classify/internal/lexicon"
	"github.com/newsfork/seed-engine/classify/internal/urltext"
)

// isSmallPrint reports whether the last segment of the path of the URL last read names the small print of a site:
// privacy, terms, imprint, accessibility.
func (c *Classifier) isSmallPrint() bool {
	path := c.reading.Path
	if len(path) == 0 || path[len(path)-1].Kind != urltext.Words {
		return false
	}
	return slices.ContainsFunc(path[len(path)-1].Hits, func(h urltext.Hit) bool { return h.Role == lexicon.Legal })
}

// IsName reports whether a text consists of words of the lexicon alone, as the name of a section does.
func (c *Classifier) IsName(text string) bool {
	c.reading.Read("", c.sector)
	c.reading.ReadText("", text)
	return c.reading.Anchor.Exact()
}
