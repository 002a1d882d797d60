package link

import (
	"slices"
	"strings"
)

// maxPattern is the greatest length of a pattern in bytes: what is beyond it is cut off.
const maxPattern = 60

// Pattern returns what the paths of pages of one kind have in common: the segments but the last, with digits as 0, and
// the names of the query's fields.
func Pattern(path string) string {
	path, query, _ := strings.Cut(path, "?")
	at := strings.LastIndexByte(path, '/') + 1
	var b strings.Builder
	digit := false
	for _, c := range []byte(path[:at]) {
		if c < '0' || c > '9' {
			b.WriteByte(c)
		} else if !digit {
			b.WriteByte('0')
		}
		digit = c >= '0' && c <= '9'
	}
	if query == "" {
		b.WriteByte('*')
		return short(b.String())
	}
	b.WriteString(path[at:])
	var names []string
	for field := range strings.SplitSeq(query, "&") {
		name, _, _ := strings.Cut(field, "=")
		names = append(names, name)
	}
	slices.Sort(names)
	b.WriteByte('?')
	b.WriteString(strings.Join(slices.Compact(names), "&"))
	return short(b.String())
}

func short(pattern string) string { return pattern[:min(len(pattern), maxPattern)] }
