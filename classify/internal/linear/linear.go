// Package linear is the classifier's model: multinomial logistic regression over the features of urltext.
// Training results in real weights; the embedded model has them quantised to a byte each.
package linear

import (
	"github.com/newsfork/seed-engine/classify/internal/lexicon"
	"github.com/newsfork/seed-engine/classify/internal/urltext"
)

// Classes is the number of classes of the model.
const Classes = lexicon.Types

// Weights are the parameters of the model before quantisation.
type Weights struct {
	Bias  [Classes]float64
	Tied  [urltext.TiedFeatures]float64
	Plain [urltext.PlainFeatures][Classes]float64
}

// Scores adds up the weights of features. Training spends much of its time here, alone with its weights: the race
// detector would find nothing, and takes several times as long.
//
//go:norace
func (w *Weights) Scores(f *urltext.Features) [Classes]float64 {
	s := w.Bias
	for _, t := range f.Tied {
		s[t.For] += w.Tied[t.At]
	}
	for _, p := range f.Plain {
		row := &w.Plain[p]
		for c := range s {
			s[c] += row[c]
		}
	}
	return s
}

// Softmax turns scores into probabilities, in place.
//
//go:norace
func Softmax(s *[Classes]float64) {
	top := s[0]
	for _, x := range s {
		top = max(top, x)
	}
	sum := 0.0
	for c := range s {
		s[c] = exp(s[c] - top)
		sum += s[c]
	}
	for c := range s {
		s[c] /= sum
	}
}

// exp is e to the x for x ≤ 0, to about 12 digits. math.Exp is not used because its last digit
// differs between processors, and training must result in the same bytes on all of them. For the same
// reason the conversions below keep the compiler from fusing products and sums.
//
//go:norace
func exp(x float64) float64 {
	if x < -40 {
		return 0
	}
	// e^x = (e^(x/256))^256, with |x/256| < 0.16 for the series.
	x *= 1.0 / 256
	sum := 1.0
	for _, inverse := range inverses {
		sum = 1 + float64(float64(x*inverse)*sum)
	}
	for range 8 {
		sum = float64(sum * sum)
	}
	return sum
}

// inverses are 1/9 to 1/1, for the series from its end.
var inverses = [...]float64{1. / 9, 1. / 8, 1. / 7, 1. / 6, 1. / 5, 1. / 4, 1. / 3, 1. / 2, 1}
