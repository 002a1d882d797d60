package hosts

import (
	"strings"
	"testing"
)

func TestSectorOf(t *testing.T) {
	for host, want := range map[string]Sector{
		"www.epa.gov": Government, "mofa.go.kr": Government, "interieur.gouv.fr": Government, "x.europa.eu": Government,
		"gov.uk":      Government,
		"www.gov.br.": Government, "who.int": Government, "gov": Government,
		"mit.edu": Education, "ox.ac.uk": Education, "kyoto-u.ac.jp": Education, "x.es.kr": Education,
		"x.es.de":  OtherSector,
		"icrc.org": Organisation, "x.or.kr": Organisation, "x.or.de": OtherSector,
		"example.com": OtherSector, "notgov.example": OtherSector, "gov.example.com": OtherSector,
		"gov.com":  OtherSector,
		"10.0.0.1": OtherSector, "[::1]": OtherSector, "": OtherSector, "ac": OtherSector,
	} {
		if got := SectorOf(host); got != want {
			t.Errorf("%s: %d, want %d", host, got, want)
		}
	}
}

func TestSplit(t *testing.T) {
	for host, want := range map[string]Parts{
		"www.news.example.go.kr": {"www.news", "example", Government},
		"www.example.co.uk":      {"www", "example", OtherSector},
		"example.co.com":         {"example", "co", OtherSector},
		"a.b.example.org":        {"a.b", "example", Organisation},
		"www.gov.uk":             {"", "www", Government},
		"gov.uk":                 {"", "", Government},
		"www.bayern.de":          {"www", "bayern", Government},
		"example":                {"", "example", OtherSector},
		"10.0.0.1":               {"", "10.0.0.1", OtherSector},
		"[::1]":                  {"", "[::1]", OtherSector},
		"":                       {},
	} {
		if got := Split(host); got != want {
			t.Errorf("%s: %+v, want %+v", host, got, want)
		}
	}
}

// TestSectorOf_Reservations: a suffix is reserved for one sector, and what stands before a reserved suffix is the
// name: the two readings of a host agree.
func TestSectorOf_Reservations(t *testing.T) {
	seen := map[string]bool{}
	once := func(suffix string) {
		if seen[suffix] {
			t.Errorf("%s is reserved twice", suffix)
		}
		seen[suffix] = true
	}
	for sector, r := range reservations {
		suffixes := r.tops + " " + r.suffixes
		for label := range strings.FieldsSeq(r.labels) {
			suffixes += " " + label + ".xx"
		}
		for suffix := range strings.FieldsSeq(suffixes) {
			once(suffix)
			if got, want := Split("www.ministry."+suffix), (Parts{"www", "ministry", sector}); got != want {
				t.Errorf("%s: %+v, want %+v", suffix, got, want)
			}
		}
		for domain := range strings.FieldsSeq(r.domains) {
			once(domain)
			if got := SectorOf("www." + domain); got != sector {
				t.Errorf("%s: %d, want %d", domain, got, sector)
			}
		}
	}
}

func TestSectorNamed(t *testing.T) {
	for authority, want := range map[string]Sector{
		"gov": Government, "mil": Government, "academic": Education, "ngo": Organisation, "com": OtherSector,
		"": OtherSector,
	} {
		if got := SectorNamed(authority); got != want {
			t.Errorf("%q: %d, want %d", authority, got, want)
		}
	}
}
