package shard

import (
	"cmp"
	"encoding/binary"
	"encoding/hex"
	"slices"
	"strings"
	"time"

	"github.com/newsfork/seed-engine/epoch"
	"github.com/newsfork/seed-engine/frontier"
	"github.com/newsfork/seed-engine/frontier/revisit"
	"github.com/newsfork/seed-engine/frontier/shard/store"
)

// A page that was fetched is fetched again when that is worth it, see package revisit. Settings.VisitsPerDay bounds how
// many are in a day: the threshold of the shard moves until about so many reach it.

const (
	// visitShare is the part of a lease that visits take while new pages wait: one in so many.
	visitShare = 3
	// savedVisits limits how much unused budget is saved.
	savedVisits = 6 * time.Hour
	// maxAdjusted is the number of hours after which a threshold that was not adjusted stays as it is.
	maxAdjusted = 24

	// copyWait is the time after which a page that showed another page's text is fetched again: a site under
	// repair shows the same for all.
	copyWait = 3 * day
	// visitRetry is the least time after which a page that was fetched before is requested again if its host failed.
	visitRetry = 6 * time.Hour
	// ruledOutWait is the time after which a page is considered again that robots.txt or an operator forbids.
	ruledOutWait = 7 * day

	aVisit  = 1000      // of VisitCounters.Allowed
	maxWait = 180 * day // revisit.Page.Due gives no later date: the page is not worth it
)

// threshold returns the value from which a page is fetched again.
func threshold(c *call) revisit.Threshold {
	if t := c.tx.State().Visits.Threshold; t > 0 {
		return revisit.Threshold(t) / 1e6
	}
	return revisit.Start
}

// adjustVisits updates the threshold and the budget.
func adjustVisits(c *call) error {
	v := &c.tx.State().Visits
	perDay := c.settings.VisitsPerDay
	if gone := c.seconds().Sub(v.AllowedAt); v.AllowedAt == 0 || gone != 0 {
		gone = max(0, min(gone, savedVisits))
		if v.AllowedAt == 0 {
			gone = time.Hour
		}
		v.Allowed = min(v.Allowed+perDay*aVisit*int64(gone/time.Second)/int64(day/time.Second),
			perDay*aVisit/int64(day/savedVisits))
		v.AllowedAt = c.seconds()
	}
	hours := c.hour() - v.Hour
	switch {
	case hours == 0:
		return nil
	case v.Hour > 0 && hours > 0 && hours <= maxAdjusted:
		overdue, _, err := c.tx.LaneStats(frontier.VisitLane, c.seconds().Add(-time.Hour), nil)
		if err != nil {
			return err
		}
		t := threshold(c)
		for range hours { // overdue visits have gathered in all of them
			t = t.Adjust(float64(v.Demand+overdue)/float64(hours), float64(perDay)/24)
		}
		v.Threshold = max(1, int64(t*1e6))
	}
	v.Hour, v.Demand = c.hour(), 0
	return nil
}

// visitable describes a page to package revisit.
func visitable(p *store.Page) revisit.Page {
	v := p.Visit
	return revisit.Page{Profile: revisit.ProfileOf(store.TypeName(p.Kind)), History: v.History, Published: v.Published,
		Fetched: v.Fetched, Newer: v.Newer}
}

// worth returns what a correct copy of a page is worth at an instant.
func worth(p *store.Page) func(epoch.Seconds) float64 {
	return func(at epoch.Seconds) float64 { return float64(p.Score(at)) / 1000 }
}

// candidate is a page that may be fetched again, and what that is worth.
type candidate struct {
	page  store.Page
	value float64
}

// visit leases up to n pages of a host again, the most valuable first. If the host gives nothing else (alone), one of
// them must have reached the threshold. Pages that are not leased get a new due date.
func (l *leaser) visit(h *store.Host, m *store.Domain, n int, alone bool) (given int, err error) {
	c := l.c
	pages, err := h.DueVisits(l.filter)
	if err != nil {
		return 0, err
	}
	candidates := make([]candidate, len(pages))
	for i, p := range pages {
		seen := visitable(&p)
		candidates[i] = candidate{p, seen.Value(&h.Trust, worth(&p)(c.seconds()), c.seconds())}
	}
	slices.SortStableFunc(candidates, func(a, b candidate) int { return cmp.Compare(b.value, a.value) })
	needed := float64(threshold(c))
	v := &c.tx.State().Visits
	for i := range candidates {
		k := &candidates[i]
		p := &k.page
		if len(c.tx.State().Patterns) > 0 && c.tx.State().Excludes.URL(h.URL(p)) || isForbidden(c, h, p.Path) {
			p.Due = c.seconds().Add(ruledOutWait) // it comes back when it is allowed again
			h.Schedule.Enqueue(*p)
			continue
		}
		if (p.Visit.Copied || store.FailedStatus(int(p.Status))) && p.Due > c.seconds() { // not before its time
			h.Schedule.Enqueue(*p)
			continue
		}
		reached := k.value >= needed
		if given < n && v.Allowed >= aVisit && (reached || k.value >= revisit.Early*needed && (given > 0 || !alone)) {
			v.Allowed -= aVisit
			v.Made++
			if reached {
				v.Demand++
			}
			given++
			h.Leased = append(h.Leased, *p)
			l.items = append(l.items, l.item(h, m, p, frontier.KindPage))
			continue
		}
		if p.Due <= c.seconds() && !reached {
			redate(c, h, p, k.value)
		}
		h.Schedule.Enqueue(*p)
	}
	return given, nil
}

// redate sets the date at which a page that is not worth it yet will be: for the row of its host, or by itself.
func redate(c *call, h *store.Host, p *store.Page, value float64) {
	seen := visitable(p)
	t := float64(threshold(c))
	if value >= revisit.Early*t {
		t /= revisit.Early // until it starts a lease
	}
	p.Due = dueDate(c.seconds(), seen.NextDue(&h.Trust, worth(p), t, c.seconds()))
}

// dueDate puts a due date off by a sixteenth of the wait at most, so that many are the same: pages of one date share
// the beginnings of their paths, and hosts their places in the queue.
func dueDate(now, due epoch.Seconds) epoch.Seconds {
	step := epoch.Seconds(visitSlots / time.Second)
	for step <= (due-now)/32 {
		step *= 2
	}
	return (due + step - 1) / step * step
}

// giveVisits leases pages of a host again.
func (l *leaser) giveVisits(h *store.Host, m *store.Domain) (keep bool, err error) {
	n, err := l.visit(h, m, l.share(h), true)
	if err != nil {
		return false, err
	}
	h.Unqueue(store.KindVisit)
	if n > 0 {
		l.take(h, m, n)
		return false, nil
	}
	return false, l.c.queue(h)
}

// refund returns a visit that was not made to the budget.
func refund(c *call, p *store.Page) {
	if v := &c.tx.State().Visits; p.Reason == store.Scheduled {
		v.Allowed += aVisit
		v.Made--
	}
}

// look notes what a scraper saw of a page that it fetched, and reports whether that is a copy of another page. before
// is the status of the fetch before.
func (p *reporter) look(h *store.Host, q *store.Page, r *frontier.Result, before uint16) (copied bool) {
	if r.Published > 0 {
		vouch(h, q.Path)
	}
	switch copied = p.isCopy(h, q, r); {
	case !copied:
		scheduleVisit(p.c, h, q, r, before)
	case q.Visit != nil && !q.Visit.Copied && p.c.settings.VisitsPerDay > 0: // it had a text of its own
		q.Visit.Copied = true
		q.Visit.Count++
		q.Due = p.c.now.Add(copyWait).Seconds()
		h.ScheduleVisit(*q)
	}
	return copied
}

// scheduleVisit notes what a scraper saw of a page, and when to look again, if that will be worth it.
func scheduleVisit(c *call, h *store.Host, p *store.Page, r *frontier.Result, before uint16) {
	if c.settings.VisitsPerDay <= 0 {
		return
	}
	digest, ofText := digestOf(r)
	if p.Visit != nil {
		if changed, known := changed(p.Visit, r, digest, ofText, before); known {
			seen := visitable(p)
			seen.Look(&h.Trust, c.seconds(), changed)
			lookedAgain(c, h, p, changed)
			p.Visit.History = seen.History
			if changed && p.Reason != store.Redated { // then the date announced it
				announceEvent(c, h, p, store.EventUpdated, frontier.FoundByScraper)
			}
		}
	}
	p.Renew(c.seconds(), cmp.Or(r.ETag, etagOf(p, r)), cmp.Or(r.LastModified, modifiedOf(p, r)), digest, ofText)
	seen := visitable(p)
	p.Due = dueDate(c.seconds(), seen.AfterLook(&h.Trust, worth(p), float64(threshold(c))))
	if p.Due.Sub(c.seconds()) < maxWait || isWorthKeeping(c, h, p, &seen) {
		h.ScheduleVisit(*p)
	}
}

// isWorthKeeping reports whether a page stays on the schedule that does not reach the threshold within maxWait: the
// threshold falls when the budget grows or scrapers come back. A page that came back by its date stays as long as the
// dates of its host are not tested: only a second look tells whether it has changed.
func isWorthKeeping(c *call, h *store.Host, p *store.Page, seen *revisit.Page) bool {
	at := c.seconds().Add(maxWait)
	return seen.Value(&h.Trust, worth(p)(at), at) >= revisit.Early*float64(min(threshold(c), revisit.Start)) ||
		p.Reason == store.Redated && h.Trust.Newer < testedDates
}

// etagOf and modifiedOf return the validators that stand after a 304 without any.
func etagOf(p *store.Page, r *frontier.Result) string {
	if r.Status == 304 && p.Visit != nil {
		return p.Visit.Etag
	}
	return ""
}

func modifiedOf(p *store.Page, r *frontier.Result) string {
	if r.Status == 304 && p.Visit != nil {
		return p.Visit.Modified
	}
	return ""
}

// nothing is the digest of an empty text, which many pages have whose text comes by scripts.
const nothing = "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"

// digestOf returns the first bits of the digest of a page's text or else of its body; 0 if the report has no digest.
func digestOf(r *frontier.Result) (digest uint32, ofText bool) {
	text := cmp.Or(r.TextSHA256, r.SHA256)
	if strings.EqualFold(text, nothing) {
		return 0, false
	}
	b, err := hex.DecodeString(text[:min(len(text), 8)])
	if err != nil || len(b) < 4 {
		return 0, false
	}
	return binary.BigEndian.Uint32(b), r.TextSHA256 != ""
}

// hasChanged reports whether a look is known to have found a change.
func hasChanged(v *store.Visit, r *frontier.Result, before uint16) bool {
	digest, ofText := digestOf(r)
	changed, known := changed(v, r, digest, ofText, before)
	return known && changed
}

// changed reports whether a page changed since the last look, which got the status before, if that is known.
func changed(v *store.Visit, r *frontier.Result, digest uint32, ofText bool, before uint16) (changed, known bool) {
	switch {
	case r.Status == 304, r.Status >= 300 && before >= 300 && before != 304: // as before
		return false, true
	case digest != 0 && v.Digest != 0 && ofText == v.OfText:
		return digest != v.Digest, true
	case r.ETag != "" && r.ETag == v.Etag:
		return false, true
	}
	return false, false
}
