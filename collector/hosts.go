package collector

import (
	"context"
	"encoding/json"
	"errors"
	"net/url"
	"strings"
	"time"

	"github.com/tidwall/gjson"

	"github.com/newsfork/seed-engine/contract"
	"github.com/newsfork/seed-engine/discovery"
	"github.com/newsfork/seed-engine/fetch"
	"github.com/newsfork/seed-engine/markup"
	"github.com/newsfork/seed-engine/robots"
)

// maxOtherHosts is for how many authorities beside the site's own robots.txt is read. Each costs a request
// of the domain's budget and a pause.
const maxOtherHosts = 4

// rulings are the robots.txt rules of the hosts of one domain, and of those it leads to. A robots.txt
// applies to an authority, that is scheme, host and port (RFC 9309, 2.3).
type rulings struct {
	groups map[string]*robots.Group // our group, by authority
	hosts  map[string]*robots.Group // by host name: the first one read of its authorities
	pace   *pace
	steps  int // left for verdicts

	last  *robots.Group // of the URLs that begin with its
	begin string        // authority, with the "/" behind it; "" for none
}

func newRulings(p *pace) *rulings {
	return &rulings{groups: map[string]*robots.Group{}, hosts: map[string]*robots.Group{}, pace: p, steps: maxSteps}
}

// exhausted reports whether matching took too long, so that further URLs get no verdict.
func (r *rulings) exhausted() bool { return r.steps <= 0 }

// add records the group of an authority, unless it has one.
func (r *rulings) add(authority string, group *robots.Group) {
	if r.groups[authority] == nil {
		r.groups[authority], r.begin = group, ""
		r.standIn(markup.HostOf(authority), group)
	}
}

// standIn makes a group apply to the URLs of a host without one.
func (r *rulings) standIn(host string, group *robots.Group) {
	if r.hosts[host] == nil {
		r.hosts[host], r.begin = group, ""
	}
}

// replace records the group of an authority, and of its host, in place of that which it had.
func (r *rulings) replace(authority string, group *robots.Group) {
	r.groups[authority], r.hosts[markup.HostOf(authority)], r.begin = group, group, ""
}

// groupOf returns the group that applies to a URL in canonical form, nil for none. Those of a sitemap mostly have one
// authority.
func (r *rulings) groupOf(link string) *robots.Group {
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

// verdict returns whether robots.txt allows a URL in canonical form. If that of its authority was not
// read, another one of the host applies; ok is false if there is none, or the rulings are exhausted. It
// may yield.
func (r *rulings) verdict(link string) (allowed, ok bool) {
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

// store writes the groups that are not in a document and its robots.txt: all but main, as texts of
// robots.txt by authority. They have no blanks, so that one is not larger than the file that it is from, of
// which load would not read all.
func (r *rulings) store(main *robots.Group) map[string]string {
	stored := map[string]string{}
	for authority, group := range r.groups {
		if group == main && r.hosts[markup.HostOf(authority)] == main {
			continue
		}
		var text strings.Builder
		text.WriteString("User-agent:*\n")
		for _, rule := range group.Rules() {
			verb := "Disallow:"
			if rule.Allow {
				verb = "Allow:"
			}
			text.WriteString(verb + rule.Pattern + "\n")
		}
		stored[authority] = text.String()
	}
	return stored
}

// load adds the groups that store wrote.
func (r *rulings) load(stored map[string]string, userAgent string) {
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

// state is what storeState keeps.
type state struct {
	*discovery.State
	Rules map[string]string `json:"rules,omitempty"` // see rulings.store
}

// storedRules reads the rules of a stored state. Those of an earlier version had none.
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

// asFetched is what is stored of a robots.txt, as robots.Parse is to read it: one of robots.MaxBytes may have
// been longer, and the line that was cut there is no rule.
func asFetched(stored []byte) []byte {
	if len(stored) == robots.MaxBytes {
		return append(stored, ' ')
	}
	return stored
}

// evaluate evaluates the outcome of requesting a robots.txt.
func evaluate(a *fetch.Answer, failure error) robots.Result {
	return robots.Evaluate(robots.Fetched{
		Status: a.Status, Redirects: len(a.Hops), ContentType: a.Header.Get("Content-Type"), Body: a.Content,
		Failed: failure != nil && !errors.Is(failure, fetch.ErrRedirects),
	})
}

// adopt makes a group apply to every authority whose /robots.txt was requested on the way to it: where a
// redirect leads to the /robots.txt of another authority, the answer is that of both. It expires then; a
// robots.txt that could not be read does at once, with a zero expires.
func (g *gathering) adopt(a *fetch.Answer, group *robots.Group, expires time.Time) {
	links := []string{a.URL}
	for _, hop := range a.Hops {
		links = append(links, hop.URL)
	}
	for _, link := range links {
		authority := authorityOf(link)
		if link != authority+"/robots.txt" || g.policy.rulings.groups[authority] != nil {
			continue
		}
		g.policy.rulings.add(authority, group)
		g.session.SetRules(authority, group.Allowed)
		if u, err := url.Parse(authority); err == nil {
			delay, _ := group.CrawlDelay()
			g.session.SetRobots(u.Hostname(), delay, expires)
		}
	}
}

// rules reads the robots.txt of an authority that the site leads to, if that is worth its requests. It is
// the fetch.Rules of the session, so nothing of a host is requested before.
func (g *gathering) rules(ctx context.Context, authority *url.URL) (func(link string) bool, error) {
	name := authority.String()
	if err := g.policy.unread[name]; err != nil {
		return nil, err
	}
	switch left := g.collector.Limits.MaxRequestsPerDomain - g.session.Stats().Requests; {
	case g.crawling:
		return nil, unread(contract.Validation, "the pages looked at are those of the site's own host")
	case g.policy.otherHosts == maxOtherHosts:
		return nil, unread(contract.Validation, "the site leads to more other hosts than are asked")
	case left < 2+g.reserve:
		return nil, unread(contract.Validation, "the requests left for the domain are needed elsewhere")
	}
	g.policy.otherHosts++
	t := g.robotsTarget(name + "/robots.txt")
	t.Once = !within(authority.Hostname(), g.message.Domain) // a foreign host is not worth retries
	a, failure := g.session.Fetch(ctx, t)
	if errors.Is(failure, fetch.ErrBudget) || errors.Is(failure, fetch.ErrDeadline) || errors.Is(failure, fetch.ErrDisallowed) || errors.Is(failure, fetch.ErrExcluded) {
		return nil, failure
	}
	if postponed(failure) {
		g.policy.unread[name] = failure // to ask again would cost the host's shard a call
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
	return &contract.Error{Kind: kind, Op: "collector.rules", Message: "robots.txt of its host was not read: " + why, Err: fetch.ErrRobotsUnknown}
}
