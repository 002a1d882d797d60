package discovery

import (
	"time"

	"github.com/newsfork/seed-engine/classify"
	"github.com/newsfork/seed-engine/contract"
)

// Look is the analysis of one URL.
type Look struct {
	Scored
	Title   *string
	Method  Method    // the best one by which it was found
	Lastmod time.Time // zero when nothing says it
}

// Look assesses a URL in canonical form as Result does those that it lists. ok is false for one that was left out, or
// of which nothing is recorded because it was not added, or was one too many; Allowed is set all the same.
func (a *Analyser) Look(url string) (l Look, ok bool) {
	l.Scored = Scored{Action: Ignore, Allowed: a.ruling(url)}
	r := a.seen.find(keyOf(url))
	if r == nil || r.rank == 0 || l.Allowed != nil && !*l.Allowed {
		return l, false
	}
	p := parsePage(url)
	c := a.assess(&p, r.rank, r.lastmod)
	c.hint = r.hint
	l.Type, l.Priority, l.Action = c.class.Type(), float64(c.priority)/1000, c.action(&p)
	l.Title, l.Method = contract.Text(a.textOf(&p).Title), methods[r.rank]
	if at := a.scorer.dated(&p, r.lastmod); at > 0 {
		l.Lastmod = time.Unix(int64(at), 0)
	}
	return l, true
}

// Has reports whether a URL in canonical form was added, and is recorded as one that counts.
func (a *Analyser) Has(url string) bool {
	r := a.seen.find(keyOf(url))
	return r != nil && r.rank > 0
}

// Advise is the action recommended for a page of a type and priority that are given.
func Advise(url string, t classify.Type, priority float64) Action {
	p := parsePage(url)
	return action(priority, t, p.isLogin())
}

// Analysed returns the number of URLs that were added and count.
func (a *Analyser) Analysed() int { return a.stats.Analyzed }

// ruling returns whether robots.txt and operators allow a canonical URL, or nil if Options.Robots does not decide.
func (a *Analyser) ruling(url string) *bool {
	if a.ruledOut(url) {
		return new(bool)
	}
	if allowed, decided := a.robots(url); decided {
		return &allowed
	}
	return nil
}
