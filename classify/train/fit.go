package main

import (
	"math"

	"github.com/newsfork/seed-engine/classify/internal/lexicon"
	"github.com/newsfork/seed-engine/classify/internal/linear"
	"github.com/newsfork/seed-engine/classify/internal/urltext"
)

// settings of the training. Penalties are those of L2 regularisation by kind of feature: rarer
// features, and those that mean less by themselves, are kept closer to zero.
type settings struct {
	tied, combined, dense, structure, hashed float64
	smooth                                   float64 // share of the target given to secondary types
	// weights of written examples and those of patterns; a labelled one has 1
	written, pattern float64
	pair             float64 // weight of URLs with texts
	text             float64 // weight of examples with their words beside the URL
	bare             float64 // weight of these URLs alone
	lone             float64 // weight of those that were labelled without a text
	inferred         float64 // weight of texts whose type an earlier model inferred
	least            int     // examples that a hashed feature must occur in; rarer ones mean nothing
	rounds           int
	dropout          float64 // share of an example's features that a step leaves out, by chance
	rate             float64
	kept, of         int // the share of labelled examples used; all when of is 0
}

// keeping returns settings that use only a share of the labelled examples.
func (set settings) keeping(kept, of int) settings {
	set.kept, set.of = kept, of
	return set
}

func (set *settings) leftOut(e *example) bool {
	return set.of > 0 && e.set != "" && e.number%set.of >= set.kept
}

var defaults = settings{tied: 0.1, combined: 0.2, dense: 0.8, structure: 0.5, hashed: 0.5, smooth: 0.08, written: 0.3,
	pattern: 0.1, text: 0.1, pair: 0.7, bare: 0.1, lone: 0.15, inferred: 0.1, least: 8, rounds: 10, rate: 0.3,
	dropout: 0.35}

// fit finds the weights that predict the examples best: AdaGrad, a rate for each feature, over the examples in an
// order that a generator with a fixed seed shuffles for each round. It is deterministic: the same examples always give
// the same weights.
func fit(examples []*example, set settings) *linear.Weights {
	d := &descent{set: set, w: &linear.Weights{}, plain: make([]rowState, urltext.PlainFeatures)}
	d.evening = evening(examples)
	for _, e := range examples {
		d.total += d.weight(e)
	}
	d.common = common(examples, set.least)
	order := make([]*example, len(examples))
	copy(order, examples)
	x := expander{state: 7}
	steps := set.rounds * len(order)
	for range set.rounds {
		for i := len(order) - 1; i > 0; i-- {
			j := x.next(i + 1)
			order[i], order[j] = order[j], order[i]
		}
		for _, e := range order {
			d.rate = set.rate * (1 - float64(d.step)/float64(steps))
			d.descend(e, d.thinned(&e.features, &x))
			d.step++
		}
	}
	for p := range d.plain {
		d.decay(p)
	}
	return d.w
}

// descent is the state of fit.
type descent struct {
	set   settings
	w     *linear.Weights
	total float64 // weight of all examples
	rate  float64
	step  int
	bias  float64 // sum of squared gradients, as are those of tied
	tied  [urltext.TiedFeatures]float64
	plain []rowState

	common  []bool // the plain features that may have weights
	evening [lexicon.Types]float64
	thin    urltext.Features
}

// common returns which plain features mean something: of the hashed ones those that occur in least examples.
func common(examples []*example, least int) []bool {
	counts := make([]int, urltext.PlainFeatures)
	for _, e := range examples {
		for _, p := range e.features.Plain {
			counts[p]++
		}
	}
	all := make([]bool, len(counts))
	for p, n := range counts {
		all[p] = n >= least || urltext.GroupOf(p) != urltext.Hashed
	}
	return all
}

// evening returns by type what the weights of URLs without texts are multiplied by. They were drawn as pages occur,
// and nearly half have one of three types; both sets were drawn so that the others occur as often.
func evening(examples []*example) (by [lexicon.Types]float64) {
	var counts [lexicon.Types]float64
	total := 0.0
	for _, e := range examples {
		if e.origin == bare {
			counts[e.label]++
			total++
		}
	}
	for c, n := range counts {
		by[c] = math.Sqrt(total / float64(lexicon.Types) / max(n, 1))
	}
	return by
}

// rowState is the state of a plain feature. Its weights decay when it occurs, for all steps since it last did.
type rowState struct {
	squares float64 // sum of squared gradients
	seen    int     // the last step that it occurred in, 0 for none
}

// firstSquares bounds the first steps.
const firstSquares = 0.1

//go:norace
func (d *descent) penalty(p int) float64 {
	switch urltext.GroupOf(p) {
	case urltext.Structure:
		return d.set.structure
	case urltext.Hashed:
		return d.set.hashed
	}
	return d.set.dense
}

//go:norace
func (d *descent) decay(p int) {
	row := &d.plain[p]
	if row.seen == 0 {
		return
	}
	by := d.rate / math.Sqrt(row.squares+firstSquares) * d.penalty(p) / d.total * float64(d.step-row.seen)
	keep := 1 / (1 + by) // between 0 and 1, however long it did not occur
	for c := range d.w.Plain[p] {
		d.w.Plain[p][c] *= keep
	}
	row.seen = d.step
}

// thinned returns features without those that are too rare to mean something, and without the share that the settings
// leave out, so that no weight relies on another beside it: the words of a page say much the same. The result is valid
// until the next call.
//
//go:norace
func (d *descent) thinned(f *urltext.Features, x *expander) *urltext.Features {
	out := uint64(d.set.dropout*(1<<32)) << 32
	d.thin.Plain, d.thin.Tied = d.thin.Plain[:0], d.thin.Tied[:0]
	for _, p := range f.Plain {
		if d.common[p] && x.bits() >= out {
			d.thin.Plain = append(d.thin.Plain, p)
		}
	}
	for _, t := range f.Tied {
		if x.bits() >= out {
			d.thin.Tied = append(d.thin.Tied, t)
		}
	}
	return &d.thin
}

// descend goes down the gradient of one example's cross entropy, with the features f of it. It is most of the time of
// training, which has no shared memory, and several times slower under the race detector.
//
//go:norace
func (d *descent) descend(e *example, f *urltext.Features) {
	for _, p := range f.Plain {
		d.decay(int(p))
	}
	s := d.w.Scores(f)
	linear.Softmax(&s)
	s[e.label]--
	if n := len(e.secondary); n > 0 {
		s[e.label] += d.set.smooth
		for _, other := range e.secondary {
			s[other] -= d.set.smooth / float64(n)
		}
	}
	weight := d.weight(e)
	squares := 0.0
	for c := range s {
		s[c] = float64(s[c] * weight)
		squares += float64(s[c] * s[c])
	}
	d.bias += squares
	rate := d.rate / math.Sqrt(d.bias+firstSquares)
	for c := range s {
		d.w.Bias[c] -= float64(rate * s[c])
	}
	for _, t := range f.Tied {
		penalty := d.set.tied
		if urltext.IsCombined(int(t.At)) {
			penalty = d.set.combined
		}
		w, g := &d.w.Tied[t.At], s[t.For]
		d.tied[t.At] += float64(g * g)
		*w -= float64(d.rate / math.Sqrt(d.tied[t.At]+firstSquares) * (g + float64(penalty**w)/d.total))
	}
	for _, p := range f.Plain {
		row := &d.plain[p]
		row.squares += squares
		row.seen = max(d.step, 1)
		rate := d.rate / math.Sqrt(row.squares+firstSquares)
		weights := &d.w.Plain[p]
		for c := range s {
			weights[c] -= float64(rate * s[c])
		}
	}
}

//go:norace
func (d *descent) weight(e *example) float64 {
	weight := d.set.weight(e)
	if e.origin == bare && !e.derived {
		weight *= d.evening[e.label]
	}
	return weight
}

//go:norace
func (set *settings) weight(e *example) float64 {
	if e.derived {
		return set.text
	}
	switch e.origin {
	case written:
		return set.written
	case fromPattern:
		return set.pattern
	case pair:
		return set.pair
	case bare:
		if e.lone {
			return set.lone
		}
		return set.bare
	case inferred:
		return set.inferred
	}
	return 1
}
