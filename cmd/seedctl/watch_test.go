package main

import (
	"bytes"
	"encoding/json"
	"io"
	"net/http"
	"os"
	"os/exec"
	"regexp"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/newsfork/seed-engine/cmd/seedctl/internal/client"
	"github.com/newsfork/seed-engine/contract"
	"github.com/newsfork/seed-engine/orchestrator"
)

// terminal is a writer that says it is one.
type terminal struct{ bytes.Buffer }

func (*terminal) Stat() (os.FileInfo, error) { return terminalInfo{}, nil }

type terminalInfo struct{ os.FileInfo }

func (terminalInfo) Mode() os.FileMode { return os.ModeDevice | os.ModeCharDevice }

// stats makes a status of files and domains, each processed, failed, pending.
func stats(files, domains [3]int64) contract.Status {
	s := sampleStatus()
	s.Processing = contract.ProcessingStats{
		FilesTotal: files[0] + files[1] + files[2], FilesProcessed: files[0], FilesFailed: files[1],
		FilesPending: files[2],
		DomainsTotal: domains[0] + domains[1] + domains[2], DomainsProcessed: domains[0], DomainsFailed: domains[1],
		DomainsPending: domains[2],
	}
	return s
}

type three = [3]int64

func discarded(s contract.Status) contract.Status {
	s.Discarded = 1
	return s
}

func TestWatch(t *testing.T) {
	for name, c := range map[string]struct {
		statuses []contract.Status
		args     string
		code     int
		looks    int // at least
		want     string
	}{
		"well": {[]contract.Status{stats(three{0, 0, 150}, three{}),
			stats(three{100, 0, 50}, three{200, 0, 100}), stats(three{150, 0, 0}, three{400, 0, 0})}, "", exitOK, 5,
			""},
		"gap between a file and its domains": {[]contract.Status{stats(three{150, 0, 0}, three{}),
			stats(three{150, 0, 0}, three{}), stats(three{150, 0, 0}, three{0, 0, 4}),
			stats(three{150, 0, 0}, three{4, 0, 0})},
			"", exitOK, 6, ""},
		"a domain failed": {[]contract.Status{stats(three{150, 0, 0}, three{399, 1, 0})}, "", exitFailed, 3,
			"0 files and 1 domain failed"},
		"a file failed": {[]contract.Status{stats(three{149, 1, 0}, three{399, 0, 0})}, "", exitFailed, 3,
			"1 file and 0 domains failed"},
		"the ledger is behind": {[]contract.Status{stats(three{0, 0, 0}, three{}),
			stats(three{149, 0, 0}, three{10, 0, 0})}, "", exitFailed, manyLooks,
			"the ledger has 149 of the 150 raw files"},
		"a discarded file is no failure": {[]contract.Status{discarded(stats(three{149, 0, 0}, three{399, 0, 0}))}, "",
			exitOK, 3, ""},
		"it catches up": {[]contract.Status{stats(three{0, 0, 0}, three{}), stats(three{0, 0, 0}, three{}),
			stats(three{0, 0, 0}, three{}), stats(three{0, 0, 0}, three{}), stats(three{150, 0, 0}, three{10, 0, 0})},
			"",
			exitOK, 7, ""},
		"nothing moves": {[]contract.Status{stats(three{149, 0, 1}, three{10, 0, 0})}, "--timeout 50ms", exitFailed, 3,
			"nothing has moved for 50ms"},
	} {
		t.Run(name, func(t *testing.T) {
			e := newEngine(t)
			e.statuses = c.statuses
			args := append(strings.Fields("orchestrate --country sg --watch --interval 1ms"), strings.Fields(c.args)...)
			code, out, errOut := seedctl("", args...)
			asked := e.asked()
			if code != c.code || len(asked)-1 < c.looks || !strings.Contains(errOut, c.want) ||
				!strings.HasPrefix(out, "150 raw files found, 149 queued, 1 skipped (1 finished)\n") {
				t.Errorf("%d after %d looks: %s%s", code, len(asked)-1, out, errOut)
			}
			if asked[0] != `POST /seeds/orchestrate {"country":"sg"}` || asked[1] != "GET /seeds/status?country=sg" {
				t.Error(asked[:2])
			}
			e.statuses = c.statuses
			code, out, _ = seedctl("", append(args, "--json")...)
			var answer orchestrated
			if err := json.Unmarshal([]byte(out), &answer); code != c.code || err != nil ||
				answer.Orchestrated.Sent != 149 ||
				answer.Status.Processing != c.statuses[len(c.statuses)-1].Processing {
				t.Errorf("--json: %d, %v, %s", code, err, out)
			}
		})
	}
}

func TestWatch_Paused(t *testing.T) {
	e := newEngine(t)
	e.paused = true
	e.statuses = []contract.Status{stats(three{0, 0, 150}, three{})}
	code, _, errOut := seedctl("", strings.Fields("orchestrate --watch --interval 1ms --timeout 20ms")...)
	if code != exitFailed || !strings.Contains(errOut, "files 0/150  domains 0/0  paused") ||
		!strings.Contains(errOut, "the pipeline is paused") {
		t.Error(code, errOut)
	}
}

// TestWatch_Continued: as long as continuations follow, a lull is no end.
func TestWatch_Continued(t *testing.T) {
	e := newEngine(t)
	e.before = func(w http.ResponseWriter, r *http.Request) bool {
		if r.Method == "POST" {
			respond(w, 200, orchestrator.Result{FilesFound: 100, Sent: 100, Continued: true})
		}
		return r.Method == "POST"
	}
	lull := stats(three{100, 0, 0}, three{100, 0, 0})
	for range 20 {
		e.statuses = append(e.statuses, lull)
	}
	e.statuses = append(e.statuses[1:], stats(three{100, 0, 100}, three{100, 0, 0}),
		stats(three{200, 0, 0}, three{200, 0, 0}))
	code, out, errOut := seedctl("", strings.Fields("orchestrate --watch --interval 1ms")...)
	if looks := len(e.asked()) - 1; code != exitOK || looks < 21+manyLooks ||
		!strings.Contains(out, "the rest follows by itself") || !strings.Contains(errOut, "files 200/200") {
		t.Error(code, looks, out, errOut)
	}
}

func TestWatch_Nothing(t *testing.T) {
	e := newEngine(t)
	e.before = func(w http.ResponseWriter, r *http.Request) bool {
		respond(w, 200, orchestrator.Result{})
		return true
	}
	if code, out, errOut := seedctl("", "orchestrate", "--watch"); code != exitOK || out != "no raw files there\n" ||
		errOut != "" || len(e.asked()) != 1 {
		t.Error(code, out, errOut)
	}
}

// TestOrchestrate_SaysWhyNothingMoves: what is queued waits while the pipeline is paused, and what queues lost is
// queued again only by force.
func TestOrchestrate_SaysWhyNothingMoves(t *testing.T) {
	skipped := orchestrator.Result{FilesFound: 3, Skipped: 3, Finished: 3}
	stuck := stats(three{3, 0, 0}, three{2, 0, 31})
	stuck.Queues = map[string]*contract.Backlog{"seed": {}, "domain": {}, "dlq": {Messages: 1}}
	unknown := stuck
	unknown.Queues = map[string]*contract.Backlog{"seed": nil, "domain": nil}
	busy := stuck
	busy.Queues = map[string]*contract.Backlog{"domain": {Messages: 31}}
	for name, c := range map[string]struct {
		line   string
		result orchestrator.Result
		status contract.Status
		paused bool
		want   string
	}{
		"paused": {"orchestrate", orchestrator.Result{FilesFound: 3, Sent: 3},
			stats(three{0, 0, 3}, three{}), true,
			"the pipeline is paused, so they wait; \"seedctl resume\" lets it go on\n"},
		"it runs": {"orchestrate", orchestrator.Result{FilesFound: 3, Sent: 3},
			stats(three{0, 0, 3}, three{}), false, ""},
		"the queue is lost": {"orchestrate", skipped, stuck, false,
			"31 domains pending; if nothing works on that, as when the queue was lost, --force queues it again\n"},
		"paused and lost": {"orchestrate", skipped, stuck, true,
			"the pipeline is paused, so they wait; \"seedctl resume\" lets it go on\n"},
		"backlog unknown": {"orchestrate", skipped, unknown, false, "31 domains pending; if"},
		"they are queued": {"orchestrate", skipped, busy, false, ""},
		"in flight": {"orchestrate", orchestrator.Result{FilesFound: 3, Skipped: 3, InFlight: 3}, stuck, false,
			""},
		"all is done": {"orchestrate", skipped, stats(three{3, 0, 0}, three{33, 0, 0}), false, ""},
	} {
		t.Run(name, func(t *testing.T) {
			e := newEngine(t)
			e.paused = c.paused
			e.statuses = []contract.Status{c.status}
			e.before = func(w http.ResponseWriter, r *http.Request) bool {
				if r.Method == "POST" {
					respond(w, 200, c.result)
				}
				return r.Method == "POST"
			}
			code, out, errOut := seedctl("", strings.Fields(c.line)...)
			if code != exitOK || !strings.HasPrefix(out, "3 raw files found") || (c.want == "") != (errOut == "") ||
				!strings.Contains(errOut, c.want) {
				t.Errorf("%d, %q, %q", code, out, errOut)
			}
		})
	}
}

// TestOrchestrate_PartlyQueued: an engine that failed half-way is asked again; what it did is said.
func TestOrchestrate_PartlyQueued(t *testing.T) {
	e := newEngine(t)
	e.before = func(w http.ResponseWriter, r *http.Request) bool {
		data, _ := json.Marshal(orchestrator.Result{FilesFound: 10, Sent: 1, Skipped: 5, Discarded: 1, InFlight: 2,
			Broken: 2, Failed: 4})
		respond(w, 503, &client.Error{Code: "storage_error", Message: "4 messages could not be sent", Data: data})
		return true
	}
	code, out, errOut := seedctl("", "orchestrate")
	if code != exitUnreachable || out != "" || len(e.asked()) != 1+client.MaxRetries ||
		!strings.Contains(errOut,
			"10 raw files found, 1 queued, 5 skipped (1 discarded, 2 in flight, 2 broken), 4 failed before the error") {
		t.Error(code, out, errOut)
	}
}

// TestBar: on a terminal one line is redrawn, and complaints stand above it.
func TestBar(t *testing.T) {
	t.Setenv("TERM", "xterm")
	e := newEngine(t)
	e.statuses = []contract.Status{stats(three{0, 0, 150}, three{}), stats(three{75, 0, 75}, three{100, 1, 99}),
		stats(three{150, 0, 0}, three{399, 1, 0})}
	n := 0
	e.before = func(w http.ResponseWriter, r *http.Request) bool {
		if n++; n == 3 {
			respond(w, 503, &client.Error{Code: "storage_error", Message: "the storage did not answer"})
		}
		return n == 3
	}
	var out, errOut terminal
	code := run(strings.Fields("orchestrate --watch --interval 150ms"), strings.NewReader(""), &out, &errOut)
	last := "\r\x1b[K\x1b[?7l[####################] 100 %  files 150/150  domains 400/400 (1 failed)  Ns\x1b[?7h"
	want := "\r\x1b[K\x1b[?7l[--------------------]   0 %  files 0/150  domains 0/0  Ns\x1b[?7h" +
		"\r\x1b[Kseedctl orchestrate: the storage did not answer (storage_error, request r-1); trying again in 1ms\n" +
		"\r\x1b[K\x1b[?7l[#####---------------]  25 %  files 75/150  domains 101/200 (1 failed)  Ns\x1b[?7h" +
		last + "\n" +
		"seedctl orchestrate: 0 files and 1 domain failed; \"seedctl dlq list\" and \"seedctl domains --state " +
		"failed\" say why\n"
	got := regexp.MustCompile(`  \d+s`).ReplaceAllString(errOut.String(), "  Ns")
	got = strings.Replace(got, last+last, last, 1) // drawn again when a second was over
	if code != exitFailed || got != want || strings.Contains(out.String(), "\x1b") {
		t.Errorf("%d, %q, not\n%q", code, got, want)
	}

	t.Setenv("TERM", "dumb")
	var plainOut terminal
	run(strings.Fields("orchestrate --watch --interval 1ms"), strings.NewReader(""), io.Discard, &plainOut)
	if strings.Contains(plainOut.String(), "\x1b") {
		t.Errorf("%q", plainOut.String())
	}
}

// TestProgress_Lines: without a terminal there are lines, not one for each change.
func TestProgress_Lines(t *testing.T) {
	var b bytes.Buffer
	p := newProgress(&b)
	p.update(0, "one")
	for range 1000 {
		p.update(0.5, "two")
	}
	p.update(0.9, "three")
	p.end()
	p.update(0, "four")
	p.end()
	if b.String() != "three\nfour\n" {
		t.Errorf("%q", b.String())
	}
}

// TestStatus_Watch: the same numbers are shown once, and Ctrl-C is the ordinary end.
func TestStatus_Watch(t *testing.T) {
	e := newEngine(t)
	later := stats(three{1, 0, 0}, three{})
	later.UpdatedAt = at("23:00:00")
	e.with(func() {
		e.statuses = []contract.Status{stats(three{0, 0, 1}, three{}), stats(three{1, 0, 0}, three{}), later}
	})
	program := start(t, "status", "--watch", "--json", "--interval", "1ms")
	e.wait(t, 20)
	code, out, errOut := program.interrupt(t)
	if code != exitOK || strings.Count(out, "\n") != 2 || errOut != "" {
		t.Error(code, out, errOut)
	}
}

// TestInterrupt: Ctrl-C ends the program at once, and it says what that means.
func TestInterrupt(t *testing.T) {
	for _, where := range []string{"between looks", "within a call"} {
		e := newEngine(t)
		interval := "300ms"
		reached := make(chan struct{}, 1) // the call within which it happens
		e.with(func() {
			e.statuses = []contract.Status{stats(three{0, 0, 150}, three{})}
			if where == "within a call" {
				interval = "1ms"
				e.before = func(w http.ResponseWriter, r *http.Request) bool {
					if r.Method == "GET" && len(e.requests) > 3 {
						reached <- struct{}{}
						<-r.Context().Done()
					}
					return r.Context().Err() != nil
				}
			}
		})
		program := start(t, "orchestrate", "--watch", "--interval", interval)
		if where == "within a call" {
			<-reached
		} else {
			e.wait(t, 3) // orchestrate and two looks: what the first one brought is shown by now
		}
		code, out, errOut := program.interrupt(t)
		if code != exitInterrupted || !strings.HasPrefix(out, "150 raw files found") ||
			!strings.Contains(errOut, "files 0/150") || !strings.Contains(errOut, "the pipeline goes on") ||
			!strings.HasSuffix(errOut, "seedctl orchestrate: interrupted\n") {
			t.Errorf("%s: %d, %q, %q", where, code, out, errOut)
		}
	}
}

// wait returns once there were n requests.
func (e *playedEngine) wait(t *testing.T, n int) {
	t.Helper()
	for range 1000 {
		e.mu.Lock()
		enough := len(e.requests) >= n
		e.mu.Unlock()
		if enough {
			return
		}
		time.Sleep(5 * time.Millisecond)
	}
	t.Fatalf("no %d requests in 5 s", n)
}

// program is seedctl as a process of its own.
type program struct {
	*exec.Cmd
	out, errOut bytes.Buffer
}

func start(t *testing.T, args ...string) *program {
	t.Helper()
	p := &program{Cmd: exec.Command(os.Args[0], args...)}
	p.Env = append(os.Environ(), "SEEDCTL_TEST_MAIN=1")
	p.Stdout, p.Stderr = &p.out, &p.errOut
	if err := p.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { p.Process.Kill() })
	return p
}

// interrupt sends Ctrl-C and waits for the end, which must follow within a second.
func (p *program) interrupt(t *testing.T) (code int, out, errOut string) {
	t.Helper()
	if err := p.Process.Signal(syscall.SIGINT); err != nil {
		t.Fatal(err)
	}
	late := time.AfterFunc(5*time.Second, func() { p.Process.Kill() })
	p.Wait()
	if !late.Stop() {
		t.Error("Ctrl-C did not end it")
	}
	return p.ProcessState.ExitCode(), p.out.String(), p.errOut.String()
}
