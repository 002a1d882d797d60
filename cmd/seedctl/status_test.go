package main

import (
	"encoding/json"
	"fmt"
	"regexp"
	"strings"
	"testing"

	"github.com/newsfork/seed-engine/contract"
)

// Values and thresholds of alarms have units that people count in.
func TestAlarm_Text(t *testing.T) {
	for want, a := range map[string]contract.AlarmState{
		"frontier_behind ok: 0 minutes, fires above 60 minutes": {Name: "frontier_behind",
			State: contract.AlarmOK, Value: ptr(0.0), Threshold: 3_600_000, Unit: contract.Milliseconds},
		"feed_webhook firing: 75 minutes, fires above 60 minutes": {Name: "feed_webhook",
			State: contract.AlarmFiring, Value: ptr(4_530_000.0), Threshold: 3_600_000, Unit: contract.Milliseconds},
		"slow_domains firing: 12345678 ms, fires above 5000 ms over 60 minutes": {Name: "slow_domains",
			State: contract.AlarmFiring, Value: ptr(12345678.0), Threshold: 5000, Unit: contract.Milliseconds,
			Window: ptr(60)},
		"file_failures ok: 0.5 %, fires above 5 % over 60 minutes": {Name: "file_failures",
			State: contract.AlarmOK, Value: ptr(0.5), Threshold: 5, Unit: contract.Percent, Window: ptr(60)},
		"dead_letters ok: 3, fires above 100": {Name: "dead_letters",
			State: contract.AlarmOK, Value: ptr(3.0), Threshold: 100, Unit: contract.Count},
		"x ok: too few finished or reported, fires above 3 % over 60 minutes": {Name: "x", State: contract.AlarmOK,
			Threshold: 3, Unit: contract.Percent, Window: ptr(60)},
	} {
		if got := alarmText(a); got != want {
			t.Errorf("got %q, want %q", got, want)
		}
	}
}

// Until the cron has seen an alarm its time is that of the answer, so it is no change, and no news.
func TestAlarm_UnseenByTheCron(t *testing.T) {
	status := func(clock string) contract.Status {
		s := sampleStatus()
		s.UpdatedAt = at(clock)
		for i := range s.Alarms {
			s.Alarms[i].Since = ptr(at(clock))
		}
		return s
	}
	first, second := status("09:30:00"), status("09:30:02")
	if numbers(first) != numbers(second) {
		t.Errorf("%s\n%s", numbers(first), numbers(second))
	}
	if first.Alarms[0].Since == nil {
		t.Error("comparing changed the status")
	}
	second.Alarms[0].State = contract.AlarmFiring
	if numbers(first) == numbers(second) {
		t.Error("an alarm that fires is no news")
	}
	e := newEngine(t)
	e.statuses = []contract.Status{first}
	if code, out, errOut := seedctl("", "status"); code != exitOK || strings.Contains(out, "since") {
		t.Error(code, out, errOut)
	}
}

// TestStatus_Nothing: of no domain there is neither a share nor an average.
func TestStatus_Nothing(t *testing.T) {
	newEngine(t).statuses = []contract.Status{{}}
	code, out, _ := seedctl("", "status")
	if code != exitOK || strings.Contains(out, "%") || strings.Contains(out, " ms") {
		t.Error(code, out)
	}
}

func TestStatus_AverageOfFilesOnly(t *testing.T) {
	newEngine(t).statuses = []contract.Status{{Stats: contract.Stats{AvgFileMS: 840}}}
	code, out, _ := seedctl("", "status")
	if code != exitOK || !strings.Contains(out, "840 ms a file\n") || strings.Contains(out, "a domain") {
		t.Error(code, out)
	}
}

// A pause has a reason, which is what operators look for when nothing moves.
func TestStatus_PauseReason(t *testing.T) {
	newEngine(t).paused = true
	code, out, errOut := seedctl("", "status")
	if code != exitOK ||
		!strings.Contains(out,
			`paused since 2026-01-28 09:00:00, by API_TOKEN, reason: moving the bucket; "seedctl `+
				`resume" lets it go on`) {
		t.Error(code, out, errOut)
	}
}

// TestStatus_Partition: with --files the files of one partition are shown too, those that need an operator first.
func TestStatus_Partition(t *testing.T) {
	e := newEngine(t)
	for i := range 30 {
		e.files[fmt.Sprintf("sg/news/2026-01-28/raw_%04d", i+1)] = playedFile{size: 2}
	}
	args := strings.Fields("status --country sg --category news --date 2026-01-28 --by partition --files")
	code, out, errOut := seedctl("", args...)
	if code != exitOK || errOut != "" {
		t.Fatal(code, errOut)
	}
	_, files, _ := strings.Cut(out, "\nFILE      STATE ")
	if !regexp.MustCompile(`^.*\nraw_0002  failed .* parse_error: line 12.*\nraw_0003  pending `).MatchString(files) {
		t.Error(out)
	}
	if shown := strings.Count(files, "\nraw_"); shown != maxStatusFiles ||
		!strings.Contains(files, `10 more; "seedctl files list" shows all`) || strings.Contains(files, "raw_0001") {
		t.Errorf("%d files: %s", shown, files)
	}
	if !strings.Contains(out, "MS A FILE  MS A DOMAIN") ||
		!regexp.MustCompile(`sg/news/2026-01-28 .* 840 +2340 `).MatchString(out) {
		t.Error("no averages of the partition:", out)
	}
	_, out, _ = seedctl("", append(args, "--json")...)
	var s struct {
		contract.Status
		Files []rawFile
	}
	if err := json.Unmarshal([]byte(out), &s); err != nil || len(s.Files) != 30 || s.Files[1].State != "failed" ||
		s.Processing != sampleStatus().Processing {
		t.Error(err, out)
	}
}
