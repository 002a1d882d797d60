package shard_test

import (
	"fmt"
	"testing"

	"github.com/newsfork/seed-engine/frontier"
	"github.com/newsfork/seed-engine/frontier/client"
	"github.com/newsfork/seed-engine/frontier/placement"
)

// TestStats_FoundLately: what was announced within 24 hours is counted by hour and type, without a row more; what was
// seen before is not, and what is older is forgotten.
func TestStats_FoundLately(t *testing.T) {
	s := newLogs(t, 3)
	all := client.Frontier{Caller: s, Shards: 3}
	put := func(domain, path, kind string) {
		w := s.worlds[placement.ShardOf(domain, 3)]
		w.put(domain, []frontier.NewPage{{URL: "https://" + domain + path, Type: kind, Fresh: true}})
	}
	lately := func() (text string) {
		stats, err := all.Stats(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		for _, h := range stats.Total.Found {
			text += fmt.Sprint((h.Hour-noon)/3_600_000, h.Types, " ")
		}
		return text
	}
	if got := lately(); got != "" {
		t.Error(got)
	}
	for i := range 9 {
		put(fmt.Sprintf("a%d.example", i), "/1", "news")
	}
	put("a1.example", "/1", "news") // again
	put("a1.example", "/2", "event")
	s.wait(3_600_000)
	put("a2.example", "/3", "no type")
	s.wait(22 * 3_600_000)
	put("a3.example", "/4", "news")
	if got := lately(); got != "0 map[event:1 news:9] 1 map[unknown:1] 23 map[news:1] " {
		t.Error(got)
	}
	s.wait(2 * 3_600_000)
	if got := lately(); got != "23 map[news:1] " {
		t.Error(got)
	}
}
