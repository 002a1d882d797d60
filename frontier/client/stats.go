package client

import (
	"cmp"
	"context"
	"slices"

	"github.com/newsfork/seed-engine/epoch"
	"github.com/newsfork/seed-engine/frontier"
)

// AllStats counts what all shards have.
type AllStats struct {
	Total  frontier.Stats // of the shards that answered
	Shards []ShardStats
}

// ShardStats counts what one shard has.
type ShardStats struct {
	Name     string
	Answered bool // otherwise the numbers are missing
	frontier.Stats
}

// Stats counts what all shards have, the empty ones included. It is an error only if none answers.
func (r Frontier) Stats(ctx context.Context) (AllStats, error) {
	all := AllStats{Shards: make([]ShardStats, r.Shards)}
	answered := 0
	errs := each(r.Shards, func(n int) (err error) {
		s := &all.Shards[n]
		s.Name = shardName(n)
		s.Stats, err = r.Shard(n).Stats(ctx)
		s.Answered = err == nil
		return err
	})
	for i := range all.Shards {
		if all.Shards[i].Answered {
			answered++
			addStats(&all.Total, &all.Shards[i].Stats)
		}
	}
	if answered == 0 {
		return all, errSilent("frontier.Stats", errs...)
	}
	return all, nil
}

// addStats adds what another shard counts.
func addStats(s, other *frontier.Stats) {
	s.Hosts += other.Hosts
	s.URLs += other.URLs
	s.Entries += other.Entries
	s.Leased += other.Leased
	s.Answered, s.Refreshed = s.Answered+other.Answered, s.Refreshed+other.Refreshed
	s.Found = mergeFound(s.Found, other.Found)
	s.Scrapers = mergeScrapers(s.Scrapers, other.Scrapers)
	s.Done += other.Done
	s.Failed += other.Failed
	s.Answers += other.Answers
	s.Faults += other.Faults
	s.Bytes += other.Bytes
	s.Quarantined, s.Withheld = s.Quarantined+other.Quarantined, s.Withheld+other.Withheld
	s.Scheduled, s.Revisited = s.Scheduled+other.Scheduled, s.Revisited+other.Revisited
	s.Threshold = max(s.Threshold, other.Threshold)
	for lane := range frontier.Lanes {
		s.Due[lane] += other.Due[lane]
		if at := other.OldestDue[lane]; at > 0 && (s.OldestDue[lane] == 0 || at < s.OldestDue[lane]) {
			s.OldestDue[lane] = at
		}
	}
}

// mergeScrapers adds up the scrapers of two shards, by name.
func mergeScrapers(a, b []frontier.ScraperCounts) []frontier.ScraperCounts {
	for _, c := range b {
		at, known := slices.BinarySearchFunc(a, c.Name,
			func(s frontier.ScraperCounts, name string) int { return cmp.Compare(s.Name, name) })
		if !known {
			a = slices.Insert(a, at, c)
			continue
		}
		s := &a[at]
		s.First, s.Last = min(s.First, c.First), max(s.Last, c.Last)
		s.Leased, s.Fetched, s.Failed = s.Leased+c.Leased, s.Fetched+c.Fetched, s.Failed+c.Failed
	}
	return a
}

// mergeFound adds up the hours of two shards.
func mergeFound(a, b []frontier.FoundHour) []frontier.FoundHour {
	for _, h := range b {
		at, known := slices.BinarySearchFunc(a, h.Hour,
			func(f frontier.FoundHour, hour epoch.Millis) int { return cmp.Compare(f.Hour, hour) })
		if !known {
			a = slices.Insert(a, at, frontier.FoundHour{Hour: h.Hour, Types: map[string]int64{}})
		}
		for name, n := range h.Types {
			a[at].Types[name] += n
		}
	}
	return a
}
