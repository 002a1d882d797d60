-- Until when a host gets no more requests: one collection at a time visits it, with its pauses between them.
CREATE TABLE news_hosts (
  host     TEXT PRIMARY KEY NOT NULL,
  ready_at INTEGER NOT NULL
) WITHOUT ROWID;

-- The rules of a robots.txt for this crawler, as a robots.txt.
CREATE TABLE news_robots (
  authority  TEXT PRIMARY KEY NOT NULL,
  rules      TEXT NOT NULL,
  expires_at INTEGER NOT NULL
) WITHOUT ROWID;

-- When each cron last ran.
CREATE TABLE news_crons (
  cron   TEXT PRIMARY KEY NOT NULL,
  ran_at INTEGER NOT NULL,
  failed INTEGER NOT NULL
) WITHOUT ROWID;

-- When the source is late: its last success is older than its interval allows.
ALTER TABLE news_sources ADD COLUMN late_at INTEGER NOT NULL DEFAULT 0;
UPDATE news_sources SET late_at = succeeded_at + 900000 WHERE succeeded_at > 0;
