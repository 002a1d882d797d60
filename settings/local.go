package settings

import "time"

// clockReads is how often Local reads the clock before it decides that the clock stands still. A
// millisecond, the resolution of the clock, is a few thousand reads.
const clockReads = 100_000

// Local reports whether the program runs on somebody's own machine, given the platform's clock. On
// Cloudflare's network that stands still until the event waits for something, a measure against
// Spectre that no Worker can turn off; the same runtime started by wrangler or Miniflare has one that
// moves. docs/decisions.md, "Who may call without a token", has the sources.
func Local(now func() time.Time) bool {
	began := now().UnixMilli()
	for range clockReads {
		if now().UnixMilli() != began {
			return true
		}
	}
	return false
}
