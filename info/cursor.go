package info

import (
	"strconv"
	"strings"
	"time"

	"github.com/newsfork/seed-engine/epoch"
)

// Cursor is a position in the order of articles: newest first, then by descending id. A page begins after it. The
// cursor's article need not exist any more.
type Cursor struct {
	At epoch.Millis
	ID string // "" sorts before every id of the millisecond
}

// CursorOf returns the position of an article.
func CursorOf(a *Article) Cursor { return Cursor{epoch.MillisOf(a.PublishedAt), a.ID} }

// maxCursorTime is the end of the year 9999.
var maxCursorTime = epoch.MillisOf(time.Date(10000, 1, 1, 0, 0, 0, 0, time.UTC))

// ParseCursor parses {milliseconds}_{id} or milliseconds alone. The id can contain "_".
func ParseCursor(s string) (c Cursor, ok bool) {
	ms, id, hasID := strings.Cut(s, "_")
	n, err := strconv.ParseInt(ms, 10, 64)
	at := epoch.Millis(n)
	if err != nil || ms[0] == '+' || at < 0 || at >= maxCursorTime || hasID && !validID(id) {
		return Cursor{}, false
	}
	return Cursor{at, id}, true
}

func (c Cursor) String() string {
	if c.ID == "" {
		return strconv.FormatInt(int64(c.At), 10)
	}
	return strconv.FormatInt(int64(c.At), 10) + "_" + c.ID
}

// Before reports whether c is newer than d.
func (c Cursor) Before(d Cursor) bool {
	if c.At != d.At {
		return c.At > d.At
	}
	return c.ID > d.ID
}
