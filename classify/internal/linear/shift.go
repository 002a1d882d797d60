package linear

// Shift adds logarithms of probabilities to scores: what else speaks for and against the classes.
func (m *Model) Shift(s *Sums, by *[Classes]float64) {
	if m.unit == 0 {
		return
	}
	for c := range s {
		s[c] += int32(by[c] / m.unit)
	}
}
