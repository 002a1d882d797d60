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

// correct sets title and date to what the page says about itself, and the type to what its scraper found. It reports
// whether any of them differs from what the page was listed with.
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

// correctDate sets the date to the last one that the page states. A newer date of its site, which brought it back,
// stands.
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

// isSameTitle reports whether the letters and digits of one title contain those of the other: many pages add the name
// of the site.
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

// wasAnnounced reports whether the feed probably has a page that is fetched for the first time: its site listed it,
// and it was new then.
func wasAnnounced(known store.Known, lastmod epoch.Seconds) bool {
	return known.Listed && !known.Foreign &&
		(lastmod == 0 || lastmod.Millis() >= known.Since().Millis().Add(-frontier.FreshFor))
}

// announceCorrection announces an update if a page differs from its announcement. A page that states an old date is
// marked as listed, so that it is not announced when its site lists it with a new date.
func (p *reporter) announceCorrection(
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
