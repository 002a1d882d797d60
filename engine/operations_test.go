package engine_test

import (
	"cmp"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/newsfork/seed-engine/contract"
	"github.com/newsfork/seed-engine/engine/enginetest"
)

// plan holds the number of domains of each kind of enginetest.Sites.
type plan map[string]int

// domains lists the domains of a plan with the kinds mixed.
func (p plan) domains() []string {
	type place struct {
		at     float64
		domain string
	}
	var list []place
	for kind, n := range p {
		for i := range n {
			list = append(list, place{(float64(i) + 0.5) / float64(n), fmt.Sprintf("%s-%d.sg", kind, i)})
		}
	}
	slices.SortFunc(list, func(a, b place) int {
		return cmp.Or(cmp.Compare(a.at, b.at),
			strings.Compare(a.domain, b.domain))
	})
	domains := make([]string, len(list))
	for i, l := range list {
		domains[i] = l.domain
	}
	return domains
}

// files distributes the domains of a plan over n raw files.
func (p plan) files(n int) []string {
	dealt := make([][]string, n)
	for i, d := range p.domains() {
		dealt[i%n] = append(dealt[i%n], d)
	}
	contents := make([]string, n)
	for i, domains := range dealt {
		contents[i] = records(domains...)
	}
	return contents
}

// The example of the workflow document. Every total is the sum of its parts, and rates are shares of domains_total,
// rounded to two decimals.
func TestStatus_DashboardExample(t *testing.T) {
	enginetest.Run(t, func(t *testing.T, w *enginetest.World) {
		w.Web.Serve = (&enginetest.Sites{}).Serve
		w.Variables["MAX_REQUESTS_PER_DOMAIN"] = "6"
		w.Bucket.Fail = func(op, key string) error {
			if op == "put" && strings.Contains(key, "/broken-") {
				return errors.New("as the test wants it")
			}
			return nil
		}
		w.Broker.Withhold = func(queue string, body []byte) bool {
			return queue == enginetest.Domains && strings.Contains(string(body), `"domain":"queued-`)
		}
		contents := plan{"full": 840, "robots": 210, "map": 50, "plain": 80, "down": 12, "hang": 8, "broken": 5,
			"queued": 45}.files(142)
		for _, n := range []int{31, 77, 123} {
			contents = slices.Insert(contents, n-1, `[{"url":"https://cut-off.sg/`)
		}
		for i, content := range contents {
			upload(t, w, day, i+1, content)
		}
		for n := range 5 {
			upload(t, w, nextDay, n+1, records("tomorrow.sg"))
		}
		if got := orchestrate(w, `{"date":"2026-01-28"}`); got.FilesFound != 145 || got.Sent != 145 {
			t.Errorf("%+v", got)
		}
		w.Drain()

		s := w.Status("?by=error_type&by=partition")
		want := contract.Stats{
			Processing: contract.ProcessingStats{
				FilesTotal: 150, FilesProcessed: 142, FilesFailed: 3, FilesPending: 5,
				DomainsTotal: 1250, DomainsProcessed: 1180, DomainsFailed: 25, DomainsPending: 45,
			},
			Collection: contract.CollectionStats{RobotsFound: 1050, RobotsRate: 0.84, SitemapFound: 890,
				SitemapRate: 0.71, AvgProcessingMS: 1250},
			Records: 1250, // one for each domain
		}
		if s.Stats != want {
			t.Errorf("got  %+v\nwant %+v", s.Stats, want)
		}
		errs := []contract.ErrorCount{
			{ErrorType: string(contract.Network), Domains: 12}, {ErrorType: string(contract.Timeout), Domains: 8},
			{ErrorType: string(contract.Storage), Domains: 5}, {ErrorType: string(contract.Parse), Files: 3},
		}
		if !reflect.DeepEqual(s.Errors, errs) {
			t.Errorf("errors: %+v", s.Errors)
		}
		if s.DeadLetters != (contract.DeadLetterCounts{Stored: 8}) {
			t.Errorf("dead letters: %+v", s.DeadLetters)
		}
		if len(s.Partitions) != 2 || s.Partitions[0].Partition != nextDay ||
			s.Partitions[0].Processing.FilesTotal != 5 || s.Partitions[1].Processing.DomainsTotal != 1250 {
			t.Errorf("partitions: %+v", s.Partitions)
		}
		for name, value := range map[string]float64{"file_failures": 2.1, "domain_failures": 2.1, "slow_domains": 1250,
			"dead_letters": 8} {
			i := slices.IndexFunc(s.Alarms, func(a contract.AlarmState) bool { return a.Name == name })
			if i < 0 || s.Alarms[i].State != contract.AlarmOK || s.Alarms[i].Value == nil ||
				*s.Alarms[i].Value != value {
				t.Errorf("%s: %+v", name, s.Alarms)
			}
		}
	})
}

// With a database that fails on every call, the pipeline still writes all checkpoints, and reconcile then produces the
// same status.
func TestLedger_Down(t *testing.T) {
	enginetest.Run(t, func(t *testing.T, w *enginetest.World) {
		w.Web.Serve = (&enginetest.Sites{}).Serve
		w.Variables["REUSE_WINDOW_MINUTES"] = "0" // so that both runs take equally long
		away, failed := false, 0
		w.Database.Fail = func() error {
			if away {
				failed++
				return errors.New("D1 is away, as the test wants it")
			}
			return nil
		}
		run := func(p contract.Partition) {
			t.Helper()
			for i, content := range append(plan{"full": 12, "robots": 6, "map": 4, "plain": 4, "down": 3}.files(4),
				"[{") {
				upload(t, w, p, i+1, content)
			}
			if got := orchestrate(w, fmt.Sprintf(`{"date":%q}`, p.Date)); got.Sent != 5 {
				t.Errorf("%+v", got)
			}
			w.Drain()
			place := fmt.Sprintf("country=%s/category=%s/date=%s/", p.Country, p.Category, p.Date)
			if files, domains := len(w.Keys("raw/"+place, ".success")), len(w.Keys("prod/"+place,
				".success")); files != 4 || domains != 29 {
				t.Errorf("%s: %d checkpoints of files, %d of domains", p.Date, files, domains)
			}
			letters := w.Keys("dlq/", ".json")
			if i := slices.IndexFunc(letters, func(key string) bool {
				text,
					_ := w.Text(key)
				return strings.Contains(text, raw(p, 5))
			}); i < 0 {
				t.Errorf("%s: no dead letter of the broken file among %v", p.Date, letters)
			}
		}
		numbers := func(p contract.Partition) contract.Stats { return w.Status("?date=" + p.Date).Stats }

		run(day)
		whole := numbers(day)
		want := contract.Stats{
			Processing: contract.ProcessingStats{FilesTotal: 5, FilesProcessed: 4, FilesFailed: 1, DomainsTotal: 29,
				DomainsProcessed: 26, DomainsFailed: 3},
			Collection: contract.CollectionStats{RobotsFound: 18, RobotsRate: 0.62, SitemapFound: 16,
				SitemapRate: 0.55, AvgProcessingMS: whole.Collection.AvgProcessingMS},
			Records: 29,
		}
		if whole != want || whole.Collection.AvgProcessingMS < 750 || whole.Collection.AvgProcessingMS > 1750 {
			t.Errorf("got  %+v\nwant %+v", whole, want)
		}

		away = true
		run(nextDay)
		if a := w.Ask("GET", "/api/v1/seeds/status", ""); a.Status != 503 || a.Error.Code != "storage_error" {
			t.Errorf("status while D1 is away: %d %+v", a.Status, a.Error)
		}
		if away = false; failed < 20 {
			t.Errorf("D1 was called %d times", failed)
		}
		if n := numbers(nextDay).Processing.DomainsTotal; n != 0 {
			t.Errorf("%d domains on record before reconcile", n)
		}
		for cursor, done := "", false; !done; {
			body := fmt.Sprintf(`{"country":"sg","category":"news","date":%q}`, nextDay.Date)
			if cursor != "" {
				body = strings.TrimSuffix(body, "}") + fmt.Sprintf(`,"cursor":%q}`, cursor)
			}
			r := enginetest.Data[contract.Reconciled](w, "POST", "/api/v1/seeds/reconcile", body)
			if done = r.Done; r.Cursor != nil {
				cursor = *r.Cursor
			}
		}
		for _, p := range []contract.Partition{nextDay, day} {
			if got := numbers(p); got != whole {
				t.Errorf("%s after reconcile: %+v, want %+v", p.Date, got, whole)
			}
		}
	})
}

func TestPause_AndExclusion(t *testing.T) {
	enginetest.Run(t, func(t *testing.T, w *enginetest.World) {
		w.Web.Serve = (&enginetest.Sites{}).Serve
		enginetest.Data[contract.Pipeline](w, "POST", "/api/v1/pipeline/pause", `{"reason":"the test"}`)
		enginetest.Data[contract.Exclusion](w, "PUT", "/api/v1/exclusions/domain/full-1.sg",
			`{"reason":"asked by its owner"}`)
		upload(t, w, day, 1, records("full-0.sg", "full-1.sg", "full-2.sg", "full-3.sg", "down-0.sg"))
		orchestrate(w, "{}")
		if err := w.Broker.DrainFor(t.Context(), 10*24*time.Hour); err != nil {
			t.Fatal(err)
		}
		if got, want := processing(w.Status("").Stats),
			"files 1 = 0 done + 0 failed + 1 pending; domains 0 = 0 + 0 + 0"; got != want {
			t.Errorf("paused: %s", got)
		}
		if waiting, asked := w.Broker.Waiting(enginetest.Seeds), w.Web.URLs(); len(waiting) != 1 || len(asked) != 0 {
			t.Errorf("paused: %v wait, %v were asked", waiting, asked)
		}

		enginetest.Data[contract.Pipeline](w, "POST", "/api/v1/pipeline/resume", "")
		w.Drain()
		s := w.Status("").Stats
		if got, want := processing(s), "files 1 = 1 done + 0 failed + 0 pending; domains 4 = 3 + 1 + 0"; got != want ||
			s.Excluded != 1 {
			t.Errorf("resumed: %s, %d excluded", got, s.Excluded)
		}
		for _, u := range w.Web.URLs() {
			if strings.Contains(u, "full-1.sg") {
				t.Errorf("%s was requested", u)
			}
		}
		if _, ok := w.Text(contract.DomainDir{Partition: day, Domain: "full-1.sg"}.Document()); ok {
			t.Error("the excluded domain has a document")
		}
		if a := w.Ask("POST", "/api/v1/seeds/domains/full-1.sg/collect", ""); a.Error.Code != "excluded" {
			t.Errorf("collecting it: %+v", a.Error)
		}
	})
}

func TestCollect_Again(t *testing.T) {
	enginetest.Run(t, func(t *testing.T, w *enginetest.World) {
		sites := &enginetest.Sites{}
		w.Web.Serve = sites.Serve
		upload(t, w, day, 1, records("down-0.sg"))
		orchestrate(w, "{}")
		w.Drain()
		before := w.Document(day, "down-0.sg")
		if before == nil || before.Reachable || before.Revision != 1 {
			t.Fatalf("while it is down: %+v", before)
		}
		time.Sleep(time.Minute)
		sites.Repair("down-0.sg")
		enginetest.Data[any](w, "POST", "/api/v1/seeds/domains/down-0.sg/collect", "")
		w.Drain()
		after := w.Document(day, "down-0.sg")
		if !after.Reachable || after.Revision != 2 || after.Technical.SitemapXML.URLCount != 3 ||
			!slices.Equal(urlsOf(after), urlsOf(before)) {
			t.Errorf("reachable %v, revision %d, %v", after.Reachable, after.Revision, urlsOf(after))
		}
		if got := processing(w.Status("").Stats); !strings.HasSuffix(got, "domains 1 = 1 + 0 + 0") {
			t.Error(got)
		}
	})
}

// The beginning and the end of an alarm are each posted until the webhook accepts them, and then no more.
func TestAlarm_Posts(t *testing.T) {
	enginetest.Run(t, func(t *testing.T, w *enginetest.World) {
		w.Web.Serve = (&enginetest.Sites{}).Serve
		w.Variables["ALERT_WEBHOOK_URL"] = "https://hooks.invalid/alarms"
		posted := func() (posts []string) {
			for _, p := range w.Hooks.Posts() {
				posts = append(posts, fmt.Sprint(p.Change.Alarm, " ", p.Change.State, " ", *p.Change.Value, " ",
					p.Taken))
			}
			return posts
		}
		n := 0
		finish := func(content string) {
			n++
			upload(t, w, day, n, content)
			orchestrate(w, "{}")
			w.Drain()
		}
		finish(plan{"full": 1, "down": 1}.files(1)[0])
		w.Cron()
		if got := posted(); got != nil { // two domains are too few for an alarm
			t.Errorf("posted %v", got)
		}
		finish(plan{"robots": 18, "down": 3}.files(1)[0]) // 3 of 22 failed
		w.Hooks.Refuse = 1
		for range 3 {
			w.Cron()
		}
		if got, want := posted(), []string{"domain_failures firing 13.6 false",
			"domain_failures firing 13.6 true"}; !slices.Equal(got, want) {
			t.Errorf("posted %q", got)
		}
		if p := w.Hooks.Posts(); len(p) == 2 && (p[0].ID != p[1].ID || p[0].ID != p[0].Change.ID) {
			t.Errorf("the same change has the ids %s, %s", p[0].ID, p[1].ID)
		}
		finish(plan{"map": 20}.files(1)[0]) // 3 of 42
		w.Cron()
		if got := posted(); len(got) != 2 {
			t.Errorf("posted %q within ten calm minutes", got)
		}
		time.Sleep(10 * time.Minute)
		for range 2 {
			w.Cron()
		}
		if got := posted(); len(got) != 3 || got[2] != "domain_failures ok 7.1 true" {
			t.Errorf("posted %q", got)
		}
	})
}
