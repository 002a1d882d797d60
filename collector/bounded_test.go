package collector

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/newsfork/seed-engine/contract"
	"github.com/newsfork/seed-engine/fetch"
	"github.com/newsfork/seed-engine/r2"
)

var testDir = contract.DomainDir{Partition: contract.Partition{Country: "sg", Category: "news", Date: "2026-01-28"},
	Domain: "example.com"}

// numbered are n URLs in their order, each with a path of so many bytes.
func numbered(n, length int) []contract.DocumentURL {
	var list []contract.DocumentURL
	for i := range n {
		path := fmt.Sprintf("/%06d%s", i, strings.Repeat("x", length))
		list = append(list, contract.DocumentURL{URL: "https://example.com" + path, Path: path})
	}
	return list
}

// TestURLs_LongOnesAreListedInParts: neither a document nor a list grows with the length of its URLs, and none
// of them is lost.
func TestURLs_LongOnesAreListedInParts(t *testing.T) {
	for length, n := range map[int]int{0: contract.MaxInlineURLs + 1, 1000: contract.MaxInlineURLs + 1, 16_000: 600} {
		s := newStore(r2.NewMemory(), nil, fetch.NewLimiter(fetch.MaxConnections))
		added := numbered(n, length)
		u := &union{s, nil, added}
		view, err := u.survey(t.Context(), func(*contract.DocumentURL) {})
		if err != nil {
			t.Fatal(err)
		}
		keys, omitted, err := u.storeLists(t.Context(), testDir, len(view.inline), contract.MaxURLLists,
			func(*contract.DocumentURL) {})
		if err != nil || omitted != 0 {
			t.Fatalf("%d left out, %v", omitted, err)
		}
		d := &contract.Document{URLs: view.inline, URLsFiles: keys}
		if n := len(encode(d)); n > contract.MaxInlineBytes*2 {
			t.Errorf("URLs of %d bytes: the document has %d bytes", length, n)
		}
		var got []string
		for e, err := range s.entries(t.Context(), d) {
			if err != nil {
				t.Fatal(err)
			}
			got = append(got, e.URL)
		}
		want := make([]string, len(added))
		for i := range added {
			want[i] = added[i].URL
		}
		if !slices.Equal(got, want) {
			t.Errorf("URLs of %d bytes: %d of %d are there, in order or not", length, len(got), len(want))
		}
		for _, key := range keys {
			o, err := s.Head(t.Context(), key)
			if err != nil || o.Size > contract.MaxInlineBytes*2 {
				t.Errorf("a list has %d bytes, %v", o.Size, err)
			}
		}
	}
}

// TestURLs_ListsAreCapped: beyond their limit URLs are counted, once while nothing else changes.
func TestURLs_ListsAreCapped(t *testing.T) {
	s := newStore(r2.NewMemory(), nil, fetch.NewLimiter(fetch.MaxConnections))
	u := &union{s, nil, numbered(4*contract.MaxInlineURLs+7, 0)}
	keys, omitted, err := u.storeLists(t.Context(), testDir, contract.MaxInlineURLs, 2, func(*contract.DocumentURL) {})
	if err != nil || len(keys) != 2 || omitted != contract.MaxInlineURLs+7 {
		t.Errorf("%d lists, %d left out, %v", len(keys), omitted, err)
	}
}

// TestDocument_RawFilesAreCapped: of very many raw files the lowest are named, in any order of arrival.
func TestDocument_RawFilesAreCapped(t *testing.T) {
	message := func(n int) *contract.DomainMessage {
		return &contract.DomainMessage{Domain: "example.com",
			SourceFilePath: fmt.Sprintf("raw/country=sg/category=news/date=2026-01-28/raw_%04d.json", n)}
	}
	up, down := (*contract.Document)(nil), (*contract.Document)(nil)
	const n = contract.MaxRawFiles + 200
	for i := range n {
		up = compose(up, message(i+1), &overview{})
		down = compose(down, message(n-i), &overview{})
	}
	if !slices.Equal(up.Source.RawFilePaths, down.Source.RawFilePaths) ||
		len(up.Source.RawFilePaths) != contract.MaxRawFiles || up.Source.RawFilePath != message(1).SourceFilePath {
		t.Errorf("%d and %d raw files, the first %s", len(up.Source.RawFilePaths), len(down.Source.RawFilePaths),
			up.Source.RawFilePath)
	}
	if up.Source.Omitted != 200 || down.Source.Omitted != 200 {
		t.Errorf("%d and %d left out, want 200", up.Source.Omitted, down.Source.Omitted)
	}
	var shown map[string]any
	if err := json.Unmarshal(bytes.TrimSpace(encode(up)), &shown); err != nil ||
		shown["source"].(map[string]any)["raw_file_paths_omitted"] != 200.0 {
		t.Errorf("source %v, %v", shown["source"], err)
	}
}

// TestURLs_TextsAreTruncated: what Research says of a URL is bounded too.
func TestURLs_TextsAreTruncated(t *testing.T) {
	long := strings.Repeat("제목", 10_000)
	for _, e := range documentURLs([]contract.URL{{URL: "https://example.com/", Title: &long, DiscoveryMethod: &long,
		Language: &long, DiscoveredAt: &long}}, "raw_0001") {
		for _, s := range []*string{e.Title, e.DiscoveryMethod, e.Language, e.DiscoveredAt} {
			if s == nil || len(*s) > contract.MaxTextBytes || !strings.HasPrefix(*s, "제목") {
				t.Errorf("a text of %d bytes", len(*s))
			}
		}
	}
}
