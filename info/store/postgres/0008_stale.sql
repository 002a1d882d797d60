-- When a source's last success is too old for its interval, or, before the first one, its first collection; 0 until the next collection.
ALTER TABLE news_sources ADD COLUMN stale_at BIGINT NOT NULL DEFAULT 0;
