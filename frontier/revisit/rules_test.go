package revisit

import "math"

// The rules of other crawlers, as their sources have them.

// never fetches nothing again.
type never struct{}

func (never) admit(*sim, *copied, float64)         {}
func (never) look(*sim, *copied, float64, bool)    {}
func (never) newer(*sim, *copied, float64)         {}
func (never) score(*sim, *copied, float64) float64 { return -1 }
func (never) needed(*sim) float64                  { return 1 }

// uniform fetches all pages equally often: the threshold becomes the age of the copy.
type uniform struct{ never }

func (uniform) score(_ *sim, c *copied, now float64) float64 { return now - c.fetched }
func (uniform) needed(s *sim) float64                        { return float64(s.threshold) }

// adaptive is a rule that shortens a page's interval when it changed, and lengthens it when it did not.
type adaptive struct {
	never
	first, shortest, longest float64
	longer                   float64 // share by which the interval grows
	shorter                  float64 // share of the way to the floor by which it shrinks
	floor                    float64
	sync                     float64 // share of the time since the last change by which a look is early
}

var (
	// Apache Nutch, AdaptiveFetchSchedule with its defaults; the longest interval is db.fetch.interval.max.
	nutch = adaptive{first: 30, shortest: hour / 60, longest: 90, longer: 0.4, shorter: 0.2, sync: 0.3}
	// Apache StormCrawler, AdaptiveScheduler with its defaults.
	stormCrawler = adaptive{first: 1, shortest: hour, longest: 14, longer: 0.5, shorter: 0.5, floor: hour}
	// The rule for entry points of this frontier.
	entryPoints = adaptive{first: 3, shortest: 1.5 * hour, longest: 90, longer: 0.5, shorter: 0.2}
)

func (a adaptive) admit(_ *sim, c *copied, now float64) {
	c.interval, c.modified, c.due = a.first, now, now+a.first
}

// score is 1 at the due date; the most overdue go first.
func (a adaptive) score(_ *sim, c *copied, now float64) float64 {
	if now < c.due {
		return -1
	}
	return 1 + now - c.due
}

func (a adaptive) look(_ *sim, c *copied, now float64, changed bool) {
	if changed {
		c.interval = (1-a.shorter)*c.interval + a.shorter*a.floor
		c.modified = now
	} else {
		c.interval *= 1 + a.longer
	}
	unmodified := 0.0
	if a.sync > 0 {
		unmodified = now - c.modified
	}
	c.interval = max(a.shortest, min(a.longest, max(c.interval, unmodified)))
	c.due = now + max(hour/60, c.interval-a.sync*unmodified)
}

// clairvoyant fetches by the same value with the true rates and the true habits of hosts.
type clairvoyant struct{ never }

func (clairvoyant) needed(s *sim) float64 { return float64(s.threshold) }

func (clairvoyant) score(s *sim, c *copied, now float64) float64 {
	truth := Profile{Rate: c.rate}
	if c.kind.contentType == "news" {
		truth = Profile{Rate: lateCorrections, Burst: c.rate, Decay: s.mix.correction}
	}
	deletion := 1 / c.kind.lasts
	rate := truth.rate(now - c.born)
	changes := truth.between(c.fetched-c.born, now-c.born)
	if s.lastmods[c.host] == truthful {
		if c.newer {
			changes -= math.Log1p(-s.mix.announced * rate / (s.mix.announced*rate + s.mix.restamps))
		} else {
			changes *= 1 - s.mix.announced
		}
	}
	changes += deletion * (now - c.fetched)
	return c.weight(now) * (1 - (1+changes)*math.Exp(-changes)) / (rate + deletion)
}
