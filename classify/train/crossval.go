package main

import (
	"math"
	"slices"
	"sync"

	"github.com/newsfork/seed-engine/classify/internal/lexicon"
	"github.com/newsfork/seed-engine/classify/internal/linear"
)

// prediction is the scores of an example by a model that was trained without its domain.
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

// crossValidate predicts every example that is measured by a model trained without its fold, with weights quantised
// like those that are embedded. Folds are independent of each other and run concurrently.
func crossValidate(examples []*example, set settings) []*prediction {
	var parts [folds][]*prediction
	var wait sync.WaitGroup
	for fold := range folds {
		wait.Go(func() {
			training := slices.DeleteFunc(slices.Clone(examples), func(e *example) bool { return e.fold == fold || set.leftOut(e) })
			measured := slices.DeleteFunc(slices.Clone(examples), func(e *example) bool {
				return e.fold != fold || !e.measured()
			})
			parts[fold] = predict(linear.Quantise(fit(training, set), linear.Temperatures{URL: 1, Text: 1}), measured)
		})
	}
	wait.Wait()
	return slices.Concat(parts[:]...)
}

// measured reports whether an example is one that models are judged by.
func (e *example) measured() bool {
	return !e.derived && (e.origin == labelled || e.origin == pair || e.origin == bare)
}

// from returns the predictions for examples of an origin.
func from(o origin, all []*prediction) (found []*prediction) {
	for _, p := range all {
		if p.origin == o {
			found = append(found, p)
		}
	}
	return found
}

// predict scores examples by a quantised model.
func predict(weights []byte, examples []*example) []*prediction {
	m, err := linear.Parse(weights)
	if err != nil {
		panic(err) // just written
	}
	var all []*prediction
	for _, e := range examples {
		sums := m.Score(&e.features)
		if e.hasText() {
			m.Temper(&sums)
		}
		all = append(all, &prediction{e, m.Logits(&sums)})
	}
	return all
}

// learningCurve measures the model with none, a quarter, half, three quarters and all of the labelled examples
// in training, beside all written ones. Predictions are those with all.
func learningCurve(examples []*example, predictions []*prediction, set settings) []point {
	const steps = 4
	var curve []point
	for step := range steps {
		curve = append(curve, pointOf(crossValidate(examples, set.keeping(step, steps))))
	}
	return append(curve, pointOf(predictions))
}

// point is a point of the learning curve.
type point struct{ labelled, texts figures }

func pointOf(all []*prediction) point {
	return point{measure(from(labelled, all), (*prediction).best), measure(from(pair, all), (*prediction).best)}
}

// figures are the quality of predictions.
type figures struct {
	n                   int
	accuracy, secondary float64 // share that is right; that is right or a labelled secondary type
	macroF1             float64 // mean F1 of the types that occur
}

// measure compares the guesses for examples with their labels.
func measure(all []*prediction, guess func(*prediction) lexicon.Role) figures {
	var labels, guessed, both [linear.Classes]float64
	f := figures{n: len(all)}
	for _, p := range all {
		g := guess(p)
		labels[p.label]++
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
	for c := range labels {
		if labels[c] > 0 {
			types++
			f.macroF1 += 2 * both[c] / (labels[c] + guessed[c])
		}
	}
	f.accuracy /= float64(max(f.n, 1))
	f.secondary /= float64(max(f.n, 1))
	f.macroF1 /= max(types, 1)
	return f
}

// temperatures returns the calibration of a model by predictions of models that were trained without the domains. It
// counts URLs from the web at large beside those of offices, as both are met.
func temperatures(all []*prediction) linear.Temperatures {
	return linear.Temperatures{
		URL:  temperature(append(from(labelled, all), from(bare, all)...)),
		Text: temperature(from(pair, all)),
	}
}

// temperature returns the divisor of the scores that calibrates the probabilities best (minimal cross entropy)
// on predictions of models that were trained without the domains.
func temperature(all []*prediction) float64 {
	best, minLoss := 1.0, math.Inf(1)
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
		if loss < minLoss {
			best, minLoss = t, loss
		}
	}
	return best
}
