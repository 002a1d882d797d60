package markup

import (
	"strings"

	"golang.org/x/net/publicsuffix"
)

// Private returns why a canonical host, without port, cannot be a public website, or "": IP addresses, single labels,
// public suffixes, .onion and .arpa, and names below a top-level domain that is not on the public suffix list, such as
// .internal, .local, .lan and .corp. It accepts .example and .test, which RFC 6761 (6.2, 6.5) reserves for
// documentation and tests.
func Private(host string) string {
	dot := strings.LastIndexByte(host, '.')
	top := host[dot+1:]
	switch {
	case EndsInNumber(host):
		return "its host is an IP address"
	case dot < 0:
		return "its host is a single label"
	case top == "onion" || top == "arpa":
		return "." + top + " is not part of the public web"
	}
	suffix, listed := publicsuffix.PublicSuffix(host)
	switch {
	case suffix == host:
		return "its host is a public suffix, not a site"
	case !listed && !strings.Contains(suffix, ".") && top != "example" && top != "test":
		return "." + top + " is not a public top-level domain"
	}
	return ""
}
