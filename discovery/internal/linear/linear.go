// Package linear is the classifier's model: multinomial logistic regression over the features of
// urltext, with its weights quantised to a byte each.
package linear

import (
	"math"

	"github.com/newsfork/seed-engine/discovery/internal/lexicon"
	"github.com/newsfork/seed-engine/discovery/internal/urltext"
)

// Classes is how many classes the model tells apart.
const Classes = lexicon.Types

// Weights are the parameters of the model as training leaves them.
type Weights struct {
	Bias  [Classes]float64
	Tied  [urltext.TiedFeatures]float64
	Plain [urltext.PlainFeatures][Classes]float64
}

// Scores adds up the weights of features.
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
func Softmax(s *[Classes]float64) {
	top := s[0]
	for _, x := range s {
		top = max(top, x)
	}
	sum := 0.0
	for c := range s {
		s[c] = math.Exp(s[c] - top)
		sum += s[c]
	}
	for c := range s {
		s[c] /= sum
	}
}
