package contract

import (
	"strings"
	"unicode/utf8"
)

// Limits of the lists of a document. A field with the suffix _omitted counts what a limit leaves out, and is absent
// if that is nothing. The schema states the same limits.
const (
	// MaxInlineURLs is the number of URLs in the document itself, and in each of the lists of urls_files.
	MaxInlineURLs  = 5000
	MaxInlineBytes = 4 << 20 // of these URLs, and of each list, with their descriptions
	MaxURLLists    = 2000
	MaxRawFiles    = 1000
	MaxSitemapURLs = 500 // Sitemap lines of robots.txt
	// MaxSitemapURLBytes caps URLs of sitemaps: the protocol forbids longer ones
	// (sitemaps.org/protocol.html#locdef).
	MaxSitemapURLBytes  = 2048
	MaxSitemapDocuments = 100
	MaxFeeds            = 20
	MaxContentSignals   = 20
	MaxTDMRules         = 20
	MaxLinkBytes        = 8000 // a URL that is fetched or listed; RFC 9110, 4.1 asks for at least 8,000
	MaxTextBytes        = 500  // error messages, titles of feeds, header fields
)

// ShortText is Text cut to MaxTextBytes of valid UTF-8; a text that was cut ends with an ellipsis.
func ShortText(s string) *string {
	const ellipsis = "…"
	s = strings.ToValidUTF8(s, "\ufffd")
	if len(s) > MaxTextBytes {
		end := MaxTextBytes - len(ellipsis)
		for end > 0 && !utf8.RuneStart(s[end]) {
			end--
		}
		s = s[:end] + ellipsis
	}
	return Text(s)
}
