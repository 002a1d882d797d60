package main

import (
	"bytes"
	"flag"
	"fmt"
	"io"
	"regexp"
	"strings"
)

const completionHelp = `seedctl completion %[1]s: completion of commands and flags for %[1]s

Usage:
  seedctl completion %[1]s

Prints a script. To use it, put this into %[2]s:
  %[3]s
`

// completion prints the script of a shell.
func completion(shell string) func(args []string, in io.Reader, out, errOut io.Writer) int {
	return func(args []string, _ io.Reader, out, errOut io.Writer) int {
		var help string
		var script func() string // not called for the help, which it reads of all commands
		switch shell {
		case "bash":
			help = fmt.Sprintf(completionHelp, shell, "~/.bashrc", "source <(seedctl completion bash)")
			script = bashFunction
		case "zsh":
			help = fmt.Sprintf(completionHelp, shell, "~/.zshrc", "source <(seedctl completion zsh)")
			script = func() string {
				return "autoload -Uz compinit bashcompinit && compinit && bashcompinit\n" + bashFunction()
			}
		case "fish":
			help = fmt.Sprintf(completionHelp, shell, "~/.config/fish/config.fish", "seedctl completion fish | source")
			script = fishScript
		}
		remaining, code, ok := parseArgs(flag.NewFlagSet("completion "+shell, flag.ContinueOnError), help, args, out, errOut)
		if !ok {
			return code
		}
		if len(remaining) > 0 {
			fmt.Fprintf(errOut, "seedctl completion %s: takes no arguments\n", shell)
			return exitUsage
		}
		if _, err := io.WriteString(out, script()); err != nil {
			fmt.Fprintf(errOut, "seedctl completion %s: %v\n", shell, err)
			return exitFailed
		}
		return exitOK
	}
}

var flagLine = regexp.MustCompile(`(?m)^  -([a-z][a-z0-9-]*)( \S+)?`)

// commandFlag is a flag as the help of a command shows it.
type commandFlag struct {
	name  string
	value bool // a value follows
}

// flagsOf reads the flags of a command from its help, which lists them all.
func flagsOf(c command) []commandFlag {
	var help, errOut bytes.Buffer
	c.run([]string{"--help"}, strings.NewReader(""), &help, &errOut)
	_, text, _ := strings.Cut(help.String(), "\nFlags:\n")
	var flags []commandFlag
	for _, m := range flagLine.FindAllStringSubmatch(text, -1) {
		flags = append(flags, commandFlag{m[1], m[2] != ""})
	}
	return flags
}

func names(commands []command) string {
	var s []string
	for _, c := range commands {
		s = append(s, c.name)
	}
	return strings.Join(s, " ")
}

func options(c command) string {
	var s []string
	for _, f := range flagsOf(c) {
		s = append(s, "--"+f.name)
	}
	return strings.Join(s, " ")
}

// bashFunction offers commands, flags after a dash, and else files.
func bashFunction() string {
	var b strings.Builder
	b.WriteString("_seedctl() {\n" +
		"    local cur=${COMP_WORDS[COMP_CWORD]} command=${COMP_WORDS[1]} choices=\n" +
		"    [ \"$COMP_CWORD\" -gt 2 ] && command=\"$command ${COMP_WORDS[2]}\"\n" +
		"    if [ \"$COMP_CWORD\" -eq 1 ]; then\n" +
		"        choices=\"" + names(commands()) + " help\"\n" +
		"    else\n" +
		"        case \"$command\" in\n")
	for _, c := range commands() {
		subs := subcommands(c.name)
		for _, s := range subs {
			fmt.Fprintf(&b, "        \"%s %s\") [[ $cur == -* ]] && choices=\"%s\" ;;\n", c.name, s.name, options(s))
		}
		if subs != nil {
			fmt.Fprintf(&b, "        %s) choices=\"%s\" ;;\n", c.name, names(subs))
		} else {
			fmt.Fprintf(&b, "        %s | %[1]s\\ *) [[ $cur == -* ]] && choices=\"%s\" ;;\n", c.name, options(c))
		}
	}
	b.WriteString("        esac\n" +
		"    fi\n" +
		"    COMPREPLY=($(compgen -W \"$choices\" -- \"$cur\"))\n" +
		"}\n" +
		"complete -o default -F _seedctl seedctl\n")
	return b.String()
}

func fishScript() string {
	var b strings.Builder
	quote := func(s string) string { return "'" + strings.ReplaceAll(s, "'", `\'`) + "'" }
	addFlags := func(when string, c command) {
		for _, f := range flagsOf(c) {
			value := ""
			if f.value {
				value = " -r"
			}
			fmt.Fprintf(&b, "complete -c seedctl -n %s -l %s%s\n", quote(when), f.name, value)
		}
	}
	for _, c := range commands() {
		fmt.Fprintf(&b, "complete -c seedctl -f -n __fish_use_subcommand -a %s -d %s\n", c.name, quote(c.summary))
		seen := "__fish_seen_subcommand_from " + c.name
		subs := subcommands(c.name)
		for _, s := range subs {
			fmt.Fprintf(&b, "complete -c seedctl -f -n %s -a %s -d %s\n",
				quote(seen+"; and not __fish_seen_subcommand_from "+names(subs)), s.name, quote(s.summary))
			addFlags(seen+"; and __fish_seen_subcommand_from "+s.name, s)
		}
		if subs == nil {
			addFlags(seen, c)
		}
	}
	return b.String()
}
