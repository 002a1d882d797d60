package engine_test

import (
	"crypto/sha256"
	"errors"
	"fmt"
	"math/rand/v2"
	"net/url"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/newsfork/seed-engine/contract"
	"github.com/newsfork/seed-engine/engine/enginetest"
	"github.com/newsfork/seed-engine/fetch"
	"github.com/newsfork/seed-engine/fetch/fetchtest"
	"github.com/newsfork/seed-engine/frontier"
)

// A year of daily partitions of one site costs one collection, even with duplicate, reordered and concurrent messages.
func TestReuse_YearOfOneSite(t *testing.T) {
	if testing.Short() {
		t.Skip("collects 365 partitions")
	}
	enginetest.Run(t, func(t *testing.T, w *enginetest.World) {
		const domain, days = "full-0.sg", 365
		w.Web.Serve = (&enginetest.Sites{}).Serve
		w.Broker.Events, w.Broker.Copies, w.Broker.Shuffle = 4, 2, rand.New(rand.NewPCG(3, 65))
		var messages []*contract.DomainMessage
		for n := range days {
			p := contract.Partition{Country: "sg", Category: "news",
				Date: time.Date(2025, 2, 1+n, 0, 0, 0, 0, time.UTC).Format(time.DateOnly)}
			url := "https://" + domain + "/news/of-" + p.Date
			m := &contract.DomainMessage{
				Domain: domain, DomainID: "media:sg:" + domain, DomainURL: "https://" + domain + "/",
				RegistrableDomain: domain, Authority: "media",
				URLs: []contract.URL{{URL: url, Path: "/news/of-" + p.Date}}, Partition: p,
				SourceFilePath: contract.RawFile{Partition: p, Name: "raw_0001"}.Key(),
			}
			messages = append(messages, m)
		}
		for _, m := range messages {
			w.Send(enginetest.Domains, m)
		}
		w.Drain()
		asked := map[string]int{}
		for _, v := range w.Web.Visits() {
			asked[v.URL]++
		}
		if asked["https://"+domain+"/robots.txt"] != 1 || asked["https://"+domain+"/sitemap.xml"] != 1 ||
			asked["https://"+domain+"/"] != 1 {
			t.Errorf("asked for %v", asked)
		}
		collected, from := 0, ""
		for _, m := range messages {
			d := w.Document(m.Partition, domain)
			switch {
			case d == nil:
				t.Fatalf("%s has no document", m.Partition.Date)
			case d.Technical.ReusedFrom == nil:
				collected++
				from = m.Dir().Document()
			}
			if len(d.URLs) != 1 || d.URLs[0].URL != m.URLs[0].URL || !d.Sitemap.Exists {
				t.Errorf("%s: %+v", m.Partition.Date, d.URLs)
			}
		}
		if collected != 1 {
			t.Errorf("%d partitions were collected", collected)
		}
		for _, m := range messages {
			if d := w.Document(m.Partition, domain); d.Technical.ReusedFrom != nil && *d.Technical.ReusedFrom != from {
				t.Errorf("%s: reused from %s, want %s", m.Partition.Date, *d.Technical.ReusedFrom, from)
			}
			if got := stateOf(t, w, m.URLs[0].URL); got != "due" && got != "waiting" {
				t.Errorf("%s is %s", m.URLs[0].URL, got)
			}
		}
		if got := w.Status("").Stats.Processing; got.DomainsTotal != days || got.DomainsProcessed != days {
			t.Errorf("the ledger has %+v", got)
		}
		if letters := w.Keys("dlq/", ""); len(letters) > 0 {
			t.Errorf("dead letters %q", letters)
		}
	})
}

// Forcing several partitions of a site collects it again, but only once.
func TestReuse_ForcedPartitions(t *testing.T) {
	enginetest.Run(t, func(t *testing.T, w *enginetest.World) {
		w.Web.Serve = (&enginetest.Sites{}).Serve
		var days []contract.Partition
		for n := range 5 {
			p := day
			p.Date = fmt.Sprintf("2026-01-%02d", 10+n)
			days = append(days, p)
			upload(t, w, p, 1, records("full-0.sg"))
		}
		homePages := func() (n int) {
			for _, v := range w.Web.Visits() {
				if strings.HasSuffix(v.URL, ".sg/") {
					n++
				}
			}
			return n
		}
		orchestrate(w, "{}")
		w.Drain()
		if n := homePages(); n != 1 {
			t.Errorf("%d collections", n)
		}
		time.Sleep(time.Minute)
		requested := time.Now()
		orchestrate(w, `{"force":true}`)
		w.Drain()
		if n := homePages(); n != 2 {
			t.Errorf("%d collections after force", n)
		}
		for _, p := range days {
			if d := w.Document(p, "full-0.sg"); d.CollectedAt.Before(requested.Truncate(time.Second)) ||
				d.Revision < 2 {
				t.Errorf("%s: revision %d, collected at %v", p.Date, d.Revision, d.CollectedAt)
			}
		}
	})
}

// While its shard does not answer, a merge is neither written nor given up.
func TestReuse_MergesWaitForTheirShard(t *testing.T) {
	enginetest.Run(t, func(t *testing.T, w *enginetest.World) {
		w.Web.Serve = (&enginetest.Sites{}).Serve
		upload(t, w, day, 1, records("full-0.sg"))
		orchestrate(w, "{}")
		w.Drain()
		const late = "https://full-0.sg/news/of-a-second-file"
		w.Frontier.Freeze(shardOf("full-0.sg"))
		time.AfterFunc(5*time.Hour, func() { w.Frontier.Thaw(shardOf("full-0.sg")) })
		upload(t, w, day, 2, `[{"url":"`+late+`","title":"Second"}]`)
		orchestrate(w, "{}")
		w.Drain()
		if letters := w.Keys("dlq/", ""); len(letters) > 0 {
			t.Errorf("dead letters %q", letters)
		}
		if d := w.Document(day, "full-0.sg"); len(d.URLs) != 2 {
			t.Errorf("the document has %+v", d.URLs)
		}
		if got := stateOf(t, w, late); got != "due" {
			t.Errorf("%s is %s", late, got)
		}
	})
}

// Both of two mirrored domains are collected, but scrapers get their pages only once.
func TestReuse_Mirrors(t *testing.T) {
	enginetest.Run(t, func(t *testing.T, w *enginetest.World) {
		w.Web.Serve = func(r *fetch.Request, _ int) (fetchtest.Page, bool) {
			u, err := url.Parse(r.URL)
			if err != nil {
				return fetchtest.Page{}, false
			}
			switch u.Path {
			case "/sitemap.xml":
				return fetchtest.Page{Header: map[string]string{"Content-Type": "application/xml"}, Body: fmt.Sprintf(
						`<urlset><url><loc>https://%[1]s/news/1</loc></url><url><loc>https://%[1]s/news/2</loc>`+
							`</url></urlset>`,
						u.Host)},
					true
			case "/":
				return fetchtest.Page{Header: map[string]string{"Content-Type": "text/html"},
					Body: `<!doctype html><title>The News</title><link rel="canonical" href="https://` + u.Host +
						`/"><p>What happened today.</p>`}, true
			}
			return fetchtest.Page{Status: 404}, true
		}
		upload(t, w, day, 1, records("first.sg"))
		orchestrate(w, "{}")
		w.Drain()
		upload(t, w, day, 2, records("second.sg"))
		orchestrate(w, "{}")
		w.Drain()
		if d := w.Document(day, "first.sg"); d.Technical.MirrorOf != nil {
			t.Errorf("the first is a mirror of %s", *d.Technical.MirrorOf)
		}
		if d := w.Document(day, "second.sg"); d.Technical.MirrorOf == nil || *d.Technical.MirrorOf != "first.sg" {
			t.Errorf("the second is a mirror of %v", d.Technical.MirrorOf)
		}
		if first, second := stateOf(t, w, "https://first.sg/news/1"), stateOf(t, w,
			"https://second.sg/news/1"); first != "due" || second != "unknown" {
			t.Errorf("pages are %s, %s", first, second)
		}
		// The frontier refuses the mirror's pages from other callers, too.
		answer, err := w.Frontier.Remotes().Put(t.Context(), day,
			[]frontier.NewPage{{URL: "https://second.sg/news/3", Type: "news", Priority: 0.9}})
		if err != nil || answer.Pages[0] != frontier.Mirrored {
			t.Errorf("%+v, %v", answer, err)
		}
	})
}

// Events die, the bucket fails, and a shard is down for a while. In the end every partition has its document, evidence
// and checkpoint, and only deaths caused further collections.
func TestReuse_SurvivesKills(t *testing.T) {
	for seed := range uint64(8) {
		t.Run(fmt.Sprint(seed), func(t *testing.T) {
			enginetest.Run(t, func(t *testing.T, w *enginetest.World) { reuseSurvives(t, w, seed) })
		})
	}
}

func reuseSurvives(t *testing.T, w *enginetest.World, seed uint64) {
	const domain, days = "full-0.sg", 40
	w.Web.Serve = (&enginetest.Sites{}).Serve
	r := rand.New(rand.NewPCG(4, seed))
	deaths, faults := 0, 0 // in total fewer than the deliveries of a message
	var mu sync.Mutex
	w.Broker.Events, w.Broker.Shuffle = 3, rand.New(rand.NewPCG(6, seed))
	w.Kill = func(int) bool {
		mu.Lock()
		defer mu.Unlock()
		if deaths < 2 && r.IntN(60) == 0 {
			deaths++
			return true
		}
		return false
	}
	w.Bucket.Fail = func(op, key string) error {
		mu.Lock()
		defer mu.Unlock()
		if faults < 1 && strings.HasPrefix(key, "prod/") && r.IntN(40) == 0 {
			faults++
			return errors.New("as the test wants it")
		}
		return nil
	}
	time.AfterFunc(40*time.Second, func() { w.Frontier.Freeze(shardOf(domain)) })
	time.AfterFunc(4*time.Minute, func() { w.Frontier.Thaw(shardOf(domain)) })
	var partitions []contract.Partition
	for n := range days {
		p := contract.Partition{Country: "sg", Category: "news",
			Date: time.Date(2025, 2, 1+n, 0, 0, 0, 0, time.UTC).Format(time.DateOnly)}
		partitions = append(partitions, p)
		w.Send(enginetest.Domains, &contract.DomainMessage{
			Domain: domain, DomainID: "media:sg:" + domain, DomainURL: "https://" + domain + "/",
			RegistrableDomain: domain, Authority: "media",
			URLs: []contract.URL{{URL: "https://" + domain + "/news/of-" + p.Date,
				Path: "/news/of-" + p.Date}},
			Partition:      p,
			SourceFilePath: contract.RawFile{Partition: p, Name: "raw_0001"}.Key(),
		})
	}
	w.Drain()
	w.Kill, w.Bucket.Fail = nil, nil
	if deaths == 0 || faults == 0 {
		t.Fatalf("%d events died, the bucket failed %d times", deaths, faults)
	}
	collections := 0
	for _, v := range w.Web.Visits() {
		if v.URL == "https://"+domain+"/robots.txt" {
			collections++
		}
	}
	if collections > 1+deaths+faults {
		t.Errorf("%d collections, %d deaths, %d faults", collections, deaths, faults)
	}
	for _, p := range partitions {
		dir := contract.DomainDir{Partition: p, Domain: domain}
		d := w.Document(p, domain)
		if d == nil || len(d.URLs) != 1 || !d.Reachable || !d.Sitemap.Exists {
			t.Errorf("%s: %+v", p.Date, d)
			continue
		}
		for _, key := range []string{dir.Checkpoint(), dir.Robots(), dir.Sitemap()} {
			if _, ok := w.Text(key); !ok {
				t.Errorf("there is no %s", key)
			}
		}
		if text, _ := w.Text(dir.Sitemap()); fmt.Sprintf("%x",
			sha256.Sum256([]byte(text))) != *d.Technical.SitemapXML.SHA256 {
			t.Errorf("%s: the sitemap is not the one of the document", p.Date)
		}
		if got := stateOf(t, w, d.URLs[0].URL); got != "due" {
			t.Errorf("%s is %s", d.URLs[0].URL, got)
		}
	}
	if letters := w.Keys("dlq/", ""); len(letters) > 0 {
		t.Errorf("dead letters %q", letters)
	}
	announced := map[contract.Partition]int{}
	for _, c := range enginetest.Data[contract.ChangesPage](w, "GET", "/api/v1/seeds/changes?limit=200", "").Items {
		announced[c.Partition] = c.Revision
	}
	for _, p := range partitions {
		if d := w.Document(p, domain); d != nil && announced[p] != d.Revision {
			t.Errorf("%s: revision %d was announced, the document has %d", p.Date, announced[p], d.Revision)
		}
	}
}
