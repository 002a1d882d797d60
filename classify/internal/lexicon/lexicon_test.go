package lexicon

import (
	"maps"
	"math"
	mathbits "math/bits"
	"os"
	"strings"
	"testing"
)

func texts(t testing.TB) (general, hosts string) {
	t.Helper()
	general, hosts, err := Texts(os.DirFS("."))
	if err != nil {
		t.Fatal(err)
	}
	return general, hosts
}

func words(t testing.TB) *Words {
	t.Helper()
	w, err := NewWords(texts(t))
	if err != nil {
		t.Fatal(err)
	}
	return w
}

// senses finds the words of a text with spaces between words, and returns the first sense of each.
func senses(l *Lexicon, text string) map[string]Role {
	var folded []byte
	var starts []bool
	begin := true
	for _, r := range text {
		a, b := Fold(r)
		if a < 0 {
			continue
		}
		if !IsWord(a) {
			begin = true
			continue
		}
		n := len(folded)
		folded = append(folded, string(a)...)
		if b != 0 {
			folded = append(folded, string(b)...)
		}
		for i := n; i < len(folded); i++ {
			starts = append(starts, begin && i == n)
		}
		begin = false
	}
	starts = append(starts, true)
	found := map[string]Role{}
	for _, m := range l.Find(nil, folded, starts) {
		for s := range m.Senses {
			found[string(folded[m.Start:m.End])] = s.Role
			break
		}
	}
	return found
}

func TestFind(t *testing.T) {
	w := words(t)
	for text, want := range map[string]struct {
		word string
		role Role
	}{
		"Press Releases":     {"pressreleases", PressRelease}, // two words
		"pressrelease":       {"pressrelease", PressRelease},  // run together
		"Häufige Fragen":     {"haufigefragen", FAQ},
		"haeufige-fragen":    {"haeufigefragen", FAQ}, // umlaut written as two letters
		"오늘의공지사항":            {"공지사항", Announcement},  // within text that has no spaces
		"ПРЕСС-РЕЛИЗЫ":       {"прессрелизы", PressRelease},
		"ｃｏｎｔａｃｔ":            {"contact", Contact},
		"الأسئلة الشائعة":    {"الاسئلهالشائعه", FAQ},
		"pressemitteilungen": {"pressemitteilung", PressRelease},
	} {
		if role, ok := senses(w.General, text)[want.word]; !ok || role != want.role {
			t.Errorf("%q: %v, want %s as %s", text, senses(w.General, text), want.word, want.role)
		}
	}
	if found := senses(w.General, "actor"); len(found) != 0 && found["act"] == Legislation {
		t.Errorf("a whole word is found within another: %v", found)
	}
	if found := senses(w.Hosts, "thetownherald"); found["herald"] != Media {
		t.Errorf("hosts: %v", found)
	}
}

func TestFold(t *testing.T) {
	for in, want := range map[rune]string{
		'A': "a", 'É': "e", 'ß': "ss", 'Æ': "ae", 'ł': "l", 'ệ': "e", 'Ж': "ж", 'Ё': "е", 'Ά': "α", 'ς': "σ",
		'Ａ': "a", 'آ': "ا", '한': "한", '漢': "漢", 'ก': "ก",
	} {
		a, b := Fold(in)
		got := string(a)
		if b != 0 {
			got += string(b)
		}
		if got != want {
			t.Errorf("%c: %q, want %q", in, got, want)
		}
	}
	if a, _ := Fold('\u0301'); a >= 0 {
		t.Error("a combining accent is kept")
	}
	for c := range byte(0x80) {
		a, _ := Fold(rune(c))
		if got := FoldASCII(c); (got != 0) != IsWord(a) || got != 0 && rune(got) != a {
			t.Errorf("FoldASCII(%q) = %q", c, got)
		}
	}
}

func TestRoles(t *testing.T) {
	for r := range Role(Roles) {
		if got, ok := ParseRole(r.String()); !ok || got != r {
			t.Errorf("%s: %v", r, got)
		}
	}
	if _, ok := ParseRole("nonsense"); ok || Role(Roles).String() != "invalid" {
		t.Error("a role that does not exist")
	}
	for _, texts := range [][2]string{{"[nonsense]\nword", ""}, {"[news]\nword", "[nonsense+]"}} {
		if _, err := NewWords(texts[0], texts[1]); err == nil {
			t.Errorf("%q is read", texts)
		}
	}
}

// BenchmarkRead measures the wait of an instance's first URL.
func BenchmarkRead(b *testing.B) {
	b.ReportAllocs()
	general, hosts := texts(b)
	for b.Loop() {
		if _, err := NewWords(general, hosts); err != nil {
			b.Fatal(err)
		}
	}
}

// TestFronts: what saves the search at most positions of a text hides no word.
func TestFronts(t *testing.T) {
	general := words(t).General
	searching := *general
	for i := range searching.long {
		searching.inner[i], searching.long[i] = math.MaxUint64, math.MaxUint64
	}
	text, _ := texts(t)
	lines := strings.Split(text, "\n")
	for i, line := range lines {
		for _, text := range []string{line, strings.ReplaceAll(line, " ", ""), "x" + line + lines[len(lines)-1-i]} {
			if have, want := senses(general, text), senses(&searching, text); !maps.Equal(have, want) {
				t.Errorf("%.60s: %d words, want %d", text, len(have), len(want))
			}
		}
	}
	set := 0
	for _, bits := range general.long {
		set += mathbits.OnesCount64(bits)
	}
	if 4*set > 1<<frontBits {
		t.Errorf("%d of %d fronts are taken: too many to save much", set, 1<<frontBits)
	}
}
