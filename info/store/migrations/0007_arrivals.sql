-- The order in which articles arrive. Each transaction that stores articles takes the next time of arrival from this row, so that no
-- article ever appears before one that readers have seen.
INSERT INTO news_cache (name, changed_at, refreshed_at) SELECT 'arrivals', coalesce(max(created_at), 0), 0 FROM news_articles;
CREATE INDEX news_by_arrival ON news_articles (created_at, id) WHERE is_deleted = 0;
