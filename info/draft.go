package info

import (
	"net/netip"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/newsfork/seed-engine/markup"
)

// Draft is an article as a source describes it, unchecked.
type Draft struct {
	Plain         bool   // Title and Snippet are text, not HTML
	ID            string // the source's, or ""
	URL           string
	Title         string
	Snippet       string
	SourceName    string // "" for the host of the URL
	SourceIconURL string
	ThumbnailURL  string // can be relative to URL, as the two others
	VideoURL      string
	Published     string    // a date in any form of markup.ParseDate
	Zone          string    // of Published if that names none; "" is UTC
	PublishedAt   time.Time // instead of Published, if already parsed
	Keywords      []string
	AITag         string
	Categories    []string // the source's own
}

// Drop is the reason why an article was dropped, "" if it was not.
type Drop string

const (
	NoTitle Drop = "no_title"
	NoURL   Drop = "no_url"
	BadURL  Drop = "bad_url" // not http or https, with credentials, or too long
	NoDate  Drop = "no_date"
	BadDate Drop = "bad_date" // unreadable, impossible or from before the web
	TooOld  Drop = "too_old"  // older than the retention
	NoTopic Drop = "no_topic" // it fits none, and its source has much else
	// Clamped articles are kept: their date was in the future and was set to the present.
	Clamped Drop = "future_date_clamped"
	// Repeated articles occurred twice in a collection.
	Repeated Drop = "repeated"
)

// Drops counts articles by Drop.
type Drops map[Drop]int

// Article checks and normalises a draft. ahead is the time by which its date was in the future; it was set to the
// present. If the article is dropped, drop is the reason.
func (d Draft) Article(source string, now time.Time) (a Article, ahead time.Duration, drop Drop) {
	link := strings.TrimSpace(d.URL)
	if strings.HasPrefix(link, "//") {
		link = "https:" + link
	}
	key := Key(link)
	switch {
	case link == "":
		return a, 0, NoURL
	case key == "", len(link) > MaxURL, !utf8.ValidString(link), strings.ContainsFunc(link, unicode.IsControl):
		return a, 0, BadURL
	}
	a = Article{
		ID: d.ID, Key: key, URL: link, Source: source,
		Title:         d.text(d.Title, MaxTitle),
		Snippet:       d.text(d.Snippet, MaxSnippet),
		SourceName:    line(d.SourceName, MaxName),
		SourceIconURL: media(link, d.SourceIconURL),
		ThumbnailURL:  media(link, d.ThumbnailURL),
		VideoURL:      media(link, d.VideoURL),
		AITag:         line(d.AITag, maxKeyword),
	}
	if a.Title == "" {
		return a, 0, NoTitle
	}
	if a.PublishedAt, ahead, drop = d.moment(now); drop != "" {
		return a, 0, drop
	}
	if !validID(a.ID) {
		a.ID = idOf(source, link)
	}
	if a.SourceName == "" {
		a.SourceName = strings.TrimPrefix(markup.HostOf(link), "www.")
	}
	for _, k := range d.Keywords {
		if k = line(k, maxKeyword); k != "" && len(a.Keywords) < MaxKeywords {
			a.Keywords = append(a.Keywords, k)
		}
	}
	a.Category, a.Evidence = Classify(Subject{Title: a.Title, Snippet: a.Snippet, Keywords: a.Keywords, Tag: a.AITag,
		Categories: d.Categories})
	return a, ahead, ""
}

func (d Draft) text(s string, max int) string {
	if d.Plain {
		return plain(s, max)
	}
	return Text(s, max)
}

// moment parses the publication time, and clamps it to now.
func (d Draft) moment(now time.Time) (t time.Time, ahead time.Duration, drop Drop) {
	t = d.PublishedAt
	if t.IsZero() {
		if strings.TrimSpace(d.Published) == "" {
			return t, 0, NoDate
		}
		var ok bool
		if t, ok = parseIn(d.Published, d.Zone); !ok {
			return t, 0, BadDate
		}
	}
	t, now = t.UTC().Truncate(time.Millisecond), now.UTC().Truncate(time.Millisecond)
	if !t.After(markup.FirstPage) {
		return t, 0, BadDate
	}
	if t.After(now) {
		return now, t.Sub(now), ""
	}
	return t, 0, ""
}

// parseIn parses a date, in the zone of a name unless it names another.
func parseIn(text, name string) (time.Time, bool) {
	if name == "" {
		return markup.ParseDate([]byte(text))
	}
	zone, ok := markup.Zone(name)
	if !ok {
		return time.Time{}, false
	}
	return markup.ParseDateIn([]byte(text), zone)
}

// media returns the absolute URL of an image or video on a page at base, or "" for other schemes such as data:.
func media(base, ref string) string {
	ref = strings.TrimSpace(ref)
	if ref == "" || len(ref) > MaxURL {
		return ""
	}
	if strings.HasPrefix(base, "//") {
		base = "https:" + base
	}
	u, ok := markup.Resolve(base, []byte(ref))
	if !ok || len(u) > MaxURL || Key(u) == "" || !public(markup.HostOf(u)) {
		return ""
	}
	return u
}

// public reports whether a host can be on the public internet: readers' browsers would otherwise send requests into
// their own networks.
func public(host string) bool {
	host = strings.ToLower(strings.TrimSuffix(host, "."))
	if ip, err := netip.ParseAddr(strings.Trim(host, "[]")); err == nil {
		ip = ip.Unmap()
		return ip.IsGlobalUnicast() && !ip.IsPrivate() && !carrierGrade.Contains(ip)
	}
	labels := strings.Split(host, ".")
	last := labels[len(labels)-1]
	switch last {
	case "localhost", "local", "internal", "home", "lan":
		return false
	}
	// An address in another notation, such as 0x7f.1, ends in a number.
	return len(labels) > 1 && last != "" && (last[0] < '0' || last[0] > '9')
}

// carrierGrade are the addresses of RFC 6598.
var carrierGrade = netip.MustParsePrefix("100.64.0.0/10")
