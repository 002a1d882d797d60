package frontier

import (
	"bytes"
	"errors"
	"fmt"
	"math/rand/v2"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/newsfork/seed-engine/contract"
)

// randomPage makes a page with any of its fields.
func randomPage(r *rand.Rand) page {
	p := page{path: strings.Repeat("ab/", r.IntN(5)) + fmt.Sprint(r.IntN(1e6)), kind: uint8(r.IntN(maxTypes)), class: uint8(r.IntN(maxHostClasses)), tries: uint8(r.IntN(16)), base: r.IntN(1151)}
	if r.IntN(2) == 0 {
		p.title = "제목"
	}
	if r.IntN(2) == 0 {
		p.lastmod = r.Int64N(2e9)
	}
	if r.IntN(2) == 0 {
		p.due = 1 + r.Int64N(4e9)
	}
	p.http = r.IntN(2) == 0
	return p
}

func randomPages(r *rand.Rand, n int) []page {
	list := make([]page, n)
	for i := range list {
		list[i] = randomPage(r)
		list[i].path += fmt.Sprint("#", i) // all differ
	}
	return list
}

func randomHost(r *rand.Rand) *host {
	h := &host{id: r.Int64N(1 << 40), name: "www.a.example", domain: 7, excluded: r.IntN(2) == 0, delay: r.Int64N(1e6), floor: r.Int64N(9), slow: r.Int64N(12), calm: r.Int64N(8),
		ready: r.Int64N(1 << 42), blocked: r.Int64N(1 << 42), robotsEnds: r.Int64N(1 << 42), unresolved: r.Int64N(1 << 42), urls: r.Int64N(1e5), done: 3, failed: 4, turn: r.IntN(turns),
		classes: []hostClass{{1, 20_000}, {2, 20_001}}, seenBits: r.IntN(maxBits + 1), nextSegment: r.Int64N(3000), buffer: randomPages(r, r.IntN(40)), askedAt: r.Int64N(1 << 42), tail: "later"}
	for range r.IntN(maxRecent) {
		h.recent = append(h.recent, r.Uint64()>>16)
	}
	if r.IntN(2) == 0 {
		h.lease, h.leaseEnds, h.leased, h.asked = 1, r.Int64N(1<<42), randomPages(r, 3), []uint64{5, 1 << 47}
	}
	h.places[kindEntry] = place{true, entryLane, r.Int64N(maxSlot), allTypes, 9}
	for i := range r.IntN(4) {
		s := segment{number: int64(i)}
		s.encode(randomPages(r, 1+r.IntN(100)), 1e9)
		h.segments = append(h.segments, s)
	}
	h.unpacked = true
	for range r.IntN(3) {
		h.entries = append(h.entries, entry{page: randomPage(r), method: "feed", interval: r.Int64N(1e6), etag: `"x"`, digest: "0123456789abcdef", lastStatus: 200, tried: r.Int64N(2) * r.Int64N(1e9),
			checks: []Check{{At: 1, Status: 304}, {At: 2, Status: 200, Changed: true}}})
	}
	return h
}

// TestRecordsSurvive: what is encoded is decoded to the same, fields of a later version included.
func TestRecordsSurvive(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 1))
	for range 500 {
		h := randomHost(r)
		record := h.encode()
		got, err := decodeHost(h.id, h.name, h.domain, record)
		if err != nil {
			t.Fatal(err)
		}
		if err := got.unpackEntries(); err != nil {
			t.Fatal(err)
		}
		if !bytes.Equal(got.encode(), record) || !slices.Equal(got.buffer, h.buffer) || !reflect.DeepEqual(got.segments, append([]segment{}, h.segments...)) ||
			!slices.EqualFunc(got.entries, h.entries, func(a, b entry) bool { return reflect.DeepEqual(a, b) }) || got.tail != h.tail || got.places != h.places {
			t.Fatalf("got %+v\nwant %+v", got, h)
		}
	}
	m := &domain{id: 3, name: "a.example", excluded: true, listed: true, owner: "c", ownerEnds: 5, waitEnds: 6, hosts: []int64{1, 1 << 39}, lostAt: 7, refreshWaits: 8, active: []activeHost{{1, 9}}, claims: []activeHost{{2, 10}}, parked: []parkedHost{{2, kindEntry}}, contracts: "some", released: 11, expected: []int64{12, 1 << 38}, tail: "later"}
	if got, err := decodeDomain(3, "a.example", m.encode()); err != nil || !reflect.DeepEqual(got, m) {
		t.Errorf("got %+v, %v", got, err)
	}
	s := state{version: 1, reader: 1, hosts: 5, lease: 1 << 45, tail: "later", classes: []Class{{"kr", "news"}, {"sg", ""}}, patterns: []string{"https://a.example/*"}, deleted: deletedLogs{feed: 7, changes: 1 << 41},
		lately: []foundHour{{hour: 9, types: [maxTypes]int64{1: 300, 22: 1}}, {hour: 11}}}
	var got state
	for key, data := range s.encode() {
		if err := got.decode(int64(key), data); err != nil {
			t.Fatal(err)
		}
	}
	if !reflect.DeepEqual(got.encode(), s.encode()) {
		t.Errorf("got %+v", got)
	}
	h := randomHost(r)
	h.askedAt, h.tail = 0, ""
	record := h.encode()
	for _, missing := range []int{1, 2} { // the fields that were appended
		if got, err := decodeHost(h.id, h.name, h.domain, record[:len(record)-missing]); err != nil || !bytes.Equal(got.encode(), record) {
			t.Errorf("a host of an earlier program: %v", err)
		}
	}
	h.rewrite = true
	if got, err := decodeHost(h.id, h.name, h.domain, h.encode()); err != nil || !got.rewrite {
		t.Errorf("%+v, %v", got, err)
	}
	m = &domain{id: 1, name: "a.example", owner: "c", hosts: []int64{1}, active: []activeHost{}, parked: []parkedHost{}}
	for _, missing := range []int{1, 2, 3, 6, 8} { // the expected hosts, the last release, the contracts, what was appended before them, and the evidence and the mirror
		if got, err := decodeDomain(1, "a.example", m.encode()[:len(m.encode())-missing]); err != nil || len(got.claims) > 0 || !bytes.Equal(got.encode(), m.encode()) {
			t.Errorf("a domain of an earlier program: %+v, %v", got, err)
		}
	}
	s.lately = nil
	early := s.encode()[stateCounters]
	early = early[:len(early)-len(s.tail)-1-(len(s.counters())-appendedCounters)] // each 0, and each empty text, takes a byte
	got = state{}
	if err := got.decode(stateCounters, early); err != nil || got.lease != 1<<45 || got.answers != 0 || got.tail != "" {
		t.Errorf("of the first program: %+v, %v", got, err)
	}
}

// TestSegments: every page comes out of a segment once, from the region where it belongs, in any
// order of the regions, with a record of the host written in between.
func TestSegments(t *testing.T) {
	r := rand.New(rand.NewPCG(2, 1))
	const now = int64(1e9)
	for range 300 {
		pages := randomPages(r, 1+r.IntN(maxSegment))
		var s segment
		data := s.encode(pages, now)
		left := map[string]page{}
		for _, p := range pages {
			left[p.path] = p
		}
		if rest, err := s.unread(data); err != nil || len(rest) != len(pages) {
			t.Fatalf("rest gives %d of %d pages: %v", len(rest), len(pages), err)
		}
		for s.left() > 0 {
			s = decode(s.append(nil)).segment()
			number := r.IntN(regions)
			due := s.due
			group, err := s.take(data, number)
			if err != nil {
				t.Fatal(err)
			}
			for i, p := range group {
				want := left[p.path]
				if number == waiting && (i == 0 && p.due != due || p.due <= now) || number != waiting && p.band(now) != number {
					t.Fatalf("%+v in region %d", p, number)
				}
				if want.due <= now {
					want.due = 0
				}
				if p != want {
					t.Fatalf("got %+v, want %+v", p, want)
				}
				delete(left, p.path)
			}
		}
		if len(left) > 0 {
			t.Fatalf("%d pages are lost", len(left))
		}
	}
}

func FuzzHost(f *testing.F) {
	r := rand.New(rand.NewPCG(3, 1))
	for range 20 {
		f.Add(randomHost(r).encode())
	}
	f.Fuzz(func(t *testing.T, record []byte) {
		h, err := decodeHost(1, "a.example", 2, record)
		if err != nil {
			if !errors.Is(err, errDamaged) {
				t.Error(err)
			}
			return
		}
		if h.unpackEntries() != nil {
			return
		}
		again, err := decodeHost(1, "a.example", 2, h.encode())
		if err != nil || !bytes.Equal(again.encode(), h.encode()) {
			t.Errorf("what was decoded does not survive: %v", err)
		}
		_, _, _ = h.interval(), h.types(), h.dueAt()
	})
}

func FuzzSegment(f *testing.F) {
	r := rand.New(rand.NewPCG(4, 1))
	for range 20 {
		var s segment
		data := s.encode(randomPages(r, 1+r.IntN(40)), 1e9)
		f.Add(s.append(nil), data)
	}
	f.Fuzz(func(t *testing.T, entry, data []byte) {
		d := decode(entry)
		s := d.segment()
		if d.err != nil {
			return
		}
		for n := range s.region {
			s.region[n].left %= maxSegment + 1
		}
		if pages, err := s.unread(data); err == nil && len(pages) != s.left() {
			t.Errorf("%d pages, want %d", len(pages), s.left())
		}
	})
}

func FuzzDomain(f *testing.F) {
	f.Add((&domain{mirrorOf: "b.example", evidence: Evidence{contract.Partition{Country: "kr", Category: "news", Date: "2026-01-28"}, 5}, expected: []int64{3}}).encode())
	f.Add((&domain{owner: "c", hosts: []int64{1, 2}, active: []activeHost{{1, 9}}, parked: []parkedHost{{2, 1}}}).encode())
	f.Fuzz(func(t *testing.T, record []byte) {
		if m, err := decodeDomain(1, "a.example", record); err == nil {
			// A list that an older version did not write is nil, and empty when it was written.
			if again, err := decodeDomain(1, "a.example", m.encode()); err != nil || fmt.Sprintf("%+v", m) != fmt.Sprintf("%+v", again) {
				t.Errorf("%+v became %+v, %v", m, again, err)
			}
		}
	})
}

func FuzzMirrors(f *testing.F) {
	f.Add(appendMirrors([]mirrored{{"0123456789abcdef", 20_000, "a.example"}, {"0123456789abcdeF", 1, ""}}))
	f.Fuzz(func(t *testing.T, data []byte) {
		list, err := decodeMirrors(data)
		if err != nil {
			return
		}
		if again, err := decodeMirrors(appendMirrors(list)); err != nil || !reflect.DeepEqual(list, again) {
			t.Errorf("%+v became %+v, %v", list, again, err)
		}
	})
}

func FuzzRows(f *testing.F) {
	values, err := AppendArgs(AppendHeader(nil, 3, 1, 4), int64(1<<52), "text", []byte{1, 2}, nil)
	if err != nil {
		f.Fatal(err)
	}
	f.Add(values)
	f.Fuzz(func(_ *testing.T, answer []byte) {
		rows, err := NewRows(answer)
		if err != nil {
			return
		}
		for n := 0; rows.Next() && n < 1000; n++ {
			rows.Int()
			_ = rows.Text()
			rows.Blob()
		}
	})
}

// FuzzParse: what is accepted as a URL is the same URL when it comes back.
func FuzzParse(f *testing.F) {
	for _, url := range []string{"https://a.example/", "http://a.example:8080/x?y", "HTTPS://A.example?utm_source=x#y", "https://u@a.example/", "https://[::1]/", "https://1.2.3.4/"} {
		f.Add(url)
	}
	f.Fuzz(func(t *testing.T, url string) {
		l, ok := parse(url)
		if !ok {
			return
		}
		again := (&host{name: l.host}).url(&page{path: l.path, http: l.http})
		if got, ok := parse(again); len(again) <= MaxURL && (!ok || got != l) {
			t.Errorf("%q became %+v, then %+v", url, l, got)
		}
		if strings.ContainsAny(l.host, `"\/@ `) {
			t.Errorf("%q has the host %q", url, l.host)
		}
	})
}

func TestShardOf(t *testing.T) {
	const domains = 20_000
	counts, moved := make([]int, 16), 0
	for i := range domains {
		name := fmt.Sprintf("d%d.example", i)
		before, after := ShardOf(name, 16), ShardOf(name, 17)
		counts[before]++
		if before != after {
			if moved++; after != 16 {
				t.Fatalf("%s moved from %d to %d, which is not the new shard", name, before, after)
			}
		}
	}
	for shard, n := range counts {
		if n < domains/16*8/10 || n > domains/16*12/10 {
			t.Errorf("shard %d has %d of %d domains", shard, n, domains)
		}
	}
	if moved < domains/17*8/10 || moved > domains/17*12/10 {
		t.Errorf("%d of %d domains move to the 17th shard", moved, domains)
	}
	// Domains lie where this says: another answer would lose them.
	if got := ShardOf("newsfork.com", 16); got != 10 {
		t.Errorf("newsfork.com is in shard %d", got)
	}
}

func TestTurns(t *testing.T) {
	var n [Bands]int
	for turn := range turns {
		n[bandOfTurn(turn)]++
	}
	if want := [Bands]int{8, 4, 2, 1}; n != want {
		t.Errorf("in %d turns %v, want %v", turns, n, want)
	}
}
