package engine_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"net/url"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/newsfork/seed-engine/contract"
	"github.com/newsfork/seed-engine/engine/enginetest"
)

func domainMessage(p contract.Partition, domain string, file int, urls ...string) contract.DomainMessage {
	m := contract.DomainMessage{Domain: domain, DomainID: "gov:sg:" + domain, Partition: p,
		SourceFilePath: raw(p, file)}
	for _, u := range urls {
		m.URLs = append(m.URLs, contract.URL{URL: u})
	}
	return m
}

// deadLetters returns the stored dead letters by their messages.
func deadLetters(w *enginetest.World) map[string]contract.DeadLetter {
	letters := map[string]contract.DeadLetter{}
	for _, key := range w.Keys("dlq/", ".json") {
		var l contract.DeadLetter
		w.Read(key, &l)
		letters[string(l.OriginalMessage)] = l
	}
	return letters
}

func TestFaults_MalformedFileIsADeadLetter(t *testing.T) {
	enginetest.Run(t, func(t *testing.T, w *enginetest.World) {
		w.Web.Serve = (&enginetest.Sites{}).Serve
		type bad struct {
			queue   string
			message any
			kind    contract.Kind
			reason  string
		}
		var all []bad
		for i, f := range []struct {
			content, reason string
			kind            contract.Kind
		}{
			{"missing", "there is no object", contract.Validation},
			{"", "line 1, column 1, ", contract.Parse},
			{"[{\"url\":\"https://mom.gov.sg/a\"},\n{\"url\":\"htt", "line 2, column 12, ", contract.Parse},
			{"<html></html>", "line 1, column 1, ", contract.Parse},
			{`{"items":[]}`, "line 1, column 13, ", contract.Parse},
			{`"https://mom.gov.sg/"`, "line 1, column 22, ", contract.Parse},
		} {
			n := 100 + i
			if f.content != "missing" {
				w.Put(raw(day, n), f.content)
			}
			all = append(all, bad{enginetest.Seeds, seed(n), f.kind, f.reason})
		}
		all = append(all,
			bad{enginetest.Seeds, map[string]string{"foo": "seed"}, contract.Validation, ""},
			bad{enginetest.Domains, map[string]string{"foo": "domain"}, contract.Validation, ""},
			bad{enginetest.Seeds, "plain text", contract.Validation, ""},
		)
		for _, b := range all {
			w.Send(b.queue, b.message)
		}
		w.Drain()
		letters := deadLetters(w)
		retries := func(kind contract.Kind) int {
			if kind == contract.Parse {
				return 0 // retrying the same bytes cannot help
			}
			return 3
		}
		for _, b := range all {
			l, ok := letters[string(contract.Encode(b.message))]
			if !ok || l.ErrorInfo.ErrorType != b.kind || l.ErrorInfo.RetryCount != retries(b.kind) ||
				l.Context.QueueName != b.queue || !strings.Contains(l.ErrorInfo.ErrorMessage, b.reason) {
				t.Errorf("%v: %+v", b.message, l)
			}
		}
		if len(letters) != len(all) || len(w.Keys("raw/", ".success")) > 0 {
			t.Errorf("%d dead letters, checkpoints %v", len(letters), w.Keys("raw/", ".success"))
		}
		listed := enginetest.Data[contract.DeadLetterPage](w, "GET", "/api/v1/dlq?limit=100", "")
		if len(listed.DeadLetters) != len(all) {
			t.Errorf("%d are listed", len(listed.DeadLetters))
		}
		for _, l := range listed.DeadLetters {
			d := enginetest.Data[contract.DeadLetterDetail](w, "GET", "/api/v1/dlq/"+l.ID, "")
			var attempts []int
			for _, a := range d.Attempts {
				attempts = append(attempts, a.Attempt)
			}
			slices.Sort(attempts)
			if l.State != contract.Stored || !slices.Equal(attempts, []int{1, 2, 3, 4}[:retries(l.ErrorType)+1]) {
				t.Errorf("%s: %s after attempts %v", l.Work, l.State, attempts)
			}
		}

		w.Put(raw(day, 100), records("full-0.sg"))
		if got := enginetest.Data[contract.Resolved](w, "POST", "/api/v1/dlq/replay",
			`{"all":true}`); got.Done != int64(len(all)) {
			t.Errorf("replayed: %+v", got)
		}
		w.Drain()
		if s := w.Status(""); s.DeadLetters.Replayed != int64(len(all)) || s.DeadLetters.Stored != int64(len(all)-1) ||
			w.Document(day, "full-0.sg") == nil {
			t.Errorf("after the file was mended: %+v", s.DeadLetters)
		}
	})
}

func TestFaults_BadRecords(t *testing.T) {
	enginetest.Run(t, func(t *testing.T, w *enginetest.World) {
		w.Web.Serve = (&enginetest.Sites{}).Serve
		w.Put(raw(day, 1),
			"\uFEFF"+`[{"url":"https://mom.gov.sg/a","title":"A"},{"title":"no URL"},{"url":"javascript:alert(1)"},
			{"url":"http://192.168.0.1/admin"},{"url":"http://localhost/"},{"url":"https://한국뉴스.kr/뉴스","title":"IDN"},5,{"url":"https://mom.gov.sg/a","title":"again"}]`)
		w.Put(raw(day, 2), "[]")
		w.Send(enginetest.Seeds, seed(1))
		w.Send(enginetest.Seeds, seed(2))
		w.Drain()
		if got := urlsOf(w.Document(day, "mom.gov.sg")); !slices.Equal(got, []string{"https://mom.gov.sg/a"}) {
			t.Errorf("mom.gov.sg: %v", got)
		}
		if got := len(w.Keys("prod/", ".success")); got != 2 || w.Document(day, "xn--3e0bj9ghtquur.kr") == nil {
			t.Errorf("%d domains", got)
		}
		line := w.Events("domains_extracted")[0]
		for field, want := range map[string]float64{"total_records": 8, "unique_domains": 2, "bad_records": 5,
			"duplicates": 1} {
			if line[field] != want {
				t.Errorf("%s: %v", field, line[field])
			}
		}
		if _, ok := w.Text(raw(day, 2) + ".success"); !ok {
			t.Error("a file without records has no checkpoint")
		}
	})
}

func TestFaults_BucketNotifications(t *testing.T) {
	enginetest.Run(t, func(t *testing.T, w *enginetest.World) {
		w.Web.Serve = (&enginetest.Sites{}).Serve
		w.Put(raw(day, 3), records("full-0.sg"))
		for _, key := range []string{"raw/country=sg/notes.txt", raw(day, 3), raw(day, 3)} {
			w.Send(enginetest.Seeds,
				json.RawMessage(
					fmt.Sprintf(
						`{"account":"a","action":"PutObject","bucket":"newsfork-datasets-dev","object":{"key":%q,`+
							`"size":10,"eTag":"e"},"eventTime":"2026-01-28T10:00:00Z"}`, key)))
		}
		w.Drain()
		if d := w.Document(day, "full-0.sg"); d == nil || d.Revision != 1 || len(deadLetters(w)) > 0 {
			t.Errorf("%+v, dead letters %v", d, deadLetters(w))
		}
	})
}

// Messages are retried until the stores work again.
func TestFaults_StoresRecover(t *testing.T) {
	enginetest.Run(t, func(t *testing.T, w *enginetest.World) {
		w.Web.Serve = (&enginetest.Sites{}).Serve
		left := map[string]int{"document": 3, "checkpoint": 2, "queue": 1}
		fail := func(what string) error {
			if left[what]--; left[what] >= 0 {
				return errors.New("as the test wants it")
			}
			return nil
		}
		w.Bucket.Fail = func(op, key string) error {
			switch {
			case op != "put":
			case strings.HasSuffix(key, "full-0.sg/domain_metadata.json"):
				return fail("document")
			case strings.HasSuffix(key, "raw_0001.json.success"):
				return fail("checkpoint")
			}
			return nil
		}
		w.Broker.Fail = func(queue string, _ [][]byte) error {
			if queue == enginetest.Domains {
				return fail("queue")
			}
			return nil
		}
		w.Put(raw(day, 1), records("full-0.sg"))
		w.Send(enginetest.Seeds, seed(1))
		w.Drain()
		if d := w.Document(day, "full-0.sg"); d == nil || len(d.URLs) != 1 {
			t.Errorf("%+v", d)
		}
		if _, ok := w.Text(checkpoint("full-0.sg")); !ok || len(deadLetters(w)) > 0 {
			t.Errorf("checkpoint %v, dead letters %v", ok, deadLetters(w))
		}
		failures := w.Events("file_processing_failed")
		for i, line := range failures {
			if line["attempt"] != float64(i+1) || line["error_type"] != string(contract.Storage) {
				t.Errorf("%v", line)
			}
		}
		if len(failures) != 3 {
			t.Errorf("the file failed %d times", len(failures))
		}
	})
}

func TestDeadLetter_WithoutLedger(t *testing.T) {
	enginetest.Run(t, func(t *testing.T, w *enginetest.World) {
		w.Database.Fail = func() error { return errors.New("D1 is away") }
		w.Put(raw(day, 2), "broken")
		w.Send(enginetest.Seeds, seed(2))
		w.Send(enginetest.Seeds, seed(3)) // a file that does not exist
		w.Drain()
		letters := deadLetters(w)
		for body, why := range map[string]string{
			// stored under the queue in which it failed
			string(contract.Encode(seed(2))): "line 1, column 1, byte 0: expected a value, found 'b'",
			string(contract.Encode(seed(3))): "the reason was not recorded",
		} {
			if l := letters[body]; l.ErrorInfo.ErrorMessage != why || l.Context.QueueName != enginetest.Seeds {
				t.Errorf("%+v, want %q", l, why)
			}
		}
		if a := w.Ask("GET", "/health/ready", ""); a.Status != 503 ||
			!strings.Contains(string(a.Data), `"d1":"failed"`) || !strings.Contains(string(a.Data), `"r2":"ok"`) {
			t.Errorf("readiness: %d %s", a.Status, a.Data)
		}
	})
}

// Several messages of one domain, each with its own URLs, lead to one document with all URLs.
func TestFaults_MessagesOfOneDomain(t *testing.T) {
	enginetest.Run(t, func(t *testing.T, w *enginetest.World) {
		w.Web.Serve = (&enginetest.Sites{Latency: 20 * time.Millisecond}).Serve
		w.Broker.Events, w.Broker.Copies, w.Broker.Shuffle = 4, 2, rand.New(rand.NewPCG(3, 4))
		want := []string{"https://one.sg/0", "https://one.sg/1", "https://one.sg/2", "https://one.sg/3",
			"https://one.sg/all"}
		for n, u := range want[:4] {
			w.Send(enginetest.Domains, domainMessage(day, "one.sg", n+1, u, want[4]))
		}
		w.Drain()
		d := w.Document(day, "one.sg")
		if d == nil || !slices.Equal(urlsOf(d), want) || len(d.Source.RawFilePaths) != 4 {
			t.Errorf("%+v", d)
		}
	})
}

// Concurrent events, duplicate and reordered messages, failing stores and killed events: unless a message runs out of
// attempts, every file and domain is complete in the end.
func TestFaults_Chaos(t *testing.T) {
	runs := uint64(20)
	if testing.Short() {
		runs = 5
	}
	for run := range runs {
		t.Run(fmt.Sprint(run), func(t *testing.T) {
			enginetest.Run(t, func(t *testing.T, w *enginetest.World) {
				var mu sync.Mutex
				chance := rand.New(rand.NewPCG(run, 0))
				trouble := 3 // fewer than the retries of a message
				strike := func(percent int) bool {
					mu.Lock()
					defer mu.Unlock()
					if trouble > 0 && chance.IntN(100) < percent {
						trouble--
						return true
					}
					return false
				}
				w.Web.Serve = (&enginetest.Sites{Latency: 20 * time.Millisecond}).Serve
				w.Broker.Events, w.Broker.Copies, w.Broker.Shuffle = 3, 2, rand.New(rand.NewPCG(run, 1))
				w.Kill = func(int) bool { return strike(1) }
				files := plan{"full": 6, "robots": 3, "map": 2, "plain": 2}.files(3)
				for n, content := range append(files, files[0]) {
					w.Put(raw(day, n+1), content)
					w.Send(enginetest.Seeds, seed(n+1))
				}
				w.Bucket.Fail = func(op, _ string) error {
					if op == "put" && strike(2) {
						return errors.New("as the test wants it")
					}
					return nil
				}
				w.Drain()
				w.Kill = nil // Status must not be killed
				if files, domains := len(w.Keys("raw/", ".success")), len(w.Keys("prod/", ".success")); files != 4 ||
					domains != 13 || len(w.Keys("dlq/", "")) > 0 {
					t.Errorf("checkpoints of %d files and %d domains, dead letters %v", files, domains, deadLetters(w))
				}
				for i, content := range files {
					var list []struct{ URL string }
					if err := json.Unmarshal([]byte(content), &list); err != nil {
						t.Fatal(err)
					}
					for _, record := range list {
						u, err := url.Parse(record.URL)
						if err != nil {
							t.Fatal(err)
						}
						if d := w.Document(day, u.Host); d == nil || !d.Reachable ||
							!slices.Equal(urlsOf(d), []string{record.URL}) || i == 0 &&
							len(d.Source.RawFilePaths) != 2 {
							t.Errorf("%s: %+v", u.Host, d)
						}
					}
				}
				if got, want := processing(w.Status("").Stats),
					"files 4 = 4 done + 0 failed + 0 pending; domains 13 = 13 + 0 + 0"; got != want {
					t.Errorf("status: %s", got)
				}
			})
		})
	}
}

// Each run kills an event at another call to the platform. Earlier effects of the event remain, and it settles no
// message. Every run must end like the first one, in which no event dies.
func TestFaults_KilledAtEveryCall(t *testing.T) {
	run := func(t *testing.T, killAt int) (calls int) {
		enginetest.Run(t, func(t *testing.T, w *enginetest.World) {
			w.Web.Serve = (&enginetest.Sites{}).Serve
			w.Put(raw(day, 1), records("full-0.sg", "plain-0.sg", "down-0.sg", "full-0.sg"))
			w.Put(raw(day, 2), records("full-0.sg", "map-0.sg"))
			w.Put(raw(day, 3), "broken")
			for n := 1; n <= 3; n++ {
				w.Send(enginetest.Seeds, seed(n))
			}
			w.Kill = func(nth int) bool { return nth == killAt }
			w.Drain()
			if calls = w.Calls(); calls < killAt {
				t.Fatalf("there were %d calls", calls)
			}
			// Only the last delivery of an unreachable domain writes its document. If that delivery is killed, the
			// message becomes a dead letter.
			enginetest.Data[contract.Resolved](w, "POST", "/api/v1/dlq/replay", `{"filter":{"queue":"domain"}}`)
			w.Drain()
			for domain, urls := range map[string][]string{
				"full-0.sg":  {"https://full-0.sg/news/0", "https://full-0.sg/news/3"},
				"plain-0.sg": {"https://plain-0.sg/news/1"},
				"down-0.sg":  {"https://down-0.sg/news/2"}, "map-0.sg": {"https://map-0.sg/news/1"},
			} {
				d := w.Document(day, domain)
				if d == nil || d.Reachable == (domain == "down-0.sg") || !slices.Equal(urlsOf(d), urls) {
					t.Errorf("%s: %+v", domain, d)
				}
				if _, ok := w.Text(checkpoint(domain)); !ok {
					t.Errorf("%s has no checkpoint", domain)
				}
			}
			if n := len(w.Keys("raw/", ".success")); n != 2 {
				t.Errorf("%d files have a checkpoint", n)
			}
			if n := len(w.Keys("prod/", ".success")); n != 4 {
				t.Errorf("%d domains have a checkpoint", n)
			}
			letters := deadLetters(w)
			if _, ok := letters[string(contract.Encode(seed(3)))]; !ok || w.Status("").DeadLetters.Stored != 1 ||
				len(w.Broker.Lost()) > 0 {
				t.Errorf("dead letters %v, lost %v", slices.Collect(maps.Keys(letters)), w.Broker.Lost())
			}
			if got, want := processing(w.Status("").Stats),
				"files 3 = 2 done + 1 failed + 0 pending; domains 4 = 3 + 1 + 0"; got != want {
				t.Errorf("status: %s", got)
			}
		})
		return calls
	}
	calls, step := run(t, 0), 1
	if testing.Short() {
		step = 6
	}
	for n := 1; n <= calls; n += step {
		if t.Run(fmt.Sprint(n), func(t *testing.T) { run(t, n) }); t.Failed() {
			break
		}
	}
}
