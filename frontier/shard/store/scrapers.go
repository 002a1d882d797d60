package store

import (
	"github.com/newsfork/seed-engine/epoch"
	"github.com/newsfork/seed-engine/frontier"
)

// maxScrapers caps the scrapers that a shard counts. A new one replaces the one that was idle for longest.
const maxScrapers = 16

// Scraper returns the counts of a scraper that leases or reports now.
func (s *State) Scraper(name string, now epoch.Seconds) *frontier.ScraperCounts {
	oldest := 0
	for i := range s.Scrapers {
		c := &s.Scrapers[i]
		if c.Name == name {
			c.Last = max(c.Last, now)
			return c
		}
		if c.Last < s.Scrapers[oldest].Last {
			oldest = i
		}
	}
	if len(s.Scrapers) < maxScrapers {
		oldest = len(s.Scrapers)
		s.Scrapers = append(s.Scrapers, frontier.ScraperCounts{})
	}
	s.Scrapers[oldest] = frontier.ScraperCounts{Name: name, First: now, Last: now}
	return &s.Scrapers[oldest]
}

// appendScrapers packs the counts of scrapers.
func appendScrapers(b []byte, list []frontier.ScraperCounts) []byte {
	for i := range list {
		c := &list[i]
		b = appendString(b, c.Name)
		for _, v := range [...]int64{int64(c.First), int64(c.Last), c.Leased, c.Fetched, c.Failed} {
			b = appendUint(b, v)
		}
	}
	return b
}

// decodeScrapers unpacks what appendScrapers packed.
func decodeScrapers(text string) (list []frontier.ScraperCounts, err error) {
	d := decode([]byte(text))
	for d.err == nil && d.at < len(d.text) && len(list) < maxScrapers {
		list = append(list, frontier.ScraperCounts{Name: d.string(), First: d.seconds(), Last: d.seconds(),
			Leased: d.int(), Fetched: d.int(), Failed: d.int()})
	}
	return list, d.err
}
