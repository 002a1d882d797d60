package handlers

import (
	"strings"

	"github.com/newsfork/seed-engine/contract"
	"github.com/newsfork/seed-engine/markup"
)

// sanitizeDomain gives the form of a domain that stands in keys and in the ledger: lower-case ASCII, IDNA
// A-labels (RFC 5891), without a trailing dot. What cannot be brought into that form is a Validation error.
func sanitizeDomain(domain string) (string, error) {
	d := strings.ToLower(strings.TrimSuffix(domain, "."))
	if contract.CheckDomain("domain", d) == nil {
		return d, nil
	}
	a, err := markup.Host(d)
	if err != nil {
		a = d
	}
	return a, contract.CheckDomain("domain", a)
}
