package revisit

import (
	"math"

	"github.com/newsfork/seed-engine/epoch"
)

// day is the unit of rates: changes a day.
const day = epoch.Day

// A Profile describes how often pages of a type change: at a constant rate, and in a burst after publication.
type Profile struct {
	Rate  float64 // changes a day of an average page of the type
	Burst float64 // changes shortly after publication
	Decay float64 // mean age of the page at such a change, in days
	Shape float64 // of the gamma distribution of a page's own factor, whose mean is 1; small: pages differ widely
}

// The profiles are priors: guesses that each page's history corrects.
var (
	article    = Profile{Rate: 1.0 / 365, Burst: 1, Decay: 0.5, Shape: 0.5}
	release    = Profile{Rate: 1.0 / 180, Shape: 0.5}
	rulebook   = Profile{Rate: 1.0 / 90, Shape: 0.5}
	statistics = Profile{Rate: 1.0 / 30, Shape: 0.5}
	listing    = Profile{Rate: 1, Shape: 0.5}
	fixture    = Profile{Rate: 1.0 / 700, Shape: 0.3}
	average    = Profile{Rate: 1.0 / 30, Shape: 0.3}
)

// profiles are by content type, as the contract names it.
var profiles = map[string]*Profile{
	"news":          &article,
	"press_release": &release,
	"announcement":  &release,
	"event":         &release,
	"policy":        &rulebook,
	"legislation":   &rulebook,
	"regulation":    &rulebook,
	"guide":         &rulebook,
	"service":       &rulebook,
	"faq":           &rulebook,
	"statistics":    &statistics,
	"report":        &release,
	"publication":   &release,
	"archive":       &listing,
	"calendar":      &listing,
	"directory":     &listing,
	"about":         &fixture,
	"contact":       &fixture,
	"download":      &fixture,
	"form":          &fixture,
	"multimedia":    &fixture,
}

// ProfileOf returns the profile of a content type; types without one, such as unknown, get an average.
func ProfileOf(contentType string) *Profile {
	if p := profiles[contentType]; p != nil {
		return p
	}
	return &average
}

// rate returns the changes a day of an average page of the given age, in days.
func (p *Profile) rate(age float64) float64 {
	if p.Burst == 0 {
		return p.Rate
	}
	return p.Rate + p.Burst/p.Decay*math.Exp(-age/p.Decay)
}

// between returns the number of changes that an average page makes from one age to another, in days.
func (p *Profile) between(from, to float64) float64 {
	changes := p.Rate * (to - from)
	if p.Burst != 0 {
		changes += p.Burst * (math.Exp(-from/p.Decay) - math.Exp(-to/p.Decay))
	}
	return changes
}
