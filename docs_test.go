package main

import (
	"encoding/json"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"reflect"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/newsfork/seed-engine/settings"
)

// These tests compare lists kept by hand, in documents and configuration, with the code.

func read(t *testing.T, path string) string {
	t.Helper()
	b, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

// section returns the part of a document below a heading, up to the next heading of any level.
func section(t *testing.T, path, heading string) string {
	t.Helper()
	_, after, found := strings.Cut(read(t, path), "\n"+heading+"\n")
	if !found {
		t.Fatalf("%s has no %q", path, heading)
	}
	before, _, _ := strings.Cut(after, "\n#")
	return before
}

// firstCells returns the code spans in the first column of a section's tables.
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

// compareLists fails t for each name that only one of two lists has.
func compareLists(t *testing.T, list string, listed, existing []string) {
	t.Helper()
	for _, name := range listed {
		if !slices.Contains(existing, name) {
			t.Errorf("%s lists %s, which does not exist", list, name)
		}
	}
	for _, name := range existing {
		if !slices.Contains(listed, name) {
			t.Errorf("%s does not list %s", list, name)
		}
	}
}

// tracked returns the files of the repository, or of the tree if it is not a repository.
func tracked(t *testing.T) []string {
	t.Helper()
	if out, err := exec.Command("git", "ls-files", "--cached", "--others", "--exclude-standard").Output(); err == nil &&
		len(out) > 0 {
		return strings.Fields(string(out))
	}
	var files []string
	err := filepath.WalkDir(".", func(path string, d fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case d.IsDir() && (d.Name() == "node_modules" || d.Name() == "build" ||
			len(d.Name()) > 1 && d.Name()[0] == '.'):
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

func TestReadme_Folders(t *testing.T) {
	existing := []string{"main.go"}
	for _, file := range tracked(t) {
		folder, rest, _ := strings.Cut(file, "/")
		if rest == "" || folder[0] == '.' || folder == "docs" {
			continue
		}
		if folder == "cmd" {
			program, _, _ := strings.Cut(rest, "/")
			folder += "/" + program
		}
		existing = append(existing, folder+"/")
	}
	slices.Sort(existing)
	listed := firstCells(t, "README.md", "## Find your way")
	compareLists(t, "README.md, Find your way", listed, slices.Compact(existing))
}

func TestDocs_Settings(t *testing.T) {
	var existing []string
	variable := func(name string) (string, bool) { existing = append(existing, name); return "", false }
	if _, err := settings.Read(variable); err != nil {
		t.Fatal(err)
	}
	compareLists(t, "docs/settings.md", firstCells(t, "docs/settings.md", "## Variables and secrets"), existing)
	for line := range strings.Lines(section(t, "docs/settings.md", "## Variables and secrets")) {
		if !strings.HasPrefix(line, "| ") {
			continue
		}
		marked := strings.HasPrefix(line, "| secret")
		for _, m := range regexp.MustCompile("`([A-Z_]{3,})`").FindAllStringSubmatch(strings.Split(line, "|")[1], -1) {
			if marked != slices.Contains(settings.Secrets, m[1]) {
				t.Errorf("docs/settings.md calls %s a secret: %v", m[1], marked)
			}
		}
	}
}

// TestDocs_API: docs/api.md has every operation of the API's description.
func TestDocs_API(t *testing.T) {
	var description struct {
		Paths map[string]map[string]json.RawMessage
	}
	if err := json.Unmarshal([]byte(read(t, "contract/openapi.json")), &description); err != nil {
		t.Fatal(err)
	}
	page := read(t, "docs/api.md")
	for path, methods := range description.Paths {
		for method := range methods {
			if method == "parameters" {
				continue
			}
			if route := strings.ToUpper(method) + " " + path; !strings.Contains(page, "`"+route+"`") {
				t.Errorf("docs/api.md does not have %s", route)
			}
		}
	}
}

// TestDocs_Defaults: docs/settings.md has the defaults of the code: set as they stand there, nothing changes.
func TestDocs_Defaults(t *testing.T) {
	given := map[string]string{}
	for line := range strings.Lines(section(t, "docs/settings.md", "## Variables and secrets")) {
		cells := strings.Split(line, "|")
		if len(cells) < 4 {
			continue
		}
		names := regexp.MustCompile("`([A-Z_]{3,})`").FindAllStringSubmatch(cells[1], -1)
		values := strings.Split(strings.Trim(cells[2], " `"), ", ")
		for i, name := range names {
			if value := values[min(i, len(values)-1)]; value != "–" {
				given[name[1]] = value
			}
		}
	}
	if len(given) < 20 {
		t.Fatalf("found only the defaults %v", given)
	}
	documented, err := settings.Read(func(name string) (string, bool) { v, ok := given[name]; return v, ok })
	if err != nil {
		t.Fatal(err)
	}
	defaults, err := settings.Read(func(string) (string, bool) { return "", false })
	if err != nil {
		t.Fatal(err)
	}
	if !reflect.DeepEqual(documented, defaults) {
		t.Errorf("docs/settings.md gives %+v\nthe defaults are %+v", *documented, *defaults)
	}
}

// TestWranglerConfig_WatchDir: `wrangler dev` rebuilds when any source of a Worker changes, but not when it
// writes its own files beside wrangler.jsonc.
func TestWranglerConfig_WatchDir(t *testing.T) {
	for _, worker := range []string{".", "info/api", "info/collector"} {
		c := exec.Command("go", "list", "-deps", "-f", "{{if .Module}}{{.ImportPath}}{{end}}", "./"+worker)
		c.Env = append(c.Environ(), "GOOS=js", "GOARCH=wasm")
		out, err := c.Output()
		if err != nil {
			t.Fatal(err)
		}
		sources := []string{filepath.Join(worker, "main.go"), "go.mod"}
		if worker == "." {
			sources = append(sources, "dashboard/public") // copied by the build
		}
		for _, path := range strings.Fields(string(out)) {
			own, is := strings.CutPrefix(path, module)
			parts := strings.Split(own, "/")
			switch {
			case !is || own == worker:
			case parts[0] != "info":
				sources = append(sources, parts[0])
			case len(parts) > 1:
				sources = append(sources, own)
			default: // package info, beside the folders of its Workers
				files, err := filepath.Glob("info/*.go")
				if err != nil {
					t.Fatal(err)
				}
				isTest := func(f string) bool { return strings.HasSuffix(f, "_test.go") }
				sources = append(append(sources, "info/topics.json"), slices.DeleteFunc(files, isTest)...)
			}
		}
		slices.Sort(sources)
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
		compareLists(t, name+", watch_dir", watched, slices.Compact(sources))
	}
}

// An event name is the first argument of a logger's method, or any string that ends in _failed.
var (
	eventName = regexp.MustCompile(`^[a-z]+(_[a-z]+)+$`)
	logMethod = regexp.MustCompile(`^(Debug|Info|Warn|Error)$`)
	scripted  = regexp.MustCompile(`(?:\blog\(|\bevent: )"([a-z_]+)"`)
)

// logged returns the events that a Go file logs, and all strings in it that could be the name of an event.
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

func TestOperations_LogEvents(t *testing.T) {
	silent := []string{"test", "bench", "cmd", "sample", "dashboard"} // folders that log no events of the Worker
	var events, texts []string
	for _, file := range tracked(t) {
		folder, _, _ := strings.Cut(file, "/")
		if slices.Contains(silent, folder) || strings.HasSuffix(file, "_test.go") {
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
	columns := []string{"files_failed", "domains_failed"} // columns of a status, not events
	events = slices.DeleteFunc(events, func(name string) bool { return slices.Contains(columns, name) })
	slices.Sort(events)
	events = slices.Compact(events)
	if len(events) < 25 {
		t.Errorf("found only %q", events)
	}
	documented := firstCells(t, "docs/operations.md", "## Logs")
	for _, name := range events {
		if !slices.Contains(documented, name) {
			t.Errorf("docs/operations.md, Logs, does not list %s", name)
		}
	}
	for _, name := range documented {
		if !slices.Contains(texts, name) {
			t.Errorf("docs/operations.md, Logs, lists %s, which nothing logs", name)
		}
	}
}

// guides are the pages whose files, identifiers and commands are checked.
var guides = []string{"CONTRIBUTING.md", "docs/extending.md"}

var (
	codeSpan   = regexp.MustCompile("`([^`\n]+)`")
	link       = regexp.MustCompile(`\]\(([^)#]+)[^)]*\)`)
	filePath   = regexp.MustCompile(`^[\w.-]*(/[\w.-]*)+$|^[\w-]+\.(go|md|mjs|jsonc?)$`)
	identifier = regexp.MustCompile(`^[A-Za-z]\w+$`)
	packages   = regexp.MustCompile(`^\.(/[\w.]+)*$`)
)

// TestGuides: the files, identifiers and commands that the guides name exist.
func TestGuides(t *testing.T) {
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
					checkPath(t, guide, filepath.Dir(span)) // of a file yet to be written
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

// items returns the paragraphs, list entries, table rows and command lines of a page.
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
	if path == "build" || strings.HasPrefix(path, "build/") { // output of `make build`
		return
	}
	if _, err := os.Stat(path); err != nil {
		t.Errorf("%s names %s, which does not exist", guide, path)
	}
}

// checkCommand checks that the targets and files of make, go and node commands exist.
func checkCommand(t *testing.T, guide, command string, files []string) {
	t.Helper()
	command, _, _ = strings.Cut(command, "  #")
	words := strings.Fields(command)
	switch words[0] {
	case "make":
		if !strings.Contains("\n"+read(t, "Makefile"), "\n"+words[1]+":") {
			t.Errorf("%s: Makefile has no target for %q", guide, command)
		}
	case "go":
		for i, word := range words {
			if packages.MatchString(word) {
				checkPath(t, guide, strings.TrimSuffix(word, "/..."))
			}
			if words[i-min(i, 1)] == "-fuzz" && !contains(t, "func "+word+"(", files, "_test.go") {
				t.Errorf("%s: fuzz target %s does not exist", guide, word)
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

// checkIdentifiers checks that the identifiers in an item occur in the files that it names.
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
		if len(sources) > 0 && !contains(t, name, sources, "") {
			t.Errorf("%s: %s does not occur in %q:\n%s", guide, name, sources, item)
		}
	}
}

// contains reports whether a file whose name has the suffix contains s.
func contains(t *testing.T, s string, files []string, suffix string) bool {
	t.Helper()
	return slices.ContainsFunc(files, func(path string) bool {
		return strings.HasSuffix(path, suffix) && strings.Contains(read(t, path), s)
	})
}

// TestComments_References: sections of documents that comments name exist.
func TestComments_References(t *testing.T) {
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
		t.Error("found no comment that names a section")
	}
}

// Each metric and label that the Grafana dashboard names is one of a Worker's.
func TestGrafana_MetricsExist(t *testing.T) {
	exposed, labels := map[string]bool{}, map[string]bool{}
	family := regexp.MustCompile(`"(newsfork_seed_\w+)"|\bfamily\("(\w+)"`)
	label := regexp.MustCompile(`"([a-z_]+)"`)
	for _, pattern := range []string{"handlers/*.go", "info/web/*.go"} {
		files, _ := filepath.Glob(pattern)
		for _, path := range files {
			if strings.HasSuffix(path, "_test.go") {
				continue
			}
			text := read(t, path)
			for _, m := range family.FindAllStringSubmatch(text, -1) {
				if m[1] != "" {
					exposed[m[1]] = true
				} else {
					exposed["newsfork_info_"+m[2]] = true
				}
			}
			for line := range strings.Lines(text) {
				if strings.Contains(line, "Sample") {
					for _, m := range label.FindAllStringSubmatch(line, -1) {
						labels[m[1]] = true
					}
				}
			}
		}
	}
	boards, _ := filepath.Glob("docs/grafana/*.json")
	if len(boards) == 0 || len(exposed) < 40 {
		t.Fatalf("%d dashboards, %d metrics", len(boards), len(exposed))
	}
	for _, path := range boards {
		text := read(t, path)
		var board struct{ Panels []struct{ Title string } }
		if err := json.Unmarshal([]byte(text), &board); err != nil || len(board.Panels) < 10 {
			t.Errorf("%s: %d panels, %v", path, len(board.Panels), err)
		}
		services := map[string]bool{}
		for _, name := range regexp.MustCompile(`newsfork_(?:seed|info)_\w+`).FindAllString(text, -1) {
			services[name[:len("newsfork_seed")]] = true
			if !exposed[name] {
				t.Errorf("%s names %s, which no Worker has", path, name)
			}
		}
		for _, m := range regexp.MustCompile(`{{(\w+)}}`).FindAllStringSubmatch(text, -1) {
			if !labels[m[1]] {
				t.Errorf("%s names the label %s, which no metric has", path, m[1])
			}
		}
		if len(services) != 2 {
			t.Errorf("%s shows only %v", path, services)
		}
	}
}
