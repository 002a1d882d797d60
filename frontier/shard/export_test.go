package shard

import "github.com/newsfork/seed-engine/frontier"

// CountLinks counts the URLs that are brought into canonical form until stop is called.
func CountLinks() (count *int, stop func()) {
	count = new(int)
	parseLink = func(url string) (frontier.Link, bool) {
		*count++
		return frontier.ParseLink(url)
	}
	return count, func() { parseLink = frontier.ParseLink }
}
