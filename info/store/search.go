package store

import (
	"context"
	"errors"

	"github.com/tidwall/gjson"

	"github.com/newsfork/seed-engine/epoch"
	"github.com/newsfork/seed-engine/info"
	"github.com/newsfork/seed-engine/ledger"
)

// searched reads one page of a search. To bound the cost, a search looks only so far: a page that is short for that
// reason names the cursor where the next one continues.
// The statement of a dialect returns a row per article, or one of nulls. In each row, "edge" is the time in
// milliseconds up to which it has looked (inclusive for older articles, exclusive for newer ones), or null if it
// has looked at everything.
func (s *Store) searched(ctx context.Context, q info.Query) (info.Page, error) {
	const op = "store.Page"
	results, err := s.batch(ctx, op, s.search(s, &q))
	if err != nil {
		return info.Page{}, err
	}
	edge := gjson.GetBytes(results[0].Rows, "0.edge")
	if !edge.Exists() {
		return info.Page{}, ledger.Fault(op, errors.New("the search returned no edge"))
	}
	articles, err := scanArticles(op, results[0])
	if len(articles) == 1 && articles[0].ID == "" {
		articles = articles[:0]
	}
	page := q.Cut(articles)
	if !page.More && edge.Type == gjson.Number {
		page.More, page.Next = true, &info.Cursor{At: epoch.Millis(edge.Int())}
	}
	return page, err
}
