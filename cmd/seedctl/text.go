package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"strings"
	"text/tabwriter"
	"unicode"
	"unicode/utf16"
	"unicode/utf8"

	"github.com/newsfork/seed-engine/contract"
)

// maxText is the number of characters of one value that are shown to people.
const maxText = 300

// plain makes one line of what the engine sent that neither controls a terminal nor turns the
// order of its text around.
func plain(s string) string {
	if len(s) > 4*maxText {
		s = s[:4*maxText]
	}
	n := 0
	for i := range s {
		if n++; n > maxText {
			s = s[:i] + "…"
			break
		}
	}
	return harmless(s)
}

// harmless is plain without a limit.
func harmless(s string) string {
	return strings.Map(func(r rune) rune { // bytes that are not UTF-8 come as U+FFFD
		if unsafeRune(r) {
			return utf8.RuneError
		}
		return r
	}, s)
}

// unsafeRune reports whether r is a control (C0, DEL, C1), a line separator or a bidirectional control.
func unsafeRune(r rune) bool {
	return unicode.IsControl(r) || r == '\u2028' || r == '\u2029' || unicode.Is(unicode.Bidi_Control, r)
}

// or shows an absent value as "-".
func or[S ~string](s *S) string {
	if s == nil || *s == "" {
		return "-"
	}
	return plain(string(*s))
}

func moment(t *contract.Time) string {
	if t == nil || t.IsZero() {
		return "-"
	}
	return t.UTC().Format("2006-01-02 15:04:05")
}

// writeJSON writes v as one line, with the characters that plain replaces escaped, so that it is
// the same value and yet safe on a terminal.
func writeJSON(w io.Writer, v any) error {
	var line bytes.Buffer
	encoder := json.NewEncoder(&line)
	encoder.SetEscapeHTML(false)
	if err := encoder.Encode(v); err != nil {
		return err
	}
	var b bytes.Buffer
	for _, r := range strings.TrimSuffix(line.String(), "\n") {
		switch {
		case !unsafeRune(r):
			b.WriteRune(r)
		case r > 0xffff:
			high, low := utf16.EncodeRune(r)
			fmt.Fprintf(&b, `\u%04x\u%04x`, high, low)
		default:
			fmt.Fprintf(&b, `\u%04x`, r)
		}
	}
	b.WriteByte('\n')
	_, err := w.Write(b.Bytes())
	return err
}

// table aligns rows of columns separated by tabs.
func table(w io.Writer, rows ...string) error {
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	for _, row := range rows {
		fmt.Fprintln(t, row)
	}
	return t.Flush()
}

// isTerminal reports whether w is a terminal whose cursor can be moved.
func isTerminal(w io.Writer) bool {
	f, ok := w.(interface{ Stat() (os.FileInfo, error) })
	if !ok || os.Getenv("TERM") == "dumb" {
		return false
	}
	info, err := f.Stat()
	return err == nil && info.Mode()&os.ModeCharDevice != 0
}
