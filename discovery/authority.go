package discovery

import "github.com/newsfork/seed-engine/discovery/internal/urltext"

// authority is how much weight the word of a host has.
func authority(host string) float64 {
	switch urltext.SectorOf(host) {
	case urltext.Government:
		return 1
	case urltext.Education:
		return 0.8
	case urltext.Organisation:
		return 0.6
	}
	return 0.4
}
