package shard

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/newsfork/seed-engine/contract"
	"github.com/newsfork/seed-engine/epoch"
	"github.com/newsfork/seed-engine/frontier"
	"github.com/newsfork/seed-engine/frontier/link"
	"github.com/newsfork/seed-engine/frontier/shard/store"
)

// lifeNames are the states of known URLs that are neither excluded nor leased.
var lifeNames = [...]string{store.Idle: contract.URLKnown, store.Waiting: contract.URLWaiting,
	store.Fetched: contract.URLFetched, store.Gone: contract.URLGone}

// URL returns the state of one URL, and why it is not fetched.
func (s *Shard) URL(now epoch.Millis, url string) (state frontier.URLState, err error) {
	l, ok := link.Parse(url)
	if !ok {
		return state, contract.Invalid("url", "%.80q is not an http or https URL", url)
	}
	err = s.run(now, func(c *call) error {
		x := explainer{c: c, link: l, url: url, state: &state}
		return x.run()
	})
	return state, err
}

// explainer finds out the state of a URL.
type explainer struct {
	c     *call
	link  link.URL
	url   string
	state *frontier.URLState
	host  *store.Host
	last  string // what the last failure of the URL was, to be appended to how often it failed; "" if that is unknown
}

func (x *explainer) run() error {
	c := x.c
	h, err := c.hostNamed(x.link.Host)
	if err != nil {
		return err
	}
	if h == nil {
		return x.noHost()
	}
	x.host = h
	x.state.Domain, x.state.Evidence = h.Domain.Name, h.Domain.Evidence
	if h.Blocked > c.now {
		x.state.BlockedUntil = h.Blocked
	}
	if rules := rulesOf(c, h); rules != nil {
		if rule, ok := rules.Match("/" + x.link.Path); ok && !rule.Allow {
			x.state.Rule = rule.String()
		}
	}
	if err := h.UnpackEntries(); err != nil {
		return err
	}
	hash := store.Hash48(x.link.Path)
	if err := c.tx.LoadKnown([]store.URLKey{{Host: h.ID, Hash: hash}}); err != nil {
		return err
	}
	known, ok := h.Known(hash)
	page, waits, err := h.Find(hash)
	if err != nil {
		return err
	}
	visit, scheduled, err := h.Schedule.Find(hash)
	if err != nil {
		return err
	}
	leased := h.LeasedPage(hash)
	switch {
	case leased >= 0:
		x.page(&h.Leased[leased])
	case waits:
		x.page(&page)
	case scheduled:
		x.page(&visit)
	}
	if ok && known.Life == store.Fetched && x.state.Fetched == 0 {
		x.state.Fetched = known.Since()
	}
	due := page.Due
	if at := h.Entry(hash); at >= 0 {
		waits, due = true, h.Entries[at].Due
		entry := h.Entries[at].State()
		x.state.Entry = &entry
	}
	if own := h.Fault.Of(hash); own || waits && x.hostFault() != nil {
		if x.state.Fault = h.Fault.Shown(); own {
			x.last = ", the last time " + faultText(x.state.Fault)
		}
	}
	switch {
	case x.excluded():
		x.state.State = contract.URLExcluded
	case h.Lease != 0 && (leased >= 0 || slices.Contains(h.Asked, hash)):
		x.state.State, x.state.LeaseUntil = contract.URLLeased, h.LeaseEnds
		x.say(contract.WhyLeased, "a scraper has it until %s", instant(h.LeaseEnds))
	case waits:
		x.waits(&page, due)
	case !ok:
		x.state.State = contract.URLUnknown
		x.say(contract.WhyUnnamed, "no collection, put or report named it, or its domain had too many pages")
	default:
		x.state.State = lifeNames[known.Life]
		x.finished(known, &visit, scheduled)
	}
	return nil
}

func (x *explainer) say(code contract.WhyCode, format string, args ...any) {
	x.state.Why, x.state.WhyCode = fmt.Sprintf(format, args...), code
}

// times formats how often something happened.
func times(n int) string {
	if n == 1 {
		return "once"
	}
	return fmt.Sprintf("%d times", n)
}

func pages(n int) string {
	if n == 1 {
		return "1 page"
	}
	return fmt.Sprintf("%d pages", n)
}

// instant formats an instant as in RFC 3339.
func instant(at epoch.Millis) string { return at.Time().UTC().Format(time.RFC3339) }

func (x *explainer) page(p *store.Page) {
	x.state.Reason, x.state.Attempts = reasons[p.Reason], int(p.Tries)+int(p.Refused)
	x.state.Priority = float64(store.Worth(x.host, p, x.c.seconds())) / 1000
	x.state.LastStatus = int(p.Status)
	x.state.Type, x.state.LastMod = store.TypeName(p.Kind), p.Lastmod
	x.state.Yield = x.host.Patterns.Yield(p)
	if p.Visit != nil {
		x.state.Visits, x.state.Fetched = p.Visit.Count, p.Visit.Fetched
	}
}

func (x *explainer) noHost() error {
	x.state.State = contract.URLUnknown
	m, err := x.c.domainNamed(x.c.domainOf(x.link.Host))
	switch {
	case err != nil:
		return err
	case m == nil:
		x.say(contract.WhyNoDomain, "its domain was never collected, and none of its URLs was put")
	default:
		x.state.Domain, x.state.Evidence = m.Name, m.Evidence
		other, bare := strings.CutPrefix(x.link.Host, "www.")
		if !bare {
			other = "www." + other
		}
		h, err := x.c.hostNamed(other)
		if err != nil {
			return err
		}
		x.say(contract.WhyNoHost, "the frontier has its domain, but not its host")
		if h != nil {
			x.say(contract.WhyNoHost, "the frontier has its domain, but not its host; it has %s", other)
		}
	}
	return nil
}

func (x *explainer) excluded() bool {
	h := x.host
	switch {
	case h.Domain.Excluded:
		x.say(contract.WhyExcluded, "operators excluded its domain")
	case h.Excluded:
		x.say(contract.WhyExcluded, "operators excluded its host")
	case x.c.tx.State().Excludes.URL(x.url):
		x.say(contract.WhyExcluded, "operators excluded a pattern that it matches")
	default:
		return false
	}
	return true
}

// waits explains what a page or an entry point waits for. If it waits for several things, it names the last one.
func (x *explainer) waits(p *store.Page, due epoch.Seconds) {
	c, h, m := x.c, x.host, x.host.Domain
	free := max(due.Millis(), c.freeAt(h))
	x.state.DueAt = free
	x.state.State = contract.URLWaiting
	switch {
	case m.MirrorOf != "":
		x.say(contract.WhyMirror, "its domain shows the pages of %s, which are fetched there", m.MirrorOf)
	case h.Blocked > c.now && free > h.Blocked:
		x.say(contract.WhyBlocked,
			"operators blocked its host until %s; its turn comes at %s", instant(h.Blocked), instant(free))
	case h.Blocked > c.now:
		x.say(contract.WhyBlocked, "operators blocked its host until %s", instant(h.Blocked))
	case x.state.Entry != nil && c.settings.PerMinute > 0 && due.Millis() <= c.now:
		x.state.State = contract.URLDue
		x.say(contract.WhyRefreshing, "the engine refreshes it as soon as its host is free")
	case x.state.Entry != nil && due.Millis() > c.now:
		x.say(contract.WhyEntryPoint, "it is an entry point; its next fetch is at %s", instant(due.Millis()))
	case h.Unresolved > c.now && h.Unresolved == free:
		x.say(contract.WhyUnresolved,
			"the name of its host did not resolve; it is tried again at %s", instant(h.Unresolved))
	case due.Millis() > c.now && due.Millis() == free && x.state.Attempts > 0:
		x.say(contract.WhyRetried,
			"it failed or was refused %s%s, and is tried again at %s", times(x.state.Attempts), x.lastAnswer(),
			instant(due.Millis()))
	case due.Millis() > c.now && due.Millis() == free:
		x.say(contract.WhyLater, "its turn comes at %s", instant(due.Millis()))
	case free > c.now && h.Failures > 0:
		x.say(contract.WhyHostBroken,
			"its host failed %s in a row%s, and is tried again at %s", times(int(h.Failures)), x.lastOfHost(),
			instant(free))
	case free > c.now && h.Refusals >= refusing:
		x.say(contract.WhyHostRefuses,
			"its host refused %s in a row%s, and is tried again at %s", pages(int(h.Refusals)), x.lastOfHost(),
			instant(free))
	case free > c.now:
		x.say(contract.WhyHostResting,
			"its host is ready again at %s: its delay, a Retry-After, or a robots.txt that cannot be read%s",
			instant(free), x.sinceFault())
	case h.Lease != 0:
		x.state.State = contract.URLDue
		x.say(contract.WhyHostLeased,
			"a scraper has other pages of its host, until %s at the latest", instant(h.LeaseEnds))
	case m.Closed(c.now) > 0:
		x.state.State = contract.URLDue
		x.say(contract.WhyDomainCollected,
			"a collection has its domain, or waits for it, until %s at the latest", instant(m.Closed(c.now)))
	case c.availableHosts(m) <= 0:
		x.state.State = contract.URLDue
		x.say(contract.WhyHostsLeased, "scrapers have as many hosts of its domain as may be leased at once")
	default:
		x.state.State = contract.URLDue
		x.say(contract.WhyDue,
			"it is leased when its host's turn comes, to a scraper whose filter it passes; pages of its host: %d",
			h.URLs)
	}
}

// lastAnswer describes the last failure of a page, if it is known; its status outlives the failures of others.
func (x *explainer) lastAnswer() string {
	if x.last == "" && x.state.LastStatus >= 400 {
		return ", the last time " + faultText(&frontier.Fault{Status: x.state.LastStatus})
	}
	return x.last
}

// hostFault returns the last failure of a host that rests, or nil if no rest can be due to it any more.
func (x *explainer) hostFault() *frontier.Fault {
	f := x.host.Fault.Shown()
	if f == nil || x.c.freeAt(x.host) <= x.c.now || f.At.Millis().Add(dailyRest) <= x.c.now {
		return nil
	}
	return f
}

func (x *explainer) lastOfHost() string {
	if f := x.hostFault(); f != nil {
		return ", the last time " + faultText(f)
	}
	return ""
}

func (x *explainer) sinceFault() string {
	if f := x.hostFault(); f != nil {
		return fmt.Sprintf("; it failed at %s %s", instant(f.At.Millis()), faultText(f))
	}
	return ""
}

// finished explains why a page is not waiting any more.
func (x *explainer) finished(k store.Known, visit *store.Page, scheduled bool) {
	blocked := x.host.Blocked
	switch {
	case k.Life == store.Fetched && scheduled && blocked > max(x.c.now, visit.Due.Millis()):
		x.state.DueAt = blocked
		x.say(contract.WhyFetchedBlocked,
			"it was fetched, and operators blocked its host until %s", instant(blocked))
	case k.Life == store.Fetched && scheduled:
		x.state.DueAt = visit.Due.Millis()
		x.say(contract.WhyFetchedAgain,
			"it was fetched, and is fetched again from %s on, when that is worth more than other visits",
			instant(visit.Due.Millis()))
	case k.Life == store.Fetched:
		x.say(contract.WhyFetched,
			"it was fetched, and is not worth another visit until its site gives it a newer date")
	case k.Life == store.Gone && k.Disallowed:
		x.say(contract.WhyDisallowed,
			"a scraper read in robots.txt that it is disallowed; it comes back when it is put after the rules have "+
				"changed, or after %s", instant(allowedAgain(x.host, k).Millis()))
	case k.Life == store.Gone:
		x.say(contract.WhyGone,
			"it does not exist, was refused, or was taken out%s; it comes back when its site lists it with a newer "+
				"date, or when it is put after %s", x.last, instant(k.Until().Add(goneFor).Millis()))
	case len(x.host.Domain.Backlogs) > 0:
		x.say(contract.WhyDisplaced,
			"better pages of its domain wait; it is put again when those are fetched, if the engine has stored it")
	default:
		x.say(contract.WhyDisplaced,
			"better pages of its domain waited when it was seen; the next collection may put it again")
	}
}

// URLs returns the states of URLs of a domain. Due URLs are waiting ones here.
func (s *Shard) URLs(now epoch.Millis, r frontier.URLsRequest) (answer frontier.URLStates, err error) {
	if err := cmp.Or(contract.CheckDomain("domain", r.Domain),
		frontier.CheckRange("urls", len(r.URLs), 0, frontier.MaxPut)); err != nil {
		return answer, err
	}
	answer.States = slices.Repeat([]string{contract.URLUnknown}, len(r.URLs))
	err = s.run(now, func(c *call) error {
		p := newPutBatch(c, r.Domain, contract.Partition{})
		p.expected = r.URLs
		hosts, err := loadExpected(c, []*putBatch{p})
		if err != nil {
			return err
		}
		for i, url := range r.URLs {
			l, _ := c.link(url)
			if h := hosts[l.Host]; h != nil {
				answer.States[i] = stateOf(c, h, url, store.Hash48(l.Path))
			}
		}
		return nil
	})
	return answer, err
}

func stateOf(c *call, h *store.Host, url string, hash uint64) string {
	known, ok := h.Known(hash)
	switch {
	case h.Excluded || h.Domain.Excluded || c.tx.State().Excludes.URL(url):
		return contract.URLExcluded
	case h.Lease != 0 && (h.LeasedPage(hash) >= 0 || slices.Contains(h.Asked, hash)):
		return contract.URLLeased
	case ok:
		return lifeNames[known.Life]
	}
	return contract.URLUnknown
}

// Host describes a host in full. It returns the zero value for an unknown host.
func (s *Shard) Host(now epoch.Millis, name string) (d frontier.HostDetail, err error) {
	err = s.run(now, func(c *call) error {
		h, err := c.hostNamed(name)
		if err != nil || h == nil {
			return err
		}
		infos, err := hostInfos(c, []*store.Host{h})
		if err != nil {
			return err
		}
		m := h.Domain
		if err := c.tx.CountPages([]*store.Domain{m}); err != nil {
			return err
		}
		v := &c.tx.State().Visits
		d = frontier.HostDetail{HostInfo: infos[0],
			Override: h.Override.Milliseconds(), Scheduled: h.Scheduled, Stale: !trustsDates(h),
			DomainURLs: m.Pages(), Limit: c.settings.URLsPerDomain, Backlogs: m.Backlogs, MirrorOf: m.MirrorOf,
			Evidence: m.Evidence,
			Visits: frontier.VisitBudget{PerDay: c.settings.VisitsPerDay, Made: v.Made, Scheduled: v.Scheduled,
				Threshold: float64(v.Threshold) / 1e6},
			Rules: h.Rules, TrapExample: h.TrapExample}
		d.Patterns = observed(h)
		for i := range h.Leased {
			d.Leased = append(d.Leased, h.URL(&h.Leased[i]))
		}
		for _, hash := range h.Asked {
			if at := h.Entry(hash); at >= 0 {
				d.Leased = append(d.Leased, h.URL(&h.Entries[at].Page))
			}
		}
		if m.Owner != "" && m.OwnerEnds > c.now {
			d.OwnedUntil = m.OwnerEnds
		}
		if lane, at := h.Schedule.NextPage(c.seconds()); lane >= 0 {
			d.VisitAt = max(at, 1).Millis()
		}
		return nil
	})
	return d, err
}
