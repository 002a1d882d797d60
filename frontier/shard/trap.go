package shard

import (
	"slices"
	"strings"

	"github.com/newsfork/seed-engine/epoch"
	"github.com/newsfork/seed-engine/frontier"
	"github.com/newsfork/seed-engine/markup"
)

// Queries beyond these limits come from forms or faulty links, which yield endlessly many URLs. Search forms of public
// authorities have up to twenty fields, most of them empty.
const (
	maxParameters = 24
	maxSameField  = 2 // times that a field is there with the same value
)

// isTrap reports whether the shape of a URL shows that it is one of endlessly many with the same content or none. path
// is without the leading slash.
func isTrap(host, path string, now epoch.Seconds) bool {
	if isTooLong(host, path) {
		return true
	}
	path, query, _ := strings.Cut(path, "?")
	return manyFields(query) || markup.TrapOf(segmentsOf(path), query, now.Time()) != markup.NoTrap
}

// isTooLong reports whether a URL has more than MaxURL bytes.
func isTooLong(host, path string) bool {
	return len("https://")+len(host)+len("/")+len(path) > frontier.MaxURL
}

func segmentsOf(path string) []string {
	return slices.DeleteFunc(strings.Split(path, "/"), func(s string) bool { return s == "" })
}

func manyFields(query string) bool {
	if strings.Count(query, "&") < maxSameField {
		return false
	}
	fields := strings.Split(query, "&")
	if len(fields) > maxParameters {
		return true
	}
	slices.Sort(fields)
	for i := range fields {
		if i+maxSameField < len(fields) && fields[i] == fields[i+maxSameField] {
			return true
		}
	}
	return false
}

// maxPermuted is the number of fields up to which all orders of a query are taken for one page.
const maxPermuted = 3

// permuted returns the paths whose queries have the same fields in another order: of more than maxPermuted fields only
// that in which they are sorted.
func permuted(path string) (others []string) {
	path, query, _ := strings.Cut(path, "?")
	fields := strings.Split(query, "&")
	if len(fields) < 2 || len(fields) > maxParameters {
		return nil
	}
	add := func(fields []string) {
		if other := strings.Join(fields, "&"); other != query {
			others = append(others, path+"?"+other)
		}
	}
	if len(fields) > maxPermuted {
		slices.Sort(fields)
		add(fields)
		return others
	}
	for range fields {
		fields = append(fields[1:len(fields):len(fields)], fields[0])
		add(fields)
		swapped := slices.Clone(fields)
		swapped[0], swapped[1] = swapped[1], swapped[0]
		add(swapped)
	}
	slices.Sort(others)
	return slices.Compact(others)
}
