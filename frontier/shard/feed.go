package shard

import (
	"math"
	"slices"

	"github.com/newsfork/seed-engine/epoch"
	"github.com/newsfork/seed-engine/frontier"
	"github.com/newsfork/seed-engine/frontier/link"
	"github.com/newsfork/seed-engine/frontier/shard/store"
)

// The feed is a log of new URLs, in the order in which they were put. An item is written in the transaction that
// remembers its page, so that each page is in the feed once.
//
// Not every page that the frontier has not seen is new: the first collection of a site brings years of archive. A page
// is new if its date is after the last look at the site or entry point, or within frontier.FreshFor. A page without a
// date is new if the caller says so (NewPage.Fresh), because its entry point did not list it when it was last read.

// maxUndated caps the pages without a date that one put announces. If there are more, they are an archive that was not
// seen before.
const maxUndated = 50

// Limits of an item.
const (
	maxSnippet = 500 // bytes
	maxFoundBy = 32
	maxFeed    = 200 // items of a page
)

// Feed returns new URLs in the order in which they were found.
func (s *Shard) Feed(now epoch.Millis, r frontier.FeedRequest) (page frontier.FeedPage, err error) {
	if err := frontier.CheckRange("limit", r.Limit, 1, maxFeed); err != nil {
		return page, err
	}
	err = s.run(now, func(c *call) error {
		f, err := c.filter(&frontier.LeaseRequest{Types: r.Types, Country: r.Country, Category: r.Category})
		if err != nil {
			return err
		}
		events := r.Events
		if len(events) == 0 {
			events = []string{frontier.EventNew}
		}
		read, err := c.tx.ReadFeed(r.After, func(number int64, item *store.FeedItem) bool {
			if len(page.Items) == r.Limit {
				return false
			}
			if slices.Contains(events, eventName(item)) && f.Item(item) && float64(item.Score)/1000 >= r.MinScore {
				page.Items = append(page.Items, describeItem(c, number, item))
			}
			return true
		})
		page.Next, page.More, page.Expired = read.Next, read.More, read.Expired
		return err
	})
	return page, err
}

func describeItem(c *call, number int64, i *store.FeedItem) frontier.FeedItem {
	return frontier.FeedItem{Sequence: number, FoundAt: i.FoundAt, URL: i.URL, Domain: i.Domain, Title: i.Title,
		Type:     store.TypeName(i.Kind),
		Priority: float64(i.Score) / 1000, LastMod: i.Lastmod, OwnDate: i.OwnDate,
		Snippet: i.Snippet, Image: i.Image, FoundBy: i.FoundBy,
		Partition: c.partitionOf(i.Class, i.Day), Event: eventName(i)}
}

// eventName returns the name of an item's event.
func eventName(i *store.FeedItem) string {
	return frontier.FeedEvents[min(int(i.Event), len(frontier.FeedEvents)-1)]
}

// announceEvent adds a fetched page to the feed because it changed, is gone, or differs from its announcement.
func announceEvent(c *call, h *store.Host, p *store.Page, event uint8, foundBy string) {
	if !h.Domain.AnnounceUpdate(c.settings.Announcements) {
		return
	}
	class := h.PageClass(p)
	c.tx.AppendFeed(&store.FeedItem{FoundAt: c.now, URL: h.URL(p), Domain: h.Domain.Name, Title: p.Title,
		FoundBy: cut(foundBy, maxFoundBy), Kind: p.Kind, Lastmod: p.Lastmod, Class: class.ID, Day: class.Day,
		Score: int64(p.Score(c.seconds())), Event: event, OwnDate: p.OwnDate})
}

// isNew reports whether a page that was not seen before belongs in the feed.
func (p *putBatch) isNew(n *frontier.NewPage) bool {
	return n.Fresh || p.c.isFresh(n.LastMod, p.since)
}

// isFresh reports whether a page was published within frontier.FreshFor, or since the last look at its site if that is
// longer ago. looked is 0 if there was none.
func (c *call) isFresh(lastmod epoch.Seconds, looked epoch.Millis) bool {
	since := c.now.Add(-frontier.FreshFor)
	if looked > 0 {
		since = min(since, looked)
	}
	at := lastmod.Millis()
	return lastmod > 0 && at >= since && at <= c.now.Add(frontier.FreshFor)
}

// announced is a page that the put may announce.
type announced struct {
	freshKey
	host  *store.Host
	dated bool
	item  store.FeedItem
}

// announce adds a page to the feed when the put is finished.
func (p *putBatch) announce(h *store.Host, l link.URL, n *frontier.NewPage) {
	q := p.newPage(h, l, n)
	item := store.FeedItem{FoundAt: p.c.now, URL: h.URL(&q), Domain: p.name, Title: q.Title,
		Snippet: cut(n.Snippet, maxSnippet), FoundBy: cut(n.FoundBy, maxFoundBy),
		Kind: q.Kind, Lastmod: q.Lastmod, Class: p.class, Day: p.day, Score: int64(thousandths(n.Priority))}
	if len(n.Image) <= frontier.MaxURL {
		item.Image = n.Image
	}
	p.announcements = append(p.announcements, announced{freshKey{h.ID, store.Hash48(l.Path)}, h, q.Lastmod > 0, item})
}

// publish adds announced pages to the feed, even those that did not fit into the queues. It remembers them, so that
// each is announced once.
func (p *putBatch) publish() error {
	undated := 0
	for _, n := range p.announcements {
		if !n.dated {
			undated++
		}
	}
	for _, n := range p.announcements {
		if !n.dated && undated > maxUndated {
			continue
		}
		if p.domain.Announce(p.c.settings.Announcements) {
			p.c.tx.AppendFeed(&n.item)
			p.announced++
		}
		known, ok := n.host.Known(n.hash)
		if known.Listed {
			continue
		}
		if known.Listed = true; !ok {
			known.At = p.c.hour()
		}
		if err := n.host.Remember(n.hash, known); err != nil {
			return err
		}
		p.touch(n.host)
	}
	return nil
}

// thousandths returns a priority from 0 to 1 as it is stored.
func thousandths(priority float64) int {
	if priority > 0 { // not NaN
		return int(math.Round(min(priority, 1) * 1000))
	}
	return 0
}
