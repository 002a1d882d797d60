package shard

import (
	"strings"

	"github.com/newsfork/seed-engine/contract"
	"github.com/newsfork/seed-engine/frontier/link"
)

// CountLinks counts the URLs that are brought into canonical form until stop is called.
func CountLinks() (count *int, stop func()) {
	count = new(int)
	parse := parseLink
	parseLink = func(p *link.Parser, url string) (link.URL, bool) {
		*count++
		return parse(p, url)
	}
	return count, func() { parseLink = parse }
}

// Suffix makes a domain a public suffix, as a later list may say, until stop is called.
func Suffix(suffix string) (stop func()) {
	registrableDomain = func(host string) (string, bool) {
		if host == suffix {
			return "", false
		}
		if above, ok := strings.CutSuffix(host, "."+suffix); ok {
			return above[strings.LastIndexByte(above, '.')+1:] + "." + suffix, true
		}
		return contract.RegistrableDomain(host)
	}
	return func() { registrableDomain = contract.RegistrableDomain }
}

// LimitPending replaces the limits of pointers that are in no block.
func (s *Shard) LimitPending(most int) { s.pending = most }
