package hosts

import "strings"

// suffixLabels are second labels under a country's top level that belong to the suffix, not to the name.
var suffixLabels = labels("gov gob gouv govt go gub gv gc admin mil fed guv gouvernement government govern muni lg police parliament leg jus nsn kormany" +
	" edu ac ed edunet sch k12 uni acad school hs es ms kg sc org or ong asso ngo" +
	" co com ne net nom gen info biz web name ltd plc me firm in tv art pe re id my desa inf idf")

func labels(s string) map[string]bool {
	m := make(map[string]bool)
	for _, l := range strings.Fields(s) {
		m[l] = true
	}
	return m
}

// Parts are the labels of a host, told apart.
type Parts struct {
	Sub    string // "www.news" of www.news.example.go.kr
	Name   string // "example"
	Sector Sector
}

// Split tells the registered name from suffix and subdomains by the customs of the top levels. It
// is not the public suffix list (private suffixes do not matter here), and costs no table. A host that is
// a suffix, such as gov.uk, has no name: it is read like www.gov.uk.
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
