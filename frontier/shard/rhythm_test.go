package shard

import (
	"math"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/newsfork/seed-engine/frontier/shard/store"
)

// rhythmRule chooses the time until the next look at a feed, after one that found items.
type rhythmRule interface {
	next(after time.Duration, items int) time.Duration
}

// fifths is the rule of many crawlers: 20 % sooner after a change, else 50 % later.
type fifths struct{ interval time.Duration }

func (f *fifths) next(_ time.Duration, items int) time.Duration {
	if items > 0 {
		f.interval = f.interval * 4 / 5
	} else {
		f.interval = f.interval * 3 / 2
	}
	f.interval = bounded(f.interval)
	return f.interval
}

// patient is the shard's own rule.
type patient struct {
	rhythm   store.Rhythm
	interval time.Duration
}

func (p *patient) next(after time.Duration, items int) time.Duration {
	p.rhythm.Observe(after, p.interval, items)
	p.interval = bounded(intervalOf(&p.rhythm, leastLook))
	return p.interval
}

const leastLook = 90 * time.Minute

func bounded(d time.Duration) time.Duration { return min(max(d, leastLook), 90*day) }

// published draws when a site publishes: by day more than by night, and on working days more than at weekends.
func published(rng *rand.Rand, perDay float64, days int) (at []time.Duration) {
	const peak = 3.2
	for hours := 0.0; perDay > 0; {
		hours += rng.ExpFloat64() * 24 / (perDay * peak)
		if hours >= float64(24*days) {
			break
		}
		share := 2.25
		if h := math.Mod(hours, 24); h < 8 || h >= 20 {
			share *= 0.12
		}
		if int(hours/24)%7 >= 5 {
			share *= 0.3
		}
		if rng.Float64() < share/peak {
			at = append(at, time.Duration(hours*float64(time.Hour)))
		}
	}
	return at
}

// TestRhythm_FindsSooner compares with the rule of many crawlers, over sites as day_test has them: for as many looks,
// articles are found at least a fifth sooner. Half as many looks take twice as long.
func TestRhythm_FindsSooner(t *testing.T) {
	const days, settling = 50, 14 * day
	for seed := range uint64(3) {
		rng := rand.New(rand.NewPCG(seed, 15))
		var looks, delays [2]float64
		for range 400 {
			perDay, draw := 0.0, rng.IntN(100)
			for _, r := range []struct {
				share  int
				perDay float64
			}{{10, 24}, {50, 1}, {80, 1.0 / 7}} {
				if draw < r.share {
					perDay = r.perDay * math.Exp(0.7*rng.NormFloat64())
					break
				}
			}
			articles := published(rng, perDay, days)
			first := bounded(time.Duration(float64(12*time.Hour) / max(perDay, 0.01)))
			for i, rule := range []rhythmRule{&fifths{first}, &patient{interval: first}} {
				at, last, found := first, time.Duration(0), 0
				for at < days*day {
					items := 0
					for ; found < len(articles) && articles[found] <= at; found++ {
						if items++; articles[found] > settling {
							delays[i] += (at - articles[found]).Hours()
						}
					}
					if at > settling {
						looks[i]++
					}
					after := at - last
					last = at
					at += rule.next(after, items)
				}
				for ; found < len(articles); found++ {
					delays[i] += (days*day - articles[found]).Hours()
				}
			}
		}
		t.Logf("seed %d: %.2f of the looks, %.2f of the delay", seed, looks[1]/looks[0], delays[1]/delays[0])
		if looks[1] > 1.5*looks[0] || looks[1]*delays[1] > 0.8*looks[0]*delays[0] {
			t.Error("that is too much")
		}
	}
}
