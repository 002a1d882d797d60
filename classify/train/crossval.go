package main

import (
	"math"
	"slices"
	"sync"

	"github.com/newsfork/seed-engine/classify/internal/lexicon"
	"github.com/newsfork/seed-engine/classify/internal/linear"
)

// prediction is what a model that has not seen an example's domain says of it.
type prediction struct {
	*example
	scores [linear.Classes]float64
}

func (p *prediction) best() lexicon.Role {
	best := 0
	for c := range p.scores {
		if p.scores[c] > p.scores[best] {
			best = c
		}
	}
	return lexicon.Role(best)
}

// confidence is the probability of the best type.
func (p *prediction) confidence(temperature float64) float64 {
	s := p.scores
	for c := range s {
		s[c] /= temperature
	}
	linear.Softmax(&s)
	return s[p.best()]
}

// crossValidate predicts every labelled example by a model trained without its fold, with weights as
// coarse as those that are embedded. The folds are
// independent of each other and are computed side by side.
func crossValidate(examples []*example, set settings) []*prediction {
	var parts [folds][]*prediction
	var wait sync.WaitGroup
	for fold := range folds {
		wait.Go(func() {
			rest := slices.DeleteFunc(slices.Clone(examples), func(e *example) bool { return e.fold == fold || set.leftOut(e) })
			m, err := linear.Parse(string(linear.Quantise(fit(rest, set), 1)))
			if err != nil {
				panic(err) // just written
			}
			for _, e := range examples {
				if e.fold == fold && e.origin == labelled {
					sums := m.Score(&e.features)
					parts[fold] = append(parts[fold], &prediction{e, m.Logits(&sums)})
				}
			}
		})
	}
	wait.Wait()
	return slices.Concat(parts[:]...)
}

// learningCurve is how good the model is with none, a quarter, half, three quarters and all of the
// labelled examples to learn from, next to all written ones. Predictions are those with all.
func learningCurve(examples []*example, predictions []*prediction, set settings) []figures {
	const steps = 4
	var curve []figures
	for step := range steps {
		part := crossValidate(examples, set.keeping(step, steps))
		curve = append(curve, measure(part, (*prediction).best))
	}
	return append(curve, measure(predictions, (*prediction).best))
}

// figures sum up predictions.
type figures struct {
	n                   int
	accuracy, secondary float64 // share that is right; that is right or a labelled secondary type
	macroF1             float64 // mean F1 of the types that occur
}

// measure sums up what guess says of the examples.
func measure(all []*prediction, guess func(*prediction) lexicon.Role) figures {
	var truth, guessed, both [linear.Classes]float64
	f := figures{n: len(all)}
	for _, p := range all {
		g := guess(p)
		truth[p.label]++
		guessed[g]++
		if g == p.label {
			both[g]++
			f.accuracy++
			f.secondary++
			continue
		}
		for _, s := range p.secondary {
			if s == g {
				f.secondary++
				break
			}
		}
	}
	types := 0.0
	for c := range truth {
		if truth[c] > 0 {
			types++
			f.macroF1 += 2 * both[c] / (truth[c] + guessed[c])
		}
	}
	f.accuracy /= float64(max(f.n, 1))
	f.secondary /= float64(max(f.n, 1))
	f.macroF1 /= max(types, 1)
	return f
}

// temperature finds the divisor of the scores with which the probabilities fit best (least cross
// entropy) on predictions of models that had not seen the domains.
func temperature(all []*prediction) float64 {
	best, least := 1.0, math.Inf(1)
	for i := 50; i <= 300; i++ {
		t := float64(i) / 100
		loss := 0.0
		for _, p := range all {
			s := p.scores
			for c := range s {
				s[c] /= t
			}
			linear.Softmax(&s)
			loss -= math.Log(max(s[p.label], 1e-9))
		}
		if loss < least {
			best, least = t, loss
		}
	}
	return best
}
