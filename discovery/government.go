package discovery

import (
	"strings"

	"github.com/newsfork/seed-engine/discovery/internal/urltext"
)

// expectedPattern is a pattern that sites of governments use as a rule.
type expectedPattern struct {
	pattern    string
	t          Type
	confidence float64
}

// everyGovernment are the patterns to expect of any government.
var everyGovernment = []expectedPattern{
	{"/press-releases/{year}", PressRelease, 0.8},
	{"/policies/{slug}", Policy, 0.7},
}

// governmentLibrary holds the patterns to expect by the suffix of a government's domain, the longest
// suffix that fits. They are what the publishing systems of these administrations produce.
var governmentLibrary = map[string][]expectedPattern{
	"gov":      {{"/news/press-releases/{year}/{month}/{slug}", PressRelease, 0.7}, {"/newsroom/{slug}", News, 0.7}, {"/blog/{year}/{month}/{day}/{slug}", News, 0.5}},
	"gov.uk":   {{"/government/news/{slug}", PressRelease, 0.7}, {"/government/publications/{slug}", Publication, 0.7}, {"/government/consultations/{slug}", Announcement, 0.5}},
	"gov.sg":   {{"/newsroom/press-releases/{year}", PressRelease, 0.7}, {"/newsroom/speeches/{year}", PressRelease, 0.6}, {"/media/press-releases/{slug}", PressRelease, 0.5}},
	"gov.au":   {{"/news/{slug}", News, 0.7}, {"/media-releases/{slug}", PressRelease, 0.7}, {"/news-and-media/{slug}", News, 0.5}},
	"govt.nz":  {{"/release/{slug}", PressRelease, 0.7}, {"/news/{slug}", News, 0.7}, {"/about-us/news/{slug}", News, 0.5}},
	"gov.in":   {{"/press-release/{slug}", PressRelease, 0.6}, {"/whats-new", Announcement, 0.6}, {"/tenders", Announcement, 0.6}},
	"gov.br":   {{"/{lang}/assuntos/noticias/{year}/{month}/{slug}", News, 0.7}, {"/pt-br/noticias/{slug}", News, 0.6}, {"/pt-br/assuntos/noticias/{year}", News, 0.6}},
	"gov.pl":   {{"/web/{slug}/aktualnosci", News, 0.7}, {"/web/{slug}/wiadomosci", News, 0.6}},
	"gov.it":   {{"/it/articolo/{slug}/{id}", News, 0.6}, {"/comunicati-stampa/{slug}", PressRelease, 0.7}, {"/notizie/{slug}", News, 0.7}},
	"gov.cn":   {{"/xinwen/{date}/{slug}", News, 0.6}, {"/zhengce/{date}/{slug}", Policy, 0.6}},
	"gov.tw":   {{"/News", News, 0.6}, {"/News_Content.aspx?n={id}&s={id}", News, 0.6}},
	"gov.ph":   {{"/news/{slug}", News, 0.7}, {"/press-releases/{slug}", PressRelease, 0.7}},
	"gov.vn":   {{"/tin-tuc/{slug}", News, 0.7}, {"/tin-tuc-su-kien/{slug}", News, 0.6}, {"/van-ban/{slug}", Legislation, 0.5}},
	"gov.my":   {{"/berita", News, 0.6}, {"/kenyataan-media/{year}", PressRelease, 0.6}},
	"gov.za":   {{"/news/media-statements/{slug}", PressRelease, 0.7}, {"/speeches/{slug}", PressRelease, 0.6}},
	"go.kr":    {{"/news/pressRelease", PressRelease, 0.6}, {"/board/press", PressRelease, 0.5}, {"/bbs/list.do?bbsId={id}", Announcement, 0.5}},
	"go.jp":    {{"/press/{year}", PressRelease, 0.6}, {"/news/{year}", News, 0.6}, {"/houdou/{year}", PressRelease, 0.6}, {"/whatsnew", Announcement, 0.5}},
	"go.id":    {{"/berita/{slug}", News, 0.7}, {"/siaran-pers/{slug}", PressRelease, 0.7}, {"/pengumuman/{slug}", Announcement, 0.6}},
	"go.th":    {{"/news/{id}", News, 0.6}, {"/th/news", News, 0.5}},
	"go.ke":    {{"/news/{slug}", News, 0.6}, {"/press-releases/{slug}", PressRelease, 0.6}, {"/tenders", Announcement, 0.5}},
	"gob.mx":   {{"/{slug}/prensa", PressRelease, 0.7}, {"/{slug}/archivo/prensa", PressRelease, 0.6}, {"/{slug}/articulos", News, 0.6}},
	"gob.ar":   {{"/noticias/{slug}", News, 0.7}, {"/{slug}/noticias", News, 0.6}, {"/normativa", Legislation, 0.5}},
	"gob.es":   {{"/prensa/actualidad/noticias", News, 0.6}, {"/es/prensa/notas-de-prensa", PressRelease, 0.6}, {"/gabinete/notasprensa", PressRelease, 0.5}},
	"gob.cl":   {{"/noticias/{slug}", News, 0.7}, {"/comunicados", PressRelease, 0.5}},
	"gob.pe":   {{"/institucion/{slug}/noticias", News, 0.7}, {"/institucion/{slug}/normas-legales", Legislation, 0.6}},
	"gouv.fr":  {{"/actualites/{slug}", News, 0.7}, {"/presse/{slug}", PressRelease, 0.7}, {"/communiques-de-presse/{slug}", PressRelease, 0.6}},
	"gv.at":    {{"/aktuelles", News, 0.6}, {"/presse/{year}", PressRelease, 0.6}, {"/themen/{slug}", Policy, 0.5}},
	"admin.ch": {{"/{lang}/newnsb/{slug}", PressRelease, 0.6}, {"/{lang}/medienmitteilungen", PressRelease, 0.6}, {"/{lang}/home/aktuell", News, 0.5}},
	"bund.de":  {{"/DE/Presse/Pressemitteilungen/{year}/{slug}", PressRelease, 0.7}, {"/SharedDocs/Pressemitteilungen/DE/{year}/{slug}", PressRelease, 0.7}, {"/DE/Aktuelles", News, 0.6}},
	"gc.ca":    {{"/en/news", News, 0.6}, {"/eng/news/{year}", News, 0.6}, {"/fra/nouvelles/{year}", News, 0.5}},
	"gub.uy":   {{"/{slug}/comunicacion/noticias", News, 0.7}, {"/{slug}/comunicacion/comunicados", PressRelease, 0.6}},
}

// governmentPatterns are the patterns to expect of a domain, none when it is not a government's.
func governmentPatterns(domain string) []URLPattern {
	if urltext.SectorOf(domain) != urltext.Government {
		return nil
	}
	var list []URLPattern
	add := func(expected []expectedPattern) {
		for _, e := range expected {
			list = append(list, URLPattern{Pattern: e.pattern, ContentType: e.t, Confidence: e.confidence, Examples: []string{}})
		}
	}
	add(everyGovernment)
	for suffix := domain; suffix != ""; {
		if expected, ok := governmentLibrary[suffix]; ok {
			add(expected)
			break
		}
		_, suffix, _ = strings.Cut(suffix, ".")
	}
	return list
}
