package discovery

import (
	"strings"
	"testing"

	"github.com/newsfork/seed-engine/classify/embedded"
	"github.com/newsfork/seed-engine/markup"
)

func TestPage_Canonical(t *testing.T) {
	for in, want := range map[string]string{
		"https://www.x.gov/a/b":                             "https://www.x.gov/a/b",
		" HTTPS://WWW.X.GOV:443/A/b#part ":                  "https://www.x.gov/A/b",
		"http://x.gov:80":                                   "http://x.gov/",
		"http://x.gov:8080/":                                "http://x.gov:8080/",
		"https://x.gov?id=1":                                "https://x.gov/?id=1",
		"https://x.gov/a?utm_source=feed&id=7&fbclid=Iw":    "https://x.gov/a?id=7",
		"https://x.gov/a?utm_medium=rss":                    "https://x.gov/a",
		"https://x.gov/a?b=1&&c=https://y.example/?utm_x=1": "https://x.gov/a?b=1&c=https://y.example/?utm_x=1",
		"https://x.gov/a #b":                                "https://x.gov/a",
		"ftp://x.gov/a":                                     "",
		"mailto:a@x.gov":                                    "",
		"/a/b":                                              "",
		"https://":                                          "",
		"https://user@x.gov/":                               "",
		"":                                                  "",
	} {
		got, ok := markup.AppendCanonical(nil, []byte(in))
		if ok != (want != "") || ok && string(got) != want {
			t.Errorf("%q: %q %v, want %q", in, got, ok, want)
		}
	}
}

func TestPage_Trap(t *testing.T) {
	for url, want := range map[string]markup.Trap{
		"/news/2026/01/28/title":            markup.NoTrap,
		"/a/b/a/b":                          markup.NoTrap,
		"/a/b/a/b/a":                        markup.RepeatedTrap,
		"/x/x/x":                            markup.RepeatedTrap,
		"/" + strings.Repeat("a/b/c/d/", 5): markup.RepeatedTrap,
		"/1/2/3/4/5/6/7/8/9/10/11/12/13/14/15/16/17/18/19/20":    markup.NoTrap,
		"/1/2/3/4/5/6/7/8/9/10/11/12/13/14/15/16/17/18/19/20/21": markup.DeepTrap,
		"/a;jsessionid=0123ABCD":                                 markup.SessionTrap,
		"/a?PHPSESSID=0123abcd":                                  markup.SessionTrap,
		"/a?ASPSESSIONIDCQRA=X":                                  markup.SessionTrap,
		"/(S(lit3py55t21z5v55vlm25s55))/page.aspx":               markup.SessionTrap,
		"/a?sid=0123456789abcdef":                                markup.SessionTrap,
		"/a?sid=12":                                              markup.NoTrap,
		"/a?session_id=":                                         markup.NoTrap,
		"/calendar/2026/02":                                      markup.NoTrap,
		"/calendar/2027/01":                                      markup.NoTrap,
		"/calendar/2031/05/12":                                   markup.CalendarTrap,
		"/events/month/2044-01":                                  markup.CalendarTrap,
		"/events/calendar?date=2099-12-01":                       markup.CalendarTrap,
		"/calendar?month=5&year=1970":                            markup.CalendarTrap,
		"/events/2015/annual-conference":                         markup.NoTrap,
		"/reports/2031/05":                                       markup.NoTrap,
		"/strategy-2050":                                         markup.NoTrap,
		"/strategie/agenda/2030":                                 markup.NoTrap,
	} {
		p := parsePage("https://www.x.gov" + url)
		if got := p.trapOf(testNow); got != want {
			t.Errorf("%s: %d, want %d", url, got, want)
		}
	}
}

func TestPage_LoginPriority(t *testing.T) {
	for path, want := range map[string]bool{
		"/login": true, "/user/sign-in.html": true, "/wp-login.php": true, "/Account/LogOn": true,
		"/blog/login-problems": false, "/news": false, "/": false,
	} {
		p := parsePage("https://x.gov" + path)
		if p.isLogin() != want {
			t.Errorf("%s: %v", path, !want)
		}
	}
}

// TestPattern: the pattern of each segment of a path.
func TestPattern(t *testing.T) {
	for path, want := range map[string]string{
		"/newsroom/press-releases/2026":              "/newsroom/press-releases/{year}",
		"/news/2026/01/28/minister-opens-a-bridge":   "/news/{year}/{month}/{day}/{slug}",
		"/actualites/2026/janvier/28":                "/actualites/{year}/{month}/{day}",
		"/noticias/2026/septiembre/3":                "/noticias/{year}/{month}/{day}",
		"/berita/2026/ogos/berita-utama":             "/berita/{year}/{month}/berita-utama",
		"/2026/market":                               "/{year}/market",
		"/news/2026/jan/28":                          "/news/{year}/{month}/{day}",
		"/news/2026-01-28/x":                         "/news/{date}/x",
		"/news/20260128-1.html":                      "/news/{id}.html",
		"/news/20260128.html":                        "/news/{date}.html",
		"/article/123456":                            "/article/{id}",
		"/item/5f3a9c0d1e2b4a68":                     "/item/{id}",
		"/item/0b0e7b1a-8a57-4f0c-9d2e-000000000001": "/item/{id}",
		"/en/news":                                "/{lang}/news",
		"/pt-br/noticias":                         "/{lang}/noticias",
		"/content/en/news":                        "/content/{lang}/news",
		"/news/page/3":                            "/news/page/{page}",
		"/news/page-3":                            "/news/{page}",
		"/bbs/view.do?seq=12&menuId=m1&page=4":    "/bbs/view.do?seq={id}&menuId={slug}&page={page}",
		"/news-and-press-releases-of-us/minister": "/news-and-press-releases-of-us/minister",
		"/%EC%9E%A5%EA%B4%80-%EC%83%88-%EB%8B%A4%EB%A6%AC-%EA%B0%9C%ED%86%B5": "/{slug}",
		"/article/title-here-987654":                                          "/article/{slug}",
		"/":                                                                   "/",
		"/v1.6/about":                                                         "/v1.6/about",
	} {
		tr := newTree()
		p := parsePage("https://x.gov" + path)
		if got := tr.pattern(tr.add(&p)); got != want {
			t.Errorf("%s: %s, want %s", path, got, want)
		}
	}
	tr := newTree()
	p := parsePage("https://x.gov/a/b/c/d/e/f/g/h/i")
	if tr.add(&p) != noNode {
		t.Error("a page too deep has a pattern")
	}
}

// TestPattern_Variables: where too many names stand side by side, they are one {slug}.
func TestPattern_Variables(t *testing.T) {
	tr := newTree()
	var last nodeID
	add := func(path string) {
		p := parsePage("https://x.gov" + path)
		last = tr.add(&p)
	}
	names := "abcdefghijklmnopqrstuvwxyz"
	for i := range 17 {
		add("/city/town" + names[i:i+1] + "/map.html")
		if want := i < 16; (tr.pattern(last) != "/city/{slug}/map.html") != want {
			t.Fatalf("after %d: %s", i+1, tr.pattern(last))
		}
	}
	add("/city/zurich/people.html")
	if got := tr.pattern(last); got != "/city/{slug}/people.html" {
		t.Error(got)
	}
	if e := tr.nodes[last].examples; e[0] != "https://x.gov/city/zurich/people.html" || e[1] != "" {
		t.Errorf("examples %q", e)
	}
}

func FuzzPage(f *testing.F) {
	f.Add("https://www.x.gov/a/b?c=d#e", "https://x.gov/%ea%b0/2026/01/(S(a))/;x=1")
	f.Add("HTTP://X.gov:80", "https://x.gov/a/b.tar.gz?&&=&x")
	f.Fuzz(func(t *testing.T, one, two string) {
		a := NewAnalyser(Options{Model: embedded.Model(), Domain: "x.gov", Now: testNow})
		for _, u := range []string{one, two} {
			c, ok := markup.AppendCanonical(nil, []byte(u))
			if !ok {
				continue
			}
			again, ok := markup.AppendCanonical(nil, c)
			if !ok || string(again) != string(c) {
				t.Errorf("%q is canonical once as %q and twice as %q", u, c, again)
			}
			a.Add(&Sighting{Loc: []byte(u), Method: FromSitemap})
			a.Score(u)
		}
		s := a.Result().Stats
		if s.Analyzed != s.High+s.Medium+s.Low {
			t.Errorf("%+v", s)
		}
	})
}

// TestPage_InternationalDomain: hosts in native letters and in A-labels are the same.
func TestPage_InternationalDomain(t *testing.T) {
	a := NewAnalyser(Options{Model: embedded.Model(), Domain: "xn--3e0bj9ghtquur.kr", Now: testNow})
	for _, u := range []string{"https://한국뉴스.kr/news/1", "https://www.한국뉴스.kr/news/2",
		"https://xn--3e0bj9ghtquur.kr/news/1", "https://한국.kr/"} {
		add(a, u, FromSitemap, testNow)
	}
	if s := a.Result().Stats; s.Analyzed != 2 || s.Excluded.External != 1 {
		t.Errorf("%+v", s)
	}
	if s := a.Score("https://한국뉴스.kr/news/3"); s.Action == Ignore {
		t.Errorf("%+v", s)
	}
}

func TestPage_IsLogin(t *testing.T) {
	longest := 0
	for word := range loginWords {
		longest = max(longest, len(word))
	}
	if longest != maxLoginWord {
		t.Errorf("the longest word has %d bytes", longest)
	}
	for path, want := range map[string]bool{
		"/login": true, "/Log-In.aspx": true, "/user/sign_up/step": true, "/forgot-password": true,
		"/forgot-passwords":                false,
		"/news/login-page-of-the-ministry": false, "/": false, "/-": false, "/se-connecter": true,
		"/forgotpassword1": false,
	} {
		p := parsePage("https://example.gov" + path)
		if p.isLogin() != want {
			t.Errorf("%s: %v", path, !want)
		}
	}
}
