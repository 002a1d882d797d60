package revisit

import "math"

// History summarises the looks at a page in two bytes: a gamma distribution of the factor by which the page changes
// more often than an average page of its type. Both bytes are on logarithmic scales. The zero value stands for a page
// without looks.
type History struct {
	shape  uint8 // 0: no looks yet; 1–255: shapes from minShape to maxShape
	factor uint8 // 1–255: mean factors from minFactor to maxFactor
}

// The ends of the scales. Rounding to them costs less than a thousandth of the freshness.
const (
	minShape, maxShape   = 0.1, 30
	minFactor, maxFactor = 0.01, 1000
)

// Bytes returns the history as it is stored.
func (h History) Bytes() (shape, factor uint8) { return h.shape, h.factor }

// HistoryOf returns the history that Bytes returned.
func HistoryOf(shape, factor uint8) History { return History{shape, factor} }

// Empty reports whether the page was never looked at again.
func (h History) Empty() bool { return h.shape == 0 }

// gamma returns the shape and rate parameters of the distribution.
func (h History) gamma(p *Profile) (shape, rate float64) {
	if h.Empty() {
		return p.Shape, p.Shape
	}
	shape = fromScale(h.shape, minShape, maxShape)
	return shape, shape / fromScale(h.factor, minFactor, maxFactor)
}

// mean returns the expected factor.
func (h History) mean() float64 {
	if h.Empty() {
		return 1
	}
	return fromScale(h.factor, minFactor, maxFactor)
}

// observe returns the history after a look at a page of which an average one would have made the given number of
// changes since the look before. dated says that a trusted lastmod told when the page changed.
func (h History) observe(p *Profile, expected float64, changed, dated bool) History {
	shape, rate := h.gamma(p)
	switch {
	case !changed:
		rate += expected
	case dated:
		shape++
		rate += expected
	default:
		shape, rate = afterChanges(shape, rate, expected)
	}
	return History{toScale(shape, minShape, maxShape), toScale(shape/rate, minFactor, maxFactor)}
}

// afterChanges returns the distribution after "it changed at least once". That is not conjugate to a gamma, so the
// result is the gamma of the same mean and variance.
func afterChanges(shape, rate, expected float64) (newShape, newRate float64) {
	z := math.Log(rate / (rate + expected))
	g := func(i float64) float64 { return -math.Expm1((shape + i) * z) }
	mean := shape / rate * g(1) / g(0)
	square := shape * (shape + 1) / (rate * rate) * g(2) / g(0)
	variance := square - mean*mean
	if !(mean > 0 && variance > 0) { // nothing was expected: the change says how little is known
		return shape, rate
	}
	newShape = mean * mean / variance
	return newShape, newShape / mean
}

// fromScale returns the value of a level from 1 to 255 between low and high.
func fromScale(level uint8, low, high float64) float64 {
	return low * math.Exp(math.Log(high/low)*float64(level-1)/254)
}

// toScale returns the level nearest to x.
func toScale(x, low, high float64) uint8 {
	level := math.Round(math.Log(x/low) / math.Log(high/low) * 254)
	if math.IsNaN(level) {
		level = 0
	}
	return uint8(1 + max(0, min(254, level)))
}
