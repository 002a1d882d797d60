package urlword_test

import (
	"testing"

	"github.com/newsfork/seed-engine/urlword"
)

func TestIsDate(t *testing.T) {
	for digits, want := range map[string]bool{
		"20230915": true, "15092023": true, "202309": true, "20390101": true,
		"20231315": false, "20230932": false, "20230900": false, "202313": false, "202300": false,
		"19840101": false, "20400101": false, "2023": false, "2023091": false, "": false,
		"2023-9-1": false, "2023091a": false, "+2023091": false, "２０": false,
	} {
		if got := urlword.IsDate(digits); got != want {
			t.Errorf("IsDate(%q) = %t", digits, got)
		}
		if got := urlword.IsDate([]byte(digits)); got != want {
			t.Errorf("IsDate of the bytes %q = %t", digits, got)
		}
	}
}

func TestBetween(t *testing.T) {
	for _, c := range []struct {
		text      string
		low, high int
		want      bool
	}{
		{"1", 1, 12, true}, {"012", 1, 12, true}, {"13", 1, 12, false}, {"0", 1, 12, false}, {"", 0, 9, false},
		{"-1", -5, 5, false}, {"1.", 1, 12, false}, {"999999999", 2, 999_999_999, true},
		{"9999999999", 0, 1 << 62, false},
	} {
		if got := urlword.Between(c.text, c.low, c.high); got != c.want {
			t.Errorf("Between(%q, %d, %d) = %t", c.text, c.low, c.high, got)
		}
	}
}
