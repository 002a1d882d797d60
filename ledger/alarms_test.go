package ledger_test

import (
	"fmt"
	"reflect"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/newsfork/seed-engine/contract"
	"github.com/newsfork/seed-engine/epoch"
	"github.com/newsfork/seed-engine/ledger"
)

// finish records collected domains: good and unreachable ones.
func finish(t *testing.T, l *ledger.Ledger, at time.Time, good, bad int, duration time.Duration) {
	t.Helper()
	var c ledger.Changes
	for i := range good + bad {
		o := &contract.Outcome{CollectedAt: at, Reachable: i < good, Duration: duration}
		c.Domains = append(c.Domains, ledger.DomainChange{Partition: place,
			Domain: fmt.Sprintf("d%d-%d.sg", at.Unix(), i), Outcome: o})
	}
	must(t, l.Record(ctx, c))
}

// update returns a change of an alarm with a notice.
func update(name, state, id string, at time.Time) []ledger.AlarmUpdate {
	return []ledger.AlarmUpdate{{Name: name, State: state,
		Notice: &ledger.AlarmNotice{ID: id, Body: `{"id":"` + id + `"}`, At: epoch.MillisOf(at)}}}
}

func TestAlarmReading(t *testing.T) {
	l := ledger.New(open(t))
	finish(t, l, noon.Add(-59*time.Minute), 2, 1, 3*time.Second)
	finish(t, l, noon.Add(-60*time.Minute), 4, 0, time.Second)
	finish(t, l, noon, 1, 0, time.Second)
	must(t, l.Record(ctx, ledger.Changes{DeadLetters: []ledger.DeadLetter{{MessageID: "1",
		DeadLetterContext: contract.DeadLetterContext{QueueName: "q"}}}}))
	must(t, l.SaveAlarms(ctx, noon, update("domain_failures", "firing", "a", noon), true))
	must(t, l.SaveAlarms(ctx, noon.Add(time.Minute), update("domain_failures", "firing", "b", noon), true))
	first := ledger.FrontierReading{At: noon.Add(-74 * time.Minute), Complete: true, Answers: 100, Faults: 10,
		Quarantined: 3, LargestShard: 4 << 20}
	second := ledger.FrontierReading{At: noon, OldestEntry: noon.Add(-90 * time.Minute)}
	must(t, l.SaveFrontierReading(ctx, second))
	must(t, l.SaveFrontierReading(ctx, ledger.FrontierReading{At: noon.Add(59 * time.Second)}))
	must(t, l.SaveFrontierReading(ctx, ledger.FrontierReading{At: noon.Add(time.Minute)}))
	must(t, l.SaveFrontierReading(ctx, first))
	must(t, l.SaveFrontierReading(ctx, ledger.FrontierReading{At: noon.Add(-75 * time.Minute)}))
	want := ledger.AlarmReading{
		At: noon,
		Windows: map[int]ledger.Window{
			1:  {DomainsProcessed: 1, DurationMS: 1000},
			60: {DomainsProcessed: 3, DomainsFailed: 1, DurationMS: 7000},
			61: {DomainsProcessed: 7, DomainsFailed: 1, DurationMS: 11000},
		},
		DeadLetters: contract.DeadLetterCounts{Stored: 1},
		SavedAlarms: []ledger.SavedAlarm{{Name: "domain_failures", State: "firing", Since: noon}},
		Frontier:    []ledger.FrontierReading{first, second},
	}
	reading, err := l.Alarms(ctx, noon, []int{60, 1, 61})
	must(t, err)
	if !reflect.DeepEqual(reading, want) {
		t.Errorf("%+v, want %+v", reading, want)
	}
	s, err := l.Status(ctx, ledger.StatusQuery{Now: noon, Windows: []int{60, 1, 61}})
	must(t, err)
	if !reflect.DeepEqual(s.AlarmReading, want) {
		t.Errorf("in a status: %+v, want %+v", s.AlarmReading, want)
	}
	reading, err = l.Alarms(ctx, noon.Add(24*time.Hour), []int{5})
	must(t, err)
	if got := reading.Windows; !reflect.DeepEqual(got, map[int]ledger.Window{5: {}}) {
		t.Errorf("a window in which nothing was finished: %+v", got)
	}

	db := &recorder{DB: open(t)}
	_, err = ledger.New(db).Alarms(ctx, noon, []int{60})
	must(t, err)
	plan := fmt.Sprint(rows(t, db.DB, "EXPLAIN QUERY PLAN "+db.statements[0].SQL, db.statements[0].Args...))
	if !strings.Contains(plan, "SEARCH m USING INTEGER PRIMARY KEY (rowid>?)") {
		t.Errorf("the minutes are read whole: %s", plan)
	}
}

func TestAlarmChanges_PostedOnce(t *testing.T) {
	l := ledger.New(open(t))
	// Two crons that see a change write it once.
	var wg sync.WaitGroup
	for i := range 5 {
		wg.Go(func() {
			if err := l.SaveAlarms(ctx, noon, update("domain_failures", "firing", fmt.Sprint(i), noon),
				true); err != nil {
				t.Error(err)
			}
		})
	}
	wg.Wait()
	notices, err := l.ClaimAlarmChanges(ctx, 10, time.Minute)
	must(t, err)
	if len(notices) != 1 {
		t.Fatalf("%d notices, want 1", len(notices))
	}
	id := notices[0].ID
	if n := notices[0]; n.Body != `{"id":"`+id+`"}` || n.At != epoch.MillisOf(noon) {
		t.Errorf("notice: %+v", n)
	}
	claim := func(what string, want int) {
		t.Helper()
		if n, err := l.ClaimAlarmChanges(ctx, 10, 200*time.Millisecond); err != nil || len(n) != want {
			t.Errorf("%s: %d notices, %v, want %d", what, len(n), err, want)
		}
	}
	claim("while another has it", 0)
	must(t, l.SettleAlarmChanges(ctx, nil, []string{id}, noon))
	claim("given back", 1)
	claim("claimed a moment ago", 0)
	time.Sleep(300 * time.Millisecond)
	claim("the run that claimed it was killed", 1)
	must(t, l.SettleAlarmChanges(ctx, []string{id}, nil, noon))
	time.Sleep(300 * time.Millisecond)
	claim("posted", 0)

	must(t, l.SaveAlarms(ctx, noon, update("domain_failures", "ok", "not to be posted", noon), false))
	claim("nothing is to be posted", 0)
}

// Differences of lifetime counters are the reports within a window.
func TestFrontierWindow(t *testing.T) {
	at := func(minute int, answers, faults int64) ledger.FrontierReading {
		return ledger.FrontierReading{At: noon.Add(time.Duration(minute) * time.Minute), Complete: true,
			Answers: answers, Faults: faults}
	}
	lost := at(10, 0, 0)
	lost.Complete = false
	for _, c := range []struct {
		name            string
		readings        []ledger.FrontierReading
		answers, faults int64
	}{
		{"nothing", nil, 0, 0},
		{"one", []ledger.FrontierReading{at(0, 100, 50)}, 0, 0},
		{"within the hour", []ledger.FrontierReading{at(0, 100, 50), at(5, 130, 51)}, 30, 1},
		{"from an hour ago", []ledger.FrontierReading{at(-70, 10, 1), at(-60, 100, 50), at(-55, 110, 50),
			at(0, 130, 55)}, 30, 5},
		{"the hour between two readings", []ledger.FrontierReading{at(-62, 100, 50), at(-57, 110, 50),
			at(0, 130, 55)}, 30, 5},
		{"a shard that did not answer", []ledger.FrontierReading{at(0, 100, 50), at(5, 130, 55), lost}, 30, 5},
		{"a shard made anew", []ledger.FrontierReading{at(0, 100, 50), at(5, 90, 40)}, 0, 0},
	} {
		reading := ledger.AlarmReading{Frontier: c.readings}
		if answers, faults := reading.FrontierWindow(60); answers != c.answers || faults != c.faults {
			t.Errorf("%s: %d, %d", c.name, answers, faults)
		}
	}
}
