package markup

import "github.com/newsfork/seed-engine/swar"

// NextLT returns the index of the next "<" from i on, or -1.
func NextLT(b []byte, i int) int {
	for ; i+8 <= len(b); i += 8 {
		if m := swar.Match(swar.Load(b, i), '<'); m != 0 {
			return i + swar.First(m)
		}
	}
	for ; i < len(b); i++ {
		if b[i] == '<' {
			return i
		}
	}
	return -1
}

// NextOf returns the index of the next x or y from i on, or -1.
func NextOf(b []byte, i int, x, y byte) int {
	xs, ys := swar.Ones*uint64(x), swar.Ones*uint64(y)
	for ; i+8 <= len(b); i += 8 {
		w := swar.Load(b, i)
		if m := (swar.Zeroes(w^xs) | swar.Zeroes(w^ys)) & swar.Highs; m != 0 {
			return i + swar.First(m)
		}
	}
	for ; i < len(b); i++ {
		if b[i] == x || b[i] == y {
			return i
		}
	}
	return -1
}

// TagEnd returns where the tag that begins at b[i] ends, and where to go on; -1 when b ends before it. A ">" in quotes
// belongs to the tag, unless the quotes are broken: a "<" is legal nowhere in a tag, so it ends a tag that lost its
// ">" or its closing quote.
func TagEnd(b []byte, i int) (end, next int) {
	gt := -1 // the first ">" inside quotes
	var quote byte
	for ; i < len(b); i++ {
		switch c := b[i]; c {
		case '>':
			if quote == 0 {
				return i, i + 1
			}
			if gt < 0 {
				gt = i
			}
		case '"', '\'':
			if quote == 0 {
				quote = c
			} else if quote == c {
				quote, gt = 0, -1
			}
		case '<':
			if gt >= 0 {
				return gt, gt + 1
			}
			return i, i
		}
	}
	return -1, 0
}
