package main

import (
	"math"
	"slices"

	"github.com/newsfork/seed-engine/classify/internal/linear"
	"github.com/newsfork/seed-engine/classify/internal/urltext"
)

// settings of the training. Penalties are those of L2 regularisation by kind of feature: rarer
// features, and those that mean less by themselves, are kept closer to zero.
type settings struct {
	tied, combined, dense, structure, hashed float64
	smooth                                   float64 // share of the target given to secondary types
	written, pattern                         float64 // weights of written examples and those of patterns; a labelled one has 1
	pair                                     float64 // weight of URLs with texts, and of these URLs alone
	text                                     float64 // weight of examples with their words beside the URL
	rounds                                   int
	rate                                     float64
	kept, of                                 int // the share of labelled examples used; all when of is 0
}

// keeping returns settings that use only a share of the labelled examples.
func (set settings) keeping(kept, of int) settings {
	set.kept, set.of = kept, of
	return set
}

func (set *settings) leftOut(e *example) bool {
	return set.of > 0 && e.origin == labelled && e.number%set.of >= set.kept
}

var defaults = settings{tied: 0.1, combined: 0.2, dense: 1.2, structure: 1.2, hashed: 4, smooth: 0.15, written: 0.3, pattern: 0.2, text: 0.1, pair: 0.3, rounds: 150, rate: 0.07}

// fit finds the weights that predict the examples best: full-batch Adam with a cosine schedule. It is
// deterministic: the same examples always give the same weights.
func fit(examples []*example, set settings) *linear.Weights {
	var used []int
	seen := make([]bool, urltext.PlainFeatures)
	total := 0.0
	for _, e := range examples {
		total += set.weight(e)
		for _, p := range e.features.Plain {
			if !seen[p] {
				seen[p] = true
				used = append(used, int(p))
			}
		}
	}
	slices.Sort(used)

	w, gradient, m, v := &linear.Weights{}, &linear.Weights{}, &linear.Weights{}, &linear.Weights{}
	const keepM, keepV = 0.9, 0.999
	powM, powV := 1.0, 1.0
	for round := 1; round <= set.rounds; round++ {
		gradient.Bias = [linear.Classes]float64{}
		gradient.Tied = [urltext.TiedFeatures]float64{}
		for _, p := range used {
			gradient.Plain[p] = [linear.Classes]float64{}
		}
		for _, e := range examples {
			descend(w, gradient, e, set)
		}
		powM, powV = float64(powM*keepM), float64(powV*keepV)
		rate := float64(set.rate*0.5) * (1 + math.Cos(math.Pi*float64(round)/float64(set.rounds)))
		step := func(w, g, m, v *float64, penalty float64) {
			gr := (*g + float64(penalty**w)) / total
			*m = float64(keepM**m) + float64((1-keepM)*gr)
			*v = float64(keepV**v) + float64((1-keepV)*gr*gr)
			*w -= rate * (*m / (1 - powM)) / (math.Sqrt(*v/(1-powV)) + 1e-8)
		}
		for c := range w.Bias {
			step(&w.Bias[c], &gradient.Bias[c], &m.Bias[c], &v.Bias[c], 0.1)
		}
		for t := range w.Tied {
			penalty := set.tied
			if urltext.IsCombined(t) {
				penalty = set.combined
			}
			step(&w.Tied[t], &gradient.Tied[t], &m.Tied[t], &v.Tied[t], penalty)
		}
		for _, p := range used {
			penalty := set.dense
			switch urltext.GroupOf(p) {
			case urltext.Structure:
				penalty = set.structure
			case urltext.Hashed:
				penalty = set.hashed
			}
			for c := range w.Bias {
				step(&w.Plain[p][c], &gradient.Plain[p][c], &m.Plain[p][c], &v.Plain[p][c], penalty)
			}
		}
	}
	return w
}

func (set *settings) weight(e *example) float64 {
	if e.derived {
		return set.text
	}
	switch e.origin {
	case written:
		return set.written
	case fromPattern:
		return set.pattern
	case pair, bare:
		return set.pair
	}
	return 1
}

// descend adds the gradient of one example's cross entropy.
func descend(w, gradient *linear.Weights, e *example, set settings) {
	s := w.Scores(&e.features)
	linear.Softmax(&s)
	s[e.label]--
	if n := len(e.secondary); n > 0 {
		s[e.label] += set.smooth
		for _, other := range e.secondary {
			s[other] -= set.smooth / float64(n)
		}
	}
	weight := set.weight(e)
	for c := range s {
		s[c] = float64(s[c] * weight)
		gradient.Bias[c] += s[c]
	}
	for _, t := range e.features.Tied {
		gradient.Tied[t.At] += s[t.For]
	}
	for _, p := range e.features.Plain {
		row := &gradient.Plain[p]
		for c := range s {
			row[c] += s[c]
		}
	}
}
