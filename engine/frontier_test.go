package engine_test

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"github.com/newsfork/seed-engine/contract"
	"github.com/newsfork/seed-engine/engine/enginetest"
	"github.com/newsfork/seed-engine/frontier/placement"
)

// stateOf returns the frontier's state of a URL.
func stateOf(t *testing.T, w *enginetest.World, url string) string {
	t.Helper()
	s, err := w.Frontier.Remotes().URL(t.Context(), url)
	if err != nil {
		t.Fatal(err)
	}
	return s.State
}

// shardOf returns the name of a domain's shard.
func shardOf(domain string) string { return fmt.Sprint("shard-", placement.ShardOf(domain, 16)) }

// A collection puts the best pages of its domain, and a merge those that it adds.
func TestFrontier_FilledByCollections(t *testing.T) {
	enginetest.Run(t, func(t *testing.T, w *enginetest.World) {
		w.Web.Serve = (&enginetest.Sites{}).Serve
		upload(t, w, day, 1, plan{"full": 3, "robots": 2, "down": 1}.files(1)[0])
		orchestrate(w, "{}")
		w.Drain()
		for url, want := range map[string]string{
			"https://full-0.sg/news/1": "due", "https://full-2.sg/news/3": "due",
			"https://full-0.sg/sitemap.xml": "waiting", "https://down-0.sg/": "unknown",
		} {
			if got := stateOf(t, w, url); got != want {
				t.Errorf("%s is %s, want %s", url, got, want)
			}
		}
		upload(t, w, day, 2, `[{"url":"https://full-0.sg/news/of-a-second-file","title":"Second"}]`)
		orchestrate(w, "{}")
		w.Drain()
		if got := stateOf(t, w, "https://full-0.sg/news/of-a-second-file"); got != "due" {
			t.Errorf("the page that a merge added is %s", got)
		}
	})
}

// Whichever call kills the event, the frontier has every page in the end.
func TestFrontier_FilledDespiteKills(t *testing.T) {
	enginetest.Run(t, func(t *testing.T, w *enginetest.World) {
		w.Web.Serve = (&enginetest.Sites{}).Serve
		const domains = 12
		r := rand.New(rand.NewPCG(1, 2))
		deaths := 0
		w.Kill = func(int) bool {
			if deaths < 6 && r.IntN(25) == 0 {
				deaths++
				return true
			}
			return false
		}
		for n := range 2 {
			upload(t, w, day, n+1, plan{"full": domains}.files(1)[0])
		}
		w.Send(enginetest.Seeds, &contract.SeedMessage{FilePath: contract.RawFile{Partition: day,
			Name: "raw_0001"}.Key(), Partition: day})
		w.Send(enginetest.Seeds, &contract.SeedMessage{FilePath: contract.RawFile{Partition: day,
			Name: "raw_0002"}.Key(), Partition: day})
		w.Drain()
		w.Kill = nil
		if deaths == 0 {
			t.Fatal("no event died")
		}
		for n := range domains {
			for page := range 3 {
				if got := stateOf(t, w, fmt.Sprintf("https://full-%d.sg/news/%d", n, page+1)); got != "due" {
					t.Errorf("full-%d, page %d: %s", n, page+1, got)
				}
			}
		}
	})
}

// An exclusion reaches a shard at once, or as soon as the shard answers again.
func TestExclusion_ReachesTheFrontier(t *testing.T) {
	enginetest.Run(t, func(t *testing.T, w *enginetest.World) {
		w.Web.Serve = (&enginetest.Sites{}).Serve
		upload(t, w, day, 1, plan{"full": 2}.files(1)[0])
		orchestrate(w, "{}")
		w.Drain()
		const first, second = "https://full-0.sg/news/1", "https://full-1.sg/news/1"
		if a := w.Ask("PUT", "/api/v1/exclusions/domain/full-0.sg", ""); a.Status != 201 {
			t.Fatalf("%d %+v", a.Status, a.Error)
		}
		if got := stateOf(t, w, first); got != "excluded" {
			t.Errorf("%s is %s", first, got)
		}
		w.Frontier.Freeze(shardOf("full-1.sg"))
		for _, path := range []string{"domain/full-1.sg", "url/https%3A%2F%2F*%2Fnews%2F2"} {
			if a := w.Ask("PUT", "/api/v1/exclusions/"+path, ""); a.Status != 201 {
				t.Fatalf("%s with a frozen shard: %d %+v", path, a.Status, a.Error)
			}
		}
		time.Sleep(time.Minute)
		w.Cron()
		w.Frontier.Thaw(shardOf("full-1.sg"))
		if got := stateOf(t, w, second); got == "excluded" {
			t.Errorf("a frozen shard knows of the exclusion")
		}
		time.Sleep(time.Minute)
		w.Cron()
		for _, url := range []string{second, "https://full-1.sg/news/2"} {
			if got := stateOf(t, w, url); got != "excluded" {
				t.Errorf("%s is %s", url, got)
			}
		}
		calls := w.Calls()
		time.Sleep(time.Minute)
		w.Cron()
		if n := w.Calls() - calls; n > 3 { // reads of alarms and exclusions
			t.Errorf("an idle run of the cron makes %d calls", n)
		}
		if a := w.Ask("DELETE", "/api/v1/exclusions/domain/full-0.sg", ""); a.Status != 200 {
			t.Fatalf("%d %+v", a.Status, a.Error)
		}
		if got := stateOf(t, w, first); got != "due" {
			t.Errorf("allowed again, %s is %s", first, got)
		}
	})
}

// Adding or removing an exclusion shows at once in the document and in the API, without requests to hosts.
func TestExclusion_ShowsAtOnce(t *testing.T) {
	enginetest.Run(t, func(t *testing.T, w *enginetest.World) {
		w.Web.Serve = (&enginetest.Sites{}).Serve
		upload(t, w, day, 1, plan{"full": 2}.files(1)[0])
		orchestrate(w, "{}")
		w.Drain()
		asked := len(w.Web.URLs())
		shown := func(document []byte) string {
			var d struct {
				Excluded bool `json:"excluded"`
				Contract struct {
					Allowed bool              `json:"allowed"`
					Entries []json.RawMessage `json:"entry_points"`
				} `json:"fetch_contract"`
				Discovery struct {
					URLs []json.RawMessage `json:"discovered_urls"`
				} `json:"intelligent_discovery"`
			}
			if err := json.Unmarshal(document, &d); err != nil {
				t.Fatal(err)
			}
			return fmt.Sprint(d.Excluded, d.Contract.Allowed, len(d.Contract.Entries) > 0, len(d.Discovery.URLs) > 0)
		}
		for _, x := range []string{"domain/full-0.sg", "host/full-0.sg", "url/https%3A%2F%2Ffull-0.sg%2F*"} {
			for _, change := range []struct{ method, want string }{{"PUT", "true false false false"},
				{"DELETE", "false true true true"}} {
				time.Sleep(time.Minute)
				if a := w.Ask(change.method, "/api/v1/exclusions/"+x, ""); !a.Success {
					t.Fatalf("%s %s: %d %+v", change.method, x, a.Status, a.Error)
				}
				detail := enginetest.Data[contract.DomainDetail](w, "GET", "/api/v1/seeds/domains/full-0.sg", "")
				if got := shown(detail.Document); got != change.want || detail.Excluded != (change.method == "PUT") {
					t.Errorf("%s %s: the API shows %s, excluded %v", change.method, x, got, detail.Excluded)
				}
				if by := detail.ExcludedBy; detail.Excluded != (len(by) == 1) ||
					detail.Excluded && (by[0].CreatedBy != "development" || !strings.HasPrefix(x, by[0].Kind+"/")) {
					t.Errorf("%s %s: excluded by %+v", change.method, x, by)
				}
				text, _ := w.Text(contract.DomainDir{Partition: day, Domain: "full-0.sg"}.Document())
				if got := shown([]byte(text)); got != change.want {
					t.Errorf("%s %s: the document shows %s", change.method, x, got)
				}
			}
		}
		if n := len(w.Web.URLs()); n != asked {
			t.Errorf("%d requests", n-asked)
		}
	})
}

// The list of domains has the revision of each document, and its filter selects the documents written since a time.
func TestDomains_Revisions(t *testing.T) {
	enginetest.Run(t, func(t *testing.T, w *enginetest.World) {
		w.Web.Serve = (&enginetest.Sites{}).Serve
		listed := func(query string) (list []string) {
			page := enginetest.Data[contract.DomainPage](w, "GET", "/api/v1/seeds/domains"+query, "")
			for _, d := range page.Domains {
				revision := 0
				if d.Revision != nil {
					revision = *d.Revision
				}
				list = append(list, fmt.Sprint(d.Domain, " ", revision, " ", d.Excluded != nil && *d.Excluded))
			}
			return list
		}
		upload(t, w, day, 1, records("full-0.sg", "full-1.sg"))
		orchestrate(w, "{}")
		if got := fmt.Sprint(listed("")); got != "[]" {
			t.Errorf("before: %s", got)
		}
		w.Drain()
		if got := fmt.Sprint(listed("")); got != "[full-0.sg 1 false full-1.sg 1 false]" {
			t.Errorf("collected: %s", got)
		}
		time.Sleep(time.Minute)
		since := "?changed_since=" + time.Now().UTC().Format(time.RFC3339)
		time.Sleep(time.Minute)
		if got := fmt.Sprint(listed(since)); got != "[]" {
			t.Errorf("nothing changed: %s", got)
		}
		w.Ask("PUT", "/api/v1/exclusions/domain/full-1.sg", "")
		if got := fmt.Sprint(listed(since)); got != "[full-1.sg 2 true]" {
			t.Errorf("excluded: %s", got)
		}
		upload(t, w, day, 2, records("full-0.sg"))
		orchestrate(w, "{}")
		w.Drain()
		if got := fmt.Sprint(listed(since)); got != "[full-0.sg 2 false full-1.sg 2 true]" {
			t.Errorf("a second raw file: %s", got)
		}
		if a := w.Ask("GET", "/api/v1/seeds/domains?changed_since=yesterday", ""); a.Status != 400 {
			t.Errorf("a wrong time: %d", a.Status)
		}
	})
}
