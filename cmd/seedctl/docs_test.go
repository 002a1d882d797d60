package main

import (
	"bytes"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/newsfork/seed-engine/contract"
)

var update = flag.Bool("update", false, "write the outputs of the examples into docs/seedctl.md")

const page = "docs/seedctl.md"

// everyCommand returns all commands by their full names.
func everyCommand() map[string]command {
	all := map[string]command{}
	for _, c := range commands() {
		subs := subcommands(c.name)
		for _, s := range subs {
			all[c.name+" "+s.name] = s
		}
		if subs == nil {
			all[c.name] = c
		}
	}
	return all
}

// TestDocs_Examples runs every example of the page and compares what it shows.
func TestDocs_Examples(t *testing.T) {
	t.Chdir("../..")
	text, err := os.ReadFile(page)
	if err != nil {
		t.Fatal(err)
	}
	e := newEngine(t)
	e.files = map[string]playedFile{}
	newInfoService(t)
	ran := 0
	block := regexp.MustCompile("(?s)\n```console\n(.*?)```\n")
	got := block.ReplaceAllStringFunc(string(text), func(b string) string {
		out := "\n```console\n"
		for line := range strings.Lines(block.FindStringSubmatch(b)[1]) {
			if example, ok := strings.CutPrefix(strings.TrimSpace(line), "$ "); ok {
				out += "$ " + example + "\n" + e.example(t, example)
				ran++
			}
		}
		return out + "```\n"
	})
	if ran < 25 {
		t.Errorf("only %d examples", ran)
	}
	if got == string(text) {
		return
	}
	if *update {
		if err := os.WriteFile(page, []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	was := strings.Split(string(text), "\n")
	for i, line := range strings.Split(got, "\n") {
		if i >= len(was) || was[i] != line {
			t.Fatalf("line %d is not\n%s\n(go test ./cmd/seedctl -run Docs -update writes it)", i+1, line)
		}
	}
}

// example runs a command line, after printf and a pipe if it begins so, and gives all that it prints.
func (e *playedEngine) example(t *testing.T, line string) string {
	in := ""
	if before, after, piped := strings.Cut(line, " | "); piped {
		in = strings.ReplaceAll(words(before)[1], `\n`, "\n")
		line = after
	}
	args := words(line)[1:]
	e.statuses = []contract.Status{sampleStatus()}
	if strings.Contains(line, "--watch") {
		args = append(args, "--interval", "1ms")
		e.statuses = []contract.Status{stats(three{0, 0, 150}, three{}), stats(three{150, 0, 0}, three{1250, 0, 0})}
	}
	code, out, errOut := seedctl(in, args...)
	out += errOut
	if code != exitOK {
		out += fmt.Sprintf("(exit code %d)\n", code)
	}
	return out
}

// words splits a command line at blanks outside of quotes.
func words(line string) []string {
	var w []string
	for _, m := range regexp.MustCompile(`'([^']*)'|"([^"]*)"|(\S+)`).FindAllStringSubmatch(line, -1) {
		w = append(w, m[1]+m[2]+m[3])
	}
	return w
}

// TestDocs_NameEveryCommand: every command has a section that names its flags, and no others.
func TestDocs_NameEveryCommand(t *testing.T) {
	text, err := os.ReadFile("../../" + page)
	if err != nil {
		t.Fatal(err)
	}
	sections := map[string]string{}
	intro, commands, _ := strings.Cut(string(text), "\n## seedctl ")
	for _, s := range strings.Split(commands, "\n## seedctl ") {
		name, body, _ := strings.Cut(s, "\n")
		sections[name] = body
	}
	shared := []string{"url", "token-file", "json"}
	for _, name := range shared {
		if !strings.Contains(intro, "--"+name) {
			t.Errorf("--%s is not explained", name)
		}
	}
	flags := regexp.MustCompile(`--([a-z][a-z-]*)`)
	for name, c := range everyCommand() {
		body, ok := sections[name]
		if !ok {
			t.Errorf("no section on seedctl %s", name)
			continue
		}
		delete(sections, name)
		names := map[string]bool{}
		for _, f := range flagsOf(c) {
			names[f.name] = true
			if !regexp.MustCompile(`--`+f.name+`\b`).MatchString(body) &&
				!strings.Contains(" url token-file json ", " "+f.name+" ") {
				t.Errorf("seedctl %s: --%s is not explained", name, f.name)
			}
		}
		for _, m := range flags.FindAllStringSubmatch(body, -1) {
			if !names[m[1]] {
				t.Errorf("seedctl %s has no --%s", name, m[1])
			}
		}
	}
	for name := range sections {
		t.Errorf("there is no seedctl %s", name)
	}
}

// TestHelp: the help of every command fits a terminal, says how to use it, and ends with the shared
// part where it talks to the engine.
func TestHelp(t *testing.T) {
	for name, c := range everyCommand() {
		_, help, _ := runOne(c, "--help")
		text, _, _ := strings.Cut(help, "\nFlags:\n")
		if !strings.HasPrefix(help, "seedctl "+name+": ") || !strings.Contains(help, "\n  seedctl "+name) {
			t.Errorf("%s: %s", name, help)
		}
		for line := range strings.Lines(text) {
			if len([]rune(line)) > 101 { // with its line break
				t.Errorf("%s: too long: %s", name, line)
			}
		}
		for _, f := range flagsOf(c) {
			if f.name == "url" && !strings.Contains(text, "_TOKEN") && !strings.Contains(text, "needs no token") {
				t.Errorf("%s says nothing of the token", name)
			}
		}
	}
}

func runOne(c command, args ...string) (code int, out, errOut string) {
	var o, e bytes.Buffer
	code = c.run(args, strings.NewReader(""), &o, &e)
	return code, o.String(), e.String()
}

// TestCompletion runs the scripts in their shells, where they are installed; bash is everywhere.
func TestCompletion(t *testing.T) {
	for _, c := range []struct{ line, want string }{
		{"seedctl ", names(commands()) + " help"},
		{"seedctl st", "status"},
		{"seedctl dlq ", "list show replay discard"},
		{"seedctl dlq re", "replay"},
		{"seedctl status --w", "--watch"},
		{"seedctl status --country sg --by", "--by"},
		{"seedctl dlq list --st", "--state"},
		{"seedctl exclusions add domain x --r", "--reason"},
		{"seedctl upload sam", ""}, // files, by the shell
		{"seedctl nothing --", ""},
	} {
		t.Run(c.line, func(t *testing.T) {
			_, script, _ := seedctl("", "completion", "bash")
			path := filepath.Join(t.TempDir(), "script")
			if err := os.WriteFile(path, []byte(script), 0o644); err != nil {
				t.Fatal(err)
			}
			out, err := exec.Command("bash", "-c",
				`set -u; source "$1"; read -ra COMP_WORDS <<<"$2"; [[ $2 == *" " ]] && COMP_WORDS+=(""); COMP_CWORD=$((${#COMP_WORDS[@]} - 1)); _seedctl; echo "${COMPREPLY[@]-}"`, "bash", path, c.line).CombinedOutput()
			if err != nil || strings.TrimSpace(string(out)) != c.want {
				t.Errorf("%v: %s", err, out)
			}
		})
	}
	_, fish, _ := seedctl("", "completion", "fish")
	for _, want := range []string{
		"complete -c seedctl -f -n __fish_use_subcommand -a status -d 'how far the pipeline is, its alarms and queues'\n",
		`-a upload -d 'store raw files in the engine\'s bucket'` + "\n",
		"complete -c seedctl -n '__fish_seen_subcommand_from status' -l watch\n",
		"complete -c seedctl -n '__fish_seen_subcommand_from status' -l country -r\n",
		"complete -c seedctl -f -n '__fish_seen_subcommand_from dlq; and not __fish_seen_subcommand_from list show replay discard' -a replay -d 'send dead letters to their queue again'\n",
		"complete -c seedctl -n '__fish_seen_subcommand_from dlq; and __fish_seen_subcommand_from replay' -l all\n",
	} {
		if !strings.Contains(fish, want) {
			t.Errorf("fish lacks %s", want)
		}
	}
	for _, shell := range []string{"zsh", "fish"} {
		path, err := exec.LookPath(shell)
		if err != nil {
			t.Logf("%s is not installed", shell)
			continue
		}
		_, script, _ := seedctl("", "completion", shell)
		check := exec.Command(path, "-n", "/dev/stdin")
		check.Stdin = strings.NewReader(script)
		if out, err := check.CombinedOutput(); err != nil || len(out) > 0 {
			t.Errorf("%s: %v: %s", shell, err, out)
		}
	}
}
