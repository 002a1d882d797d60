package shard

import (
	"strings"
	"time"
	"unicode"

	"github.com/newsfork/seed-engine/epoch"
	"github.com/newsfork/seed-engine/frontier"
	"github.com/newsfork/seed-engine/frontier/shard/store"
)

// sameDate is the difference up to which two dates of a page are the same: many sites state the day alone, in a time
// zone of their own.
const sameDate = 36 * time.Hour

// correct takes over what a page says about itself, and the type by whoever fetched it. It reports whether title, date
// or type differ from what the page was listed with.
func correct(c *call, p *store.Page, r *frontier.Result) (differs bool) {
	if r.Status < 200 || r.Status > 299 {
		return false
	}
	if r.Title != "" {
		title := cut(r.Title, frontier.MaxTitle)
		differs = !isSameTitle(p.Title, title)
		p.Title = title
	}
	if kind := store.TypeNumber(r.Type); r.Type != "" {
		differs = differs || kind != p.Kind
		p.Kind = kind
	}
	return correctDate(c, p, r) || differs
}

// correctDate takes over the last date that a page states. A newer date of its site, which brought it back, stands.
func correctDate(c *call, p *store.Page, r *frontier.Result) (differs bool) {
	own := max(r.Published, r.Modified)
	apart := max(own, p.Lastmod).Sub(min(own, p.Lastmod))
	if own <= 0 || own > c.seconds() || p.Lastmod > 0 && (apart <= sameDate || p.Visit != nil) {
		return false
	}
	differs = p.Lastmod != 0
	p.OwnDate, p.Lastmod = true, own
	return differs
}

// isSameTitle reports whether two titles are the same, but for spaces, signs, case, and what one adds to the other:
// mostly the name of the site.
func isSameTitle(a, b string) bool {
	a, b = bare(a), bare(b)
	return a == b || a != "" && b != "" && (strings.Contains(a, b) || strings.Contains(b, a))
}

// bare returns the letters and digits of a title.
func bare(title string) string {
	return strings.Map(func(r rune) rune {
		if unicode.IsLetter(r) || unicode.IsDigit(r) {
			return unicode.ToLower(r)
		}
		return -1
	}, title)
}

// wasAnnounced reports whether the feed has a page that is fetched for the first time, as far as that can be told: it
// was listed, and new when it was.
func wasAnnounced(known store.Known, lastmod epoch.Seconds) bool {
	return known.Listed && !known.Foreign &&
		(lastmod == 0 || lastmod.Millis() >= known.Since().Millis().Add(-frontier.FreshFor))
}

// corrected tells readers of the feed what differs on a page from its announcement, and keeps a page that states an
// old date from being announced when its site lists it with a new one.
func (p *reporter) corrected(
	h *store.Host, q *store.Page, known store.Known, listed epoch.Seconds, differs bool,
) error {
	switch {
	case wasAnnounced(known, listed):
		if differs {
			announceEvent(p.c, h, q, store.EventUpdated, frontier.FoundByScraper)
		}
	case q.OwnDate && !known.Listed && !known.Foreign && !p.c.isFresh(q.Lastmod, 0):
		k, _ := h.Known(store.Hash48(q.Path))
		k.Listed = true
		return h.Remember(store.Hash48(q.Path), k)
	}
	return nil
}
