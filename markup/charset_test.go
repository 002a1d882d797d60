package markup

import (
	"testing"
	"unicode/utf8"
)

// FuzzGuess: detection only returns names that charset recognises.
func FuzzGuess(f *testing.F) {
	f.Add([]byte("\xc1\xa4\xba\xce, \xbb\xf5\xb7\xce\xbf\xee"))
	f.Add([]byte("<?xml encoding="))
	f.Fuzz(func(t *testing.T, b []byte) {
		name := guess(b)
		if again, enc := charset(name); again != name || (enc == nil) != (name == utf8Name) {
			t.Errorf("guessed %q", name)
		}
		xmlEncoding(b)
		charsetParam(string(b))
		if good, bad := countUTF8(b); utf8.Valid(b) && bad > 0 || good+bad > len(b) {
			t.Errorf("%d and %d of %d bytes", good, bad, len(b))
		}
	})
}
