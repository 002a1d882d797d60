package handlers_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/newsfork/seed-engine/contract"
)

func TestDomains_List(t *testing.T) {
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
		"sort=duration&state=failed": "b.sg",
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
		"state=done": "state", "robots=yes": "robots", "limit=0": "limit", "limit=201": "limit", "cursor=x": "cursor",
		"sort=name":                  "sort",
		"error_type=x&state=pending": "error_type", "sort=duration&state=pending": "sort",
		"slower_than_ms=-1": "slower_than_ms",
	} {
		if r := f.do(t, "GET", "/api/v1/seeds/domains?"+query, ""); r.status != 400 || r.Error.Field != field {
			t.Errorf("%s: %d %+v", query, r.status, r.Error)
		}
	}
}

// Currently excluded domains are marked in lists, in details and among dead letters, and are neither collected nor
// replayed.
func TestDomains_Excluded(t *testing.T) {
	for name, exclusion := range map[string]string{
		"by name":            "domain/a.sg",
		"by a public suffix": "domain/sg.example",
		"by a pattern":       "url/https%3A%2F%2F*a.sg%2F*",
		"by another pattern": "url/https%3A%2F%2F*%2Fnews%2F*",
	} {
		t.Run(name, func(t *testing.T) {
			f := open(t)
			f.do(t, "PUT", "/api/v1/exclusions/"+exclusion, "{}")
			want := "a.sg out.sg a.sg"
			if strings.HasPrefix(name, "by a public") || name == "by another pattern" {
				want = "out.sg"
			}
			excluded := want != "out.sg"
			var names []string
			cursor := ""
			for {
				page := get[contract.DomainPage](t, f, "GET", "/api/v1/seeds/domains?limit=1&state=excluded"+cursor,
					"")
				for _, d := range page.Domains {
					names = append(names, d.Domain)
				}
				if page.Cursor == nil {
					break
				}
				cursor = "&cursor=" + *page.Cursor
			}
			if got := strings.Join(names, " "); got != want {
				t.Errorf("%s, want %s", got, want)
			}
			if d := get[contract.DomainDetail](t, f, "GET", "/api/v1/seeds/domains/a.sg",
				""); d.Excluded != excluded || *d.Record.Excluded != excluded || len(d.ExcludedBy) > 0 != excluded {
				t.Errorf("one domain: %v by %v, its record: %v", d.Excluded, d.ExcludedBy, *d.Record.Excluded)
			}
			if r := f.do(t, "POST", "/api/v1/seeds/domains/a.sg/collect", "{}"); (r.status == 409) != excluded {
				t.Errorf("collected: %d", r.status)
			}
		})
	}
}

func TestDomain(t *testing.T) {
	f := open(t)
	d := get[contract.DomainDetail](t, f, "GET", "/api/v1/seeds/domains/A.sg", "")
	if d.Partition.Date != "2026-01-29" || string(d.Document) != newestDocument || d.Record == nil ||
		d.Record.State != contract.Processed || len(d.Partitions) != 2 {
		t.Errorf("the newest: %+v", d)
	}
	const whole = "?country=sg&category=news&date=2026-01-28"
	if d := get[contract.DomainDetail](t, f, "GET", "/api/v1/seeds/domains/b.sg"+whole, ""); d.Record == nil ||
		*d.Record.ErrorMessage != "refused" || string(d.Document) != "null" {
		t.Errorf("without a document: %+v", d)
	}
	if r := f.do(t, "GET", "/api/v1/seeds/domains/a.sg?date=2026-01-30", ""); r.status != 404 {
		t.Errorf("another date: %d", r.status)
	}
	if r := f.do(t, "GET", "/api/v1/seeds/domains/not_a_domain", ""); r.status != 400 || r.Error.Field != "domain" {
		t.Errorf("no domain: %d %+v", r.status, r.Error)
	}
	f.db.Fail = func() error { return errors.New("D1 is away") }
	if d := get[contract.DomainDetail](t, f, "GET",
		"/api/v1/seeds/domains/a.sg?country=sg&category=news&date=2026-01-29", ""); d.Record != nil ||
		len(d.Document) < 10 {
		t.Errorf("without the ledger: %+v", d)
	}
	if r := f.do(t, "GET", "/api/v1/seeds/domains/b.sg"+whole, ""); r.status != 404 {
		t.Errorf("without the ledger, what has no document: %d", r.status)
	}
}

func TestDomain_Collect(t *testing.T) {
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
	if m.Domain != "a.sg" || m.DomainID != "gov:sg:a.sg" || m.Authority != "gov" || m.Partition != later ||
		len(m.URLs) != 0 || !m.Force || !m.RequestedAt.Equal(f.now) ||
		m.SourceFilePath != "raw/country=sg/category=news/date=2026-01-29/raw_0003.json" ||
		m.DomainURL != "https://www.a.sg/2" {
		t.Errorf("sent %+v", m)
	}
	if d := get[contract.DomainDetail](t, f, "GET", "/api/v1/seeds/domains/a.sg",
		""); d.Record.State != contract.Pending {
		t.Errorf("once queued it is %s", d.Record.State)
	}

	// A document with more fields, in the requested partition.
	f.store(t, contract.DomainDir{Partition: place, Domain: "b.sg"}.Document(),
		strings.NewReplacer("a.sg", "b.sg", "-29", "-28",
			`"revision":7`, `"revision":7,"technical_metadata":{"server_info":{"effective_host":"m.b.sg"}}`).Replace(
			newestDocument))
	q = get[contract.DomainQueued](t, f, "POST", "/api/v1/seeds/domains/b.sg/collect",
		`{"country":"SG","category":"news","date":"2026-01-28"}`)
	if m := sent(); q.Partition != place || m.Partition != place || m.DomainURL != "https://m.b.sg/" {
		t.Errorf("of one partition: %+v, sent %+v", q, m)
	}

	f.store(t, contract.DomainDir{Partition: place, Domain: "c.sg"}.Document(), `{"domain":"c.sg"}`)
	for target, want := range map[string]string{
		"none.sg": "404 not_found", "out.sg": "409 excluded", "not_a_domain": "400 validation_error",
		"c.sg":                         "500 internal_error",
		"a.sg/collect?date=2026-01-28": "400 validation_error",
	} {
		target, query, _ := strings.Cut(target, "/collect")
		if r := f.do(t, "POST", "/api/v1/seeds/domains/"+target+"/collect"+query, ""); fmt.Sprint(r.status, " ",
			r.Error.Code) != want {
			t.Errorf("%s: %d %+v, want %s", target, r.status, r.Error, want)
		}
	}
	if r := f.do(t, "POST", "/api/v1/seeds/domains/a.sg/collect",
		`{"country":"sg","category":"news","date":"2026-01-28"}`); r.status != 404 {
		t.Errorf("where it has no document: %d", r.status)
	}
	f.domains.err = errors.New("the queue is away")
	if r := f.do(t, "POST", "/api/v1/seeds/domains/b.sg/collect", ""); r.status != 503 {
		t.Errorf("when nothing can be sent: %d", r.status)
	}
	// From the first request on.
	if d := get[contract.DomainDetail](t, f, "GET", "/api/v1/seeds/domains/b.sg",
		""); d.Record.State != contract.Pending {
		t.Errorf("b.sg is %s", d.Record.State)
	}
	f.domains.err = nil
	f.db.Fail = func() error { return errors.New("D1 is away") }
	get[contract.DomainQueued](t, f, "POST", "/api/v1/seeds/domains/b.sg/collect",
		`{"country":"sg","category":"news","date":"2026-01-28"}`)
	sent()
}

// A host finds its registrable domain. An unknown error type is refused rather than matched with nothing.
func TestDomain_ByHost(t *testing.T) {
	f := open(t)
	if d := get[contract.DomainDetail](t, f, "GET", "/api/v1/seeds/domains/www.a.sg", ""); d.Domain != "a.sg" {
		t.Errorf("got %s", d.Domain)
	}
	for _, path := range []string{"/api/v1/seeds/domains", "/api/v1/dlq"} {
		if r := f.do(t, "GET", path+"?error_type=parse", ""); r.status != 400 || r.Error.Field != "error_type" ||
			!strings.Contains(r.Error.Message, "parse_error") {
			t.Errorf("%s: %d %+v", path, r.status, r.Error)
		}
	}
}
