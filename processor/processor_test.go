package processor

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/newsfork/seed-engine/contract"
	"github.com/newsfork/seed-engine/r2"
)

var partition = contract.Partition{Country: "sg", Category: "news", Date: "2026-01-28"}

const rawKey = "raw/country=sg/category=news/date=2026-01-28/raw_0001.json"

// queue is a DOMAIN_QUEUE that holds the messages of every batch to the platform's limits.
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
	lines := bytes.Split(bytes.Clone(b.Bytes()), []byte("\n"))
	size := 0
	for _, l := range lines {
		if len(l)+100 > 128_000 {
			return fmt.Errorf("message of %d bytes", len(l))
		}
		size += len(l) + 100
	}
	if len(lines) != b.Len() || len(lines) > 100 || size > 256_000 {
		return fmt.Errorf("%d lines, %d messages, %d bytes", len(lines), b.Len(), size)
	}
	q.messages = append(q.messages, lines...)
	q.batches = append(q.batches, len(lines))
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
	s.Processor = &Processor{Store: s.bucket, Sender: s.queue, Version: "1.2.3", Now: now, Log: slog.New(slog.NewJSONHandler(&s.log, nil))}
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
	r, err := s.Process(context.Background(), seed())
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

func TestProcess(t *testing.T) {
	s := newSite(t, `[
		{"url": "https://mom.gov.sg/employment-practices/employment-act", "title": "Employment Act - \"Ministry\"", "domain": "mom.gov.sg",
		 "registrable_domain": "mom.gov.sg", "domain_id": "gov:sg:mom.gov.sg", "source_type": "gov", "content_type": "text/html", "language": "en",
		 "country": "sg", "discovered_at": "2026-01-28T10:00:00Z", "discovery_method": "google_search", "confidence": 0.75},
		{"input_url": "HTTPS://WWW.Example.COM:443/a b?q=1#f", "authority": "org"},
		{"url": "https://www.mom.gov.sg/newsroom"}
	]`)
	r := s.process(t)
	if r.TotalRecords != 3 || r.UniqueDomains != 2 || r.DomainsSent != 2 || r.URLs != 3 || r.BadRecords != 0 || r.Duration <= 0 {
		t.Errorf("result %+v", r)
	}
	text := func(s string) *string { return &s }
	confidence := 0.75
	want := []*contract.DomainMessage{{
		Domain: "mom.gov.sg", RegistrableDomain: "mom.gov.sg", DomainID: "gov:sg:mom.gov.sg", Authority: "gov",
		DomainURL: "https://mom.gov.sg/employment-practices/employment-act",
		Partition: partition, SourceFilePath: rawKey,
		URLs: []contract.URL{
			{URL: "https://mom.gov.sg/employment-practices/employment-act", Title: text(`Employment Act - "Ministry"`), Path: "/employment-practices/employment-act",
				DiscoveryMethod: text("google_search"), Language: text("en"), DiscoveredAt: text("2026-01-28T10:00:00Z"), Confidence: &confidence},
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
	if err != nil || o.Size != 0 || o.Metadata["processor"] != "seed-engine" || o.Metadata["version"] != "1.2.3" || o.Metadata["processed_at"] == "" {
		t.Errorf("checkpoint %+v, %v", o, err)
	}
	if again := s.process(t); !again.Skipped || len(s.queue.messages) != 2 {
		t.Errorf("a second time: %+v, %d messages", again, len(s.queue.messages))
	}
	m := seed()
	m.Force, m.RequestedAt = true, time.Date(2026, 1, 29, 0, 0, 0, 0, time.UTC)
	if _, err := s.Process(context.Background(), m); err != nil {
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

var _ = errors.Is
var _ = strings.Contains
