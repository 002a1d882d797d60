package store

import (
	"context"
	"errors"

	"github.com/tidwall/gjson"

	"github.com/newsfork/seed-engine/epoch"
	"github.com/newsfork/seed-engine/info"
	"github.com/newsfork/seed-engine/ledger"
)

// searched reads one page of a search. So that no search costs more than another however its words are spread, each
// looks only so far: a page that is short for that reason says where the next one goes on.
//
// The statement of a dialect gives a row for each article, or one of nulls, in all of which "edge" is the time in
// milliseconds up to which it has looked: what is as late, or later, in a query for older articles, and what is
// earlier in one for newer ones; null: at all of them.
func (s *Store) searched(ctx context.Context, q info.Query) (info.Page, error) {
	const op = "store.Page"
	results, err := s.batch(ctx, op, s.search(s, &q))
	if err != nil {
		return info.Page{}, err
	}
	edge := gjson.GetBytes(results[0].Rows, "0.edge")
	if !edge.Exists() {
		return info.Page{}, ledger.Fault(op, errors.New("the search does not say how far it looked"))
	}
	articles, err := read(op, results[0])
	if len(articles) == 1 && articles[0].ID == "" {
		articles = articles[:0]
	}
	page := q.Cut(articles)
	if !page.More && edge.Type == gjson.Number {
		page.More, page.Next = true, &info.Cursor{At: epoch.Millis(edge.Int())}
	}
	return page, err
}
