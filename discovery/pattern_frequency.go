package discovery

import (
	"cmp"
	"math"
	"slices"
	"time"

	"github.com/newsfork/seed-engine/classify"
)

// minDates is the number of distinct dates needed to compute a frequency.
const minDates = 5

// frequency computes how often pages change from the dates of their last changes. With fewer than minDates the hint of
// a sitemap decides, or else the type.
func frequency(dates []uint32, now time.Time, t classify.Type, h Hint) Frequency {
	return frequencyOf(rhythm(dates, now), t, h)
}

// frequencyOf is frequency for pages of a rhythm.
func frequencyOf(rhythm Frequency, t classify.Type, h Hint) Frequency {
	return cmp.Or(rhythm, h.frequency(), usualFrequency(t))
}

// rhythm returns the frequency of changes from their dates alone, or "" for fewer than minDates. Dates are seconds
// since 1970, ascending, plausible and distinct: a site that gives all pages the same date says nothing.
func rhythm(dates []uint32, now time.Time) Frequency {
	if len(dates) < minDates {
		return ""
	}
	if newest := time.Unix(int64(dates[len(dates)-1]), 0); now.Sub(newest) > 2*365*day {
		return Static
	}
	gaps := make([]uint32, len(dates)-1)
	for i := range gaps {
		gaps[i] = dates[i+1] - dates[i]
	}
	if variation(gaps) > 2 {
		return Irregular
	}
	slices.Sort(gaps)
	median := time.Duration(gaps[len(gaps)/2]) * time.Second
	if len(gaps)%2 == 0 {
		median = (median + time.Duration(gaps[len(gaps)/2-1])*time.Second) / 2
	}
	return frequencyEvery(median)
}

// frequencyEvery returns the frequency of changes that are so far apart.
func frequencyEvery(apart time.Duration) Frequency {
	switch {
	case apart <= 3*time.Hour:
		return RealTime
	case apart <= 36*time.Hour:
		return Daily
	case apart <= 10*day:
		return Weekly
	case apart <= 45*day:
		return Monthly
	case apart <= 120*day:
		return Quarterly
	case apart <= 400*day:
		return Yearly
	}
	return Irregular
}

// variation is the coefficient of variation: the standard deviation divided by the mean.
func variation(gaps []uint32) float64 {
	var sum, squares float64
	for _, g := range gaps {
		sum += float64(g)
		squares += float64(g) * float64(g)
	}
	n := float64(len(gaps))
	mean := sum / n
	return math.Sqrt(max(squares/n-mean*mean, 0)) / mean
}

// usualFrequency is the usual frequency of pages of a type.
func usualFrequency(t classify.Type) Frequency {
	switch t {
	case classify.News:
		return Daily
	case classify.PressRelease, classify.Announcement:
		return Weekly
	case classify.Report:
		return Quarterly
	}
	return Irregular
}

// intervalMinutes is the time after which a scraper should fetch again.
func intervalMinutes(f Frequency) int {
	switch f {
	case RealTime:
		return 90
	case Daily:
		return 720
	case Weekly:
		return 2880
	case Monthly:
		return 10_080
	case Quarterly:
		return 20_160
	case Yearly:
		return 43_200
	case Static:
		return 129_600
	}
	return 4320 // Irregular
}
