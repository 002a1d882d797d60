package shard_test

import (
	"fmt"
	"math"
	"os"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/newsfork/seed-engine/contract"
	"github.com/newsfork/seed-engine/epoch"
	"github.com/newsfork/seed-engine/frontier"
	"github.com/newsfork/seed-engine/frontier/shard"
)

// rhythm is a publishing frequency.
type rhythm struct {
	name     string
	share    int           // of a hundred domains
	gap      epoch.Seconds // between two articles; 0: never
	interval int64         // seconds, at which the contract says a feed of it is to be asked
}

var rhythms = []rhythm{
	{name: "hourly", share: 10, gap: 3600, interval: 5400}, {name: "daily", share: 40, gap: 86_400, interval: 43_200},
	{name: "weekly", share: 30, gap: 7 * 86_400, interval: 172_800},
	{name: "dead", share: 20, gap: 0, interval: 129_600 * 60},
}

// What a refresh costs of CPU time, in ms, with a 304 and with a feed of 20 items of which one is new: measured on
// workerd on 2026-11-22, 290 and 219 refreshes within 40 s, its simulated platform, the ticks and the site included.
const cpuUnchanged, cpuChanged = 11.0, 40.0

// TestRefresh_Day counts what one day costs of 10,000 domains with a feed and a sitemap each, after two weeks
// in which the intervals have settled. It runs one of the 16 shards. docs/scale.md has the figures.
func TestRefresh_Day(t *testing.T) {
	needsNoRace(t)
	t.Parallel()
	const shards, domains, settling = 16, 10_000 / 16, 14 * 86_400_000
	w := newWorld(t)
	w.shard.PerMinute = 60
	of := map[string]rhythm{}
	for i := range domains {
		domain, at := fmt.Sprintf("site%d.example", i), (i*37)%100
		for _, r := range rhythms {
			if at -= r.share; at < 0 {
				of[domain] = r
				break
			}
		}
		r := of[domain]
		w.put(domain, nil,
			frontier.NewEntry{NewPage: frontier.NewPage{URL: "https://" + domain + "/feed"}, Method: "rss",
				Interval: r.interval, Status: 200},
			frontier.NewEntry{NewPage: frontier.NewPage{URL: "https://" + domain + "/sitemap.xml"}, Method: "sitemap",
				Interval: max(r.interval, 172_800), Status: 200},
			frontier.NewEntry{NewPage: frontier.NewPage{URL: "https://" + domain + "/robots.txt"},
				Method: frontier.MethodCollect, Interval: 86_400, Status: 200,
				SHA256: "00112233445566778899aabbccddeeff"})
		w.now += 5000
	}
	began := w.now
	var ticks, begun, messages, refreshes, found, collections, rows, articles int
	newest, delays, seen := map[string]epoch.Seconds{}, 0.0, 0.0
	for next := w.now; w.now < began+settling+86_400_000; {
		w.now = max(next, w.now+1000)
		counted := w.now >= began+settling
		var tick shard.Tick
		written := w.do(func() (err error) {
			tick, err = w.shard.Tick(w.now, shard.TickRequest{Shard: "shard-0"})
			return err
		})
		next = tick.AlarmAt
		if counted {
			ticks++
			rows += written + 1 // setAlarm
		}
		looks, calls := 0, 0 // begun now
		list := refreshesOf(t, tick)
		grants := map[string]frontier.RefreshGrant{} // by URL
		for together := range slices.Chunk(list, contract.MaxRefreshes) {
			written, one := begunTogether(w, together, grants)
			calls += one
			if counted {
				rows += written
			}
		}
		for _, m := range list {
			if m.Method == frontier.MethodCollect { // of all days: they come at the same time here
				collections++
				w.put(m.Domain, nil,
					frontier.NewEntry{NewPage: frontier.NewPage{URL: m.URL}, Method: m.Method, Interval: 86_400,
						Status: 200, SHA256: "00112233445566778899aabbccddeeff"})
				continue
			}
			delay, n := 0.0, 0.0
			if g := of[m.Domain].gap; g > 0 {
				for at := w.now.Seconds() / g * g; at > newest[m.Domain] && n < 20; at -= g {
					delay += w.now.Seconds().Sub(at).Hours()
					n++
				}
				newest[m.Domain] = w.now.Seconds() / g * g
			}
			written, added := refreshed(w, &m, of[m.Domain], grants[m.URL])
			if !counted {
				continue
			}
			rows += written
			looks++
			delays += delay
			seen += n
			refreshes += len(added)
			for _, n := range added {
				if articles += n; n > 0 {
					found++
				}
			}
		}
		if counted {
			begun += calls
		}
		messages += (looks + contract.MaxRefreshes - 1) / contract.MaxRefreshes
	}
	perMillion := map[string]float64{"rows": 1, "requests": 0.15, "messages": 0.40, "gets": 0.36, "cpu": 0.02}
	cpu := cpuUnchanged*float64(refreshes-found) + cpuChanged*float64(found)
	requests := begun + refreshes + ticks // one begins, one ends
	usd := perMillion["rows"]*float64(rows) + perMillion["requests"]*float64(requests) +
		perMillion["messages"]*float64(3*(messages+collections/15)) +
		perMillion["gets"]*float64(3*found+ticks) + perMillion["cpu"]*cpu
	usd *= shards / 1e6
	figures := []struct {
		name  string
		value float64
	}{
		{"refreshes", float64(refreshes * shards)}, {"of them, with something new", float64(found * shards)},
		{"articles found", float64(articles * shards)}, {"hours until an article was found", delays / seen},
		{"whole domains collected again", float64(collections*shards) / 15}, {"rows written", float64(rows * shards)},
		{"requests to Durable Objects", float64(requests * shards)},
		{"queue operations", float64(3 * (messages + collections/15) * shards)},
		{"CPU seconds", cpu * shards / 1000}, {"USD a day without the collections", usd},
		{"USD a day at REFRESHES_PER_DAY", usd / float64(refreshes*shards) * 500_000},
	}
	doc, err := os.ReadFile("../../docs/scale.md")
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range figures {
		line := fmt.Sprintf("| %s | %s |", f.name, rounded(f.value))
		t.Log(line)
		if !strings.Contains(string(doc), line) {
			t.Errorf("docs/scale.md lacks %s", line)
		}
	}
	if most := 0.7 * float64(refreshes); float64(rows) > float64(refreshes)+most+4*float64(found) {
		t.Errorf("%d rows for %d refreshes", rows, refreshes)
	}
}

// refreshesOf returns the refreshes that the messages of a tick request.
func refreshesOf(t testing.TB, tick shard.Tick) (all []contract.Refresh) {
	t.Helper()
	for _, body := range tick.Messages {
		list, ok, err := contract.ParseRefreshes(body)
		if !ok || err != nil {
			t.Fatalf("%s requests no refreshes: %v", body, err)
		}
		all = append(all, list...)
	}
	return all
}

// begunTogether begins the refreshes of a message, and gives the rows that were written and the number of calls.
func begunTogether(w *world, list []contract.Refresh, grants map[string]frontier.RefreshGrant) (rows, calls int) {
	w.Helper()
	var r frontier.RefreshRequests
	for i := range list {
		if m := &list[i]; m.Method != frontier.MethodCollect {
			r.Refreshes = append(r.Refreshes, frontier.RefreshRequest{Domain: m.Domain, URL: m.URL, Owner: m.URL})
		}
	}
	if len(r.Refreshes) == 0 {
		return 0, 0
	}
	rows = w.do(func() error {
		begun, err := w.shard.BeginRefreshes(w.now, r)
		for i, g := range begun.Grants {
			if !g.Granted {
				return fmt.Errorf("%+v", g)
			}
			grants[r.Refreshes[i].URL] = g
		}
		return err
	})
	return rows, 1
}

// refreshed plays a refresh that has begun and what follows it, and gives the rows that were written and of each
// refresh how many pages were new.
func refreshed(w *world, m *contract.Refresh, r rhythm, begun frontier.RefreshGrant) (rows int, added []int) {
	w.Helper()
	rows = w.do(func() (err error) {
		next := &frontier.NextRefresh{URL: m.URL, RefreshGrant: begun}
		for owner := m.URL; err == nil && next != nil; owner = "next" {
			result := frontier.RefreshResult{Domain: m.Domain, URL: next.URL, Owner: owner, Status: 304,
				Visit: frontier.HostFindings{AskedAt: w.now}, Next: "next"}
			if r.gap > 0 {
				for n := w.now.Seconds() / r.gap; (n*r.gap).Millis() > next.Since && len(result.Pages) < 20; n-- {
					result.Pages = append(result.Pages,
						frontier.NewPage{URL: fmt.Sprintf("https://%s/news/%d", m.Domain, n),
							LastMod: n * r.gap, FoundBy: "feed"})
				}
			}
			if len(result.Pages) > 0 {
				result.Status, result.ETag = 200, strconv.FormatInt(int64(w.now), 10)
			}
			var ended frontier.RefreshEnd
			if ended, err = w.shard.EndRefresh(w.now, result); err == nil && !ended.Accepted {
				err = fmt.Errorf("%+v", ended)
			}
			added = append(added, ended.Announced)
			next = ended.Next
		}
		return err
	})
	return rows, added
}

// rounded is a number to two digits, with commas.
func rounded(v float64) string {
	if v < 10 {
		return strconv.FormatFloat(v, 'f', 2, 64)
	}
	unit := math.Pow(10, math.Floor(math.Log10(v))-1)
	s := strconv.FormatFloat(math.Round(v/unit)*unit, 'f', 0, 64)
	for at := len(s) - 3; at > 0; at -= 3 {
		s = s[:at] + "," + s[at:]
	}
	return s
}
