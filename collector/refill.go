package collector

import (
	"context"

	"github.com/newsfork/seed-engine/contract"
	"github.com/newsfork/seed-engine/discovery"
	"github.com/newsfork/seed-engine/epoch"
	"github.com/newsfork/seed-engine/frontier"
)

const (
	refillRead = 5000 // URLs that one message takes from the stored ones
	refillPuts = 40   // puts of one message
)

// refill puts a domain's next best stored pages into the frontier, as many as fit, in the order in which the API lists
// them. It sends no request to the domain. If it fails, the frontier sends the message again.
func (b *Batch) refill(ctx context.Context, r *contract.Refresh) error {
	dir := contract.DomainDir{Partition: r.Partition, Domain: r.Domain}
	doc, _, err := b.store.document(ctx, dir)
	if err != nil {
		return err
	}
	var pages []contract.ListedURL
	if doc != nil && doc.Reachable {
		if pages, err = b.storedPages(ctx, dir, doc, r.From); err != nil {
			return err
		}
	}
	at := frontier.StoredPages{Next: r.From}
	done, added, room := 0, 0, r.Want
	for range refillPuts {
		some := pages[done:min(done+min(max(room, 1), frontier.MaxPut), len(pages))]
		done += len(some)
		at.From, at.Next = at.Next, ""
		if at.More = done < len(pages) || len(pages) == refillRead; at.More {
			at.Next = *contract.EncodeCursor(RankOf(&some[len(some)-1]))
		}
		answer, err := b.put(ctx,
			frontier.Put{Domain: r.Domain, Partition: r.Partition, Pages: pagesOfList(some), Stored: &at})
		if err != nil {
			return err
		}
		added, room = added+answer.Added, answer.Room
		if room <= 0 || done == len(pages) {
			break
		}
	}
	b.collector.Log.Info("refill_complete", "registrable_domain", r.Domain, "partition_info", r.Partition, "urls", done,
		"added", added, "finished", !at.More)
	return nil
}

// pagesOfList converts listed URLs for the frontier.
func pagesOfList(list []contract.ListedURL) []frontier.NewPage {
	pages := make([]frontier.NewPage, len(list))
	for i := range list {
		u := &list[i]
		pages[i] = frontier.NewPage{URL: u.URL, Title: text(u.Title), Type: text(u.Type), Priority: RankOf(u).Score,
			FoundBy: text(u.DiscoveryMethod)}
		if u.Lastmod != nil {
			pages[i].LastMod = epoch.SecondsOf(u.Lastmod.Time)
		}
	}
	return pages
}

func text(s *string) string {
	if s == nil {
		return ""
	}
	return *s
}

// storedPages returns the best stored pages of a domain that may be fetched, after a position and at most refillRead.
func (b *Batch) storedPages(ctx context.Context, dir contract.DomainDir, doc *contract.Document, from string) (
	[]contract.ListedURL, error) {
	best := Ranking{Limit: refillRead}
	if from != "" {
		best.From = &Rank{}
		if err := contract.DecodeCursor(from, best.From); err != nil {
			return nil, err
		}
	}
	stored, err := b.stored(ctx, dir, doc)
	if err != nil {
		return nil, err
	}
	err = stored.URLs(ctx, func(u *contract.ListedURL) {
		forbidden := u.Allowed != nil && !*u.Allowed
		ignored := u.Action != nil && *u.Action == string(discovery.Ignore)
		if !forbidden && !ignored {
			best.Add(u)
		}
	})
	return best.Sorted(), err
}
