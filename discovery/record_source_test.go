package discovery

import (
	"fmt"
	"math/rand/v2"
	"testing"
	"time"
)

// TestURLSources: what the places that list a URL say of it is in the document, whatever their order, and in that of a
// merge.
func TestURLSources(t *testing.T) {
	const story = "https://www.mom.gov.sg/newsroom/2026/01/27/story-of-the-year"
	const copied = "https://www.mom.gov.sg/newsroom/2026/01/26/a-copied-story"
	places := []Sighting{
		{Loc: []byte(copied + "/print"), Method: FromLink},
		{Loc: []byte(copied + "/amp?utm_source=x"), Method: FromFeed, Title: []byte("Copied"), Lastmod: ago(day)},
		{Loc: []byte(story + "?utm_source=rss#comments"), Method: FromFeed, Title: []byte("The story"),
			Lastmod: ago(day)},
		{Loc: []byte(story + "/amp"), Method: FromFeed, Title: []byte("The story"), Lastmod: ago(day)},
		{Loc: []byte(story), Method: FromSitemap, Lastmod: ago(2 * day), Language: "en-SG"},
		{Loc: []byte(story + "?print=1"), Method: FromResearch, Language: "ko", Title: []byte("a story")},
		{Loc: []byte("https://www.mom.gov.sg/ko//newsroom/other-story-of-today"), Method: FromSitemap},
		{Loc: []byte("https://www.mom.gov.sg/newsroom/2026/01/02/a-third-story-of-today"), Method: FromSitemap,
			Language: "<b>"},
	}
	want := `["` + story + `",null,true,"The story","ko","` + ago(day).UTC().Format(time.RFC3339) + `"]` +
		`["` + copied + `","` + copied + `/amp?utm_source=x",true,"Copied",null,"` +
		ago(day).UTC().Format(time.RFC3339) +
		`"]` +
		`["https://www.mom.gov.sg/ko/newsroom/other-story-of-today","https://www.mom.gov.sg/ko//newsroom/` +
		`other-story-of-today",true,null,"ko",null]` +
		`["https://www.mom.gov.sg/newsroom/2026/01/02/a-third-story-of-today",null,true,null,null,` +
		`"2026-01-02T00:00:00Z"]`
	show := func(a *Analyser) string {
		byURL := map[string]string{}
		for _, d := range a.Result().URLs {
			byURL[d.URL] = text(t, []any{d.URL, d.RawURL, d.Allowed, d.Title, d.Language, d.Lastmod})
		}
		return byURL[story] + byURL[copied] + byURL["https://www.mom.gov.sg/ko/newsroom/other-story-of-today"] +
			byURL["https://www.mom.gov.sg/newsroom/2026/01/02/a-third-story-of-today"]
	}
	for range 20 {
		rand.Shuffle(len(places), func(i, j int) { places[i], places[j] = places[j], places[i] })
		a := ministry()
		for i := range places {
			a.Add(&places[i])
		}
		if got := show(a); got != want || a.stats.Analyzed != 4 {
			t.Fatalf("%d URLs, got\n%s\nwant\n%s", a.stats.Analyzed, got, want)
		}
		restored, err := Restore(a.State(), a.o)
		if err != nil {
			t.Fatal(err)
		}
		restored.Add(&places[0])
		if got := show(restored); got != want {
			t.Fatalf("restored\n%s\nwant\n%s", got, want)
		}
	}
}

// TestURLSources_Many: what is said of URLs does not depend on the order of the places that list them when there
// are more than are kept, nor on where the analysis was stored.
func TestURLSources_Many(t *testing.T) {
	var places []Sighting
	for i := range 4 * maxURLSources {
		url := fmt.Sprintf("https://www.mom.gov.sg/newsroom/a-story-of-the-town-%d", i)
		places = append(places, Sighting{Loc: []byte(url + "?utm_source=rss"), Method: FromFeed})
		if i%2 == 0 {
			places = append(places, Sighting{Loc: []byte(url), Method: FromSitemap})
		}
		if i%3 == 0 {
			places = append(places, Sighting{Loc: []byte(url + "#top"), Method: FromSitemap, Language: "en"})
		}
	}
	want := ""
	for range 6 {
		rand.Shuffle(len(places), func(i, j int) { places[i], places[j] = places[j], places[i] })
		a := ministry()
		for i := range places {
			if i%900 == 899 {
				restored, err := Restore(a.State(), a.o)
				if err != nil {
					t.Fatal(err)
				}
				a = restored
			}
			a.Add(&places[i])
		}
		s := a.State()
		got := text(t, []any{s.Raw, s.Languages})
		if want == "" {
			want = got
		}
		if got != want {
			t.Fatalf("got\n%.400s\nwant\n%.400s", got, want)
		}
	}
}

// TestURLSources_ManyInResult: of which URLs it is kept what places say does not depend on their order where there
// are too many.
func TestURLSources_ManyInResult(t *testing.T) {
	places := make([]Sighting, 5*maxURLSources/2)
	for i := range places {
		loc := fmt.Sprintf("https://www.mom.gov.sg/newsroom/2026/01/27/story-of-the-year-%d", i)
		places[i] = Sighting{Loc: []byte(loc), Method: FromSitemap, Language: "ko"}
	}
	want := ""
	for range 3 {
		rand.Shuffle(len(places), func(i, j int) { places[i], places[j] = places[j], places[i] })
		a := ministry()
		for i := range places {
			a.Add(&places[i])
		}
		got := text(t, a.Result().URLs)
		if want == "" {
			want = got
		}
		if got != want {
			t.Fatal(firstDifference(got, want))
		}
	}
}
