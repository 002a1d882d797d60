package pagetext

import (
	"math/bits"
	"testing"

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
			if told := bits.OnesCount8(x.told); told < test.least || told > test.most {
				t.Errorf("tells %d things of an office-holder: %06b", told, x.told)
			}
		})
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
