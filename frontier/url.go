package frontier

import (
	"strings"
	"unicode/utf8"

	"github.com/newsfork/seed-engine/contract"
)

// link is a URL taken apart.
type link struct {
	http bool
	host string // with its port
	path string // after the host's slash
}

// parse takes a canonical URL apart: an http or https URL in lower case up to the path, without
// userinfo and fragment. Making URLs canonical is the caller's business; here only what could not be
// stored or fetched is refused.
func parse(url string) (l link, ok bool) {
	if len(url) > MaxURL || !utf8.ValidString(url) || strings.ContainsFunc(url, func(r rune) bool { return r <= ' ' || r == 0x7f || r == '#' }) {
		return l, false
	}
	rest, ok := strings.CutPrefix(url, "https://")
	if !ok {
		if rest, ok = strings.CutPrefix(url, "http://"); !ok {
			return l, false
		}
		l.http = true
	}
	l.host, l.path, _ = strings.Cut(rest, "/")
	return l, checkHost(l.host)
}

// checkHost accepts a host's name in lower-case A-labels, perhaps with a port. Addresses are no hosts.
func checkHost(host string) bool {
	name, port, hasPort := strings.Cut(host, ":")
	if hasPort && (port == "" || len(port) > 5 || strings.Trim(port, "0123456789") != "") {
		return false
	}
	last := name[strings.LastIndexByte(name, '.')+1:]
	return contract.CheckDomain("", name) == nil && strings.Trim(last, "0123456789") != ""
}

// within reports whether a host belongs to a registrable domain.
func within(host, domain string) bool {
	name, _, _ := strings.Cut(host, ":")
	above, ok := strings.CutSuffix(name, domain)
	return ok && (above == "" || strings.HasSuffix(above, "."))
}

func (h *host) url(p *page) string {
	scheme := "https://"
	if p.http {
		scheme = "http://"
	}
	return scheme + h.name + "/" + p.path
}
