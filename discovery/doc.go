// Package discovery finds out which URLs of a domain matter, how much each is worth to a reader of news, and how it
// should be fetched. It sends no requests.
//
// # How a sighting becomes a listed URL
//
// A [Sighting], a URL as some place names it, becomes a record of what is known of the URL, and part of a pattern,
// which generalises URLs that are alike. A URL that is good enough for a bounded list is a candidate, with its scores.
// The best candidates are ranked as an editor would rank them, and the first of those are listed in the [Discovery].
// Files bear the name of their stage.
//
// # Files
//
//   - analyser.go: the [Analyser] takes each URL through all stages, and excludes traps, assets and what robots.txt or
//     operators forbid
//   - sighting.go: the [Sighting], and the rank of the ways to find a URL
//   - sighting_hint.go: what a sitemap says about the changes and the priority of a URL
//   - sighting_url.go: brings URLs into their canonical form
//   - sighting_page.go: takes URLs apart
//   - sighting_segment.go: what segments are: words, titles, numbers, years, languages
//   - record.go: the table of all URLs, with what it takes to correct the counts when one is found again
//   - record_source.go: languages and spellings of URLs in the places that list them
//   - record_text.go: titles of pages, and the links of the menu
//   - pattern.go: the tree of patterns
//   - pattern_site.go: the type of a page, from the other pages of its pattern
//   - pattern_probe.go: chooses pages to fetch, each of which shows the type of all pages of its pattern
//   - pattern_frequency.go: how often the pages of a pattern change
//   - pattern_government.go: the patterns to expect of a government
//   - candidate.go: the candidate, and the order of candidates
//   - candidate_shape.go: classifies many URLs by what they have in common
//   - candidate_score.go: the formulas of all scores
//   - candidate_scorer.go: scores pages by class, date and host
//   - candidate_authority.go: scores hosts
//   - candidate_best.go: bounded lists of the best candidates
//   - ranked.go: puts the best candidates into the order of an editor
//   - listed.go: assesses and describes the URLs and patterns of the Discovery
//   - listed_document.go: the types of the [Discovery] and the [FetchContract]
//   - listed_json.go: writes a Discovery as JSON
//   - listed_category.go: counts all URLs by type
//   - listed_strategy.go: recommends what to crawl
//   - listed_entry.go: the FetchContract with its entry points
//   - listed_observe.go: adds what scrapers saw of pages
//   - listed_pages.go: chooses the pages that go into the frontier
//   - listed_strike.go: removes excluded URLs from what is listed
//   - look.go: answers questions about single URLs
//   - look_parts.go: says in words what a priority is the sum of
//   - crawl.go: chooses the pages that a collection looks at
//   - state.go: stores an analysis, so that a later one can go on with it
package discovery
