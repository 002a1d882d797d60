package main

import (
	"fmt"
	"io"
	"strings"
	"time"
)

// Intervals at which progress is drawn on a terminal, or written elsewhere.
const (
	drawEvery  = 100 * time.Millisecond
	writeEvery = 10 * time.Second
)

// progress shows how far a command is: on a terminal one line that is redrawn, elsewhere a line
// from time to time.
type progress struct {
	w        io.Writer
	terminal bool
	drawn    bool      // the cursor is on the line that is drawn
	last     time.Time // of the last text shown
	shown    string
	latest   string
}

func newProgress(w io.Writer) *progress {
	p := &progress{w: w, terminal: isTerminal(w)}
	if !p.terminal {
		p.last = time.Now() // what is over soon needs no lines
	}
	return p
}

// update shows a text and the part that is done, 0 to 1; below 0 it is unknown.
func (p *progress) update(done float64, text string) {
	p.latest = text
	if p.terminal && done >= 0 {
		const width = 20
		filled := int(min(done, 1) * width)
		p.latest = fmt.Sprintf("[%s%s] %3.0f %%  %s", strings.Repeat("#", filled), strings.Repeat("-", width-filled),
			min(done, 1)*100, text)
	}
	every := writeEvery
	if p.terminal {
		every = drawEvery
	}
	if time.Since(p.last) >= every {
		p.show()
	}
}

func (p *progress) show() {
	switch {
	case p.latest == p.shown && (p.drawn || !p.terminal):
		return
	case p.terminal:
		// Without wrapping (DECAWM), so that a narrow terminal cuts the line off.
		fmt.Fprint(p.w, "\r\x1b[K\x1b[?7l", p.latest, "\x1b[?7h")
		p.drawn = true
	default:
		fmt.Fprintln(p.w, p.latest)
	}
	p.shown, p.last = p.latest, time.Now()
}

// end leaves the last text standing.
func (p *progress) end() {
	p.show()
	if p.drawn {
		fmt.Fprintln(p.w)
	}
	*p = *newProgress(p.w)
}

// clear removes the line of progress before other output.
func (p *progress) clear() {
	if p.drawn {
		fmt.Fprint(p.w, "\r\x1b[K")
		p.drawn = false
	}
}
