-- An index for each way to filter, so that a page reads what it shows and no more, however rare that is.
CREATE INDEX news_by_source_category ON news_articles (source, category, published_at DESC, id DESC) WHERE is_deleted = 0;
CREATE INDEX news_with_image ON news_articles (published_at DESC, id DESC) WHERE is_deleted = 0 AND thumbnail_url IS NOT NULL;
CREATE INDEX news_with_image_by_category ON news_articles (category, published_at DESC, id DESC) WHERE is_deleted = 0 AND thumbnail_url IS NOT NULL;
CREATE INDEX news_with_image_by_source ON news_articles (source, published_at DESC, id DESC) WHERE is_deleted = 0 AND thumbnail_url IS NOT NULL;
CREATE INDEX news_with_image_by_source_category ON news_articles (source, category, published_at DESC, id DESC) WHERE is_deleted = 0 AND thumbnail_url IS NOT NULL;
