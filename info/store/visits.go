package store

import (
	"context"
	"time"

	"github.com/newsfork/seed-engine/epoch"
	"github.com/newsfork/seed-engine/info"
	"github.com/newsfork/seed-engine/ledger"
)

// Visits records what is known of the hosts whose pages are fetched for pictures.
type Visits struct{ *Store }

// Visits returns what the store knows of hosts.
func (s *Store) Visits() Visits { return Visits{s} }

// Claim reserves hosts that are ready until a time, and returns them. Others are visited by somebody else, or have
// to be left alone.
func (v Visits) Claim(ctx context.Context, hosts []string, now, until time.Time) (claimed []string, err error) {
	const op = "store.Claim"
	if len(hosts) == 0 {
		return nil, nil
	}
	// In order, so that concurrent transactions cannot deadlock.
	results, err := v.batch(ctx, op, v.statement(`INSERT INTO news_hosts (host, ready_at)
SELECT value, CAST(?3 AS BIGINT) FROM (`+v.list+`) AS hosts WHERE true ORDER BY value
ON CONFLICT (host) DO UPDATE SET ready_at = excluded.ready_at WHERE news_hosts.ready_at <= CAST(?2 AS BIGINT)
RETURNING host`, encode(hosts), epoch.MillisOf(now), epoch.MillisOf(until)))
	if err != nil {
		return nil, err
	}
	rows, err := decode[struct {
		Host string `json:"host"`
	}](op, results[0])
	for _, r := range rows {
		claimed = append(claimed, r.Host)
	}
	return claimed, err
}

// Leave records that hosts get no more requests before a time.
func (v Visits) Leave(ctx context.Context, ready map[string]time.Time) error {
	var statements []ledger.Statement
	for host, at := range ready {
		statements = append(statements, v.statement(`UPDATE news_hosts SET ready_at = CAST(?2 AS BIGINT)
WHERE host = ?1 AND ready_at < CAST(?2 AS BIGINT)`, host, epoch.MillisOf(at)))
	}
	if len(statements) == 0 {
		return nil
	}
	_, err := v.batch(ctx, "store.Leave", statements...)
	return err
}

// Rules are those of a robots.txt for this crawler, as a robots.txt.
type Rules struct {
	Authority string       `json:"authority"` // scheme and host, such as https://www.example.com
	Text      string       `json:"rules"`
	Expires   epoch.Millis `json:"expires_at"`
}

// Robots returns the rules of authorities that have not expired.
func (v Visits) Robots(ctx context.Context, authorities []string, now time.Time) (map[string]Rules, error) {
	const op = "store.Robots"
	results, err := v.batch(ctx, op, v.statement(`SELECT authority, rules, expires_at FROM news_robots
WHERE expires_at > CAST(?2 AS BIGINT) AND authority IN (`+v.list+`)`, encode(authorities), epoch.MillisOf(now)))
	if err != nil {
		return nil, err
	}
	rows, err := decode[Rules](op, results[0])
	known := map[string]Rules{}
	for _, r := range rows {
		known[r.Authority] = r
	}
	return known, err
}

// SetRobots stores rules.
func (v Visits) SetRobots(ctx context.Context, rules []Rules) error {
	var statements []ledger.Statement
	for _, r := range rules {
		statements = append(statements, v.statement(`INSERT INTO news_robots (authority, rules, expires_at)
VALUES (?1, ?2, CAST(?3 AS BIGINT))
ON CONFLICT (authority) DO UPDATE SET rules = excluded.rules, expires_at = excluded.expires_at`,
			r.Authority, r.Text, r.Expires))
	}
	if len(statements) == 0 {
		return nil
	}
	_, err := v.batch(ctx, "store.SetRobots", statements...)
	return err
}

// maxWanting is the number of the latest arrivals among which pictures are missed.
const maxWanting = 2000

// Wanting returns up to limit of the latest articles without a picture: those whose page was never fetched for one,
// then those whose page had none a day ago, on their first day. An earlier fetch is not repeated.
func (v Visits) Wanting(ctx context.Context, now time.Time, limit int) ([]info.Article, error) {
	const op = "store.Wanting"
	results, err := v.batch(ctx, op, v.statement(`SELECT id, url, source FROM (SELECT id, url, source, thumbnail_url,
`+v.arrived+` AS arrived, `+v.tried()+` AS tried FROM news_articles
WHERE `+v.live+` ORDER BY created_at DESC, id DESC LIMIT ?1) AS latest
WHERE thumbnail_url IS NULL AND (tried = 0 OR tried <= CAST(?3 AS BIGINT) AND tried < arrived + 86400000)
ORDER BY CASE tried WHEN 0 THEN 0 ELSE 1 END, arrived DESC, id DESC LIMIT ?2`,
		int64(maxWanting), int64(limit), epoch.MillisOf(now.Add(-epoch.Day))))
	if err != nil {
		return nil, err
	}
	return scanArticles(op, results[0])
}

// Picture is the result of fetching an article's page.
type Picture struct {
	ID  string `json:"id"`
	URL string `json:"url"` // "" if it has none
}

// SetCounts replaces the counts of a source's last successful collection.
func (v Visits) SetCounts(ctx context.Context, source string, counts any) error {
	_, err := v.batch(ctx, "store.SetCounts", v.statement(`UPDATE news_sources SET counts = ?2 WHERE source = ?1`,
		source, encode(counts)))
	return err
}

// SetPictures records results. An article that got a picture meanwhile keeps it.
func (v Visits) SetPictures(ctx context.Context, pictures []Picture, now time.Time) error {
	if len(pictures) == 0 {
		return nil
	}
	list := `SELECT value->>'id' AS id, value->>'url' AS url FROM json_each(?1)`
	if v.dollars {
		list = `SELECT * FROM jsonb_to_recordset(?1::jsonb) AS n(id text, url text)`
	}
	_, err := v.batch(ctx, "store.SetPictures",
		v.statement(`UPDATE news_articles SET thumbnail_url = nullif(found.url, ''), thumbnail_tried = `+
			v.instant("?2")+`, updated_at = `+v.instant("?2")+` FROM (`+list+`) AS found
WHERE news_articles.id = found.id AND thumbnail_url IS NULL AND `+v.live, encode(pictures), epoch.MillisOf(now)),
		v.statement(`UPDATE news_cache SET changed_at = {now} WHERE name = 'feeds'
AND EXISTS (SELECT 1 FROM (`+list+`) AS found WHERE url <> '')`, encode(pictures)))
	return err
}
