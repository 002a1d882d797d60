package discovery

import "github.com/newsfork/seed-engine/classify/hosts"

// authority is the authority of a host as a source, by its sector.
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
