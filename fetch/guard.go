package fetch

import (
	"errors"
	"fmt"
	"net/url"
	"strconv"
	"strings"

	"github.com/newsfork/seed-engine/contract"
	"github.com/newsfork/seed-engine/markup"
)

// ErrUnsafe is returned for URLs that Guard refuses.
var ErrUnsafe = errors.New("unsafe URL")

// maxURL is the length of the longest URL that is accepted.
const (
	maxURL  = contract.MaxLinkBytes
	tooLong = "it is longer than 8000 bytes"
)

// Guard parses an absolute URL and returns it in the form that is requested: lower-case scheme and host, the host in
// A-labels without a final dot, no default port, a path, no fragment. It returns an error of kind Validation that
// matches ErrUnsafe for a URL that might reach anything but a public website:
//   - schemes other than http and https, ports other than 80 and 443, user information;
//   - IP addresses in every spelling that URL parsers accept (127.1, 0x7f000001, 2130706433, full-width
//     digits, IPv6): a host whose last label is a number is one (url.spec.whatwg.org, "ends in a number");
//   - names of a single label, public suffixes, .onion and .arpa, and names under a top-level domain that is not on
//     the
//     public suffix list, such as .internal, .local, .lan and .corp.
//
// It accepts .example and .test: RFC 6761 (6.2, 6.5) reserves them for documentation and tests, and asks applications
// not to treat them as special.
func Guard(raw string) (*url.URL, error) {
	u, err := parse(raw)
	if err != nil {
		return nil, err
	}
	return guarded(u, raw)
}

// resolve is Guard for a Location field (RFC 9110, 10.2.2), which may be relative to base.
func resolve(base *url.URL, location string) (*url.URL, error) {
	ref, err := parse(location)
	if err != nil {
		return nil, err
	}
	return guarded(base.ResolveReference(ref), location)
}

func parse(raw string) (*url.URL, error) {
	if len(raw) > maxURL {
		return nil, refuse(raw, tooLong)
	}
	u, err := url.Parse(tidy(raw))
	if err != nil {
		return nil, refuse(raw, "it cannot be read as a URL")
	}
	return u, nil
}

func guarded(u *url.URL, raw string) (*url.URL, error) {
	if u.Scheme != "http" && u.Scheme != "https" {
		return nil, refuse(raw, "its scheme is not http or https")
	}
	if u.Opaque != "" || u.Host == "" {
		return nil, refuse(raw, "it names no host")
	}
	if u.User != nil {
		return nil, refuse(raw, "it holds user information")
	}
	port := ""
	if p := u.Port(); p != "" {
		n, err := strconv.Atoi(p)
		if err != nil || n != 80 && n != 443 {
			return nil, refuse(raw, "its port is not 80 or 443")
		}
		if defaultPort := map[string]int{"http": 80, "https": 443}[u.Scheme]; n != defaultPort {
			port = ":" + strconv.Itoa(n)
		}
	}
	host, why := canonicalHost(u.Hostname())
	if why == "" {
		why = markup.Private(host)
	}
	if why != "" {
		return nil, refuse(raw, why)
	}
	g := *u
	g.Host = host + port
	g.Fragment, g.RawFragment = "", ""
	if g.Path == "" {
		g.Path = "/"
	}
	withoutDots(&g)
	if len(g.String()) > maxURL {
		return nil, refuse(raw, tooLong)
	}
	return &g, nil
}

// withoutDots removes the dot segments of a path, encoded ones too, as the platform does when it sends the request.
// Otherwise robots.txt and exclusions would be matched against another path than the one requested.
func withoutDots(u *url.URL) {
	path := u.EscapedPath()
	if !strings.Contains(path, "/.") && !strings.Contains(strings.ToLower(path), "/%2e") {
		return
	}
	path = string(markup.AppendPath(nil, []byte(path)))
	if plain, err := url.PathUnescape(path); err == nil {
		u.Path, u.RawPath = plain, path
	}
}

// canonicalHost returns the host in lower-case A-labels, or the reason why it is invalid.
func canonicalHost(host string) (name, why string) {
	switch {
	case strings.Contains(host, ":"):
		return "", "its host is an IP address"
	case strings.Contains(host, "%"): // url.Parse has decoded it once
		return "", "its host is " + markup.ErrHost.Error()
	}
	name, err := markup.Host(host)
	if err != nil {
		return "", "its host is " + err.Error()
	}
	return name, ""
}

// Registrable returns the registrable domain of a canonical host, or the host if it has none.
func Registrable(host string) string {
	if domain, ok := contract.RegistrableDomain(host); ok {
		return domain
	}
	return host
}

// tidy percent-encodes, as browsers do, the bytes of real links that RFC 3986 does not allow: spaces, quotes,
// non-ASCII bytes and stray percent signs. In a host url.Parse decodes non-ASCII bytes again, and fails for all
// others.
func tidy(raw string) string {
	raw = strings.Trim(raw, " \t\r\n\f")
	first := strings.IndexFunc(raw, func(r rune) bool { return r >= 0x80 || strings.ContainsRune(untidy, r) })
	if first < 0 {
		return raw
	}
	var b strings.Builder
	b.Grow(len(raw) + 16)
	b.WriteString(raw[:first])
	for i := first; i < len(raw); i++ {
		c := raw[i]
		switch {
		case c == '%' && i+2 < len(raw) && hexDigit(raw[i+1]) && hexDigit(raw[i+2]):
			b.WriteByte(c)
		case c >= 0x80 || strings.IndexByte(untidy, c) >= 0:
			fmt.Fprintf(&b, "%%%02X", c)
		default:
			b.WriteByte(c)
		}
	}
	return b.String()
}

const untidy = " \"<>\\^`{|}%"

func hexDigit(c byte) bool {
	return '0' <= c && c <= '9' || 'a' <= c && c <= 'f' || 'A' <= c && c <= 'F'
}

func refuse(raw, why string) *contract.Error {
	if len(raw) > 200 {
		raw = raw[:200] + "…"
	}
	e := contract.Invalid("url", "%q is not fetched: %s; only http and https URLs of public websites are", raw, why)
	e.Op, e.Err = "fetch.Guard", ErrUnsafe
	return e
}
