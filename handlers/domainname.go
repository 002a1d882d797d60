package handlers

import (
	"strings"

	"github.com/newsfork/seed-engine/contract"
	"github.com/newsfork/seed-engine/markup"
)

// sanitizeDomain returns a domain as keys and the ledger spell it: lower-case ASCII, IDNA A-labels (RFC 5891), no
// trailing dot. If that is impossible it returns a Validation error.
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
