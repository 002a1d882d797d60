// Package hosts parses host names: it finds the sector of a host, and which of its labels is the registered
// name. It is the only authority on both, for the classifier and for the scores of discovery.
package hosts

import "strings"

// Sector is the part of society that the suffix of a host is reserved for.
type Sector uint8

// The sectors: go.kr and gouv.fr are Government, ac.uk and .edu Education, .org and or.jp Organisation.
const (
	OtherSector Sector = iota
	Government
	Education
	Organisation
)

// reserved are the suffixes that registries reserve for a sector.
type reserved struct {
	tops     string // top-level domains
	labels   string // second labels that mean the same below the top level of every country
	suffixes string // suffixes of some countries only: "go.kr" is the government's, "go.de" is anyone's
	domains  string // registered domains of the sector whose suffix is reserved for none
}

var reservations = map[Sector]reserved{
	Government: {
		tops:   "gov mil int",
		labels: "gov gob gouv govt mil",
		suffixes: "go.kr go.jp lg.jp go.id go.th go.ke go.tz go.ug go.cr go.ci go.bw gub.uy gv.at admin.ch gc.ca" +
			" fed.us nsn.us jus.br leg.br parliament.uk police.uk muni.il",
		domains: "un.org europa.eu bund.de bayern.de nrw.de service-bw.de gouvernement.fr overheid.nl " +
			"rijksoverheid.nl" +
			" government.nl belgium.be fgov.be vlaanderen.be wallonie.be regeringen.se government.se government.bg",
	},
	Education: {
		tops:     "edu",
		labels:   "edu ac sch k12",
		suffixes: "ed.jp ed.cr ed.ci school.nz school.za es.kr ms.kr hs.kr kg.kr sc.kr",
	},
	Organisation: {
		tops:   "org ngo ong",
		labels: "org",
		suffixes: "or.kr or.jp or.id or.th or.ke or.tz or.ug or.at or.cr or.ci" +
			" asso.fr ngo.ph ngo.pl ngo.za ong.br",
	},
}

// otherSuffixLabels are second labels below a country's top level that belong to the suffix, not to the
// name, and are reserved for no sector, or not wherever they are used.
const otherSuffixLabels = "guv gouvernement government govern kormany edunet uni acad" +
	" co com ne net nom gen info biz web name ltd plc me firm in tv art pe re id my desa inf idf"

var (
	sectorOfSuffix = map[string]Sector{} // tops, suffixes and domains
	sectorOfLabel  = map[string]Sector{} // second labels below any country
	suffixLabels   = map[string]bool{}   // second labels below a country that belong to the suffix
)

func init() {
	for sector, r := range reservations {
		for suffix := range strings.FieldsSeq(r.tops + " " + r.suffixes + " " + r.domains) {
			sectorOfSuffix[suffix] = sector
		}
		for label := range strings.FieldsSeq(r.labels) {
			sectorOfLabel[label] = sector
			suffixLabels[label] = true
		}
		for suffix := range strings.FieldsSeq(r.suffixes) {
			label, _, _ := strings.Cut(suffix, ".")
			suffixLabels[label] = true
		}
	}
	for label := range strings.FieldsSeq(otherSuffixLabels) {
		suffixLabels[label] = true
	}
}

// SectorOf reads the sector from the end of a host name in lower case. Only suffixes count:
// "gov.example.com" and "notgov.example" belong to none.
func SectorOf(host string) Sector {
	host = strings.TrimSuffix(host, ".")
	dot := strings.LastIndexByte(host, '.')
	if dot < 0 {
		return sectorOfSuffix[host]
	}
	second := strings.LastIndexByte(host[:dot], '.') + 1
	if sector, ok := sectorOfSuffix[host[second:]]; ok {
		return sector
	}
	if top := host[dot+1:]; len(top) != 2 {
		return sectorOfSuffix[top]
	}
	return sectorOfLabel[host[second:dot]]
}

// SectorNamed returns the sector that raw files name as the authority of a source, such as "gov", "edu" or
// "org"; OtherSector for any other word.
func SectorNamed(authority string) Sector {
	switch authority {
	case "gov", "government", "mil":
		return Government
	case "edu", "education", "academic":
		return Education
	case "org", "organisation", "organization", "ngo":
		return Organisation
	}
	return OtherSector
}
