//go:build unix

package main

import (
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
)

// TestUpload_SpecialFiles: a pipe is refused without waiting for its writer; a link counts as its file.
func TestUpload_SpecialFiles(t *testing.T) {
	newEngine(t)
	dir := lay(t, map[string]string{"a/export.json": "[]"})
	pipe, link := filepath.Join(dir, "raw_0007.json"), filepath.Join(dir, "b", "raw_0008.json")
	if err := syscall.Mkfifo(pipe, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Mkdir(filepath.Dir(link), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink("../a/export.json", link); err != nil {
		t.Fatal(err)
	}
	flags := []string{"upload", "--country", "sg", "--category", "news", "--date", "2026-01-28"}
	if code, _, errOut := seedctl("", append(flags, pipe)...); code != exitFailed ||
		!strings.Contains(errOut, "is no regular file") {
		t.Error(code, errOut)
	}
	if code, out, errOut := seedctl("", append(flags, filepath.Dir(link))...); code != exitOK ||
		!strings.Contains(out, "raw_0008.json  2 bytes") {
		t.Error(code, out, errOut)
	}
}
