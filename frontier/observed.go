package frontier

import (
	"github.com/newsfork/seed-engine/contract"
	"github.com/newsfork/seed-engine/frontier/link"
)

// ObservedPattern counts what scrapers saw of the pages of a host whose paths are alike; see link.Pattern.
type ObservedPattern struct {
	Host    string
	Pattern string
	Refused bool // nearly all are copies: others are a trap, but for one a day
	contract.Observed
}

// ObservedOf returns a function that returns the entry of the list for a URL, or nil.
func ObservedOf(list []ObservedPattern) func(url string) *contract.Observed {
	type key struct{ host, pattern string }
	by := map[key]*contract.Observed{}
	for i := range list {
		by[key{list[i].Host, list[i].Pattern}] = &list[i].Observed
	}
	return func(url string) *contract.Observed {
		l, _ := link.Parse(url)
		return by[key{l.Host, link.Pattern(l.Path)}]
	}
}
