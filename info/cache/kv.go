package cache

import (
	"bytes"
	"context"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"hash/fnv"
	"time"

	"github.com/newsfork/seed-engine/contract"
	"github.com/newsfork/seed-engine/epoch"
	"github.com/newsfork/seed-engine/info"
)

// Namespace is a Workers KV namespace (developers.cloudflare.com/kv/).
type Namespace interface {
	// Get returns the value of a key, or nil. It can be a minute old.
	Get(ctx context.Context, key string) ([]byte, error)
	// Put writes a value that expires after ttl, which is at least a minute. A key accepts one write a second.
	Put(ctx context.Context, key string, value []byte, ttl time.Duration) error
}

// KV caches a category as one value: a line about it, then one line per article, with the fields for selecting a
// page before the JSON that readers get. A page is cut out of the value without decoding.
type KV struct{ namespace Namespace }

var _ Cache = (*KV)(nil)

// NewKV returns a cache in a namespace.
func NewKV(n Namespace) *KV { return &KV{n} }

// Name implements Cache.
func (k *KV) Name() string { return "kv" }

func feedKey(c info.Category) string { return "news:feed:" + string(c) }

// head is the first line of a value.
type head struct {
	Version     int          `json:"v"`
	RefreshedAt epoch.Millis `json:"refreshed_at"`
	StaleAt     epoch.Millis `json:"stale_at"`   // 0 in values of the previous version
	ArrivedAt   epoch.Millis `json:"arrived_at"` // 0 in values of the previous version
	Complete    bool         `json:"complete"`
	Count       int          `json:"count"`
}

// arrived returns the position in the order of arrival.
func (h *head) arrived() info.Cursor { return arrivedAt(h.ArrivedAt, h.refreshed()) }

// arrivedAt returns the position of a feed in the order of arrival. The previous version did not write it; then an
// earlier one is safe.
func arrivedAt(at epoch.Millis, refreshed time.Time) info.Cursor {
	if at == 0 {
		at = epoch.MillisOf(refreshed.Add(-TTL))
	}
	return info.Cursor{At: at}
}

func (h *head) refreshed() time.Time { return h.RefreshedAt.Time() }

// kvVersion is the version of the format.
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
	a := &Answer{Total: h.Count, RefreshedAt: h.refreshed(), StaleAt: h.StaleAt.Time(),
		Arrived: h.arrived(), Expires: h.refreshed().Add(TTL)}
	for lines = afterCursor(lines, q.From); len(lines) > 0; {
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

// afterCursor returns the lines after a cursor. It bisects, since reading every line costs much more.
func afterCursor(lines []byte, from *info.Cursor) []byte {
	if from == nil {
		return lines
	}
	// Both are starts of lines: lines before low are before the cursor, lines from high on after it.
	low, high := 0, len(lines)
	for low < high {
		middle := low + bytes.LastIndexByte(lines[low:(low+high)/2], '\n') + 1
		place, _, _ := bytes.Cut(lines[middle:high], []byte{' '})
		c, ok := info.ParseCursor(string(place))
		end := bytes.IndexByte(lines[middle:high], '\n')
		switch {
		case !ok || end < 0: // not our format
			return lines
		case from.Before(c):
			high = middle
		default:
			low = middle + end + 1
		}
	}
	return lines[low:]
}

// readLine parses "{milliseconds}_{id} {source} {1 if it has a thumbnail} {JSON}". ok is false if the article is
// not on the page.
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

// Article implements Cache with the articles of the feed of all categories.
func (k *KV) Article(ctx context.Context, id string) ([]byte, error) {
	value, err := k.namespace.Get(ctx, feedKey(info.All))
	if err != nil {
		return nil, fault("cache.KV.Article", err)
	}
	_, lines, _ := bytes.Cut(value, []byte{'\n'})
	for one := range bytes.Lines(lines) {
		if item, ok := readLine(bytes.TrimSuffix(one, []byte{'\n'}), &info.Query{}); ok && item.Cursor.ID == id {
			return item.JSON, nil
		}
	}
	return nil, nil
}

// Drop implements Cache. Articles are part of feeds, which are refreshed.
func (k *KV) Drop(context.Context, []string) error { return nil }

// Extend implements Cache. Feeds live for maxTTL anyway.
func (k *KV) Extend(context.Context, time.Time) error { return nil }

// Has reports whether the value of a category equals a feed, apart from times, and is younger than a Heartbeat.
func (k *KV) Has(ctx context.Context, f Feed, now time.Time) (bool, error) {
	value, err := k.namespace.Get(ctx, feedKey(f.Category))
	if err != nil {
		return false, fault("cache.KV.Has", err)
	}
	first, lines, _ := bytes.Cut(value, []byte{'\n'})
	var h head
	if json.Unmarshal(first, &h) != nil || h != f.head(h.RefreshedAt, h.StaleAt, h.ArrivedAt) ||
		!bytes.Equal(lines, f.lines()) {
		return false, nil
	}
	return now.Sub(h.refreshed()) < Heartbeat && f.StaleAt.Sub(h.StaleAt.Time()) < Heartbeat, nil
}

// Refresh implements Cache.
func (k *KV) Refresh(ctx context.Context, feeds []Feed, now time.Time) error {
	for _, f := range feeds {
		first, _ := json.Marshal(f.head(epoch.MillisOf(now), epoch.MillisOf(f.StaleAt), f.Arrived.At)) // plain data
		value := append(append(first, '\n'), f.lines()...)
		if err := k.namespace.Put(ctx, feedKey(f.Category), value, maxTTL); err != nil {
			return fault("cache.KV.Refresh", err)
		}
	}
	return nil
}

func (f *Feed) head(refreshed, staleAt, arrived epoch.Millis) head {
	return head{kvVersion, refreshed, staleAt, arrived, f.Complete, len(f.Articles)}
}

// lines returns the lines of the articles.
func (f *Feed) lines() (lines []byte) {
	for i := range f.Articles {
		a := &f.Articles[i]
		lines = append(lines, info.CursorOf(a).String()...)
		lines = append(lines, ' ')
		lines = append(lines, a.Source...)
		image := " 0 "
		if a.ThumbnailURL != "" {
			image = " 1 "
		}
		lines = append(lines, image...)
		lines = a.AppendPublic(lines) // no line breaks
		lines = append(lines, '\n')
	}
	return lines
}

// digest returns a digest of the feed without its times.
func (f *Feed) digest() string {
	h := fnv.New128a()
	fmt.Fprint(h, f.Complete)
	h.Write(f.lines())
	return hex.EncodeToString(h.Sum(nil))
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
