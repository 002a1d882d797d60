package main

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/newsfork/seed-engine/contract"
)

func sampleFeed() []contract.FeedItem {
	item := func(n int, kind, title string, found string) contract.FeedItem {
		return contract.FeedItem{Event: "new",
			URL: fmt.Sprintf("https://news.example/2026/story-%d", n), Domain: "news.example", Host: "news.example",
			Title: contract.Text(title), Type: kind, Priority: 0.81,
			LastMod: ptr(at("09:20:00")), FoundAt: at(found), FoundBy: ptr("feed"), Partition: sg,
		}
	}
	return []contract.FeedItem{item(1, "news", "Minister opens bridge", "09:21:07"),
		item(2, "press_release", "", "09:24:40")}
}

func sampleChanges() []contract.ContractChange {
	change := func(domain string, revision int, reachable bool) contract.ContractChange {
		return contract.ContractChange{Domain: domain, Partition: sg, Revision: revision, ChangedAt: at("09:21:07"),
			Reachable: reachable,
			Key:       contract.DomainDir{Partition: sg, Domain: domain}.Document()}
	}
	return []contract.ContractChange{change("mom.gov.sg", 3, true), change("news.example", 1, false)}
}

// followed returns the entries after a cursor, which counts entries.
func followed[T any](query url.Values, all []T) (some []T, next string, more bool) {
	some, cursor := pageOf(query, all)
	if next = fmt.Sprint(len(all)); cursor != nil {
		next = *cursor
	}
	return some, next, cursor != nil
}

func (e *playedEngine) feed(r *http.Request) (int, any) {
	items, next, more := followed(r.URL.Query(), sampleFeed())
	return 200, contract.FeedPage{Items: items, NextCursor: next, HasMore: more, Followed: e.lacks}
}

func (e *playedEngine) changes(r *http.Request) (int, any) {
	items, next, more := followed(r.URL.Query(), sampleChanges())
	return 200, contract.ChangesPage{Items: items, NextCursor: next, HasMore: more, Followed: e.lacks}
}

// TestFeed_MissingShards: shards that did not answer, and a cursor that is too old, once each.
func TestFeed_MissingShards(t *testing.T) {
	e := newEngine(t)
	e.lacks = contract.Followed{Unavailable: []string{"shard-3", "shard-7"}, Expired: true}
	for _, command := range []string{"feed", "changes"} {
		code, out, errOut := seedctl("", command, "--limit", "0")
		if code != exitOK || out == "" || strings.Count(errOut, "shard-3, shard-7 did not answer") != 1 ||
			strings.Count(errOut, "something after it is gone") != 1 {
			t.Errorf("%s: %d, %q, %q", command, code, out, errOut)
		}
	}
}

// TestFeed_Follows: a run goes on where the one before ended, by the cursor or by its file.
func TestFeed_Follows(t *testing.T) {
	newEngine(t)
	file := filepath.Join(t.TempDir(), "cursor")
	urls := func(out string) (urls []string) {
		for line := range strings.Lines(out) {
			var i contract.FeedItem
			if err := json.Unmarshal([]byte(line), &i); err != nil {
				t.Fatal(err)
			}
			urls = append(urls, i.URL)
		}
		return urls
	}
	for n, want := range []int{1, 1, 0} {
		code, out, errOut := seedctl("", "feed", "--limit", "1", "--json", "--cursor-file", file)
		if code != exitOK || len(urls(out)) != want {
			t.Errorf("run %d: %d %q %q", n, code, out, errOut)
		}
	}
	if kept, err := os.ReadFile(file); err != nil || string(kept) != "2\n" {
		t.Errorf("%q %v", kept, err)
	}
	if _, _, errOut := seedctl("", "feed", "--limit", "1"); !strings.Contains(errOut, "--cursor 1 goes on") {
		t.Errorf("%q", errOut)
	}
	if code, out, _ := seedctl("", "feed", "--cursor", "1"); code != exitOK || !strings.Contains(out, "story-2") ||
		strings.Contains(out, "story-1") {
		t.Errorf("%d %s", code, out)
	}
}
