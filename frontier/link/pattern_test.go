package link

import (
	"strings"
	"testing"
)

func TestPattern(t *testing.T) {
	for path, want := range map[string]string{
		"":                               "*",
		"about":                          "*",
		"news/2026/01/28/a-story":        "news/0/0/0/*",
		"a12b3/x":                        "a0b0/*",
		"list/":                          "list/*",
		"list/show.php?id=7&page=2&id=8": "list/show.php?id&page",
		"?b&a=1":                         "?a&b",
		strings.Repeat("a/", 50) + "b":   strings.Repeat("a/", 30),
	} {
		if got := Pattern(path); got != want {
			t.Errorf("%q: %q, want %q", path, got, want)
		}
	}
}
