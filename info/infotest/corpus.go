package infotest

import (
	"fmt"
	"iter"
	"strings"
	"time"

	"github.com/newsfork/seed-engine/info"
)

// Words of a Corpus by frequency.
const (
	Common   = "환경"      // one in five, 100,000 of 500,000
	Other    = "풍력"      // as many, in articles without Common
	Latin    = "climate" // one in five
	Uncommon = "수열에너지"   // one in a thousand
	Rare     = "제로웨이스트"  // one in 25,000
	Bygone   = "올림픽"     // one in five of the older half, none of the newer
	Absent   = "없는낱말"
)

// Searches are of all kinds, including common words that rarely occur together or became rare.
var Searches = []string{
	Common, Latin, Uncommon, Rare, Absent, "환", "cli*", "climat*", "climat* polic*",
	Common + " " + Uncommon, Bygone, Common + " " + Bygone,
	Common + " " + Other, Common + " " + Other + " " + Latin,
	"정부산", // its parts are in most articles, but never in a row
	"정부 부산 환경 풍력",
}

// Deep returns the time of an article near the end of a Corpus.
func Deep(n int, newest time.Time) time.Time {
	return newest.Add(-time.Duration(n/4-n/200) * time.Minute)
}

// Corpus returns n articles, oldest first, in groups of four a minute. Like real ones they share words, sources,
// topics and minutes unevenly. Few of the Seed Engine's have an image, and none is on AI.
func Corpus(n int, newest time.Time) iter.Seq[info.Article] { return Part(n, 0, n, newest) }

// Part returns articles first to last of a Corpus of n.
func Part(n, first, last int, newest time.Time) iter.Seq[info.Article] {
	fill := strings.Fields("정부 발표 지원 사업 기업 시장 전망 기술 개발 협약 plan market report policy company growth 서울 부산 지역 주민 산업 " +
		"투자 규모 올해")
	return func(yield func(info.Article) bool) {
		for i := n - 1 - first; i >= n-last; i-- {
			r := uint32(i) * 2654435761 >> 7 // scattered, so that no index can follow a pattern
			pick := func(of int) int { r = r*1664525 + 1013904223; return int(r>>8) % of }
			source := info.Naver
			switch p := pick(100); {
			case p < 5:
				source = info.Seed
			case p < 20:
				source = info.Feed
			case p < 40:
				source = info.NewsData
			}
			a := Article(source, i, newest.Add(-time.Duration(i/4)*time.Minute))
			if a.Category = append(info.Categories, "")[pick(4)]; source == info.Seed && a.Category == info.AI {
				a.Category = info.Energy
			}
			if source != info.Seed && pick(10) < 7 || source == info.Seed && i%5_000 == 0 {
				a.ThumbnailURL = fmt.Sprintf("https://images.example/%d.jpg", i)
			}
			words := []string{fmt.Sprintf("기사%d", i)}
			switch i % 5 {
			case 0:
				words = append(words, Common)
			case 1:
				words = append(words, Other)
			case 2:
				words = append(words, Latin)
			case 3:
				if i > n/2 {
					words = append(words, Bygone)
				}
			}
			if i%1_000 == 7 {
				words = append(words, Uncommon)
			}
			if i%25_000 == 24_000 {
				words = append(words, Rare)
			}
			for range 6 {
				words = append(words, fill[pick(len(fill))])
			}
			a.Title = strings.Join(words, " ")
			var snippet []string
			for range 30 {
				snippet = append(snippet, fill[pick(len(fill))])
			}
			a.Snippet = strings.Join(snippet, " ")
			if !yield(a) {
				return
			}
		}
	}
}
