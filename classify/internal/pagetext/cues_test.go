package pagetext

import (
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/newsfork/seed-engine/classify/internal/urltext"
	"github.com/newsfork/seed-engine/page"
)

func TestBiography(t *testing.T) {
	for name, test := range map[string]struct {
		text        string
		least, most int
	}{
		"German":     {"Geboren 1961 in Graz, verheiratet, zwei Kinder. Abgeordnete, Wahlkreis 6, Fraktion", 5, 6},
		"Portuguese": {"Deputado, círculo de Faro. Nascido em 1970. Licenciatura em Direito. Partido X", 5, 6},
		"Icelandic":  {"Fæddur á Akureyri 1955. Stúdentspróf 1975. Maki: Anna. Alþingismaður, þingflokkur", 5, 6},
		"Kyrgyz":     {"Депутат, туулган жылы 1969, билими жогорку, үйлөнгөн, фракциясы", 4, 6},
		"Japanese":   {"衆議院議員 昭和30年生まれ 東京大学卒業 当選5回 選挙区", 4, 6},
		"Arabic":     {"النائب من مواليد 1960 حزب الأمة المؤهل بكالوريوس متزوج", 5, 6},
		"news":       {"The budget passed on Tuesday after a long debate about schools and roads", 0, 1},
		"product":    {"Lenovo ThinkPad with 16 GB of memory, free delivery within two days", 0, 1},
	} {
		t.Run(name, func(t *testing.T) {
			var x Extractor
			x.Extract(&urltext.Reading{}, &page.Evidence{Text: test.text}, Known{})
			told := 0
			for cue := range byte(biographyCues) {
				if x.tells(cue) {
					told++
				}
			}
			if told < test.least || told > test.most {
				t.Errorf("tells %d things of an office-holder", told)
			}
		})
	}
}

// What pages tell is found in whatever language and form.
func TestCues(t *testing.T) {
	names := map[string]byte{}
	for line := range strings.Lines(cueText) {
		if name, found := strings.CutPrefix(strings.TrimSpace(line), "["); found {
			if _, twice := names[name]; twice {
				t.Errorf("[%s stands twice", name)
			}
			names[name] = byte(len(names))
		}
	}
	if len(names) > maxCues {
		t.Fatalf("%d cues, at most %d", len(names), maxCues)
	}
	for cue, texts := range map[string][]string{
		"fee": {"A fee is charged", "Die Gebühr beträgt 20 Euro", "Размер пошлины", "手数料 300円",
			"Maksut ja hinnasto"},
		"force":   {"It enters into force in May", "Inkrafttreten am 1. Mai", "Ustawa wchodzi w życie", "النص نافذ"},
		"tender":  {"Notice of tender", "Öffentliche Ausschreibung", "Licitación pública", "入札公告", "Тендер на закупку"},
		"percent": {"Up by 3 per cent, 4 percent", "Zuwachs von drei Prozent", "на 5 процентов", "2,1 prosenttia"},
	} {
		for _, text := range texts {
			var x Extractor
			x.words(textField, text)
			if !x.tells(names[cue+"]"]) {
				t.Errorf("%q does not tell of [%s]", text, cue)
			}
		}
	}
	var x Extractor
	x.words(textField, "Two horses walked along a river")
	for name, cue := range names {
		if x.tells(cue) {
			t.Errorf("a walk tells of [%s", name)
		}
	}
}

// TestCues_Words: each entry is one word for the reader, as a piece of a word may be another word. Of Chinese, Japanese
// and Korean an entry of three characters is two pairs.
func TestCues_Words(t *testing.T) {
	var w wordReader
	for line := range strings.Lines(cueText) {
		if line[0] == '#' || line[0] == '[' {
			continue
		}
		for entry := range strings.FieldsSeq(line) {
			first, _ := utf8.DecodeRuneInString(entry)
			words := 0
			w.read(entry, func([]byte) { words++ })
			if words != 1 && !isSpaceless(first) {
				t.Errorf("%s is %d words", entry, words)
			}
		}
	}
}

// TestCues_Once: a word that fits a cue in two ways is one word of it.
func TestCues_Once(t *testing.T) {
	var x Extractor
	x.words(textField, "pieteikums")
	for cue, n := range x.told[inText] {
		if n > 1 {
			t.Errorf("cue %d is counted %d times", cue, n)
		}
	}
	if !slices.Contains(x.told[inText][:], 1) {
		t.Error("no cue is counted")
	}
}

func TestCueTable(t *testing.T) {
	table := newCueTable("# words\n[a]\nfee\nen: charge* fee\n[b]\nde: gebühr* charge\nru: сбор*\n")
	for word, want := range map[string][]uint8{
		"fee": {0}, "fees": nil, "charge": {0, 1}, "charges": {0}, "charg": nil, "gebuhren": {1}, "сборы": {1},
		"сбо": nil,
	} {
		var got []uint8
		table.each([]byte(word), func(cue uint8) { got = append(got, cue) })
		if slices.Sort(got); !slices.Equal(got, want) {
			t.Errorf("%s tells of %v, want %v", word, got, want)
		}
	}
}

func TestIsName(t *testing.T) {
	for text, want := range map[string]bool{
		"Andrei DOLINEASCHI": true, "Hon. Anthony Bezzina MP | Parliament": true,
		"Carl Meerveld - States of Guernsey": true, "Грицкевич Геннадий Павлович": true,
		"": false, "Contact": false, "Members of Parliament": false, "Депутатский корпус": false,
	} {
		if got := isName(text); got != want {
			t.Errorf("%q: %t", text, got)
		}
	}
}
