package web

import (
	"net/http"

	"github.com/newsfork/seed-engine/contract"
	"github.com/newsfork/seed-engine/httpapi"
	"github.com/newsfork/seed-engine/info"
	"github.com/newsfork/seed-engine/info/store"
)

const (
	exportPage    = 200
	maxImport     = 200 // articles
	maxImportBody = 4 << 20
)

// export answers with a page of all articles, in the order of their ids.
func (o *Operating) export(w http.ResponseWriter, r *http.Request) error {
	cursor := parameters(r).Get("cursor")
	if cursor != "" && !info.IsID(cursor) {
		return contract.Invalid("cursor", "%.40q: send the next_cursor of an answer as it is", cursor)
	}
	list, err := o.Records.Export(r.Context(), cursor, exportPage+1)
	if err != nil {
		return err
	}
	page := info.Export{Articles: []info.Exported{}}
	for i := range list {
		if i == exportPage {
			page.Next = contract.Text(list[i-1].ID)
			break
		}
		page.Articles = append(page.Articles, info.Exported{Public: list[i].Public(), Deleted: list[i].Deleted})
	}
	return succeed(w, page)
}

// importArticles stores a part of an export. Articles that are known take what they lack, and stay taken down if they
// are.
func (o *Operating) importArticles(w http.ResponseWriter, r *http.Request) error {
	var in info.Import
	if err := httpapi.ReadJSONUpTo(r, maxImportBody, &in); err != nil {
		return err
	}
	if len(in.Articles) == 0 || len(in.Articles) > maxImport {
		return contract.Invalid("articles", "has %d articles; send 1 to %d", len(in.Articles), maxImport)
	}
	done := info.Imported{Refused: []info.RefusedArticle{}}
	var articles []info.Article
	var deleted []string
	for i := range in.Articles {
		a, err := in.Articles[i].Article()
		if err != nil {
			done.Refused = append(done.Refused, info.RefusedArticle{ID: in.Articles[i].ID, Reason: err.Error()})
			continue
		}
		articles = append(articles, a)
		if in.Articles[i].Deleted {
			deleted = append(deleted, a.ID)
		}
	}
	merged, _ := info.Merge(articles)
	var list []store.New
	for _, a := range merged {
		list = append(list, store.New{Article: a})
	}
	saved, err := o.Records.Upsert(r.Context(), list)
	if err != nil {
		return err
	}
	done.Inserted, done.Updated = saved.Inserted, saved.Updated
	for _, id := range deleted {
		if _, err := o.Records.SetDeleted(r.Context(), id, true); err != nil {
			return err
		}
	}
	return succeed(w, done)
}
