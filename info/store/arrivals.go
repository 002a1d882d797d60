package store

import (
	"context"

	"github.com/tidwall/gjson"

	"github.com/newsfork/seed-engine/epoch"
	"github.com/newsfork/seed-engine/info"
	"github.com/newsfork/seed-engine/ledger"
)

// Articles are published in one order and arrive in another: a source can be hours late. So what is new to a reader
// goes by the time of arrival, which each transaction of Upsert takes anew. Positions are cursors of that time and
// the id.

// MaxArrivals is the number of arrivals that one query looks through. A rare filter would otherwise read all of them.
const MaxArrivals = 1000

// lastArrival returns the last time of arrival. Statements after it in a batch see every article that arrived by
// then.
func lastArrival(s *Store) ledger.Statement {
	return s.statement(`SELECT changed_at AS arrived FROM news_cache WHERE name = 'arrivals'`)
}

// arrivedBy returns the position after all articles of the last arrival.
func arrivedBy(r ledger.Result) info.Cursor {
	return info.Cursor{At: epoch.Millis(gjson.GetBytes(r.Rows, "0.arrived").Int()) + 1}
}

// window is a query for the first MaxArrivals after a position.
func window(s *Store, c *conditions, from *info.Cursor) string {
	if from == nil {
		from = &info.Cursor{}
	}
	return `SELECT * FROM news_articles WHERE ` + s.live + ` AND (created_at, id) > (` + s.instant(c.arg(from.At)) +
		`, ` + c.arg(from.ID) + `) ORDER BY created_at, id LIMIT ` + c.arg(int64(MaxArrivals))
}

// windowEnd returns the last article of a full window, and no row for one that is not full.
func windowEnd(s *Store, from *info.Cursor) ledger.Statement {
	var c conditions
	all := window(s, &c, from)
	return s.statement(`SELECT `+s.arrived+` AS arrived, id FROM (`+all+`) AS arrivals
ORDER BY created_at, id LIMIT 1 OFFSET `+c.arg(int64(MaxArrivals-1)), c.args...)
}

// arrivals reads what arrived after a position. The end of the window is read before the articles: what arrives in
// between is then left for the next page.
func (s *Store) arrivals(ctx context.Context, q info.Query) (info.Page, error) {
	const op = "store.Page"
	var c conditions
	all := window(s, &c, q.From)
	filter := q
	filter.From = nil
	s.filter(&c, &filter, "news_articles.")
	results, err := s.batch(ctx, op, lastArrival(s), windowEnd(s, q.From), s.statement(`SELECT `+s.columns+`, `+
		s.arrived+` AS arrived FROM (`+all+`) AS news_articles`+c.where()+`
ORDER BY news_articles.created_at, news_articles.id LIMIT `+c.arg(int64(q.Limit+1)), c.args...))
	if err != nil {
		return info.Page{}, err
	}
	articles, err := scanArticles(op, results[2])
	if err != nil {
		return info.Page{}, err
	}
	position := func(row gjson.Result) info.Cursor {
		return info.Cursor{At: epoch.Millis(row.Get("arrived").Int()), ID: row.Get("id").Str}
	}
	rows := gjson.ParseBytes(results[2].Rows).Array()
	page := q.Cut(articles)
	if page.More {
		page.Arrived = position(rows[q.Limit-1])
		return page, nil
	}
	page.Arrived = arrivedBy(results[0])
	if end := gjson.GetBytes(results[1].Rows, "0"); end.Exists() {
		page.Arrived, page.More = position(end), true
	}
	if n := len(rows); n > 0 && position(rows[n-1]).Before(page.Arrived) {
		page.Arrived = position(rows[n-1])
	}
	return page, nil
}

// Count returns the number of articles that arrived since a query's position, among the next MaxArrivals. more
// reports that others came after those.
func (s *Store) Count(ctx context.Context, q info.Query) (n int, more bool, err error) {
	const op = "store.Count"
	var c conditions
	all := window(s, &c, q.From)
	filter := q
	filter.From = nil
	s.filter(&c, &filter, "news_articles.")
	results, err := s.batch(ctx, op, windowEnd(s, q.From), s.statement(`SELECT count(*) AS n FROM (`+all+
		`) AS news_articles`+c.where(), c.args...))
	if err != nil {
		return 0, false, err
	}
	return int(gjson.GetBytes(results[1].Rows, "0.n").Int()), gjson.GetBytes(results[0].Rows, "0").Exists(), nil
}
