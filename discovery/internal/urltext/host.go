package urltext

import "strings"

// Sector is what the suffix of a host says about who speaks.
type Sector uint8

// The sectors, as the registrable suffix tells them: go.kr and gouv.fr are Government,
// ac.uk and .edu Education, .org and or.jp Organisation.
const (
	OtherSector Sector = iota
	Government
	Education
	Organisation
)

// second-level labels under a country's top level that name a sector, and those that name none but
// belong to the suffix all the same.
var (
	governmentLabels = labels("gov gob gouv govt go gub gv gc gob admin mil fed guv gouvernement government govern muni lg police parliament leg jus nsn kormany")
	educationLabels  = labels("edu ac ed edunet sch k12 uni acad school hs es ms kg sc")
	orgLabels        = labels("org or ong asso ngo")
	plainLabels      = labels("co com ne net nom gen info biz web name ltd plc me firm in tv art pe re biz id my desa inf idf")
	// Whole registrable domains of governments whose suffix is not a government's.
	governmentDomains = labels("europa.eu admin.ch gc.ca un.org whitehouse.gov bund.de service-bw.de bayern.de nrw.de overheid.nl regeringen.se belgium.be fgov.be vlaanderen.be wallonie.be government.nl rijksoverheid.nl government.se government.bg")
)

func labels(s string) map[string]bool {
	m := make(map[string]bool)
	for _, l := range strings.Fields(s) {
		m[l] = true
	}
	return m
}

// hostParts are the labels of a host, told apart.
type hostParts struct {
	sub    string // "www.news" of www.news.example.go.kr
	name   string // "example"
	suffix string // "go.kr"
	sector Sector
}

// splitHost tells the registered name from suffix and subdomains by the customs of the top levels. It
// is not the public suffix list (private suffixes do not matter here), and costs no table.
func splitHost(host string) hostParts {
	var h hostParts
	if host == "" || host[0] == '[' || isIPv4(host) {
		h.name = host
		return h
	}
	top := strings.LastIndexByte(host, '.')
	if top < 0 {
		h.name = host
		return h
	}
	tld := host[top+1:]
	rest := host[:top]
	h.suffix = tld
	switch tld {
	case "gov", "mil", "int":
		h.sector = Government
	case "edu":
		h.sector = Education
	case "org", "ngo", "ong":
		h.sector = Organisation
	}
	if second := strings.LastIndexByte(rest, '.'); len(tld) == 2 && second >= 0 {
		label := rest[second+1:]
		switch {
		case governmentLabels[label]:
			h.sector = Government
		case educationLabels[label] && label != "es" && label != "sc":
			h.sector = Education
		case orgLabels[label]:
			h.sector = Organisation
		}
		if h.sector != OtherSector || plainLabels[label] || educationLabels[label] {
			h.suffix = host[second+1:]
			rest = rest[:second]
		}
	}
	if i := strings.LastIndexByte(rest, '.'); i >= 0 {
		h.sub, h.name = rest[:i], rest[i+1:]
	} else {
		h.name = rest
	}
	if h.sector != Government {
		registrable := h.name + "." + h.suffix
		if governmentDomains[registrable] {
			h.sector = Government
		}
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

// SectorOf reads the sector from a host name in lower case.
func SectorOf(host string) Sector { return splitHost(host).sector }
