-- The order in which articles arrive. Each transaction that stores articles takes the next time of arrival from this row and holds it
-- until its end, so that no article ever appears before one that readers have seen.
INSERT INTO news_cache (name, changed_at, refreshed_at)
SELECT 'arrivals', coalesce(ceil(max(extract(epoch FROM created_at)) * 1000)::bigint, 0), 0 FROM news_articles;
CREATE INDEX idx_news_arrival ON news_articles (created_at, id) WHERE is_deleted = FALSE;
