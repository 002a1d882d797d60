package info

import "time"

// staleAfter is the time since a source's last success after which something must be wrong; for sources collected less
// often, since the next collection was due.
const staleAfter = 15 * time.Minute

// Patience returns the longest acceptable silence of a source with a collection interval.
func Patience(interval time.Duration) time.Duration {
	if interval <= staleAfter {
		return staleAfter
	}
	return interval + staleAfter
}
