package discovery

import "slices"

// Strike removes everything that contains excluded URLs, and reports whether there was any. The counts remain as
// they were when the URLs were analysed.
func (d *Discovery) Strike(excluded func(url string) bool) bool {
	changed := false
	strike := func(urls []string) []string {
		kept := slices.DeleteFunc(slices.Clone(urls), excluded)
		changed = changed || len(kept) < len(urls)
		return kept
	}
	n := len(d.URLs)
	d.URLs = slices.DeleteFunc(d.URLs, func(u DiscoveredURL) bool { return excluded(u.URL) })
	changed = len(d.URLs) < n
	for t, c := range d.Categories {
		c.Examples = strike(c.Examples)
		d.Categories[t] = c
	}
	d.Patterns = slices.DeleteFunc(d.Patterns, func(p URLPattern) bool {
		expected := len(p.Examples) == 0
		p.Examples = strike(p.Examples)
		gone := !expected && len(p.Examples) == 0
		if gone {
			d.Strategy.AllowedPatterns = slices.DeleteFunc(d.Strategy.AllowedPatterns, func(allowed string) bool { return allowed == p.Pattern })
		}
		return gone
	})
	for i := range d.Patterns {
		d.Patterns[i].Examples = strike(d.Patterns[i].Examples)
	}
	return changed
}

// Close leaves nothing that may be fetched.
func (c *FetchContract) Close() {
	c.Allowed, c.EntryPoints, c.EntriesOmitted = false, []EntryPoint{}, 0
}

// Strike removes excluded entry points, and reports whether there were any.
func (c *FetchContract) Strike(excluded func(url string) bool) bool {
	n := len(c.EntryPoints)
	c.EntryPoints = slices.DeleteFunc(c.EntryPoints, func(e EntryPoint) bool { return excluded(e.URL) })
	return len(c.EntryPoints) < n
}
