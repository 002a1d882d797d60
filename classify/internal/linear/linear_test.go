package linear

import (
	"math"
	"testing"

	"github.com/newsfork/seed-engine/classify/internal/urltext"
)

// TestQuantised: a parsed model scores as its weights did, within the rounding of a byte.
func TestQuantised(t *testing.T) {
	w := &Weights{}
	for c := range w.Bias {
		w.Bias[c] = float64(c) / 7
		for p := range w.Plain {
			w.Plain[p][c] = math.Sin(float64(p*Classes + c))
		}
	}
	for i := range w.Tied {
		w.Tied[i] = math.Cos(float64(i)) * 3
	}
	m, err := Parse(Quantise(w, Temperatures{URL: 1, Text: 2}))
	if err != nil {
		t.Fatal(err)
	}
	f := &urltext.Features{Tied: []urltext.Tied{{For: 3, At: 2}, {For: 22, At: 0}}}
	for p := range uint16(600) { // more than fit the lanes at once
		f.Plain = append(f.Plain, p*7)
	}
	exact, sums := w.Scores(f), m.Score(f)
	for c := range exact {
		if got := float64(sums[c]) * m.unit; math.Abs(got-exact[c]) > 603*m.unit/2 || math.Abs(got-exact[c]) > 1 {
			t.Errorf("class %d: %.3f, want %.3f", c, got, exact[c])
		}
	}
	p := m.Probabilities(&sums)
	if c := m.Confidence(&sums, sums.Best()); math.Abs(c-p[sums.Best()]) > 1e-5 {
		t.Errorf("confidence %v, probability %v", c, p[sums.Best()])
	}
	sums[0], sums[1] = 1000, -501
	if m.Temper(&sums); sums[0] != 500 || sums[1] != -251 {
		t.Errorf("with a text, 1000 and -501 become %d and %d", sums[0], sums[1])
	}
	sum := 0.0
	for _, x := range p {
		sum += x
	}
	if math.Abs(sum-1) > 1e-9 {
		t.Errorf("probabilities sum to %v", sum)
	}
	if _, err := Parse([]byte("too short")); err == nil {
		t.Error("nonsense is read as a model")
	}
}

func TestExp(t *testing.T) {
	for x := 0.0; x > -39; x -= 0.37 {
		if got, want := exp(x), math.Exp(x); math.Abs(got-want) > 1e-12*want {
			t.Errorf("exp(%v) = %v, want %v", x, got, want)
		}
	}
	if exp(-1000) != 0 {
		t.Error("exp of very little")
	}
}
