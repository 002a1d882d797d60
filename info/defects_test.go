package info

import (
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// The tests that docs/info.md names for the original's eleven defects exist, and every fixture is used.
func TestDefects_HaveTests(t *testing.T) {
	doc, err := os.ReadFile("../docs/info.md")
	if err != nil {
		t.Fatal(err)
	}
	var tests strings.Builder
	err = filepath.WalkDir(".", func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() || filepath.Ext(path) != ".go" || path == "defects_test.go" ||
			!strings.HasSuffix(path, "_test.go") && !strings.HasPrefix(path, "infotest/") {
			return err
		}
		text, err := os.ReadFile(path)
		tests.Write(text)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	rows := regexp.MustCompile(`(?m)^\| (\d+) \|.*\| ([^|]+) \|$`).FindAllStringSubmatch(string(doc), -1)
	if len(rows) != 11 {
		t.Fatalf("%d defects", len(rows))
	}
	for _, row := range rows {
		names := regexp.MustCompile("(case )?`([^`]+)`").FindAllStringSubmatch(row[2], -1)
		if len(names) == 0 {
			t.Errorf("defect %s has no test", row[1])
		}
		for _, m := range names {
			want := "func " + m[2] + "("
			if m[1] != "" {
				want = `{"` + m[2] + `", `
			}
			if !strings.Contains(tests.String(), want) {
				t.Errorf("defect %s: there is no %s", row[1], m[0])
			}
		}
	}
	fixtures, err := filepath.Glob("testdata/*.*")
	if err != nil || len(fixtures) != 38 {
		t.Fatal(len(fixtures), err)
	}
	for _, path := range fixtures {
		name := filepath.Base(path)
		if !strings.Contains(tests.String(), name) &&
			!strings.Contains(tests.String(), `"`+strings.TrimSuffix(name, filepath.Ext(name))+`"`) {
			t.Errorf("no test reads %s", name)
		}
	}
}
