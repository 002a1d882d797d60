package store

import "github.com/newsfork/seed-engine/epoch"

// FeedItem is an item as it is stored.
type FeedItem struct {
	FoundAt                                     epoch.Millis
	URL, Domain, Title, Snippet, Image, FoundBy string
	Kind                                        uint8
	Score                                       int64 // thousandths
	Lastmod                                     epoch.Seconds
	Class, Day                                  int64
	Event                                       uint8 // EventNew, EventUpdated or EventRemoved
	OwnDate                                     bool  // the page itself states Lastmod
}

// Events of the feed, which are stored: append only.
const (
	EventNew = iota
	EventUpdated
	EventRemoved
)

func (i *FeedItem) encode() []byte {
	b := appendUint(make([]byte, 0, 512), i.FoundAt)
	for _, s := range [...]string{i.URL, i.Domain, i.Title, i.Snippet, i.Image, i.FoundBy} {
		b = appendString(b, s)
	}
	for _, v := range [...]int64{int64(i.Kind), i.Score, int64(i.Lastmod), i.Class, i.Day} {
		b = appendUint(b, v)
	}
	if i.Event != EventNew || i.OwnDate { // earlier versions read the item up to here, or one byte more
		b = append(b, i.Event)
	}
	if i.OwnDate {
		b = append(b, 1)
	}
	return b
}

func decodeFeedItem(record string) (i FeedItem, err error) {
	d := &decoder{text: record}
	i.FoundAt = d.millis()
	for _, s := range [...]*string{&i.URL, &i.Domain, &i.Title, &i.Snippet, &i.Image, &i.FoundBy} {
		*s = d.string()
	}
	i.Kind = uint8(d.uint() & (maxTypes - 1))
	for _, v := range [...]*int64{&i.Score, (*int64)(&i.Lastmod), &i.Class, &i.Day} {
		*v = d.int()
	}
	if d.at < len(d.text) {
		i.Event = d.byte()
	}
	if d.at < len(d.text) {
		i.OwnDate = d.byte() == 1
	}
	return i, d.err
}

// AppendFeed adds an item to the feed. New ones are counted.
func (c *Tx) AppendFeed(i *FeedItem) {
	c.logs.news = append(c.logs.news, i.encode())
	if i.Event == EventNew {
		c.state.countFound(i.FoundAt, i.Kind)
	}
}

// ReadFeed returns the items after a number, in the order in which they were found, to take, until it returns false.
func (c *Tx) ReadFeed(after int64, take func(number int64, i *FeedItem) bool) (LogPage, error) {
	return c.logs.read(feedLog, after, func(records []logRecord) (int, error) {
		for i, r := range records {
			item, err := decodeFeedItem(r.data)
			if err != nil {
				return 0, err
			}
			if !take(r.number, &item) {
				return i, nil
			}
		}
		return len(records), nil
	})
}

// flushFeed writes what was announced.
func (c *logTables) flushFeed() error {
	if len(c.news) == 0 {
		return nil
	}
	return c.appendFeed(c.news)
}
