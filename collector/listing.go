package collector

import (
	"cmp"
	"context"
	"encoding/json"
	"slices"

	"github.com/newsfork/seed-engine/contract"
	"github.com/newsfork/seed-engine/discovery"
)

// Sources of listed URLs. A URL in several sources is listed under the first one.
const (
	FromResearch  = "research"  // a raw file
	FromDiscovery = "discovery" // the document's discovered_urls
	FromSitemap   = "sitemap"   // the stored sitemaps
	FromFrontier  = "frontier"  // pages that wait to be fetched
)

// URLs calls fn with every stored URL of a domain, once and in no particular order: URLs of Research (including the
// separate lists of large documents), the document's discovered_urls, and URLs of the stored sitemaps. Excluded URLs
// of Research are marked. Other excluded URLs, and those that robots.txt forbids, are left out.
func (s *Stored) URLs(ctx context.Context, fn func(*contract.ListedURL)) error {
	discovered, err := discoveredURLs(s.doc)
	if err != nil {
		return err
	}
	named := map[string]struct{}{}
	if err := s.Sitemap(ctx, func(url string) { named[url] = struct{}{} }); err != nil {
		return err
	}
	list := func(u *contract.ListedURL) {
		s.Count(u.URL)
		fn(u)
	}
	for u, err := range s.store.entries(ctx, s.doc) {
		if err != nil {
			if contract.KindOf(err) != contract.Validation {
				return err
			}
			return &contract.Error{Kind: contract.Storage, Op: "collector.Stored.URLs", Field: s.dir.Document(),
				Message: "a list of the document is missing while it is rewritten; try again", Err: err}
		}
		delete(discovered, u.URL)
		delete(named, u.URL)
		if s.Excludes(u.URL) {
			StrikeURL(&u)
		}
		list(&contract.ListedURL{DocumentURL: u, Source: FromResearch})
	}
	for url, u := range discovered {
		delete(named, url)
		if s.Excludes(url) {
			s.Count(url)
			continue
		}
		list(&u)
	}
	for url := range named {
		look, ok := s.Look(url)
		if !ok {
			s.Count(url)
			continue
		}
		list(ListedURL(url, FromSitemap, &look))
	}
	return nil
}

// Count notes that a URL is listed, or left out on purpose.
func (s *Stored) Count(url string) {
	if s.Has(url) {
		s.counted++
	}
}

// Omitted returns the number of analysed URLs that were not counted, because nothing stored names them. It returns nil
// if the analysis is lost.
func (s *Stored) Omitted() *int {
	if s.Lost {
		return nil
	}
	n := max(0, s.Analysed()-s.counted)
	return &n
}

// ListedURL describes a URL that Research does not name. Fields that only Research knows are null.
func ListedURL(link, source string, look *discovery.Look) *contract.ListedURL {
	t, action := string(look.Type), string(look.Action)
	return &contract.ListedURL{
		DocumentURL: contract.DocumentURL{
			URL: link, Title: look.Title, Path: pathOf(link), DiscoveryMethod: contract.Text(string(look.Method)),
			Type: &t, Priority: &look.Priority, Action: &action, Allowed: look.Allowed,
		},
		Source: source, Lastmod: contract.At(look.Lastmod),
	}
}

// discoveredURLs returns a document's discovered_urls, by URL.
func discoveredURLs(doc *contract.Document) (map[string]contract.ListedURL, error) {
	var d struct {
		URLs []struct {
			contract.ListedURL
			Classification struct {
				Type string `json:"primary_type"`
			} `json:"classification"`
		} `json:"discovered_urls"`
	}
	if len(doc.Discovery) > 0 {
		if err := json.Unmarshal(doc.Discovery, &d); err != nil {
			return nil, &contract.Error{Kind: contract.Internal, Op: "collector.discoveredURLs", Field: doc.Domain,
				Message: "the stored document cannot be read; collect the domain again", Err: err}
		}
	}
	urls := make(map[string]contract.ListedURL, len(d.URLs))
	for i := range d.URLs {
		u := d.URLs[i].ListedURL
		u.Type = contract.Text(d.URLs[i].Classification.Type)
		u.Path, u.Source = pathOf(u.URL), FromDiscovery
		urls[u.URL] = u
	}
	return urls, nil
}

// Rank is the position of a URL in the list of its domain: higher scores come first, ties in order of URL.
type Rank struct {
	Score float64
	URL   string
}

// RankOf returns the position of a URL.
func RankOf(u *contract.ListedURL) Rank {
	r := Rank{URL: u.URL}
	if u.Priority != nil {
		r.Score = *u.Priority
	}
	return r
}

func (r Rank) compare(o Rank) int {
	return cmp.Or(cmp.Compare(o.Score, r.Score), cmp.Compare(r.URL, o.URL))
}

// Ranking keeps the first Limit URLs after From; nil is the beginning.
type Ranking struct {
	From  *Rank
	Limit int
	urls  []contract.ListedURL
}

// Add offers a URL.
func (k *Ranking) Add(u *contract.ListedURL) {
	if k.From != nil && RankOf(u).compare(*k.From) <= 0 {
		return
	}
	if k.urls = append(k.urls, *u); len(k.urls) >= 4*k.Limit {
		k.Sorted()
	}
}

// Sorted returns the kept URLs in order.
func (k *Ranking) Sorted() []contract.ListedURL {
	slices.SortFunc(k.urls, func(x, y contract.ListedURL) int { return RankOf(&x).compare(RankOf(&y)) })
	if len(k.urls) > k.Limit {
		clear(k.urls[k.Limit:])
		k.urls = k.urls[:k.Limit]
	}
	return append([]contract.ListedURL{}, k.urls...)
}
