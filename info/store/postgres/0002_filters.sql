-- An index for each way to filter, so that a page reads what it shows and no more, however rare that is.
CREATE INDEX idx_news_source_category ON news_articles (source, category, published_at DESC, id DESC) WHERE is_deleted = FALSE;
CREATE INDEX idx_news_image ON news_articles (published_at DESC, id DESC) WHERE is_deleted = FALSE AND thumbnail_url IS NOT NULL;
CREATE INDEX idx_news_image_category ON news_articles (category, published_at DESC, id DESC) WHERE is_deleted = FALSE AND thumbnail_url IS NOT NULL;
CREATE INDEX idx_news_image_source ON news_articles (source, published_at DESC, id DESC) WHERE is_deleted = FALSE AND thumbnail_url IS NOT NULL;
CREATE INDEX idx_news_image_source_category ON news_articles (source, category, published_at DESC, id DESC) WHERE is_deleted = FALSE AND thumbnail_url IS NOT NULL;
