package shard

import (
	"strings"

	"github.com/newsfork/seed-engine/contract"
	"github.com/newsfork/seed-engine/epoch"
	"github.com/newsfork/seed-engine/frontier"
	"github.com/newsfork/seed-engine/frontier/shard/store"
	"github.com/newsfork/seed-engine/robots"
)

// A host's row has the rules of its robots.txt, as collectors and refreshes read it. Forbidden pages are not queued.
// When the rules change, waiting pages that they forbid are dropped, and the stored pages of the domain are put again.
// Fetched pages stay on the schedule, but are not leased while they are forbidden.

// setRules sets the rules of a host's robots.txt.
func setRules(c *call, h *store.Host, rules string) error {
	if len(rules) > frontier.MaxRules {
		return contract.Invalid("visits", "the rules of %.80q have more than %d bytes", h.Name, frontier.MaxRules)
	}
	if h.Rules == rules {
		return nil
	}
	before, after := onlyRules(h.Rules), onlyRules(rules)
	changed, forbade := before != after, before != ""
	h.Rules = rules
	if changed {
		h.RulesAt = c.seconds()
	}
	delete(c.rules, h.ID)
	h.Change()
	if after != "" {
		if err := store.Drop(h, func(path string) bool { return isForbidden(c, h, path) }); err != nil {
			return err
		}
		if err := c.queue(h); err != nil {
			return err
		}
	}
	if !changed || !forbade {
		return nil
	}
	return putAgain(c, h.Domain) // some may be allowed now
}

// onlyRules returns the rules of a stored text, "" for none: without the mark of partial rules and the Content-Signal,
// which forbids no page.
func onlyRules(text string) string {
	signals, rules := frontier.SignalsOf(strings.TrimPrefix(text, frontier.PartialRules))
	if signals != "" && strings.Count(rules, "\n") == 1 {
		return ""
	}
	return rules
}

// disallowedFor is the time after which a page may be put again that a scraper found to be disallowed, though the
// engine has not seen the host's rules change.
const disallowedFor = ruledOutWait

// allowedAgain returns when a page that a scraper found to be disallowed may be put again: as soon as the rules have
// changed since, or a day later if they changed up to a day before, as the scraper may have had the old ones.
func allowedAgain(h *store.Host, k store.Known) epoch.Seconds {
	switch {
	case h.RulesAt >= k.Until():
		return h.RulesAt
	case h.RulesAt.Add(day) >= k.Since():
		return k.Until().Add(day)
	}
	return k.Until().Add(disallowedFor)
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
