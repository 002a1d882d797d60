package main

import (
	"bufio"
	"bytes"
	"encoding/json"
	"io"
)

// answerLines answers the questions of --jsonl, one a line, until in ends. An error of answer is that
// line's answer, and the command fails once all others are answered. Answers are written as soon
// as no further question waits, so a program may ask one at a time.
func answerLines(in io.Reader, out io.Writer, answer func(line []byte) (any, error)) error {
	questions, answers := bufio.NewReaderSize(in, 64<<10), bufio.NewWriter(out)
	encoder := json.NewEncoder(answers)
	encoder.SetEscapeHTML(false)
	var failed error
	for {
		line, readErr := questions.ReadBytes('\n')
		if line = bytes.TrimSpace(line); len(line) > 0 {
			reply, err := answer(line)
			if err != nil {
				reply, failed = map[string]string{"error": inWords(err)}, errReported
			}
			if err := encoder.Encode(reply); err != nil {
				readErr = err
			}
		}
		if readErr != nil || questions.Buffered() == 0 {
			if err := answers.Flush(); err != nil {
				readErr = err
			}
		}
		switch {
		case readErr == io.EOF:
			return failed
		case readErr != nil:
			return readErr
		}
	}
}
