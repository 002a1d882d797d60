package shard

import (
	"github.com/newsfork/seed-engine/contract"
	"github.com/newsfork/seed-engine/frontier"
	"github.com/newsfork/seed-engine/frontier/shard/store"
	"github.com/newsfork/seed-engine/robots"
)

// A host's row has the rules of its robots.txt, as collectors and refreshes read it. What they forbid is not queued,
// whoever names it, and what waits when they change is dropped; it may be put again when they allow it. Pages that were
// fetched stay on the schedule, and are not given while they are forbidden.

// rule sets the rules of a host's robots.txt.
func rule(c *call, h *store.Host, rules string) error {
	if len(rules) > frontier.MaxRules {
		return contract.Invalid("visits", "the rules of %.80q have more than %d bytes", h.Name, frontier.MaxRules)
	}
	if h.Rules == rules {
		return nil
	}
	h.Rules = rules
	delete(c.rules, h.ID)
	h.Change()
	if rules == "" {
		return nil
	}
	if err := store.Drop(h, func(path string) bool { return isForbidden(c, h, path) }); err != nil {
		return err
	}
	return c.queue(h)
}

// isForbidden reports whether the host's robots.txt forbids a page.
func isForbidden(c *call, h *store.Host, path string) bool {
	group := rulesOf(c, h)
	return group != nil && !group.Allowed("/"+path)
}

// rulesOf returns the rules of the host's robots.txt, or nil if it has none.
func rulesOf(c *call, h *store.Host) *robots.Group {
	if h.Rules == "" {
		return nil
	}
	group := c.rules[h.ID]
	if group == nil {
		if c.rules == nil {
			c.rules = map[int64]*robots.Group{}
		}
		group = robots.Parse([]byte(h.Rules)).Agent("*")
		c.rules[h.ID] = group
	}
	return group
}
