-- The articles again, as a table with rowids. Without them a row of more than 1,000 bytes spilled into a page of its own: most articles
-- took 2.5 KB, of which two thirds were empty. Rows are written in the order in which they arrived, as new ones are.
CREATE TABLE news_articles_rows (
  id              TEXT PRIMARY KEY NOT NULL,
  url             TEXT NOT NULL,
  url_key         TEXT NOT NULL UNIQUE,       -- equal for all spellings of the URL
  title           TEXT NOT NULL,
  snippet         TEXT NOT NULL,
  source          TEXT NOT NULL,
  source_name     TEXT NOT NULL,
  source_icon_url TEXT,
  thumbnail_url   TEXT,
  thumbnail_tried INTEGER NOT NULL DEFAULT 0, -- when the page was last fetched for one
  video_url       TEXT,
  category        TEXT,
  evidence        TEXT,                       -- JSON
  keywords        TEXT,                       -- JSON
  ai_tag          TEXT,
  published_at    INTEGER NOT NULL,
  created_at      INTEGER NOT NULL,
  updated_at      INTEGER NOT NULL,
  is_deleted      INTEGER NOT NULL DEFAULT 0,
  search_id       INTEGER UNIQUE              -- of its row in news_search: the higher the newer
);
INSERT INTO news_articles_rows SELECT id, url, url_key, title, snippet, source, source_name, source_icon_url, thumbnail_url,
  thumbnail_tried, video_url, category, evidence, keywords, ai_tag, published_at, created_at, updated_at, is_deleted, search_id
  FROM news_articles ORDER BY created_at, id;
DROP TABLE news_articles;
ALTER TABLE news_articles_rows RENAME TO news_articles;
CREATE INDEX news_by_category ON news_articles (category, published_at DESC, id DESC) WHERE is_deleted = 0;
CREATE INDEX news_by_source ON news_articles (source, published_at DESC, id DESC) WHERE is_deleted = 0;
CREATE INDEX news_by_time ON news_articles (published_at DESC, id DESC) WHERE is_deleted = 0;
CREATE INDEX news_by_source_category ON news_articles (source, category, published_at DESC, id DESC) WHERE is_deleted = 0;
CREATE INDEX news_with_image ON news_articles (published_at DESC, id DESC) WHERE is_deleted = 0 AND thumbnail_url IS NOT NULL;
CREATE INDEX news_with_image_by_category ON news_articles (category, published_at DESC, id DESC) WHERE is_deleted = 0 AND thumbnail_url IS NOT NULL;
CREATE INDEX news_with_image_by_source ON news_articles (source, published_at DESC, id DESC) WHERE is_deleted = 0 AND thumbnail_url IS NOT NULL;
CREATE INDEX news_with_image_by_source_category ON news_articles (source, category, published_at DESC, id DESC) WHERE is_deleted = 0 AND thumbnail_url IS NOT NULL;
CREATE INDEX news_by_arrival ON news_articles (created_at, id) WHERE is_deleted = 0;
CREATE INDEX news_taken_down ON news_articles (updated_at) WHERE is_deleted = 1;
