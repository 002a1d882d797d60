package discovery

import (
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// The package comment lists each file once, those of a stage together and in the order of the stages.
func TestDoc_ListsEveryFile(t *testing.T) {
	page, err := os.ReadFile("doc.go")
	if err != nil {
		t.Fatal(err)
	}
	var listed, stages []string
	item := regexp.MustCompile(`(?m)^//   - (([a-z]+)[a-z_]*\.go): `)
	for _, line := range item.FindAllStringSubmatch(string(page), -1) {
		listed = append(listed, line[1])
		stages = append(stages, line[2])
	}
	if want := []string{"analyser", "sighting", "record", "pattern", "candidate", "ranked", "listed", "look", "crawl",
		"state"}; !slices.Equal(slices.Compact(stages), want) {
		t.Errorf("the files stand in the order %q, want %q", slices.Compact(stages), want)
	}
	files, err := filepath.Glob("*.go")
	if err != nil {
		t.Fatal(err)
	}
	files = slices.DeleteFunc(files, func(f string) bool { return f == "doc.go" || strings.HasSuffix(f, "_test.go") })
	if slices.Sort(listed); !slices.Equal(listed, files) {
		t.Errorf("doc.go lists\n%q, the directory\n%q", listed, files)
	}
}
