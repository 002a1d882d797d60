package main

import (
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"io/fs"
	"os"
	"regexp"
	"strings"
)

// inWords is the text of an error without what only the program's author can read: the system call that failed on a
// file, the types into which JSON is read.
func inWords(err error) string {
	var file *fs.PathError
	var link *os.LinkError
	var syntax *json.SyntaxError
	var kind *json.UnmarshalTypeError
	in := func(cause error, words string) string { return strings.Replace(err.Error(), cause.Error(), words, 1) }
	switch {
	case errors.As(err, &file):
		return in(file, file.Path+": "+file.Err.Error())
	case errors.As(err, &link):
		return in(link, link.New+": "+link.Err.Error())
	case errors.As(err, &syntax) && strings.Contains(syntax.Error(), "unexpected end"):
		return in(syntax, "it ends too early to be JSON")
	case errors.As(err, &syntax):
		return in(syntax, fmt.Sprintf("it is not JSON from byte %d on", syntax.Offset))
	case errors.Is(err, io.ErrUnexpectedEOF):
		return in(io.ErrUnexpectedEOF, "the connection ended too early")
	case errors.Is(err, io.EOF):
		return in(io.EOF, "the connection was closed")
	case errors.As(err, &kind) && kind.Field == "":
		return in(kind, "it is a "+kind.Value+", not an object")
	case errors.As(err, &kind):
		return in(kind, fmt.Sprintf("%q cannot be a %s", kind.Field, kind.Value))
	}
	return err.Error()
}

// unusable reports a failure to read or write, and returns its exit code.
func unusable(errOut io.Writer, command string, err error) int {
	fmt.Fprintf(errOut, "seedctl %s: %s\n", command, harmless(inWords(err)))
	return exitInput
}

// Errors of package flag.
var (
	unknownFlag = regexp.MustCompile(`^flag provided but not defined: -+(.*)$`)
	emptyFlag   = regexp.MustCompile(`^flag needs an argument: -+(.*)$`)
	wrongFlag   = regexp.MustCompile(`(?s)^invalid (?:boolean )?value (".*") for (?:flag )?-(\S+): (.*)$`)
)

// flagWords is inWords for an error of package flag.
func flagWords(flags *flag.FlagSet, err error) string {
	text := err.Error()
	if m := unknownFlag.FindStringSubmatch(text); m != nil {
		var names []string
		flags.VisitAll(func(f *flag.Flag) { names = append(names, f.Name) })
		if best := nearest(m[1], names); best != "" {
			return fmt.Sprintf("there is no flag --%s; did you mean --%s?", m[1], best)
		}
		return "there is no flag --" + m[1]
	}
	if m := emptyFlag.FindStringSubmatch(text); m != nil {
		return "--" + m[1] + " needs a value"
	}
	m := wrongFlag.FindStringSubmatch(text)
	if m == nil {
		return text
	}
	why := m[3]
	if why == "parse error" || why == "value out of range" {
		why = "not a value that it takes"
		switch value := flags.Lookup(m[2]).Value.(flag.Getter).Get().(type) {
		case bool:
			why = "send true or false"
		case int, int64, uint, uint64:
			why = "send a whole number"
		case float64:
			why = "send a number"
		case interface{ Seconds() float64 }:
			why = fmt.Sprintf("send a time with its unit, such as %v", value)
			if value.Seconds() == 0 {
				why = "send a time with its unit, such as 5s"
			}
		}
	}
	return fmt.Sprintf("--%s %s: %s", m[2], m[1], why)
}
