package classify

import (
	"encoding/json"
	"reflect"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"
)

// TestClassify_ClearCut: URLs without any doubt, in many languages and spellings.
func TestClassify_ClearCut(t *testing.T) {
	for url, want := range map[string]Type{
		"https://www.example.gov/newsroom/press-releases/2026":                                       PressRelease,
		"https://www.example.gov/about-us":                                                           About,
		"https://www.example.gov/contact-us":                                                         Contact,
		"https://www.example.gov/faq":                                                                FAQ,
		"https://www.example.gov/sites/default/files/annual-report-2025.pdf":                         Report,
		"https://www.example.gov/statistics/population":                                              Statistics,
		"https://www.example.gov/search?q=water":                                                     Search,
		"https://www.example.gov/privacy-policy":                                                     Unknown,
		"https://www.example.gov/":                                                                   Unknown,
		"https://www.example.gov/data/cases.csv":                                                     Download,
		"https://www.example.gov/events/water-conference-2026":                                       Event,
		"https://www.example.gov/calendar/2026/05":                                                   Calendar,
		"https://www.example.gov/forms/application-form":                                             Form,
		"https://www.example.gov/video-gallery/opening":                                              Multimedia,
		"https://www.example.gov/archive/2012":                                                       Archive,
		"https://news.example.com/politics/2026/01/28/parliament-votes-on-a-new-budget-for-schools/": News,
		"https://www.example.go.kr/보도자료/2026":                                                        PressRelease,
		"https://www.example.go.kr/%EA%B3%B5%EC%A7%80%EC%82%AC%ED%95%AD":                             Announcement,
		"https://www.example.go.jp/お知らせ/":                                                            Announcement,
		"https://www.example.lg.jp/toukei/jinkou.html":                                               Statistics,
		"https://www.example.gov.cn/常见问题/":                                                           FAQ,
		"https://www.example.bund.de/pressemitteilungen/2026":                                        PressRelease,
		"https://www.example.de/kontakt":                                                             Contact,
		"https://www.example.de/impressum":                                                           Unknown,
		"https://www.example.gouv.fr/communiques-de-presse":                                          PressRelease,
		"https://www.example.fr/annuaire":                                                            Directory,
		"https://www.example.gob.mx/preguntas-frecuentes":                                            FAQ,
		"https://www.example.gov.br/noticias":                                                        News,
		"https://www.example.gov.br/perguntas-frequentes":                                            FAQ,
		"https://www.example.gov.it/comunicati-stampa":                                               PressRelease,
		"https://www.example.nl/veelgestelde-vragen":                                                 FAQ,
		"https://www.example.go.id/siaran-pers":                                                      PressRelease,
		"https://www.example.gov.my/soalan-lazim":                                                    FAQ,
		"https://www.example.gov.vn/tin-tuc":                                                         News,
		"https://www.example.go.th/คำถามที่พบบ่อย":                                                   FAQ,
		"https://www.example.gov.sa/ar/الأسئلة-الشائعة":                                              FAQ,
		"https://www.example.gov.ru/novosti/":                                                        News,
		"https://www.example.ru/контакты":                                                            Contact,
	} {
		if got := model().Classify(url, Context{}); got.PrimaryType != want {
			t.Errorf("%s: %s (%.2f, %v), want %s", url, got.PrimaryType, got.Confidence, got.Evidence.KeywordMatches,
				want)
		}
	}
}

func TestClassify_Evidence(t *testing.T) {
	got := model().Classify("https://www.mom.gov.sg/newsroom/press-releases/2026", Context{})
	want := Evidence{
		URLPatterns:     []string{"/newsroom", "/press-releases", "/{year}"},
		KeywordMatches:  []string{"newsroom", "press", "releases"},
		KeywordSources:  []Source{FromURL, FromURL, FromURL},
		StructuralHints: []string{"depth_3", "year_pattern"},
		DomainContext:   []string{"government"},
	}
	if !reflect.DeepEqual(got.Evidence, want) {
		t.Errorf("%+v\nwant %+v", got.Evidence, want)
	}
	b, err := json.Marshal(model().Classify("", Context{}))
	if err != nil || strings.Contains(string(b), "null") {
		t.Errorf("lists must not be null: %s %v", b, err)
	}
}

// TestClassify_Context: the authority of the source is used where the host has no sector.
func TestClassify_Context(t *testing.T) {
	const url = "https://portal.example.com/a1"
	if got := model().Classify(url, Context{Authority: "gov"}).Evidence.DomainContext; len(got) != 1 ||
		got[0] != "government" {
		t.Errorf("%v", got)
	}
	if got := model().Classify(url, Context{}).Evidence.DomainContext; len(got) != 0 {
		t.Errorf("%v", got)
	}
	got := model().Classify("https://example.edu/", Context{Authority: "gov"}).Evidence.DomainContext
	if got[0] != "education" {
		t.Errorf("%v", got)
	}
}

// TestClassifyText: the text of a link names a section whose URL says nothing, the words are evidence, and the
// next URL is judged without them.
func TestClassifyText(t *testing.T) {
	const url = "https://www.example.go.kr/kor/menu.es?mid=a1010"
	c := model().NewClassifier(Context{})
	alone := c.Classify(url)
	for text, want := range map[Text]Type{
		{Anchor: "보도자료"}:                            PressRelease,
		{Anchor: "공지사항"}:                            Announcement,
		{Anchor: "자주 묻는 질문"}:                        FAQ,
		{Title: "Privacy policy"}:                   Unknown,
		{Title: "통계", Anchor: "통계"}:                 Statistics,
		{Title: "Kontakt", Anchor: "Kontakt"}:       Contact,
		{Title: strings.Repeat("a", 100_000) + "b"}: alone.PrimaryType,
	} {
		got := c.ClassifyText(url, text)
		if got.PrimaryType != want {
			t.Errorf("%+.60v: %s (%.2f), want %s", text, got.PrimaryType, got.Confidence, want)
		}
		class, confidence := c.BestText(url, text)
		if class.Type() != got.PrimaryType || confidence != got.Confidence {
			t.Errorf("%+.60v: BestText %s (%.2f), ClassifyText %s (%.2f)", text, class.Type(), confidence,
				got.PrimaryType, got.Confidence)
		}
	}
	if got := c.ClassifyText(url, Text{Anchor: "보도자료"}).Evidence.KeywordMatches; !slices.Contains(got, "보도자료") {
		t.Errorf("the word that decides is no evidence: %q", got)
	}
	if again := c.Classify(url); !reflect.DeepEqual(again, alone) {
		t.Errorf("%+v after texts, %+v before", again, alone)
	}
	if same := c.ClassifyText(url, Text{}); !reflect.DeepEqual(same, alone) {
		t.Errorf("without a text %+v, by the URL %+v", same, alone)
	}
}

// TestClassifier_Repeats: a result depends on the URL only, not on the URLs before.
func TestClassifier_Repeats(t *testing.T) {
	c := model().NewClassifier(Context{})
	for range 2 {
		for _, u := range benchmarkURLs {
			fresh := model().Classify(u, Context{})
			if again := c.Classify(u); !reflect.DeepEqual(again, fresh) {
				t.Errorf("%s: %+v, then %+v", u, fresh, again)
			}
			if bulk := c.Type(u); bulk != fresh.PrimaryType {
				t.Errorf("%s: Type %s, Classify %s", u, bulk, fresh.PrimaryType)
			}
		}
	}
	if n := testing.AllocsPerRun(100, func() { c.Type(benchmarkURLs[0]) }); n > 0 {
		t.Errorf("Type on one host allocates %.0f times", n)
	}
}

func FuzzClassify(f *testing.F) {
	for _, u := range benchmarkURLs {
		f.Add(u)
	}
	for _, u := range []string{
		"", "/", "?", "#", "://", "http://", "https://[::1]:8080/news", "//host/path", "mailto:a@b",
		"https://xn--80ak6aa92e.com/",
		"https://h/%", "https://h/%zz%E3%81", "https://h/" + strings.Repeat("a/", 300), "https://h/?" +
			strings.Repeat("a=b&", 300),
		"https://h/\xff\xfe", "https://xn--a/", "https://h/2026/13/45/", "https://h/" + strings.Repeat("新", 500),
		"https://h/a.pdf.", "https://h/é.html",
	} {
		f.Add(u)
	}
	c := model().NewClassifier(Context{})
	f.Fuzz(func(t *testing.T, u string) {
		a := c.Classify(u)
		if a.Confidence < 0 || a.Confidence > 1 || a.PrimaryType == "" || c.Type(u) != a.PrimaryType {
			t.Fatalf("%q: %+v", u, a)
		}
		for _, s := range a.SecondaryTypes {
			if s == a.PrimaryType {
				t.Fatalf("%q: %s is primary and secondary", u, s)
			}
		}
		for _, w := range a.Evidence.KeywordMatches {
			if !utf8.ValidString(w) || w == "" {
				t.Fatalf("%q: word %q", u, w)
			}
		}
	})
}

var benchmarkURLs = []string{
	"https://www.example.gov/newsroom/press-releases/2026/minister-opens-new-bridge-over-the-river",
	"https://www.example.gov/employment-practices/employment-act",
	"https://www.example.gov/-/media/documents/annual-report-2025.pdf",
	"https://news.example.com/2026/01/28/politics/election-results-live-updates/index.html",
	"https://www.example.go.kr/bbs/list.do?bbsId=BBSMSTR_000000000031&pageIndex=2",
	"https://www.example.de/service/formulare/antrag-auf-wohngeld.html",
	"https://www.example.jp/%E3%81%8A%E7%9F%A5%E3%82%89%E3%81%9B/2025/04/index.html",
	"https://www.example.org/events/calendar?month=5&year=2026",
}

// BenchmarkClassify is the bulk path at its worst: another host with every URL.
func BenchmarkClassify(b *testing.B) {
	c := model().NewClassifier(Context{})
	c.Type(benchmarkURLs[0])
	b.ReportAllocs()
	for i := 0; b.Loop(); i++ {
		c.Type(benchmarkURLs[i%len(benchmarkURLs)])
	}
	b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "URLs/s")
}
