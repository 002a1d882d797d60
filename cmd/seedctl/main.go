// Command seedctl is the command line of the Seed Engine: its knowledge of robots.txt, sitemaps
// and content types for use on a laptop, without a server.
package main

import (
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
)

// Exit codes, the same for every subcommand.
const (
	exitOK    = 0
	exitInput = 1 // an input could not be read or understood; the others were answered
	exitUsage = 2 // the command line is wrong; nothing was done
)

// command is one subcommand. run gets the arguments after its name and returns the exit code;
// results go to out, complaints to errOut, and "-" among the arguments means in.
type command struct {
	name    string
	summary string
	run     func(args []string, in io.Reader, out, errOut io.Writer) int
}

// commands lists the subcommands in the order of the help text. Each stands in a file of its own
// (robots.go: runRobots) and is entered here.
func commands() []command {
	return []command{
		{"robots", "what a robots.txt file allows, and by which line", runRobots},
		{"sitemap", "what a sitemap or feed holds, and what is wrong with it", runSitemap},
	}
}

func main() {
	os.Exit(run(os.Args[1:], os.Stdin, os.Stdout, os.Stderr))
}

func run(args []string, in io.Reader, out, errOut io.Writer) int {
	if len(args) == 0 {
		usage(errOut)
		return exitUsage
	}
	for _, c := range commands() {
		if c.name == args[0] {
			return c.run(args[1:], in, out, errOut)
		}
	}
	switch args[0] {
	case "help", "-h", "-help", "--help":
		usage(out)
		return exitOK
	}
	fmt.Fprintf(errOut, "seedctl: no command %q\n\n", args[0])
	usage(errOut)
	return exitUsage
}

func usage(w io.Writer) {
	fmt.Fprint(w, "seedctl: the Seed Engine's command line\n\nUsage:\n  seedctl COMMAND [flags] [arguments]\n\nCommands:\n")
	for _, c := range commands() {
		fmt.Fprintf(w, "  %-10s %s\n", c.name, c.summary)
	}
	fmt.Fprint(w, "\n\"seedctl COMMAND --help\" explains a command. Exit codes: 0 success, 1 bad input, 2 wrong usage.\n")
}

// parseArgs parses flags wherever they stand among the arguments and returns the others. If it
// returns false, the command ends with the code: help was asked for, or a flag is wrong.
func parseArgs(flags *flag.FlagSet, help string, args []string, out, errOut io.Writer) (rest []string, code int, ok bool) {
	flags.SetOutput(errOut)
	flags.Usage = func() {} // the error alone, or the help on the right stream
	for {
		err := flags.Parse(args)
		switch {
		case errors.Is(err, flag.ErrHelp):
			fmt.Fprint(out, help, "\nFlags:\n")
			flags.SetOutput(out)
			flags.PrintDefaults()
			return nil, exitOK, false
		case err != nil:
			fmt.Fprintf(errOut, "\"seedctl %s --help\" explains the flags.\n", flags.Name())
			return nil, exitUsage, false
		}
		if args = flags.Args(); len(args) == 0 {
			return rest, exitOK, true
		}
		rest, args = append(rest, args[0]), args[1:]
	}
}
