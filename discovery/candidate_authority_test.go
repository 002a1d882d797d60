package discovery

import (
	"slices"
	"testing"

	"github.com/newsfork/seed-engine/classify"
	"github.com/newsfork/seed-engine/classify/embedded"
)

// TestAuthority_OneSector: the evidence shows the sector that the score counts, host by host.
func TestAuthority_OneSector(t *testing.T) {
	named := map[string]float64{"government": 1, "education": 0.8, "organisation": 0.6}
	for host, want := range map[string]float64{
		"www.bayern.de": 1, "www.land.nrw.de": 1, "www.service-bw.de": 1, "www.vlaanderen.be": 1, "news.un.org": 1,
		"www.stj.jus.br": 1, "www.camara.leg.br": 1, "www.bundesregierung.bund.de": 1, "muni.gov.pl": 1,
		"www.bk.admin.ch": 1,
		"canada.gc.ca":    1, "www.regeringen.se": 1, "www.met.police.uk": 1, "city.sapporo.lg.jp": 1, "korea.go.kr": 1,
		"www.go.de": 0.4, "news.gc.de": 0.4, "www.admin.de": 0.4, "www.parliament.de": 0.4, "a.muni.cz": 0.4,
		"www.police.be":    0.4,
		"www.notbayern.de": 0.4, "bayern.de.example.com": 0.4,
		"snu.ac.kr": 0.8, "x.hs.kr": 0.8, "www.hs.de": 0.4, "x.sch.uk": 0.8, "www.ed.com": 0.4,
		"kbs.or.kr": 0.6, "x.asso.fr": 0.6, "www.or.de": 0.4, "www.wikipedia.org": 0.6,
	} {
		if got := authority(host); got != want {
			t.Errorf("%s: authority %v, want %v", host, got, want)
		}
		shown := 0.4
		for _, word := range embedded.Model().Classify("https://"+host+"/news",
			classify.Context{}).Evidence.DomainContext {
			shown = max(shown, named[word])
		}
		if shown != want {
			t.Errorf("%s: the evidence shows what counts %v, want %v", host, shown, want)
		}
	}
}

// TestGovernmentPatterns_Sector: what the evidence calls a government's has its patterns.
func TestGovernmentPatterns_Sector(t *testing.T) {
	for _, domain := range []string{"bayern.de", "vlaanderen.be", "mom.gov.sg"} {
		context := embedded.Model().Classify("https://www."+domain+"/", classify.Context{}).Evidence.DomainContext
		if !slices.Contains(context, "government") || len(governmentPatterns(domain)) == 0 {
			t.Errorf("%s: %v, %d patterns", domain, context, len(governmentPatterns(domain)))
		}
	}
}
