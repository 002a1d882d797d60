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
		packages[strings.TrimPrefix(p.ImportPath, module)] = p
	}
	return packages
}

// mayImport holds the layers: what each room may import of the project. Adapters (*_js.go) may
// also import worker.
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
	"queues":       {"contract", "orchestrator", "processor", "collector", "ledger", "r2"},
	"alarms":       {"contract", "ledger"},
	"reconcile":    {"contract", "ledger", "r2"},
	"handlers":     {"contract", "alarms", "markup", "settings", "orchestrator", "processor", "collector", "ledger", "r2"},
}

// adapters are the rooms with files for the platform.
var adapters = []string{"r2", "queues", "fetch", "ledger", "alarms", "handlers", "worker"}

func TestLayers(t *testing.T) {
	for _, environment := range [][]string{nil, {"GOOS=js", "GOARCH=wasm"}} {
		for name, p := range list(t, environment...) {
			allowed, known := mayImport[name]
			if !known {
				continue
			}
			if environment != nil && slices.Contains(adapters, name) {
				allowed = append(slices.Clone(allowed), "worker")
			}
			for _, i := range p.Imports {
				own, ok := strings.CutPrefix(i, module)
				if ok && !slices.Contains(allowed, own) && !strings.HasPrefix(own, name+"/internal/") {
					t.Errorf("%s imports %s, which is not below it", name, own)
				}
			}
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
		if name == strings.TrimSuffix(module, "/") || strings.HasPrefix(name, "test/") || strings.HasPrefix(name, "bench/") {
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
