package frontier

import (
	"math"
	"time"

	"github.com/newsfork/seed-engine/contract"
	"github.com/newsfork/seed-engine/markup"
)

// The feed is a log of new URLs, in the order in which the shard was given them. What is added to it is
// written in the transaction that adds the page, so that a page is in the feed once, and not without
// being remembered.
//
// Not every page that the frontier has not seen is new: the first collection of a site brings years of
// archive. New is what is dated after the site or entry point was looked at before, or within the last
// freshFor; what has no date is new if the caller says so (NewPage.Fresh), because it was not listed
// when its entry point was read before.

// freshFor is for how long, in ms, a page counts as new at its first sighting. Publishers date some
// pages to the day, and list them late.
const freshFor = 48 * 3_600_000

// maxUndated is how many pages without a date one put may announce. More of them are an archive that was
// not seen before, not what was published since.
const maxUndated = 50

// Limits of an item.
const (
	maxSnippet = 500 // bytes
	maxFoundBy = 32
	maxFeed    = 200 // items of a page
)

// FeedItem is a new URL.
type FeedItem struct {
	Sequence  int64 // in its shard
	FoundAt   int64 // ms since 1970
	URL       string
	Domain    string
	Title     string
	Type      string
	Priority  float64 // 0 to 1, when it was found
	LastMod   int64   // seconds since 1970; 0 when unknown
	Snippet   string
	Image     string
	FoundBy   string
	Partition contract.Partition
}

// Shown is the item as readers of the feed see it.
func (i *FeedItem) Shown() contract.FeedItem {
	f := contract.FeedItem{
		URL: i.URL, Domain: i.Domain, Host: markup.HostOf(i.URL), Title: contract.Text(i.Title), Type: i.Type, Priority: i.Priority,
		FoundAt: contract.Time{Time: time.UnixMilli(i.FoundAt).UTC()}, FoundBy: contract.Text(i.FoundBy),
		Snippet: contract.Text(i.Snippet), Image: contract.Text(i.Image), Partition: i.Partition,
	}
	if i.LastMod > 0 {
		f.LastMod = contract.At(time.Unix(i.LastMod, 0).UTC())
	}
	return f
}

// FeedRequest asks for the items after a number that match all of what is given.
type FeedRequest struct {
	After    int64 // Next of the page before; 0 for the oldest that is kept
	Limit    int   // 1 to maxFeed
	Types    []string
	MinScore float64
	Country  string
	Category string
}

// FeedPage is a page of the feed of one shard.
type FeedPage struct {
	Items []FeedItem
	Next  int64 // the number up to which items were looked at
	More  bool  // there may be more after it
	// Expired: items after FeedRequest.After were older than the feed is kept, and are gone.
	Expired bool `json:",omitempty"`
}

// Feed gives new URLs in the order in which they were found.
func (s *Shard) Feed(now int64, r FeedRequest) (page FeedPage, err error) {
	if err := checkRange("limit", r.Limit, 1, maxFeed); err != nil {
		return page, err
	}
	err = s.run(now, func(c *call) error {
		f, err := c.filter(&LeaseRequest{Types: r.Types, Country: r.Country, Category: r.Category})
		if err != nil {
			return err
		}
		page.Next, page.More, err = c.readLog(feedLog, r.After, func(records []logRecord) (int, error) {
			for i, record := range records {
				if len(page.Items) == r.Limit {
					return i, nil
				}
				item, err := decodeFeedItem(record.data)
				if err != nil {
					return 0, err
				}
				if f.types&(1<<item.kind) == 0 || f.classes != nil && !f.classes[item.class] || float64(item.score)/1000 < r.MinScore {
					continue
				}
				page.Items = append(page.Items, c.describeItem(record.number, &item))
			}
			return len(records), nil
		})
		page.Expired = expired(r.After, c.state.deleted.feed)
		return err
	})
	return page, err
}

// feedItem is an item as it is stored.
type feedItem struct {
	foundAt                                     int64
	url, domain, title, snippet, image, foundBy string
	kind                                        uint8
	score                                       int64 // thousandths
	lastmod                                     int64
	class, day                                  int64
}

func (i *feedItem) encode() []byte {
	b := appendUint(make([]byte, 0, 512), i.foundAt)
	for _, s := range [...]string{i.url, i.domain, i.title, i.snippet, i.image, i.foundBy} {
		b = appendString(b, s)
	}
	for _, v := range [...]int64{int64(i.kind), i.score, i.lastmod, i.class, i.day} {
		b = appendUint(b, v)
	}
	return b
}

func decodeFeedItem(record string) (i feedItem, err error) {
	d := &decoder{text: record}
	i.foundAt = d.int()
	for _, s := range [...]*string{&i.url, &i.domain, &i.title, &i.snippet, &i.image, &i.foundBy} {
		*s = d.string()
	}
	i.kind = uint8(d.uint() & (maxTypes - 1))
	for _, v := range [...]*int64{&i.score, &i.lastmod, &i.class, &i.day} {
		*v = d.int()
	}
	return i, d.err
}

func (c *call) describeItem(number int64, i *feedItem) FeedItem {
	return FeedItem{Sequence: number, FoundAt: i.foundAt, URL: i.url, Domain: i.domain, Title: i.title, Type: typeName(i.kind),
		Priority: float64(i.score) / 1000, LastMod: i.lastmod, Snippet: i.snippet, Image: i.image, FoundBy: i.foundBy,
		Partition: c.partitionOf(i.class, i.day)}
}

// isNew reports whether a page that was not seen before belongs in the feed.
func (p *putting) isNew(n *NewPage) bool {
	if n.Fresh {
		return true
	}
	since := p.c.now - freshFor
	if p.since > 0 {
		since = min(since, p.since)
	}
	at := n.LastMod * 1000
	return n.LastMod > 0 && at >= since && at <= p.c.now+freshFor
}

// announced is a page that belongs in the feed.
type announced struct {
	freshKey
	host  *host
	dated bool
	kind  uint8
	item  []byte
}

// announce adds a page to the feed when the put is finished.
func (p *putting) announce(h *host, l link, n *NewPage) {
	q := p.newPage(h, l, n)
	item := feedItem{foundAt: p.c.now, url: h.url(&q), domain: p.name, title: q.title, snippet: cut(n.Snippet, maxSnippet), foundBy: cut(n.FoundBy, maxFoundBy),
		kind: q.kind, lastmod: q.lastmod, class: p.class, day: p.day, score: int64(thousandths(n.Priority))}
	if len(n.Image) <= MaxURL {
		item.image = n.Image
	}
	p.news = append(p.news, announced{freshKey{h.id, hash48(l.path)}, h, q.lastmod > 0, q.kind, item.encode()})
}

// publish adds to the feed what was announced. A page for which there was no room in the queues is in the feed
// all the same, and must not be there again. One that is in neither may be put again.
func (p *putting) publish() error {
	undated := 0
	for _, n := range p.news {
		if !n.dated {
			undated++
		}
	}
	for _, n := range p.news {
		if !n.dated && undated > maxUndated {
			continue
		}
		p.c.news = append(p.c.news, n.item)
		p.c.state.countFound(p.c.now, n.kind)
		p.announced++
		if p.c.seen(n.host, n.hash) {
			continue
		}
		if err := p.c.remember(n.host, n.hash); err != nil {
			return err
		}
		p.touch(n.host)
	}
	return nil
}

// flushFeed writes what was announced.
func (c *call) flushFeed() error {
	if len(c.news) == 0 {
		return nil
	}
	_, err := c.appendLog(feedLog, c.news)
	return err
}

// thousandths is a priority from 0 to 1 as it is stored.
func thousandths(priority float64) int {
	if priority > 0 { // not NaN
		return int(math.Round(min(priority, 1) * 1000))
	}
	return 0
}
