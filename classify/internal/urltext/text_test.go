package urltext

import (
	"slices"
	"testing"

	"github.com/newsfork/seed-engine/classify/hosts"
)

// TestCutTitle: the names of sections and of the site are no part of a title, but a hyphen within it is.
func TestCutTitle(t *testing.T) {
	for title, want := range map[string][2]string{
		"통계로 보는 1인가구 | 전체 | 보도자료 : 데이터처":     {"통계로 보는 1인가구", "전체 | 보도자료 : 데이터처"},
		"Mayor opens bridge – The Gazette":   {"Mayor opens bridge", "The Gazette"},
		"Follow-up: a twenty-year plan":      {"Follow-up: a twenty-year plan", ""},
		" - The Gazette":                     {" - The Gazette", ""},
		"税の猶予｜美唄市":                           {"税の猶予", "美唄市"},
		"":                                   {"", ""},
		"Home > Services > Parking permits ": {"Home", "Services > Parking permits "},
	} {
		if own, after := cutTitle(title); own != want[0] || after != want[1] {
			t.Errorf("%q: %q, %q", title, own, after)
		}
	}
}

// TestText_BesideURL: where a text stands beside it, the URL has features besides its own, and none twice.
func TestText_BesideURL(t *testing.T) {
	r := Reading{Words: words(t)}
	var f Features
	r.Read("https://www.example.go.kr/news/view.do?id=7", hosts.OtherSector)
	r.Extract(&f)
	alone := slices.Clone(f.Plain)
	r.ReadText("보도자료 | Ministry of News", "")
	r.ExtractText(&f)
	beside := 0
	for _, p := range f.Plain {
		if slices.Contains(alone, p) && int(p) < plainHashed {
			t.Errorf("feature %d counts twice", p)
		}
		if plainURL <= int(p) && int(p) < 2*plainURL {
			beside++
		}
	}
	dense := slices.DeleteFunc(alone, func(p uint16) bool { return int(p) >= plainHashed })
	if beside != len(dense) {
		t.Errorf("%d features of the URL beside its text, %d of it alone", beside, len(dense))
	}
	first := slices.Clone(f.Plain)
	r.Read("https://www.example.go.kr/news/view.do?id=7", hosts.OtherSector)
	r.Extract(&f)
	r.ReadText("보도자료 | Ministry of News", "")
	r.ExtractText(&f)
	if !slices.Equal(first, f.Plain) {
		t.Error("the same URL and text have other features the second time")
	}
}

// TestGrams: sequences are of whole letters in every script, and none of a word that is shorter.
func TestGrams(t *testing.T) {
	for word, want := range map[string]int{"news": 1, "policy": 3, "нов": 0, "новости": 4, "税": 0, "税金猶予": 3,
		"abcdefghijklmnopqrstuvwxyzabcdef": 24} {
		var f Features
		f.grams([]byte(word))
		if len(f.Plain) != want {
			t.Errorf("%s: %d sequences, want %d", word, len(f.Plain), want)
		}
	}
}

// TestCapitals: how the words of a text begin.
func TestCapitals(t *testing.T) {
	seen := map[byte]string{}
	for _, text := range []string{
		"machine-readable format, in the chart", "Minister opens bridge", "The Minister of Health opens the bridge",
		"Governor Brown Fills Court Vacancy", "The Governor Fills a Court Vacancy", "ANNUAL REPORT", "보도자료", "2021",
	} {
		c := capitals(text)
		if other, ok := seen[c]; ok {
			t.Errorf("%q and %q are alike", text, other)
		}
		seen[c] = text
	}
	if capitals("Der Rat der Stadt") != capitals("Die Lage des Landes") {
		t.Error("two titles with as many capitals differ")
	}
}
