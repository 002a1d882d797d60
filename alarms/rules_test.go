package alarms_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/newsfork/seed-engine/alarms"
	"github.com/newsfork/seed-engine/contract"
	"github.com/newsfork/seed-engine/ledger"
	"github.com/newsfork/seed-engine/ledger/sqlite"
)

var place = contract.Partition{Country: "sg", Category: "news", Date: "2026-01-28"}

// world is a ledger with a Watch.
type world struct {
	*ledger.Ledger
	t    *testing.T
	hook *webhook

	frontier    ledger.FrontierReading // what the shards say
	frontierErr error
	looks       int // at them
}

func newWorld(t *testing.T) *world {
	t.Helper()
	db, err := sqlite.Open()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { db.Close() })
	return &world{Ledger: ledger.New(db), t: t, hook: &webhook{t: t, schema: alarmSchema(t)}}
}

func (w *world) record(c ledger.Changes) {
	w.t.Helper()
	if err := w.Record(w.t.Context(), c); err != nil {
		w.t.Fatal(err)
	}
}

// finish records collected domains: good and unreachable ones.
func (w *world) finish(at time.Time, good, bad int, duration time.Duration) {
	w.t.Helper()
	var c ledger.Changes
	for i := range good + bad {
		o := &contract.Outcome{CollectedAt: at, Reachable: i < good, Duration: duration}
		c.Domains = append(c.Domains, ledger.DomainChange{Partition: place,
			Domain: fmt.Sprintf("d%d-%d.sg", at.Unix(), i), Outcome: o})
	}
	w.record(c)
}

// expect runs the cron at a time and compares its posts.
func (w *world) expect(what string, at time.Time, want ...string) {
	w.t.Helper()
	w.hook.posted = nil
	if err := w.watch(at).Run(w.t.Context()); err != nil {
		w.t.Fatal(err)
	}
	slices.Sort(w.hook.posted) // posts of one run share a time
	if !slices.Equal(w.hook.posted, want) {
		w.t.Errorf("%s: %v, want %v", what, w.hook.posted, want)
	}
}

// watch is the cron at a time.
func (w *world) watch(at time.Time) *alarms.Watch {
	return &alarms.Watch{
		Ledger: w.Ledger, Webhook: w.hook, URL: "https://hooks.example/x", Environment: "staging",
		Log: slog.New(slog.DiscardHandler), Now: func() time.Time { return at },
		Frontier: func(context.Context) (ledger.FrontierReading, error) {
			w.looks++
			return w.frontier, w.frontierErr
		},
	}
}

func TestAlarms_FireAndRecover(t *testing.T) {
	w := newWorld(t)
	w.expect("nothing happened", noon)
	w.finish(noon, 1, 1, 6*time.Second)
	w.expect("fewer than three finished", noon)
	w.finish(noon.Add(time.Second), 8, 0, 6*time.Second)
	w.expect("exactly a tenth failed, and nine slow ones", noon, "slow_domains firing")
	w.finish(noon.Add(2*time.Second), 2, 1, 6*time.Second)
	w.expect("more failed", noon, "domain_failures firing")
	w.expect("no change", noon.Add(time.Minute))
	w.finish(noon.Add(2*time.Minute), 30, 0, 0)
	w.expect("quick ones", noon.Add(2*time.Minute))
	w.expect("for less than ten minutes", noon.Add(11*time.Minute))
	w.expect("for ten minutes", noon.Add(12*time.Minute), "domain_failures ok", "slow_domains ok")
	w.finish(noon.Add(15*time.Minute), 0, 20, 0)
	w.expect("many fail", noon.Add(15*time.Minute), "domain_failures firing")
	w.expect("an hour later nothing is known", noon.Add(75*time.Minute))
	w.expect("silence is not recovery", noon.Add(95*time.Minute))
	w.finish(noon.Add(96*time.Minute), 30, 0, 0)
	w.expect("all went well", noon.Add(96*time.Minute))
	w.expect("and still does", noon.Add(106*time.Minute), "domain_failures ok")

	var c ledger.Changes
	for i := range 20 {
		f := ledger.FileChange{RawFile: contract.RawFile{Partition: place, Name: fmt.Sprintf("raw_%04d", i)}}
		if f.Processed = noon.Add(2 * time.Hour); i < 2 {
			f.Processed, f.GaveUp = time.Time{}, noon.Add(2*time.Hour)
		}
		c.Files = append(c.Files, f)
	}
	for i := range 101 {
		c.DeadLetters = append(c.DeadLetters,
			ledger.DeadLetter{MessageID: fmt.Sprint(i),
				DeadLetterContext: contract.DeadLetterContext{QueueName: "q"}})
	}
	w.record(c)
	w.expect("files and dead letters", noon.Add(2*time.Hour), "dead_letters firing", "file_failures firing")
	if _, _, err := w.Resolve(t.Context(), contract.DeadLetterChoice{All: true},
		ledger.Resolution{IDs: []string{"7"}, State: contract.Discarded, At: noon}); err != nil {
		t.Fatal(err)
	}
	w.expect("one was discarded", noon.Add(2*time.Hour))

	s, err := w.Status(t.Context(), ledger.StatusQuery{Now: noon.Add(2 * time.Hour), Windows: alarms.Windows()})
	if err != nil {
		t.Fatal(err)
	}
	got := map[string]string{}
	for _, a := range alarms.Judge(s.AlarmReading) {
		got[a.Name] = fmt.Sprint(a.State, " since ", a.Since)
	}
	if got["file_failures"] != "firing since 2026-01-28 14:00:00 +0000 UTC" ||
		got["domain_failures"] != "ok since 2026-01-28 13:46:00 +0000 UTC" {
		t.Errorf("alarms in the status: %v", got)
	}
}

// With the workflow document's own example of five files, five failures must be heard of.
func TestAlarms_FewFiles(t *testing.T) {
	for _, c := range []struct {
		processed, failed int
		want              []string
	}{{4, 1, []string{"file_failures firing"}}, {2, 0, nil}, {1, 1, nil}, {0, 1, []string{"file_failures firing"}},
		{0, 5, []string{"file_failures firing"}}} {
		w := newWorld(t)
		var changes ledger.Changes
		for i := range c.processed + c.failed {
			f := ledger.FileChange{RawFile: contract.RawFile{Partition: place, Name: fmt.Sprintf("raw_%04d", i)}}
			if f.Processed = noon; i < c.failed {
				f.Processed, f.GaveUp = time.Time{}, noon
			}
			changes.Files = append(changes.Files, f)
		}
		w.record(changes)
		w.expect(fmt.Sprintf("%d processed, %d failed", c.processed, c.failed), noon, c.want...)
	}
}

// At the limit an alarm must not come and go with every file.
func TestAlarms_DoNotFlap(t *testing.T) {
	w := newWorld(t)
	posts := 0
	for minute := range 24 * 60 {
		at := noon.Add(time.Duration(minute) * time.Minute)
		bad := 0
		if minute%10 == 0 && minute%60 != 0 {
			bad = 1
		}
		w.finish(at, 1-bad, bad, 0)
		w.hook.posted = nil
		if err := w.watch(at).Run(t.Context()); err != nil {
			t.Fatal(err)
		}
		posts += len(w.hook.posted)
	}
	if posts > 6 {
		t.Errorf("%d posts in a day at the limit", posts)
	}
}

// The frontier is read every five minutes and judged by the last reading.
func TestAlarms_Frontier(t *testing.T) {
	w := newWorld(t)
	at := func(minute int) time.Time { return noon.Add(time.Duration(minute) * time.Minute) }
	w.frontier = ledger.FrontierReading{Complete: true, Answers: 1000, Faults: 900}
	w.expect("the first look", at(0))
	w.frontier = ledger.FrontierReading{OldestEntry: at(-60), Complete: true, Answers: 1019, Faults: 915}
	w.expect("too early to look", at(4))
	w.frontier.OldestEntry = at(-55)
	w.expect("an hour late, and too few answers", at(5))
	w.frontier = ledger.FrontierReading{OldestEntry: at(-51), Complete: true, Answers: 1020, Faults: 905}
	w.expect("later, and a quarter failed", at(10), "frontier_behind firing", "refresh_failures firing")
	w.frontier = ledger.FrontierReading{}
	w.expect("all is done, and a shard does not answer", at(15))
	w.frontier = ledger.FrontierReading{Complete: true, Answers: 1200, Faults: 905}
	w.expect("it answers again", at(20))
	w.expect("ten minutes after all was done", at(25), "frontier_behind ok")
	w.expect("ten minutes after it answered", at(30), "refresh_failures ok")
	if w.looks != 7 {
		t.Errorf("%d looks", w.looks)
	}
	w.frontier.Used = 800
	w.expect("four fifths of the day's refreshes", at(31))
	w.frontier.Used = 801
	w.expect("more than that", at(35), "refresh_ceiling firing")
	w.frontier.Used = 641
	w.expect("hardly less", at(50))
	w.frontier.Used = 0
	w.expect("the next day", at(55))
	w.expect("ten minutes of it", at(65), "refresh_ceiling ok")
	w.frontier.Quarantined = 1
	w.expect("a damaged row", at(70), "frontier_damaged firing")
	w.frontier = ledger.FrontierReading{}
	w.expect("its shard does not answer", at(75))
	w.expect("for twenty minutes", at(95))
	w.frontier = ledger.FrontierReading{Complete: true, Answers: 1200, Faults: 905}
	w.expect("it answers, and the row was dropped", at(100))
	w.expect("ten minutes later", at(110), "frontier_damaged ok")
	w.frontier.LargestShard = 7_060_000_000
	w.expect("a shard has more than 70 % of its 10 GB", at(115), "frontier_full firing")
	w.frontier.Complete = false
	w.expect("another shard does not answer", at(116))
	w.frontier.LargestShard = 1_000_000_000
	w.expect("nor does this one", at(117))
	w.frontier.Complete = true
	w.expect("it was divided", at(120))
	w.expect("ten minutes after that", at(130), "frontier_full ok")
	w.frontierErr = errors.New("no shard answers")
	w.expect("no shard answers", at(135))
	w.expect("an hour of that", at(200))
}

// The text of a change.
func TestAlarms_Sentences(t *testing.T) {
	w := newWorld(t)
	w.finish(noon, 20, 7, 6250*time.Millisecond)
	w.expect("domains fail, slowly", noon, "domain_failures firing", "slow_domains firing")
	w.frontier.OldestEntry = noon
	w.finish(noon.Add(time.Hour), 20, 0, time.Second)
	w.expect("an hour later", noon.Add(time.Hour))
	w.expect("and ten minutes", noon.Add(70*time.Minute), "domain_failures ok", "frontier_behind firing",
		"slow_domains ok")
	var texts []string
	for _, body := range w.hook.bodies {
		var c contract.AlarmChange
		if err := json.Unmarshal(body, &c); err != nil {
			t.Fatal(err)
		}
		texts = append(texts, c.Text)
	}
	slices.Sort(texts)
	want := []string{
		"ALARM (staging): Average processing of a domain: 6250 ms over the last 60 minutes; the limit is 5000 ms.",
		"ALARM (staging): Domains that fail: 25.9 % over the last 60 minutes; the limit is 10 %.",
		"ALARM (staging): The entry point that is due longest waits: 70 minutes; the limit is 60 minutes.",
		"Recovered (staging): Average processing of a domain: 1000 ms over the last 60 minutes; the limit is 5000 ms.",
		"Recovered (staging): Domains that fail: 0 % over the last 60 minutes; the limit is 10 %.",
	}
	if !slices.Equal(texts, want) {
		t.Errorf("%s", strings.Join(texts, "\n"))
	}
}

// The dashboard explains every alarm in all its languages, and the manual has a line on it with its threshold.
func TestAlarms_Explained(t *testing.T) {
	began := time.Date(2026, 1, 28, 12, 0, 0, 0, time.UTC)
	states := alarms.Judge(ledger.AlarmReading{At: began})
	for _, s := range states {
		if s.Since == nil || !s.Since.Equal(began) {
			t.Errorf("%s, which the cron has not seen yet, is so since %v", s.Name, s.Since)
		}
	}
	languages, err := filepath.Glob("../dashboard/public/dashboard/lang/*.js")
	if err != nil || len(languages) < 2 {
		t.Fatal(languages, err)
	}
	for _, language := range languages {
		text := readFile(t, language)
		for _, a := range states {
			for _, key := range []string{"alarm." + a.Name, "alarm.about." + a.Name} {
				if !strings.Contains(text, "\n  \""+key+"\":") {
					t.Errorf("%s has no text %q", language, key)
				}
			}
		}
	}
	_, section, _ := strings.Cut(readFile(t, "../docs/operations.md"), "\n## Alarms\n")
	section, _, _ = strings.Cut(section, "\n## ")
	lines := regexp.MustCompile("(?m)^\\| `([a-z_]+)` \\| ([0-9.]+)( s)?").FindAllStringSubmatch(section, -1)
	var got, want []string
	for _, l := range lines {
		threshold, err := strconv.ParseFloat(l[2], 64)
		if err != nil {
			t.Fatal(err)
		}
		if l[3] != "" {
			threshold *= 1000
		}
		got = append(got, fmt.Sprint(l[1], " ", threshold))
	}
	for _, a := range states {
		want = append(want, fmt.Sprint(a.Name, " ", a.Threshold))
	}
	if !slices.Equal(got, want) {
		t.Errorf("docs/operations.md lists %v, want %v", got, want)
	}
}

func readFile(t *testing.T, path string) string {
	t.Helper()
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}
