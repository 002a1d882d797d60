package discovery

import (
	"slices"
	"strings"
)

// Strike removes excluded URLs and patterns, and reports whether there were any. The counts stay those of the
// analysis.
func (d *Discovery) Strike(excluded func(url string) bool) bool {
	changed := false
	strike := func(urls []string) []string {
		kept := slices.DeleteFunc(slices.Clone(urls), excluded)
		changed = changed || len(kept) < len(urls)
		return kept
	}
	origins := d.origins()
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
		return !expected && len(p.Examples) == 0
	})
	patterns := len(d.Strategy.AllowedPatterns)
	d.Strategy.AllowedPatterns = slices.DeleteFunc(d.Strategy.AllowedPatterns, func(p string) bool {
		p = specimen.Replace(p)
		return len(origins) > 0 && !slices.ContainsFunc(origins,
			func(origin string) bool { return !excluded(origin + p) })
	})
	changed = changed || len(d.Strategy.AllowedPatterns) < patterns
	for i := range d.Patterns {
		d.Patterns[i].Examples = strike(d.Patterns[i].Examples)
	}
	return changed
}

// specimen replaces the placeholders of a pattern, to make a path.
var specimen = strings.NewReplacer("{", "", "}", "")

// origins returns the origins of the listed URLs and of the examples.
func (d *Discovery) origins() (list []string) {
	add := func(url string) {
		scheme, rest, _ := strings.Cut(url, "://")
		host, _, _ := strings.Cut(rest, "/")
		if origin := scheme + "://" + host; !slices.Contains(list, origin) {
			list = append(list, origin)
		}
	}
	for i := range d.URLs {
		add(d.URLs[i].URL)
	}
	for i := range d.Patterns {
		for _, e := range d.Patterns[i].Examples {
			add(e)
		}
	}
	return list
}

// Close removes all entry points and forbids the domain.
func (c *FetchContract) Close() {
	c.Allowed, c.EntryPoints, c.EntriesOmitted = false, []EntryPoint{}, 0
}

// Strike removes excluded entry points, and reports whether there were any.
func (c *FetchContract) Strike(excluded func(url string) bool) bool {
	n := len(c.EntryPoints)
	c.EntryPoints = slices.DeleteFunc(c.EntryPoints, func(e EntryPoint) bool { return excluded(e.URL) })
	return len(c.EntryPoints) < n
}
