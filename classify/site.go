package classify

import "math"

// Site is the evidence of a site's other pages about a page: for each class the log-odds that they add. Only the
// differences count.
type Site [Classes]float64

// The weight of a page's neighbours. They are no independent witnesses: a layout that misleads the classifier
// misleads it every time. So their share counts for a part of its logarithm, and a few of them for little.
const (
	neighbourWeight   = 0.9
	neighbourDoubt    = 6 // pages of all classes that are imagined beside them
	neighbourFurthest = 6 // below the class that most of them have
)

// Lean returns what the classes of the pages beside a page say about it: as many pages of each class as n counts.
// Pages of class Unknown say nothing unless there are others that say something.
func Lean(n *[Classes]int32) (s Site) {
	unknown, _ := ClassOf(Unknown)
	sum := int32(0)
	for c, k := range n {
		if Class(c) != unknown {
			sum += k
		}
	}
	if sum == 0 {
		return s
	}
	counts := *n
	counts[unknown] = min(counts[unknown], sum)
	sum += counts[unknown]
	top := math.Inf(-1)
	for c, k := range counts {
		share := (float64(k) + neighbourDoubt/float64(Classes)) / (float64(sum) + neighbourDoubt)
		s[c] = neighbourWeight * math.Log(share)
		top = max(top, s[c])
	}
	for c := range s {
		s[c] = max(s[c]-top, -neighbourFurthest)
	}
	return s
}

// Best returns the class that s makes most probable, the first of equals.
func (s *Site) Best() Class {
	best := 0
	for c := range s {
		if s[c] > s[best] {
			best = c
		}
	}
	return Class(best)
}

// newsListWeight is the log-odds, by class, that a page listed by a news feed has it; unlisted is the same for other
// classes.
var newsListWeight = byClass(map[Type]float64{News: 1, PressRelease: 0.8, Announcement: 0.4, Multimedia: 0.2, Event: 0,
	Unknown: -2}, unlisted)

const unlisted = -1

// byClass returns numbers by class, with rest for the types that have none.
func byClass(byType map[Type]float64, rest float64) (numbers [Classes]float64) {
	for c, t := range types {
		x, ok := byType[t]
		if !ok {
			x = rest
		}
		numbers[c] = x
	}
	return numbers
}

// Vouch adds that a list of news has the page, or pages like it: weight is 1 for a news sitemap, less for a feed.
func (s *Site) Vouch(weight float64) {
	for c, x := range newsListWeight {
		s[c] += weight * x
	}
}

// streamWeight is less than the weight of a feed, since pages that are edited one by one may be dated day by day, too.
const streamWeight = 2

// streaming is the extent to which a class consists of items that appear day by day, rather than of pages that are
// edited.
var streaming = byClass(map[Type]float64{
	News: 1, PressRelease: 1, Announcement: 1, Event: 1,
	Publication: 0.5, Report: 0.5, Statistics: 0.5, Multimedia: 0.5, Regulation: 0.5,
}, 0)

// undatedWeight outweighs the one word of a section, such as "employment", by which all its pages look like notices.
const undatedWeight = 4

// Undated adds that none of the pages beside it has a date though the site dates others: they are no notices, which
// have their day.
func (s *Site) Undated() { s[announcementClass] -= undatedWeight }

var announcementClass, _ = ClassOf(Announcement)

// Stream adds that the pages beside it are dated day by day: weight is 1 where they leave no doubt about that, less
// where they do.
func (s *Site) Stream(weight float64) {
	for c, x := range streaming {
		s[c] += streamWeight * weight * x
	}
}
