package store

// FeedItem is an item as it is stored.
type FeedItem struct {
	FoundAt                                     int64
	URL, Domain, Title, Snippet, Image, FoundBy string
	Kind                                        uint8
	Score                                       int64 // thousandths
	Lastmod                                     int64
	Class, Day                                  int64
}

func (i *FeedItem) encode() []byte {
	b := appendUint(make([]byte, 0, 512), i.FoundAt)
	for _, s := range [...]string{i.URL, i.Domain, i.Title, i.Snippet, i.Image, i.FoundBy} {
		b = appendString(b, s)
	}
	for _, v := range [...]int64{int64(i.Kind), i.Score, i.Lastmod, i.Class, i.Day} {
		b = appendUint(b, v)
	}
	return b
}

// FeedItem decodes a record of the feed.
func (r LogRecord) FeedItem() (FeedItem, error) { return decodeFeedItem(r.data) }

func decodeFeedItem(record string) (i FeedItem, err error) {
	d := &decoder{text: record}
	i.FoundAt = d.int()
	for _, s := range [...]*string{&i.URL, &i.Domain, &i.Title, &i.Snippet, &i.Image, &i.FoundBy} {
		*s = d.string()
	}
	i.Kind = uint8(d.uint() & (maxTypes - 1))
	for _, v := range [...]*int64{&i.Score, &i.Lastmod, &i.Class, &i.Day} {
		*v = d.int()
	}
	return i, d.err
}

// AppendFeed adds an item to the feed.
func (c *Logs) AppendFeed(i *FeedItem) { c.news = append(c.news, i.encode()) }

// flushFeed writes what was announced.
func (c *Logs) flushFeed() error {
	if len(c.news) == 0 {
		return nil
	}
	_, err := c.append(FeedLog, c.news)
	return err
}
