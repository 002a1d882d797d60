package store

import (
	"math/bits"

	"github.com/newsfork/seed-engine/contract"
	"github.com/newsfork/seed-engine/epoch"
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

// timeliness returns the share of a page's date in its score at now, in thousandths.
func timeliness(lastmod, now epoch.Seconds) int {
	share := contract.Undated
	if lastmod != 0 {
		share = contract.Timeliness(now.Sub(lastmod))
	}
	return int(ageShare*share + 0.5)
}

// Turns is the period of the selector, see BandOfTurn.
const Turns = 1<<frontier.Bands - 1

// BandOfTurn chooses a front queue: in 15 turns 8 for band 0, 4 for band 1, 2 for band 2, 1 for
// band 3, as evenly spread as on a ruler. So a higher band is chosen more often, and none starves.
func BandOfTurn(turn int) int {
	return bits.TrailingZeros(uint(turn%Turns) + 1)
}
