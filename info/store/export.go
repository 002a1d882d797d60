package store

import (
	"context"

	"github.com/tidwall/gjson"
)

// Export returns up to limit articles with ids after one, in the order of their ids, including deleted ones.
func (s *Store) Export(ctx context.Context, after string, limit int) (list []Found, err error) {
	const op = "store.Export"
	results, err := s.batch(ctx, op, s.statement(`SELECT `+s.columns+`, NOT `+s.live+` AS deleted FROM news_articles
WHERE id > ?1 ORDER BY id LIMIT ?2`, after, int64(limit)))
	if err != nil {
		return nil, err
	}
	articles, err := scanArticles(op, results[0])
	for i, row := range gjson.ParseBytes(results[0].Rows).Array() {
		list = append(list, Found{articles[i], row.Get("deleted").Bool()})
	}
	return list, err
}
