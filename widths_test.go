package main

import (
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"strings"
	"testing"
	"unicode/utf8"
)

// Editors and reviews show this many columns beside a second file. A tab counts as four.
const maxColumns = 120

// TestWidths allows longer lines only in raw strings of several lines, whose breaks are part of their value.
func TestWidths(t *testing.T) {
	for _, path := range tracked(t) {
		if !strings.HasSuffix(path, ".go") {
			continue
		}
		source, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		raw := map[int]bool{} // numbers of lines that begin or end inside a raw string
		for n, line := range strings.Split(string(source), "\n") {
			columns := utf8.RuneCountInString(line) + 3*strings.Count(line, "\t")
			if columns <= maxColumns {
				continue
			}
			if len(raw) == 0 {
				raw = rawLines(t, path, source)
			}
			if !raw[n+1] {
				t.Errorf("%s:%d has %d columns", path, n+1, columns)
			}
		}
	}
}

// rawLines returns the numbers of the lines of raw strings of several lines.
func rawLines(t *testing.T, path string, source []byte) map[int]bool {
	files, raw := token.NewFileSet(), map[int]bool{}
	file, err := parser.ParseFile(files, path, source, parser.SkipObjectResolution)
	if err != nil {
		t.Fatal(err)
	}
	ast.Inspect(file, func(n ast.Node) bool {
		if s, ok := n.(*ast.BasicLit); ok && strings.HasPrefix(s.Value, "`") && strings.Contains(s.Value, "\n") {
			for line := files.Position(s.Pos()).Line; line <= files.Position(s.End()).Line; line++ {
				raw[line] = true
			}
		}
		return true
	})
	return raw
}
