package main

import (
	"encoding/json"
	"os/exec"
	"slices"
	"strings"
	"testing"
)

const module = "github.com/newsfork/seed-engine/"

// listed is what `go list -json` says of a package.
type listed struct {
	ImportPath string
	Imports    []string
	GoFiles    []string
}

func list(t *testing.T, environment ...string) map[string]listed {
	t.Helper()
	c := exec.Command("go", "list", "-json=ImportPath,Imports,GoFiles", "./...")
	c.Env = append(c.Environ(), environment...)
	out, err := c.Output()
	if err != nil {
		t.Fatal(err)
	}
	packages := map[string]listed{}
	for d := json.NewDecoder(strings.NewReader(string(out))); d.More(); {
		var p listed
		if err := d.Decode(&p); err != nil {
			t.Fatal(err)
		}
		name := strings.TrimPrefix(p.ImportPath, module)
		if p.ImportPath+"/" == module {
			name = "main"
		}
		packages[name] = p
	}
	return packages
}

// mayImport holds the layers: what each package may import of the project. Adapters (*_js.go) may
// also import worker. A package below internal/ is part of the one that it stands in.
var mayImport = map[string][]string{
	"contract":     {},
	"markup":       {},
	"settings":     {"contract"},
	"worker":       {"contract"},
	"r2":           {"contract", "markup"},
	"ledger":       {"contract"},
	"dataset":      {"contract"},
	"robots":       {"contract"},
	"sitemap":      {"contract", "markup"},
	"feed":         {"contract", "sitemap"},
	"discovery":    {"contract", "markup"},
	"fetch":        {"contract", "markup", "robots"},
	"orchestrator": {"contract", "r2"},
	"processor":    {"contract", "markup", "dataset", "r2"},
	"collector":    {"contract", "markup", "settings", "r2", "fetch", "robots", "sitemap", "feed", "discovery"},
	"controls":     {"contract", "r2"},
	"queues":       {"contract", "controls", "orchestrator", "processor", "collector", "ledger", "r2"},
	"alarms":       {"contract", "ledger"},
	"reconcile":    {"contract", "ledger", "r2"},
	"handlers":     {"contract", "alarms", "markup", "settings", "orchestrator", "processor", "collector", "ledger", "r2"},

	// Twins and suites for the tests of others.
	"fetch/fetchtest":     {"fetch"},
	"ledger/ledgertest":   {"contract", "ledger"},
	"ledger/sqlite":       {"ledger"},
	"queues/producertest": {"contract", "queues"},
	"r2/r2test":           {"contract", "r2"},

	// Programs.
	"main":                     {"alarms", "collector", "contract", "controls", "fetch", "handlers", "ledger", "orchestrator", "processor", "queues", "r2", "reconcile", "settings", "sitemap", "worker"},
	"cmd/seedctl":              {"contract", "discovery", "orchestrator", "r2", "robots", "sitemap"},
	"discovery/train":          {"discovery/internal/lexicon", "discovery/internal/linear", "discovery/internal/urltext"},
	"bench/runtime/health":     {},
	"bench/runtime/pooled":     {"bench/runtime/health", "worker"},
	"bench/runtime/stock":      {"bench/runtime/health"},
	"test/conformance/fixture": {"contract", "ledger", "ledger/ledgertest", "queues", "queues/producertest", "r2", "r2/r2test", "worker"},
	"test/runtime/fixture":     {"worker"},
}

// adapters are the rooms with files for the platform.
var adapters = []string{"r2", "queues", "fetch", "ledger", "alarms", "handlers", "worker"}

// platforms are the environments that packages are listed for: this machine's and the Worker's.
var platforms = [][]string{nil, {"GOOS=js", "GOARCH=wasm"}}

func TestLayers(t *testing.T) {
	seen := map[string]bool{}
	for _, environment := range platforms {
		for name, p := range list(t, environment...) {
			room, _, _ := strings.Cut(name, "/internal/")
			seen[room] = true
			allowed, known := mayImport[room]
			if !known {
				t.Errorf("%s is new: say in mayImport what it may import", room)
				continue
			}
			if environment != nil && slices.Contains(adapters, room) {
				allowed = append(slices.Clone(allowed), "worker")
			}
			for _, i := range p.Imports {
				own, ok := strings.CutPrefix(i, module)
				if ok && !slices.Contains(allowed, own) && !strings.HasPrefix(own, room+"/internal/") {
					t.Errorf("%s imports %s, which is not below it", name, own)
				}
			}
		}
	}
	for room, allowed := range mayImport {
		for _, name := range append(slices.Clone(allowed), room) {
			if base, _, _ := strings.Cut(name, "/internal/"); !seen[base] {
				t.Errorf("mayImport names %s, which is no package", name)
			}
		}
	}
	for _, name := range adapters {
		if !seen[name] {
			t.Errorf("adapters names %s, which is no package", name)
		}
	}
}

// TestPlatformStaysInAdapters: syscall/js and the Workers library stand only in adapters and main, and
// there only in files named *_js.go.
func TestPlatformStaysInAdapters(t *testing.T) {
	platform := func(p listed) bool {
		return slices.ContainsFunc(p.Imports, func(i string) bool {
			return i == "syscall/js" || strings.HasPrefix(i, "github.com/syumai/workers")
		})
	}
	for name, p := range list(t) {
		if platform(p) {
			t.Errorf("%s needs the platform where it must compile natively", name)
		}
	}
	native := list(t)
	for name, p := range list(t, "GOOS=js", "GOARCH=wasm") {
		if name == "main" || strings.HasPrefix(name, "test/") || strings.HasPrefix(name, "bench/") {
			continue
		}
		if platform(p) && !slices.Contains(adapters, name) {
			t.Errorf("%s is no adapter and imports the platform", name)
		}
		for _, f := range p.GoFiles {
			if !slices.Contains(native[name].GoFiles, f) && !strings.HasSuffix(f, "_js.go") {
				t.Errorf("%s/%s is compiled for the platform alone and not named *_js.go", name, f)
			}
		}
	}
}
