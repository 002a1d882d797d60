// Package info is the news feed's own logic: what an article is, how the descriptions of many sources
// become one, which topic it belongs to, and how readers page through all of them. It fetches and stores
// nothing; the packages below it do.
package info

import (
	"crypto/md5"
	"encoding/hex"
	"strings"
	"time"

	"github.com/newsfork/seed-engine/markup"
)

// The sources, as they stand in Article.Source and in the API's filter.
const (
	Naver    = "naver"
	NewsData = "newsdata"
	Feed     = "feed" // RSS, Atom, JSON Feed and news sitemaps of a configured list
	Seed     = "seed" // what the Seed Engine found
)

// Sources are all of them, in the order in which they are shown.
var Sources = []string{Naver, NewsData, Feed, Seed}

// Category is the topic of an article.
type Category string

const (
	Environment Category = "environment"
	Energy      Category = "energy"
	AI          Category = "ai"
	// All is the feed of every article, also of those without a topic. It is no article's category.
	All Category = "all"
)

// Categories are the topics, in the order of the API; of two that fit equally the first one wins.
var Categories = []Category{Environment, Energy, AI}

// Article is one article. Times have millisecond precision, since cursors do.
type Article struct {
	ID            string // unique; letters, digits, "-" and "_"
	Key           string // equal for all spellings of the URL
	URL           string // as the source gave it, byte for byte
	Title         string // plain text
	Snippet       string // plain text, "" when there is none
	Source        string // one of Sources
	SourceName    string // of the publisher
	SourceIconURL string // "" when unknown, as the URLs below
	ThumbnailURL  string
	VideoURL      string
	PublishedAt   time.Time // never changes once stored
	Category      Category  // "" when no topic fits
	Evidence      []Match   // what Category was decided by
	Keywords      []string  // as the source gave them
	AITag         string    // the topic that the source's own model gave, "" when there is none
}

// Limits of an article. What is longer is cut (texts) or dropped (URLs).
const (
	MaxTitle    = 500  // characters
	MaxSnippet  = 2000 // characters
	MaxName     = 200  // characters
	MaxURL      = 2048 // bytes
	MaxKeywords = 30
	maxKeyword  = 100 // characters
	maxID       = 64  // bytes
)

// Key returns the form in which URLs are compared, "" for what is no http or https URL: canonical
// (see markup.AppendCanonical), and without scheme, leading "www." and final slash, which sources
// write or leave out as they please.
func Key(url string) string {
	absolute, ok := markup.Resolve("", []byte(url)) // percent-encodes what is not
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
		return path + "?" + query
	}
	return path
}

// idOf derives an id from a URL, as the original service did, so that its articles keep theirs.
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
