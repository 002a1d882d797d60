package urltext

import (
	"math/rand/v2"
	"os"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/newsfork/seed-engine/classify/internal/lexicon"
)

// sameTitle reads a title by its words and letter by letter, and fails where anything differs. It reports whether
// words sufficed.
func sameTitle(t testing.TB, byWords, byLetters *Reading, title string) bool {
	t.Helper()
	read := func(r *Reading, f *Features, words bool) Segment {
		r.mem.reset()
		r.Query = r.Query[:0]
		r.Path = append(r.Path[:0], Segment{})
		s := &r.Path[0]
		text, extAt := r.unescape(&r.mem, s, clip(title, maxSegmentBytes), true)
		if r.titled = words && r.readWords(s, text, extAt); !r.titled {
			s.fold(&r.mem, text, extAt)
			r.lookUp(&r.mem, s)
		}
		s.Kind = s.shape()
		r.ExtractTitle(f, OtherHost)
		read := *s
		read.starts, read.Hits = nil, append([]Hit{}, s.Hits...)
		return read
	}
	var f, wantFeatures Features
	s, want := read(byWords, &f, true), read(byLetters, &wantFeatures, false)
	if !reflect.DeepEqual(s, want) || !slices.Equal(f.Plain, wantFeatures.Plain) ||
		!slices.Equal(f.Tied, wantFeatures.Tied) {
		t.Fatalf("%q by its words:\n%+v\n%v\nnot\n%+v\n%v", title, s, f.Plain, want, wantFeatures.Plain)
	}
	return byWords.titled
}

// TestTitle_ByWords: a title read by its words is as if it had been read letter by letter, whatever the words before
// it left behind.
func TestTitle_ByWords(t *testing.T) {
	general, _, err := lexicon.Texts(os.DirFS("../lexicon"))
	if err != nil {
		t.Fatal(err)
	}
	list := regexp.MustCompile(`[a-z0-9]+`).FindAllString(strings.ToLower(general), -1)
	list = append(list, "s", "e", "es", "19", "2026", "404", "of", "in", "a")
	rnd := rand.New(rand.NewPCG(5, 5))
	byWords, byLetters := Reading{Words: words(t)}, Reading{Words: words(t)}
	n, sufficed := 40_000, 0
	if testing.Short() {
		n = 4_000
	}
	for range n {
		var title strings.Builder
		for i := range 1 + rnd.IntN(9) {
			if i > 0 && rnd.IntN(8) > 0 {
				title.WriteByte("--_.,'"[rnd.IntN(6)])
			}
			word := list[rnd.IntN(len(list))]
			switch at := rnd.IntN(min(5, len(word))); rnd.IntN(12) {
			case 0:
				word += "s"
			case 1:
				word = word[:1+rnd.IntN(len(word))] // mostly no word
			case 2:
				word = word[rnd.IntN(len(word)):]
			case 3:
				word = "xk" + word[:at] + "-" + word[at:]
			case 4:
				word += "e-s"
			}
			title.WriteString(word)
		}
		title.WriteString([...]string{"", "", "", ".html", ".do", ".m3u8", ".PDF", ".v2", "/", "É"}[rnd.IntN(10)])
		if sameTitle(t, &byWords, &byLetters, title.String()) {
			sufficed++
		}
	}
	if 2*sufficed < n {
		t.Errorf("only %d of %d titles are read by their words", sufficed, n)
	}
}

func FuzzTitle_ByWords(f *testing.F) {
	f.Add("minister-opens-new-bridge-over-river-12.html")
	f.Add("the-state-s-annual-report-2026")
	f.Add("10-new-shops-press-release-s")
	f.Add("covid19-7th-wave.do")
	byWords, byLetters := Reading{Words: words(f)}, Reading{Words: words(f)}
	f.Fuzz(func(t *testing.T, title string) { sameTitle(t, &byWords, &byLetters, title) })
}
