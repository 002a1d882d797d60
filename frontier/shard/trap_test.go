package shard

import (
	"fmt"
	"strings"
	"testing"

	"github.com/newsfork/seed-engine/frontier/link"
)

// TestPut_Traps: shapes of URLs that lead astray, and odd ones that do not.
func TestPut_Traps(t *testing.T) {
	const now = 1_769_601_600 // 2026-01-28
	fields := func(n int) string {
		var b strings.Builder
		for i := range n {
			fmt.Fprintf(&b, "&f%d=%d", i, i)
		}
		return b.String()[1:]
	}
	for url, want := range map[string]bool{
		// Relative links without their slash, and directories that link to themselves.
		"https://www.a.example/about/contact/about/contact/about/contact/": true,
		"https://www.a.example/images/images/images/":                      true,
		"https://www.a.example/en/en/en/news":                              true,
		"https://www.a.example/a/b/c/d/e/f/g/h/i/j/k/l/m/n/o/p/q/r/s/t/u":  true,

		// Sessions.
		"https://www.a.example/shop/item.jsp;jsessionid=0A1B2C3D4E5F?id=7":   true,
		"https://www.a.example/index.php?PHPSESSID=d41d8cd98f00b204e9800998": true,
		"https://www.a.example/(S(lit3py55t21z5v55vlm25s55))/default.aspx":   true,
		"https://forum.a.example/viewtopic.php?t=5&sid=d41d8cd98f00b204e980": true,
		"https://www.a.example/page.cfm?CFID=12345&CFTOKEN=67890":            true,

		// Sessions in paths.
		"https://www.a.example/shop;x=1;jsessionid=0A1B2C3D4E5F/item":         true,
		"https://www.a.example/PHPSESSID=d41d8cd98f00b204e9800998/news":       true,
		"https://www.a.example/session/d41d8cd98f00b204e9800998ecf8427e/list": true,
		"https://www.a.example/sid/5f0c7a9e-31b2-4d6e-9a11-7c1d2e3f4a5b/home": true,
		"https://www.a.example/(A(x1y2z3)S(lit3py55t21z5v55vlm25s55))/a.aspx": true,
		"https://www.a.example/session/2026-budget-debate":                    false,
		"https://www.a.example/session/the-session-of-the-council-of-2026":    false,
		"https://www.a.example/session/3rd-session-2nd-meeting-1st-day":       false,
		"https://www.a.example/(a(story-in-brackets":                          false,

		// Calendars without end.
		"https://www.a.example/events/calendar/2041-05":                  true,
		"https://www.a.example/calendar/month/2031/07":                   true,
		"https://www.a.example/agenda/index.php?month=3&year=1901":       true,
		"https://www.a.example/events/?ical=1&tribe-bar-date=2099-01-01": true,

		// The same in languages other than those of Europe.
		"https://www.a.example/%EB%8B%AC%EB%A0%A5/2041/05":                                     true,
		"https://www.a.example/schedule/iljeong?year=2041&month=5":                             true,
		"https://www.a.example/%E3%82%A4%E3%83%99%E3%83%B3%E3%83%88/?date=2099-01-01":          true,
		"https://www.a.example/%E6%B4%BB%E5%8A%A8/2035/12":                                     true,
		"https://www.a.example/%D8%AA%D9%82%D9%88%D9%8A%D9%85/2041-05":                         true,
		"https://www.a.example/takvim/2041/5":                                                  true,
		"https://www.a.example/jadwal?tanggal=2041-05-01":                                      true,
		"https://www.a.example/lich-cong-tac/2041/05":                                          true,
		"https://www.a.example/%E0%B8%9B%E0%B8%8F%E0%B8%B4%E0%B8%97%E0%B8%B4%E0%B8%99/2041-05": true,
		"https://www.a.example/%D0%9A%D0%B0%D0%BB%D0%B5%D0%BD%D0%B4%D0%B0%D1%80%D1%8C/2041/05": true,
		"https://www.a.example/takvim/2026/5":                                                  false,

		// Forms, and links that grow by what they link to.
		"https://www.a.example/search?" + fields(25):                                  true,
		"https://www.a.example/list?page=2&page=2&page=2":                             true,
		"https://www.a.example/list?lang=en&x=1&lang=en&y=2&lang=en":                  true,
		"https://www.a.example/" + strings.Repeat("very-long-", 207) + ".html":        true,
		"https://www.a.example/view?next=" + strings.Repeat("%2Fview%3Fnext%3D", 200): true,

		// Public authorities with many parameters.
		"https://www.korea.kr/briefing/pressReleaseView.do?newsId=156612345&pageIndex=1&repCodeType=" +
			"&repCode=&startDate=2024-01-28&endDate=2026-01-28&srchWord=&period=": false,
		"https://www.moef.go.kr/nw/nes/detailNesDtaView.do?menuNo=4010100&searchNttId1=MOSF_000000000067890" +
			"&searchBbsId1=MOSFBBS_000000000028": false,
		"https://www.mois.go.kr/frt/bbs/type010/commonSelectBoardArticle.do;" +
			"?bbsId=BBSMSTR_000000000008&nttId=112233": false,
		"https://www.seoul.go.kr/news/news_report.do?bbsNo=158&nttNo=401234&fetchStart=1" +
			"&searchType=&searchWord=&cntPerPage=10&curPage=1" +
			"&srchBeginDt=&srchEndDt=&deptNm=&srchCtgry=&tr_code=short": false,
		"https://www.law.go.kr/LSW/lsInfoP.do?lsiSeq=123456&efYd=20260101&ancYnChk=0": false,
		"https://www.example-city.example/search?" +
			fields(20): false,

		// Archives, and paths in which numbers or words return.
		"https://www.a.example/2026/01/28/title-of-an-article":                   false,
		"https://www.a.example/archive/2011/11/11/":                              false,
		"https://www.a.example/1998/03/12/us/a-story-from-the-past.html":         false,
		"https://www.a.example/news/2026/news/local-news":                        false,
		"https://www.a.example/en/press/press-releases/press":                    false,
		"https://www.a.example/events/2015/annual-conference":                    false,
		"https://www.a.example/events/2026-02-14-open-day":                       false,
		"https://www.a.example/strategy/agenda/2030":                             false,
		"https://www.a.example/calendar/2026/02":                                 false,
		"https://www.a.example/reports/2050-roadmap.pdf":                         false,
		"https://www.a.example/list?page=2&sort=date&page=3":                     false,
		"https://www.a.example/search?tag=a&tag=b&tag=c&tag=d":                   false,
		"https://www.a.example/story.php?sid=1234":                               false,
		"https://xn--3e0b707e.example/%EB%89%B4%EC%8A%A4/%EC%86%8D%EB%B3%B4/123": false,
		"https://www.a.example/news;view=full/5":                                 false,
		"https://www.a.example/":                                                 false,
		"https://www.a.example/?p=12345":                                         false,
	} {
		l, ok := link.Parse(url)
		if got := isTrap(l.Host, l.Path, now); !ok || got != want {
			t.Errorf("%.100s: %v %v, want %v", url, got, ok, want)
		}
	}
}
