package main

import (
	"flag"
	"fmt"
	"io"
	"runtime"

	"github.com/newsfork/seed-engine/contract"
)

const versionHelp = `seedctl version: the version of this program

Usage:
  seedctl version [--json]

With --json it prints {"version", "go", "platform"}.
`

func runVersion(args []string, _ io.Reader, out, errOut io.Writer) int {
	flags := flag.NewFlagSet("version", flag.ContinueOnError)
	asJSON := flags.Bool("json", false, "print one JSON object")
	remaining, code, ok := parseArgs(flags, versionHelp, args, out, errOut)
	if !ok {
		return code
	}
	if len(remaining) > 0 {
		fmt.Fprintln(errOut, "seedctl version: takes no arguments")
		return exitUsage
	}
	v := struct {
		Version  string `json:"version"`
		Go       string `json:"go"`
		Platform string `json:"platform"`
	}{contract.Version, runtime.Version(), runtime.GOOS + "/" + runtime.GOARCH}
	var err error
	if *asJSON {
		err = writeJSON(out, v)
	} else {
		_, err = fmt.Fprintf(out, "seedctl %s (%s, %s)\n", v.Version, v.Go, v.Platform)
	}
	if err != nil {
		fmt.Fprintln(errOut, "seedctl version:", err)
		return exitFailed
	}
	return exitOK
}
