package settings

import "time"

// clockReads is the number of readings after which the clock counts as stopped. A millisecond, the clock's
// resolution, is a few thousand reads.
const clockReads = 100_000

// Local reports whether the program runs on somebody's own machine, given the platform's clock. On Cloudflare's
// network the clock stands still until the event waits for something, a measure against Spectre that no Worker can
// turn off. Under wrangler or Miniflare it moves.
// docs/decisions.md, "2026-11-22: A local run needs no token, a deployment does", has the sources.
func Local(now func() time.Time) bool {
	began := now().UnixMilli()
	for range clockReads {
		if now().UnixMilli() != began {
			return true
		}
	}
	return false
}
