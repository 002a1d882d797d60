package discovery

import "strings"

// Second labels that name a sector under a country's top level. A country's own habits stand in
// front of a dot: "go.kr" is the government's, "go.de" is anyone's.
var (
	governmentSuffixes = words("gov gob gouv govt mil gub.uy gv.at admin.ch gc.ca bund.de fed.us nsn.us" +
		" go.kr go.jp go.id go.th go.ke go.tz go.ug go.cr go.ci go.bw lg.jp europa.eu parliament.uk police.uk muni.il" +
		" gouvernement.fr overheid.nl rijksoverheid.nl government.nl government.se regeringen.se fgov.be belgium.be government.bg")
	educationSuffixes = words("edu ac sch k12.us k12.il ed.jp ed.cr ed.ci school.nz school.za es.kr ms.kr hs.kr kg.kr sc.kr")
	orgSuffixes       = words("org or.kr or.jp or.id or.th or.ke or.tz or.ug or.at or.cr or.ci asso.fr ngo.ph ngo.za ong.br")
)

func words(s string) map[string]bool {
	m := map[string]bool{}
	for w := range strings.FieldsSeq(s) {
		m[w] = true
	}
	return m
}

// sector is who speaks from a host, as its suffix tells.
type sector uint8

const (
	otherSector sector = iota
	governmentSector
	educationSector
	organisationSector
)

// sectorOf reads the sector from the end of a host name in lower case. Only suffixes count:
// "gov.example.com" and "notgov.example" are nobody's.
func sectorOf(host string) sector {
	host = strings.TrimSuffix(host, ".")
	rest, top := "", host
	if i := strings.LastIndexByte(host, '.'); i >= 0 {
		rest, top = host[:i], host[i+1:]
	}
	switch top {
	case "gov", "mil", "int":
		return governmentSector
	case "edu":
		return educationSector
	case "org", "ngo", "ong":
		return organisationSector
	}
	second := rest[strings.LastIndexByte(rest, '.')+1:]
	if len(top) != 2 || second == "" {
		return otherSector
	}
	suffix := second + "." + top
	switch {
	case governmentSuffixes[second] || governmentSuffixes[suffix]:
		return governmentSector
	case educationSuffixes[second] || educationSuffixes[suffix]:
		return educationSector
	case orgSuffixes[second] || orgSuffixes[suffix]:
		return organisationSector
	}
	return otherSector
}

// authority is how much weight the word of a host has.
func authority(host string) float64 {
	switch sectorOf(host) {
	case governmentSector:
		return 1
	case educationSector:
		return 0.8
	case organisationSector:
		return 0.6
	}
	return 0.4
}
