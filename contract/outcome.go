package contract

import (
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/tidwall/gjson"
)

// Outcome is the ledger's record of a collection. The metadata of the domain's checkpoint repeats it, so that a
// listing is enough to rebuild the ledger.
type Outcome struct {
	CollectedAt  time.Time // to the second, as in the document
	Reachable    bool
	Robots       bool          // robots.txt exists
	Sitemap      bool          // a sitemap exists
	Barrier      Barrier       // why nothing may be fetched, if it is reachable
	Duration     time.Duration // of the processing, without politeness waits
	ErrorType    string        // why nothing answered; "" if reachable
	ErrorMessage string        // also what a site that refuses answered, or why robots.txt was not read
	Revision     int           // of the document
	ChangedAt    time.Time     // when the document was written; zero if unknown
}

// Barrier is the reason for which a collection that reached its domain found nothing to fetch.
type Barrier string

// Barriers. Checkpoints of earlier versions have none, and no Clear.
const (
	Clear     Barrier = "none"      // it found something
	Forbidden Barrier = "forbidden" // robots.txt forbids it, or cannot be read
	Refuses   Barrier = "refuses"   // the site refuses every page, sitemap and feed that was requested
	Empty     Barrier = "nothing"   // no page, sitemap or feed was found
)

// Barriers lists the barriers that keep a domain from being fetched.
var Barriers = []Barrier{Forbidden, Refuses, Empty}

// barrierOf returns the barrier that a document of a reachable domain describes.
func barrierOf(d *Document) Barrier {
	switch {
	case d.Blocked:
		return Refuses
	case gjson.GetBytes(d.Discovery, "discovered_urls.0").Exists(),
		gjson.GetBytes(d.Contract, "entry_points.0").Exists(),
		slices.ContainsFunc(d.URLs, func(u DocumentURL) bool { return u.Allowed == nil || *u.Allowed }),
		len(d.URLsFiles) > 0:
		return Clear
	case !d.Technical.RobotsTxt.AllowsCrawling:
		return Forbidden
	}
	return Empty
}

// maxOutcomeError caps an error so that it fits an object's metadata, in bytes.
const maxOutcomeError = 500

// OutcomeOf returns the outcome that a document describes.
func OutcomeOf(d *Document) Outcome {
	o := Outcome{
		CollectedAt: d.CollectedAt.UTC().Truncate(time.Second), Reachable: d.Reachable,
		Robots: d.Robots.Exists, Sitemap: d.Sitemap.Exists,
		Duration: time.Duration(d.Processing.ProcessingDurationMS) * time.Millisecond,
		Revision: d.Revision, ChangedAt: d.Processing.ProcessedAt.UTC(),
	}
	if d.Reachable {
		o.Barrier = barrierOf(d)
		switch unread := d.Technical.RobotsTxt.Error; {
		case o.Barrier == Refuses && d.BlockedReason != nil:
			o.ErrorMessage = printable(*d.BlockedReason)
		case o.Barrier == Forbidden && unread != nil:
			o.ErrorMessage = printable("robots.txt could not be read: " + *unread)
		}
	} else {
		o.ErrorType = string(Network)
		if d.Robots.ErrorType != nil {
			o.ErrorType = *d.Robots.ErrorType
		}
		o.ErrorMessage = "nothing of the domain answered"
		if d.Robots.Error != nil {
			o.ErrorMessage = printable(*d.Robots.Error)
		}
	}
	return o
}

// printable replaces what an object's metadata, sent as a header, cannot contain.
func printable(s string) string {
	s = strings.Map(func(r rune) rune {
		if r < ' ' || r > '~' {
			return '?'
		}
		return r
	}, s)
	return strings.TrimSpace(s[:min(len(s), maxOutcomeError)])
}

// Metadata returns the outcome as custom metadata.
func (o Outcome) Metadata() map[string]string {
	m := map[string]string{
		"collected_at":           o.CollectedAt.UTC().Format(time.RFC3339),
		"reachable":              strconv.FormatBool(o.Reachable),
		"robots_exists":          strconv.FormatBool(o.Robots),
		"sitemap_exists":         strconv.FormatBool(o.Sitemap),
		"processing_duration_ms": strconv.FormatInt(o.Duration.Milliseconds(), 10),
	}
	if !o.ChangedAt.IsZero() {
		m["revision"], m["changed_at"] = strconv.Itoa(o.Revision), o.ChangedAt.UTC().Format(time.RFC3339Nano)
	}
	if o.Barrier != "" {
		m["barrier"] = string(o.Barrier)
	}
	switch {
	case !o.Reachable:
		m["error_type"], m["error"] = o.ErrorType, o.ErrorMessage
	case o.ErrorMessage != "":
		m["error"] = o.ErrorMessage
	}
	return m
}

// ParseOutcome parses the output of Metadata. It returns false if that is missing or incomplete.
func ParseOutcome(m map[string]string) (o Outcome, ok bool) {
	at, err := time.Parse(time.RFC3339, m["collected_at"])
	ms, err2 := strconv.ParseInt(m["processing_duration_ms"], 10, 64)
	ok = err == nil && err2 == nil
	flag := func(name string) bool {
		v, err := strconv.ParseBool(m[name])
		ok = ok && err == nil
		return v
	}
	o = Outcome{
		CollectedAt: at, Reachable: flag("reachable"), Robots: flag("robots_exists"), Sitemap: flag("sitemap_exists"),
		Duration: time.Duration(ms) * time.Millisecond, ErrorType: m["error_type"], ErrorMessage: m["error"],
	}
	if b := Barrier(m["barrier"]); b == Clear || slices.Contains(Barriers, b) { // absent in earlier versions
		o.Barrier = b
	}
	if at, err := time.Parse(time.RFC3339Nano, m["changed_at"]); err == nil { // absent in earlier versions
		if n, err := strconv.Atoi(m["revision"]); err == nil && n > 0 {
			o.Revision, o.ChangedAt = n, at
		}
	}
	return o, ok
}
