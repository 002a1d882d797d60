package processor

import (
	"bytes"
	"context"
	"io"
	"log/slog"
	"runtime"
	"strconv"
	"testing"

	"github.com/newsfork/seed-engine/contract"
	"github.com/newsfork/seed-engine/r2"
)

// rawFile is a dataset of about size bytes over a number of domains, made while it is read.
type rawFile struct {
	size    int64
	domains int
	given   int64
	record  int
	line    []byte
	unread  []byte // of line
}

func (f *rawFile) Read(p []byte) (n int, err error) {
	for n < len(p) {
		if len(f.unread) == 0 && !f.next() {
			return n, io.EOF
		}
		k := copy(p[n:], f.unread)
		f.unread = f.unread[k:]
		n += k
	}
	return n, nil
}

// next makes the next record, with % for the number of its domain and # for its own.
func (f *rawFile) next() bool {
	const record = `,{"url":"https://www.ministry-%.gov.sg/newsroom/press-releases/2026/item-#","title":"Press ` +
		`Release # - Ministry of Testing",` +
		`"domain":"www.ministry-%.gov.sg","registrable_domain":"ministry-%.gov.sg",` +
		`"domain_id":"gov:sg:ministry-%.gov.sg","source_type":"gov",` +
		`"content_type":"text/html","language":"en","country":"sg","discovered_at":"2026-01-28T10:00:00Z",` +
		`"discovery_method":"google_search"}`
	if f.record < 0 {
		return false
	}
	if f.given >= f.size {
		f.unread, f.record = []byte("]"), -1
		return true
	}
	b := f.line[:0]
	for i := range len(record) {
		switch c := record[i]; c {
		case '%':
			b = strconv.AppendInt(b, int64(f.record*7919%f.domains), 10)
		case '#':
			b = strconv.AppendInt(b, int64(f.record), 10)
		default:
			b = append(b, c)
		}
	}
	if f.record == 0 {
		b[0] = '['
	}
	f.record++
	f.line, f.unread = b, b
	f.given += int64(len(b))
	return true
}

// sink is a store of one file, and a queue, that keep nothing.
type sink struct {
	file io.Reader
	sent int
}

func (s *sink) Head(context.Context, string) (*r2.Object, error) { return nil, r2.ErrNotFound }
func (s *sink) Get(context.Context, string) (*r2.Body, error) {
	return &r2.Body{ReadCloser: io.NopCloser(s.file)}, nil
}
func (s *sink) Put(context.Context, string, []byte, *r2.PutOptions) (*r2.Object, error) {
	return &r2.Object{}, nil
}
func (s *sink) Create(context.Context, string, *r2.PutOptions) (r2.Upload, error) { return s, nil }
func (s *sink) Write(p []byte) (int, error)                                       { return len(p), nil }
func (s *sink) Commit() (*r2.Object, error)                                       { return &r2.Object{}, nil }
func (s *sink) Abort() error                                                      { return nil }
func (s *sink) Send(_ context.Context, b *contract.Batch) error {
	s.sent += b.Len()
	return nil
}

func BenchmarkProcess(b *testing.B) {
	const domains = 2000
	file, err := io.ReadAll(&rawFile{size: 20_000_000, domains: domains})
	if err != nil {
		b.Fatal(err)
	}
	s := &sink{}
	p := &Processor{Store: s, Log: slog.New(slog.DiscardHandler)}
	b.SetBytes(int64(len(file)))
	for b.Loop() {
		s.file = bytes.NewReader(file)
		r, err := p.Process(context.Background(), seed(), s)
		if err != nil || r.UniqueDomains != domains || r.BadRecords+r.Duplicates+r.Disagreements > 0 {
			b.Fatal(r, err)
		}
	}
}

// BenchmarkProcess_ManyDomains processes a large file in which tens of thousands of domains take turns, part by part.
func BenchmarkProcess_ManyDomains(b *testing.B) {
	const size, domains = 200_000_000, 20_000
	b.SetBytes(size)
	s := &sink{}
	p := &Processor{Store: s, Log: slog.New(slog.DiscardHandler)}
	for b.Loop() {
		s.file, s.sent = &rawFile{size: size, domains: domains}, 0
		if _, err := p.Process(context.Background(), seed(), s); err != nil {
			b.Fatal(err)
		}
	}
	b.ReportMetric(float64(s.sent), "messages")
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	b.ReportMetric(float64(m.Sys)/(1<<20), "MiB-sys")
}

// BenchmarkProcess_Memory processes files that are made while they are read, each with the same processor,
// and reports how much memory the runtime took from the system: in WASM, the linear memory.
func BenchmarkProcess_Memory(b *testing.B) {
	for _, size := range []int64{20_000_000, 1_000_000_000} {
		b.Run(strconv.FormatInt(size/1_000_000, 10)+"MB", func(b *testing.B) {
			s := &sink{}
			p := &Processor{Store: s, Log: slog.New(slog.DiscardHandler)}
			var m runtime.MemStats
			for b.Loop() {
				s.file = &rawFile{size: size, domains: 2000}
				if _, err := p.Process(context.Background(), seed(), s); err != nil {
					b.Fatal(err)
				}
			}
			runtime.ReadMemStats(&m)
			b.ReportMetric(float64(m.Sys)/(1<<20), "MiB-sys")
			b.ReportMetric(float64(m.HeapAlloc)/(1<<20), "MiB-heap")
			b.ReportMetric(float64(m.NumGC), "collections")
		})
	}
}
