package store

import (
	"bytes"
	"errors"
	"fmt"
	"math/rand/v2"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/newsfork/seed-engine/contract"
	"github.com/newsfork/seed-engine/epoch"
	"github.com/newsfork/seed-engine/frontier"
	"github.com/newsfork/seed-engine/frontier/revisit"
)

// randomPage makes a page with any of its fields.
func randomPage(r *rand.Rand) Page {
	p := Page{Path: strings.Repeat("ab/", r.IntN(5)) + fmt.Sprint(r.IntN(1e6)), Kind: uint8(r.IntN(maxTypes)),
		Class: uint8(r.IntN(maxHostClasses)), Tries: uint8(r.IntN(16)), Refused: uint8(r.IntN(maxRefused)),
		base: r.IntN(1151)}
	if r.IntN(2) == 0 {
		p.Title = "제목"
	}
	if r.IntN(2) == 0 {
		p.Lastmod = epoch.Seconds(r.Int64N(2e9))
	}
	if r.IntN(2) == 0 {
		p.Due = epoch.Seconds(1 + r.Int64N(4e9))
	}
	p.HTTP = r.IntN(2) == 0
	p.Status = []uint16{0, 200, 304, 503}[r.IntN(4)]
	if r.IntN(2) == 0 {
		p.Reason, p.Visit = uint8(r.IntN(4)), randomVisit(r)
		if p.Due > 0 {
			p.Due = p.Visit.Fetched + epoch.Seconds(60*r.Int64N(1e5))
		}
	}
	return p
}

func randomVisit(r *rand.Rand) *Visit {
	v := &Visit{Count: 1 + r.IntN(300), Fetched: epoch.Seconds(60 * (2e7 + r.Int64N(1<<24))), Newer: r.IntN(2) == 0,
		OfText: r.IntN(2) == 0, Digest: r.Uint32(), History: revisit.HistoryOf(uint8(r.IntN(256)), uint8(r.IntN(256)))}
	v.Published = v.Fetched - epoch.Seconds(86_400*r.Int64N(1000))
	if r.IntN(2) == 0 {
		v.Etag, v.Modified = `"a"`, "Wed, 28 Jan 2026 12:00:00 GMT"
	}
	return v
}

func randomPages(r *rand.Rand, n int) []Page {
	list := make([]Page, n)
	for i := range list {
		list[i] = randomPage(r)
		list[i].Path += fmt.Sprint("#", i) // all differ
	}
	return list
}

func randomKnown(r *rand.Rand) Known {
	k := unpackKnown(Life(r.IntN(4)), r.IntN(2) == 0, r.IntN(2) == 0)
	if k.At = r.Int64N(1e6); r.IntN(2) == 0 {
		return k
	}
	return k.On(epoch.Seconds(r.Int64N(1 << 32)))
}

func randomURLs(r *rand.Rand, n int) []recentURL {
	list := make([]recentURL, n)
	for i := range list {
		list[i] = recentURL{r.Uint64() >> 16, randomKnown(r)}
	}
	return list
}

func randomHost(r *rand.Rand) *Host {
	instant := func() epoch.Millis { return epoch.Millis(r.Int64N(1 << 42)) }
	h := newHost(nil, r.Int64N(1<<40), "www.a.example", 7)
	h.Excluded, h.Delay = r.IntN(2) == 0, time.Duration(r.IntN(1e6))*time.Millisecond
	h.Override, h.Slow, h.Calm = time.Duration(r.IntN(9))*time.Millisecond, r.Int64N(12), r.Int64N(8)
	h.Ready, h.Blocked, h.RobotsEnds, h.Unresolved = instant(), instant(), instant(), instant()
	h.URLs, h.Done, h.Failed, h.turn = r.Int64N(1e5), 3, 4, r.IntN(Turns)
	h.classes, h.bits = []hostClass{{1, 20_000}, {2, 20_001}}, r.IntN(maxBits+1)
	h.Scheduled, h.Schedule.buffer = r.Int64N(1e5), randomPages(r, r.IntN(20))
	h.Trust = revisit.TrustOf([revisit.TrustNumbers]int64{r.Int64N(1e4), r.Int64N(1e4), r.Int64N(1e4), 5, 6})
	h.places[KindVisit] = place{true, frontier.VisitLane, epoch.Seconds(r.Int64N(MaxSlot)), allTypes, 9}
	h.nextSegment, h.buffer = r.Int64N(3000), randomPages(r, r.IntN(40))
	h.AskedAt, h.Traps, h.tail = instant(), r.Int64N(9), "later"
	h.claim = claim{Claim: r.Int64N(1 << 48), ClaimEnds: instant(), ClaimedAt: instant()}
	for i := range r.IntN(4) {
		h.Sections = append(h.Sections, Section{fmt.Sprint("s", i), r.Int64N(9000), r.IntN(2) == 0, r.Int64N(20_000)})
		h.TrapExample = "https://www.a.example/wall/5"
	}
	if r.IntN(2) == 0 {
		h.Fail(frontier.Fault{At: epoch.Seconds(r.Int64N(1e9) + 1), Status: r.IntN(600), Error: "reset"}, 7)
	}
	h.LastLease, h.Passed = r.Int64N(1e6), r.IntN(2) == 0
	for range r.IntN(5) {
		h.Missing = append(h.Missing, r.Uint64()>>16)
	}
	for range r.IntN(30) {
		h.Texts.Saw(r.Uint64()>>16, r.Uint32N(5))
		h.Copies.Add(uint64(r.IntN(30)), uint64(r.IntN(30)))
		h.Rules, h.RulesAt = "User-agent:*\nDisallow:/private/\n", epoch.Seconds(r.Int64N(1<<32))
		h.Usage = "1764340000\nheader noai"
		h.Patterns.Give(fmt.Sprintf("a/0/%d*", r.IntN(30)), r.Int64N(20_000))
		h.Patterns[len(h.Patterns)-1].Closed = int64(r.IntN(3))
		h.Patterns[0].Fetch(epoch.Seconds(r.Int64N(1e6) - 1e5))
		h.Patterns[0].Look(epoch.Seconds(r.Int64N(1e6)), r.IntN(2) == 0)
	}
	h.Failures, h.Refusals, h.unsure = r.Int64N(20), r.Int64N(20), r.IntN(2) == 0
	h.recent.replace(randomURLs(r, r.IntN(maxRecent)))
	if r.IntN(2) == 0 {
		h.Lease, h.LeaseEnds, h.Leased, h.Asked = 1, instant(), randomPages(r, 3), []uint64{5, 1 << 47}
	}
	h.places[KindEntry] = place{true, frontier.EntryLane, epoch.Seconds(r.Int64N(MaxSlot)), allTypes, 9}
	for i := range r.IntN(4) {
		s := segment{number: int64(i)}
		s.encode(randomPages(r, 1+r.IntN(100)), 1e9)
		h.segments = append(h.segments, s)
	}
	h.unpacked = true
	for range r.IntN(3) {
		h.Entries = append(h.Entries, Entry{Page: randomPage(r), Method: "feed",
			Interval: time.Duration(r.IntN(1e6)) * time.Second, Etag: `"x"`,
			digest: "0123456789abcdef", LastStatus: 200, Tried: epoch.Seconds(r.Int64N(2) * r.Int64N(1e9)),
			Checks: []frontier.Check{{At: 1, Status: 304}, {At: 2, Status: 200, Changed: true}}})
	}
	return h
}

// TestRecord_Survives: what is encoded is decoded to the same, fields of a later version included.
func TestRecord_Survives(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 1))
	for range 500 {
		h := randomHost(r)
		record := h.append(nil)
		got, err := decodeHost(h.ID, h.Name, h.domain, record)
		if err != nil {
			t.Fatal(err)
		}
		if err := got.UnpackEntries(); err != nil {
			t.Fatal(err)
		}
		if !bytes.Equal(got.append(nil), record) ||
			!reflect.DeepEqual(append([]Page{}, got.buffer...), append([]Page{}, h.buffer...)) ||
			!reflect.DeepEqual(append([]Page{}, got.Schedule.buffer...), append([]Page{}, h.Schedule.buffer...)) ||
			got.Scheduled != h.Scheduled || got.Trust != h.Trust || !reflect.DeepEqual(got.Texts, h.Texts) ||
			!reflect.DeepEqual(got.Patterns, h.Patterns) || got.Rules != h.Rules || got.RulesAt != h.RulesAt ||
			got.Usage != h.Usage || !slices.Equal(got.Sections, h.Sections) || got.TrapExample != h.TrapExample ||
			!reflect.DeepEqual(got.Copies, h.Copies) ||
			!slices.Equal(got.recent.all(), h.recent.all()) ||
			!slices.Equal(got.Missing, h.Missing) || got.Passed != h.Passed ||
			!reflect.DeepEqual(got.segments, append([]segment{}, h.segments...)) ||
			!slices.EqualFunc(got.Entries, h.Entries, func(a, b Entry) bool { return reflect.DeepEqual(a, b) }) ||
			got.claim != h.claim || got.Fault != h.Fault || got.tail != h.tail || got.places != h.places {
			t.Fatalf("got %+v\nwant %+v", got, h)
		}
	}
	m := &Domain{ID: 3, Name: "a.example", Excluded: true, domainRow: domainRow{tail: "later"},
		ownership: ownership{Owner: "c", OwnerEnds: 5, WaitEnds: 6, RefreshWaits: 8, LostAt: 7, Released: 11},
		domainHosts: domainHosts{Hosts: []int64{1, 1 << 39}, Expected: []int64{12, 1 << 38}, Listed: true,
			Active: []ActiveHost{{1, 9}}, Claims: []ActiveHost{{2, 10}}, Parked: []ParkedHost{{2, KindEntry}}},
		collections: collections{contracts: string(encodeContracts([]Contract{{Class: 1, Number: 5}})),
			Backlogs: []frontier.Backlog{{Next: "p", Again: true,
				Partition: contract.Partition{Country: "kr", Category: "news", Date: "2026-01-28"}}, {}}}}
	if got, err := decodeDomain(3, "a.example", m.encode()); err != nil || !reflect.DeepEqual(got, m) {
		t.Errorf("got %+v, %v", got, err)
	}
	s := State{Version: 5, Reader: 1, Tail: "later", counts: counts{Hosts: 5},
		leaseState: leaseState{Lease: 1 << 45, Secret: []byte("secret"), Unsealed: 3},
		Classes:    []frontier.Class{{Country: "kr", Category: "news"}, {Country: "sg", Category: ""}},
		Patterns:   []string{"https://a.example/*"}, deleted: deletedLogs{Feed: 7, Changes: 1 << 41},
		journal:   journal{{3, 1 << 45, 900, 400}, {1 << 39, 1 << 45, 500, 500}},
		pointers:  pendingList{data: []byte{0, 0, 0, 0, 9, 0, 0, 0, 0, 1, 0, 1, 0, 0, 0, 2}},
		due:       pendingList{data: []byte{0, 0, 0, 0, 7, 0, 0, 0, 0, 1}},
		announced: announcedList{20_500, []byte{0, 0, 0, 0, 3, 0, 0, 1, 244, 0, 0, 0, 7}},
		Wanting:   []Wanting{{"a.example", 12}, {"b.example", 0}},
		Visits:    VisitCounters{Scheduled: 300, Made: 2, Allowed: 9, AllowedAt: 1 << 31},
		Scrapers: []frontier.ScraperCounts{{Name: "a", First: 1, Last: 9, Leased: 300, Fetched: 2, Failed: 1},
			{Name: "b"}},
		foundURLs: foundURLs{lately: []foundHour{{hour: 9, types: [maxTypes]int64{1: 300, 22: 1}}, {hour: 11}}}}
	got := newState()
	for key, data := range s.encode() {
		if len(data) == 0 {
			continue // no such row is written
		}
		if err := got.decode(int64(key), data); err != nil {
			t.Fatal(err)
		}
	}
	if !reflect.DeepEqual(got.encode(), s.encode()) {
		t.Errorf("got %+v", got)
	}
	h := randomHost(r)
	h.AskedAt, h.tail = 0, ""
	h.Rewrite = true
	if got, err := decodeHost(h.ID, h.Name, h.domain, h.append(nil)); err != nil || !got.Rewrite {
		t.Errorf("%+v, %v", got, err)
	}
	h.Sections, h.TrapExample, h.Fault = nil, "", Fault{}
	for i := range h.Patterns {
		h.Patterns[i].Closed = 0
	}
	record := h.append(nil)
	earlier := record[:len(record)-4] // without all four
	if got, err := decodeHost(h.ID, h.Name, h.domain, earlier); err != nil || got.claim != h.claim ||
		!bytes.Equal(got.append(nil), record) {
		t.Errorf("a row of an earlier version: %+v, %v", got, err)
	}
}

// TestSegment_Survives: every page comes out of a segment once, from the region where it belongs, in any
// order of the regions, with a record of the host written in between.
func TestSegment_Survives(t *testing.T) {
	r := rand.New(rand.NewPCG(2, 1))
	const now = epoch.Seconds(1e9)
	for range 300 {
		pages := randomPages(r, 1+r.IntN(maxSegment))
		var s segment
		data := s.encode(pages, now)
		left := map[string]Page{}
		for _, p := range pages {
			left[p.Path] = p
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
				want := left[p.Path]
				if number == waiting && (i == 0 && p.Due != due || p.Due <= now) ||
					number != waiting && p.band(now) != number {
					t.Fatalf("%+v in region %d", p, number)
				}
				if want.Due <= now {
					want.Due = 0
				}
				if !reflect.DeepEqual(p, want) {
					t.Fatalf("got %+v, want %+v", p, want)
				}
				delete(left, p.Path)
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
		f.Add(randomHost(r).append(nil))
	}
	f.Fuzz(func(t *testing.T, record []byte) {
		h, err := decodeHost(1, "a.example", 2, record)
		if err != nil {
			if !errors.Is(err, ErrDamaged) {
				t.Error(err)
			}
			return
		}
		if h.UnpackEntries() != nil {
			return
		}
		again, err := decodeHost(1, "a.example", 2, h.append(nil))
		if err != nil || !bytes.Equal(again.append(nil), h.append(nil)) {
			t.Errorf("what was decoded does not survive: %v", err)
		}
		_, _, _ = h.Interval(), h.pageTypes(), h.DueAt()
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
	f.Add((&Domain{MirrorOf: "b.example", domainHosts: domainHosts{Expected: []int64{3}},
		collections: collections{Evidence: frontier.Evidence{At: 5,
			Partition: contract.Partition{Country: "kr", Category: "news", Date: "2026-01-28"}}}}).encode())
	f.Add((&Domain{ownership: ownership{Owner: "c"}, domainHosts: domainHosts{Hosts: []int64{1, 2},
		Active: []ActiveHost{{1, 9}}, Parked: []ParkedHost{{2, 1}}}}).encode())
	f.Fuzz(func(t *testing.T, record []byte) {
		if m, err := decodeDomain(1, "a.example", record); err == nil {
			// A list that an older version did not write is nil, and empty when it was written.
			if again, err := decodeDomain(1, "a.example", m.encode()); err != nil ||
				fmt.Sprintf("%+v", m) != fmt.Sprintf("%+v", again) {
				t.Errorf("%+v became %+v, %v", m, again, err)
			}
		}
	})
}

func FuzzMirrors(f *testing.F) {
	f.Add(appendMirrors([]Mirror{{"0123456789abcdef", 20_000, "a.example"}, {"0123456789abcdeF", 1, ""}}))
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

func TestTurns(t *testing.T) {
	var n [frontier.Bands]int
	for turn := range Turns {
		n[BandOfTurn(turn)]++
	}
	if want := [frontier.Bands]int{8, 4, 2, 1}; n != want {
		t.Errorf("in %d turns %v, want %v", Turns, n, want)
	}
}
