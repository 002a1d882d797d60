// Command seedctl is the command line of the Seed Engine: its parsers of robots.txt and sitemaps and its
// classifier for use on a laptop, without a server, and the commands that operate a running engine.
// docs/seedctl.md shows every command.
package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"

	"github.com/spf13/cobra"
)

// Exit codes, the same for every subcommand.
const (
	exitOK          = 0
	exitFailed      = 1   // an input could not be read, the engine refused the request, or something failed
	exitUsage       = 2   // the command line is wrong; nothing was done
	exitUnreachable = 3   // the engine could not be reached, or is in trouble: try again later
	exitDenied      = 4   // the token is missing, wrong, or may only read
	exitInterrupted = 130 // ended by Ctrl-C
)

func main() {
	os.Exit(run(os.Args[1:], os.Stdin, os.Stdout, os.Stderr))
}

// run runs a command line and returns its exit code.
func run(args []string, in io.Reader, out, errOut io.Writer) int {
	root := newRoot()
	root.SetArgs(append([]string{}, args...)) // cobra reads os.Args for nil
	root.SetIn(in)
	root.SetOut(out)
	root.SetErr(errOut)
	cmd, err := root.ExecuteC()
	return exit(cmd, err)
}

// newRoot returns seedctl with all its commands, in the order of the help text.
func newRoot() *cobra.Command {
	cobra.EnableCommandSorting = false
	root := group("seedctl", "the Seed Engine's command line",
		inspectCommand(),
		robotsCommand(),
		sitemapCommand(),
		classifyCommand(),
		uploadCommand(),
		group("files", "raw files: their states, and removing one",
			filesListCommand(), filesDeleteCommand()),
		orchestrateCommand(),
		statusCommand(),
		domainsCommand(),
		collectCommand(),
		group("dlq", "dead letters: what was given up, and sending it again",
			dlqListCommand(), dlqShowCommand(), dlqReplayCommand(), dlqDiscardCommand()),
		group("exclusions", "what is never fetched",
			exclusionsListCommand(), exclusionsAddCommand(), exclusionsRemoveCommand()),
		group("frontier", "what is fetched next, and who may ask a host",
			frontierStatsCommand(), frontierLeaseCommand(), frontierReportCommand(), frontierPutCommand(),
			frontierRemoveCommand(),
			frontierURLCommand(), frontierHostsCommand(), frontierHostCommand(), frontierExportCommand(),
			frontierImportCommand(), frontierQuarantineCommand(), frontierSnapshotCommand(), frontierRestoreCommand()),
		feedCommand(),
		changesCommand(),
		group("webhook", "the webhook of the feed, and what its receiver does not accept",
			webhookStatusCommand(), webhookSkipCommand()),
		group("alarms", "the alarms, and the webhook to which their changes are posted",
			alarmsListCommand(), alarmsTestCommand()),
		group("info", "the Info service: its sources, and what readers get",
			infoStatusCommand(), infoCollectCommand(), infoArticlesCommand(), infoRemoveCommand(),
			infoRestoreCommand(), infoExportCommand(), infoImportCommand()),
		costCommand(),
		pauseCommand(),
		resumeCommand(),
		reconcileCommand(),
		keygenCommand(),
		directoryCommand(),
		group("completion", "completion of commands, flags and values for a shell",
			bashCommand(), zshCommand(), fishCommand()),
		versionCommand(),
	)
	root.Long = `"seedctl COMMAND --help" explains a command. Exit codes: 0 success, 1 bad input or something failed,
2 wrong usage, 3 the engine is not to be reached, 4 the token is refused, 130 interrupted.`
	root.SilenceErrors, root.SilenceUsage = true, true
	root.SetHelpTemplate(helpTemplate)
	root.SetFlagErrorFunc(flagError)
	root.CompletionOptions.SetDefaultShellCompDirective(cobra.ShellCompDirectiveNoFileComp)
	return root
}

const helpTemplate = `{{.CommandPath}}: {{.Short}}

Usage:
  {{.UseLine}}
{{with .Long}}
{{trimTrailingWhitespaces .}}
{{end}}{{with .Example}}
Examples:
{{.}}
{{end}}{{if .HasAvailableSubCommands}}
Commands:{{range .Commands}}{{if .IsAvailableCommand}}
  {{rpad .Name .NamePadding}} {{.Short}}{{end}}{{end}}
{{end}}{{if not .HasSubCommands}}
Flags:
{{.LocalFlags.FlagUsages}}{{end}}`

// group returns a command that only has subcommands.
func group(name, summary string, commands ...*cobra.Command) *cobra.Command {
	g := &cobra.Command{
		Use:                        name + " COMMAND",
		Short:                      summary,
		SuggestionsMinimumDistance: 2,
		Args:                       cobra.ArbitraryArgs, // an unknown command, for RunE
		RunE: func(cmd *cobra.Command, args []string) error {
			if len(args) > 0 {
				return noCommand(cmd, args[0])
			}
			cmd.SetOut(cmd.ErrOrStderr())
			return errors.Join(errNoCommand, cmd.Help())
		},
	}
	g.AddCommand(commands...)
	help := helpCommand()
	g.AddCommand(help)
	g.SetHelpCommand(help)
	return g
}

// helpCommand returns "help", which shows the help of a command below its parent.
func helpCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "help [COMMAND]",
		Short: "the help of a command",
		RunE: func(cmd *cobra.Command, args []string) error {
			c, rest, err := cmd.Parent().Find(args)
			if err == nil && len(rest) > 0 {
				err = noCommand(c, rest[0])
			}
			if err != nil {
				return err
			}
			return c.Help()
		},
	}
}

func noCommand(cmd *cobra.Command, name string) error {
	text := fmt.Sprintf("no command %q", name)
	if similar := cmd.SuggestionsFor(name); len(similar) > 0 {
		text += fmt.Sprintf("; did you mean %q?", similar[0])
	}
	return usageError(text)
}

// noArgs refuses arguments.
func noArgs(_ *cobra.Command, args []string) error {
	if len(args) > 0 {
		return usageError(fmt.Sprintf("unexpected argument %q", args[0]))
	}
	return nil
}

// usageError describes an error in the command line.
type usageError string

func (e usageError) Error() string { return string(e) }

var (
	errReported  = errors.New("failed")     // what failed has been said
	errNoCommand = errors.New("no command") // the help has been shown
)

// exit reports the error of a command and returns its exit code.
func exit(cmd *cobra.Command, err error) int {
	switch {
	case err == nil:
		return exitOK
	case errors.Is(err, errReported):
		return exitFailed
	case errors.Is(err, errNoCommand):
		return exitUsage
	case errors.Is(err, context.Canceled):
		complain(cmd, "interrupted")
		return exitInterrupted
	}
	complain(cmd, "%s", inWords(err))
	var usage usageError
	if errors.As(err, &usage) {
		fmt.Fprintf(cmd.ErrOrStderr(), "\"%s --help\" explains.\n", cmd.CommandPath())
		return exitUsage
	}
	return exitCode(err)
}

// complain writes a line to standard error.
func complain(cmd *cobra.Command, format string, args ...any) {
	fmt.Fprintf(cmd.ErrOrStderr(), "%s: %s\n", cmd.CommandPath(), harmless(fmt.Sprintf(format, args...)))
}
