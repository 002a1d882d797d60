package store

import (
	"encoding/hex"
	"math"
	"slices"
	"strings"
	"time"

	"github.com/newsfork/seed-engine/epoch"
	"github.com/newsfork/seed-engine/frontier"
	"github.com/newsfork/seed-engine/frontier/link"
)

// Entry is an entry point: a feed, sitemap or listing page that is checked again and again.
type Entry struct {
	Page                     // Due is when it is checked next
	Method     string        // feed, news_sitemap, sitemap, listing …
	Interval   time.Duration // between two checks, in whole seconds
	Etag       string
	Modified   string // Last-Modified, as received
	digest     string // the first 16 bytes of SHA-256 of its body
	Failures   int64  // checks in a row that failed
	Checks     []frontier.Check
	ChangedAt  epoch.Seconds // 0 when it never changed
	LastStatus int64
	Tried      epoch.Seconds // when a refresh of it, or a collection for it, began; 0 once that has ended
	Rhythm     Rhythm
}

// Limits of what is kept of an entry point.
const (
	MaxEntries   = 32 // of a host
	MaxChecks    = 10
	maxValidator = 256 // bytes of an ETag or Last-Modified; a longer one is not kept
	MaxMethod    = 32
	digestBytes  = 16
)

// UnpackEntries makes Entries ready to be read and changed.
func (h *Host) UnpackEntries() error {
	if h.unpacked {
		return nil
	}
	h.unpacked = true
	d := &decoder{text: h.packedEntries}
	if h.packedEntries == "" {
		return nil
	}
	h.Entries = make([]Entry, d.count(minPage+8))
	for i := range h.Entries {
		h.Entries[i] = d.entry()
	}
	for i := range h.Entries {
		if d.at < len(d.text) { // earlier versions end here
			h.Entries[i].Rhythm = Rhythm{d.int(), d.span(time.Second)}
		}
	}
	return d.err
}

// checkEntries returns an error if packed entry points cannot be unpacked. Few of the hosts that are loaded need
// theirs.
func checkEntries(packed string) error {
	if packed == "" {
		return nil
	}
	d := &decoder{text: packed}
	entries := d.count(minPage + 8)
	for n := entries; n > 0 && d.err == nil; n-- {
		d.page("")
		d.string()
		d.span(time.Second)
		for range 3 {
			d.string()
		}
		for range 4 {
			d.int()
		}
		for k := d.count(2); k > 0; k-- {
			d.int()
			d.int()
		}
	}
	for n := entries; n > 0 && d.err == nil && d.at < len(d.text); n-- {
		d.int()
		d.span(time.Second)
	}
	return d.err
}

func (h *Host) packEntries() string {
	if !h.unpacked {
		return h.packedEntries
	}
	if len(h.Entries) == 0 {
		return ""
	}
	b := appendUint(nil, int64(len(h.Entries)))
	for i := range h.Entries {
		b = h.Entries[i].append(b)
	}
	for i := range h.Entries {
		b = appendUint(appendUint(b, h.Entries[i].Rhythm.Items), h.Entries[i].Rhythm.Time/time.Second)
	}
	return string(b)
}

func (e *Entry) append(b []byte) []byte {
	b = appendPage(b, &e.Page, "")
	b = appendString(b, e.Method)
	b = appendUint(b, e.Interval/time.Second)
	for _, s := range [...]string{e.Etag, e.Modified, e.digest} {
		b = appendString(b, s)
	}
	for _, v := range [...]int64{e.Failures, int64(e.ChangedAt), e.LastStatus, int64(e.Tried)} {
		b = appendUint(b, v)
	}
	b = appendUint(b, int64(len(e.Checks)))
	for _, c := range e.Checks {
		status := int64(c.Status) << 1
		if c.Changed {
			status |= 1
		}
		b = appendUint(appendUint(b, c.At), status)
	}
	return b
}

func (d *decoder) entry() (e Entry) {
	e.Page = d.page("")
	e.Method = d.string()
	e.Interval = d.span(time.Second)
	e.Etag, e.Modified, e.digest = d.string(), d.string(), d.string()
	e.Failures, e.ChangedAt, e.LastStatus, e.Tried = d.int(), d.seconds(), d.int(), d.seconds()
	e.Checks = make([]frontier.Check, d.count(2))
	for i := range e.Checks {
		at, status := d.seconds(), d.int()
		e.Checks[i] = frontier.Check{At: at, Status: int(status >> 1), Changed: status&1 == 1}
	}
	return e
}

// Rhythm is the number of new items that the last looks at an entry point found, and the time that they cover.
type Rhythm struct {
	Items int64 // in hundredths
	Time  time.Duration
}

// What a look found counts less with time: by a factor of e after memory, or after looksKept looks if they are further
// apart. Items count at least as a sixty-fourth of one, since none says only that they are rare.
const (
	memory     = 4 * epoch.Day
	looksKept  = 2
	anItem     = 100
	leastItems = anItem / 64
)

// Unknown is the number of new items of a look at which something changed and nobody counted.
const Unknown = -1

// Observe adds a look that came after the previous one and found items. The first assumes one item in two intervals.
func (r *Rhythm) Observe(after, interval time.Duration, items int) {
	after = max(after, time.Second)
	if r.Time <= 0 {
		r.Items, r.Time = anItem, 2*max(interval, time.Second)
	}
	n := int64(min(items, 1000)) * anItem
	if items == Unknown { // as many as are likely, given that there is one
		expected := float64(after) / float64(r.Gap())
		n = int64(min(1000, max(expected/-math.Expm1(-expected), 1)) * anItem)
	}
	kept := math.Exp(-float64(after) / float64(max(memory, looksKept*after)))
	r.Items = int64(float64(r.Items)*kept) + n
	r.Time = (time.Duration(float64(r.Time)*kept) + max(after, 0)).Truncate(time.Second)
}

// Gap returns the time between two items.
func (r *Rhythm) Gap() time.Duration {
	return max(r.Time, time.Second) * anItem / time.Duration(max(r.Items, leastItems))
}

// Entry returns the index of the entry point with a hash in Entries, or -1. UnpackEntries must have been called.
func (h *Host) Entry(hash uint64) int {
	return slices.IndexFunc(h.Entries, func(e Entry) bool {
		return Hash48(e.Path) == hash || Hash48(canonicalPath(e.Path)) == hash
	})
}

// canonicalPath returns a path in canonical form: earlier versions wrote percent-encoding as it came.
func canonicalPath(path string) string {
	if strings.IndexByte(path, '%') < 0 {
		return path
	}
	if l, ok := link.Parse(link.URL{Host: "a.example", Path: path}.String()); ok {
		return l.Path
	}
	return path
}

// FailedStatus reports whether a check failed: its status is neither 2xx nor 304.
func FailedStatus(status int) bool { return status != 304 && (status < 200 || status > 299) }

// Differs reports whether an answer has other content than the one before, by its digest or else by its ETag. Without
// either it returns true.
func (e *Entry) Differs(etag, sha256 string) bool {
	switch {
	case e.digest != "" && sha256 != "":
		return e.digest != Digest(sha256)
	case e.Etag != "" && etag != "":
		return e.Etag != etag
	}
	return true
}

// SetValidators keeps the ETag, Last-Modified and digest of the last answer.
func (e *Entry) SetValidators(etag, modified, sha256 string) {
	e.Etag, e.Modified, e.digest = validator(etag), validator(modified), Digest(sha256)
}

// Digest shortens a hexadecimal SHA-256. It returns "" for anything else.
func Digest(sha256 string) string {
	b, err := hex.DecodeString(sha256)
	if err != nil || len(b) < digestBytes {
		return ""
	}
	return string(b[:digestBytes])
}

// State describes an entry point.
func (e *Entry) State() frontier.EntryState {
	return frontier.EntryState{Method: e.Method, Interval: int64(e.Interval / time.Second), ETag: e.Etag,
		LastModified: e.Modified,
		LastStatus:   int(e.LastStatus), ChangedAt: e.ChangedAt.Millis(), Failures: int(e.Failures), Checks: e.Checks,
		DueAt: e.Due.Millis()}
}

// LastRead returns the time of the last check that succeeded; 0 if none is known.
func (e *Entry) LastRead() epoch.Millis {
	for _, k := range slices.Backward(e.Checks) {
		if !FailedStatus(k.Status) {
			return k.At.Millis()
		}
	}
	return 0
}

// HexDigest returns the digest of the last body in hexadecimal, shortened to digestBytes.
func (e *Entry) HexDigest() string { return hex.EncodeToString([]byte(e.digest)) }
