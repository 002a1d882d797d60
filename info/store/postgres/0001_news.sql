-- The record's table. Ids are compared byte by byte, as cursors and D1 do, whatever the database's locale.

CREATE TABLE news_articles (
  id              TEXT COLLATE "C" PRIMARY KEY,
  url             TEXT NOT NULL,
  url_key         TEXT COLLATE "C" NOT NULL UNIQUE,
  title           TEXT NOT NULL,
  snippet         TEXT NOT NULL,
  source          TEXT NOT NULL,
  source_name     TEXT NOT NULL,
  source_icon_url TEXT,
  thumbnail_url   TEXT,
  thumbnail_tried TIMESTAMPTZ,
  video_url       TEXT,
  category        TEXT,
  evidence        JSONB,
  keywords        TEXT[],
  ai_tag          TEXT,
  published_at    TIMESTAMPTZ NOT NULL,
  created_at      TIMESTAMPTZ NOT NULL DEFAULT now(),
  updated_at      TIMESTAMPTZ NOT NULL DEFAULT now(),
  is_deleted      BOOLEAN NOT NULL DEFAULT FALSE,
  grams           TSVECTOR
);

CREATE INDEX idx_news_cursor ON news_articles (category, published_at DESC, id DESC) WHERE is_deleted = FALSE;
CREATE INDEX idx_news_source ON news_articles (source, published_at DESC, id DESC) WHERE is_deleted = FALSE;
CREATE INDEX idx_news_recent ON news_articles (published_at DESC, id DESC) WHERE is_deleted = FALSE;
CREATE INDEX idx_news_search ON news_articles USING gin (grams);

-- Times below are milliseconds since 1970.

CREATE TABLE news_leases (
  name       TEXT PRIMARY KEY,
  owner      TEXT NOT NULL,
  expires_at BIGINT NOT NULL
);

CREATE TABLE news_quotas (
  source  TEXT NOT NULL,
  period  TEXT NOT NULL,
  used    INTEGER NOT NULL,
  allowed INTEGER NOT NULL,
  ends_at BIGINT NOT NULL,
  PRIMARY KEY (source, period)
);

CREATE TABLE news_sources (
  source       TEXT PRIMARY KEY,
  state        TEXT,
  started_at   BIGINT NOT NULL DEFAULT 0,
  succeeded_at BIGINT NOT NULL DEFAULT 0,
  failed_at    BIGINT NOT NULL DEFAULT 0,
  failures     INTEGER NOT NULL DEFAULT 0,
  error_class  TEXT,
  error        TEXT,
  not_before   BIGINT NOT NULL DEFAULT 0,
  counts       TEXT
);

CREATE TABLE news_dead_letters (
  source      TEXT NOT NULL,
  request     TEXT NOT NULL,
  error_class TEXT NOT NULL,
  error       TEXT NOT NULL,
  attempts    INTEGER NOT NULL,
  first_at    BIGINT NOT NULL,
  last_at     BIGINT NOT NULL,
  PRIMARY KEY (source, request)
);

CREATE TABLE news_cache (
  name         TEXT PRIMARY KEY,
  changed_at   BIGINT NOT NULL,
  refreshed_at BIGINT NOT NULL
);
INSERT INTO news_cache (name, changed_at, refreshed_at) VALUES ('feeds', 0, 0);
