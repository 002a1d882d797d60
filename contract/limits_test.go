package contract

import (
	"strings"
	"testing"
	"unicode/utf8"
)

func TestShortText(t *testing.T) {
	if ShortText("") != nil || *ShortText("한국뉴스") != "한국뉴스" {
		t.Error("a short text was changed")
	}
	for _, s := range []string{strings.Repeat("a", 501), strings.Repeat("한", 200), "x" + strings.Repeat("😀", 200),
		"\xff" + strings.Repeat("a", 600), "\xff"} {
		got := *ShortText(s)
		if len(got) > MaxTextBytes || len(s) > MaxTextBytes && !strings.HasSuffix(got, "…") ||
			!utf8.ValidString(got) {
			t.Errorf("%q became %q", s, got)
		}
	}
}
