package main

import (
	"encoding/json"
	"os/exec"
	"slices"
	"strings"
	"testing"
)

const module = "github.com/newsfork/seed-engine/"

// A listing describes a package, as printed by `go list -json`.
type listing struct {
	ImportPath string
	Name       string
	Standard   bool
	Imports    []string
	Deps       []string
	GoFiles    []string
}

// workers is the environment in which Workers are compiled.
var workers = []string{"GOOS=js", "GOARCH=wasm"}

// list lists the project's packages and their dependencies. The keys of own are paths in the project.
func list(t *testing.T, environment ...string) (own, others map[string]listing) {
	t.Helper()
	c := exec.Command("go", "list", "-deps", "-json=ImportPath,Name,Standard,Imports,Deps,GoFiles", "./...")
	c.Env = append(c.Environ(), environment...)
	out, err := c.Output()
	if err != nil {
		t.Fatal(err)
	}
	own, others = map[string]listing{}, map[string]listing{}
	for d := json.NewDecoder(strings.NewReader(string(out))); d.More(); {
		var p listing
		if err := d.Decode(&p); err != nil {
			t.Fatal(err)
		}
		switch name, is := strings.CutPrefix(p.ImportPath, module); {
		case is:
			own[name] = p
		case p.ImportPath+"/" == module:
			own["main"] = p
		default:
			others[p.ImportPath] = p
		}
	}
	return own, others
}

// mayImport lists the layers: the packages of the project that each package may import. A package below
// internal/ belongs to its parent.
var mayImport = map[string][]string{
	"epoch":      {},
	"contract":   {},
	"swar":       {},
	"urlword":    {},
	"markup":     {"swar"},
	"page":       {"markup"},
	"httpapi":    {"contract"},
	"prometheus": {},
	"botauth":    {},
	"settings":   {"botauth", "contract", "markup"},
	"worker":     {"contract"},
	"bindings": {"alarms", "botauth", "contract", "fetch", "frontier", "frontier/client", "frontier/shard/store",
		"handlers", "ledger",
		"queues", "r2", "webhook", "worker"},
	"r2":           {"contract"},
	"ledger":       {"contract"},
	"dataset":      {"contract", "swar"},
	"robots":       {"contract"},
	"usage":        {"contract", "markup", "robots"},
	"sitemap":      {"markup", "swar"},
	"feed":         {"markup", "sitemap"},
	"classify":     {"classify/hosts", "page", "swar", "urlword"},
	"discovery":    {"classify", "classify/hosts", "contract", "markup", "page", "swar", "urlword"},
	"frontier":     {"contract", "frontier/link", "markup"},
	"fetch":        {"contract", "markup", "robots"},
	"orchestrator": {"contract", "r2"},
	"processor":    {"contract", "markup", "dataset", "r2", "swar"},
	"collector": {"classify", "contract", "markup", "page", "r2", "fetch", "robots", "sitemap", "feed", "discovery",
		"frontier", "frontier/client", "usage"},
	"controls":    {"contract", "frontier", "r2"},
	"deadletters": {"contract", "ledger", "r2"},
	"queues": {"contract", "controls", "deadletters", "fetch", "frontier", "frontier/client", "orchestrator",
		"processor", "collector",
		"ledger", "r2"},
	"alarms":    {"contract", "ledger"},
	"webhook":   {"alarms", "contract", "deadletters", "frontier", "frontier/client", "ledger"},
	"reconcile": {"collector", "contract", "frontier", "frontier/client", "ledger", "r2", "frontier/placement"},
	"handlers": {"botauth", "contract", "alarms", "classify", "discovery", "frontier", "frontier/client", "httpapi",
		"markup", "page",
		"prometheus", "robots", "settings", "orchestrator", "processor", "collector", "ledger", "r2", "usage"},
	"engine": {"alarms", "botauth", "classify", "collector", "contract", "controls", "deadletters", "fetch", "frontier",
		"frontier/client",
		"frontier/idle", "frontier/shard", "frontier/shard/store", "handlers", "httpapi", "ledger", "orchestrator",
		"processor", "queues", "r2", "reconcile", "settings", "webhook"},

	// The floors of the frontier: its client, its rules, and their tables.
	"frontier/client":    {"contract", "frontier", "frontier/idle", "frontier/link", "frontier/placement"},
	"frontier/idle":      {},
	"frontier/placement": {},
	"frontier/link":      {"contract", "markup"},
	"frontier/shard": {"contract", "frontier", "frontier/link", "frontier/revisit", "frontier/shard/store", "markup",
		"frontier/placement", "robots", "urlword"},
	"frontier/shard/store": {"contract", "frontier", "frontier/link", "frontier/placement", "frontier/revisit"},

	// The Info service.
	"info":            {"contract", "markup"},
	"info/sources":    {"contract", "feed", "fetch", "info", "sitemap"},
	"info/store":      {"contract", "info", "ledger"},
	"info/cache":      {"contract", "info", "info/connection", "info/redis", "info/store"},
	"info/connection": {},
	"info/postgres":   {"info/connection", "ledger"},
	"info/redis":      {"info/connection"},
	"info/collect":    {"contract", "fetch", "info", "info/cache", "info/store", "markup", "robots"},
	"info/watch":      {"alarms", "contract", "info", "info/store", "ledger"},
	"info/web": {"contract", "httpapi", "info", "info/cache", "info/store", "info/watch", "ledger",
		"prometheus"},
	"info/service": {"alarms", "botauth", "contract", "fetch", "httpapi", "info", "info/cache", "info/collect",
		"info/connection", "info/postgres", "info/redis", "info/sources", "info/store",
		"info/watch", "info/web", "ledger", "settings"},
	"info/infotest": {"contract", "info", "info/cache", "info/store", "ledger", "test/cases"},

	// Replacements of packages of Go.
	"worker/tls": {},

	// Packages below another that others import.
	"classify/hosts":    {},
	"classify/embedded": {"classify"}, // for programs other than Workers

	// Twins and conformance suites for other packages' tests.
	"engine/enginetest": {"alarms", "classify", "classify/embedded", "contract", "engine", "fetch", "fetch/fetchtest",
		"frontier", "frontier/client", "frontier/shard", "frontier/sqlite", "handlers", "ledger", "ledger/sqlite",
		"queues",
		"queues/queuestest", "r2", "settings"},
	"fetch/fetchtest":     {"fetch"},
	"frontier/revisit":    {},
	"httpapi/openapitest": {},
	"frontier/frontiertest": {"contract", "frontier", "frontier/client", "frontier/shard", "frontier/shard/store",
		"test/cases"},
	"frontier/sqlite":     {"frontier", "frontier/shard", "frontier/shard/store"},
	"ledger/ledgertest":   {"contract", "ledger", "test/cases"},
	"ledger/sqlite":       {"ledger"},
	"queues/producertest": {"contract", "queues", "test/cases"},
	"queues/queuestest":   {"contract", "queues"},
	"r2/r2test":           {"contract", "r2", "test/cases"},
	"test/cases":          {"contract"},

	// Programs.
	"main":           {"alarms", "bindings", "classify", "contract", "engine", "markup", "settings", "worker"},
	"info/migrate":   {"contract", "info/postgres", "info/store"},
	"info/api":       {"bindings", "contract", "info/service", "worker"},
	"info/collector": {"alarms", "bindings", "contract", "info/service", "markup", "settings", "worker"},
	"cmd/seedctl": {"botauth", "classify", "classify/embedded", "contract", "discovery", "engine", "fetch", "frontier",
		"frontier/shard", "frontier/sqlite", "info", "info/redis", "markup", "orchestrator", "page", "r2", "robots",
		"settings", "sitemap"},
	"classify/train": {"classify", "classify/hosts", "classify/internal/lexicon", "classify/internal/linear",
		"classify/internal/pagetext", "classify/internal/urltext", "page"},
	"bench/info/fill":      {"bindings", "info", "info/cache", "info/infotest", "info/store", "worker"},
	"bench/runtime/health": {},
	"bench/scale":          {"contract", "frontier", "frontier/client", "frontier/shard", "frontier/sqlite"},
	"bench/runtime/pooled": {"bench/runtime/health", "worker"},
	"bench/runtime/stock":  {"bench/runtime/health"},
	"test/conformance/fixture": {"bindings", "contract", "frontier", "frontier/client", "frontier/shard",
		"frontier/frontiertest",
		"ledger",
		"ledger/ledgertest", "queues", "queues/producertest", "r2", "r2/r2test", "test/cases", "worker",
		"frontier/placement"},
	"test/info/fixture": {"bindings", "info/cache", "info/infotest", "info/postgres", "info/redis", "info/store",
		"test/cases", "worker"},
	"test/runtime/fixture": {"bindings", "contract", "worker"},
}

func TestLayers(t *testing.T) {
	seen := map[string]bool{}
	for _, environment := range [][]string{nil, workers} {
		packages, _ := list(t, environment...)
		for name, p := range packages {
			owner, _, _ := strings.Cut(name, "/internal/")
			seen[owner] = true
			allowed, listed := mayImport[owner]
			if !listed {
				t.Errorf("%s is new: add it to mayImport", owner)
				continue
			}
			for _, i := range p.Imports {
				own, ok := strings.CutPrefix(i, module)
				if own == "epoch" {
					continue // its types are for every layer
				}
				if ok && !slices.Contains(allowed, own) && !strings.HasPrefix(own, owner+"/internal/") {
					t.Errorf("%s must not import %s", name, own)
				}
			}
		}
	}
	for owner, allowed := range mayImport {
		for _, name := range append(slices.Clone(allowed), owner) {
			if base, _, _ := strings.Cut(name, "/internal/"); !seen[base] {
				t.Errorf("mayImport lists %s, which is not a package", name)
			}
		}
	}
}

// edge lists the packages that use the platform.
var edge = []string{"worker", "bindings"}

// TestLayers_Platform: only the packages in edge and the programs of Workers depend on syscall/js (other
// than through the standard library) or on the Workers library. In edge, files that do are named *_js.go.
func TestLayers_Platform(t *testing.T) {
	native, _ := list(t)
	own, others := list(t, workers...)
	platform := func(p listing) bool {
		return !p.Standard && slices.Contains(p.Imports, "syscall/js") ||
			strings.HasPrefix(p.ImportPath, "github.com/syumai/workers")
	}
	reached := map[string]bool{} // import paths of packages that use the platform
	for _, packages := range []map[string]listing{own, others} {
		for name, p := range packages {
			if platform(p) || slices.Contains(edge, name) {
				reached[p.ImportPath] = true
			}
		}
	}
	for name, p := range own {
		isWorker := p.Name == "main" && len(native[name].GoFiles) == 0
		if isWorker {
			continue
		}
		if slices.Contains(edge, name) {
			for _, f := range p.GoFiles {
				if !slices.Contains(native[name].GoFiles, f) && !strings.HasSuffix(f, "_js.go") {
					t.Errorf("%s/%s is compiled only for the platform, so its name must end in _js.go", name, f)
				}
			}
			continue
		}
		for _, path := range append(slices.Clone(p.Deps), p.ImportPath) {
			if reached[path] {
				t.Errorf("%s depends on the platform through %s", name, path)
				break
			}
		}
	}
	for name, p := range native {
		for _, path := range append(slices.Clone(p.Deps), p.ImportPath) {
			if strings.HasPrefix(path, "github.com/syumai/workers") {
				t.Errorf("%s depends on %s, but must compile natively", name, path)
			}
		}
	}
}
