package hosts

import "strings"

// Sector is what the suffix of a host says about who speaks.
type Sector uint8

// The sectors: go.kr and gouv.fr are Government, ac.uk and .edu Education, .org and or.jp Organisation.
const (
	OtherSector Sector = iota
	Government
	Education
	Organisation
)

// sectors are the suffixes that name a sector, and the registrable domains of governments whose suffix
// names none. "x.*" is a second label that means the same under the top level of every country; what
// only some countries use so stands in full: "go.kr" is the government's, "go.de" is anyone's.
var sectors = sectorTable(map[Sector]string{
	Government: "gov mil int gov.* gob.* gouv.* govt.* mil.*" +
		" go.kr go.jp lg.jp go.id go.th go.ke go.tz go.ug go.cr go.ci go.bw gub.uy gv.at admin.ch gc.ca fed.us nsn.us" +
		" jus.br leg.br parliament.uk police.uk muni.il" +
		" un.org europa.eu bund.de bayern.de nrw.de service-bw.de gouvernement.fr overheid.nl rijksoverheid.nl government.nl" +
		" belgium.be fgov.be vlaanderen.be wallonie.be regeringen.se government.se government.bg",
	Education: "edu edu.* ac.* sch.* k12.* ed.jp ed.cr ed.ci school.nz school.za es.kr ms.kr hs.kr kg.kr sc.kr",
	Organisation: "org ngo ong org.* or.kr or.jp or.id or.th or.ke or.tz or.ug or.at or.cr or.ci" +
		" asso.fr ngo.ph ngo.pl ngo.za ong.br",
})

func sectorTable(suffixes map[Sector]string) map[string]Sector {
	table := map[string]Sector{}
	for sector, list := range suffixes {
		for suffix := range strings.FieldsSeq(list) {
			table[suffix] = sector
		}
	}
	return table
}

// SectorOf reads the sector from the end of a host name in lower case. Only suffixes count:
// "gov.example.com" and "notgov.example" are nobody's.
func SectorOf(host string) Sector {
	host = strings.TrimSuffix(host, ".")
	dot := strings.LastIndexByte(host, '.')
	if dot < 0 {
		return sectors[host]
	}
	second := strings.LastIndexByte(host[:dot], '.') + 1
	if sector, ok := sectors[host[second:]]; ok {
		return sector
	}
	if top := host[dot+1:]; len(top) != 2 {
		return sectors[top]
	}
	return sectors[host[second:dot+1]+"*"]
}
