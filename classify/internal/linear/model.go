package linear

import (
	"encoding/binary"
	"errors"
	"math"

	"github.com/newsfork/seed-engine/classify/internal/urltext"
)

// Model is a model with quantised weights, as the classifier uses it. Weights of plain features take a byte each,
// in the unit stated in the header; those of tied features and the bias, which are few, take two.
type Model struct {
	unit   float64 // value of a weight of 1, divided by the temperature of the calibration
	text   float64 // Temperatures.Text, divided by that of URLs alone
	spread float64 // Temperatures.Spread
	bias   [Classes]int32
	tied   [urltext.TiedFeatures]int32
	plain  [][lanes]uint64
}

// The weights of a plain feature are stored four classes to a word, in lanes of 16 bits, with 128 added so that
// none is negative: a feature takes six additions.
const (
	lanes    = (Classes + 3) / 4
	laneBias = 128
	laneFull = 65535 / 255 // number of features that cannot overflow a lane
)

// Sums are the scores of the classes in units of the model.
type Sums [Classes]int32

const (
	magic      = "nsc3"
	headerSize = len(magic) + 3*4
	shortsSize = 2 * (Classes + urltext.TiedFeatures)
	modelSize  = headerSize + shortsSize + Classes*urltext.PlainFeatures
)

// Parse decodes a model written by Quantise.
func Parse(data []byte) (*Model, error) {
	if len(data) != modelSize || string(data[:len(magic)]) != magic {
		return nil, errors.New("made for another set of features")
	}
	m := &Model{unit: float(data[len(magic):]), text: float(data[len(magic)+4:]), spread: float(data[len(magic)+8:])}
	shorts := data[headerSize : headerSize+shortsSize]
	short := func(i int) int32 { return int32(int16(binary.LittleEndian.Uint16(shorts[2*i:]))) }
	for c := range m.bias {
		m.bias[c] = short(c)
	}
	for t := range m.tied {
		m.tied[t] = short(Classes + t)
	}
	rows := data[headerSize+shortsSize:]
	m.plain = make([][lanes]uint64, urltext.PlainFeatures)
	for p := range m.plain {
		for c := range Classes {
			m.plain[p][c/4] |= uint64(int(int8(rows[p*Classes+c]))+laneBias) << (16 * (c % 4))
		}
	}
	return m, nil
}

func float(data []byte) float64 {
	return float64(math.Float32frombits(binary.LittleEndian.Uint32(data)))
}

// levels is the number of steps on either side of zero. Weights of hashed features, which are most of the file, take
// every third: that saves a quarter of it.
const (
	levels     = 126
	hashedStep = 3
)

// Temperatures are the results of the calibration: scores are divided by them before they become probabilities.
type Temperatures struct {
	URL    float64 // of URLs alone
	Text   float64 // of URLs with texts, for scores that do not differ
	Spread float64 // what this grows by with the spread of the scores
}

// OfText returns the temperature for the scores of a URL with texts.
func (t Temperatures) OfText(s *[Classes]float64) float64 {
	return t.Text + float64(t.Spread*spread(s))
}

// spread is the standard deviation of scores.
func spread(s *[Classes]float64) float64 {
	mean, squares := 0.0, 0.0
	for _, x := range s {
		mean += x / float64(Classes)
	}
	for _, x := range s {
		squares += float64((x - mean) * (x - mean))
	}
	return math.Sqrt(squares / float64(Classes))
}

// Quantise encodes w as Parse expects it.
func Quantise(w *Weights, t Temperatures) []byte {
	top := 0.0
	for p := range w.Plain {
		for _, x := range w.Plain[p] {
			top = max(top, math.Abs(x))
		}
	}
	unit := top / levels
	if unit == 0 {
		unit = 1
	}
	data := append(make([]byte, 0, modelSize), magic...)
	data = binary.LittleEndian.AppendUint32(data, math.Float32bits(float32(unit/t.URL)))
	data = binary.LittleEndian.AppendUint32(data, math.Float32bits(float32(t.Text/t.URL)))
	data = binary.LittleEndian.AppendUint32(data, math.Float32bits(float32(t.Spread)))
	short := func(x float64) {
		q := math.Round(x / unit)
		data = binary.LittleEndian.AppendUint16(data, uint16(int16(max(-32768, min(32767, q)))))
	}
	for _, x := range w.Bias {
		short(x)
	}
	for _, x := range w.Tied {
		short(x)
	}
	for p := range w.Plain {
		step := 1.0
		if urltext.GroupOf(p) == urltext.Hashed {
			step = hashedStep
		}
		for _, x := range w.Plain[p] {
			data = append(data, byte(int8(step*math.Round(x/(unit*step)))))
		}
	}
	return data
}

// Score returns the scores of features.
func (m *Model) Score(f *urltext.Features) Sums {
	s := Sums(m.bias)
	m.Add(&s, f)
	return s
}

// Add adds the scores of features to s.
func (m *Model) Add(s *Sums, f *urltext.Features) {
	for _, t := range f.Tied {
		s[t.For] += m.tied[t.At]
	}
	for plain := f.Plain; len(plain) > 0; {
		part := plain[:min(len(plain), laneFull)]
		plain = plain[len(part):]
		var sum [lanes]uint64
		for _, p := range part {
			row := &m.plain[p]
			for i := range sum {
				sum[i] += row[i]
			}
		}
		for c := range s {
			s[c] += int32(sum[c/4]>>(16*(c%4))&0xFFFF) - int32(laneBias*len(part))
		}
	}
}

// Temper calibrates the scores of a URL with texts, which are as sure of themselves as those of a URL alone without
// being right as often: the less so the further the scores are apart, as those of long texts are, whose words repeat
// each other.
func (m *Model) Temper(s *Sums) {
	l := m.Logits(s)
	t := Temperatures{Text: m.text, Spread: m.spread}.OfText(&l)
	for c := range s {
		s[c] = int32(math.Round(float64(s[c]) / t))
	}
}

// Logits returns the scores in natural units, the input of Softmax.
func (m *Model) Logits(s *Sums) [Classes]float64 {
	var l [Classes]float64
	for c := range l {
		l[c] = float64(s[c]) * m.unit
	}
	return l
}

// Best returns the class with the highest score, the first of equals.
func (s *Sums) Best() int {
	best := 0
	for c := range s {
		if s[c] > s[best] {
			best = c
		}
	}
	return best
}

// Probabilities turns scores into calibrated probabilities.
func (m *Model) Probabilities(s *Sums) [Classes]float64 {
	p := m.Logits(s)
	Softmax(&p)
	return p
}

// Confidence returns the calibrated probability of best, the class with the highest score, to about 6 digits.
func (m *Model) Confidence(s *Sums, best int) float64 {
	top, sum := s[best], 0.0
	for _, x := range s {
		// e^-(k+d)/32 = e^-k/32 · e^-d/32, with the second approximated by 1 - d/32 + (d/32)²/2.
		at := float64(top-x) * m.unit * powerSteps
		if k := int(at); k < len(powers) {
			d := (at - float64(k)) / powerSteps
			sum += powers[k] * (1 - d + d*d/2)
		}
	}
	return 1 / sum
}

const powerSteps = 32

// powers are e^-k/32; anything smaller than the last is negligible.
var powers = func() (t [16 * powerSteps]float64) {
	for k := range t {
		t[k] = exp(-float64(k) / powerSteps)
	}
	return t
}()
