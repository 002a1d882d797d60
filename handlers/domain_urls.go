package handlers

import (
	"cmp"
	"context"
	"encoding/base64"
	"encoding/json"
	"net/http"
	"slices"

	"github.com/newsfork/seed-engine/contract"
)

// urlsPerPage is how many URLs of a domain one answer has.
const urlsPerPage = 1000

// domainURLs gives all URLs of a document by score, those for which it has no room included, without what operators
// excluded. A page reads the document's lists anew, one at a time.
func (a *API) domainURLs(w http.ResponseWriter, r *http.Request) error {
	q, err := readQuery(r, "country", "category", "date", "min_score", "cursor")
	if err != nil {
		return err
	}
	f, min, from := q.filter(), q.share("min_score"), q.ranked()
	if q.err != nil {
		return q.err
	}
	detail, err := a.domain(r, f)
	if err != nil {
		return err
	}
	if detail.Document == nil {
		return &failure{http.StatusNotFound, "not_found", detail.Domain + " has no document there yet"}
	}
	var doc contract.Document
	if err := json.Unmarshal(detail.Document, &doc); err != nil {
		return &contract.Error{Kind: contract.Internal, Op: "handlers.domainURLs", Field: detail.Key, Message: "the stored document cannot be read; collect the domain again", Err: err}
	}
	_, exclusions, err := a.Controls.Read(r.Context())
	if err != nil {
		return err
	}
	best := ranking{from: from, limit: urlsPerPage + 1}
	take := func(list []contract.DocumentURL) {
		for _, u := range list {
			if score(&u) >= min && !exclusions.URL(u.URL) {
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
	page := contract.URLsPage{Domain: detail.Domain, Partition: detail.Partition, Revision: doc.Revision, URLs: best.sorted()}
	if len(page.URLs) > urlsPerPage {
		page.URLs = page.URLs[:urlsPerPage]
		last := &page.URLs[urlsPerPage-1]
		page.Cursor = contract.Text(rank{score(last), last.URL}.String())
	}
	return sendTagged(w, r, "application/json; charset=utf-8", encodeJSON(answer{Success: true, Data: page}))
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

func (r rank) String() string {
	b, err := json.Marshal(r)
	if err != nil {
		panic(err) // scores are from 0 to 1
	}
	return base64.RawURLEncoding.EncodeToString(b)
}

// ranked reads a cursor; nil is that of the first page.
func (q *query) ranked() *rank {
	text := q.text("cursor")
	if text == "" {
		return nil
	}
	var r rank
	b, err := base64.RawURLEncoding.DecodeString(text)
	if err == nil {
		err = json.Unmarshal(b, &r)
	}
	if err != nil {
		q.fail(contract.Invalid("cursor", "is not the cursor of an answer; send it as it was given, or none"))
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
