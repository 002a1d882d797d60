package main

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/newsfork/seed-engine/settings"
)

// Lists that are kept by hand, in documents and configuration, against what they list.

func read(t *testing.T, path string) string {
	t.Helper()
	b, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

// section is the part of a document below a heading, up to the next one of any level.
func section(t *testing.T, path, heading string) string {
	t.Helper()
	_, after, found := strings.Cut(read(t, path), "\n"+heading+"\n")
	if !found {
		t.Fatalf("%s has no %q", path, heading)
	}
	before, _, _ := strings.Cut(after, "\n#")
	return before
}

// firstCells are what stands between backticks in the first column of a section's tables.
func firstCells(t *testing.T, path, heading string) []string {
	t.Helper()
	var found []string
	for line := range strings.Lines(section(t, path, heading)) {
		cells := strings.Split(line, "|")
		if len(cells) < 3 {
			continue
		}
		for _, m := range regexp.MustCompile("`([^`]+)`").FindAllStringSubmatch(cells[1], -1) {
			found = append(found, m[1])
		}
	}
	if len(found) == 0 {
		t.Fatalf("%s, %q: no table", path, heading)
	}
	return found
}

// differ reports what only one of two lists has.
func differ(t *testing.T, what string, listed, there []string) {
	t.Helper()
	for _, name := range listed {
		if !slices.Contains(there, name) {
			t.Errorf("%s: %s is listed and not there", what, name)
		}
	}
	for _, name := range there {
		if !slices.Contains(listed, name) {
			t.Errorf("%s: %s is there and not listed", what, name)
		}
	}
}

// tracked are the files of the repository, or of the tree where that is no repository.
func tracked(t *testing.T) []string {
	t.Helper()
	if out, err := exec.Command("git", "ls-files", "--cached", "--others", "--exclude-standard").Output(); err == nil && len(out) > 0 {
		return strings.Fields(string(out))
	}
	var files []string
	err := filepath.WalkDir(".", func(path string, d fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case d.IsDir() && (d.Name() == "node_modules" || d.Name() == "build" || len(d.Name()) > 1 && d.Name()[0] == '.'):
			return fs.SkipDir
		case !d.IsDir():
			files = append(files, filepath.ToSlash(path))
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return files
}

func TestReadmeNamesEveryRoom(t *testing.T) {
	there := []string{"main.go"}
	for _, file := range tracked(t) {
		room, rest, _ := strings.Cut(file, "/")
		if rest == "" || room[0] == '.' || room == "docs" {
			continue
		}
		if room == "cmd" {
			program, _, _ := strings.Cut(rest, "/")
			room += "/" + program
		}
		there = append(there, room+"/")
	}
	slices.Sort(there)
	differ(t, "README.md, Find your way", firstCells(t, "README.md", "## Find your way"), slices.Compact(there))
}

func TestReadmeNamesEverySetting(t *testing.T) {
	var there []string
	if _, err := settings.Read(func(name string) (string, bool) { there = append(there, name); return "", false }); err != nil {
		t.Fatal(err)
	}
	differ(t, "README.md, Settings", firstCells(t, "README.md", "### Settings"), there)
	for line := range strings.Lines(section(t, "README.md", "### Settings")) {
		if !strings.HasPrefix(line, "| ") {
			continue
		}
		marked := strings.HasPrefix(line, "| secret")
		for _, m := range regexp.MustCompile("`([A-Z_]{3,})`").FindAllStringSubmatch(strings.Split(line, "|")[1], -1) {
			if marked != slices.Contains(settings.Secrets, m[1]) {
				t.Errorf("README.md calls %s a secret: %v", m[1], marked)
			}
		}
	}
}

// TestDevWatchesWhatIsCompiled: `wrangler dev` builds again when any source of a Worker changes, and never because of
// what it writes itself, which lies beside wrangler.jsonc.
func TestDevWatchesWhatIsCompiled(t *testing.T) {
	for _, worker := range []string{".", "info/api", "info/collector"} {
		c := exec.Command("go", "list", "-deps", "-f", "{{if .Module}}{{.ImportPath}}{{end}}", "./"+worker)
		c.Env = append(c.Environ(), "GOOS=js", "GOARCH=wasm")
		out, err := c.Output()
		if err != nil {
			t.Fatal(err)
		}
		there := []string{filepath.Join(worker, "main.go"), "go.mod"}
		if worker == "." {
			there = append(there, "dashboard/public") // which the build copies
		}
		for _, path := range strings.Fields(string(out)) {
			own, is := strings.CutPrefix(path, module)
			parts := strings.Split(own, "/")
			switch {
			case !is || own == worker:
			case parts[0] != "info":
				there = append(there, parts[0])
			case len(parts) > 1:
				there = append(there, own)
			default: // beside the directories of Workers
				files, err := filepath.Glob("info/*.go")
				if err != nil {
					t.Fatal(err)
				}
				there = append(there, slices.DeleteFunc(files, func(f string) bool { return strings.HasSuffix(f, "_test.go") })...)
			}
		}
		slices.Sort(there)
		name := filepath.Join(worker, "wrangler.jsonc")
		list := regexp.MustCompile(`"watch_dir": \[([^\]]*)\]`).FindStringSubmatch(read(t, name))
		if list == nil {
			t.Fatalf("%s has no watch_dir", name)
		}
		var watched []string
		for path := range strings.SplitSeq(list[1], ",") {
			watched = append(watched, filepath.Join(worker, strings.Trim(path, "\" \n")))
		}
		slices.Sort(watched)
		differ(t, name+", watch_dir", watched, slices.Compact(there))
	}
}

// The event is the first argument of a logger's method. Others pass it on, but then it ends in _failed.
var (
	eventName = regexp.MustCompile(`^[a-z]+(_[a-z]+)+$`)
	logMethod = regexp.MustCompile(`^(Debug|Info|Warn|Error)$`)
	scripted  = regexp.MustCompile(`(?:\blog\(|\bevent: )"([a-z_]+)"`)
)

// logged are the events that a Go file surely logs, and every text in it that may be the name of one.
func logged(t *testing.T, path string) (events, texts []string) {
	t.Helper()
	file, err := parser.ParseFile(token.NewFileSet(), path, nil, 0)
	if err != nil {
		t.Fatal(err)
	}
	ast.Inspect(file, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.CallExpr:
			method, ok := n.Fun.(*ast.SelectorExpr)
			if !ok || !logMethod.MatchString(method.Sel.Name) || len(n.Args) == 0 {
				break
			}
			if name, ok := text(n.Args[0]); ok {
				events = append(events, name)
			}
		case *ast.BasicLit:
			if name, ok := text(n); ok {
				texts = append(texts, name)
				if strings.HasSuffix(name, "_failed") {
					events = append(events, name)
				}
			}
		}
		return true
	})
	return events, texts
}

func text(e ast.Expr) (string, bool) {
	l, ok := e.(*ast.BasicLit)
	if !ok || l.Kind != token.STRING {
		return "", false
	}
	s, err := strconv.Unquote(l.Value)
	return s, err == nil && eventName.MatchString(s)
}

func TestOperationsNamesEveryLogEvent(t *testing.T) {
	var events, texts []string
	for _, file := range tracked(t) {
		room, _, _ := strings.Cut(file, "/")
		if slices.Contains([]string{"test", "bench", "cmd", "sample", "dashboard"}, room) || strings.HasSuffix(file, "_test.go") {
			continue
		}
		switch filepath.Ext(file) {
		case ".go":
			e, all := logged(t, file)
			events, texts = append(events, e...), append(texts, all...)
		case ".mjs":
			for _, m := range scripted.FindAllStringSubmatch(read(t, file), -1) {
				events, texts = append(events, m[1]), append(texts, m[1])
			}
		}
	}
	columns := []string{"files_failed", "domains_failed"} // of a status, which are no events
	events = slices.DeleteFunc(events, func(name string) bool { return slices.Contains(columns, name) })
	slices.Sort(events)
	events = slices.Compact(events)
	if len(events) < 25 {
		t.Errorf("found only %q", events)
	}
	documented := firstCells(t, "docs/operations.md", "## Logs")
	for _, name := range events {
		if !slices.Contains(documented, name) {
			t.Errorf("docs/operations.md, Logs, lacks %s", name)
		}
	}
	for _, name := range documented {
		if !slices.Contains(texts, name) {
			t.Errorf("docs/operations.md, Logs: nothing logs %s", name)
		}
	}
}

// guides are the pages that lead people through the files.
var guides = []string{"CONTRIBUTING.md", "docs/extending.md"}

var (
	codeSpan   = regexp.MustCompile("`([^`\n]+)`")
	link       = regexp.MustCompile(`\]\(([^)#]+)[^)]*\)`)
	filePath   = regexp.MustCompile(`^[\w.-]*(/[\w.-]*)+$|^[\w-]+\.(go|md|mjs|jsonc?)$`)
	identifier = regexp.MustCompile(`^[A-Za-z]\w+$`)
	packages   = regexp.MustCompile(`^\.(/[\w.]+)*$`)
)

// TestGuidesNameWhatIsThere: the files, identifiers and commands of the guides exist.
func TestGuidesNameWhatIsThere(t *testing.T) {
	files := tracked(t)
	for _, guide := range guides {
		for _, m := range link.FindAllStringSubmatch(read(t, guide), -1) {
			if !strings.Contains(m[1], "://") {
				checkPath(t, guide, filepath.Join(filepath.Dir(guide), m[1]))
			}
		}
		for _, item := range items(read(t, guide)) {
			if command, is := strings.CutPrefix(item, "    "); is {
				checkCommand(t, guide, command, files)
				continue
			}
			var named, identifiers []string
			for _, m := range codeSpan.FindAllStringSubmatch(item, -1) {
				switch span := m[1]; {
				case strings.Contains(span, "NAME"):
					checkPath(t, guide, filepath.Dir(span)) // of a file that is to be written
				case strings.ContainsRune(span, ' '):
					checkCommand(t, guide, span, files)
				case filePath.MatchString(span) && !strings.HasPrefix(span, "/"):
					checkPath(t, guide, span)
					named = append(named, span)
				case identifier.MatchString(span):
					identifiers = append(identifiers, span)
				}
			}
			checkIdentifiers(t, guide, item, identifiers, named)
		}
	}
}

// items are the paragraphs, entries of lists, rows of tables and lines of commands of a page.
func items(page string) (found []string) {
	begins := regexp.MustCompile(`^(    |\d+\. |- |\||#)`)
	fresh := true
	for line := range strings.Lines(page) {
		if line = strings.TrimRight(line, "\n"); line == "" {
			fresh = true
			continue
		}
		if fresh || begins.MatchString(line) {
			found = append(found, line)
		} else {
			found[len(found)-1] += "\n" + line
		}
		fresh = false
	}
	return found
}

func checkPath(t *testing.T, guide, path string) {
	t.Helper()
	if path == "build" || strings.HasPrefix(path, "build/") { // what `make build` writes
		return
	}
	if _, err := os.Stat(path); err != nil {
		t.Errorf("%s names %s, which does not exist", guide, path)
	}
}

// checkCommand looks at the commands whose parts may move: make, go and node.
func checkCommand(t *testing.T, guide, command string, files []string) {
	t.Helper()
	command, _, _ = strings.Cut(command, "  #")
	words := strings.Fields(command)
	switch words[0] {
	case "make":
		if !strings.Contains("\n"+read(t, "Makefile"), "\n"+words[1]+":") {
			t.Errorf("%s: there is no %q", guide, command)
		}
	case "go":
		for i, word := range words {
			if packages.MatchString(word) {
				checkPath(t, guide, strings.TrimSuffix(word, "/..."))
			}
			if words[i-min(i, 1)] == "-fuzz" && !written(t, "func "+word+"(", files, "_test.go") {
				t.Errorf("%s: there is no %s", guide, word)
			}
		}
	case "node_modules/.bin/node":
		for _, word := range words[1:] {
			if strings.HasSuffix(word, ".mjs") {
				checkPath(t, guide, word)
			}
		}
	}
}

// checkIdentifiers looks for the identifiers that an item mentions beside files in those files.
func checkIdentifiers(t *testing.T, guide, item string, identifiers, named []string) {
	t.Helper()
	if len(named) == 0 {
		return
	}
	var sources []string
	for _, path := range named {
		if stat, err := os.Stat(path); err == nil && !stat.IsDir() {
			sources = append(sources, path)
		}
	}
	for _, name := range identifiers {
		if len(sources) > 0 && !written(t, name, sources, "") {
			t.Errorf("%s: %s is in none of %q:\n%s", guide, name, sources, item)
		}
	}
}

// written reports whether one of the files whose names end so contains a text.
func written(t *testing.T, what string, files []string, end string) bool {
	t.Helper()
	return slices.ContainsFunc(files, func(path string) bool { return strings.HasSuffix(path, end) && strings.Contains(read(t, path), what) })
}

// TestReferencesToSections: a comment that names a section of a document names one that is there.
func TestReferencesToSections(t *testing.T) {
	reference := regexp.MustCompile(`(docs/\w+\.md), "([^"]+)"`)
	found := 0
	for _, file := range tracked(t) {
		if extension := filepath.Ext(file); extension != ".go" && extension != ".mjs" {
			continue
		}
		for _, m := range reference.FindAllStringSubmatch(read(t, file), -1) {
			found++
			section(t, m[1], "## "+m[2])
		}
	}
	if found == 0 {
		t.Error("no comment names a section, so this test looked at nothing")
	}
}
