package frontier

import (
	"encoding/hex"
	"slices"
)

// entry is an entry point: a feed, sitemap or listing page that is asked again and again.
type entry struct {
	page              // due is when it is asked next
	method     string // feed, news_sitemap, sitemap, listing …
	interval   int64  // seconds between two checks
	etag       string
	modified   string // Last-Modified, as received
	digest     string // the first 16 bytes of SHA-256 of its body
	failures   int64  // checks in a row that failed
	checks     []Check
	changedAt  int64 // seconds; 0 when it never changed
	lastStatus int64
	tried      int64 // seconds: when a refresh of it began, or its domain was to be collected; 0 once that has ended
}

// Check is one look at an entry point.
type Check struct {
	At      int64 `json:"at"`      // seconds
	Status  int   `json:"status"`  // 0 when nothing answered
	Changed bool  `json:"changed"` // its content differed from before
}

// Limits of what is kept of an entry point.
const (
	maxEntries   = 32 // of a host
	maxChecks    = 10
	maxValidator = 256 // bytes of an ETag or Last-Modified; a longer one is not kept
	maxMethod    = 32
	digestBytes  = 16
)

// unpackEntries makes h.entries ready to be read and changed.
func (h *host) unpackEntries() error {
	if h.unpacked {
		return nil
	}
	h.unpacked = true
	d := &decoder{text: h.packedEntries}
	if h.packedEntries == "" {
		return nil
	}
	h.entries = make([]entry, d.count(minPage+8))
	for i := range h.entries {
		h.entries[i] = d.entry()
	}
	for i := range h.entries {
		if d.at < len(d.text) { // later in version 3
			h.entries[i].tried = d.int()
		}
	}
	return d.err
}

func (h *host) packEntries() string {
	if !h.unpacked {
		return h.packedEntries
	}
	if len(h.entries) == 0 {
		return ""
	}
	b := appendUint(nil, int64(len(h.entries)))
	for i := range h.entries {
		b = h.entries[i].append(b)
	}
	if slices.ContainsFunc(h.entries, func(e entry) bool { return e.tried > 0 }) {
		for i := range h.entries {
			b = appendUint(b, h.entries[i].tried)
		}
	}
	return string(b)
}

func (e *entry) append(b []byte) []byte {
	b = appendPage(b, &e.page, "")
	b = appendString(b, e.method)
	b = appendUint(b, e.interval)
	for _, s := range [...]string{e.etag, e.modified, e.digest} {
		b = appendString(b, s)
	}
	for _, v := range [...]int64{e.failures, e.changedAt, e.lastStatus} {
		b = appendUint(b, v)
	}
	b = appendUint(b, int64(len(e.checks)))
	for _, c := range e.checks {
		status := int64(c.Status) << 1
		if c.Changed {
			status |= 1
		}
		b = appendUint(appendUint(b, c.At), status)
	}
	return b
}

func (d *decoder) entry() (e entry) {
	e.page = d.page("")
	e.method = d.string()
	e.interval = d.int()
	e.etag, e.modified, e.digest = d.string(), d.string(), d.string()
	e.failures, e.changedAt, e.lastStatus = d.int(), d.int(), d.int()
	e.checks = make([]Check, d.count(2))
	for i := range e.checks {
		at, status := d.int(), d.int()
		e.checks[i] = Check{at, int(status >> 1), status&1 == 1}
	}
	return e
}

func (h *host) entry(hash uint64) int {
	return slices.IndexFunc(h.entries, func(e entry) bool { return hash48(e.path) == hash })
}

// retries are the hours after which an entry point is asked again that failed once, twice, three
// times in a row; then it is once a week.
var retries = [...]int64{1, 6, 24, 7 * 24}

// check records an answer and chooses when the entry point is asked next: 20 % sooner when it had
// changed, 50 % later when it had not.
func (c *call) check(e *entry, r *Result) (changed bool) {
	now := c.seconds()
	e.lastStatus, e.tried = int64(r.Status), 0
	failed := failedStatus(r.Status)
	changed = !failed && r.Status != 304 && !r.same && e.differs(r)
	switch {
	case failed:
		hours := retries[min(e.failures, int64(len(retries)-1))]
		e.failures++
		e.due = now + min(hours*3600, c.settings.MaxRefresh)
	case changed:
		e.failures, e.changedAt = 0, now
		e.interval = c.bound(e.method, e.interval*4/5)
		e.due = now + e.interval
	default:
		e.failures = 0
		e.interval = c.bound(e.method, e.interval*3/2)
		e.due = now + e.interval
	}
	if !failed && r.Status != 304 {
		e.validators(r.ETag, r.LastModified, r.SHA256)
	}
	e.checks = append(e.checks, Check{now, r.Status, changed})
	if n := len(e.checks) - maxChecks; n > 0 {
		e.checks = slices.Delete(e.checks, 0, n)
	}
	return changed
}

// failedStatus reports whether an answer is not that of an entry point as it should be.
func failedStatus(status int) bool { return status != 304 && (status < 200 || status > 299) }

// differs reports whether an answer has other content than the one before, by its digest, else its
// ETag, else always.
func (e *entry) differs(r *Result) bool {
	switch {
	case e.digest != "" && r.SHA256 != "":
		return e.digest != digest(r.SHA256)
	case e.etag != "" && r.ETag != "":
		return e.etag != r.ETag
	}
	return true
}

func (e *entry) validators(etag, modified, sha256 string) {
	e.etag, e.modified, e.digest = "", "", digest(sha256)
	if len(etag) <= maxValidator {
		e.etag = etag
	}
	if len(modified) <= maxValidator {
		e.modified = modified
	}
}

// digest shortens a SHA-256 in hexadecimal; "" when it is none.
func digest(sha256 string) string {
	b, err := hex.DecodeString(sha256)
	if err != nil || len(b) < digestBytes {
		return ""
	}
	return string(b[:digestBytes])
}

// collectTimes is how many times as long as MaxRefresh a whole domain may be left alone: it costs many
// requests, where an entry point that has not changed costs one.
const collectTimes = 12

// bound keeps the interval of an entry point, in seconds, within the settings.
func (c *call) bound(method string, seconds int64) int64 {
	most := c.settings.MaxRefresh
	if method == MethodCollect {
		most *= collectTimes
	}
	return min(max(seconds, c.settings.MinRefresh, 1), most)
}
