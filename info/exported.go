package info

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"
	"unicode/utf8"
)

// Exported is a stored article on its way to another store.
type Exported struct {
	Public
	Deleted bool `json:"is_deleted,omitempty"` // it was taken down
}

// Export is a page of all articles.
type Export struct {
	Articles []Exported `json:"articles"`
	Next     *string    `json:"next_cursor"` // null behind the last
}

// Import is a part of an export.
type Import struct {
	Articles []Exported `json:"articles"`
}

// Imported is what became of one.
type Imported struct {
	Inserted int              `json:"inserted"`
	Updated  int              `json:"updated"` // known ones that lacked something
	Refused  []RefusedArticle `json:"refused"`
}

// RefusedArticle is an article that cannot be stored.
type RefusedArticle struct {
	ID     string `json:"id"`
	Reason string `json:"reason"`
}

// Article returns the article, whose texts and URL stay as they are. Pictures and videos that are not on the public web
// are dropped.
func (e *Exported) Article() (a Article, err error) {
	text := func(p *string) string {
		if p == nil {
			return ""
		}
		return *p
	}
	a = Article{ID: e.ID, Key: Key(e.URL), URL: e.URL, Title: e.Title, Snippet: e.Snippet, Source: e.Source,
		SourceName: e.SourceName, SourceIconURL: text(e.SourceIconURL), ThumbnailURL: text(e.ThumbnailURL),
		VideoURL: text(e.VideoURL), Category: Category(text(e.Category)), Keywords: e.Keywords, AITag: text(e.AITag)}
	for _, ref := range []*string{&a.SourceIconURL, &a.ThumbnailURL, &a.VideoURL} {
		if media(a.URL, *ref) == "" {
			*ref = ""
		}
	}
	if !slices.Contains(Categories, a.Category) {
		a.Category = "" // a topic of another newsroom
	}
	switch {
	case !IsID(a.ID):
		return a, fmt.Errorf("id %.80q: use letters, digits, - and _", a.ID)
	case a.Key == "" || len(a.URL) > MaxURL:
		return a, fmt.Errorf("url %.80q is no URL of an article", a.URL)
	case !IsSource(a.Source):
		return a, fmt.Errorf("source %.40q is none of %v", a.Source, Sources)
	case a.Title == "":
		return a, errors.New("title is empty")
	}
	for _, one := range []struct {
		name, text string
		max        int // characters
	}{{"title", a.Title, MaxTitle}, {"snippet", a.Snippet, MaxSnippet}, {"source_name", a.SourceName, MaxName},
		{"url", a.URL, MaxURL}, {"source_icon_url", a.SourceIconURL, MaxURL},
		{"thumbnail_url", a.ThumbnailURL, MaxURL}, {"video_url", a.VideoURL, MaxURL}, {"ai_tag", a.AITag, maxKeyword},
		{"keywords", strings.Join(a.Keywords, ""), MaxKeywords * maxKeyword}} {
		if utf8.RuneCountInString(one.text) > one.max || strings.ContainsRune(one.text, 0) {
			return a, fmt.Errorf("%s has more than %d characters, or a null character", one.name, one.max)
		}
	}
	at, err := time.Parse(time.RFC3339Nano, e.PublishedAt)
	if err != nil {
		return a, fmt.Errorf("published_at %.40q: use RFC 3339", e.PublishedAt)
	}
	a.PublishedAt = at.UTC().Truncate(time.Millisecond)
	return a, nil
}
