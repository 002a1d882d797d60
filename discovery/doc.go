// Package discovery finds out which URLs of a domain matter, how much each is worth to a reader of news, and how it
// should be fetched. It sends no requests.
//
// # How a sighting becomes a listed URL
//
//  1. A Sighting is a URL as a sitemap, feed, page or raw file names it (document.go). urlreader.go brings it into
//     canonical form, page.go, segment.go and shape.go take it apart, and analyser.go excludes traps, assets and what
//     robots.txt or operators forbid.
//  2. A record keeps what it takes to correct the counts when the URL is found again (seen.go); urlsource.go and
//     text.go keep what the places that list it say about it.
//  3. A pattern generalises similar URLs (pattern.go, government.go). site.go holds the evidence that a site's pages
//     are for each other, frequency.go how often they change.
//  4. A candidate is a URL with its scores (candidate.go, score.go, scorer.go, authority.go, hint.go). Bounded lists
//     keep the best of them (best.go, pages.go).
//  5. Ranked candidates stand in the order of an editor (rank.go). category.go counts all URLs by type.
//  6. A listed URL stands in the Discovery (result.go). strategy.go recommends how to crawl, entry.go how to fetch:
//     the
//     FetchContract with its entry points. pages.go chooses what goes into the frontier.
//
// Beside this line, crawl.go chooses pages to look at, strike.go removes excluded URLs from documents, look.go answers
// questions about single URLs, and state.go stores an analysis so that a later merge can go on with it.
package discovery
