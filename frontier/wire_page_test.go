package frontier

import (
	"encoding/json"
	"fmt"
	"reflect"
	"strings"
	"testing"

	"github.com/newsfork/seed-engine/contract"
)

func putOf(pages ...NewPage) Put {
	return Put{Domain: "example.com",
		Partition: contract.Partition{Country: "sg", Category: "news", Date: "2026-01-28"},
		Pages:     pages, Entries: []NewEntry{
			{NewPage: NewPage{URL: "https://example.com/feed"}, Method: "rss", Interval: 60}},
		Since: 5, Owner: "o", Stored: &StoredPages{Next: "x", More: true}}
}

// TestWire_Put: what is written by hand is read alike by hand and by encoding/json, as the version before does.
func TestWire_Put(t *testing.T) {
	for _, p := range []Put{{}, putOf(), putOf(NewPage{URL: "https://example.com/a"}), putOf(
		NewPage{URL: "https://example.com/b?x=1&y=<2>", Title: "\"Quoted\" \\ 뉴스\u2028\x00\t end", Type: "news",
			Priority: 1.0 / 3, LastMod: 1_700_000_000, Refetch: true, Fresh: true, Snippet: "s", Image: "i",
			FoundBy: "f"},
		NewPage{Priority: 1e-9, LastMod: -1}, NewPage{Title: "not \xff UTF-8", Snippet: `"},{"`},
	)} {
		data, err := Encode(p)
		if err != nil {
			t.Fatal(err)
		}
		var want, got, whole Put
		plain, err := json.Marshal(p)
		if err != nil {
			t.Fatal(err)
		}
		if err := json.Unmarshal(plain, &want); err != nil {
			t.Fatal(err)
		}
		if want.Pages == nil {
			want.Pages = []NewPage{}
		}
		if err := json.Unmarshal(data, &whole); err != nil || !reflect.DeepEqual(whole, want) {
			t.Errorf("encoding/json reads %+v, want %+v: %v", whole, want, err)
		}
		if err := UnmarshalPut(data, &got); err != nil || !reflect.DeepEqual(got, want) {
			t.Errorf("%s is read as %+v, want %+v: %v", data, got, want, err)
		}
	}
}

// FuzzUnmarshalPut: whatever arrives is read as encoding/json reads it.
func FuzzUnmarshalPut(f *testing.F) {
	data, err := Encode(putOf(NewPage{URL: "https://example.com/a", Title: `"\`, Priority: 0.5, LastMod: 7,
		Fresh: true}))
	if err != nil {
		f.Fatal(err)
	}
	f.Add(data)
	for _, seed := range []string{``, `{"Pages":[`, `{"Pages":[],"Domain":"x"}`, `{"Pages":[]}`,
		`{"Pages":[{}],"Pages":null}`,
		`{"Pages":[{"URL":"a","Priority":01}],"Domain":""}`, `{"Pages":[{"url":"a"}],"Domain":""}`,
		`{"Pages":[{"URL":"\ud800"}],"Domain":""}`, `{"Pages":[{"URL":"a"},],"Domain":""}`,
		`{"Pages":[{"LastMod":1.5}],"Domain":""}`, `{"Pages":[{"Priority":-}],"Domain":""}`,
		`{"Pages":[{"Priority":1.}],"Domain":""}`, `{"Pages":[{"Fresh":truex}],"Domain":""}`,
		`{"Pages":[{"URL":"a"}],}`, `{"Pages":[{"URL":"a"}],"Domain":"b"}x`} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		var want, got Put
		wrong, err := json.Unmarshal(data, &want), UnmarshalPut(data, &got)
		if (wrong == nil) != (err == nil) {
			t.Fatalf("%q: %v, encoding/json says %v", data, err, wrong)
		}
		if err == nil && !reflect.DeepEqual(got, want) {
			t.Fatalf("%q: %+v, encoding/json reads %+v", data, got, want)
		}
	})
}

// BenchmarkPut is the way of 500 pages from the engine to the shard.
func BenchmarkPut(b *testing.B) {
	var pages []NewPage
	for i := range 500 {
		pages = append(pages, NewPage{URL: fmt.Sprintf("https://example.com/news/2026/01/28/a-story-of-the-day-%d", i),
			Title: strings.Repeat("word ", 10), Type: "news", Priority: 0.634, LastMod: 1_700_000_000,
			FoundBy: "sitemap"})
	}
	put := putOf(pages...)
	b.ReportAllocs()
	for b.Loop() {
		data, err := Encode(put)
		if err != nil {
			b.Fatal(err)
		}
		var p Put
		if err := UnmarshalPut(data, &p); err != nil {
			b.Fatal(err)
		}
	}
}
