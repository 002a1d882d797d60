package main

import (
	"fmt"
	"strings"

	"github.com/newsfork/seed-engine/classify/internal/lexicon"
	"github.com/newsfork/seed-engine/classify/internal/pagetext"
	"github.com/newsfork/seed-engine/page"
)

// Hosts and paths of written biographies. What a path says of its page is in the URLs of other sets.
var (
	biographyHosts = []string{"www.parliament.%d.example", "assembly%d.example", "www.house%d.gov.example",
		"parlament%d.example"}
	biographyPaths = []string{"/show.php?id=%d", "/view/%d", "/Default.aspx?p=%d", "/node/%d", "/%d.html", "/en/%d",
		"/p/%d", "/WWER/PAD_%d/index.shtml"}
)

// biographies writes pages of office-holders from the words in which such pages tell of them, in no order and of no
// language: those that were saved are of a dozen parliaments.
func biographies(n int) (all []*pageExample) {
	concepts := pagetext.BiographyWords()
	x := expander{state: 11}
	syllables := strings.Fields("ka ro mi ta len dor vi sha nu ber ol gan ti re sal mon ke ja lu pet")
	name := func() string {
		s := x.pick(syllables) + x.pick(syllables)
		return strings.ToUpper(s[:1]) + s[1:]
	}
	for i := range n {
		ev := &page.Evidence{H1: name() + " " + name(), Words: 80 + x.next(500), Links: 20 + x.next(120),
			Dates: x.next(4)}
		if ev.Title = ev.H1; x.next(2) == 0 {
			ev.Title = "Site " + name()
		}
		if x.next(4) == 0 {
			ev.H1 = ""
		}
		var text []string
		for _, words := range concepts {
			if x.next(3) == 0 {
				continue
			}
			for range 1 + x.next(3) {
				text = append(text, x.pick(words))
			}
		}
		for range 10 + x.next(40) {
			text = append(text, name())
		}
		for k := len(text) - 1; k > 0; k-- {
			j := x.next(k + 1)
			text[k], text[j] = text[j], text[k]
		}
		ev.Text = strings.Join(text, " ")
		ev.Bound()
		url := "https://" + fmt.Sprintf(x.pick(biographyHosts), i) + fmt.Sprintf(x.pick(biographyPaths), 1+x.next(900))
		all = append(all, &pageExample{example: &example{url: url, label: lexicon.Directory}, evidence: ev})
	}
	return all
}
