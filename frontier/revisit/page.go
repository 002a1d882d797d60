package revisit

import (
	"math"
	"time"

	"github.com/newsfork/seed-engine/epoch"
)

// deletionRate is the share of pages that are deleted a day, whatever their type. It brings back pages that never
// change.
const deletionRate = 1.0 / 1000

// Page is a page that was fetched.
type Page struct {
	Profile   *Profile
	History   History
	Published epoch.Seconds // or first seen
	Fetched   epoch.Seconds // last
	Newer     bool          // a lastmod later than Fetched was seen
}

// age returns the page's age at an instant, in days; 0 before it was published.
func (p *Page) age(at epoch.Seconds) float64 { return daysBetween(p.Published, at) }

// daysBetween returns the days from one instant to another; 0 if the other is earlier.
func daysBetween(from, to epoch.Seconds) float64 {
	return max(0, float64(to)-float64(from)) / float64(day/time.Second)
}

// Value returns what a look at the page at now is worth, in weight·days. weight is the worth of a correct copy at
// that time, from 0 to 1.
func (p *Page) Value(t *Trust, weight float64, now epoch.Seconds) float64 {
	was, is := p.age(p.Fetched), p.age(now)
	factor := p.History.mean()
	rate := factor*p.Profile.rate(is) + deletionRate
	changes := factor * p.Profile.between(was, max(was, is))
	if p.Newer {
		changes -= math.Log1p(-t.Belief())
	} else {
		changes *= t.unannounced()
	}
	changes += deletionRate * daysBetween(p.Fetched, now)
	return weight * -math.Expm1(math.Log1p(changes)-changes) / rate
}

// Look records a look at now, which found the page changed or not, in the page and the trust in its host's lastmods.
// A look that says nothing about the content, such as a failure, is not recorded.
func (p *Page) Look(t *Trust, now epoch.Seconds, changed bool) {
	was := p.age(p.Fetched)
	expected := p.Profile.between(was, max(was, p.age(now)))
	dated := p.Newer && t.Belief() > 0.5
	t.learn(p.Newer, -math.Expm1(-p.History.mean()*expected), changed)
	p.History = p.History.observe(p.Profile, expected, changed, dated)
	p.Fetched, p.Newer = now, false
}

const (
	// Early is the share of the threshold at which a page becomes due. From then on it may fill a lease of its host;
	// it starts one when its value reaches the threshold.
	Early = 0.5
	// minWait and maxWait bound the time between two looks.
	minWait = time.Hour
	maxWait = 180 * day
)

// Due returns when the page becomes due, at least wait after now: when its value reaches Early of the threshold, as
// far as is known now. weight returns the worth of a correct copy at an instant; it may fall with the page's age, so
// the date has to be reconsidered when it comes. The result is at most 180 days away, even for what is never due.
func (p *Page) Due(t *Trust, weight func(epoch.Seconds) float64, threshold float64, now epoch.Seconds,
	wait time.Duration) epoch.Seconds {
	for ; wait < maxWait; wait = max(minWait, wait+wait/10) {
		if at := now.Add(wait); p.Value(t, weight(at), at) >= Early*threshold {
			return at
		}
	}
	return now.Add(maxWait)
}

// NextDue returns the new due date of a page whose date came too early: its value is below Early of the threshold.
func (p *Page) NextDue(t *Trust, weight func(epoch.Seconds) float64, threshold float64,
	now epoch.Seconds) epoch.Seconds {
	return p.Due(t, weight, threshold, now, max(minWait, now.Sub(p.Fetched)/10))
}

// AfterLook returns the due date of a page that was looked at just now.
func (p *Page) AfterLook(t *Trust, weight func(epoch.Seconds) float64, threshold float64) epoch.Seconds {
	return p.Due(t, weight, threshold, p.Fetched, minWait)
}
