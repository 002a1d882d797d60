-- The state of every alarm, and its changes until the webhook has confirmed them. Times are milliseconds since 1970.

CREATE TABLE news_alarms (
  name  TEXT PRIMARY KEY,
  state TEXT NOT NULL,
  since BIGINT NOT NULL
);

CREATE TABLE news_alarm_changes (
  id            TEXT PRIMARY KEY,
  body          TEXT NOT NULL,             -- JSON, as it is posted
  at            BIGINT NOT NULL,
  claimed_until BIGINT NOT NULL DEFAULT 0, -- until then one run alone may post it
  sent_at       BIGINT NOT NULL
);

-- When the source was first to be collected: one that never succeeded is late since then.
ALTER TABLE news_sources ADD COLUMN expected_at BIGINT NOT NULL DEFAULT 0;
UPDATE news_sources SET expected_at = started_at;
