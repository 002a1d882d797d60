-- The state of every alarm, and its changes until the webhook has confirmed them.

CREATE TABLE news_alarms (
  name  TEXT PRIMARY KEY NOT NULL,
  state TEXT NOT NULL,
  since INTEGER NOT NULL
) WITHOUT ROWID;

CREATE TABLE news_alarm_changes (
  id            TEXT PRIMARY KEY NOT NULL,
  body          TEXT NOT NULL,              -- JSON, as it is posted
  at            INTEGER NOT NULL,
  claimed_until INTEGER NOT NULL DEFAULT 0, -- until then one run alone may post it
  sent_at       INTEGER NOT NULL
) WITHOUT ROWID;

-- When the source was first to be collected: one that never succeeded is late since then.
ALTER TABLE news_sources ADD COLUMN expected_at INTEGER NOT NULL DEFAULT 0;
UPDATE news_sources SET expected_at = started_at;
