package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
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

// flagError explains an error of package pflag, and suggests a flag with a similar name.
func flagError(cmd *cobra.Command, err error) error {
	var unknown *pflag.NotExistError
	var empty *pflag.ValueRequiredError
	var wrong *pflag.InvalidValueError
	switch {
	case errors.As(err, &unknown) && cmd.HasSubCommands() && cmd.Flags().NArg() > 0:
		return noCommand(cmd, cmd.Flags().Arg(0)) // the flag belongs to the mistyped command
	case errors.As(err, &unknown):
		name, dashes := unknown.GetSpecifiedName(), "--"
		if letters := unknown.GetSpecifiedShortnames(); letters != "" {
			name, dashes = letters, "-"
		}
		var names []string
		cmd.Flags().VisitAll(func(f *pflag.Flag) { names = append(names, f.Name) })
		text := "there is no flag " + dashes + name
		if best := nearest(name, names); best != "" {
			text += "; did you mean --" + best + "?"
		}
		return usageError(text)
	case errors.As(err, &empty):
		return usageError("--" + empty.GetFlag().Name + " needs a value")
	case errors.As(err, &wrong):
		f := wrong.GetFlag()
		return usageError(fmt.Sprintf("--%s %q: %s", f.Name, wrong.GetValue(), accepted(f, wrong.Unwrap())))
	}
	return usageError(err.Error())
}

// accepted describes the values that a flag accepts. err is the reason why it refused one.
func accepted(f *pflag.Flag, err error) string {
	switch f.Value.Type() {
	case "bool":
		return "send true or false"
	case "int":
		return "send a whole number"
	case "float64":
		return "send a number"
	case "duration":
		if f.DefValue == "0s" {
			return "send a time with its unit, such as 5s"
		}
		return "send a time with its unit, such as " + f.DefValue
	}
	return err.Error()
}
