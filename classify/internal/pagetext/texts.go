package pagetext

import (
	"cmp"

	"github.com/newsfork/seed-engine/page"
)

// doubtful is the confidence in the type of a URL below which the title of its page is read as a text. Above it the
// title misleads more often than it helps.
const doubtful = 0.3

// Texts returns the texts by which a page is classified beside its URL, given the confidence in the type of the URL
// alone: the page's heading in place of the text of a link, and its title if the URL says little.
func Texts(ev *page.Evidence, title, anchor string, confidence float64) (string, string) {
	anchor = cmp.Or(ev.H1, anchor)
	if confidence < doubtful || anchor == "" {
		title = cmp.Or(title, ev.Title)
	}
	return title, anchor
}
