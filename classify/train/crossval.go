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
	scores      [linear.Classes]float64
	temperature float64 // of its calibration
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
func (p *prediction) confidence() float64 {
	s := p.probabilities(p.temperature)
	return s[p.best()]
}

func (p *prediction) probabilities(temperature float64) [linear.Classes]float64 {
	s := p.scores
	for c := range s {
		s[c] /= temperature
	}
	linear.Softmax(&s)
	return s
}

// crossValidate predicts every example that is measured by a model trained without its fold, with weights quantised
// like those that are embedded. Folds are independent of each other and run concurrently.
func crossValidate(examples []*example, set settings) []*prediction {
	var parts [folds][]*prediction
	var wait sync.WaitGroup
	for fold := range folds {
		wait.Go(func() {
			training := slices.DeleteFunc(slices.Clone(examples),
				func(e *example) bool { return e.fold == fold || set.leftOut(e) })
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
		all = append(all, &prediction{e, m.Logits(&sums), 1})
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

// calibrate sets the temperatures of each fold's predictions from those of the other folds, and returns the
// temperatures fitted on all.
func calibrate(all []*prediction) linear.Temperatures {
	for fold := range folds {
		t := temperatures(filter(all, func(p *prediction) bool { return p.fold != fold }))
		for _, p := range all {
			if p.fold == fold {
				p.temperature = temperatureOf(p, t)
			}
		}
	}
	return temperatures(all)
}

func temperatureOf(p *prediction, t linear.Temperatures) float64 {
	if p.hasText() {
		return t.OfText(&p.scores)
	}
	return t.URL
}

// temperatures returns the calibration of a model by predictions of models that were trained without the domains: the
// minimum of the cross entropy. It counts URLs from the web at large beside those of offices, as both are met.
func temperatures(all []*prediction) linear.Temperatures {
	alone, pairs := append(from(labelled, all), from(bare, all)...), from(pair, all)
	url := lowest([]int{100}, func(at []int) float64 {
		return crossEntropy(alone, linear.Temperatures{URL: hundredths(at[0])})
	})
	text := lowest([]int{100, 0}, func(at []int) float64 {
		return crossEntropy(pairs, linear.Temperatures{Text: hundredths(at[0]), Spread: hundredths(at[1])})
	})
	return linear.Temperatures{URL: hundredths(url[0]), Text: hundredths(text[0]), Spread: hundredths(text[1])}
}

func hundredths(n int) float64 { return float64(n) / 100 }

func crossEntropy(all []*prediction, t linear.Temperatures) float64 {
	loss := 0.0
	for _, p := range all {
		s := p.probabilities(temperatureOf(p, t))
		loss -= math.Log(max(s[p.label], 1e-9))
	}
	return loss
}

// lowest goes down a function of whole numbers, from 0 on for all but the first, which is 5 at least, as long as a
// step in one of them or in two against each other leads further down; steps become smaller.
func lowest(at []int, f func([]int) float64) []int {
	least := f(at)
	for step := 16; step > 0; {
		next := slices.Clone(at)
		for _, by := range steps(len(at), step) {
			to := slices.Clone(at)
			for i := range to {
				to[i] += by[i]
			}
			if to[0] < 5 || slices.Min(to) < 0 {
				continue
			}
			if x := f(to); x < least {
				next, least = to, x
			}
		}
		if slices.Equal(next, at) {
			step /= 2
		}
		at = next
	}
	return at
}

// steps are those from one place to its neighbours in n dimensions, one or two.
func steps(n, step int) [][]int {
	if n == 1 {
		return [][]int{{step}, {-step}}
	}
	return [][]int{{step, 0}, {-step, 0}, {0, step}, {0, -step}, {step, -step}, {-step, step}}
}
