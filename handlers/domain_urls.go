package handlers

import (
	"cmp"
	"context"
	"encoding/json"
	"maps"
	"net/http"
	"net/url"
	"slices"

	"github.com/newsfork/seed-engine/collector"
	"github.com/newsfork/seed-engine/contract"
)

// urlsPerPage is how many URLs of a domain one answer has.
const urlsPerPage = 1000

// domainURLs gives all URLs of a document by score: those of Research, with the lists for which the document has no room,
// and the others among discovered_urls. What operators excluded is as in the document: among the first it is marked, of
// the others it is left out. A page reads the document's lists again, one at a time.
func (a *API) domainURLs(w http.ResponseWriter, r *http.Request) error {
	q, f, err := readPartition(r, "min_score", "cursor")
	if err != nil {
		return err
	}
	min, from := q.share("min_score"), q.ranked()
	if q.err != nil {
		return q.err
	}
	detail, err := a.locate(r, f)
	if err != nil {
		return err
	}
	document, err := a.document(r.Context(), detail.Key)
	if err != nil {
		return err
	}
	if document == nil {
		return &failure{http.StatusNotFound, "not_found", detail.Domain + " has no document there yet"}
	}
	var doc contract.Document
	if err := json.Unmarshal(document, &doc); err != nil {
		return &contract.Error{Kind: contract.Internal, Op: "handlers.domainURLs", Field: detail.Key, Message: "the stored document cannot be read; collect the domain again", Err: err}
	}
	_, exclusions, err := a.Controls.Read(r.Context())
	if err != nil {
		return err
	}
	discovered, err := discoveredURLs(&doc)
	if err != nil {
		return err
	}
	maps.DeleteFunc(discovered, func(url string, _ contract.DocumentURL) bool { return exclusions.URL(url) })
	best := ranking{from: from, limit: urlsPerPage + 1}
	take := func(list []contract.DocumentURL) {
		for _, u := range list {
			delete(discovered, u.URL) // it is one page, as Research describes it
			if exclusions.URL(u.URL) {
				collector.StrikeURL(&u)
			}
			if score(&u) >= min {
				best.add(u)
			}
		}
	}
	take(doc.URLs)
	for _, key := range doc.URLsFiles {
		list, err := a.urlList(r.Context(), key)
		if err != nil {
			return err
		}
		take(list)
	}
	take(slices.Collect(maps.Values(discovered)))
	page := contract.URLsPage{Domain: detail.Domain, Partition: detail.Partition, Revision: doc.Revision, URLs: best.sorted()}
	if len(page.URLs) > urlsPerPage {
		page.URLs = page.URLs[:urlsPerPage]
		last := &page.URLs[urlsPerPage-1]
		page.Cursor = contract.EncodeCursor(rank{score(last), last.URL})
	}
	return sendTagged(w, r, "application/json; charset=utf-8", encodeJSON(answer{Success: true, Data: page}))
}

// discoveredURLs are a document's discovered_urls in the form of its raw URLs, by URL. What only Research says is null.
func discoveredURLs(doc *contract.Document) (map[string]contract.DocumentURL, error) {
	var d struct {
		URLs []struct {
			contract.DocumentURL
			Classification struct {
				Type string `json:"primary_type"`
			} `json:"classification"`
		} `json:"discovered_urls"`
	}
	if len(doc.Discovery) > 0 {
		if err := json.Unmarshal(doc.Discovery, &d); err != nil {
			return nil, &contract.Error{Kind: contract.Internal, Op: "handlers.discoveredURLs", Field: doc.Domain, Message: "the stored document cannot be read; collect the domain again", Err: err}
		}
	}
	urls := make(map[string]contract.DocumentURL, len(d.URLs))
	for i := range d.URLs {
		u := d.URLs[i].DocumentURL
		u.Type = contract.Text(d.URLs[i].Classification.Type)
		if at, err := url.Parse(u.URL); err == nil {
			u.Path = at.EscapedPath()
		}
		urls[u.URL] = u
	}
	return urls, nil
}

// urlList reads one of a document's lists. A rewritten document has other lists, so one that is gone means that the
// caller should ask again.
func (a *API) urlList(ctx context.Context, key string) (list []contract.DocumentURL, err error) {
	data, err := a.document(ctx, key)
	if err != nil {
		return nil, err
	}
	if data == nil || json.Unmarshal(data, &list) != nil {
		return nil, &contract.Error{Kind: contract.Storage, Op: "handlers.urlList", Field: key, Message: "a list of the document is not there; it is being rewritten: ask again"}
	}
	return list, nil
}

// rank is the place of a URL among those of its domain.
type rank struct {
	Score float64
	URL   string
}

func score(u *contract.DocumentURL) float64 {
	if u.Priority == nil {
		return 0
	}
	return *u.Priority
}

// compare is negative when r comes before o: the higher score, then by URL.
func (r rank) compare(o rank) int {
	return cmp.Or(cmp.Compare(o.Score, r.Score), cmp.Compare(r.URL, o.URL))
}

// ranked reads a cursor; nil is that of the first page.
func (q *query) ranked() *rank {
	cursor := q.text("cursor")
	if cursor == "" {
		return nil
	}
	var r rank
	if err := contract.DecodeCursor(cursor, &r); err != nil {
		q.fail(err)
	}
	return &r
}

// ranking keeps the first limit URLs after from.
type ranking struct {
	from  *rank
	limit int
	urls  []contract.DocumentURL
}

func (k *ranking) add(u contract.DocumentURL) {
	if k.from != nil && (rank{score(&u), u.URL}).compare(*k.from) <= 0 {
		return
	}
	if k.urls = append(k.urls, u); len(k.urls) >= 4*k.limit {
		k.sorted()
	}
}

// sorted leaves the first in their order.
func (k *ranking) sorted() []contract.DocumentURL {
	slices.SortFunc(k.urls, func(x, y contract.DocumentURL) int {
		return rank{score(&x), x.URL}.compare(rank{score(&y), y.URL})
	})
	if len(k.urls) > k.limit {
		clear(k.urls[k.limit:])
		k.urls = k.urls[:k.limit]
	}
	return append([]contract.DocumentURL{}, k.urls...)
}
