package contract

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"
)

// Controls are the decisions of operators: whether the pipeline is paused, and what it must not fetch.
type Controls struct {
	Pipeline   Pipeline    `json:"pipeline"`
	Exclusions []Exclusion `json:"exclusions"` // sorted by kind and value
	// Unconfirmed are the latest changes of exclusions that the frontier has not confirmed yet.
	Unconfirmed []ExclusionChange `json:"unconfirmed,omitempty"`
}

// ExclusionChange records that an exclusion was added or removed.
type ExclusionChange struct {
	Kind  string `json:"kind"`
	Value string `json:"value"`
	At    Time   `json:"at"` // to the second
}

// Note records a change of an exclusion. It replaces an earlier change of the same exclusion.
func (c *Controls) Note(kind, value string, at time.Time) {
	list := slices.DeleteFunc(slices.Clone(c.Unconfirmed),
		func(x ExclusionChange) bool { return x.Kind == kind && x.Value == value })
	c.Unconfirmed = append(list, ExclusionChange{kind, value, Time{at.UTC().Truncate(time.Second)}})
}

// NoteAll marks all exclusions as unconfirmed.
func (c *Controls) NoteAll(at time.Time) {
	list := slices.DeleteFunc(slices.Clone(c.Unconfirmed),
		func(x ExclusionChange) bool { return c.Excludes(x.Kind, x.Value) })
	for _, x := range c.Exclusions {
		list = append(list, ExclusionChange{x.Kind, x.Value, Time{at.UTC().Truncate(time.Second)}})
	}
	c.Unconfirmed = list
}

// Excludes reports whether exactly this exclusion is in force.
func (c *Controls) Excludes(kind, value string) bool {
	return slices.ContainsFunc(c.Exclusions, func(x Exclusion) bool { return x.Kind == kind && x.Value == value })
}

// Pipeline answers GET /api/v1/pipeline and POST …/pause and …/resume.
type Pipeline struct {
	Paused bool    `json:"paused"`
	Since  *Time   `json:"since"` // the last change; null if it was never paused
	By     *string `json:"by"`    // the name of the token that changed it
	Reason *string `json:"reason"`
}

// Stop describes the pause as the reason for which no URL is given; nil if the pipeline runs.
func (p *Pipeline) Stop() *FrontierStop {
	if !p.Paused {
		return nil
	}
	return &FrontierStop{Kind: StopPause, By: p.By, Reason: p.Reason, Since: p.Since}
}

// Kinds of exclusions.
const (
	ExcludeDomain = "domain" // a registrable domain with all its hosts
	ExcludeHost   = "host"   // one host
	ExcludeURL    = "url"    // URLs that match a pattern
)

// Exclusion is something that must not be fetched.
type Exclusion struct {
	Kind      string  `json:"kind"`
	Value     string  `json:"value"` // a domain, a host, or a URL in which * stands for any characters
	Reason    *string `json:"reason"`
	CreatedAt Time    `json:"created_at"`
	CreatedBy string  `json:"created_by"` // the name of the token
}

// Stop returns the exclusion as what keeps URLs from being given.
func (e *Exclusion) Stop() *FrontierStop {
	rule := e.Kind + " " + e.Value
	return &FrontierStop{Kind: StopExclusion, Rule: &rule, By: Text(e.CreatedBy), Reason: e.Reason, Since: &e.CreatedAt}
}

// ExclusionPage answers GET /api/v1/exclusions.
type ExclusionPage struct {
	Exclusions []Exclusion `json:"exclusions"`
	Cursor     *string     `json:"cursor"` // ?cursor= of the next page
}

// maxPattern caps the length of a URL pattern, in bytes.
const maxPattern = 2000

// CheckExclusion returns the value of an exclusion in normal form. A domain or host must be in lower-case A-labels.
func CheckExclusion(kind, value string) (string, error) {
	switch kind {
	case ExcludeDomain, ExcludeHost:
		return value, CheckDomain("value", value)
	case ExcludeURL:
		scheme, address, ok := strings.Cut(value, "://")
		host, path, hasPath := strings.Cut(address, "/")
		if !ok || !strings.EqualFold(scheme, "http") && !strings.EqualFold(scheme, "https") || host == "" ||
			!hasPath || len(value) > maxPattern {
			return "", Invalid("value", "%q is not a URL pattern; use an http or https URL with a path, in which "+
				"* stands for any characters, such as %q", clip(value), "https://example.sg/private/*")
		}
		return strings.ToLower(scheme) + "://" + strings.ToLower(host) + "/" + path, nil
	}
	return "", Invalid("kind", "%q is not a kind of exclusion; use domain, host or url", clip(kind))
}

// Exclusions matches domains and URLs against the exclusions of operators.
type Exclusions struct {
	domains, hosts map[string]bool
	patterns       []string // without scheme
}

// NewExclusions prepares a list of exclusions for matching.
func NewExclusions(list []Exclusion) *Exclusions {
	x := &Exclusions{domains: map[string]bool{}, hosts: map[string]bool{}}
	for _, e := range list {
		switch e.Kind {
		case ExcludeDomain:
			x.domains[e.Value] = true
		case ExcludeHost:
			x.hosts[e.Value] = true
		case ExcludeURL:
			authority, path, _ := strings.Cut(schemeless(e.Value), "/")
			x.patterns = append(x.patterns, normalize(hostIn(authority)+"/"+path))
		}
	}
	return x
}

// None reports whether nothing is excluded.
func (x *Exclusions) None() bool { return len(x.domains)+len(x.hosts)+len(x.patterns) == 0 }

// Domain reports whether a registrable domain is excluded as a whole: by its name, by a domain above it, or because
// both of its usual hosts are excluded including robots.txt.
func (x *Exclusions) Domain(domain string) bool {
	return x.URL("https://"+domain+"/robots.txt") && x.URL("https://www."+domain+"/robots.txt")
}

// Reach returns a superset of the domains that Domain reports: each of them has one of the names, or ends in one of
// the ends ("" matches all).
func (x *Exclusions) Reach() (names, ends []string) {
	names, ends = slices.Sorted(maps.Keys(x.domains)), []string{}
	for _, name := range names {
		ends = append(ends, "."+name)
	}
	names = append(names, slices.Sorted(maps.Keys(x.hosts))...)
	for _, p := range x.patterns {
		host, _, _ := strings.Cut(p, "/")
		if star := strings.LastIndexByte(host, '*'); star >= 0 {
			ends = append(ends, host[star+1:])
		} else {
			names = append(names, host)
		}
	}
	return names, ends
}

// URL reports whether an absolute URL, whose host is in A-labels, is excluded by its domain, its host or a pattern.
// A URL without a host is excluded, too.
func (x *Exclusions) URL(link string) bool {
	if x.None() {
		return false
	}
	host, path := splitURL(link)
	if host == "" || x.hosts[host] {
		return true
	}
	for above := host; above != ""; _, above, _ = strings.Cut(above, ".") {
		if x.domains[above] {
			return true
		}
	}
	if len(x.patterns) == 0 {
		return false
	}
	text := normalize(host + path)
	return slices.ContainsFunc(x.patterns, func(p string) bool { return matches(p, text) })
}

// Excluding returns the first exclusion of an absolute URL, or nil; see Exclusions.URL.
func (c *Controls) Excluding(link string) *Exclusion {
	if host, _ := splitURL(link); host == "" {
		return nil
	}
	for i := range c.Exclusions {
		if NewExclusions(c.Exclusions[i : i+1]).URL(link) {
			return &c.Exclusions[i]
		}
	}
	return nil
}

// ExcludingDomain returns the exclusions that rule out a domain as a whole, or its effective host; see
// Exclusions.Domain. effective may be "".
func (c *Controls) ExcludingDomain(domain, effective string) []Exclusion {
	list := []Exclusion{}
	for _, host := range []string{domain, "www." + domain, effective} {
		if host == "" {
			continue
		}
		if e := c.Excluding("https://" + host + "/robots.txt"); e != nil && !slices.Contains(list, *e) {
			list = append(list, *e)
		}
	}
	return list
}

// splitURL returns the host of an absolute URL, and the rest, which begins with a slash.
func splitURL(link string) (host, path string) {
	link, _, _ = strings.Cut(link, "#")
	link = schemeless(link)
	end := strings.IndexAny(link, `/\?`)
	if end < 0 {
		end = len(link)
	}
	return hostIn(link[:end]), "/" + strings.TrimPrefix(link[end:], "/")
}

// hostIn returns the host of an authority. Exclusions ignore ports.
func hostIn(authority string) string {
	host := strings.ToLower(authority[strings.LastIndexByte(authority, '@')+1:])
	if port := strings.LastIndexByte(host, ':'); port >= 0 {
		host = host[:port]
	}
	return strings.TrimSuffix(host, ".")
}

// normalize returns a pattern or URL in the spelling in which they are compared: percent-encoding, in capitals,
// only where it changes the meaning. Otherwise a site could escape the exclusion of "한" by writing "%ed%95%9c".
func normalize(s string) string {
	if strings.IndexByte(s, '%') < 0 {
		return s
	}
	b := make([]byte, 0, len(s))
	for i := 0; i < len(s); i++ {
		if s[i] == '%' && i+2 < len(s) {
			if v, err := strconv.ParseUint(s[i+1:i+3], 16, 8); err == nil {
				i += 2
				if strings.IndexByte(reserved, byte(v)) >= 0 {
					b = fmt.Appendf(b, "%%%02X", v)
				} else {
					b = append(b, byte(v))
				}
				continue
			}
		}
		b = append(b, s[i])
	}
	return string(b)
}

// reserved are the characters whose encoding changes a URL's meaning: the separators (RFC 3986, 2.2) without the
// apostrophe, which browsers encode in queries only, and the percent sign.
const reserved = "%:/?#[]@!$&()*+,;="

func schemeless(link string) string {
	_, link, _ = strings.Cut(link, "://")
	return link
}

// matches reports whether text matches the pattern, in which * stands for any characters. Each star takes as little
// as possible and grows only until the next star is reached, so the time is within the product of both lengths.
func matches(pattern, text string) bool {
	p, t := 0, 0
	star, resume := -1, 0
	for t < len(text) {
		switch {
		case p < len(pattern) && pattern[p] == '*':
			star, resume = p, t
			p++
		case p < len(pattern) && pattern[p] == text[t]:
			p++
			t++
		case star >= 0:
			resume++
			p, t = star+1, resume
		default:
			return false
		}
	}
	return strings.Trim(pattern[p:], "*") == ""
}
