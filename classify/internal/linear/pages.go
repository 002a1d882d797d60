package linear

import (
	"encoding/binary"
	"errors"
	"math"
	"slices"

	"github.com/newsfork/seed-engine/classify/internal/pagetext"
)

// Pages holds the weights of evidence: scores that are added to those of a page by its URL and texts, which count less
// the less sure they are.
type Pages struct {
	keep [pagetext.Buckets]float64 // what scores without evidence are multiplied by
	unit float64
	rows []byte
}

// PageWeights are those of Pages before quantisation. Their scores are calibrated.
type PageWeights struct {
	Keep [pagetext.Buckets]float64
	Rows [pagetext.Size][Classes]float64
}

const (
	pagesMagic = "nsp1"
	pagesSize  = len(pagesMagic) + 4*(pagetext.Buckets+1) + Classes*pagetext.Size
	rowLevels  = 127
)

// QuantisePages encodes w as ParsePages expects it.
func QuantisePages(w *PageWeights) []byte {
	top := 0.0
	for i := range w.Rows {
		for _, x := range w.Rows[i] {
			top = max(top, math.Abs(x))
		}
	}
	unit := max(top, 1e-6) / rowLevels
	data := append(make([]byte, 0, pagesSize), pagesMagic...)
	for _, x := range append(w.Keep[:], unit) {
		data = binary.LittleEndian.AppendUint32(data, math.Float32bits(float32(x)))
	}
	for i := range w.Rows {
		for _, x := range w.Rows[i] {
			data = append(data, byte(int8(math.Round(x/unit))))
		}
	}
	return data
}

// ParsePages decodes the result of QuantisePages.
func ParsePages(data []byte) (*Pages, error) {
	if len(data) != pagesSize || string(data[:len(pagesMagic)]) != pagesMagic {
		return nil, errors.New("made for other features of pages")
	}
	p := &Pages{}
	data = data[len(pagesMagic):]
	for i := range p.keep {
		p.keep[i] = float(data[4*i:])
	}
	p.unit, p.rows = float(data[4*len(p.keep):]), data[4*(len(p.keep)+1):]
	return p, nil
}

// Scores returns the scores of a page in natural units: those without its evidence, which are calibrated, and those of
// the features of the evidence.
func (p *Pages) Scores(without [Classes]float64, features []uint32, known pagetext.Known) [Classes]float64 {
	var sums [Classes]int32
	for _, f := range features {
		row := p.rows[int(f)*Classes:][:Classes]
		for c, x := range row {
			sums[c] += int32(int8(x))
		}
	}
	scores := without
	for c := range scores {
		scores[c] = float64(p.keep[known.Bucket()]*scores[c]) + float64(float64(sums[c])*p.unit)
	}
	return scores
}

// SetLogits returns scores in natural units as those of the model.
func (m *Model) SetLogits(l *[Classes]float64) (s Sums) {
	if m.unit == 0 {
		return s
	}
	const furthest = 30 // below the best
	top := slices.Max(l[:])
	for c := range s {
		s[c] = int32(math.Round(max(l[c]-top, -furthest) / m.unit))
	}
	return s
}
