package main

import (
	"errors"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/newsfork/seed-engine/contract"
)

var update = flag.Bool("update", false, "write the outputs of the examples into docs/seedctl.md")

const docsPage = "docs/seedctl.md"

// everyCommand returns all commands that do something, by their full names.
func everyCommand() map[string]*cobra.Command {
	all := map[string]*cobra.Command{}
	var add func(*cobra.Command)
	add = func(c *cobra.Command) {
		for _, sub := range c.Commands() {
			add(sub)
		}
		if !c.HasSubCommands() && c.Name() != "help" {
			all[strings.TrimPrefix(c.CommandPath(), "seedctl ")] = c
		}
	}
	add(newRoot())
	return all
}

// TestDocs_Examples runs every example of the page and compares what it shows.
func TestDocs_Examples(t *testing.T) {
	t.Chdir("../..")
	text, err := os.ReadFile(docsPage)
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
		if err := os.WriteFile(docsPage, []byte(got), 0o644); err != nil {
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
	text, err := os.ReadFile("../../" + docsPage)
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
		c.Flags().VisitAll(func(f *pflag.Flag) {
			names[f.Name] = true
			if !regexp.MustCompile(`--`+f.Name+`\b`).MatchString(body) && !slices.Contains(shared, f.Name) {
				t.Errorf("seedctl %s: --%s is not explained", name, f.Name)
			}
		})
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
		_, help, _ := seedctl("", append(strings.Fields(name), "--help")...)
		text, _, _ := strings.Cut(help, "\nFlags:\n")
		if !strings.HasPrefix(help, "seedctl "+name+": ") || !strings.Contains(help, "\n  seedctl "+name) {
			t.Errorf("%s: %s", name, help)
		}
		for line := range strings.Lines(text) {
			if len([]rune(line)) > 101 { // with its line break
				t.Errorf("%s: too long: %s", name, line)
			}
		}
		if c.Flags().Lookup("url") != nil && !strings.Contains(text, "_TOKEN") &&
			!strings.Contains(text, "needs no token") {
			t.Errorf("%s says nothing of the token", name)
		}
	}
}

// TestCompletion_Choices: commands, flags and known values are offered, with what they are.
func TestCompletion_Choices(t *testing.T) {
	var commands []string
	for _, c := range newRoot().Commands() {
		commands = append(commands, c.Name())
	}
	const files, nothing = ":0", ":4" // what the script does if nothing is offered: cobra.ShellCompDirective
	for _, c := range []struct {
		line, want, otherwise string
	}{
		{"", strings.Join(commands, " "), nothing},
		{"st", "status", nothing},
		{"dlq ", "list show replay discard help", nothing},
		{"dlq re", "replay", nothing},
		{"status --w", "--watch", nothing},
		{"status --country sg --by", "--by", nothing},
		{"status --by ", "partition error_type partition,error_type", nothing},
		{"status --country ", "", nothing},
		{"dlq list --st", "--state", nothing},
		{"dlq list --state ", "stored replayed discarded", nothing},
		{"dlq list --state=r", "replayed", nothing},
		{"domains --sort d", "domain duration", nothing},
		{"exclusions add ", "domain host url", nothing},
		{"exclusions add domain ", "", nothing},
		{"exclusions add domain x --r", "--reason", nothing},
		{"feed --type press", "press_release", nothing},
		{"info collect n", "naver newsdata", nothing},
		{"upload sam", "", files},
		{"status --token-file ", "", files},
		{"inspect --web ", "", ":16"}, // directories
		{"status sam", "", nothing},
		{"nothing --", "--help", nothing},
	} {
		words := strings.Split("__complete "+c.line, " ")
		code, out, _ := seedctl("", words...)
		word := c.line[strings.LastIndexAny(c.line, " =")+1:]
		var offered []string
		for line := range strings.Lines(out) {
			choice, _, _ := strings.Cut(strings.TrimSuffix(line, "\n"), "\t")
			if strings.HasPrefix(choice, word) || choice[0] == ':' { // as shells filter
				offered = append(offered, choice)
			}
		}
		if got := strings.Join(offered, " "); code != exitOK || got != strings.TrimSpace(c.want+" "+c.otherwise) {
			t.Errorf("%q: %d, %s", c.line, code, got)
		}
	}
}

// TestCompletion_Scripts runs the script in bash, which is everywhere, and has the other shells read theirs where they
// are installed.
func TestCompletion_Scripts(t *testing.T) {
	dir := t.TempDir()
	_, script, _ := seedctl("", "completion", "bash")
	program, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(os.WriteFile(filepath.Join(dir, "script"), []byte(script), 0o644),
		os.Symlink(program, filepath.Join(dir, "seedctl"))); err != nil {
		t.Fatal(err)
	}
	// _get_comp_words_by_ref stands for that of bash-completion; compopt only works where a user types.
	const complete = `compopt() { :; }
		_get_comp_words_by_ref() { words=("${COMP_WORDS[@]}"); cword=$COMP_CWORD; cur=${words[cword]}; }
		source script; read -ra COMP_WORDS <<<"$1"; [[ $1 == *" " ]] && COMP_WORDS+=("")
		COMP_CWORD=$((${#COMP_WORDS[@]} - 1)); COMP_TYPE=9; __start_seedctl; echo "${COMPREPLY[@]}"`
	for line, want := range map[string]string{
		"seedctl st": "status", "seedctl dlq re": "replay", "seedctl status --w": "--watch",
		"seedctl dlq list --state r": "replayed", "seedctl info collect n": "naver newsdata",
	} {
		bash := exec.Command("bash", "-c", complete, "bash", line)
		bash.Dir = dir
		bash.Env = append(os.Environ(), "SEEDCTL_TEST_MAIN=1", "PATH="+dir+":"+os.Getenv("PATH"))
		out, err := bash.CombinedOutput()
		if err != nil || strings.TrimSpace(string(out)) != want {
			t.Errorf("%s: %v: %s", line, err, out)
		}
	}
	for _, shell := range []string{"zsh", "fish"} {
		_, script, _ := seedctl("", "completion", shell)
		if !strings.Contains(script, "__complete") {
			t.Errorf("%s: %s", shell, script)
		}
		path, err := exec.LookPath(shell)
		if err != nil {
			t.Logf("%s is not installed", shell)
			continue
		}
		check := exec.Command(path, "-n", "/dev/stdin")
		check.Stdin = strings.NewReader(script)
		if out, err := check.CombinedOutput(); err != nil || len(out) > 0 {
			t.Errorf("%s: %v: %s", shell, err, out)
		}
	}
}
