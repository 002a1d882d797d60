package discovery

import (
	"bytes"
	"testing"

	"github.com/newsfork/seed-engine/markup"
)

// FuzzFollowing: a page parsed behind others is as if it had been the first.
func FuzzFollowing(f *testing.F) {
	f.Add([]byte("https://a.gov/news/2026/01/28/a-story-of-four-words\nhttps://a.gov/news/2026/01/28/another-story-of-more-words\nhttps://a.gov/news/2026/01/28/"))
	f.Add([]byte("https://a.gov/news/2026/02\nhttps://a.gov/news/2026/02/x.html?a=1/2\nhttps://a.gov/news/2026/?a=b\nhttp://a.gov/news\nhttp://a.gov"))
	f.Add([]byte("https://a.gov/a-long-name-of-a-section/\nhttps://a.gov/a-long-name-of-a-section/x\nhttps://a.gov/a-long-name-of-a-section//x//\nhttps://a.gov/a-long-name-of-a-section"))
	f.Add([]byte("https://a.gov/1/2/3/4/5/6/7/8/9/10/11/12/13/14/15/16/17/18/19/20/21\nhttps://a.gov/1/2/3/4/5/6/7/8/9/10/11/12/13/14/15/16/17/18/19/20/22/23"))
	f.Add([]byte("https://a.gov:8080/en/page/1\nhttps://a.gov:8080/en/page/2\nhttps://a.gov/en/page/2"))
	f.Fuzz(func(t *testing.T, lines []byte) {
		var p page
		for line := range bytes.SplitSeq(lines, []byte("\n")) {
			url, ok := markup.AppendCanonical(nil, line)
			if !ok {
				continue
			}
			before := p.url
			p.parse(string(url))
			if want := parsePage(string(url)); p.meaning() != want.meaning() {
				t.Fatalf("%s behind %s:\n%+v\nnot\n%+v", url, before, p.meaning(), want.meaning())
			}
		}
	})
}

// meaning is p without what earlier pages left in the fields of segments that it has not.
func (p *page) meaning() page {
	m := *p
	for i := len(p.parts()); i < MaxSegments; i++ {
		m.segments[i], m.kinds[i], m.bodies[i], m.ends[i] = "", 0, 0, 0
	}
	return m
}
