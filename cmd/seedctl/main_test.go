package main

import (
	"bytes"
	"encoding/json"
	"runtime"
	"strings"
	"testing"

	"github.com/newsfork/seed-engine/contract"
)

// seedctl runs a command line with text on its standard input.
func seedctl(in string, args ...string) (code int, out, errOut string) {
	var o, e bytes.Buffer
	code = run(args, strings.NewReader(in), &o, &e)
	return code, o.String(), e.String()
}

func TestCommands(t *testing.T) {
	for _, args := range [][]string{{"help"}, {"-h"}, {"--help"}} {
		code, out, errOut := seedctl("", args...)
		if code != exitOK || errOut != "" {
			t.Errorf("%v: %d, %s", args, code, errOut)
		}
		for _, c := range newRoot().Commands() {
			if c.Name() != "help" && (!strings.Contains(out, "  "+c.Name()+" ") || !strings.Contains(out, c.Short)) {
				t.Errorf("%v does not name %s", args, c.Name())
			}
		}
	}
	for line, want := range map[string]string{"help upload": "seedctl upload: ", "help dlq": "  replay ",
		"help dlq list": "seedctl dlq list: ", "dlq help list": "seedctl dlq list: "} {
		if code, out, errOut := seedctl("", strings.Fields(line)...); code != exitOK || errOut != "" ||
			!strings.Contains(out, want) {
			t.Errorf("%s: %d, %s%s", line, code, out, errOut)
		}
	}
	if code, _, errOut := seedctl("", "help", "robot"); code != exitUsage ||
		!strings.Contains(errOut, `no command "robot"`) {
		t.Errorf("help for an unknown command: %d, %s", code, errOut)
	}
	if code, out, errOut := seedctl(""); code != exitUsage || out != "" || !strings.Contains(errOut, "Usage:") {
		t.Errorf("no arguments: %d, %s, %s", code, out, errOut)
	}
	if code, out, errOut := seedctl("", "robot"); code != exitUsage || out != "" ||
		!strings.Contains(errOut, `no command "robot"`) {
		t.Errorf("unknown command: %d, %s, %s", code, out, errOut)
	}
}

// TestCommands_AllRun: each command explains itself and refuses unknown flags.
func TestCommands_AllRun(t *testing.T) {
	for _, c := range newRoot().Commands() {
		for _, help := range []string{"-h", "--help"} {
			if code, out, errOut := seedctl("", c.Name(), help); code != exitOK || errOut != "" ||
				!strings.Contains(out, "Usage:") {
				t.Errorf("%s %s: %d, %q, %q", c.Name(), help, code, out, errOut)
			}
		}
		if code, out, errOut := seedctl("", c.Name(), "--no-such-flag"); code != exitUsage || out != "" ||
			!strings.Contains(errOut, "no-such-flag") {
			t.Errorf("%s: %d, %q, %q", c.Name(), code, out, errOut)
		}
	}
}

func TestVersion(t *testing.T) {
	code, out, errOut := seedctl("", "version")
	if want := "seedctl " + contract.Version + " (" + runtime.Version(); code != exitOK ||
		!strings.HasPrefix(out, want) || errOut != "" {
		t.Errorf("%d, %q, %q", code, out, errOut)
	}
	var v struct{ Version, Go, Platform string }
	code, out, _ = seedctl("", "version", "--json")
	if err := json.Unmarshal([]byte(out), &v); code != exitOK || err != nil || v.Version != contract.Version ||
		v.Go != runtime.Version() || v.Platform != runtime.GOOS+"/"+runtime.GOARCH {
		t.Errorf("%d, %v, %q", code, err, out)
	}
}
