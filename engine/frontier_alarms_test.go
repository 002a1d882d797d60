package engine_test

import (
	"encoding/json"
	"fmt"
	"testing"
	"time"

	"github.com/newsfork/seed-engine/contract"
	"github.com/newsfork/seed-engine/engine/enginetest"
	"github.com/newsfork/seed-engine/frontier"
)

func alarmOf(t *testing.T, w *enginetest.World, name string) contract.AlarmState {
	t.Helper()
	for _, a := range w.Status("").Alarms {
		if a.Name == name {
			return a
		}
	}
	t.Fatalf("there is no alarm %s", name)
	return contract.AlarmState{}
}

// The cron notices an entry point that nobody refreshes. It calls each shard only every five minutes.
func TestAlarm_FrontierBehind(t *testing.T) {
	for freshness, want := range map[string]string{"on": contract.AlarmFiring, "off": contract.AlarmOK} {
		enginetest.Run(t, func(t *testing.T, w *enginetest.World) {
			w.Variables["FRESHNESS"] = freshness
			entry := frontier.NewEntry{NewPage: frontier.NewPage{URL: "https://a.sg/feed"}, Method: "rss",
				Interval: 7200}
			if _, err := w.Frontier.Remotes().Of("a.sg").Put(t.Context(),
				frontier.Put{Domain: "a.sg", Partition: day, Entries: []frontier.NewEntry{entry}}); err != nil {
				t.Fatal(err)
			}
			w.Cron()
			for range 190 { // minutes; the entry point is due after 120 and late after 180
				time.Sleep(time.Minute)
				calls := w.Calls()
				w.Cron()
				if n := w.Calls() - calls; n > 16+6 {
					t.Fatalf("one run of the cron makes %d calls", n)
				}
			}
			a := alarmOf(t, w, "frontier_behind")
			if a.State != want || a.Unit != "ms" || want == contract.AlarmFiring &&
				(*a.Value <= 3_600_000 || *a.Value > 4_200_000) {
				t.Errorf("FRESHNESS=%s: %+v, %v", freshness, a, *a.Value)
			}
			calls, crons := w.Calls(), 10
			for range crons {
				time.Sleep(time.Minute)
				w.Cron()
			}
			if n := w.Calls() - calls; n > 2*(16+1)+crons*4 {
				t.Errorf("%d runs of the cron make %d calls", crons, n)
			}
		})
	}
}

// Failures that scrapers report are enough to raise the alarm.
func TestAlarm_RefreshFailures(t *testing.T) {
	enginetest.Run(t, func(t *testing.T, w *enginetest.World) {
		pages := make([]frontier.NewPage, 24)
		for i := range pages {
			pages[i].URL = fmt.Sprintf("https://h%d.sg/1", i)
		}
		if _, err := w.Frontier.Remotes().Put(t.Context(), day, pages); err != nil {
			t.Fatal(err)
		}
		w.Cron()
		l := enginetest.Data[contract.FrontierLease](w, "POST", "/api/v1/frontier/lease",
			`{"max":100,"lease_seconds":60}`)
		if len(l.Items) != len(pages) {
			t.Fatalf("leased %d", len(l.Items))
		}
		var results []map[string]any
		for i, item := range l.Items {
			result := map[string]any{"id": item.ID, "status": 200}
			if i%4 == 0 {
				result = map[string]any{"id": item.ID, "error": "connection reset"}
			}
			results = append(results, result)
		}
		body, err := json.Marshal(map[string]any{"lease_id": l.LeaseID, "results": results})
		if err != nil {
			t.Fatal(err)
		}
		for range 2 { // a repeated report counts once
			enginetest.Data[contract.FrontierReported](w, "POST", "/api/v1/frontier/report", string(body))
		}
		time.Sleep(5 * time.Minute)
		w.Cron()
		if a := alarmOf(t, w, "refresh_failures"); a.State != contract.AlarmFiring || *a.Value != 25 {
			t.Errorf("%+v %v", a, *a.Value)
		}
		w.Frontier.Freeze(shardOf("h0.sg"))
		time.Sleep(5 * time.Minute)
		w.Cron()
		if a := alarmOf(t, w, "refresh_failures"); a.State != contract.AlarmFiring {
			t.Errorf("the alarm ended although a shard did not answer: %+v", a)
		}
		w.Frontier.Thaw(shardOf("h0.sg"))
		time.Sleep(time.Hour)
		w.Cron()
		if a := alarmOf(t, w, "refresh_failures"); a.State != contract.AlarmFiring || a.Value != nil {
			t.Errorf("the alarm ended after an hour without reports: %+v", a)
		}
	})
}
