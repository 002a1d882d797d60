-- Times are milliseconds since 1970.

CREATE TABLE news_articles (
  id              TEXT PRIMARY KEY NOT NULL,
  url             TEXT NOT NULL,
  url_key         TEXT NOT NULL UNIQUE,       -- equal for all spellings of the URL
  title           TEXT NOT NULL,
  snippet         TEXT NOT NULL,
  source          TEXT NOT NULL,
  source_name     TEXT NOT NULL,
  source_icon_url TEXT,
  thumbnail_url   TEXT,
  thumbnail_tried INTEGER NOT NULL DEFAULT 0, -- when the page was last asked for one
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
) WITHOUT ROWID;

CREATE INDEX news_by_category ON news_articles (category, published_at DESC, id DESC) WHERE is_deleted = 0;
CREATE INDEX news_by_source ON news_articles (source, published_at DESC, id DESC) WHERE is_deleted = 0;
CREATE INDEX news_by_time ON news_articles (published_at DESC, id DESC) WHERE is_deleted = 0;

-- What texts are indexed by (info.Grams), separated by spaces. The texts themselves are not stored again.
CREATE VIRTUAL TABLE news_search USING fts5(grams, content='', contentless_delete=1, tokenize="unicode61 remove_diacritics 0");

CREATE TABLE news_leases (
  name       TEXT PRIMARY KEY NOT NULL,
  owner      TEXT NOT NULL,
  expires_at INTEGER NOT NULL
) WITHOUT ROWID;

-- Calls of a source in a window of its provider.
CREATE TABLE news_quotas (
  source  TEXT NOT NULL,
  period  TEXT NOT NULL,
  used    INTEGER NOT NULL,
  allowed INTEGER NOT NULL,
  ends_at INTEGER NOT NULL,
  PRIMARY KEY (source, period)
) WITHOUT ROWID;

CREATE TABLE news_sources (
  source       TEXT PRIMARY KEY NOT NULL,
  state        TEXT,                          -- what the source is given next time
  started_at   INTEGER NOT NULL DEFAULT 0,    -- of the last collection
  succeeded_at INTEGER NOT NULL DEFAULT 0,
  failed_at    INTEGER NOT NULL DEFAULT 0,
  failures     INTEGER NOT NULL DEFAULT 0,    -- since the last success
  error_class  TEXT,
  error        TEXT,
  not_before   INTEGER NOT NULL DEFAULT 0,    -- when it may be asked again
  counts       TEXT                           -- JSON, of the last successful collection
) WITHOUT ROWID;

-- Requests that failed; one row a request, until it succeeds or is discarded.
CREATE TABLE news_dead_letters (
  source      TEXT NOT NULL,
  request     TEXT NOT NULL,
  error_class TEXT NOT NULL,
  error       TEXT NOT NULL,
  attempts    INTEGER NOT NULL,
  first_at    INTEGER NOT NULL,
  last_at     INTEGER NOT NULL,
  PRIMARY KEY (source, request)
) WITHOUT ROWID;

-- When articles last changed, and which change the cache has.
CREATE TABLE news_cache (
  name         TEXT PRIMARY KEY NOT NULL,
  changed_at   INTEGER NOT NULL,
  refreshed_at INTEGER NOT NULL
) WITHOUT ROWID;
INSERT INTO news_cache (name, changed_at, refreshed_at) VALUES ('feeds', 0, 0);
