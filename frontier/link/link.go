// Package link takes URLs apart into the parts by which the frontier keeps them, and says which hosts it takes.
package link

import (
	"strings"
	"unicode/utf8"

	"github.com/newsfork/seed-engine/contract"
	"github.com/newsfork/seed-engine/markup"
)

// URL is a URL taken apart.
type URL struct {
	HTTP bool
	Host string // with its port
	Path string // after the host's slash
}

// Parse takes a URL apart, in its canonical form: all spellings of a URL give the same parts. ok is false unless it is
// an http or https URL that the frontier can store.
func Parse(url string) (URL, bool) { return new(Parser).Parse(url) }

// Parser parses many URLs, which mostly have the host of the one before.
type Parser struct {
	urls               markup.Canoniser
	written, canonical []byte // the last URL
	host               string // its host
	valid              bool   // ValidHost(host)
}

// Parse is the function Parse.
func (p *Parser) Parse(url string) (l URL, ok bool) {
	if len(url) > contract.MaxLinkBytes || strings.ContainsFunc(url, unusable) {
		return l, false
	}
	p.written = append(p.written[:0], url...)
	if p.canonical, ok = p.urls.Append(p.canonical[:0], p.written); !ok {
		return l, false
	}
	scheme, rest, _ := strings.Cut(string(p.canonical), "://")
	l.HTTP = scheme == "http"
	l.Host, l.Path, _ = strings.Cut(rest, "/")
	if l.Host != p.host {
		p.host, p.valid = l.Host, ValidHost(l.Host)
	}
	return l, p.valid
}

// unusable reports whether a character can be in no URL: what is no UTF-8, or what JSON made of it, among them.
func unusable(r rune) bool { return r < ' ' || r == 0x7f || r == utf8.RuneError }

// ValidHost reports whether a host can be fetched from: the canonical name of a public website, without a port. The
// frontier must not send scrapers to private networks, whoever names them, and what a server asks for (its delay, its
// Retry-After) would not hold for another port of it.
func ValidHost(host string) bool {
	return contract.CheckDomain("", host) == nil && markup.Private(host) == ""
}

// Within reports whether a host belongs to a registrable domain.
func Within(host, domain string) bool {
	return contract.WithinDomain(Hostname(host), domain)
}

// Hostname returns a host without its port.
func Hostname(host string) string {
	name, _, _ := strings.Cut(host, ":")
	return name
}

// String returns the URL in its canonical form.
func (l URL) String() string {
	if l.HTTP {
		return "http://" + l.Host + "/" + l.Path
	}
	return "https://" + l.Host + "/" + l.Path
}
