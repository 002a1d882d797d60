package urltext

import (
	"os"
	"testing"

	"github.com/newsfork/seed-engine/classify/internal/lexicon"
)

// words returns those of the lexicon.
func words(t testing.TB) *lexicon.Words {
	t.Helper()
	general, hosts, err := lexicon.Texts(os.DirFS("../lexicon"))
	if err != nil {
		t.Fatal(err)
	}
	w, err := lexicon.NewWords(general, hosts)
	if err != nil {
		t.Fatal(err)
	}
	return w
}
