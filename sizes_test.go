package main

import (
	"go/ast"
	"go/parser"
	"go/token"
	"path/filepath"
	"strings"
	"testing"
)

// A type with more methods, or a package with a larger share of the code, does several things.
const (
	maxMethods  = 40
	maxShare    = 15    // percent of the lines
	maxFrontier = 2_000 // lines of package frontier, which readers of its operations read whole
)

func TestSizes(t *testing.T) {
	methods, lines, all := map[string]int{}, map[string]int{}, 0
	for _, path := range tracked(t) {
		if !strings.HasSuffix(path, ".go") || strings.HasSuffix(path, "_test.go") {
			continue
		}
		files := token.NewFileSet()
		file, err := parser.ParseFile(files, path, nil, parser.SkipObjectResolution)
		if err != nil {
			t.Fatal(err)
		}
		dir := filepath.ToSlash(filepath.Dir(path))
		n := files.File(file.Pos()).LineCount()
		lines[dir], all = lines[dir]+n, all+n
		for _, d := range file.Decls {
			if f, ok := d.(*ast.FuncDecl); ok && f.Recv != nil {
				methods[dir+"."+receiver(f.Recv.List[0].Type)]++
			}
		}
	}
	for name, n := range methods {
		if n > maxMethods {
			t.Errorf("%s has %d methods", name, n)
		}
	}
	for dir, n := range lines {
		if 100*n > maxShare*all {
			t.Errorf("%s has %d of %d lines", dir, n, all)
		}
	}
	if n := lines["frontier"]; n == 0 || n > maxFrontier {
		t.Errorf("frontier has %d lines", n)
	}
	if len(methods) < 100 || all < 50_000 {
		t.Errorf("only %d types in %d lines were found", len(methods), all)
	}
}

// receiver returns the name of the type of a receiver.
func receiver(e ast.Expr) string {
	switch e := e.(type) {
	case *ast.StarExpr:
		return receiver(e.X)
	case *ast.IndexExpr:
		return receiver(e.X)
	case *ast.IndexListExpr:
		return receiver(e.X)
	case *ast.Ident:
		return e.Name
	}
	return ""
}
