package cache

import (
	"context"
	"encoding/json"
	"fmt"
	"strconv"
	"time"

	"github.com/newsfork/seed-engine/contract"
	"github.com/newsfork/seed-engine/epoch"
	"github.com/newsfork/seed-engine/info"
	"github.com/newsfork/seed-engine/info/redis"
)

// Redis caches with documented keys, types and lifetimes: news:feed:{category}, a sorted set of ids by time;
// news:article:{id}, a hash; news:meta:{category}, a hash; news:lock:all.
type Redis struct{ client *redis.Client }

var _ Cache = (*Redis)(nil)

// NewRedis returns a cache on a server.
func NewRedis(c *redis.Client) *Redis { return &Redis{c} }

// Name implements Cache.
func (r *Redis) Name() string { return "redis" }

func metaKey(c info.Category) string { return "news:meta:" + string(c) }
func articleKey(id string) string    { return "news:article:" + id }

// do sends commands. An error reply to any of them is an error.
func (r *Redis) do(ctx context.Context, op string, commands ...[]string) ([]redis.Reply, error) {
	replies, err := r.client.Do(ctx, commands...)
	for _, reply := range replies {
		if e, ok := reply.(redis.Error); ok && err == nil {
			err = e
		}
	}
	return replies, fault(op, err)
}

// readTimeout limits a read, including the opening of a connection: the store answers within that time.
const readTimeout = 300 * time.Millisecond

// Page implements Cache. Members with equal scores are sorted by bytes, as pages are.
func (r *Redis) Page(ctx context.Context, q info.Query) (*Answer, error) {
	const op = "cache.Redis.Page"
	ctx, cancel := context.WithTimeout(ctx, readTimeout)
	defer cancel()
	newest := "+inf"
	if q.From != nil {
		newest = strconv.FormatInt(int64(q.From.At), 10)
	}
	replies, err := r.do(ctx, op,
		[]string{"HGETALL", metaKey(q.Category)},
		[]string{"PTTL", feedKey(q.Category)},
		[]string{"ZREVRANGEBYSCORE", feedKey(q.Category), newest, "-inf", "WITHSCORES"})
	if err != nil {
		return nil, err
	}
	meta, ttl := pairs(replies[0]), number(replies[1])
	at, err := time.Parse(time.RFC3339Nano, meta["last_refresh"])
	if err != nil {
		return nil, nil // not cached, or in another format
	}
	total, _ := strconv.Atoi(meta["article_count"])
	if ttl < 0 && total > 0 {
		return nil, nil
	}
	a := &Answer{Total: total, RefreshedAt: at.UTC(), Expires: at.UTC().Add(TTL)}
	staleAt, _ := strconv.ParseInt(meta["stale_at"], 10, 64) // the previous version did not write it
	a.StaleAt = epoch.Millis(staleAt).Time()
	arrived, _ := strconv.ParseInt(meta["arrived_at"], 10, 64)
	a.Arrived = arrivedAt(epoch.Millis(arrived), a.RefreshedAt)
	places := after(words(replies[2]), q.From)
	for len(places) > 0 && len(a.Items) <= q.Limit {
		some := places[:min(len(places), q.Limit+1)]
		places = places[len(some):]
		found, err := r.articles(ctx, some, &q)
		if err != nil || found == nil {
			return nil, err
		}
		a.Items = append(a.Items, found...)
	}
	if len(a.Items) > q.Limit {
		a.Items = a.Items[:q.Limit+1]
		return a, nil
	}
	a.Complete = meta["complete"] == "true"
	return a, nil
}

// after parses members with scores, and drops those not after from.
func after(members []string, from *info.Cursor) (places []info.Cursor) {
	for i := 0; i+1 < len(members); i += 2 {
		at, err := strconv.ParseFloat(members[i+1], 64)
		if c := (info.Cursor{At: epoch.Millis(at), ID: members[i]}); err == nil && (from == nil || from.Before(c)) {
			places = append(places, c)
		}
	}
	return places
}

// articles reads the matching articles, or returns nil if one has expired.
func (r *Redis) articles(ctx context.Context, places []info.Cursor, q *info.Query) ([]Item, error) {
	commands := make([][]string, len(places))
	for i, c := range places {
		commands[i] = []string{"HGETALL", articleKey(c.ID)}
	}
	replies, err := r.do(ctx, "cache.Redis.Page", commands...)
	if err != nil {
		return nil, err
	}
	items := []Item{}
	for i, reply := range replies {
		fields := pairs(reply)
		if fields["id"] != places[i].ID {
			return nil, nil
		}
		if q.Source != "" && fields["source"] != q.Source || q.HasImage && fields["thumbnail_url"] == "" {
			continue
		}
		items = append(items, Item{places[i], contract.Encode(public(fields, places[i].At))})
	}
	return items, nil
}

// Article implements Cache.
func (r *Redis) Article(ctx context.Context, id string) ([]byte, error) {
	ctx, cancel := context.WithTimeout(ctx, readTimeout)
	defer cancel()
	replies, err := r.do(ctx, "cache.Redis.Article", []string{"HGETALL", articleKey(id)})
	if err != nil {
		return nil, err
	}
	fields := pairs(replies[0])
	at, err := time.Parse(time.RFC3339Nano, fields["published_at"])
	if err != nil || fields["id"] != id {
		return nil, nil // not cached, or in another format
	}
	return contract.Encode(public(fields, epoch.MillisOf(at))), nil
}

// Drop implements Cache.
func (r *Redis) Drop(ctx context.Context, ids []string) error {
	command := []string{"DEL"}
	for _, id := range ids {
		command = append(command, articleKey(id))
	}
	_, err := r.do(ctx, "cache.Redis.Drop", command)
	return err
}

// Extend implements Cache.
func (r *Redis) Extend(ctx context.Context, now time.Time) error {
	const op = "cache.Redis.Extend"
	categories := append([]info.Category{info.All}, info.Categories...)
	var commands [][]string
	for _, c := range categories {
		commands = append(commands, []string{"HGET", metaKey(c), "last_refresh"})
	}
	replies, err := r.do(ctx, op, commands...)
	if err != nil {
		return err
	}
	commands = nil
	for i, c := range categories {
		text, _ := replies[i].(string)
		at, err := time.Parse(time.RFC3339Nano, text)
		left := min(TTL, at.Add(maxTTL).Sub(now))
		if err != nil || left < time.Second {
			continue
		}
		ttl := seconds(left)
		commands = append(commands, []string{"EXPIRE", feedKey(c), ttl},
			[]string{"HSET", metaKey(c), "is_stale", "true"},
			[]string{"EXPIRE", metaKey(c), ttl})
	}
	if len(commands) == 0 {
		return nil
	}
	_, err = r.do(ctx, op, commands...)
	return err
}

// public returns an article from the fields of its hash; "" becomes null.
func public(fields map[string]string, at epoch.Millis) info.Public {
	a := info.Article{
		ID: fields["id"], Title: fields["title"], URL: fields["url"], Snippet: fields["snippet"],
		Source:     fields["source"],
		SourceName: fields["source_name"], PublishedAt: at.Time(), ThumbnailURL: fields["thumbnail_url"],
		Category: info.Category(fields["category"]), SourceIconURL: fields["source_icon_url"],
		VideoURL: fields["video_url"], AITag: fields["ai_tag"],
	}
	_ = json.Unmarshal([]byte(fields["keywords"]), &a.Keywords) // none if it is not JSON
	return a.Public()
}

// Refresh implements Cache. Readers see either all of a category or the previous feed.
func (r *Redis) Refresh(ctx context.Context, feeds []Feed, now time.Time) error {
	for _, f := range feeds {
		if _, err := r.do(ctx, "cache.Redis.Refresh", refreshCommands(f, now)...); err != nil {
			return err
		}
	}
	return nil
}

func seconds(d time.Duration) string { return strconv.Itoa(int(d.Seconds())) }

func refreshCommands(f Feed, now time.Time) [][]string {
	feed, meta := feedKey(f.Category), metaKey(f.Category)
	commands := [][]string{{"MULTI"}, {"DEL", feed}}
	members := []string{"ZADD", feed}
	for i := range f.Articles {
		a := &f.Articles[i]
		members = append(members, strconv.FormatInt(a.PublishedAt.UnixMilli(), 10), a.ID)
		commands = append(commands, hash(a), []string{"EXPIRE", articleKey(a.ID), seconds(maxTTL)})
	}
	if len(f.Articles) > 0 {
		commands = append(commands, members, []string{"EXPIRE", feed, seconds(TTL)})
	}
	return append(commands,
		[]string{"HSET", meta, "last_refresh", now.UTC().Format(time.RFC3339Nano), "stale_at",
			strconv.FormatInt(int64(epoch.MillisOf(f.StaleAt)), 10), "article_count", strconv.Itoa(len(f.Articles)),
			"is_stale", fmt.Sprint(stale(f.StaleAt, now)), "complete", fmt.Sprint(f.Complete), "arrived_at",
			strconv.FormatInt(int64(f.Arrived.At), 10)},
		[]string{"EXPIRE", meta, seconds(TTL)}, []string{"EXEC"})
}

func hash(a *info.Article) []string {
	keywords := ""
	if len(a.Keywords) > 0 {
		keywords = string(contract.Encode(a.Keywords))
	}
	return []string{
		"HSET", articleKey(a.ID), "id", a.ID, "title", a.Title, "url", a.URL, "snippet", a.Snippet, "source",
		a.Source, "source_name", a.SourceName,
		"published_at", info.Timestamp(a.PublishedAt), "thumbnail_url", a.ThumbnailURL, "category",
		string(a.Category),
		"source_icon_url", a.SourceIconURL, "video_url", a.VideoURL, "keywords", keywords, "ai_tag", a.AITag,
	}
}

// lockKey is the lock of all categories: they are refreshed together, from one state of the store.
const lockKey = "news:lock:all"

// lockTTL limits a refresh; then another one may start.
const lockTTL = 30 * time.Second

// Lock prevents concurrent refreshes for lockTTL. ok is false if another owner has the lock.
func (r *Redis) Lock(ctx context.Context, owner string) (ok bool, err error) {
	replies, err := r.do(ctx, "cache.Redis.Lock",
		[]string{"SET", lockKey, owner, "NX", "EX", strconv.Itoa(int(lockTTL.Seconds()))})
	if err != nil {
		return false, err
	}
	return replies[0] != nil, nil
}

// unlock deletes the lock only if the caller owns it.
const unlock = `if redis.call("GET", KEYS[1]) == ARGV[1] then return redis.call("DEL", KEYS[1]) end return 0`

// Unlock releases owner's lock.
func (r *Redis) Unlock(ctx context.Context, owner string) error {
	_, err := r.do(ctx, "cache.Redis.Unlock", []string{"EVAL", unlock, "1", lockKey, owner})
	return err
}

// Ping implements Cache.
func (r *Redis) Ping(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, readTimeout)
	defer cancel()
	_, err := r.do(ctx, "cache.Redis.Ping", []string{"PING"})
	return err
}

func words(r redis.Reply) (list []string) {
	replies, _ := r.([]redis.Reply)
	for _, one := range replies {
		s, _ := one.(string)
		list = append(list, s)
	}
	return list
}

func pairs(r redis.Reply) map[string]string {
	list, m := words(r), map[string]string{}
	for i := 0; i+1 < len(list); i += 2 {
		m[list[i]] = list[i+1]
	}
	return m
}

func number(r redis.Reply) int64 {
	n, _ := r.(int64)
	return n
}
