package store

import (
	"math/bits"

	"github.com/newsfork/seed-engine/frontier"
)

// bandFloors are the least scores of bands 0, 1 and 2, in thousandths.
var bandFloors = [frontier.Bands - 1]int{800, 600, 400}

func bandOf(score int) int {
	for b, floor := range bandFloors {
		if score >= floor {
			return b
		}
	}
	return frontier.Bands - 1
}

// ageShare is the share of timeliness in a priority: 0.5 (news value) × 0.3 (timeliness).
const ageShare = 150

// timeliness returns the share of a page's date in its score at now, in thousandths:
// the table of news value (1 day 1.0, 7 days 0.8, 30 days 0.6, 90 days 0.4, older 0.2, no date 0.3)
// times ageShare. Times are seconds.
func timeliness(lastmod, now int64) int {
	const day = 86_400
	tenths := 2
	switch age := now - lastmod; {
	case lastmod == 0:
		tenths = 3
	case age <= day:
		tenths = 10
	case age <= 7*day:
		tenths = 8
	case age <= 30*day:
		tenths = 6
	case age <= 90*day:
		tenths = 4
	}
	return ageShare * tenths / 10
}

// turns is the length of the selector's period.
const Turns = 1<<frontier.Bands - 1

// BandOfTurn chooses a front queue: in 15 turns 8 for band 0, 4 for band 1, 2 for band 2, 1 for
// band 3, as evenly spread as on a ruler. So a higher band is chosen more often, and none starves.
func BandOfTurn(turn int) int {
	return bits.TrailingZeros(uint(turn%Turns) + 1)
}
