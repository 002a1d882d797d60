package processor

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/newsfork/seed-engine/contract"
	"github.com/newsfork/seed-engine/dataset"
)

// record reads one record of a raw file.
func record(t *testing.T, members string) *dataset.Record {
	t.Helper()
	var reader dataset.Reader
	reader.Reset(strings.NewReader("[{" + members + "}]"))
	r, err := reader.Next()
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// largeTitle makes an entry larger than a slab: what is not UTF-8 grows when it is replaced.
var largeTitle = `"title":"` + strings.Repeat("\xff", slabSize/2) + `"`

// insert adds a URL, and reports whether it was new. The size must be that of the JSON.
func (s *entries) insert(t *testing.T, url, members string) (ref, bool) {
	t.Helper()
	split, why := splitURL([]byte(url))
	if why != "" {
		t.Fatal(why)
	}
	at, size, added := s.add([]byte(url), split, record(t, members))
	if added {
		if have := s.appendEntry(nil, at); len(have) != size {
			t.Errorf("%s has %d bytes, not %d", have, len(have), size)
		}
	}
	return at, added
}

func (s *entries) read(t *testing.T, at ref) contract.URL {
	t.Helper()
	var u contract.URL
	if err := json.Unmarshal(s.appendEntry(nil, at), &u); err != nil {
		t.Fatal(err)
	}
	return u
}

func TestEntries_AreURLs(t *testing.T) {
	short := "x"
	title, method, language, at, confidence := `a "b" 한`, "google_search", "ko", "2026-01-28T10:00:00Z", 0.25
	for _, c := range []struct {
		url, members string
		want         contract.URL
	}{
		{"https://a.com/x/y?q=1", "", contract.URL{Path: "/x/y"}},
		{"https://a.com", "", contract.URL{Path: "/"}},
		{"https://a.com/x", `"title":"x"`, contract.URL{Path: "/x", Title: &short}},
		{"https://a.com/x/../y", `"language":"ko","title":""`, contract.URL{Path: "/y", Language: &language}},
		{"https://a.com/",
			`"title":"a \"b\" \ud55c","discovery_method":"google_search","language":"ko",` +
				`"discovered_at":"2026-01-28T10:00:00Z","confidence":0.25`,
			contract.URL{Path: "/", Title: &title, DiscoveryMethod: &method, Language: &language, DiscoveredAt: &at,
				Confidence: &confidence}},
	} {
		var s entries
		c.want.URL = c.url
		ref, _ := s.insert(t, c.url, c.members)
		have, want := string(contract.Encode(s.read(t, ref))), string(contract.Encode(c.want))
		if have != want {
			t.Errorf("got %s, want %s", have, want)
		}
	}
}

// TestDescriptions: every entry has the optional members of its own record, also where those before it had others.
func TestDescriptions(t *testing.T) {
	var s entries
	var list []ref
	var want []string
	add := func(members string) {
		i := len(list)
		at, _ := s.insert(t, fmt.Sprintf("https://a.com/%d", i), members)
		list = append(list, at)
		if members != "" {
			members = "," + members
		}
		want = append(want, fmt.Sprintf(`{"url":"https://a.com/%d","title":null,"path":"/%d"%s}`, i, i, members))
	}
	for range 2 {
		for _, members := range []string{
			"", "", `"language":"ko"`, `"language":"ko"`, `"language":"k"`, `"discovered_at":"ko"`,
			`"discovered_at":"ko"`,
			`"discovery_method":"a","language":"b","discovered_at":"c","confidence":1`,
			`"discovery_method":"a","language":"b","discovered_at":"c","confidence":10`,
			`"discovery_method":"a","language":"b","discovered_at":"c"`, "",
		} {
			add(members)
		}
		for i, at := range list {
			if have := string(s.appendEntry(nil, at)); have != want[i] {
				t.Errorf("got %s, want %s", have, want[i])
			}
		}
		s.reset()
		list, want = nil, nil
	}
	add(`"language":"ko"`)
	before := s.memory
	for range 10 {
		add(`"language":"ko"`)
	}
	if each := (s.memory - before) / 10; each > entryHead+slotCost+len(`https://a.com/10","title":null`) {
		t.Errorf("%d bytes for each of those with one description", each)
	}
}

// TestEntries_AreASet: every URL is stored once, across slabs, also beside one that is larger than a slab.
func TestEntries_AreASet(t *testing.T) {
	const n = 3000
	var s entries
	url := func(i int) string { return fmt.Sprintf("https://a.com/%d?%s", i, strings.Repeat("x", 1000)) }
	var refs []ref
	for i := range n {
		members := ""
		if i%1000 == 500 {
			members = largeTitle
		}
		at, added := s.insert(t, url(i), members)
		if !added {
			t.Fatalf("%d is taken for another", i)
		}
		refs = append(refs, at)
	}
	if len(s.slabs) < 6 {
		t.Fatalf("%d slabs", len(s.slabs))
	}
	for i := range n {
		if _, added := s.insert(t, url(i), ""); added {
			t.Errorf("%d is there twice", i)
		}
		if u := s.read(t, refs[i]); u.URL != url(i) || (u.Title != nil) != (i%1000 == 500) {
			t.Errorf("%d is read as %.40s…", i, u.URL)
		}
	}
}

func TestEntries_Chain(t *testing.T) {
	var s entries
	var a, b []ref
	for i := range 20 {
		at, _ := s.insert(t, fmt.Sprintf("https://a.com/%d", i), "")
		list := &a
		if i%3 == 0 {
			list = &b
		}
		if n := len(*list); n > 0 {
			s.link((*list)[n-1], at)
		}
		*list = append(*list, at)
	}
	for _, list := range [][]ref{a, b} {
		var have, want [][]byte
		for e := range s.chain(list[0], len(list)) {
			have = append(have, urlOf(s.at(e)))
		}
		for _, r := range list {
			want = append(want, urlOf(s.at(r)))
		}
		if !slices.EqualFunc(have, want, bytes.Equal) {
			t.Errorf("got %s, want %s", have, want)
		}
	}
}

// TestEntries_Forget: after a reset the memory is used again, but for slabs of unusual size; release
// leaves a small file's memory to the next.
func TestEntries_Forget(t *testing.T) {
	var s entries
	fillMore := func(from, to int) {
		t.Helper()
		for i := from; i < to; i++ {
			if _, added := s.insert(t, fmt.Sprintf("https://a.com/%d", i),
				`"title":"`+strings.Repeat("t", 10_000)+`"`); !added {
				t.Fatalf("%d is there before it was added", i)
			}
		}
	}
	fill := func(n int) { t.Helper(); fillMore(0, n) }
	fill(150)
	first := &s.slabs[0][0]
	s.reset()
	if s.release() {
		t.Error("two slabs are given up")
	}
	fill(150)
	if len(s.slabs) != 2 || &s.slabs[0][0] != first {
		t.Errorf("%d slabs, the first new: %v", len(s.slabs), &s.slabs[0][0] != first)
	}
	s.insert(t, "https://a.com/large", largeTitle)
	if len(s.slabs) != 3 {
		t.Fatalf("%d slabs", len(s.slabs))
	}
	s.reset()
	if len(s.slabs) != 2 {
		t.Errorf("%d slabs after a large entry, want 2", len(s.slabs))
	}
	fill(1)
	s.insert(t, "https://a.com/large", largeTitle) // while an empty slab is left
	fillMore(1, 100)
	if len(s.slabs) != 3 {
		t.Errorf("%d slabs after a large entry between others, want 3", len(s.slabs))
	}
	s.reset()
	fill(400)
	s.reset()
	if !s.release() || s.slabs != nil {
		t.Errorf("%d slabs are kept", len(s.slabs))
	}
	fill(1)
}

// Two URLs of one hash are both kept, and each is still found.
func TestEntries_HashCollision(t *testing.T) {
	var s entries
	a, b := []byte("https://a.com/1"), []byte("https://a.com/2")
	hash := s.hash(b)
	for _, u := range [][]byte{a, b} { // as if a had the hash of b
		slot, found := s.find(u, hash)
		if found {
			t.Fatalf("%s is taken for another", u)
		}
		at, _ := s.store(u, parts{path: []byte("/")}, &dataset.Record{})
		s.put(slot, hash, uint32(at))
	}
	for range 2 {
		slot, found := s.find(b, hash)
		if n, _ := s.index.at(slot); !found || string(urlOf(s.at(ref(n)))) != string(b) {
			t.Errorf("b is found at %d: %v", slot, found)
		}
		s.grow()
	}
}
