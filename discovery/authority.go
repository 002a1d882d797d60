package discovery

import "github.com/newsfork/seed-engine/classify/hosts"

// authority is how much weight the word of a host has.
func authority(host string) float64 {
	switch hosts.SectorOf(host) {
	case hosts.Government:
		return 1
	case hosts.Education:
		return 0.8
	case hosts.Organisation:
		return 0.6
	}
	return 0.4
}
