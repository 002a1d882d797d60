package discovery

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// The package comment places each file in the way of a URL from sighting to listing.
func TestDoc_NamesEveryFile(t *testing.T) {
	page, err := os.ReadFile("doc.go")
	if err != nil {
		t.Fatal(err)
	}
	files, err := filepath.Glob("*.go")
	if err != nil || len(files) < 20 {
		t.Fatal(files, err)
	}
	for _, file := range files {
		if !strings.HasSuffix(file, "_test.go") && file != "doc.go" && !strings.Contains(string(page), file) {
			t.Errorf("doc.go does not say what %s is for", file)
		}
	}
	for _, word := range strings.FieldsFunc(string(page),
		func(r rune) bool { return strings.ContainsRune(" (),:\n", r) }) {
		if strings.HasSuffix(word, ".go") {
			if _, err := os.Stat(word); err != nil {
				t.Errorf("doc.go names %s: %v", word, err)
			}
		}
	}
}
