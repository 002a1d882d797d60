package discovery

import (
	"math"
	"time"

	"github.com/newsfork/seed-engine/classify"
	"github.com/newsfork/seed-engine/epoch"
	"github.com/newsfork/seed-engine/markup"
)

// The formulas of the scores in the contract; docs/contract.md explains its fields. Every score is between 0 and 1.
// Sums are rounded to three decimals before they are compared, so that decisions agree with the values shown.

func round(x float64) float64 { return math.Round(x*1000) / 1000 }

// relevance is the worth of a type to a reader of news.
func relevance(t classify.Type) float64 {
	switch t {
	case classify.News:
		return 0.9
	case classify.PressRelease:
		return 0.8
	case classify.Announcement:
		return 0.6
	case classify.Policy:
		return 0.5
	}
	return 0
}

// relevanceOf is relevance by class.
var relevanceOf = func() (t [classify.Classes]float64) {
	for c := range t {
		t[c] = relevance(classify.Class(c).Type())
	}
	return t
}()

const day = epoch.Day

// firstPage is markup.FirstPage in seconds since 1970.
var firstPage = markup.FirstPage.Unix()

// accessibility falls with the number of path segments.
func accessibility(depth int) float64 {
	switch {
	case depth <= 2:
		return 1
	case depth <= 4:
		return 0.8
	case depth <= 6:
		return 0.6
	}
	return 0.4
}

// The shares of a news value.
const (
	relevanceShare     = 0.4
	timelinessShare    = 0.3
	authorityShare     = 0.2
	accessibilityShare = 0.1
)

// overall returns the weighted sum of the four parts of a news value.
func overall(v *NewsValue) float64 {
	return round(relevanceShare*v.Relevance + timelinessShare*v.Timeliness + authorityShare*v.Authority +
		accessibilityShare*v.Accessibility)
}

// quality measures how readable a URL is: short, in words, without parameters.
func quality(p *page) float64 {
	q := 1.0
	if p.depth > 3 {
		q -= 0.1 * float64(p.depth-3)
	}
	switch n := p.parameters(); {
	case n > 2:
		q -= 0.2
	case n > 0:
		q -= 0.1
	}
	if !p.hasWord() {
		q -= 0.2
	}
	if p.ext != "" && !pageExtensions[p.ext] {
		q -= 0.1
	}
	if p.isLong() {
		q -= 0.2
	}
	return round(max(q, 0))
}

// methodScore is the score of the way in which a URL was found.
func methodScore(m Method) float64 {
	switch m {
	case FromFeed, FromNewsSitemap:
		return 1
	case FromResearch:
		return 0.9
	case FromSitemap:
		return 0.8
	case FromLink:
		return 0.6
	case Generated:
		return 0.4
	}
	return 0
}

// The weights of a priority, and that of the relevance, by way of the news value.
const (
	valueWeight      = 0.5
	confidenceWeight = 0.2
	qualityWeight    = 0.2
	methodWeight     = 0.1
	relevanceWeight  = valueWeight * relevanceShare
)

// priority returns the weighted sum of news value, confidence of the classification, quality of the URL, and method.
func priority(overall, confidence, quality, method float64) float64 {
	return round(valueWeight*overall + confidenceWeight*confidence + qualityWeight*quality + methodWeight*method)
}

// action returns the action for a priority. Pages for searching, for sending a form and for logging in are never
// above LowPriority.
func action(priority float64, t classify.Type, login bool) Action {
	capped := t == classify.Search || t == classify.Form || login
	switch {
	case priority >= 0.2 && capped:
		return LowPriority
	case priority >= 0.8:
		return ImmediateCrawl
	case priority >= scheduledPriority:
		return ScheduledCrawl
	case priority >= 0.4:
		return PeriodicCheck
	case priority >= 0.2:
		return LowPriority
	}
	return Ignore
}

// scheduledPriority is the least priority of a page that should be fetched soon.
const scheduledPriority = 0.6

// High and medium priority begin here.
const (
	highPriority   = 0.7
	mediumPriority = 0.4
)

// typeWeight is the weight of a type in the crawl.
func typeWeight(t classify.Type) float64 {
	switch t {
	case classify.News:
		return 1
	case classify.PressRelease:
		return 0.9
	case classify.Announcement:
		return 0.8
	case classify.Policy:
		return 0.7
	case classify.Legislation, classify.Regulation, classify.Report, classify.Statistics, classify.Publication:
		return 0.6
	case classify.Event:
		return 0.5
	case classify.FAQ, classify.Guide, classify.Service, classify.Archive:
		return 0.4
	case classify.Unknown:
		return 0.3
	}
	return 0.2
}

// crawlRelevance is the score of a page in the crawl, which keeps those above MinRelevance.
func crawlRelevance(t classify.Type, confidence float64) float64 {
	return round(confidence * typeWeight(t))
}

// patternConfidence grows with the number of URLs that a pattern covers.
func patternConfidence(support int) float64 {
	return round(min(0.9, 0.1+0.1*float64(support)))
}

// feedConfidence is the confidence in a feed or news sitemap: highest when it was read and has an
// item of the last 30 days.
func feedConfidence(read bool, newest, now time.Time) float64 {
	switch {
	case !read:
		return 0.5
	case markup.Plausible(newest, now) && now.Sub(newest) < 30*day:
		return 0.9
	}
	return 0.6
}

// sitemapConfidence is the confidence in a sitemap.
func sitemapConfidence(read bool) float64 {
	if read {
		return 0.7
	}
	return 0.5
}

// listingConfidence is the confidence in a web page that lists others.
func listingConfidence(classification float64) float64 {
	return math.Round(60*classification) / 100
}
