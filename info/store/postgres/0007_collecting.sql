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
