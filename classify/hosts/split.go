package hosts

import "strings"

// Parts are the labels of a host in groups.
type Parts struct {
	Sub    string // "www.news" of www.news.example.go.kr
	Name   string // "example"
	Sector Sector
}

// Split separates the registered name of a host in lower case from its suffix and subdomains by the customs of
// the top levels. It does without the public suffix list and its size: private suffixes do not matter here. A
// host that is a suffix itself, such as gov.uk, has no name.
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
	name := host[:top]
	if second := strings.LastIndexByte(name, '.'); len(host)-top == 3 && suffixLabels[name[second+1:]] {
		name = name[:max(second, 0)]
	}
	if i := strings.LastIndexByte(name, '.'); i >= 0 {
		h.Sub, h.Name = name[:i], name[i+1:]
	} else {
		h.Name = name
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
