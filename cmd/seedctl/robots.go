package main

import (
	"fmt"
	"io"
)

// runRobots answers what a robots.txt file allows.
func runRobots(args []string, in io.Reader, out, errOut io.Writer) int {
	fmt.Fprintln(errOut, "seedctl robots: not built yet")
	return exitUsage
}
