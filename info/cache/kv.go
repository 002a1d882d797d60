package cache

import (
	"bytes"
	"context"
	"encoding/json"
	"time"

	"github.com/newsfork/seed-engine/contract"
	"github.com/newsfork/seed-engine/info"
)

// Namespace is a Workers KV namespace (developers.cloudflare.com/kv/).
type Namespace interface {
	// Get returns the value of a key, nil when there is none. It may be a minute old.
	Get(ctx context.Context, key string) ([]byte, error)
	// Put writes a value, at most once a second a key, that is gone after ttl, a minute at least.
	Put(ctx context.Context, key string, value []byte, ttl time.Duration) error
}

// KV caches a category as one value: a line about it, then a line an article, with what a page is selected
// by in front of the JSON that readers get. So a page is cut out of the value, and nothing is decoded.
type KV struct{ namespace Namespace }

var _ Cache = (*KV)(nil)

// NewKV makes a cache in a namespace.
func NewKV(n Namespace) *KV { return &KV{n} }

// Name implements Cache.
func (k *KV) Name() string { return "kv" }

// kvTTL is how long KV keeps a category: longer than TTL, so that readers have something when the store is
// gone.
const kvTTL = 24 * time.Hour

func feedKey(c info.Category) string { return "news:feed:" + string(c) }

// head is the first line of a value.
type head struct {
	Version     int   `json:"v"`
	RefreshedAt int64 `json:"refreshed_at"`
	CollectedAt int64 `json:"collected_at"` // 0 in values of the version before
	Complete    bool  `json:"complete"`
	Count       int   `json:"count"`
}

func (h *head) refreshed() time.Time { return time.UnixMilli(h.RefreshedAt).UTC() }

func (h *head) collected() time.Time {
	if h.CollectedAt == 0 {
		return h.refreshed()
	}
	return time.UnixMilli(h.CollectedAt).UTC()
}

// kvVersion is that of the lines.
const kvVersion = 1

// Page implements Cache.
func (k *KV) Page(ctx context.Context, q info.Query) (*Answer, error) {
	value, err := k.namespace.Get(ctx, feedKey(q.Category))
	if err != nil || value == nil {
		return nil, fault("cache.KV.Page", err)
	}
	first, lines, ok := bytes.Cut(value, []byte{'\n'})
	var h head
	if !ok || json.Unmarshal(first, &h) != nil || h.Version != kvVersion {
		return nil, nil
	}
	a := &Answer{Total: h.Count, RefreshedAt: h.refreshed(), CollectedAt: h.collected(), Expires: h.refreshed().Add(TTL)}
	for len(lines) > 0 {
		var one []byte
		one, lines, _ = bytes.Cut(lines, []byte{'\n'})
		item, ok := readLine(one, &q)
		if !ok {
			continue
		}
		if a.Items = append(a.Items, item); len(a.Items) > q.Limit {
			return a, nil
		}
	}
	a.Complete = h.Complete
	return a, nil
}

// readLine reads {milliseconds}_{id} {source} {1: has a thumbnail} {JSON}. ok is false for one that is not
// on the page.
func readLine(b []byte, q *info.Query) (item Item, ok bool) {
	cursor, b, _ := bytes.Cut(b, []byte{' '})
	source, b, _ := bytes.Cut(b, []byte{' '})
	image, b, ok := bytes.Cut(b, []byte{' '})
	if !ok || q.Source != "" && string(source) != q.Source || q.HasImage && string(image) != "1" {
		return item, false
	}
	item.JSON = b
	item.Cursor, ok = info.ParseCursor(string(cursor))
	return item, ok && (q.From == nil || q.From.Before(item.Cursor))
}

// Refresh implements Cache. A category that did not change is written again only when its times are older than
// a Heartbeat: writes are what KV costs.
func (k *KV) Refresh(ctx context.Context, feeds []Feed, now time.Time) error {
	for _, f := range feeds {
		value := encodeFeed(f, now)
		before, err := k.namespace.Get(ctx, feedKey(f.Category))
		if err != nil {
			return fault("cache.KV.Refresh", err)
		}
		if was, same := compare(before, value); same && now.Sub(was.refreshed()) < Heartbeat && f.CollectedAt.Sub(was.collected()) < Heartbeat {
			continue
		}
		if err := k.namespace.Put(ctx, feedKey(f.Category), value, kvTTL); err != nil {
			return fault("cache.KV.Refresh", err)
		}
	}
	return nil
}

func encodeFeed(f Feed, now time.Time) []byte {
	first, _ := json.Marshal(head{kvVersion, now.UnixMilli(), f.CollectedAt.UnixMilli(), f.Complete, len(f.Articles)}) // plain data
	value := append(first, '\n')
	for i := range f.Articles {
		a := &f.Articles[i]
		value = append(value, info.CursorOf(a).String()...)
		value = append(value, ' ')
		value = append(value, a.Source...)
		image := " 0 "
		if a.ThumbnailURL != "" {
			image = " 1 "
		}
		value = append(value, image...)
		value = append(value, contract.Encode(a.Public())...) // no line breaks
		value = append(value, '\n')
	}
	return value
}

// compare reads the head of a value, and reports whether another has the same articles.
func compare(before, after []byte) (was head, same bool) {
	first, articles, _ := bytes.Cut(before, []byte{'\n'})
	second, others, _ := bytes.Cut(after, []byte{'\n'})
	var is head
	if json.Unmarshal(first, &was) != nil || json.Unmarshal(second, &is) != nil {
		return was, false
	}
	is.RefreshedAt, is.CollectedAt = was.RefreshedAt, was.CollectedAt
	return was, was == is && bytes.Equal(articles, others)
}

// Ping implements Cache.
func (k *KV) Ping(ctx context.Context) error {
	_, err := k.namespace.Get(ctx, "news:ping")
	return fault("cache.KV.Ping", err)
}

func fault(op string, err error) error {
	if err == nil {
		return nil
	}
	return &contract.Error{Kind: contract.Storage, Op: op, Message: "the cache failed", Err: err}
}
