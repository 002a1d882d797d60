package urlword

import "testing"

func TestIsLanguage(t *testing.T) {
	for segment, want := range map[string]bool{
		"ko": true, "KR": true, "en-GB": true, "pt_br": true, "zh-Hans": true, "zh_hant": true, "es-419": true,
		"por":     true,
		"english": true, "tc": true,
		"": false, "e": false, "us": false, "int": false, "it-jobs": false, "no-war": false, "news": false, "xx": false,
		"xx-GB": false, "en-12": false, "enGB": false, "en-gb-oxendict": false,
	} {
		if got := IsLanguage(segment); got != want {
			t.Errorf("%q: %v", segment, got)
		}
	}
}

func TestIsEdition(t *testing.T) {
	for segment, want := range map[string]bool{"us": true, "INT": true, "gb": true, "en": false, "": false,
		"usa": false} {
		if got := IsEdition(segment); got != want {
			t.Errorf("%q: %v", segment, got)
		}
	}
}

func TestIsPage(t *testing.T) {
	for segment, want := range map[string]bool{"page": true, "P": true, "Seite": true, "stranka": true, "pages": false,
		"": false, "paginanummer": false} {
		if got := IsPage(segment); got != want {
			t.Errorf("%q: %v", segment, got)
		}
	}
}

func TestWords_FitTheBuffer(t *testing.T) {
	for _, words := range []map[string]bool{languages, names, editions, pages} {
		for word := range words {
			if len(word) > longest {
				t.Errorf("%q is longer than longest", word)
			}
		}
	}
}
