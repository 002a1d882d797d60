package sitemap

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"testing"
	"testing/iotest"
	"unicode/utf8"

	"github.com/newsfork/seed-engine/markup"
)

// FuzzParse checks what the parser promises for any bytes: no panic, the same result however the
// document arrives, absolute URLs, text in UTF-8, and a summary that agrees with the entries.
func FuzzParse(f *testing.F) {
	for _, x := range corpus(f) {
		if data, err := os.ReadFile(filepath.Join("testdata/corpus", x.File)); err == nil && len(data) < 4096 {
			f.Add(data, x.ContentType)
		}
	}
	for _, doc := range []string{
		"<rss><channel><item><link>/1</link><pubDate>Thu, 05 Jan 2017 12:34:51 +0000</pubDate><description><p>",
		"<rss><item><link>/1</link><media:group><media:content url='/i' medium='image'/></media:group><enclosure " +
			"url='/j' type='image/x'/></item>",
		"<rss><item><link>/1</link><description>x</description><pubDate>Thu, 05 Jan 2017 12:34:51 " +
			"+0000</pubDate></item><item><summary/><link>/2</link>",
		"<feed xml:base='/x/'><entry><link href='1?a&amp;b'/><title type='html'>&amp;lt;</title></entry></feed>",
		"<!DOCTYPE x [ ]><urlset><url><loc><![CDATA[ /1 ]]>&#x41;&eacute;&zz;</loc><news:title>\xe9\xff</news:title>",
		"https://a.example/1\r\n# x\rhttp://b.example/ \n",
		"\xff\xfe<\x00u\x00r\x00l\x00>\x00",
		zip("<urlset>", zip("<url><loc>/1</loc></url>")),
	} {
		f.Add([]byte(doc), "text/xml; charset=euc-kr")
	}
	f.Fuzz(func(t *testing.T, data []byte, contentType string) {
		o := Options{ContentType: contentType, Now: clock, MaxBytes: 1 << 20}
		var entries, children, titles int
		whole, err := Parse(bytes.NewReader(data), base, o, func(e *Entry) {
			entries++
			if e.Child {
				children++
			}
			if e.News.Title != nil {
				titles++
			}
			if _, ok := markup.ParseLocation(e.Loc); !ok {
				t.Errorf("loc %q", e.Loc)
			}
			for _, text := range [][]byte{e.Loc, e.Title, e.News.Title, e.News.Name, e.News.Language} {
				if !utf8.Valid(text) || len(text) > 4*maxField || !bytes.Equal(text, markup.Trim(text)) {
					t.Errorf("text %q", text)
				}
			}
		})
		if err != nil {
			t.Fatal(err)
		}
		if whole.URLs+whole.Children != entries || whole.Children != children || whole.NewsTitles != titles ||
			whole.Kind == Invalid && (entries > 0 || whole.Problem == "") ||
			(whole.FirstLoc == "") != (whole.URLs == 0) || whole.LastmodMin.After(whole.LastmodMax) ||
			whole.Newest.After(whole.LastmodMax) && whole.Newest.After(whole.NewsDateMax) {
			t.Errorf("%d entries, %d children: %+v", entries, children, whole)
		}
		rnd := rand.New(rand.NewPCG(uint64(len(data)), 1))
		for _, r := range []interface{ Read([]byte) (int, error) }{iotest.OneByteReader(bytes.NewReader(data)),
			&pieces{data, rnd}} {
			if s, err := Parse(r, base, o, nil); err != nil || fmt.Sprint(s) != fmt.Sprint(whole) {
				t.Errorf("in pieces: %+v, want %+v", s, whole)
			}
		}
		// Details change nothing else.
		o.Details = true
		detailed, err := Parse(bytes.NewReader(data), base, o, func(e *Entry) {
			if !utf8.Valid(e.Summary) || len(e.Summary) > 4*maxField || len(e.Image) > 4*maxField {
				t.Errorf("summary %q, image %q", e.Summary, e.Image)
			}
		})
		if err != nil || fmt.Sprint(detailed) != fmt.Sprint(whole) {
			t.Errorf("with details: %+v, want %+v", detailed, whole)
		}
	})
}
