// Command seedctl is the command line of the Seed Engine: its parsers of robots.txt and sitemaps and its
// classifier for use on a laptop, without a server, and the commands that operate a running engine.
// docs/seedctl.md shows every command.
package main

import (
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"slices"
)

// Exit codes, the same for every subcommand.
const (
	exitOK          = 0
	exitInput       = 1   // an input could not be read or understood; the others were answered
	exitFailed      = 1   // the engine refused the request, or something that it was to do failed
	exitUsage       = 2   // the command line is wrong; nothing was done
	exitUnreachable = 3   // the engine could not be reached, or is in trouble: try again later
	exitDenied      = 4   // the token is missing, wrong, or may only read
	exitInterrupted = 130 // ended by Ctrl-C
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
		{"inspect", "what the engine finds out about a domain, without an engine", runInspect},
		{"robots", "what a robots.txt file allows, and by which line", runRobots},
		{"sitemap", "what a sitemap or feed holds, and what is wrong with it", runSitemap},
		{"classify", "which of 23 content types a URL leads to", runClassify},
		{"upload", "store raw files in the engine's bucket", runUpload},
		{"files", "raw files: their states, and removing one", group("files", "raw files")},
		{"orchestrate", "queue raw files that are not finished, and watch them", runOrchestrate},
		{"status", "how far the pipeline is, its alarms and queues", runStatus},
		{"domains", "domains and how they ended; the document of one", runDomains},
		{"collect", "have one domain asked again", runCollect},
		{"dlq", "dead letters: what was given up, and sending it again",
			group("dlq", "dead letters, the messages that were given up")},
		{"exclusions", "what is never fetched", group("exclusions", "what is never fetched")},
		{"frontier", "what is fetched next, and who may ask a host",
			group("frontier", "what is fetched next, and who may ask a host")},
		{"feed", "new URLs, in the order in which they were found", runFeed},
		{"changes", "contracts that were rewritten", runChanges},
		{"info", "the Info service: its sources, and what readers get",
			group("info", "the Info service: its sources, and what readers get")},
		{"pause", "hold all messages back; nothing is lost", runPause},
		{"resume", "let a paused pipeline go on", runResume},
		{"reconcile", "rebuild the ledger of a partition from the bucket", runReconcile},
		{"completion", "completion of commands and flags for a shell",
			group("completion", "completion of commands and flags")},
		{"version", "the version of this program", runVersion},
	}
}

// subcommands lists the commands below a command that has some.
func subcommands(name string) []command {
	switch name {
	case "files":
		return []command{
			{"list", "raw files of a partition, their states, and rejected records", runFilesList},
			{"delete", "remove raw files that were not processed", runFilesDelete},
		}
	case "dlq":
		return []command{
			{"list", "dead letters, newest first", runDLQList},
			{"show", "one dead letter with its reason, message and history", runDLQShow},
			{"replay", "send dead letters to their queue again", runDLQReplay},
			{"discard", "mark dead letters as not worth a replay", runDLQDiscard},
		}
	case "exclusions":
		return []command{
			{"list", "what operators ruled out", runExclusionsList},
			{"add", "rule out a domain, a host or URLs", runExclusionsAdd},
			{"remove", "take an exclusion back", runExclusionsRemove},
		}
	case "frontier":
		return []command{
			{"stats", "how much waits, by shard", runFrontierStats},
			{"lease", "URLs to fetch, as a scraper gets them", runFrontierLease},
			{"report", "what became of leased URLs", runFrontierReport},
			{"put", "queue URLs", runFrontierPut},
			{"url", "the state of a URL", runFrontierURL},
			{"hosts", "hosts, what waits there, and when they may be asked", runFrontierHosts},
			{"host", "block a host, slow it down, or empty its queue", runFrontierHost},
			{"export", "all that a shard has", runFrontierExport},
			{"quarantine", "damaged rows of shards", runFrontierQuarantine},
			{"restore", "give shards back what their last snapshots have", runFrontierRestore},
		}
	case "info":
		return []command{
			{"status", "sources, their quotas and alarms", runInfoStatus},
			{"collect", "collect articles now", runInfoCollect},
			{"articles", "articles as readers get them, newest first", runInfoArticles},
		}
	case "completion":
		return []command{
			{"bash", "the script for bash", completion("bash")},
			{"zsh", "the script for zsh", completion("zsh")},
			{"fish", "the script for fish", completion("fish")},
		}
	}
	return nil
}

// group runs the subcommands of a command.
func group(name, title string) func(args []string, in io.Reader, out, errOut io.Writer) int {
	return func(args []string, in io.Reader, out, errOut io.Writer) int {
		return dispatch("seedctl "+name, title, subcommands(name), args, in, out, errOut)
	}
}

func main() {
	os.Exit(run(os.Args[1:], os.Stdin, os.Stdout, os.Stderr))
}

func run(args []string, in io.Reader, out, errOut io.Writer) int {
	return dispatch("seedctl", "the Seed Engine's command line", commands(), args, in, out, errOut)
}

// dispatch runs the command that the first argument names. name is the command line so far,
// title what the help says of it.
func dispatch(name, title string, commands []command, args []string, in io.Reader, out, errOut io.Writer) int {
	if len(args) == 0 {
		usage(errOut, name, title, commands)
		return exitUsage
	}
	for _, c := range commands {
		if c.name == args[0] {
			return c.run(args[1:], in, out, errOut)
		}
	}
	switch args[0] {
	case "help", "-h", "-help", "--help":
		if len(args) > 1 { // of the command that follows
			return dispatch(name, title, commands, append(slices.Clone(args[1:]), "--help"), in, out, errOut)
		}
		usage(out, name, title, commands)
		return exitOK
	}
	fmt.Fprintf(errOut, "%s: no command %q\n\n", name, args[0])
	usage(errOut, name, title, commands)
	return exitUsage
}

func usage(w io.Writer, name, title string, commands []command) {
	fmt.Fprintf(w, "%s: %s\n\nUsage:\n  %[1]s COMMAND [flags] [arguments]\n\nCommands:\n", name, title)
	for _, c := range commands {
		fmt.Fprintf(w, "  %-12s %s\n", c.name, c.summary)
	}
	fmt.Fprintf(w,
		"\n%q explains a command. Exit codes: 0 success, 1 bad input or something failed,\n2 wrong usage, 3 the engine is not to be reached, 4 the token is refused, 130 interrupted.\n", name+" COMMAND --help")
}

// parseArgs parses flags wherever they stand among the arguments and returns the others. If it
// returns false, the command ends with the code: help was asked for, or a flag is wrong.
func parseArgs(flags *flag.FlagSet, help string, args []string, out, errOut io.Writer) (remaining []string, code int,
	ok bool) {
	flags.SetOutput(io.Discard) // errors are said in other words, and the help goes to the right stream
	flags.Usage = func() {}
	for {
		err := flags.Parse(args)
		switch {
		case errors.Is(err, flag.ErrHelp):
			fmt.Fprint(out, help, "\nFlags:\n")
			flags.SetOutput(out)
			flags.PrintDefaults()
			return nil, exitOK, false
		case err != nil:
			fmt.Fprintf(errOut, "seedctl %[1]s: %[2]s\n\"seedctl %[1]s --help\" explains the flags.\n", flags.Name(),
				harmless(flagWords(flags, err)))
			return nil, exitUsage, false
		}
		if args = flags.Args(); len(args) == 0 {
			return remaining, exitOK, true
		}
		remaining, args = append(remaining, args[0]), args[1:]
	}
}
