package discovery

import (
	"strings"

	"github.com/newsfork/seed-engine/classify"
	"github.com/newsfork/seed-engine/classify/hosts"
)

// expectedPattern is a pattern that is usual on sites of governments.
type expectedPattern struct {
	pattern     string
	contentType classify.Type
	confidence  float64
}

// everyGovernment are the patterns to expect of any government.
var everyGovernment = []expectedPattern{
	{"/press-releases/{year}", classify.PressRelease, 0.8},
	{"/policies/{slug}", classify.Policy, 0.7},
}

// governmentLibrary lists the patterns to expect by the suffix of a government's domain; the longest suffix that
// matches counts. They are the patterns of the publishing systems of these administrations. It is a list since a map
// would be filled whenever the program starts, by 14 KB of it.
var governmentLibrary = [...]struct {
	suffix   string
	patterns []expectedPattern
}{
	{"gov", []expectedPattern{{"/news/press-releases/{year}/{month}/{slug}", classify.PressRelease, 0.7},
		{"/newsroom/{slug}", classify.News, 0.7}, {"/blog/{year}/{month}/{day}/{slug}", classify.News, 0.5}}},
	{"gov.uk", []expectedPattern{{"/government/news/{slug}", classify.PressRelease, 0.7},
		{"/government/publications/{slug}", classify.Publication, 0.7},
		{"/government/consultations/{slug}", classify.Announcement, 0.5}}},
	{"gov.sg", []expectedPattern{{"/newsroom/press-releases/{year}", classify.PressRelease, 0.7},
		{"/newsroom/speeches/{year}", classify.PressRelease, 0.6},
		{"/media/press-releases/{slug}", classify.PressRelease, 0.5}}},
	{"gov.au", []expectedPattern{{"/news/{slug}", classify.News, 0.7},
		{"/media-releases/{slug}", classify.PressRelease, 0.7}, {"/news-and-media/{slug}", classify.News, 0.5}}},
	{"govt.nz", []expectedPattern{{"/release/{slug}", classify.PressRelease, 0.7}, {"/news/{slug}", classify.News, 0.7},
		{"/about-us/news/{slug}", classify.News, 0.5}}},
	{"gov.in", []expectedPattern{{"/press-release/{slug}", classify.PressRelease, 0.6},
		{"/whats-new", classify.Announcement, 0.6}, {"/tenders", classify.Announcement, 0.6}}},
	{"gov.br", []expectedPattern{{"/{lang}/assuntos/noticias/{year}/{month}/{slug}", classify.News, 0.7},
		{"/pt-br/noticias/{slug}", classify.News, 0.6}, {"/pt-br/assuntos/noticias/{year}", classify.News, 0.6}}},
	{"gov.pl", []expectedPattern{{"/web/{slug}/aktualnosci", classify.News, 0.7},
		{"/web/{slug}/wiadomosci", classify.News, 0.6}}},
	{"gov.it", []expectedPattern{{"/it/articolo/{slug}/{id}", classify.News, 0.6},
		{"/comunicati-stampa/{slug}", classify.PressRelease, 0.7}, {"/notizie/{slug}", classify.News, 0.7}}},
	{"gov.cn", []expectedPattern{{"/xinwen/{date}/{slug}", classify.News, 0.6},
		{"/zhengce/{date}/{slug}", classify.Policy, 0.6}}},
	{"gov.tw", []expectedPattern{{"/News", classify.News, 0.6},
		{"/News_Content.aspx?n={id}&s={id}", classify.News, 0.6}}},
	{"gov.ph", []expectedPattern{{"/news/{slug}", classify.News, 0.7},
		{"/press-releases/{slug}", classify.PressRelease, 0.7}}},
	{"gov.vn", []expectedPattern{{"/tin-tuc/{slug}", classify.News, 0.7},
		{"/tin-tuc-su-kien/{slug}", classify.News, 0.6},
		{"/van-ban/{slug}", classify.Legislation, 0.5}}},
	{"gov.my", []expectedPattern{{"/berita", classify.News, 0.6},
		{"/kenyataan-media/{year}", classify.PressRelease, 0.6}}},
	{"gov.za", []expectedPattern{{"/news/media-statements/{slug}", classify.PressRelease, 0.7},
		{"/speeches/{slug}", classify.PressRelease, 0.6}}},
	{"go.kr", []expectedPattern{{"/news/pressRelease", classify.PressRelease, 0.6},
		{"/board/press", classify.PressRelease, 0.5}, {"/bbs/list.do?bbsId={id}", classify.Announcement, 0.5}}},
	{"go.jp", []expectedPattern{{"/press/{year}", classify.PressRelease, 0.6}, {"/news/{year}", classify.News, 0.6},
		{"/houdou/{year}", classify.PressRelease, 0.6}, {"/whatsnew", classify.Announcement, 0.5}}},
	{"go.id", []expectedPattern{{"/berita/{slug}", classify.News, 0.7},
		{"/siaran-pers/{slug}", classify.PressRelease, 0.7}, {"/pengumuman/{slug}", classify.Announcement, 0.6}}},
	{"go.th", []expectedPattern{{"/news/{id}", classify.News, 0.6}, {"/th/news", classify.News, 0.5}}},
	{"go.ke", []expectedPattern{{"/news/{slug}", classify.News, 0.6},
		{"/press-releases/{slug}", classify.PressRelease, 0.6}, {"/tenders", classify.Announcement, 0.5}}},
	{"gob.mx", []expectedPattern{{"/{slug}/prensa", classify.PressRelease, 0.7},
		{"/{slug}/archivo/prensa", classify.PressRelease, 0.6}, {"/{slug}/articulos", classify.News, 0.6}}},
	{"gob.ar", []expectedPattern{{"/noticias/{slug}", classify.News, 0.7}, {"/{slug}/noticias", classify.News, 0.6},
		{"/normativa", classify.Legislation, 0.5}}},
	{"gob.es", []expectedPattern{{"/prensa/actualidad/noticias", classify.News, 0.6},
		{"/es/prensa/notas-de-prensa", classify.PressRelease, 0.6},
		{"/gabinete/notasprensa", classify.PressRelease, 0.5}}},
	{"gob.cl", []expectedPattern{{"/noticias/{slug}", classify.News, 0.7},
		{"/comunicados", classify.PressRelease, 0.5}}},
	{"gob.pe", []expectedPattern{{"/institucion/{slug}/noticias", classify.News, 0.7},
		{"/institucion/{slug}/normas-legales", classify.Legislation, 0.6}}},
	{"gouv.fr", []expectedPattern{{"/actualites/{slug}", classify.News, 0.7},
		{"/presse/{slug}", classify.PressRelease, 0.7}, {"/communiques-de-presse/{slug}", classify.PressRelease, 0.6}}},
	{"gv.at", []expectedPattern{{"/aktuelles", classify.News, 0.6}, {"/presse/{year}", classify.PressRelease, 0.6},
		{"/themen/{slug}", classify.Policy, 0.5}}},
	{"admin.ch", []expectedPattern{{"/{lang}/newnsb/{slug}", classify.PressRelease, 0.6},
		{"/{lang}/medienmitteilungen", classify.PressRelease, 0.6}, {"/{lang}/home/aktuell", classify.News, 0.5}}},
	{"bund.de", []expectedPattern{{"/DE/Presse/Pressemitteilungen/{year}/{slug}", classify.PressRelease, 0.7},
		{"/SharedDocs/Pressemitteilungen/DE/{year}/{slug}", classify.PressRelease, 0.7},
		{"/DE/Aktuelles", classify.News, 0.6}}},
	{"gc.ca", []expectedPattern{{"/en/news", classify.News, 0.6}, {"/eng/news/{year}", classify.News, 0.6},
		{"/fra/nouvelles/{year}", classify.News, 0.5}}},
	{"gub.uy", []expectedPattern{{"/{slug}/comunicacion/noticias", classify.News, 0.7},
		{"/{slug}/comunicacion/comunicados", classify.PressRelease, 0.6}}},
}

// governmentPatterns are the patterns to expect of a domain, none when it is not a government's.
func governmentPatterns(domain string) []URLPattern {
	if hosts.SectorOf(domain) != hosts.Government {
		return nil
	}
	var list []URLPattern
	add := func(expected []expectedPattern) {
		for _, e := range expected {
			list = append(list, URLPattern{Pattern: e.pattern, ContentType: e.contentType, Confidence: e.confidence,
				Examples: []string{}})
		}
	}
	add(everyGovernment)
	for suffix := domain; suffix != ""; {
		for i := range governmentLibrary {
			if g := &governmentLibrary[i]; g.suffix == suffix {
				add(g.patterns)
				return list
			}
		}
		_, suffix, _ = strings.Cut(suffix, ".")
	}
	return list
}
