package discovery

import (
	"slices"
	"time"
)

// Sighting is a URL as it was found in one place.
type Sighting struct {
	Loc     []byte    // absolute; read during the call only
	Lastmod time.Time // zero when there is none
	Method  Method
	Source  SourceID // the entry point that lists it; zero for none
	Hint    Hint     // of the sitemap that lists it
	// The text by which it is known, and the language of the page, if any; read during the call only.
	Title    []byte
	Language string
}

// methods are the ways to find a URL, the best last; the index of a method is its rank. Rank 0 is
// for URLs that were excluded.
var methods = [...]Method{"", Generated, FromLink, FromSitemap, FromResearch, FromNewsSitemap, FromFeed}

func rankOf(m Method) uint8 { return uint8(max(slices.Index(methods[:], m), 1)) }

// isArticleRank reports whether the rank is that of feeds and news sitemaps: they list articles.
func isArticleRank(rank uint8) bool { return rank >= rankOf(FromNewsSitemap) }
