package main

import (
	"fmt"
	"io"

	"github.com/spf13/cobra"

	"github.com/newsfork/seed-engine/classify"
)

// completionCommand returns a command that prints the completion script of a shell.
func completionCommand(shell, file, line string, write func(*cobra.Command, io.Writer) error) *cobra.Command {
	return &cobra.Command{
		Use:   shell,
		Short: "the script for " + shell,
		Args:  noArgs,
		Long:  fmt.Sprintf("Prints a script. To use it, put this into %s:\n  %s", file, line),
		RunE:  func(cmd *cobra.Command, _ []string) error { return write(cmd.Root(), cmd.OutOrStdout()) },
	}
}

func bashCommand() *cobra.Command {
	c := completionCommand("bash", "~/.bashrc", "source <(seedctl completion bash)",
		func(root *cobra.Command, w io.Writer) error { return root.GenBashCompletionV2(w, true) })
	c.Long += "\n\nIt needs the package bash-completion."
	return c
}

func zshCommand() *cobra.Command {
	return completionCommand("zsh", "~/.zshrc", "autoload -Uz compinit && compinit; source <(seedctl completion zsh)",
		(*cobra.Command).GenZshCompletion)
}

func fishCommand() *cobra.Command {
	return completionCommand("fish", "~/.config/fish/config.fish", "seedctl completion fish | source",
		func(root *cobra.Command, w io.Writer) error { return root.GenFishCompletion(w, true) })
}

// files completes names of files.
var files = cobra.FixedCompletions(nil, cobra.ShellCompDirectiveDefault)

// oneOf completes some values.
func oneOf(values ...string) cobra.CompletionFunc {
	return cobra.FixedCompletions(values, cobra.ShellCompDirectiveNoFileComp)
}

// contentTypes completes the types of the classifier.
func contentTypes(*cobra.Command, []string, string) ([]string, cobra.ShellCompDirective) {
	var types []string
	for c := range classify.Classes {
		types = append(types, string(classify.Class(c).Type()))
	}
	return types, cobra.ShellCompDirectiveNoFileComp
}

// completeFlag sets how the value of a flag is completed.
func completeFlag(cmd *cobra.Command, flag string, with cobra.CompletionFunc) {
	cobra.CheckErr(cmd.RegisterFlagCompletionFunc(flag, with)) // fails if cmd has no such flag
}
