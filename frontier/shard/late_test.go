package shard_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/newsfork/seed-engine/contract"
	"github.com/newsfork/seed-engine/epoch"
	"github.com/newsfork/seed-engine/frontier"
	"github.com/newsfork/seed-engine/frontier/shard"
)

// TestRefresh_LateShard: refreshes that never end make the shard late at every look from then on, not only at those
// that fall together with a tick that gives one of them; refreshes in time do not, whatever the entry point.
func TestRefresh_LateShard(t *testing.T) {
	for _, method := range []string{"rss", frontier.MethodCollect} {
		for _, ends := range []bool{true, false} {
			t.Run(fmt.Sprint(method, ", ends: ", ends), func(t *testing.T) {
				w := newWorld(t)
				w.shard.Settings.PerMinute = 60
				for i := range 3 {
					host := fmt.Sprintf("a%d.example", i)
					entry := frontier.NewEntry{NewPage: frontier.NewPage{URL: "https://" + host + "/x"}, Method: method,
						Interval: 7200}
					w.do(func() error {
						_, err := w.shard.Put(w.now, frontier.Put{Domain: host, Partition: partition,
							Entries: []frontier.NewEntry{entry}})
						return err
					})
					w.now += 400_000
				}
				began, late, ticked := w.now, 0, epoch.Millis(0)
				for ; w.now < began+12*3_600_000; w.now += 60_000 {
					if w.now >= ticked {
						var tick shard.Tick
						w.do(func() (err error) {
							tick, err = w.shard.Tick(w.now, shard.TickRequest{Shard: "shard-0"})
							return err
						})
						ticked = tick.AlarmAt
						for _, m := range refreshesOf(t, tick) {
							if ends {
								w.refreshed(&m)
							}
						}
					}
					since := w.stats().OldestDue[frontier.Bands]
					switch is := since > 0 && w.now-since > 3_600_000; {
					case is && ends:
						t.Fatalf("late by %v, %v after the beginning", time.Duration(w.now-since)*time.Millisecond,
							time.Duration(w.now-began)*time.Millisecond)
					case is:
						late++
					case late > 0:
						t.Fatalf("no longer late, %v after the beginning", time.Duration(w.now-began)*time.Millisecond)
					}
				}
				if !ends && late < 8*60 {
					t.Errorf("late for %d minutes", late)
				}
			})
		}
	}
}

// refreshed does a refresh that finds nothing.
func (w *world) refreshed(m *contract.Refresh) {
	w.Helper()
	w.do(func() error {
		a, err := w.shard.BeginRefreshes(w.now, frontier.RefreshRequests{
			Refreshes: []frontier.RefreshRequest{{Domain: m.Domain, URL: m.URL, Owner: "r"}}})
		if err != nil || !a.Grants[0].Granted {
			return fmt.Errorf("%+v %w", a, err)
		}
		_, err = w.shard.EndRefresh(w.now,
			frontier.RefreshResult{Domain: m.Domain, URL: m.URL, Owner: "r", Status: 304})
		return err
	})
}

// TestClock_DayAfterAJump: a clock that was far ahead for a moment does not have the refreshes of all days until then
// count to one; one that goes back over midnight begins no second day.
func TestClock_DayAfterAJump(t *testing.T) {
	w := newWorld(t)
	w.shard.Settings.PerMinute, w.shard.Settings.PerDay = 60, 5
	for i := range 40 {
		host := fmt.Sprintf("a%d.example", i)
		entry := frontier.NewEntry{NewPage: frontier.NewPage{URL: "https://" + host + "/x"}, Method: "rss",
			Interval: 7200}
		w.do(func() error {
			_, err := w.shard.Put(w.now,
				frontier.Put{Domain: host, Partition: partition, Entries: []frontier.NewEntry{entry}})
			return err
		})
	}
	tick := func(at epoch.Millis) (messages int) {
		w.do(func() error {
			tick, err := w.shard.Tick(at, shard.TickRequest{Shard: "shard-0"})
			messages = len(refreshesOf(t, tick))
			return err
		})
		return messages
	}
	const day = 86_400_000
	today := w.now/day*day + day
	for _, at := range []struct {
		now  epoch.Millis
		want int
	}{{today + 1, 5}, {today - 1, 0}, {today + 400*day, 5}, {today + 2, 5}, {today + 3, 0}, {today + day, 5}} {
		if got := tick(at.now); got != at.want {
			t.Errorf("%d messages at %v of the day, want %d", got, time.Duration(at.now-today)*time.Millisecond,
				at.want)
		}
	}
}

// TestRefresh_WaitsForTheEndOfABlock: a host whose block is over soon is given to its refresh, which asks it only
// then.
func TestRefresh_WaitsForTheEndOfABlock(t *testing.T) {
	w := newWorld(t)
	const link = "https://a.example/x"
	w.do(func() error {
		_, err := w.shard.Put(w.now, frontier.Put{Domain: "a.example", Partition: partition,
			Entries: []frontier.NewEntry{{NewPage: frontier.NewPage{URL: link}, Method: "rss", Interval: 7200}}})
		return err
	})
	w.now += 8_000_000
	until := w.now + 20_000
	w.do(func() error {
		_, err := w.shard.SetHost(w.now, "a.example", frontier.HostChange{BlockUntil: &until})
		return err
	})
	w.do(func() error {
		a, err := w.shard.BeginRefresh(w.now, frontier.RefreshRequest{Domain: "a.example", URL: link, Owner: "r"})
		if !a.Granted || a.Host.ReadyAt != until {
			t.Errorf("%+v", a)
		}
		return err
	})
}
