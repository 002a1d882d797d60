package reconcile_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"testing"

	"github.com/newsfork/seed-engine/contract"
	"github.com/newsfork/seed-engine/epoch"
	"github.com/newsfork/seed-engine/frontier"
	"github.com/newsfork/seed-engine/frontier/client"
)

// contracted stores the document and the checkpoint of a domain with an entry point and n articles, of which
// robots.txt forbids every tenth.
func (f *fixture) contracted(t *testing.T, domain string, n int) {
	t.Helper()
	dir := contract.DomainDir{Partition: place, Domain: domain}
	d := &contract.Document{Domain: domain, Revision: 3, Reachable: true, CollectedAt: contract.Time{Time: before}}
	d.Processing.Partition, d.Processing.ProcessedAt = place, contract.Time{Time: before}
	action, kind := "scheduled_crawl", "news"
	for i := range n {
		priority, allowed := 0.3+0.5*float64(i)/float64(n), i%10 > 0
		d.URLs = append(d.URLs, contract.DocumentURL{
			URL: fmt.Sprintf("https://%s/news/%d", domain, i), Title: contract.Text(fmt.Sprint("Story ", i)),
			Type: &kind, Priority: &priority, Action: &action, Allowed: &allowed,
		})
	}
	d.Contract = json.RawMessage(fmt.Sprintf(`{"entry_points":[
		{"method":"rss","url":"https://%s/feed","content_type":"news","interval_minutes":720,"confidence":0.9},
		{"method":"rss","url":"https://feeds.elsewhere.org/x","content_type":null,"interval_minutes":720,"confidence":0.5}]}`, domain))
	d.Discovery = json.RawMessage(fmt.Sprintf(`{"discovered_urls":[
		{"url":"https://%[1]s/news/found","classification":{"primary_type":"news"},"priority_score":0.9,"recommended_action":"immediate_crawl"},
		{"url":"https://%[1]s/search","classification":{"primary_type":"search"},"priority_score":0.1,"recommended_action":"ignore"}]}`, domain))
	body, err := json.Marshal(d)
	if err != nil {
		t.Fatal(err)
	}
	f.put(t, dir.Document(), string(body), nil)
	f.put(t, dir.Checkpoint(), "", contract.OutcomeOf(d).Metadata())
}

// queued reconciles, and returns how many pages and entry points were put back.
func (f *fixture) queued(t *testing.T) (n int64) {
	t.Helper()
	for cursor := ""; ; {
		got, err := f.Run(t.Context(), place, cursor)
		if err != nil {
			t.Fatal(err)
		}
		if n += got.Queued; got.Done {
			return n
		}
		cursor = *got.Cursor
	}
}

func TestFrontier_Refilled(t *testing.T) {
	f := newFixture(t, 7)
	f.contracted(t, "small.sg", 10)
	f.contracted(t, "large.sg", 1000)
	f.domain(t, "silent.sg", false, false, false, true)
	if n := f.queued(t); n != (9+1+2)+(500+2)+1 { // each is to be collected again
		t.Errorf("%d were put back", n)
	}
	state := func(url string) string {
		t.Helper()
		s, err := f.Frontier.URL(t.Context(), url)
		if err != nil {
			t.Fatal(err)
		}
		return s.State
	}
	for url, want := range map[string]string{
		"https://small.sg/feed": "waiting", "https://small.sg/news/found": "due", "https://small.sg/news/1": "due",
		"https://small.sg/robots.txt": "waiting", "https://silent.sg/robots.txt": "waiting",
		"https://small.sg/news/0": "unknown", "https://small.sg/search": "unknown",
		"https://feeds.elsewhere.org/x": "unknown",
		"https://large.sg/news/999":     "due", "https://large.sg/news/1": "unknown", // the best are put
	} {
		if got := state(url); got != want {
			t.Errorf("%s is %s, want %s", url, got, want)
		}
	}
	lease, err := f.Frontier.Of("small.sg").Lease(t.Context(), frontier.LeaseRequest{Max: 2, Seconds: 60, PerHost: 1})
	if err != nil || len(lease.Items) == 0 {
		t.Fatal(lease, err)
	}
	report := frontier.Report{Lease: lease.ID}
	for _, i := range lease.Items {
		if i.URL != "https://"+i.Host+"/news/found" || i.Type != "news" || i.Partition != place {
			t.Errorf("leased %+v", i)
		}
		report.Results = append(report.Results, frontier.Result{ID: i.ID, Status: 200})
	}
	if _, err := f.Frontier.Of("small.sg").Report(t.Context(), report); err != nil {
		t.Fatal(err)
	}
	if n := f.queued(t); n != 0 || state("https://small.sg/news/found") != "fetched" {
		t.Errorf("again: %d were put back", n)
	}
	changes, err := f.Frontier.Changes(t.Context(), make(client.Cursor, f.Frontier.Shards), 10)
	if err != nil {
		t.Fatal(err)
	}
	said := map[string]frontier.Change{}
	for _, c := range changes.Items {
		said[c.Domain] = c.Change
	}
	want := frontier.Change{Partition: place, Revision: 3, ChangedAt: epoch.MillisOf(before), Reachable: true}
	if len(changes.Items) != 2 || said["small.sg"] != want || said["large.sg"] != want { // the third has no revision
		t.Errorf("changes: %+v", changes.Items)
	}
}

// TestFrontier_RefilledLater: a shard that does not answer fails the call, which goes on where it was.
func TestFrontier_RefilledLater(t *testing.T) {
	f := newFixture(t, 3)
	for i := range 12 {
		f.contracted(t, fmt.Sprintf("d%d.sg", i), 5)
	}
	calls, frozen := 0, errors.New("no answer")
	f.shards.Fail = func(string, string) error {
		if calls++; calls%4 < 2 {
			return frozen
		}
		return nil
	}
	total, failures := int64(0), 0
	for cursor := ""; ; {
		got, err := f.Run(t.Context(), place, cursor)
		if err != nil {
			if failures++; !errors.Is(err, frozen) || failures > 50 {
				t.Fatal(err)
			}
			continue
		}
		if total += got.Queued; got.Done {
			break
		}
		cursor = *got.Cursor
	}
	f.shards.Fail = nil
	stats, err := f.Frontier.Stats(t.Context())
	if err != nil || stats.Total.URLs != 12*5 || stats.Total.Hosts != 12 || failures == 0 {
		t.Errorf("%+v, %v after %d failures", stats.Total, err, failures)
	}
	if got := f.stats(t).Processing.DomainsTotal; got != 12 {
		t.Errorf("the ledger has %d domains", got)
	}
}
