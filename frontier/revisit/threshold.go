package revisit

import "math"

// Threshold is the value from which a look is made, in weight·days. It moves until as many pages reach it as the
// budget allows.
type Threshold float64

// Start is the threshold of a shard that has not seen any demand. One that is too high only delays the first looks,
// one that is too low queues what is not worth it.
const Start Threshold = 0.1

// The threshold stays within these bounds, so that an idle month does not take it where it needs weeks to return from.
const (
	lowest  Threshold = 1e-6
	highest Threshold = 1e3
)

// gain is the largest relative change in an hour. Any from 0.01 to 0.2 does as well.
const gain = 0.05

// Adjust returns the threshold for the next hour, after an hour in which demand pages had reached this one, given
// again or not, while the budget was quota pages. Without a budget it stays.
func (t Threshold) Adjust(demand, quota float64) Threshold {
	if quota <= 0 {
		return t
	}
	surplus := (demand - quota) / quota
	return max(lowest, min(highest, t*Threshold(math.Exp(gain*max(-1, min(1, surplus))))))
}
