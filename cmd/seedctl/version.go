package main

import (
	"fmt"
	"runtime"

	"github.com/spf13/cobra"

	"github.com/newsfork/seed-engine/contract"
)

func versionCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "version",
		Short: "the version of this program",
		Args:  noArgs,
		Long:  `With --json it prints {"version", "go", "platform"}.`,
	}
	asJSON := cmd.Flags().Bool("json", false, "print one JSON object")
	cmd.RunE = func(cmd *cobra.Command, _ []string) error {
		v := struct {
			Version  string `json:"version"`
			Go       string `json:"go"`
			Platform string `json:"platform"`
		}{contract.Version, runtime.Version(), runtime.GOOS + "/" + runtime.GOARCH}
		if *asJSON {
			return writeJSON(cmd.OutOrStdout(), v)
		}
		_, err := fmt.Fprintf(cmd.OutOrStdout(), "seedctl %s (%s, %s)\n", v.Version, v.Go, v.Platform)
		return err
	}
	return cmd
}
