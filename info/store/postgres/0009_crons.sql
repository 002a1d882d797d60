-- When each cron last began and last ended, and how: the kind of its error, '' for a success.
CREATE TABLE news_crons (
  cron       TEXT PRIMARY KEY,
  began_at   BIGINT NOT NULL,
  ended_at   BIGINT NOT NULL DEFAULT 0,
  error_kind TEXT NOT NULL DEFAULT ''
);
