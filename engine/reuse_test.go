package engine_test

import (
	"fmt"
	"math/rand/v2"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/newsfork/seed-engine/contract"
	"github.com/newsfork/seed-engine/engine/enginetest"
	"github.com/newsfork/seed-engine/fetch"
	"github.com/newsfork/seed-engine/fetch/fetchtest"
	"github.com/newsfork/seed-engine/frontier"
)

// TestAYearOfOneSite: its daily partitions are one collection, though their messages come twice, in any order, and
// several events work on them at once.
func TestAYearOfOneSite(t *testing.T) {
	enginetest.Run(t, func(t *testing.T, w *enginetest.World) {
		const domain, days = "full-0.sg", 365
		w.Web.Serve = (&enginetest.Sites{}).Serve
		w.Broker.Events, w.Broker.Copies, w.Broker.Shuffle = 4, 2, rand.New(rand.NewPCG(3, 65))
		var messages []*contract.DomainMessage
		for n := range days {
			p := contract.Partition{Country: "sg", Category: "news", Date: time.Date(2025, 2, 1+n, 0, 0, 0, 0, time.UTC).Format(time.DateOnly)}
			url := "https://" + domain + "/news/of-" + p.Date
			m := &contract.DomainMessage{
				Domain: domain, DomainID: "media:sg:" + domain, DomainURL: "https://" + domain + "/", RegistrableDomain: domain, Authority: "media",
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
		if asked["https://"+domain+"/robots.txt"] != 1 || asked["https://"+domain+"/sitemap.xml"] != 1 || asked["https://"+domain+"/"] != 1 {
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

// TestForcedPartitionsAreOneCollection: what is requested again is asked for again, once for all partitions.
func TestForcedPartitionsAreOneCollection(t *testing.T) {
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
			if d := w.Document(p, "full-0.sg"); d.CollectedAt.Before(requested.Truncate(time.Second)) || d.Revision < 2 {
				t.Errorf("%s: revision %d, collected at %v", p.Date, d.Revision, d.CollectedAt)
			}
		}
	})
}

// TestMergesWaitForTheirShard: while it does not answer, however long, no message is given up, and what it brings is
// neither in the document nor lost.
func TestMergesWaitForTheirShard(t *testing.T) {
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

// TestMirrorsAreFetchedOnce: two domains with the same home page and sitemap are collected both, and given out once.
func TestMirrorsAreFetchedOnce(t *testing.T) {
	enginetest.Run(t, func(t *testing.T, w *enginetest.World) {
		w.Web.Serve = func(r *fetch.Request, _ int) (fetchtest.Page, bool) {
			u, err := url.Parse(r.URL)
			if err != nil {
				return fetchtest.Page{}, false
			}
			switch u.Path {
			case "/sitemap.xml":
				return fetchtest.Page{Header: map[string]string{"Content-Type": "application/xml"}, Body: fmt.Sprintf(
					`<urlset><url><loc>https://%[1]s/news/1</loc></url><url><loc>https://%[1]s/news/2</loc></url></urlset>`, u.Host)}, true
			case "/":
				return fetchtest.Page{Header: map[string]string{"Content-Type": "text/html"}, Body: `<!doctype html><title>The News</title><link rel="canonical" href="https://` + u.Host + `/"><p>What happened today.</p>`}, true
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
		if first, second := stateOf(t, w, "https://first.sg/news/1"), stateOf(t, w, "https://second.sg/news/1"); first != "due" || second != "unknown" {
			t.Errorf("pages are %s, %s", first, second)
		}
		// Nor does the frontier take them from others.
		answer, err := w.Frontier.Remotes().Put(t.Context(), day, []frontier.NewPage{{URL: "https://second.sg/news/3", Type: "news", Priority: 0.9}})
		if err != nil || answer.Pages[0] != frontier.Mirrored {
			t.Errorf("%+v, %v", answer, err)
		}
	})
}
