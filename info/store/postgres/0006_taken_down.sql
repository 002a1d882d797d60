-- Articles that were taken down, by time: the cache drops the recent ones.
CREATE INDEX idx_news_taken_down ON news_articles (updated_at) WHERE is_deleted = TRUE;
