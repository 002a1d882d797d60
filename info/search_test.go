package info

import (
	"fmt"
	"strings"
	"testing"
)

func TestGrams(t *testing.T) {
	for text, want := range map[string]string{
		"폐배터리를":            "폐배 배터 터리 리를 를",
		"AI로 EV 3대":        "ai 로 ev 3 대",
		"물":                "물",
		"It's 5.5% (2026)": "it s 5 5 2026",
		"日本語ニュース":          "日本 本語 語ニ ニュ ュー ース ス",
		"é":                "é",
		"":                 "",
	} {
		if got := strings.Join(Grams(text), " "); got != want {
			t.Errorf("%q: %q, not %q", text, got, want)
		}
	}
}

func TestParseSearch(t *testing.T) {
	for q, want := range map[string]string{
		"배터리":                       "[배터 터리]",
		"물 AI로":                     "[물]* [ai] [로]*",
		"recycl* ev* c-3po":         "[recycl]* [ev] [c] [3po]",
		"' OR 1=1 --":               "[or] [1] [1]",
		"\"\" & | !":                "",
		strings.Repeat("a b ", 100): strings.TrimSpace(strings.Repeat("[a] [b] ", 4)),
		strings.Repeat("가", 500):    "[" + strings.TrimSpace(strings.Repeat("가가 ", 98)) + "]",
	} {
		var got []string
		for _, term := range ParseSearch(q) {
			s := fmt.Sprint(term.Grams)
			if term.Prefix {
				s += "*"
			}
			got = append(got, s)
		}
		if s := strings.Join(got, " "); s != want {
			t.Errorf("%q: %s, not %s", q, s, want)
		}
	}
}
