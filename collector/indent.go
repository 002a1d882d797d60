package collector

import "bytes"

// indentation of documents, as the workflow documents show them.
const indentation = "  "

// appendIndented appends compact JSON as json.Indent does with two spaces, for JSON that was just made and need not be
// checked: that takes a tenth of the time, and a document of a hundred kilobytes is written for each domain.
func appendIndented(b, compact []byte) []byte {
	depth := 0
	line := func() {
		b = append(b, '\n')
		for range depth {
			b = append(b, indentation...)
		}
	}
	for i := 0; i < len(compact); i++ {
		c := compact[i]
		switch c {
		case '"':
			end := i + 1 + stringLength(compact[i+1:])
			b = append(b, compact[i:end]...)
			i = end - 1
		case '{', '[':
			b = append(b, c)
			if next := compact[i+1]; next == c+2 { // "{}" and "[]"
				b = append(b, next)
				i++
				continue
			}
			depth++
			line()
		case '}', ']':
			depth--
			line()
			b = append(b, c)
		case ',':
			b = append(b, c)
			line()
		case ':':
			b = append(b, c, ' ')
		default:
			b = append(b, c)
		}
	}
	return b
}

// stringLength returns the length of what follows the opening quotation mark of a string, the closing one included.
func stringLength(b []byte) int {
	n := 0
	for {
		n += bytes.IndexByte(b[n:], '"') + 1
		before := n - 1
		for before > 0 && b[before-1] == '\\' {
			before--
		}
		if (n-1-before)%2 == 0 { // the backslashes before it escape each other
			return n
		}
	}
}
