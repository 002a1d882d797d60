// Package info is the domain of the news feed: articles, how descriptions from many sources become one, topics, and
// paging. It fetches and stores nothing; the packages below it do.
package info

import (
	"crypto/md5"
	"encoding/hex"
	"strings"
	"time"

	"github.com/newsfork/seed-engine/markup"
)

// Sources, as in Article.Source and in the API's filter.
const (
	Naver    = "naver"
	NewsData = "newsdata"
	Feed     = "feed" // RSS, Atom, JSON Feed and news sitemaps of a configured list
	Seed     = "seed" // the Seed Engine's feed
)

// Sources lists all sources in the order of the API.
var Sources = []string{Naver, NewsData, Feed, Seed}

// Category is the topic of an article.
type Category string

// The topics of the decision record, which topics.json has unless it was replaced.
const (
	Environment Category = "environment"
	Energy      Category = "energy"
	AI          Category = "ai"
)

const (
	// All is every article, including those without a topic. No article has it as its category.
	All Category = "all"
)

// Article is a news article. Times have millisecond precision, as cursors do.
type Article struct {
	ID            string // unique; letters, digits, "-" and "_"
	Key           string // equal for all spellings of the URL
	URL           string // as the source gave it, byte for byte
	Title         string // plain text
	Snippet       string // plain text, or ""
	Source        string // one of Sources
	SourceName    string // of the publisher
	SourceIconURL string // "" if unknown, as the URLs below
	ThumbnailURL  string
	VideoURL      string
	PublishedAt   time.Time // never changes once stored
	Category      Category  // "" if no topic fits
	Evidence      []Match   // why Category was chosen
	Keywords      []string  // as the source gave them
	AITag         string    // topic from the source's own model, or ""
}

// Limits of an article. Longer texts are cut, longer URLs dropped.
const (
	MaxTitle    = 500  // characters
	MaxSnippet  = 2000 // characters
	MaxName     = 200  // characters
	MaxURL      = 2048 // bytes
	MaxKeywords = 30
	maxKeyword  = 100 // characters
	maxID       = 64  // bytes
)

// Key returns the form in which URLs are compared: canonical (see markup.AppendCanonical), without scheme, leading
// "www." and final slash, on which sources differ. Fragments count only if they are routes. It returns "" for anything
// but http and https URLs.
func Key(url string) string {
	absolute, ok := markup.Resolve("", []byte(url)) // percent-encodes
	if !ok {
		return ""
	}
	b, ok := markup.AppendCanonical(nil, []byte(absolute))
	if !ok {
		return ""
	}
	_, key, _ := strings.Cut(string(b), "://")
	key = strings.TrimPrefix(key, "www.")
	path, query, hasQuery := strings.Cut(key, "?")
	path = strings.TrimRight(path, "/")
	if hasQuery {
		path += "?" + query
	}
	return path + route(absolute)
}

// route returns the fragment of a URL that names a page of a program in the browser ("#/" or "#!"), or "".
func route(url string) string {
	_, fragment, _ := strings.Cut(url, "#")
	if len(fragment) > 1 && (fragment[0] == '/' || fragment[0] == '!') {
		return "#" + fragment
	}
	return ""
}

// idOf derives an id from a URL as the original service did, so that its articles keep their ids.
func idOf(source, url string) string {
	sum := md5.Sum([]byte(url))
	return source + "_" + hex.EncodeToString(sum[:])[:12]
}

// IsID reports whether s can be the id of an article.
func IsID(s string) bool { return validID(s) }

// validID reports whether an id can be part of a cursor.
func validID(id string) bool {
	return id != "" && len(id) <= maxID &&
		strings.Trim(id, "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_-") == ""
}
