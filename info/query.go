package info

import (
	"strings"
	"time"

	"github.com/newsfork/seed-engine/contract"
)

// Query selects one page of articles. The order is that of cursors.
type Query struct {
	Category Category // All for every article
	Source   string   // "" for all
	HasImage bool     // only articles with a thumbnail
	From     *Cursor  // the page begins after it; nil: with the newest article
	// Newer selects what has arrived since From, which is then a Page.Arrived, however old it is. A search goes by
	// publication instead: its page ends before From.
	Newer  bool
	Search Search // only articles with all terms
	Limit  int
}

// MaxLimit is the longest page.
const MaxLimit = 50

// Plain reports whether a cache can answer the query: newest articles first, without a search.
func (q *Query) Plain() bool { return !q.Newer && len(q.Search) == 0 }

// Page is the answer to a Query.
type Page struct {
	Articles []Article
	More     bool // more articles match, or might match, in the query's direction
	// Next is set if a search stopped before the page was full. The search continues there.
	Next *Cursor
	// Arrived is a position in the order of arrival: what arrives later is newer than this page, whenever it was
	// published. For a search it is empty.
	Arrived Cursor
}

// Cut returns a page from articles that were read with one more than the limit.
func (q *Query) Cut(articles []Article) Page {
	more := len(articles) > q.Limit
	if more {
		articles = articles[:q.Limit]
	}
	if q.Newer { // read from the cursor towards newer articles
		for i, j := 0, len(articles)-1; i < j; i, j = i+1, j-1 {
			articles[i], articles[j] = articles[j], articles[i]
		}
	}
	return Page{Articles: articles, More: more}
}

// Public is an article in the API, field for field that of the original service.
type Public struct {
	ID            string   `json:"id"`
	Title         string   `json:"title"`
	URL           string   `json:"url"`
	Snippet       string   `json:"snippet"`
	Source        string   `json:"source"`
	SourceName    string   `json:"source_name"`
	PublishedAt   string   `json:"published_at"`
	ThumbnailURL  *string  `json:"thumbnail_url"`
	Category      *string  `json:"category"`
	SourceIconURL *string  `json:"source_icon_url"`
	VideoURL      *string  `json:"video_url"`
	Keywords      []string `json:"keywords"` // null if there are none
	AITag         *string  `json:"ai_tag"`
}

// Public returns the article as in the API.
func (a *Article) Public() Public {
	return Public{
		ID: a.ID, Title: a.Title, URL: a.URL, Snippet: a.Snippet, Source: a.Source, SourceName: a.SourceName,
		PublishedAt: Timestamp(a.PublishedAt), ThumbnailURL: orNull(a.ThumbnailURL),
		Category:      orNull(string(a.Category)),
		SourceIconURL: orNull(a.SourceIconURL), VideoURL: orNull(a.VideoURL), Keywords: a.Keywords,
		AITag: orNull(a.AITag),
	}
}

// AppendPublic appends the JSON of Public.
func (a *Article) AppendPublic(b []byte) []byte {
	b = contract.AppendText(append(b, `{"id":`...), a.ID)
	b = contract.AppendText(append(b, `,"title":`...), a.Title)
	b = contract.AppendText(append(b, `,"url":`...), a.URL)
	b = contract.AppendText(append(b, `,"snippet":`...), a.Snippet)
	b = contract.AppendText(append(b, `,"source":`...), a.Source)
	b = contract.AppendText(append(b, `,"source_name":`...), a.SourceName)
	b = contract.AppendText(append(b, `,"published_at":`...), Timestamp(a.PublishedAt))
	b = appendOrNull(append(b, `,"thumbnail_url":`...), a.ThumbnailURL)
	b = appendOrNull(append(b, `,"category":`...), string(a.Category))
	b = appendOrNull(append(b, `,"source_icon_url":`...), a.SourceIconURL)
	b = appendOrNull(append(b, `,"video_url":`...), a.VideoURL)
	b = append(b, `,"keywords":`...)
	if a.Keywords == nil {
		b = append(b, "null"...)
	} else {
		b = append(b, '[')
		for i, k := range a.Keywords {
			if i > 0 {
				b = append(b, ',')
			}
			b = contract.AppendText(b, k)
		}
		b = append(b, ']')
	}
	return append(appendOrNull(append(b, `,"ai_tag":`...), a.AITag), '}')
}

func appendOrNull(b []byte, s string) []byte {
	if s == "" {
		return append(b, "null"...)
	}
	return contract.AppendText(b, s)
}

func orNull(s string) *string {
	if s == "" {
		return nil
	}
	return &s
}

// Timestamp formats a time as the original service did: UTC with an offset, and a fraction only if there is one.
func Timestamp(t time.Time) string {
	t = t.UTC()
	if t.Nanosecond() == 0 {
		return t.Format("2006-01-02T15:04:05+00:00")
	}
	return t.Format("2006-01-02T15:04:05.000000+00:00")
}

// IsCategory reports whether a query can ask for s.
func IsCategory(s string) bool {
	for _, c := range append([]Category{All}, Categories...) {
		if string(c) == s {
			return true
		}
	}
	return false
}

// IsSource reports whether s is one of Sources.
func IsSource(s string) bool {
	for _, name := range Sources {
		if name == s {
			return true
		}
	}
	return false
}

// Searchable returns the text that searches look at.
func (a *Article) Searchable() string { return strings.TrimSpace(a.Title + " \n " + a.Snippet) }
