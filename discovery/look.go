package discovery

import (
	"time"

	"github.com/newsfork/seed-engine/classify"
	"github.com/newsfork/seed-engine/contract"
	"github.com/newsfork/seed-engine/markup"
)

// Scored is the assessment of a raw URL. Its fields are those of urls[].
type Scored struct {
	Type     classify.Type `json:"type"`
	Priority float64       `json:"priority_score"`
	Action   Action        `json:"recommended_action"`
	Allowed  *bool         `json:"allowed"` // by robots.txt and operators; null where Options.Robots does not decide
}

// Score assesses a raw URL, with the date and a better method if sitemaps or feeds list it too. It does not add
// it. A URL that would be excluded has the action Ignore.
func (a *Analyser) Score(url string) Scored {
	valid, inside := a.urls.canonical([]byte(url))
	if !valid {
		return Scored{Type: classify.Unknown, Action: Ignore}
	}
	p := parsePage(string(a.urls.buf))
	s := Scored{Allowed: a.ruling(p.url)}
	rank, date, hint := rankOf(FromResearch), uint32(0), Hint(0)
	if r := a.seen.find(keyOf(a.urls.buf)); r != nil {
		rank, date, hint = max(rank, r.rank), r.lastmod, r.hint
	}
	c := a.assess(&p, rank, date)
	c.hint = hint
	s.Type = c.class.Type()
	s.Priority = float64(c.priority) / 1000
	if s.Action = c.action(&p); s.Action.isGood() {
		if a.worthwhile.scored == nil {
			a.worthwhile.scored = map[nodeID]bool{}
		}
		a.worthwhile.scored[a.node(p.url)] = true
	}
	forbidden := s.Allowed != nil && !*s.Allowed
	if !inside || forbidden || len(p.url) > MaxURLLength || p.trapOf(a.o.Now) != markup.NoTrap ||
		assetExtensions[p.ext] {
		s.Action = Ignore
	}
	if s.Action != Ignore {
		c.order = c.priority
		a.kept.researched.offer(&c)
	}
	return s
}

// Classify classifies a URL as in the result, with the texts and the site that were added. ok is false for a URL of
// another domain.
func (a *Analyser) Classify(url string) (k classify.Classification, ok bool) {
	if valid, inside := a.urls.canonical([]byte(url)); !valid || !inside || len(a.urls.buf) > MaxURLLength {
		return k, false
	}
	p := parsePage(string(a.urls.buf))
	return siteView{a}.classification(&p, nil), true
}

// Assess classifies and scores a URL by itself, ignoring what was added. knownType is its type if the caller knows
// it, else "". Anything but a URL has type Unknown and priority 0.
func (a *Analyser) Assess(url string, m Method, lastmod time.Time, knownType classify.Type) (t classify.Type,
	priority float64) {
	if valid, _ := a.urls.canonical([]byte(url)); !valid {
		return classify.Unknown, 0
	}
	var date uint32
	if markup.Plausible(lastmod, a.o.Now) {
		date = uint32(lastmod.Unix())
	}
	p := parsePage(string(a.urls.buf))
	c := a.assess(&p, rankOf(m), date)
	if class, ok := classify.ClassOf(knownType); ok {
		c = a.scorer.score(&p, class, 1, rankOf(m), date)
	}
	return c.class.Type(), float64(c.priority) / 1000
}

// Look is the analysis of one URL.
type Look struct {
	Scored
	Title   *string
	Method  Method    // the best one by which it was found
	Lastmod time.Time // zero when nothing says it
}

// Look assesses a canonical URL as Result assesses those that it lists. ok is false if the URL was excluded or is not
// recorded; Allowed is set all the same.
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

// Has reports whether a canonical URL was added, is recorded, and was not excluded.
func (a *Analyser) Has(url string) bool {
	r := a.seen.find(keyOf(url))
	return r != nil && r.rank > 0
}

// Advise returns the action for a page of a given type and priority.
func Advise(url string, t classify.Type, priority float64) Action {
	p := parsePage(url)
	return action(priority, t, p.isLogin())
}

// Analysed returns the number of added URLs that were not excluded.
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
