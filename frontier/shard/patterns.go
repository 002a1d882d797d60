package shard

import (
	"cmp"
	"math"

	"github.com/newsfork/seed-engine/contract"
	"github.com/newsfork/seed-engine/epoch"
	"github.com/newsfork/seed-engine/frontier"
	"github.com/newsfork/seed-engine/frontier/link"
	"github.com/newsfork/seed-engine/frontier/shard/store"
)

// A host counts the outcomes of its pages by pattern of their paths. Much of the web is a copy of something else. A
// page that shows the text of another page of its host is not scheduled again. The more pages of a pattern are copies
// or gone, the less others of it are worth, see [store.Patterns.Yield]. If nearly all are copies, new pages are refused
// as a trap, except one a day, since the cause might end: a login wall shows the same text on every page.
const (
	manyCopies = 20 // pages of a pattern of which nine in ten must be copies before it is a trap
	probeAfter = 1  // days

	minLooks = 8 // of a pattern before its rate of change is known
)

// isCopy records the text of a fetched page, and reports whether another page of the host has the same. Only first
// fetches count for the pattern.
func (p *reporter) isCopy(h *store.Host, q *store.Page, r *frontier.Result) bool {
	if r.Status >= 300 { // 304 says nothing new, and a redirect has no text
		return false
	}
	digest, _ := digestOf(r)
	copied := h.Texts.Saw(store.Hash48(q.Path), digest)
	copied = p.isSaidCopy(h, q, r, digest) || copied
	k := h.Patterns.Find(link.Pattern(q.Path))
	switch {
	case k == nil || q.Visit != nil: // the pattern was evicted, or the page was counted
	case copied:
		k.Copied = min(k.Copied+1, k.Fetched)
		k.Probed = p.c.today()
	case barren(k) && digest != 0: // its pages are not copies any more
		k.Fetched, k.Copied, k.Closed = 1, 0, 0
	}
	if k != nil && q.Visit == nil && r.Closed && !copied {
		k.Closed = min(k.Closed+1, k.Fetched)
	}
	return copied
}

// isSaidCopy reports whether the scraper or the page's canonical link names another page as its original. If two pages
// name each other, the second does not count: otherwise neither would be fetched again.
func (p *reporter) isSaidCopy(h *store.Host, q *store.Page, r *frontier.Result, digest uint32) bool {
	hash := store.Hash48(q.Path)
	l, ok := canonicalOf(p.c, h, hash, r)
	switch {
	case r.Copy && r.CopyOf == "": // the previous version sent it
		return true
	case r.Copy:
		l, ok = p.c.link(r.CopyOf)
	case !ok:
		h.Copies.Remove(hash)
	}
	if !ok || l.Host != h.Name {
		return ok
	}
	original := store.Hash48(l.Path)
	if !h.Copies.Add(hash, original) {
		return false
	}
	h.Texts.Own(original, digest)
	return true
}

// canonicalOf returns the page of its site that a page names in place of itself, see [frontier.Result]. Many sites name
// their home page everywhere: that is none.
func canonicalOf(c *call, h *store.Host, hash uint64, r *frontier.Result) (l link.URL, ok bool) {
	if r.Canonical == "" || r.Status < 200 || r.Status > 299 {
		return l, false
	}
	l, ok = c.link(r.Canonical)
	same := l.Host == h.Name && store.Hash48(l.Path) == hash
	return l, ok && l.Path != "" && !same && c.domainOf(l.Host) == h.Domain.Name
}

// foundCanonical returns the page that a leased page names in place of itself, as if it had been found there.
func (p *reporter) foundCanonical(item *reportedItem, r *frontier.Result) (f frontier.FoundURL, ok bool) {
	h := item.host
	if h == nil || h.Lease != p.number {
		return f, false
	}
	at := h.LeasedPage(item.hash)
	if _, ok := canonicalOf(p.c, h, item.hash, r); !ok || at < 0 {
		return f, false
	}
	q := &h.Leased[at]
	f.NewPage = frontier.NewPage{URL: r.Canonical, Title: cmp.Or(r.Title, q.Title), Type: store.TypeName(q.Kind),
		LastMod: q.Lastmod, Priority: float64(q.Score(p.c.seconds())) / 1000}
	return f, true
}

// isBarren reports whether to refuse a new page because nearly all others of its pattern are copies. It lets one page
// a day through.
func isBarren(c *call, h *store.Host, path string) bool {
	if len(h.Patterns) == 0 {
		return false
	}
	k := h.Patterns.Find(link.Pattern(path))
	if barren(k) && c.today()-k.Probed >= probeAfter {
		k.Probed = c.today()
		h.Change()
		return false
	}
	return barren(k)
}

func barren(k *store.Pattern) bool {
	return k != nil && k.Fetched >= manyCopies && 10*k.Copied >= 9*k.Fetched
}

// countGiven counts a page that is leased.
func countGiven(c *call, h *store.Host, p *store.Page) {
	if p.Visit == nil {
		h.Patterns.Give(link.Pattern(p.Path), c.today())
	}
}

// countFetched counts a page that was fetched.
func countFetched(c *call, h *store.Host, p *store.Page) {
	if p.Visit != nil {
		return
	}
	if k := h.Patterns.Find(link.Pattern(p.Path)); k != nil {
		after := epoch.Seconds(-1)
		if p.Lastmod > 0 {
			after = max(0, c.seconds()-p.Lastmod)
		}
		k.Fetch(after)
	}
}

// lookedAgain counts a page that was fetched again.
func lookedAgain(c *call, h *store.Host, p *store.Page, changed bool) {
	if k := h.Patterns.Find(link.Pattern(p.Path)); k != nil {
		k.Look(c.seconds()-p.Visit.Fetched, changed)
	}
}

// observed describes the patterns of a host.
func observed(h *store.Host) []frontier.ObservedPattern {
	var list []frontier.ObservedPattern
	for i := range h.Patterns {
		k := &h.Patterns[i]
		list = append(list, frontier.ObservedPattern{Host: h.Name, Pattern: k.Name, Refused: barren(k),
			Observed: contract.Observed{
				Given: k.Given, Fetched: k.Fetched, Gone: k.Gone, Copied: k.Copied, Closed: k.Closed,
				Dated: k.Dated, DelayMinutes: delayOf(k), Looks: k.Looks, Changes: k.Changes,
				ChangeHours: changeHours(k)}})
	}
	return list
}

func delayOf(k *store.Pattern) *int64 {
	if k.Dated == 0 {
		return nil
	}
	return &k.Delay
}

// changeHours estimates after how many hours a page of a pattern changes, nil if that is not known. A look tells only
// whether there was a change, not how many: Cho and Garcia-Molina, Estimating Frequency of Change (2003), section 4.2.
func changeHours(k *store.Pattern) *float64 {
	if k.Looks < minLooks || k.Between == 0 || k.Changes == 0 {
		return nil
	}
	every := float64(k.Between) / 60 / float64(k.Looks)
	looks, changes := float64(k.Looks), float64(k.Changes)
	hours := math.Round(10*every/-math.Log((looks-changes+0.5)/(looks+0.5))) / 10
	return &hours
}
