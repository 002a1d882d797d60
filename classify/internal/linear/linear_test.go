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
	m, err := Parse(Quantise(w, Temperatures{URL: 2, Text: 3, Spread: 0.5}))
	if err != nil {
		t.Fatal(err)
	}
	f := &urltext.Features{Tied: []urltext.Tied{{For: 3, At: 2}, {For: 22, At: 0}}}
	for p := range uint16(600) { // more than fit the lanes at once
		f.Plain = append(f.Plain, p*7)
	}
	exact, sums := w.Scores(f), m.Score(f)
	for c := range exact {
		if got := float64(sums[c]) * m.unit * 2; math.Abs(got-exact[c]) > 603*m.unit || math.Abs(got-exact[c]) > 1 {
			t.Errorf("class %d: %.3f, want %.3f", c, got, exact[c])
		}
	}
	p := m.Probabilities(&sums)
	if c := m.Confidence(&sums, sums.Best()); math.Abs(c-p[sums.Best()]) > 1e-5 {
		t.Errorf("confidence %v, probability %v", c, p[sums.Best()])
	}
	testTemper(t, m)
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

// testTemper: scores with texts are divided by a temperature that grows with their standard deviation.
func testTemper(t *testing.T, m *Model) {
	var even Sums
	for c := range even {
		even[c] = 1500
	}
	if m.Temper(&even); even[0] != 1000 || even[22] != 1000 {
		t.Errorf("scores of 1500 that do not differ become %d with temperatures of 2 and 3", even[0])
	}
	for _, apart := range []float64{1, 2, 4} { // of the natural scores, divided by 2
		var s Sums
		s[0] = int32(math.Round(apart / m.unit))
		deviation := apart * math.Sqrt(22) / 23
		want := apart / (1.5 + 0.5*deviation)
		if m.Temper(&s); math.Abs(float64(s[0])*m.unit-want) > m.unit || s[1] != 0 {
			t.Errorf("with a text, %v becomes %v, want %v", apart, float64(s[0])*m.unit, want)
		}
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
