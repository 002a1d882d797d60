-- Until when a host gets no more requests: one collection at a time visits it, with its pauses between them.
CREATE TABLE news_hosts (
  host     TEXT PRIMARY KEY,
  ready_at BIGINT NOT NULL
);

-- The rules of a robots.txt for this crawler, as a robots.txt.
CREATE TABLE news_robots (
  authority  TEXT PRIMARY KEY,
  rules      TEXT NOT NULL,
  expires_at BIGINT NOT NULL
);

-- When each cron last ran.
CREATE TABLE news_crons (
  cron   TEXT PRIMARY KEY,
  ran_at BIGINT NOT NULL,
  failed BIGINT NOT NULL
);

-- When the source is late: its last success is older than its interval allows.
ALTER TABLE news_sources ADD COLUMN late_at BIGINT NOT NULL DEFAULT 0;
UPDATE news_sources SET late_at = succeeded_at + 900000 WHERE succeeded_at > 0;
