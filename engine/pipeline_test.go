package engine_test

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/newsfork/seed-engine/contract"
	"github.com/newsfork/seed-engine/engine/enginetest"
	"github.com/newsfork/seed-engine/orchestrator"
)

var (
	day     = contract.Partition{Country: "sg", Category: "news", Date: "2026-01-28"}
	nextDay = contract.Partition{Country: "sg", Category: "news", Date: "2026-01-29"}
)

func raw(p contract.Partition, n int) string {
	return contract.RawFile{Partition: p, Name: fmt.Sprintf("raw_%04d", n)}.Key()
}

func seed(n int) contract.SeedMessage {
	return contract.SeedMessage{FilePath: raw(day, n), Partition: day}
}

func checkpoint(domain string) string {
	return contract.DomainDir{Partition: day, Domain: domain}.Checkpoint()
}

// upload uploads a raw file through the API.
func upload(t *testing.T, w *enginetest.World, p contract.Partition, n int, content string) {
	t.Helper()
	path := fmt.Sprintf("/api/v1/datasets/%s/%s/%s/raw_%04d", p.Country, p.Category, p.Date, n)
	if a := w.Ask("PUT", path, content); a.Status != 201 {
		t.Fatalf("PUT %s: %d %+v", path, a.Status, a.Error)
	}
}

func orchestrate(w *enginetest.World, body string) orchestrator.Result {
	return enginetest.Data[orchestrator.Result](w, "POST", "/api/v1/seeds/orchestrate", body)
}

// records returns a raw file with one URL for each domain.
func records(domains ...string) string {
	type record struct {
		URL        string `json:"url"`
		Title      string `json:"title"`
		SourceType string `json:"source_type"`
	}
	list := make([]record, len(domains))
	for i, d := range domains {
		list[i] = record{"https://" + d + "/news/" + fmt.Sprint(i), "Headline " + fmt.Sprint(i), "media"}
	}
	b, err := json.Marshal(list)
	if err != nil {
		panic(err)
	}
	return string(b)
}

func urlsOf(d *contract.Document) (urls []string) {
	for _, u := range d.URLs {
		urls = append(urls, u.URL)
	}
	return urls
}

func processing(s contract.Stats) string {
	p := s.Processing
	return fmt.Sprintf("files %d = %d done + %d failed + %d pending; domains %d = %d + %d + %d",
		p.FilesTotal, p.FilesProcessed, p.FilesFailed, p.FilesPending, p.DomainsTotal, p.DomainsProcessed,
		p.DomainsFailed,
		p.DomainsPending)
}

func TestPipeline_FromUploadToStatus(t *testing.T) {
	enginetest.Run(t, func(t *testing.T, w *enginetest.World) {
		sites := &enginetest.Sites{}
		w.Web.Serve = sites.Serve
		upload(t, w, day, 1, records("full-0.sg", "robots-1.sg", "down-0.sg"))
		upload(t, w, day, 2, records("plain-0.sg", "full-0.sg"))
		upload(t, w, day, 3, "broken")
		if got, want := orchestrate(w, "{}"), (orchestrator.Result{FilesFound: 3, Sent: 3}); got != want {
			t.Errorf("%+v", got)
		}
		w.Drain()
		if got, want := processing(w.Status("").Stats),
			"files 3 = 2 done + 1 failed + 0 pending; domains 4 = 3 + 1 + 0"; got != want {
			t.Errorf("status: %s, want %s", got, want)
		}
		full := w.Document(day, "full-0.sg")
		if got := urlsOf(full); !full.Reachable || full.Technical.SitemapXML.URLCount != 3 ||
			!slices.Equal(got, []string{"https://full-0.sg/news/0", "https://full-0.sg/news/1"}) {
			t.Errorf("full-0.sg: %+v", full)
		}
		if got := len(w.Keys("prod/", ".success")); got != 4 {
			t.Errorf("%d checkpoints", got)
		}

		asked := len(w.Web.Visits())
		if got, want := orchestrate(w, "{}"), (orchestrator.Result{FilesFound: 3, Skipped: 3, Finished: 2,
			Broken: 1}); got != want {
			t.Errorf("a second time: %+v", got)
		}
		w.Drain()
		if got := len(w.Web.Visits()); got != asked {
			t.Errorf("the second run sent %d requests", got-asked)
		}
		if got := orchestrate(w, `{"force":true}`); got.Sent != 3 {
			t.Errorf("with force: %+v", got)
		}
		w.Drain()
		again := w.Document(day, "full-0.sg")
		if again.Revision <= full.Revision || !slices.Equal(urlsOf(again), urlsOf(full)) {
			t.Errorf("with force: revision %d after %d, %v", again.Revision, full.Revision, urlsOf(again))
		}
		if robots := slices.DeleteFunc(w.Web.URLs()[asked:],
			func(u string) bool { return u != "https://full-0.sg/robots.txt" }); len(robots) != 1 {
			t.Errorf("with force full-0.sg is collected %d times", len(robots))
		}
		if lost := w.Broker.Lost(); len(lost) > 0 {
			t.Errorf("lost: %v", lost)
		}
	})
}

func TestSettings_Wrong(t *testing.T) {
	enginetest.Run(t, func(t *testing.T, w *enginetest.World) {
		w.Variables["FETCH_RETRIES"] = "many"
		if a := w.Ask("GET", "/health", ""); a.Status != 500 || a.Error.Code != "validation_error" ||
			a.Error.Field != "FETCH_RETRIES" {
			t.Errorf("%d %+v", a.Status, a.Error)
		}
		for _, queue := range []string{enginetest.Seeds, enginetest.Domains, enginetest.DLQ} {
			if err := w.Refused(queue); contract.KindOf(err) != contract.Validation ||
				!strings.Contains(err.Error(), "FETCH_RETRIES") {
				t.Errorf("%s: %v", queue, err)
			}
		}
		if len(w.Events("settings_failed")) != 4 {
			t.Error("the log has no line for each failure")
		}
	})
}
