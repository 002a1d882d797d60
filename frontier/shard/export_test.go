package shard

import "github.com/newsfork/seed-engine/frontier/link"

// CountLinks counts the URLs that are brought into canonical form until stop is called.
func CountLinks() (count *int, stop func()) {
	count = new(int)
	parseLink = func(url string) (link.URL, bool) {
		*count++
		return link.Parse(url)
	}
	return count, func() { parseLink = link.Parse }
}
