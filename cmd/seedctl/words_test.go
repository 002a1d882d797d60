package main

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// ofTheProgram matches text for the program's author only: system calls, types, the words of Go's packages.
var ofTheProgram = regexp.MustCompile(
	`\b(open|read|stat|lstat|openat|write|rename) [./]|json: |Go (struct|value)|invalid character|parse ` +
		`error|strconv|provided but not defined| flag -[a-z]|<nil>`)

// readers are the commands that take files or directories, each with what to write before the name of one.
var readers = map[string][]string{
	"robots": {""}, "sitemap": {"", "--json "}, "upload": {"", "--country sg --category news --date 2026-01-28 "},
	"classify": {"--site "}, "inspect": {"a.example --web "},
	"frontier put": {"--country sg --category news --date 2026-01-28 "}, "frontier report": {"--lease x "},
	"frontier remove": {"--country sg --category news --date 2026-01-28 "}, "frontier import": {""},
	"info import": {""},
	"feed":        {"--cursor-file "}, "changes": {"--cursor-file "}, "keygen": {"-o "},
}

// TestFiles_Unreadable: every command says in the same words which file is missing, is a directory or none, and
// which flag was wrong.
func TestFiles_Unreadable(t *testing.T) {
	newEngine(t)
	dir := t.TempDir()
	file := filepath.Join(dir, "file")
	if err := os.WriteFile(file, []byte("x"), 0o600); err != nil {
		t.Fatal(err)
	}
	for name := range everyCommand() {
		_, help, _ := seedctl("", append(strings.Fields(name), "--help")...)
		rest := strings.ReplaceAll(strings.ReplaceAll(help, "-token-file FILE", ""), "FILE that holds the API token",
			"")
		if takes := regexp.MustCompile(`\bFILE\b|\bDIR\b`).MatchString(rest); takes != (readers[name] != nil) {
			t.Errorf("%s takes a file: %v; this test: %q", name, takes, readers[name])
		}
		lines := []string{"--no-such-flag", "--json=perhaps", "--url"}
		if strings.Contains(help, "token-file") {
			lines = append(lines, "--token-file "+dir, "--token-file "+dir+"/none/missing")
		}
		for _, before := range readers[name] {
			lines = append(lines, before+dir+"/none/missing", before+file+"/below")
			if name != "upload" && name != "inspect" { // which take directories
				lines = append(lines, before+dir)
			}
		}
		for _, line := range lines {
			code, out, complaints := seedctl("", append(strings.Fields(name), strings.Fields(line)...)...)
			if said := ofTheProgram.FindString(out + complaints); said != "" || code == exitOK && line[0] != '-' {
				t.Errorf("seedctl %s %s: %d, %q in %s%s", name, line, code, said, out, complaints)
			}
			if strings.Contains(line, "missing") && !strings.Contains(line, "token") &&
				!strings.Contains(complaints, ": no such file or directory") {
				t.Errorf("seedctl %s %s: %s", name, line, complaints)
			}
		}
	}
}

// TestFlags_ErrorsInWords: what is wrong with a flag, and what was perhaps meant.
func TestFlags_ErrorsInWords(t *testing.T) {
	newEngine(t)
	for line, want := range map[string]string{
		"domains --stat failed":       "seedctl domains: there is no flag --stat; did you mean --state?",
		"domains --qqq":               "seedctl domains: there is no flag --qqq",
		"domains -json":               "seedctl domains: there is no flag -json; did you mean --json?",
		"domains --country":           "seedctl domains: --country needs a value",
		"domains --limit x":           `seedctl domains: --limit "x": send a whole number`,
		"domains --slower-than 5":     `seedctl domains: --slower-than "5": send a time with its unit, such as 5s`,
		"domains --json=perhaps":      `seedctl domains: --json "perhaps": send true or false`,
		"feed --interval x":           `seedctl feed: --interval "x": send a time with its unit, such as `,
		"dlq list --error-type parse": `seedctl dlq list: --error-type "parse": did you mean parse_error?`,
		"domains --error-type qqqqqqqqq": `seedctl domains: --error-type "qqqqqqqqq": send ` +
			`validation_error, parse_error,`,
		"domains --state done":        `seedctl domains: --state "done": send pending, processed, failed or excluded`,
		"domains --robots maybe":      `seedctl domains: --robots "maybe": send true or false`,
		"dlq replay --queue sed":      `seedctl dlq replay: --queue "sed": did you mean seed?`,
		"exclusions list --kind site": `seedctl exclusions list: --kind "site": send domain, host or url`,
		"feed --min-score perhaps":    `seedctl feed: --min-score "perhaps": send a number`,
	} {
		code, _, complaints := seedctl("", strings.Fields(line)...)
		if first, _, _ := strings.Cut(complaints, "\n"); code != exitUsage || !strings.HasPrefix(first, want) {
			t.Errorf("%s: %d, %s, want %s", line, code, first, want)
		}
	}
	for in, want := range map[string]string{
		"x":         "it is not JSON from byte 1 on",
		`{"url":1}`: `"url" cannot be a number`,
		`{"url":`:   "it ends too early to be JSON",
		`7`:         "it is a number, not an object",
	} {
		for _, command := range []string{"classify", "robots"} {
			if _, out, _ := seedctl(in+"\n", command, "--jsonl"); !strings.Contains(strings.ReplaceAll(out, `\"`, `"`),
				want) {
				t.Errorf("%s --jsonl on %s: %s, want %s", command, in, out, want)
			}
		}
	}
}
