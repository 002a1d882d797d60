package main

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"regexp"
	"strconv"

	"github.com/newsfork/seed-engine/cmd/seedctl/internal/client"
)

// maxBatchBytes is the size of one request, below the API's megabyte to leave space for the envelope.
const maxBatchBytes = 900 << 10

// batches sends the lines of files, or of in without files, in requests of at most so many lines. A line is a JSON
// object, or a URL if the request has a list of URLs. It maps the engine's messages about an element of the list to
// its line.
func batches(files []string, in io.Reader, list string, most int, send func(lines []json.RawMessage) error) error {
	b := batcher{list: list, most: most, send: send}
	if len(files) == 0 {
		files = []string{"-"}
	}
	for _, name := range files {
		if err := b.file(name, in); err != nil {
			return err
		}
	}
	return b.flush()
}

type batcher struct {
	list  string
	most  int
	send  func([]json.RawMessage) error
	lines []json.RawMessage
	at    []string // where each line stands
	bytes int
}

func (b *batcher) file(name string, in io.Reader) error {
	return eachLine(name, in, maxBatchBytes, func(line []byte, at string) error { return b.add(line, at) })
}

// eachLine calls do with the lines of a file, or of in for "-", that are not blank. at names the line for messages.
func eachLine(name string, in io.Reader, maxBytes int, do func(line []byte, at string) error) error {
	if name != "-" {
		f, err := os.Open(name)
		if err != nil {
			return err
		}
		defer f.Close()
		in = f
	}
	lines := bufio.NewScanner(in)
	lines.Buffer(make([]byte, 0, 64<<10), maxBytes)
	for n := 1; lines.Scan(); n++ {
		line := bytes.TrimSpace(lines.Bytes())
		if len(line) == 0 {
			continue
		}
		if err := do(line, fmt.Sprintf("%s, line %d", name, n)); err != nil {
			return err
		}
	}
	if err := lines.Err(); err != nil {
		return fmt.Errorf("%s: %w", name, err)
	}
	return nil
}

func (b *batcher) add(line []byte, at string) error {
	object := json.RawMessage(bytes.Clone(line))
	switch {
	case line[0] != '{' && b.list == "urls":
		var err error
		if object, err = json.Marshal(map[string]string{"url": string(line)}); err != nil {
			return err
		}
	case line[0] != '{' || !json.Valid(line):
		return fmt.Errorf("%s: is not a JSON object", at)
	}
	if len(b.lines) == b.most || b.bytes+len(object) > maxBatchBytes {
		if err := b.flush(); err != nil {
			return err
		}
	}
	b.lines, b.at = append(b.lines, object), append(b.at, at)
	b.bytes += len(object) + 1
	return nil
}

// elementOf matches the name of an element of a list in the engine's messages.
var elementOf = regexp.MustCompile(`^[a-z]+\[(\d+)\]\.?(.*)$`)

func (b *batcher) flush() error {
	if len(b.lines) == 0 {
		return nil
	}
	err := b.send(b.lines)
	var answer *client.Error
	if errors.As(err, &answer) {
		if m := elementOf.FindStringSubmatch(answer.Field); m != nil {
			if i, _ := strconv.Atoi(m[1]); i < len(b.at) {
				answer.Field = m[2]
				err = fmt.Errorf("%s: %w", b.at[i], err)
			}
		}
	}
	b.lines, b.at, b.bytes = nil, nil, 0
	return err
}
