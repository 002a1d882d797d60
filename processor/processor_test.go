package processor

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"maps"
	"math/rand/v2"
	"reflect"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/newsfork/seed-engine/contract"
	"github.com/newsfork/seed-engine/r2"
)

var partition = contract.Partition{Country: "sg", Category: "news", Date: "2026-01-28"}

const rawKey = "raw/country=sg/category=news/date=2026-01-28/raw_0001.json"

// queue is a DOMAIN_QUEUE that checks every batch against the platform's limits.
type queue struct {
	mu       sync.Mutex
	messages [][]byte
	batches  []int // messages of each
	fail     func(send int) error
	sends    int
}

func (q *queue) Send(_ context.Context, b *contract.Batch) error {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.sends++
	if q.fail != nil {
		if err := q.fail(q.sends); err != nil {
			return err
		}
	}
	size, n := 0, 0
	for m := range b.Messages() {
		if len(m)+100 > 128_000 {
			return fmt.Errorf("message of %d bytes", len(m))
		}
		size += len(m) + 100
		n++
		q.messages = append(q.messages, bytes.Clone(m))
	}
	if n != b.Len() || n > 100 || size > 256_000 {
		return fmt.Errorf("%d messages of %d, %d bytes", n, b.Len(), size)
	}
	q.batches = append(q.batches, n)
	return nil
}

// site is a bucket, a queue and a processor on both.
type site struct {
	bucket *r2.Memory
	queue  *queue
	log    bytes.Buffer
	*Processor
}

func newSite(t testing.TB, file string) *site {
	t.Helper()
	clock := time.Date(2026, 1, 28, 12, 0, 0, 0, time.UTC)
	var mu sync.Mutex
	now := func() time.Time {
		mu.Lock()
		defer mu.Unlock()
		clock = clock.Add(time.Second)
		return clock
	}
	s := &site{bucket: r2.NewMemory(), queue: &queue{}}
	s.bucket.Now = now
	s.Processor = &Processor{Store: s.bucket, Version: "1.2.3", Now: now,
		Log: slog.New(slog.NewJSONHandler(&s.log, nil))}
	s.upload(t, rawKey, file)
	return s
}

func (s *site) upload(t testing.TB, key, file string) {
	t.Helper()
	if _, err := s.bucket.Put(context.Background(), key, []byte(file), nil); err != nil {
		t.Fatal(err)
	}
}

func seed() *contract.SeedMessage {
	return &contract.SeedMessage{FilePath: rawKey, Partition: partition}
}

func (s *site) process(t testing.TB) Result {
	t.Helper()
	r, err := s.Process(context.Background(), seed(), s.queue)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

func (s *site) hasCheckpoint() bool {
	_, err := s.bucket.Head(context.Background(), rawKey+".success")
	return err == nil
}

// domains decodes the messages and fetches what their claim checks point to. The same domain in
// several messages stays several.
func (s *site) domains(t testing.TB) []*contract.DomainMessage {
	t.Helper()
	var list []*contract.DomainMessage
	for _, raw := range s.queue.messages {
		m, err := contract.ParseDomain(raw)
		if err != nil {
			t.Fatalf("%v in %.300s", err, raw)
		}
		var exact contract.DomainMessage
		d := json.NewDecoder(bytes.NewReader(raw))
		d.DisallowUnknownFields()
		if err := d.Decode(&exact); err != nil {
			t.Fatalf("%v in %.300s", err, raw)
		}
		if m.URLsPath != "" {
			if len(m.URLs) != 0 {
				t.Fatalf("%s has URLs here and there", m.Domain)
			}
			list := s.object(t, m.URLsPath)
			if err := json.Unmarshal(list, &m.URLs); err != nil {
				t.Fatal(err)
			}
			if len(m.URLs) != m.URLsCount {
				t.Fatalf("%s counts %d URLs of %d", m.Domain, m.URLsCount, len(m.URLs))
			}
		}
		list = append(list, m)
	}
	return list
}

func (s *site) object(t testing.TB, key string) []byte {
	t.Helper()
	body, err := s.bucket.Get(context.Background(), key)
	if err != nil {
		t.Fatal(err)
	}
	defer body.Close()
	b, err := io.ReadAll(body)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

// urls are all URLs of the messages, sorted.
func (s *site) urls(t testing.TB) []string {
	t.Helper()
	var list []string
	for _, m := range s.domains(t) {
		for _, u := range m.URLs {
			list = append(list, u.URL)
		}
	}
	slices.Sort(list)
	return list
}

// TestProcess_NothingIsEscapedNeedlessly: what HTML would want escaped would make messages larger for nothing.
func TestProcess_NothingIsEscapedNeedlessly(t *testing.T) {
	const link = `https://a.com/한국?a=1&b=<2>'`
	s := newSite(t, `[{"url":"`+link+`","title":"A & <B>","source_type":"R&D"}]`)
	s.process(t)
	for _, want := range []string{`"url":"` + link + `"`, `"domain_url":"` + link + `"`, `"title":"A & <B>"`,
		`"authority":"R&D"`, `"domain_id":"R&D:sg:a.com"`} {
		if !strings.Contains(string(s.queue.messages[0]), want) {
			t.Errorf("there is no %s in %s", want, s.queue.messages[0])
		}
	}
}

func TestProcess(t *testing.T) {
	s := newSite(t, `[
		{"url": "https://mom.gov.sg/employment-practices/employment-act", "title": "Employment Act - \"Ministry\"", "domain": "mom.gov.sg",
		 "registrable_domain": "mom.gov.sg", "domain_id": "gov:sg:mom.gov.sg", "source_type": "gov", "content_type": "text/html", "language": "en",
		 "country": "sg", "discovered_at": "2026-01-28T10:00:00Z", "discovery_method": "google_search", "confidence": 0.75},
		{"input_url": "HTTPS://WWW.Example.COM:443/a b?q=1#f", "authority": "org"},
		{"url": "https://www.mom.gov.sg/newsroom"}
	]`)
	r := s.process(t)
	if r.TotalRecords != 3 || r.UniqueDomains != 2 || r.DomainsSent != 2 || r.URLs != 3 || r.BadRecords != 0 ||
		r.Duration <= 0 {
		t.Errorf("result %+v", r)
	}
	text := func(s string) *string { return &s }
	confidence := 0.75
	want := []*contract.DomainMessage{{
		Domain: "mom.gov.sg", RegistrableDomain: "mom.gov.sg", DomainID: "gov:sg:mom.gov.sg", Authority: "gov",
		DomainURL: "https://mom.gov.sg/employment-practices/employment-act",
		Partition: partition, SourceFilePath: rawKey,
		URLs: []contract.URL{
			{URL: "https://mom.gov.sg/employment-practices/employment-act", Title: text(`Employment Act - "Ministry"`),
				Path:            "/employment-practices/employment-act",
				DiscoveryMethod: text("google_search"), Language: text("en"),
				DiscoveredAt: text("2026-01-28T10:00:00Z"), Confidence: &confidence},
			{URL: "https://www.mom.gov.sg/newsroom", Path: "/newsroom"},
		},
	}, {
		Domain: "example.com", RegistrableDomain: "example.com", DomainID: "org:sg:example.com", Authority: "org",
		DomainURL: "HTTPS://WWW.Example.COM:443/a b?q=1#f", Partition: partition, SourceFilePath: rawKey,
		URLs: []contract.URL{{URL: "HTTPS://WWW.Example.COM:443/a b?q=1#f", Path: "/a%20b"}},
	}}
	have := s.domains(t)
	if h, w := asJSON(have), asJSON(want); h != w {
		t.Errorf("sent\n%s, want\n%s", h, w)
	}
	o, err := s.bucket.Head(context.Background(), rawKey+".success")
	if err != nil || o.Size != 32 || o.Metadata["processor"] != "seed-engine" || o.Metadata["version"] != "1.2.3" ||
		o.Metadata["processed_at"] == "" {
		t.Errorf("checkpoint %+v, %v", o, err)
	}
	if again := s.process(t); !again.Skipped || len(s.queue.messages) != 2 {
		t.Errorf("a second time: %+v, %d messages", again, len(s.queue.messages))
	}
	m := seed()
	m.Force, m.RequestedAt = true, time.Date(2026, 1, 29, 0, 0, 0, 0, time.UTC)
	if _, err := s.Process(context.Background(), m, s.queue); err != nil {
		t.Fatal(err)
	}
	forced := s.domains(t)[2:]
	if len(forced) != 2 || !forced[0].Force || !forced[1].RequestedAt.Equal(m.RequestedAt) {
		t.Errorf("force gave %s", asJSON(forced))
	}
}

func asJSON(v any) string {
	b, err := json.MarshalIndent(v, "", " ")
	if err != nil {
		panic(err)
	}
	return string(b)
}

func TestProcess_BadFiles(t *testing.T) {
	record := `{"url":"https://mom.gov.sg/a"}`
	for name, c := range map[string]struct {
		file    string
		kind    contract.Kind
		message string
	}{
		"empty":      {"", contract.Parse, "byte 0: the file is empty"},
		"only a BOM": {"\xef\xbb\xbf", contract.Parse, "byte 3: the file is empty"},
		"truncated": {`[` + record + `,{"url":"https://mom.g`, contract.Parse,
			"byte 53: the JSON ends unfinished"},
		"no closing":     {`[` + record, contract.Parse, "byte 31: the JSON ends unfinished"},
		"not JSON":       {"<html>", contract.Parse, "byte 0: expected a value, found '<'"},
		"CSV":            {"url,title\n", contract.Parse, "byte 0: expected a value, found 'u'"},
		"lines of JSON":  {record + "\n" + record, contract.Parse, `byte 30: the object has no "records"`},
		"UTF-16":         {"\xff\xfe[\x00]\x00", contract.Parse, "byte 0: the file is UTF-16"},
		"a string":       {`"records"`, contract.Parse, "byte 9: the file is a string; upload a JSON array"},
		"null":           {`null`, contract.Parse, "byte 4: the file is null"},
		"no records":     {`{"meta":{},"data":[]}`, contract.Parse, `byte 21: the object has no "records"`},
		"records object": {`{"records":{}}`, contract.Parse, `byte 13: "records" is an object; upload an array`},
		"records twice":  {`{"records":[],"records":[]}`, contract.Parse, `byte 23: the object has "records" twice`},
		"trailing garbage": {`[` + record + `] x`, contract.Parse,
			"byte 33: the file goes on after its JSON, found 'x'"},
		"trailing comma": {`[` + record + `,]`, contract.Parse, "byte 32: expected a value, found ']'"},
		"single quotes":  {`[{'url':1}]`, contract.Parse, "byte 2: expected a key, found '\\''"},
		"control": {"[{\"url\":\"https://a.com/\n\"}]", contract.Parse,
			"byte 23: a string holds a control character, found '\\n'"},
		"too deep": {strings.Repeat("[", 10002), contract.Parse,
			"byte 10001: more than 10,000 levels of nesting"},
	} {
		s := newSite(t, c.file)
		_, err := s.Process(context.Background(), seed(), s.queue)
		if contract.KindOf(err) != c.kind || !strings.Contains(fmt.Sprint(err), ", "+c.message) {
			t.Errorf("%s: %v, want %q", name, err, c.message)
		}
		if s.hasCheckpoint() || len(s.queue.messages) > 0 {
			t.Errorf("%s: %d messages, checkpoint %v", name, len(s.queue.messages), s.hasCheckpoint())
		}
	}
}

// Editors count lines and characters, not bytes.
func TestBroken_Location(t *testing.T) {
	many := strings.Repeat(`{"url":"https://mom.gov.sg/뉴스"},`+"\n", 5000)
	for file, want := range map[string]string{
		``: "line 1, column 1, byte 0: the file is empty; upload a JSON array of " +
			"records or an object with \"records\"",
		"[\n {\"url\": 1},\n {\"url\" 2}]": "line 3, column 9, byte 23: expected ':' after a key, found '2'",
		"[\r\n{\"title\":\"한국뉴스\"} 5]": "line 2, column 18, byte 28: expected ',' or ']' after a record, " +
			"found '5'",
		"[" + many + "]": "line 5001, column 1, byte 185001: expected a value, found ']'",
		"[" + many +
			"{\"url\":\"https://mom.g": "line 5001, column 22, byte 185022: the JSON ends unfinished; upload " +
			"the whole file",
		"[" + strings.Repeat("{},", 50_000) + "x]": "line 1, column 150002, byte 150001: expected a value, found 'x'",
	} {
		s := newSite(t, file)
		_, err := s.Process(context.Background(), seed(), s.queue)
		if contract.KindOf(err) != contract.Parse || contract.Reason(err) != want {
			t.Errorf("%.60q: %v, want %q", file, err, want)
		}
	}
}

func TestProcess_MissingFile(t *testing.T) {
	s := newSite(t, "[]")
	m := seed()
	m.FilePath = strings.Replace(rawKey, "0001", "0002", 1)
	_, err := s.Process(context.Background(), m, s.queue)
	var e *contract.Error
	if !errors.As(err, &e) || e.Kind != contract.Validation || e.Field != "file_path" ||
		!strings.Contains(e.Message, m.FilePath) {
		t.Errorf("missing: %v", err)
	}
	m.FilePath = "raw/elsewhere/raw_0001.json"
	if _, err := s.Process(context.Background(), m, s.queue); contract.KindOf(err) != contract.Validation {
		t.Errorf("no raw file: %v", err)
	}
	if len(s.queue.messages) > 0 {
		t.Error("something was sent")
	}
}

func TestProcess_EmptyFiles(t *testing.T) {
	for _, file := range []string{"[]", " [\r\n] ", `{"records":[]}`, `{"meta":{"count":0},"records":[ ],"x":1}`,
		"\xef\xbb\xbf[]", `[{"title":"no URL"}]`} {
		s := newSite(t, file)
		if r := s.process(t); r.UniqueDomains+r.DomainsSent+r.URLs != 0 || !s.hasCheckpoint() || s.queue.sends > 0 {
			t.Errorf("%q: %+v, checkpoint %v", file, r, s.hasCheckpoint())
		}
	}
}

func TestProcess_BadRecords(t *testing.T) {
	bad := []struct{ record, reason string }{
		{`{"title":"x"}`, "has no url"},
		{`{"url":null}`, "has no url"},
		{`{"url":""}`, "has no url"},
		{`{"url":"  "}`, "has no url"},
		{`{"url":5}`, "has no url"},
		{`{"url":{"href":"https://a.com"}}`, "has no url"},
		{`{}`, "has no url"},
		{`"https://a.com/"`, "is a string, not an object"},
		{`7`, "is a number, not an object"},
		{`null`, "is null, not an object"},
		{`true`, "is true or false, not an object"},
		{`["https://a.com/"]`, "is an array, not an object"},
		{`{"url":"javascript:alert(1)"}`, string(badScheme)},
		{`{"url":"/newsroom"}`, string(badScheme)},
		{`{"url":"https://192.0.2.1/"}`, string(ipAddress)},
		{`{"url":"https://localhost/"}`, string(noDomain)},
		{`{"url":"https://gov.sg/"}`, string(noDomain)},
		{`{"url":"https://user:secret@a.com/"}`, string(credentials)},
		{`{"url":"https://a.com/","content":"` + strings.Repeat("x", 1<<20) + `"}`, "is larger than 1 MiB"},
	}
	var file strings.Builder
	for _, b := range bad {
		fmt.Fprintf(&file, `%s,{"url":"https://a.com/%d"},`, b.record, file.Len())
	}
	for i, b := range bad { // each alone, between good ones
		s := newSite(t, `[{"url":"https://a.com/1"},`+b.record+`,{"url":"https://www.münchen.de/"}]`)
		r := s.process(t)
		if r.TotalRecords != 3 || r.BadRecords != 1 || r.URLs != 2 || r.UniqueDomains != 2 {
			t.Errorf("%d, %.100s: %+v", i, b.record, r)
		}
		if events := s.events(t, "record_rejected"); len(events) != 1 || events[0]["reason"] != b.reason ||
			events[0]["record"] != 2.0 || events[0]["offset"] != 27.0 || events[0]["file_path"] != rawKey {
			t.Errorf("%.100s: logged %v, want %q", b.record, events, b.reason)
		}
		if strings.Contains(s.log.String(), "secret") {
			t.Error("a password is in the log")
		}
	}
	s := newSite(t, `[`+file.String()+`{"url":"https://a.com/"}]`)
	if r := s.process(t); r.BadRecords != len(bad) || r.URLs != len(bad)+1 {
		t.Errorf("together: %+v", r)
	}
	if n := len(s.events(t, "record_rejected")); n != 10 {
		t.Errorf("%d bad records logged, want the first ten", n)
	}
}

func TestProcess_BadFields(t *testing.T) {
	s := newSite(t,
		`[{"url":"https://a.com/1","title":5,"language":["en"],"confidence":"0.9","domain_id":null,`+
			`"source_type":false,"authority":"gov","discovered_at":""}]`)
	r := s.process(t)
	if r.BadFields != 4 || r.BadRecords != 0 || r.URLs != 1 {
		t.Errorf("%+v", r)
	}
	m := s.domains(t)[0]
	u := m.URLs[0]
	if m.Authority != "gov" || m.DomainID != "gov:sg:a.com" || u.Title != nil || u.Language != nil ||
		u.Confidence != nil || u.DiscoveredAt != nil {
		t.Errorf("%s", asJSON(m))
	}
	if e := s.events(t, "record_fields_ignored"); len(e) != 1 ||
		fmt.Sprint(e[0]["fields"]) != "[source_type title language confidence]" {
		t.Errorf("logged %v", e)
	}
}

// events are the log lines of one event.
func (s *site) events(t *testing.T, name string) (list []map[string]any) {
	t.Helper()
	for line := range bytes.Lines(s.log.Bytes()) {
		var e map[string]any
		if err := json.Unmarshal(line, &e); err != nil {
			t.Fatal(err)
		}
		if e["msg"] == name {
			list = append(list, e)
		}
	}
	return list
}

func TestProcess_Log(t *testing.T) {
	s := newSite(t, `[{"url":"https://a.com/"},{"url":"https://a.com/"},{"url":"https://b.com/","domain":"c.com"},{}]`)
	s.process(t)
	var order []string
	for line := range bytes.Lines(s.log.Bytes()) {
		var e map[string]any
		if err := json.Unmarshal(line, &e); err != nil {
			t.Fatal(err)
		}
		order = append(order, e["msg"].(string))
	}
	if want := []string{"file_processor_start", "record_rejected", "domains_extracted",
		"file_processing_complete"}; !slices.Equal(order, want) {
		t.Errorf("events %v, want %v", order, want)
	}
	for event, fields := range map[string]map[string]any{
		"file_processor_start": {"file_path": rawKey},
		"domains_extracted": {"file_path": rawKey, "total_records": 4.0, "unique_domains": 2.0,
			"bad_records": 1.0, "duplicates": 1.0, "disagreements": 1.0},
		"file_processing_complete": {"file_path": rawKey, "domains_sent": 2.0, "urls": 2.0},
	} {
		e := s.events(t, event)[0]
		for name, want := range fields {
			if e[name] != want {
				t.Errorf("%s: %s is %v, want %v", event, name, e[name], want)
			}
		}
	}
}

func TestProcess_DomainIDs(t *testing.T) {
	for _, c := range []struct {
		name, records, domain, id, authority string
		disagreements                        int
	}{
		{"given", `{"url":"https://www.a.com/","registrable_domain":"a.com","domain_id":"gov:sg:a.com",` +
			`"source_type":"gov"}`,
			"a.com", "gov:sg:a.com", "gov", 0},
		{"built", `{"url":"https://www.a.com/","source_type":"gov"}`, "a.com", "gov:sg:a.com", "gov", 0},
		{"nothing known", `{"url":"https://www.a.com/"}`, "a.com", "unknown:sg:a.com", "", 0},
		{"from a later record", `{"url":"https://a.com/1"},{"url":"https://a.com/2","domain_id":"x","authority":"org"}`,
			"a.com", "x", "org", 0},
		{"first wins",
			`{"url":"https://a.com/1","domain_id":"x","authority":"gov"},{"url":"https://a.com/2","domain_id":"y",` +
				`"authority":"org"}`, "a.com", "x", "gov", 0},
		{"from a duplicate", `{"url":"https://a.com/1"},{"url":"https://a.com/1","domain_id":"x","authority":"gov"}`,
			"a.com", "x", "gov", 0},
		{"other domain claimed",
			`{"url":"https://www.a.com/","registrable_domain":"b.com","domain_id":"gov:sg:b.com","source_type":"gov"}`,
			"a.com",
			"gov:sg:a.com", "gov", 1},
		{"host claimed as domain",
			`{"url":"https://www.a.com/","registrable_domain":"www.a.com","domain_id":"gov:sg:www.a.com"}`, "a.com",
			"unknown:sg:a.com", "", 1},
		{"suffix claimed as domain",
			`{"url":"https://www.mom.gov.sg/","registrable_domain":"gov.sg","domain_id":"gov:sg:gov.sg",` +
				`"source_type":"gov"}`,
			"mom.gov.sg", "gov:sg:mom.gov.sg", "gov", 1},
		{"case and root dot", `{"url":"https://www.a.com/","registrable_domain":"A.COM.","domain_id":"x"}`, "a.com",
			"x", "", 0},
		{"IDN claim", `{"url":"https://www.xn--mnchen-3ya.de/","registrable_domain":"München.de","domain_id":"x"}`,
			"xn--mnchen-3ya.de", "x", "", 0},
		{"host agrees", `{"url":"https://www.a.com/","domain":"www.a.com","domain_id":"x"}`, "a.com", "x", "", 0},
		{"domain agrees", `{"url":"https://www.a.com/","domain":"a.com","domain_id":"x"}`, "a.com", "x", "", 0},
		{"other host", `{"url":"https://www.a.com/","normalized_domain":"nota.com","domain_id":"x"}`, "a.com",
			"unknown:sg:a.com", "", 1},
		{"disagrees, then agrees",
			`{"url":"https://a.com/1","registrable_domain":"b.com","domain_id":"x"},{"url":"https://a.com/2",` +
				`"registrable_domain":"a.com","domain_id":"y"}`, "a.com", "y", "", 1},
	} {
		s := newSite(t, "["+c.records+"]")
		r := s.process(t)
		m := s.domains(t)
		if len(m) != 1 || m[0].Domain != c.domain || m[0].RegistrableDomain != c.domain || m[0].DomainID != c.id ||
			m[0].Authority != c.authority || r.Disagreements != c.disagreements {
			t.Errorf("%s: %d disagreements, %s", c.name, r.Disagreements, asJSON(m))
		}
	}
}

func TestProcess_Duplicates(t *testing.T) {
	s := newSite(t,
		`[{"url":"https://a.com/b","title":"first"},{"url":"https:\/\/a.com\/\u0062","title":"escaped"},{"raw_url":" https://a.com/b\n"},
		{"url":"https://a.com/b/"},{"url":"https://a.com/B"},{"url":"http://a.com/b"},{"url":"https://a.com/b?"},{"url":"https://a.com/b#x"},{"url":"https://www.a.com/b"},
		{"url":"https://a.com/\"한\ud83d\ude00&<"},{"url":"https://a.com/\u0022\ud55c😀\u0026\u003c"}]`)
	if r := s.process(t); r.Duplicates != 3 || r.URLs != 8 {
		t.Errorf("%+v", r)
	}
	want := []string{"http://a.com/b", `https://a.com/"한😀&<`, "https://a.com/B", "https://a.com/b",
		"https://a.com/b#x", "https://a.com/b/", "https://a.com/b?", "https://www.a.com/b"}
	if have := s.urls(t); !slices.Equal(have, want) {
		t.Errorf("sent %q, want %q", have, want)
	}
	if first := s.domains(t)[0].URLs[0]; *first.Title != "first" {
		t.Errorf("title %q", *first.Title)
	}
}

// many makes a file of the URLs that name gives for 0 to n-1.
func many(n int, url func(i int) string) string {
	var b strings.Builder
	for i := range n {
		fmt.Fprintf(&b, `,{"url":%q,"title":"Title of %[2]d","source_type":"gov"}`, url(i), i)
	}
	return "[" + b.String()[1:] + "]"
}

func TestProcess_ManyURLs(t *testing.T) {
	if testing.Short() {
		t.Skip("processes 115,000 records")
	}
	for name, c := range map[string]struct {
		n, domains int
		lists      bool
	}{
		"one domain with 50,000 URLs": {50_000, 1, true},
		"20 domains with 2,000 URLs":  {40_000, 20, true},
		"2,000 domains with 10 URLs":  {20_000, 2000, false},
		"as many domains as URLs":     {5_000, 5_000, false},
	} {
		url := func(i int) string {
			return fmt.Sprintf("https://www.domain-%d.gov.sg/newsroom/item-%d", i%c.domains, i)
		}
		s := newSite(t, many(c.n, url))
		r := s.process(t)
		if r.TotalRecords != c.n || r.URLs != c.n || r.UniqueDomains != c.domains || r.DomainsSent != c.domains {
			t.Errorf("%s: %+v", name, r)
		}
		for _, m := range s.domains(t) {
			if m.Part != 0 || m.DomainURL != m.URLs[0].URL {
				t.Errorf("%s: part %d, domain_url %s", name, m.Part, m.DomainURL)
			}
			list := ""
			if c.lists {
				list = "prod/country=sg/category=news/date=2026-01-28/" + m.Domain + "/urls/raw_0001-1.json"
			}
			if m.URLsPath != list {
				t.Errorf("%s: urls_path %q, want %q", name, m.URLsPath, list)
			}
		}
		var want []string
		for i := range c.n {
			want = append(want, url(i))
		}
		slices.Sort(want)
		if !slices.Equal(s.urls(t), want) {
			t.Errorf("%s: URLs differ", name)
		}
		for _, n := range s.queue.batches[:len(s.queue.batches)-1] {
			if n < 100 && c.domains == 5000 {
				t.Errorf("%s: a batch of %d small messages is not full", name, n)
			}
		}
	}
}

// TestProcess_InlineLimit fills the URL list of a message, and the message, to the byte.
func TestProcess_InlineLimit(t *testing.T) {
	s := newSite(t, `[{"url":"https://a.com/"}]`)
	s.process(t)
	overhead := len(`[{"url":"https://a.com/","title":null,"path":"/"}]`)
	for _, c := range []struct {
		title  int
		inline bool
	}{{maxInline - overhead + len("null") - len(`""`), true}, {maxInline - overhead + len("null") - len(`""`) + 1,
		false}} {
		s := newSite(t, `[{"url":"https://a.com/","title":"`+strings.Repeat("x", c.title)+`"}]`)
		s.process(t)
		m := s.domains(t)[0]
		if inline := m.URLsPath == ""; inline != c.inline || len(*m.URLs[0].Title) != c.title {
			t.Errorf("title of %d bytes: urls_path %q, %d bytes", c.title, m.URLsPath, len(s.queue.messages[0]))
		}
	}

	// A first URL that is all escapes stands in the message twice: message and list reach their limits together.
	send := func(quotes, title int) (size int, inline bool) {
		s := newSite(t, `[{"url":"https://a.com/?`+strings.Repeat(`\"`, quotes)+`","title":"`+strings.Repeat("x",
			title)+`"}]`)
		s.process(t)
		if m := s.domains(t)[0]; len(*m.URLs[0].Title) != title {
			t.Error("the title is cut")
		}
		return len(s.queue.messages[0]), s.domains(t)[0].URLsPath == ""
	}
	size, inline := send(15_000, 1)
	if !inline {
		t.Fatal("too large to begin with")
	}
	room := contract.MaxMessageBytes - contract.MessageOverhead - size
	if size, inline := send(15_000, 1+room); !inline || size != contract.MaxMessageBytes-contract.MessageOverhead {
		t.Errorf("a message of exactly the limit: %d bytes, inline %v", size, inline)
	}
	if size, inline := send(15_000, 1+room+1); inline {
		t.Errorf("a message over the limit: %d bytes, inline %v", size, inline)
	}
	if _, inline := send(MaxURLBytes-100, maxInline); inline { // the longest message that a claim check can be
		t.Error("the longest list is inline")
	}
}

// newParted is a site where a part of a file is 384 KiB.
func newParted(t testing.TB, file string) *site {
	s := newSite(t, file)
	s.groups.start("")
	s.groups.limit = 384 << 10
	return s
}

const partedURLs = 9_000

// parted is a file of several parts.
func parted(domains int) string {
	return many(partedURLs, func(i int) string {
		return fmt.Sprintf("https://www.domain-%d.gov.sg/item-%d-%s", i%domains, i, noise(i, 160))
	})
}

// noise is a text of n letters in which none repeats another.
func noise(seed, n int) string {
	rnd := rand.New(rand.NewPCG(5, uint64(seed)))
	b := make([]byte, n)
	for i := range b {
		b[i] = 'a' + byte(rnd.IntN(26))
	}
	return string(b)
}

func TestProcess_Parts(t *testing.T) {
	for _, domains := range []int{1, 2, 400, partedURLs} {
		s := newParted(t, parted(domains))
		r := s.process(t)
		list := s.domains(t)
		parts := map[int]int{}
		ids := map[string]string{}
		for _, m := range list {
			parts[m.Part]++
			if id, ok := ids[m.Domain]; ok && id != m.DomainID {
				t.Errorf("%s has ids %s and %s", m.Domain, id, m.DomainID)
			}
			ids[m.Domain] = m.DomainID
			if m.URLsPath != "" && !strings.HasSuffix(m.URLsPath, fmt.Sprintf("/urls/raw_0001-%d.json", m.Part)) {
				t.Errorf("part %d has urls_path %s", m.Part, m.URLsPath)
			}
		}
		if len(parts) < 3 || parts[0] > 0 || parts[1] == 0 || parts[2] == 0 {
			t.Errorf("%d domains: parts %v", domains, parts)
		}
		if r.URLs != partedURLs || r.UniqueDomains != domains || r.DomainsSent != len(list) || len(ids) != domains {
			t.Errorf("%d domains: %+v", domains, r)
		}
		if urls := s.urls(t); len(slices.Compact(urls)) != partedURLs {
			t.Errorf("%d domains: %d URLs", domains, len(urls))
		}
	}
}

// slowly takes a second for every call, and counts those under way.
type slowly struct {
	Sender
	mu        sync.Mutex
	now, most int
}

func (s *slowly) call() {
	s.mu.Lock()
	s.now++
	s.most = max(s.most, s.now)
	s.mu.Unlock()
	time.Sleep(time.Second)
	s.mu.Lock()
	s.now--
	s.mu.Unlock()
}

func (s *slowly) Send(ctx context.Context, b *contract.Batch) error {
	s.call()
	return s.Sender.Send(ctx, b)
}

// The checkpoint is read while the file is opened, and at most six calls, sends or stored lists, are under way at
// once.
func TestProcess_SlowStores(t *testing.T) {
	for name, c := range map[string]struct {
		n, domains int
		took       time.Duration
	}{
		"messages": {4_000, 4_000, 9 * time.Second}, // opening, forty sends by six, the checkpoint
		// opening, 25 lists by two, the last send, the checkpoint
		"lists and messages": {50_000, 25, 16 * time.Second},
		"one message":        {1, 1, 3 * time.Second},
	} {
		synctest.Test(t, func(t *testing.T) {
			s := newSite(t, many(c.n, func(i int) string {
				return fmt.Sprintf("https://www.domain-%d.gov.sg/%d",
					i%c.domains, i)
			}))
			slow := &slowly{Sender: s.queue}
			s.bucket.Fail = func(op, _ string) error {
				if op != "read" && op != "create" && op != "write" {
					slow.call()
				}
				return nil
			}
			start := time.Now()
			r, err := s.Process(t.Context(), seed(), slow)
			if took := time.Since(start); err != nil || r.DomainsSent != c.domains || took > c.took {
				t.Errorf("%s: %+v in %s, want %s, %v", name, r, took, c.took, err)
			}
			if slow.most > callsAtOnce || c.domains > 1000 && slow.most < callsAtOnce {
				t.Errorf("%s: %d calls at once", name, slow.most)
			}
		})
	}
}

// TestProcess_LargeFile: URLs wait while they have memory, then an eighth of them is sent. In the end all is freed.
func TestProcess_LargeFile(t *testing.T) {
	const n, domains = 16_000, 1_000
	s := newSite(t, many(n, func(i int) string {
		return fmt.Sprintf("https://domain-%d.com/%d?%s", i%domains, i, noise(i, 1500))
	}))
	r := s.process(t)
	bytesOf := map[int]int{} // by part
	for _, m := range s.domains(t) {
		for _, u := range m.URLs {
			bytesOf[m.Part] += len(u.URL)
		}
	}
	parts := len(bytesOf)
	if r.URLs != n || parts < 5 || bytesOf[parts] < maxBuffered*80/100 || bytesOf[parts] > maxBuffered {
		t.Errorf("%+v, bytes by part %v", r, bytesOf)
	}
	for part := 1; part < parts; part++ {
		if n := bytesOf[part]; n < maxBuffered/8*9/10 || n > maxBuffered/8*12/10 {
			t.Errorf("part %d has %d bytes", part, n)
		}
	}
	if s.groups.blocks.slabs != nil || len(s.groups.seen.slots) == maxSeen {
		t.Errorf("%d slabs are kept", len(s.groups.blocks.slabs))
	}
}

// TestProcess_LongLists: a list of URLs that are much alike ends at maxWaiting, however little memory they take.
func TestProcess_LongLists(t *testing.T) {
	const n = 6_000
	alike := strings.Repeat("x", 5_000)
	s := newSite(t, many(n, func(i int) string { return fmt.Sprintf("https://a.com/?%s&page=%d", alike, i) }))
	r := s.process(t)
	lists := 0
	for _, m := range s.domains(t) {
		if m.URLsPath == "" {
			continue
		}
		lists++
		if size := len(s.object(t, m.URLsPath)); size > maxWaiting+2*len(alike) {
			t.Errorf("part %d has %d bytes", m.Part, size)
		}
	}
	if r.URLs != n || lists < 3 {
		t.Errorf("%d lists, %+v", lists, r)
	}
}

// TestProcess_FullMessages: a large file's domain is sent whenever its URLs fill a message; the one that has most of
// them is sent in lists in the end.
func TestProcess_FullMessages(t *testing.T) {
	const n, domains = 60_000, 40
	s := newSite(t, many(n, func(i int) string {
		d := 0
		if i%2 == 0 {
			d = i / 2 % domains
		}
		return fmt.Sprintf("https://domain-%d.com/%d?%s", d, i, noise(i, 300))
	}))
	r := s.process(t)
	full, lists, most := 0, 0, map[string]int{}
	for _, m := range s.domains(t) {
		size := len(contract.Encode(m.URLs))
		switch {
		case m.URLsPath != "":
			lists++
		case size > maxInline:
			t.Errorf("%d bytes in part %d of %s", size, m.Part, m.Domain)
		case size >= ripeSize:
			full++
			most[m.Domain]++
		}
	}
	if r.URLs != n || r.UniqueDomains != domains || full < 2*domains || lists == 0 || lists > domains ||
		slices.Max(slices.Collect(maps.Values(most))) > inlineParts {
		t.Errorf("%d full messages, %d lists, %v, %+v", full, lists, most, r)
	}
	if urls := s.urls(t); len(slices.Compact(urls)) != n {
		t.Errorf("%d URLs", len(urls))
	}
}

// TestProcess_Common: what the URLs of a message have in common stands there once, unless one of them lacks it.
func TestProcess_Common(t *testing.T) {
	record := func(domain string, i int, more string) string {
		return fmt.Sprintf(`{"url":"https://%s/%d","discovery_method":"google_search",`+
			`"discovered_at":"2026-01-28T10:%02d:00Z"%s}`, domain, i, i%2, more)
	}
	var records []string
	for i := range 20 {
		records = append(records, record("a.com", i, `,"language":"en"`), record("b.com", i, `,"language":"en"`))
	}
	records = append(records, record("b.com", 20, ""), record("c.com", 0, `,"language":"en"`))
	s := newSite(t, "["+strings.Join(records, ",")+"]")
	s.process(t)
	sent := s.domains(t)
	for i, common := range []bool{true, false, false} { // b.com: one has no language; c.com: nothing is repeated
		const once = `"urls_common":{"discovery_method":"google_search","language":"en",` +
			`"discovered_at":"2026-01-28T10:00:00Z"}`
		raw := string(s.queue.messages[i])
		if have := strings.Contains(raw, once); have != common ||
			common && strings.Count(raw, "google_search") != 1 {
			t.Errorf("%s", raw)
		}
		for n, u := range sent[i].URLs {
			language := "en"
			if n == 20 {
				language = ""
			}
			at := fmt.Sprintf("2026-01-28T10:%02d:00Z", n%2)
			if *u.DiscoveryMethod != "google_search" || *cmp.Or(u.Language, new(string)) != language ||
				*u.DiscoveredAt != at {
				t.Errorf("%s: %+v", sent[i].Domain, u)
			}
		}
	}
}

// contents is everything that the messages and their claim checks say, in a fixed order.
func (s *site) contents(t *testing.T) []string {
	var list []string
	for _, m := range s.domains(t) {
		b, err := json.Marshal(m)
		if err != nil {
			t.Fatal(err)
		}
		list = append(list, string(b))
	}
	slices.Sort(list)
	return slices.Compact(list)
}

// calls counts the calls to the store and the queue, and fails one of them.
type calls struct {
	mu     sync.Mutex
	failAt int
	ops    []string
	failed string
}

var errInjected = errors.New("injected")

func (c *calls) count(op string) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.ops = append(c.ops, op)
	if len(c.ops) == c.failAt {
		c.failed = op
		return errInjected
	}
	return nil
}

func (c *calls) watch(s *site) {
	s.bucket.Fail = func(op, key string) error { return c.count(op) }
	s.queue.fail = func(int) error { return c.count("send") }
}

// TestProcess_Faults fails the calls to the store and the queue in turn: every one for a small file, the
// first, the middle and the last of each kind for larger ones. There is no checkpoint then, and
// processing the file again gives the same messages as if nothing had happened.
func TestProcess_Faults(t *testing.T) {
	for name, file := range map[string]string{
		"small": many(2000, func(i int) string { return fmt.Sprintf("https://domain-%d.com/item-%d", i%300, i) }),
		"lists": many(8_000, func(i int) string { return fmt.Sprintf("https://domain-%d.com/item-%d", i%4, i) }),
		"parts": parted(2),
	} {
		open := newSite
		if name == "parts" {
			open = newParted
		}
		whole, all := open(t, file), &calls{}
		all.watch(whole)
		whole.process(t)
		whole.bucket.Fail = nil
		want := whole.contents(t)
		if name == "parts" && (len(whole.queue.messages) < 6 || !slices.Contains(all.ops, "write")) {
			t.Fatalf("parts: %d messages after %v", len(whole.queue.messages), all.ops)
		}

		at := map[string][]int{}
		for i, op := range all.ops {
			at[op] = append(at[op], i+1)
		}
		for op, list := range at {
			if name != "small" {
				list = slices.Compact([]int{list[0], list[len(list)/2], list[len(list)-1]})
			}
			for _, failAt := range list {
				s, c := open(t, file), &calls{failAt: failAt}
				c.watch(s)
				_, err := s.Process(context.Background(), seed(), s.queue)
				s.bucket.Fail, s.queue.fail = nil, nil
				if !errors.Is(err, errInjected) || contract.KindOf(err) != contract.Storage {
					t.Fatalf("%s: %s %d failed, and Process returns %v (%s)", name, c.failed, failAt, err,
						contract.KindOf(err))
				}
				if s.hasCheckpoint() {
					t.Fatalf("%s: a checkpoint though %s %d failed", name, c.failed, failAt)
				}
				if n := s.bucket.OpenUploads(); n > 0 {
					t.Fatalf("%s: %d uploads left open when %s failed", name, n, c.failed)
				}
				s.process(t)
				if !slices.Equal(s.contents(t), want) {
					t.Fatalf("%s: after a fault at %s %d the messages differ", name, c.failed, failAt)
				}
			}
			t.Logf("%s: %s failed at %v", name, op, list)
		}
	}
}

// TestProcess_CutShort: a transfer that ended early is worth a retry, a file that is cut short is not.
func TestProcess_CutShort(t *testing.T) {
	s := newSite(t, `[{"url":"https://a.com/"}]`)
	s.Store = cutShort{s.bucket}
	if _, err := s.Process(context.Background(), seed(), s.queue); contract.KindOf(err) != contract.Storage ||
		s.hasCheckpoint() {
		t.Errorf("%v, checkpoint %v", err, s.hasCheckpoint())
	}
}

type cutShort struct{ *r2.Memory }

func (c cutShort) Get(ctx context.Context, key string) (*r2.Body, error) {
	b, err := c.Memory.Get(ctx, key)
	if err != nil {
		return nil, err
	}
	return &r2.Body{Object: b.Object, ReadCloser: io.NopCloser(io.LimitReader(b, 10))}, nil
}

// A checkpoint counts for the content that was processed, not for what has replaced it.
func TestProcess_ReplacedFile(t *testing.T) {
	const first, second = `[{"url":"https://first.example.com/"}]`, `[{"url":"https://second.example.org/"}]`
	domains := func(s *site) (list []string) {
		for _, d := range s.domains(t) {
			list = append(list, d.Domain)
		}
		return list
	}
	t.Run("after it was processed", func(t *testing.T) {
		s := newSite(t, first)
		s.process(t)
		if r := s.process(t); !r.Skipped {
			t.Error("the same content is processed again")
		}
		s.upload(t, rawKey, second)
		if r := s.process(t); r.Skipped || !slices.Contains(domains(s), "example.org") {
			t.Errorf("%+v, %v", r, domains(s))
		}
	})
	t.Run("while it is processed", func(t *testing.T) {
		s := newSite(t, first)
		s.queue.fail = func(int) error {
			s.queue.fail = nil
			s.upload(t, rawKey, second)
			return nil
		}
		s.process(t)
		if r := s.process(t); r.Skipped || !slices.Contains(domains(s), "example.org") {
			t.Errorf("%+v, %v", r, domains(s))
		}
	})
}

func TestProcess_SameTwice(t *testing.T) {
	file := parted(40)
	var first []string
	for range 2 {
		s := newParted(t, file)
		s.process(t)
		var list []string
		for i, m := range s.domains(t) {
			list = append(list, string(s.queue.messages[i]))
			if m.URLsPath != "" {
				list = append(list, m.URLsPath+string(s.object(t, m.URLsPath)))
			}
		}
		slices.Sort(list) // batches overtake each other
		if first == nil {
			first = list
		} else if !slices.Equal(first, list) {
			t.Error("the same file gave other messages")
		}
	}
}

func TestProcess_Cancelled(t *testing.T) {
	s := newParted(t, parted(300))
	ctx, cancel := context.WithCancel(context.Background())
	s.queue.fail = func(int) error { cancel(); return nil }
	if _, err := s.Process(ctx, seed(), s.queue); !errors.Is(err, context.Canceled) || s.hasCheckpoint() {
		t.Errorf("%v, checkpoint %v", err, s.hasCheckpoint())
	}
}

// TestProcess_RandomFiles compares random files with a plain grouping of the records.
func TestProcess_RandomFiles(t *testing.T) {
	s := newSite(t, "[]") // one processor for all: nothing may be left of the file before
	for n := range 300 {
		rnd := rand.New(rand.NewPCG(7, uint64(n)))
		type record map[string]any
		var records []any
		want := map[string]map[string]string{} // domain → URL → title
		for range rnd.IntN(200) {
			r := record{"content": strings.Repeat("{\"]", rnd.IntN(5))}
			domain := fmt.Sprintf("d%d.%s", rnd.IntN(20), []string{"com", "gov.sg", "co.kr"}[rnd.IntN(3)])
			url := fmt.Sprintf("https://%s%s/%s", []string{"", "www.", "a.b."}[rnd.IntN(3)], domain,
				strings.Repeat("é\"\\\U0001F600", rnd.IntN(3))+fmt.Sprint(rnd.IntN(30)))
			r[[]string{"url", "raw_url", "input_url"}[rnd.IntN(3)]] = url
			title := ""
			if rnd.IntN(3) > 0 {
				title = fmt.Sprint("Title\t<&> \u2028 한국 ", rnd.IntN(1000))
				r["title"] = title
			}
			switch rnd.IntN(12) {
			case 0:
				records = append(records, nil, 5, record{"title": "x"}, record{"url": "mailto:a@b.com"})
			case 1:
				r["registrable_domain"] = "other.com"
			}
			records = append(records, r)
			if want[domain] == nil {
				want[domain] = map[string]string{}
			}
			if _, ok := want[domain][url]; !ok {
				want[domain][url] = title
			}
		}
		if records == nil {
			records = []any{}
		}
		file, err := json.Marshal(records)
		if err != nil {
			t.Fatal(err)
		}
		m := seed()
		m.FilePath = fmt.Sprintf("raw/country=sg/category=news/date=2026-01-28/raw_%04d.json", n+10)
		s.upload(t, m.FilePath, string(file))
		s.queue.messages = nil
		if _, err := s.Process(context.Background(), m, s.queue); err != nil {
			t.Fatal(err)
		}
		have := map[string]map[string]string{}
		for _, m := range s.domains(t) {
			if have[m.Domain] != nil {
				t.Fatalf("file %d: two messages for %s", n, m.Domain)
			}
			have[m.Domain] = map[string]string{}
			for _, u := range m.URLs {
				if _, ok := have[m.Domain][u.URL]; ok {
					t.Fatalf("file %d: %s twice", n, u.URL)
				}
				have[m.Domain][u.URL] = ""
				if u.Title != nil {
					have[m.Domain][u.URL] = *u.Title
				}
			}
		}
		if !maps.EqualFunc(have, want, maps.Equal) {
			t.Fatalf("file %d: have %v, want %v", n, have, want)
		}
	}
}

// FuzzProcess looks for files whose messages cannot be read.
func FuzzProcess(f *testing.F) {
	f.Add(
		[]byte(
			`[{"url":"https://www.mom.gov.sg/a/../\u00e9?q","title":"\ud83d\ude00 \"x\"","registrable_domain":"b.sg",` +
				`"domain_id":"\u0000","source_type":"<gov>","confidence":1e-9}]`))
	f.Add(
		[]byte(
			"{\"records\":[{\"raw_url\":\"http://m\xc3\xbcnchen.de:80\\\\\\\"\xff\",\"language\":\"\xff\"," +
				"\"title\":\"\\ud800\"},5]}"))
	f.Fuzz(func(t *testing.T, file []byte) {
		s := newSite(t, string(file))
		r, err := s.Process(context.Background(), seed(), s.queue)
		if err != nil {
			if contract.KindOf(err) != contract.Parse {
				t.Fatal(err)
			}
			return
		}
		urls := s.urls(t)
		if len(urls) != r.URLs || len(s.queue.messages) != r.DomainsSent ||
			r.TotalRecords != r.URLs+r.BadRecords+r.Duplicates {
			t.Errorf("%d URLs in %d messages, %+v", len(urls), len(s.queue.messages), r)
		}
		for _, m := range s.domains(t) {
			for _, u := range m.URLs {
				p, why := splitURL([]byte(u.URL))
				if why != "" || string(p.path) != u.Path {
					t.Errorf("%q has path %q, not %q %s", u.URL, p.path, u.Path, why)
				}
				if domain, _ := registrable(p.authority); domain != m.Domain {
					t.Errorf("%q is of %q, not %q", u.URL, domain, m.Domain)
				}
			}
		}
	})
}

// TestMembers_InARow: in files whose records differ in few optional members, every URL keeps those of its own
// record, also behind records that are left out, and from one file to the next.
func TestMembers_InARow(t *testing.T) {
	s := newSite(t, "[]") // one processor for all
	for n := range uint64(100) {
		rnd := rand.New(rand.NewPCG(n, 3))
		one := func(list ...string) string { return list[rnd.IntN(len(list))] }
		s.groups.limit = 1 << (12 + rnd.IntN(4)) // in parts
		var records []string
		want := map[string]contract.URL{}
		members := []string{`"language":"en"`, `"discovery_method":"search"`}
		for i := range rnd.IntN(80) {
			for range rnd.IntN(3) {
				members = members[:min(len(members), 2+rnd.IntN(5))]
				at := rnd.IntN(len(members) + 1)
				changed := one(`"language":"en"`, `"language":"ko"`, `"language":""`, `"language":"\u006bo"`,
					`"l\u0061nguage":"de"`, `"language":null`, `"language":7`,
					`"discovery_method":"search"`, `"discovery_method":"한국"`, `"discovered_at":"2026-01-28"`,
					`"confidence":0.5`,
					`"confidence":1e-9`, `"confidence":"x"`, `"x":{"language":"fr"}`)
				if at == len(members) {
					members = append(members, changed)
				} else {
					members[at] = changed
				}
			}
			url := fmt.Sprintf("https://d%d.com/%d/%d", rnd.IntN(3), n, i)
			switch rnd.IntN(8) {
			case 0: // left out
				url = one("mailto:a@b.c", "https://d0.com/again", "")
			case 1:
				records = append(records, one("5", "{}", `{"language":"ko"}`,
					strings.Repeat("[", 9)+strings.Repeat("]", 9)))
			}
			record := "{" + strings.Join(append([]string{`"url":"` + url + `"`}, members...), ",") + "}"
			records = append(records, record)
			if _, ok := want[url]; !ok && strings.HasPrefix(url, "https:") {
				want[url] = described(t, url, record)
			}
		}
		m := seed()
		m.FilePath = fmt.Sprintf("raw/country=sg/category=news/date=2026-01-28/raw_%04d.json", n+10)
		s.upload(t, m.FilePath, "["+strings.Join(records, ",")+"]")
		s.queue.messages = nil
		if _, err := s.Process(context.Background(), m, s.queue); err != nil {
			t.Fatal(err)
		}
		have := map[string]contract.URL{}
		for _, d := range s.domains(t) {
			for _, u := range d.URLs {
				if _, ok := have[u.URL]; !ok { // parts may have it again
					u.Path = ""
					have[u.URL] = u
				}
			}
		}
		for url, w := range want {
			if h := have[url]; url != "https://d0.com/again" && !reflect.DeepEqual(h, w) {
				t.Fatalf("file %d: %s is not %s in\n%s", n, contract.Encode(h), contract.Encode(w),
					strings.Join(records, "\n"))
			}
		}
	}
}

// described is the URL of a record as encoding/json reads it.
func described(t *testing.T, url, record string) contract.URL {
	t.Helper()
	var m map[string]any
	if err := json.Unmarshal([]byte(record), &m); err != nil {
		t.Fatal(err)
	}
	text := func(name string) *string {
		if s, _ := m[name].(string); s != "" {
			return &s
		}
		return nil
	}
	u := contract.URL{URL: url, DiscoveryMethod: text("discovery_method"), Language: text("language"),
		DiscoveredAt: text("discovered_at")}
	if c, ok := m["confidence"].(float64); ok {
		u.Confidence = &c
	}
	return u
}
