package handlers_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/newsfork/seed-engine/contract"
	"github.com/newsfork/seed-engine/handlers"
	"github.com/newsfork/seed-engine/ledger"
	"github.com/newsfork/seed-engine/r2"
	"github.com/newsfork/seed-engine/settings"
)

var place = contract.Partition{Country: "sg", Category: "news", Date: "2026-01-28"}

const newestDocument = `{"domain":"a.sg","domain_id":"gov:sg:a.sg","authority":"gov","revision":7,` +
	`"source":{"raw_file_path":"raw/country=sg/category=news/date=2026-01-29/raw_0003.json"},` +
	`"urls":[{"url":"https://a.sg/1"},{"url":"https://www.a.sg/2"},{"url":"https://x.a.sg/3"}]}`

// fill gives the engine something of everything.
func fill(t *testing.T, f *fixture) {
	t.Helper()
	at := f.now.Add(-time.Minute)
	later := contract.Partition{Country: "sg", Category: "news", Date: "2026-01-29"}
	good := contract.Outcome{CollectedAt: at, Reachable: true, Robots: true, Duration: 1250 * time.Millisecond}
	bad := contract.Outcome{CollectedAt: at, ErrorType: "network_error", ErrorMessage: "refused"}
	letter := func(id, queue string, p contract.Partition, domain string) ledger.DeadLetter {
		l := ledger.DeadLetter{
			MessageID: id, WorkKey: r2.RawFile{Partition: place, Name: "raw_0002"}.Key(), R2Key: "dlq/queue=" + queue + "/date=2026-01-28/" + id + ".json", Partition: p, Domain: domain,
			DeadLetterError:   contract.DeadLetterError{ErrorType: contract.Parse, ErrorMessage: "not JSON", RetryCount: 3, FailedAt: at},
			DeadLetterContext: contract.DeadLetterContext{QueueName: queue, WorkerVersion: "v1"},
		}
		body, err := json.Marshal(contract.DeadLetter{OriginalMessage: json.RawMessage(`{"id":"` + id + `"}`), ErrorInfo: l.DeadLetterError, Context: l.DeadLetterContext})
		if err != nil {
			t.Fatal(err)
		}
		f.store(t, l.R2Key, string(body))
		return l
	}
	err := f.ledger.Record(t.Context(), ledger.Changes{
		Files: []ledger.FileChange{
			{RawFile: contract.RawFile{Partition: place, Name: "raw_0001"}, Processed: at, Duration: 400 * time.Millisecond},
			{RawFile: contract.RawFile{Partition: place, Name: "raw_0002"}, GaveUp: at, ErrorType: contract.Parse, ErrorMessage: "not JSON"},
		},
		Domains: []ledger.DomainChange{
			{Partition: place, Domain: "a.sg", Outcome: &good}, {Partition: later, Domain: "a.sg", Outcome: &good}, {Partition: place, Domain: "b.sg", Outcome: &bad},
			{Partition: place, Domain: "c.sg", Queued: at}, {Partition: place, Domain: "out.sg", Excluded: at},
		},
		DeadLetters: []ledger.DeadLetter{letter("m1", "newsfork-seed-dev", place, ""), letter("m2", "newsfork-domain-dev", later, "a.sg"), letter("m3", "newsfork-seed-dev", contract.Partition{}, "")},
	})
	if err != nil {
		t.Fatal(err)
	}
	f.store(t, r2.DomainDir{Partition: later, Domain: "a.sg"}.Document(), newestDocument)
	_, err = f.api.Controls.Change(t.Context(), func(c *contract.Controls) error {
		for _, e := range [][2]string{{"domain", "out.sg"}, {"host", "www.out.sg"}} {
			c.Exclusions = append(c.Exclusions, contract.Exclusion{Kind: e[0], Value: e[1], CreatedAt: contract.Time{Time: at}, CreatedBy: "API_TOKEN"})
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
}

func (f *fixture) store(t *testing.T, key, content string) {
	t.Helper()
	if _, err := f.bucket.Put(t.Context(), key, []byte(content), nil); err != nil {
		t.Fatal(err)
	}
}

// get decodes the data of an answer that succeeds.
func get[T any](t *testing.T, f *fixture, method, target, body string) (data T) {
	t.Helper()
	r := f.do(t, method, target, body)
	if r.status > 299 {
		t.Fatalf("%s %s: %d %+v", method, target, r.status, r.Error)
	}
	if err := json.Unmarshal(r.Data, &data); err != nil {
		t.Fatal(err)
	}
	return data
}

func open(t *testing.T) *fixture {
	t.Helper()
	f := newFixture(t, nil)
	fill(t, f)
	return f
}

func TestStatusIsTheDocumentedJSON(t *testing.T) {
	f := open(t)
	data := get[map[string]json.RawMessage](t, f, "GET", "/api/v1/seeds/status", "")
	for field, want := range map[string]string{
		"processing_stats": `{"files_total":2,"files_processed":1,"files_failed":1,"files_pending":0,"domains_total":4,"domains_processed":2,"domains_failed":1,"domains_pending":1}`,
		"collection_stats": `{"robots_txt_found":2,"robots_txt_rate":0.5,"sitemap_xml_found":0,"sitemap_xml_rate":0,"avg_processing_time_ms":1250}`,
		"domains_excluded": `1`,
		"dead_letters":     `{"stored":3,"replayed":0,"discarded":0}`,
		"queues":           `{"dlq":null,"domain":{"messages":3,"bytes":300,"oldest":"2026-01-28T09:59:00Z"},"seed":{"messages":3,"bytes":300,"oldest":"2026-01-28T09:59:00Z"}}`,
		"paused":           `false`,
		"updated_at":       `"2026-01-28T10:00:00Z"`,
	} {
		if string(data[field]) != want {
			t.Errorf("%s: %s, want %s", field, data[field], want)
		}
	}
	if data["partitions"] != nil || data["trend"] != nil || data["errors"] != nil {
		t.Errorf("what was not asked for is there: %s", data)
	}
	one := get[contract.Status](t, f, "GET", "/api/v1/seeds/status?country=SG&category=news&date=2026-01-29", "")
	if one.Processing.DomainsTotal != 1 || one.Processing.FilesTotal != 0 {
		t.Errorf("of one partition: %+v", one.Processing)
	}
	more := get[contract.Status](t, f, "GET", "/api/v1/seeds/status?by=partition,error_type&trend=2", "")
	if len(more.Partitions) != 2 || more.Partitions[0].Partition.Date != "2026-01-29" || len(more.Trend) != 2 || more.Trend[0].DomainsProcessed != 2 || len(more.Errors) != 2 {
		t.Errorf("with all extras: %+v", more)
	}
	for query, field := range map[string]string{
		"country=Singapore": "country", "date=2026-02-30": "date", "by=domain": "by", "trend=0": "trend", "trend=169": "trend", "trend=many": "trend",
		"category=a&category=b": "category", "x=1": "x",
	} {
		if r := f.do(t, "GET", "/api/v1/seeds/status?"+query, ""); r.status != 400 || r.Error.Field != field {
			t.Errorf("%s: %d %+v", query, r.status, r.Error)
		}
	}
}

func TestDomainsAreListed(t *testing.T) {
	f := open(t)
	for query, want := range map[string]string{
		"":                           "a.sg b.sg c.sg out.sg a.sg",
		"state=failed":               "b.sg",
		"state=excluded":             "out.sg",
		"error_type=network_error":   "b.sg",
		"error_type=parse_error":     "",
		"robots=true":                "a.sg a.sg",
		"robots=false":               "",
		"sitemap=false":              "a.sg a.sg",
		"slower_than_ms=1249":        "a.sg a.sg",
		"slower_than_ms=1250":        "",
		"sort=duration&limit=1":      "a.sg",
		"date=2026-01-29":            "a.sg",
		"country=kr":                 "",
		"state=pending&category=new": "",
	} {
		page := get[contract.DomainPage](t, f, "GET", "/api/v1/seeds/domains?"+query, "")
		var names []string
		for _, d := range page.Domains {
			names = append(names, d.Domain)
		}
		if strings.Join(names, " ") != want {
			t.Errorf("%s: %v, want %s", query, names, want)
		}
	}
	for query, field := range map[string]string{
		"state=done": "state", "robots=yes": "robots", "limit=0": "limit", "limit=201": "limit", "cursor=x": "cursor", "sort=name": "sort",
		"error_type=x&state=pending": "error_type", "sort=duration&state=failed": "sort", "slower_than_ms=-1": "slower_than_ms",
	} {
		if r := f.do(t, "GET", "/api/v1/seeds/domains?"+query, ""); r.status != 400 || r.Error.Field != field {
			t.Errorf("%s: %d %+v", query, r.status, r.Error)
		}
	}
}

func TestOneDomain(t *testing.T) {
	f := open(t)
	d := get[contract.DomainDetail](t, f, "GET", "/api/v1/seeds/domains/A.sg", "")
	if d.Partition.Date != "2026-01-29" || string(d.Document) != newestDocument || d.Record == nil || d.Record.State != contract.Processed || len(d.Partitions) != 2 {
		t.Errorf("the newest: %+v", d)
	}
	const whole = "?country=sg&category=news&date=2026-01-28"
	if d := get[contract.DomainDetail](t, f, "GET", "/api/v1/seeds/domains/b.sg"+whole, ""); d.Record == nil || *d.Record.ErrorMessage != "refused" || string(d.Document) != "null" {
		t.Errorf("without a document: %+v", d)
	}
	if r := f.do(t, "GET", "/api/v1/seeds/domains/a.sg?date=2026-01-30", ""); r.status != 404 {
		t.Errorf("another date: %d", r.status)
	}
	if r := f.do(t, "GET", "/api/v1/seeds/domains/not_a_domain", ""); r.status != 400 || r.Error.Field != "domain" {
		t.Errorf("no domain: %d %+v", r.status, r.Error)
	}
	f.db.Fail = func() error { return errors.New("D1 is away") }
	if d := get[contract.DomainDetail](t, f, "GET", "/api/v1/seeds/domains/a.sg?country=sg&category=news&date=2026-01-29", ""); d.Record != nil || len(d.Document) < 10 {
		t.Errorf("without the ledger: %+v", d)
	}
	if r := f.do(t, "GET", "/api/v1/seeds/domains/b.sg"+whole, ""); r.status != 404 {
		t.Errorf("without the ledger, what has no document: %d", r.status)
	}
}

func TestADomainIsCollectedAgain(t *testing.T) {
	f := open(t)
	sent := func() (m contract.DomainMessage) {
		t.Helper()
		if len(f.domains.sent) != 1 {
			t.Fatalf("sent %v", f.domains.sent)
		}
		if err := json.Unmarshal([]byte(f.domains.sent[0]), &m); err != nil {
			t.Fatal(err)
		}
		if _, err := contract.ParseDomain([]byte(f.domains.sent[0])); err != nil {
			t.Errorf("what was sent is no message: %v", err)
		}
		f.domains.sent = nil
		return m
	}
	later := contract.Partition{Country: "sg", Category: "news", Date: "2026-01-29"}
	q := get[contract.DomainQueued](t, f, "POST", "/api/v1/seeds/domains/A.sg/collect", "")
	if q.Domain != "a.sg" || q.Partition != later || !q.RequestedAt.Equal(f.now) {
		t.Errorf("the newest: %+v", q)
	}
	m := sent()
	if m.Domain != "a.sg" || m.DomainID != "gov:sg:a.sg" || m.Authority != "gov" || m.Partition != later || len(m.URLs) != 0 || !m.Force || !m.RequestedAt.Equal(f.now) ||
		m.SourceFilePath != "raw/country=sg/category=news/date=2026-01-29/raw_0003.json" || m.DomainURL != "https://www.a.sg/2" {
		t.Errorf("sent %+v", m)
	}
	if d := get[contract.DomainDetail](t, f, "GET", "/api/v1/seeds/domains/a.sg", ""); d.Record.State != contract.Pending {
		t.Errorf("once queued it is %s", d.Record.State)
	}

	// Of a document that says more, and of the partition that was asked for.
	f.store(t, r2.DomainDir{Partition: place, Domain: "b.sg"}.Document(), strings.NewReplacer("a.sg", "b.sg", "-29", "-28",
		`"revision":7`, `"revision":7,"technical_metadata":{"server_info":{"effective_host":"m.b.sg"}}`).Replace(newestDocument))
	q = get[contract.DomainQueued](t, f, "POST", "/api/v1/seeds/domains/b.sg/collect", `{"country":"SG","category":"news","date":"2026-01-28"}`)
	if m := sent(); q.Partition != place || m.Partition != place || m.DomainURL != "https://m.b.sg/" {
		t.Errorf("of one partition: %+v, sent %+v", q, m)
	}

	f.store(t, r2.DomainDir{Partition: place, Domain: "c.sg"}.Document(), `{"domain":"c.sg"}`)
	for target, want := range map[string]string{
		"none.sg": "404 not_found", "out.sg": "409 excluded", "not_a_domain": "400 validation_error", "c.sg": "500 internal_error",
		"a.sg/collect?date=2026-01-28": "400 validation_error",
	} {
		target, query, _ := strings.Cut(target, "/collect")
		if r := f.do(t, "POST", "/api/v1/seeds/domains/"+target+"/collect"+query, ""); fmt.Sprint(r.status, " ", r.Error.Code) != want {
			t.Errorf("%s: %d %+v, want %s", target, r.status, r.Error, want)
		}
	}
	if r := f.do(t, "POST", "/api/v1/seeds/domains/a.sg/collect", `{"country":"sg","category":"news","date":"2026-01-28"}`); r.status != 404 {
		t.Errorf("where it has no document: %d", r.status)
	}
	f.domains.err = errors.New("the queue is away")
	if r := f.do(t, "POST", "/api/v1/seeds/domains/b.sg/collect", ""); r.status != 503 {
		t.Errorf("when nothing can be sent: %d", r.status)
	}
	if d := get[contract.DomainDetail](t, f, "GET", "/api/v1/seeds/domains/b.sg", ""); d.Record.State != contract.Pending { // since the first time
		t.Errorf("b.sg is %s", d.Record.State)
	}
	f.domains.err = nil
	f.db.Fail = func() error { return errors.New("D1 is away") }
	get[contract.DomainQueued](t, f, "POST", "/api/v1/seeds/domains/b.sg/collect", `{"country":"sg","category":"news","date":"2026-01-28"}`)
	sent()
}

func TestDeadLettersAreShownAndResolved(t *testing.T) {
	f := newFixture(t, func(s *settings.Settings) { s.APIToken, s.APITokenPrevious = "new", "old" })
	fill(t, f)
	call := func(method, target, body, token string) reply {
		return f.do(t, method, target, body, "Authorization", "Bearer "+token)
	}
	data := func(r reply, v any) {
		t.Helper()
		if err := json.Unmarshal(r.Data, v); err != nil {
			t.Fatalf("%d %+v", r.status, r.Error)
		}
	}
	var d contract.DeadLetterDetail
	data(call("GET", "/api/v1/dlq/m1", "", "new"), &d)
	if d.ID != "m1" || d.State != contract.Stored || d.Letter == nil || string(d.Letter.OriginalMessage) != `{"id":"m1"}` || d.Partition == nil || *d.Partition != place || d.ErrorMessage != "not JSON" || len(d.History) != 1 {
		t.Errorf("m1: %+v", d)
	}
	if err := f.bucket.Delete(t.Context(), "dlq/queue=newsfork-domain-dev/date=2026-01-28/m2.json"); err != nil {
		t.Fatal(err)
	}
	data(call("GET", "/api/v1/dlq/m2", "", "new"), &d)
	if d.Letter != nil || *d.Domain != "a.sg" {
		t.Errorf("one whose object is gone: %+v", d)
	}
	var page contract.DeadLetterPage
	data(call("GET", "/api/v1/dlq?queue=seed&state=stored&error_type=parse_error&country=sg", "", "new"), &page)
	if len(page.DeadLetters) != 1 || page.DeadLetters[0].ID != "m1" {
		t.Errorf("page: %+v", page)
	}
	var done contract.Resolved
	data(call("POST", "/api/v1/dlq/replay", `{"ids":["m1"]}`, "old"), &done)
	if done.Done != 1 || len(f.seeds.sent) != 1 || f.seeds.sent[0] != `{"id":"m1"}` {
		t.Errorf("replayed: %+v, sent %v", done, f.seeds.sent)
	}
	data(call("POST", "/api/v1/dlq/replay", `{"ids":["m1"]}`, "new"), &done)
	if done.Done != 0 || done.Skipped != 1 || len(f.seeds.sent) != 1 {
		t.Errorf("once more: %+v, sent %v", done, f.seeds.sent)
	}
	data(call("POST", "/api/v1/dlq/discard", `{"filter":{"queue":"seed"}}`, "new"), &done)
	if done.Done != 1 {
		t.Errorf("discarded: %+v", done)
	}
	data(call("GET", "/api/v1/dlq/m1", "", "new"), &d)
	if d.State != contract.Replayed || *d.ResolvedBy != "API_TOKEN_PREVIOUS" || d.ResolvedAt.Unix() != f.now.Unix() {
		t.Errorf("who replayed it: %+v", d.DeadLetterRecord)
	}
	for query, field := range map[string]string{"queue=dlq": "queue", "state=gone": "state", "limit=x": "limit", "cursor=x": "cursor", "date=x": "date"} {
		if r := call("GET", "/api/v1/dlq?"+query, "", "new"); r.status != 400 || r.Error.Field != field {
			t.Errorf("%s: %d %+v", query, r.status, r.Error)
		}
	}
}

func TestExclusions(t *testing.T) {
	f := newFixture(t, nil)
	type entry = contract.Exclusion
	if e := get[entry](t, f, "PUT", "/api/v1/exclusions/domain/OUT.sg", `{"reason":"asked for"}`); e.Value != "out.sg" || *e.Reason != "asked for" || e.CreatedBy != "development" {
		t.Errorf("excluded: %+v", e)
	}
	if r := f.do(t, "PUT", "/api/v1/exclusions/domain/out.sg", ""); r.status != 200 || !strings.Contains(string(r.Data), "asked for") {
		t.Errorf("excluded twice: %d %s", r.status, r.Data)
	}
	for _, target := range []string{"host/www.a.sg", "url/https%3A%2F%2FA.sg%2Fprivate%2F*", "domain/%ED%95%9C%EA%B5%AD.kr"} {
		if r := f.do(t, "PUT", "/api/v1/exclusions/"+target, ""); r.status != 201 {
			t.Errorf("%s: %d %+v", target, r.status, r.Error)
		}
	}
	const native, ascii = "/api/v1/exclusions/url/https%3A%2F%2F*.%ED%95%9C%EA%B5%AD.kr%2Fprivate%2F*", "/api/v1/exclusions/url/https%3A%2F%2F*.xn--3e0b707e.kr%2Fprivate%2F*"
	if e := get[entry](t, f, "PUT", native, ""); e.Value != "https://*.xn--3e0b707e.kr/private/*" {
		t.Errorf("the pattern is kept as %q, and URLs have A-labels", e.Value)
	}
	if r := f.do(t, "DELETE", ascii, ""); r.status != 200 {
		t.Errorf("the same pattern in A-labels: %d %+v", r.status, r.Error)
	}
	var listed []string
	for cursor := ""; ; {
		page := get[contract.ExclusionPage](t, f, "GET", "/api/v1/exclusions?limit=1&cursor="+cursor, "")
		for _, e := range page.Exclusions {
			listed = append(listed, e.Kind+" "+e.Value)
		}
		if page.Cursor == nil {
			break
		}
		cursor = *page.Cursor
	}
	if got := strings.Join(listed, ", "); got != "domain out.sg, domain xn--3e0b707e.kr, host www.a.sg, url https://a.sg/private/*" {
		t.Errorf("listed: %s", got)
	}
	if page := get[contract.ExclusionPage](t, f, "GET", "/api/v1/exclusions?kind=host", ""); len(page.Exclusions) != 1 {
		t.Errorf("hosts: %+v", page)
	}
	if _, x, err := f.api.Controls.Read(t.Context()); err != nil || !x.Domain("out.sg") || !x.URL("http://a.sg/private/x") {
		t.Errorf("what is listed is not in force: %v", err)
	}
	if e := get[entry](t, f, "DELETE", "/api/v1/exclusions/url/https%3A%2F%2Fa.sg%2Fprivate%2F*", ""); e.Kind != "url" {
		t.Errorf("removed: %+v", e)
	}
	if r := f.do(t, "GET", "/api/v1/exclusions/url/https%3A%2F%2Fa.sg%2Fprivate%2F*", ""); r.status != 404 {
		t.Errorf("after its removal: %d", r.status)
	}
	for target, field := range map[string]string{
		"domain/www.mom.gov.sg": "value", "domain/gov.sg": "value", "domain/a": "value", "path/x": "kind", "url/a.sg": "value", "host/a%20b": "value",
	} {
		if r := f.do(t, "PUT", "/api/v1/exclusions/"+target, ""); r.status != 400 || r.Error.Field != field {
			t.Errorf("%s: %d %+v", target, r.status, r.Error)
		}
	}
	if r := f.do(t, "PUT", "/api/v1/exclusions/host/b.sg", `{"reason":"`+strings.Repeat("x", 501)+`"}`); r.status != 400 || r.Error.Field != "reason" {
		t.Errorf("a long reason: %d %+v", r.status, r.Error)
	}
}

func TestPauseAndResume(t *testing.T) {
	f := newFixture(t, nil)
	if p := get[contract.Pipeline](t, f, "GET", "/api/v1/pipeline", ""); p != (contract.Pipeline{}) {
		t.Errorf("at first: %+v", p)
	}
	p := get[contract.Pipeline](t, f, "POST", "/api/v1/pipeline/pause", `{"reason":"maintenance"}`)
	if !p.Paused || *p.Reason != "maintenance" || *p.By != "development" || p.Since.Unix() != f.now.Unix() {
		t.Errorf("paused: %+v", p)
	}
	f.now = f.now.Add(time.Hour)
	if again := get[contract.Pipeline](t, f, "POST", "/api/v1/pipeline/pause", ""); *again.Reason != "maintenance" || again.Since.Unix() != p.Since.Unix() {
		t.Errorf("paused twice: %+v", again)
	}
	if s := get[contract.Status](t, f, "GET", "/api/v1/seeds/status", ""); !s.Paused {
		t.Error("the status does not say so")
	}
	if p := get[contract.Pipeline](t, f, "POST", "/api/v1/pipeline/resume", ""); p.Paused || p.Since.Unix() != f.now.Unix() {
		t.Errorf("resumed: %+v", p)
	}
}

func TestUploadsAreKnown(t *testing.T) {
	f := newFixture(t, nil)
	f.do(t, "PUT", "/api/v1/datasets/sg/news/2026-01-28/raw_0001", "[]")
	f.do(t, "PUT", "/api/v1/datasets/sg/news/2026-01-28/raw_0002?orchestrate=true", "[]")
	if s := get[contract.Status](t, f, "GET", "/api/v1/seeds/status", ""); s.Processing.FilesPending != 2 {
		t.Errorf("after two uploads: %+v", s.Processing)
	}
	if d := get[map[string]int](t, f, "POST", "/api/v1/seeds/orchestrate", "{}"); d["sent"] != 1 || d["skipped"] != 1 {
		t.Errorf("one of them is in flight: %v", d)
	}
	f.db.Fail = func() error { return errors.New("D1 is away") }
	if r := f.do(t, "PUT", "/api/v1/datasets/sg/news/2026-01-28/raw_0003", "[]"); r.status != 201 {
		t.Errorf("without the ledger: %d", r.status)
	}
}

func TestReconcileOverHTTP(t *testing.T) {
	f := newFixture(t, nil)
	f.store(t, r2.RawFile{Partition: place, Name: "raw_0001"}.Key(), "[]")
	body := `{"country":"SG","category":"news","date":"2026-01-28"}`
	calls := 0
	for done := false; !done; calls++ {
		r := get[contract.Reconciled](t, f, "POST", "/api/v1/seeds/reconcile", body)
		if done = r.Done; !done {
			body = fmt.Sprintf(`{"country":"sg","category":"news","date":"2026-01-28","cursor":%q}`, *r.Cursor)
		}
	}
	if s := get[contract.Status](t, f, "GET", "/api/v1/seeds/status", ""); s.Processing.FilesPending != 1 || calls != 3 {
		t.Errorf("after %d calls: %+v", calls, s.Processing)
	}
	for body, field := range map[string]string{`{}`: "country", `{"country":"sg","category":"news","date":"x"}`: "date", strings.Replace(body, `"cursor":"`, `"cursor":"!`, 1): "cursor"} {
		if r := f.do(t, "POST", "/api/v1/seeds/reconcile", body); r.status != 400 || r.Error.Field != field {
			t.Errorf("%s: %d %+v", body, r.status, r.Error)
		}
	}
}

// sampleLine is a line of Prometheus' text format.
var sampleLine = regexp.MustCompile(`^[a-z_]+(\{[a-z_]+="(\\.|[^"\\])*"(,[a-z_]+="(\\.|[^"\\])*")*\})? -?[0-9.]+$`)

func TestMetrics(t *testing.T) {
	f := open(t)
	text := func() string {
		w := f.raw(t, "GET", "/metrics", "")
		return w.Body.String()
	}
	all := text()
	families := map[string]bool{}
	for line := range strings.Lines(all) {
		line = strings.TrimSuffix(line, "\n")
		if name, ok := strings.CutPrefix(line, "# TYPE "); ok {
			families[strings.Fields(name)[0]] = true
			continue
		}
		if strings.HasPrefix(line, "# HELP ") {
			continue
		}
		name, _, _ := strings.Cut(strings.Fields(line)[0], "{")
		if !sampleLine.MatchString(line) || !families[name] {
			t.Errorf("not a sample of a family: %s", line)
		}
	}
	for _, line := range []string{
		`newsfork_seed_ledger_up 1`, `newsfork_seed_files{state="failed"} 1`, `newsfork_seed_domains{state="excluded"} 1`, `newsfork_seed_dead_letters{state="stored"} 3`,
		`newsfork_seed_domain_processing_average_seconds 1.25`, `newsfork_seed_file_processing_average_seconds 0.4`, `newsfork_seed_alarm_firing{alarm="dead_letters"} 0`,
		`newsfork_seed_queue_messages{queue="seed"} 3`, `newsfork_seed_queue_oldest_seconds{queue="domain"} 60`, `newsfork_seed_exclusions 2`, `newsfork_seed_paused 0`,
		`newsfork_seed_pool_events_total{instance="reused"} 5`, `newsfork_seed_pool_dropped_total{reason="memory"} 1`, `newsfork_seed_pool_memory_bytes 3145728`,
		`newsfork_seed_info{version="` + contract.Version + `",environment="development"} 1`,
	} {
		if !strings.Contains(all, "\n"+line+"\n") {
			t.Errorf("missing: %s", line)
		}
	}
	if strings.Contains(all, `queue="dlq"`) {
		t.Error("a queue of which the platform does not tell is there")
	}
	f.db.Fail = func() error { return errors.New("D1 is away") }
	f.api.Pool = func() (handlers.PoolStats, error) { return handlers.PoolStats{}, errors.New("no pool") }
	if all := text(); !strings.Contains(all, "newsfork_seed_ledger_up 0\n") || strings.Contains(all, "newsfork_seed_files") || strings.Contains(all, "pool") || !strings.Contains(all, "newsfork_seed_queue_messages") {
		t.Errorf("without the ledger: %s", all)
	}
}

func TestOpenAPIIsPublished(t *testing.T) {
	f := newFixture(t, func(s *settings.Settings) { s.Environment, s.APIToken = "production", "secret" })
	w := f.raw(t, "GET", "/openapi.json", "")
	if w.Code != 200 || !json.Valid(w.Body.Bytes()) || !strings.Contains(w.Body.String(), `"openapi": "3.1.0"`) {
		t.Errorf("%d", w.Code)
	}
}
