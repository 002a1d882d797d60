package revisit

import "math"

// Trust counts how the lastmods of a host fared. Some hosts publish none, and some always say today. The expected
// changes are those that the pages' rates predict.
type Trust struct {
	Newer          float64 `json:"newer"`           // looks at pages with a newer lastmod
	NewerExpected  float64 `json:"newer_expected"`  // changes expected of them
	NewerChanged   float64 `json:"newer_changed"`   // changes seen
	SilentExpected float64 `json:"silent_expected"` // the same for looks at other pages
	SilentChanged  float64 `json:"silent_changed"`  //
}

// TrustNumbers is the number of counts of a Trust.
const TrustNumbers = 5

// unit is the part of a look that is stored.
const unit = 1.0 / 256

// Numbers returns the counts as they are stored.
func (t *Trust) Numbers() (list [TrustNumbers]int64) {
	for i, v := range [...]float64{t.Newer, t.NewerExpected, t.NewerChanged, t.SilentExpected, t.SilentChanged} {
		list[i] = int64(math.Round(v / unit))
	}
	return list
}

// TrustOf returns the trust whose counts Numbers returned.
func TrustOf(list [TrustNumbers]int64) Trust {
	v := func(i int) float64 { return max(0, min(float64(list[i])*unit, 2*memory)) }
	return Trust{v(0), v(1), v(2), v(3), v(4)}
}

// memory bounds the counts, so that a host that changes its ways is believed again, or no more.
const memory = 64

// learn counts a look.
func (t *Trust) learn(newer bool, expected float64, changed bool) {
	hit := 0.0
	if changed {
		hit = 1
	}
	if newer {
		t.Newer++
		t.NewerExpected += expected
		t.NewerChanged += hit
	} else {
		t.SilentExpected += expected
		t.SilentChanged += hit
	}
	if t.Newer > memory || t.SilentExpected > memory {
		*t = Trust{t.Newer / 2, t.NewerExpected / 2, t.NewerChanged / 2, t.SilentExpected / 2, t.SilentChanged / 2}
	}
}

// Belief returns the probability that a newer lastmod means a change that the rates do not predict, from 0 to 0.99.
// It stays a standard deviation below the estimate, since a small false belief would bring a page back for ever.
func (t *Trust) Belief() float64 {
	surplus := t.NewerChanged - t.NewerExpected - math.Sqrt(t.NewerExpected+1)
	return max(0, min(0.99, surplus/(t.Newer-t.NewerExpected+2)))
}

// unannounced returns the share of expected changes that come without a newer lastmod, from 0.2 to 1.
func (t *Trust) unannounced() float64 {
	return max(0.2, min(1, (t.SilentChanged+1)/(t.SilentExpected+1)))
}
