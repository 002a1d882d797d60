package collector

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"maps"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/tidwall/gjson"

	"github.com/newsfork/seed-engine/contract"
	"github.com/newsfork/seed-engine/discovery"
	"github.com/newsfork/seed-engine/fetch"
	"github.com/newsfork/seed-engine/frontier"
	"github.com/newsfork/seed-engine/markup"
	"github.com/newsfork/seed-engine/robots"
)

// maxOtherHosts caps the other authorities whose robots.txt is read. Each costs a request of the domain's budget and a
// pause.
const maxOtherHosts = 4

// robotsRules are the robots.txt rules of a domain's hosts, and of the hosts to which it leads. A robots.txt applies
// to an authority: scheme, host and port (RFC 9309, 2.3).
type robotsRules struct {
	groups map[string]*robots.Group // our group, by authority
	hosts  map[string]*robots.Group // by host name: the first one read of its authorities
	pace   *pace
	steps  int // left for verdicts

	// A cache: last is the group for URLs with the prefix begin, an authority and "/". It is empty if begin is "".
	last  *robots.Group
	begin string
}

func newRobotsRules(p *pace) *robotsRules {
	return &robotsRules{groups: map[string]*robots.Group{}, hosts: map[string]*robots.Group{}, pace: p, steps: maxSteps}
}

// exhausted reports whether matching took too long. Further URLs get no verdict.
func (r *robotsRules) exhausted() bool { return r.steps <= 0 }

// add records the group of an authority, unless it has one.
func (r *robotsRules) add(authority string, group *robots.Group) {
	if r.groups[authority] == nil {
		r.groups[authority], r.begin = group, ""
		r.setFallback(markup.HostOf(authority), group)
	}
}

// setFallback sets the group for a host without a robots.txt of its own, unless it has a group already.
func (r *robotsRules) setFallback(host string, group *robots.Group) {
	if r.hosts[host] == nil {
		r.hosts[host], r.begin = group, ""
	}
}

// replace sets the group of an authority and its host.
func (r *robotsRules) replace(authority string, group *robots.Group) {
	r.groups[authority], r.hosts[markup.HostOf(authority)], r.begin = group, group, ""
}

// groupOf returns the group that applies to a canonical URL, or nil. Most URLs of a sitemap share an authority.
func (r *robotsRules) groupOf(link string) *robots.Group {
	if r.begin != "" && strings.HasPrefix(link, r.begin) {
		return r.last
	}
	authority := authorityOf(link)
	r.begin, r.last = authority+"/", r.groups[authority]
	if r.last == nil {
		r.last = r.hosts[markup.HostOf(link)]
	}
	return r.last
}

// verdict reports whether robots.txt allows a canonical URL. If the authority's own file was not read, another file
// of the host applies. ok is false without a file, or if matching took too long. verdict might pause, see pace.
func (r *robotsRules) verdict(link string) (allowed, ok bool) {
	group := r.groupOf(link)
	if group == nil || r.exhausted() {
		r.pace.spend(stepsPerURL)
		return false, false
	}
	allowed, steps := group.Cost(link)
	r.steps -= steps
	r.pace.spend(stepsPerURL + steps)
	return allowed, true
}

// store returns the groups as texts of robots.txt, by authority. It leaves out main, which is stored with the
// document. The texts have no blanks, so each is at most as long as its file, and load truncates none.
func (r *robotsRules) store(main *robots.Group) map[string]string {
	stored := map[string]string{}
	for authority, group := range r.groups {
		if group == main && r.hosts[markup.HostOf(authority)] == main {
			continue
		}
		stored[authority] = rulesText(group.Rules())
	}
	return stored
}

const rulesHead = "User-agent:*\n"

// rulesText writes rules as a robots.txt.
func rulesText(rules []robots.Rule) string { return rulesHead + ruleLines(rules) }

func ruleLines(rules []robots.Rule) string {
	var text strings.Builder
	for _, rule := range rules {
		text.WriteString(ruleLine(rule))
	}
	return text.String()
}

func ruleLine(r robots.Rule) string {
	if r.Allow {
		return "Allow:" + r.Pattern + "\n"
	}
	return "Disallow:" + r.Pattern + "\n"
}

// shortRules writes the rules of a group for the frontier, and before them its Content-Signal; "" for an empty group.
// If they are too long, it drops the Disallow rules with the longest patterns and marks the text as partial: scrapers
// then read robots.txt themselves.
func shortRules(group *robots.Group) string {
	var allow, forbid []robots.Rule
	for _, r := range group.Rules() {
		if r.Allow {
			allow = append(allow, r)
		} else {
			forbid = append(forbid, r)
		}
	}
	head := rulesHead + signalsLine(group)
	if len(forbid) == 0 {
		if head == rulesHead {
			return ""
		}
		return head
	}
	slices.SortStableFunc(forbid, func(a, b robots.Rule) int { return cmp.Compare(len(a.Pattern), len(b.Pattern)) })
	text := head + ruleLines(slices.Concat(allow, forbid))
	if len(text) <= frontier.MaxRules {
		return text
	}
	if text = frontier.PartialRules + head + ruleLines(allow); len(text) > frontier.MaxRules {
		return frontier.PartialRules
	}
	for _, r := range forbid {
		line := ruleLine(r)
		if len(text)+len(line) > frontier.MaxRules {
			break
		}
		text += line
	}
	return text
}

// signalsLine writes the Content-Signal of a group that a document lists, or "" if it has none.
func signalsLine(group *robots.Group) string {
	listed, _ := contentSignals(group)
	var list []string
	for _, name := range slices.Sorted(maps.Keys(listed)) {
		list = append(list, name+"="+listed[name])
	}
	if len(list) == 0 {
		return ""
	}
	return frontier.SignalsLine + strings.Join(list, ",") + "\n"
}

// load adds the groups that store wrote.
func (r *robotsRules) load(stored map[string]string, userAgent string) {
	for authority, text := range stored {
		r.add(authority, robots.Parse([]byte(text)).Agent(userAgent))
	}
}

// authorityOf returns the start of an absolute URL up to its path.
func authorityOf(link string) string {
	if i := strings.Index(link, "://"); i >= 0 {
		if n := strings.IndexAny(link[i+3:], "/?#"); n >= 0 {
			return link[:i+3+n]
		}
	}
	return link
}

// state is the content of discovery.json.
type state struct {
	*discovery.State
	Rules map[string]string `json:"rules,omitempty"` // see robotsRules.store
}

// storedRules returns the rules in a stored state. Older versions stored none.
func storedRules(data []byte) map[string]string {
	var stored map[string]string
	if json.Unmarshal([]byte(gjson.GetBytes(data, "rules").Raw), &stored) != nil {
		return nil
	}
	return stored
}

// robotsTarget returns the request for a robots.txt.
func (g *gathering) robotsTarget(link string) fetch.Target {
	return fetch.Target{
		URL: link, Accept: "text/plain, */*;q=0.5", Timeout: g.collector.Limits.RobotsTimeout,
		MaxBytes: robots.MaxBytes + 1, Whole: true, Robots: true,
	}
}

// asFetched returns a stored robots.txt for robots.Parse. A file of robots.MaxBytes might have been truncated; the
// added byte makes the parser ignore its last line, as it did at first.
func asFetched(stored []byte) []byte {
	if len(stored) == robots.MaxBytes {
		return append(stored, ' ')
	}
	return stored
}

// evaluate evaluates the result of requesting a robots.txt.
func evaluate(a *fetch.Answer, failure error) robots.Result {
	return robots.Evaluate(robots.Fetched{
		Status: a.Status, Redirects: len(a.Hops), ContentType: a.Header.Get("Content-Type"), Body: a.Content,
		Failed: failure != nil && !errors.Is(failure, fetch.ErrRedirects),
	})
}

// adopt applies a group to every authority whose /robots.txt was requested: if a redirect leads to the /robots.txt of
// another authority, the answer counts for both. expires is zero for a robots.txt that could not be read.
func (g *gathering) adopt(a *fetch.Answer, group *robots.Group, expires time.Time) {
	links := []string{a.URL}
	for _, hop := range a.Hops {
		links = append(links, hop.URL)
	}
	for _, link := range links {
		authority := authorityOf(link)
		if link != authority+"/robots.txt" || g.policy.rules.groups[authority] != nil {
			continue
		}
		g.policy.rules.add(authority, group)
		g.session.SetRules(authority, group.Allowed)
		if u, err := url.Parse(authority); err == nil {
			delay, _ := group.CrawlDelay()
			g.session.SetRobots(u.Hostname(), delay, expires)
		}
	}
}

// rules implements fetch.Rules: it reads the robots.txt of another authority to which the site leads, within limits.
// It is the first request to that authority.
func (g *gathering) rules(ctx context.Context, authority *url.URL) (func(link string) bool, error) {
	name := authority.String()
	if err := g.policy.unread[name]; err != nil {
		return nil, err
	}
	switch left := g.collector.Limits.MaxRequestsPerDomain - g.session.Stats().Requests; {
	case g.crawling:
		return nil, unread(contract.Validation, "only pages of the site's own host are looked at")
	case g.policy.otherHosts == maxOtherHosts:
		return nil, unread(contract.Validation, "the site leads to too many other hosts")
	case left < 2+g.reserve:
		return nil, unread(contract.Validation, "the domain's remaining requests are reserved")
	}
	g.policy.otherHosts++
	t := g.robotsTarget(name + "/robots.txt")
	t.Once = !contract.WithinDomain(authority.Hostname(), g.message.Domain) // a foreign host is not worth retries
	a, failure := g.session.Fetch(ctx, t)
	if errors.Is(failure, fetch.ErrBudget) || errors.Is(failure, fetch.ErrDeadline) ||
		errors.Is(failure, fetch.ErrDisallowed) || errors.Is(failure, fetch.ErrExcluded) {
		return nil, failure
	}
	if postponed(failure) {
		g.policy.unread[name] = failure // another attempt would cost a call of the host's shard
		return nil, failure
	}
	result := evaluate(a, failure)
	if result.Access == robots.Unreachable {
		kind, why := contract.Network, *refusal(a.Status).Error
		if failure != nil {
			kind, why = contract.KindOf(failure), *failed(failure).Error
		}
		g.policy.unread[name] = unread(kind, why)
		return nil, g.policy.unread[name]
	}
	group := result.File.Agent(g.collector.UserAgent)
	g.policy.elsewhere[name] = result.File.Sitemaps(a.URL)
	g.adopt(a, group, g.collector.Clock.Now().Add(robots.MaxAge))
	return group.Allowed, nil
}

// unread returns the error for a host whose robots.txt was not read.
func unread(kind contract.Kind, why string) error {
	return &contract.Error{Kind: kind, Op: "collector.rules", Message: "robots.txt of its host was not read: " + why,
		Err: fetch.ErrRobotsUnknown}
}
