package hosts

import "strings"

// Parts are the labels of a host, told apart.
type Parts struct {
	Sub    string // "www.news" of www.news.example.go.kr
	Name   string // "example"
	Sector Sector
}

// Split tells the registered name of a host in lower case from its suffix and subdomains, by the customs of
// the top levels. It is not the public suffix list: private suffixes do not matter here, and it costs no
// table. A host that is a suffix, such as gov.uk, has no name: it is read like www.gov.uk.
func Split(host string) Parts {
	h := Parts{Sector: SectorOf(host)}
	if host == "" || host[0] == '[' || isIPv4(host) {
		h.Name = host
		return h
	}
	top := strings.LastIndexByte(host, '.')
	if top < 0 {
		h.Name = host
		return h
	}
	rest := host[:top]
	if second := strings.LastIndexByte(rest, '.'); len(host)-top == 3 && suffixLabels[rest[second+1:]] {
		rest = rest[:max(second, 0)]
	}
	if i := strings.LastIndexByte(rest, '.'); i >= 0 {
		h.Sub, h.Name = rest[:i], rest[i+1:]
	} else {
		h.Name = rest
	}
	return h
}

func isIPv4(host string) bool {
	for i := range len(host) {
		if c := host[i]; c != '.' && (c < '0' || c > '9') {
			return false
		}
	}
	return true
}
