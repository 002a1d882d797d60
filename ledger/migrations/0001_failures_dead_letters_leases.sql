-- Times are milliseconds since 1970-01-01 UTC.

-- Why work failed, one row an attempt, until the work is finished. A dead letter arrives without
-- its reason; queue and work identify what it asked for.
CREATE TABLE failures (
  queue TEXT NOT NULL,
  work TEXT NOT NULL,
  message_id TEXT NOT NULL,
  attempt INTEGER NOT NULL,
  error_type TEXT NOT NULL,
  error_message TEXT NOT NULL,
  worker_version TEXT NOT NULL,
  duration_ms INTEGER NOT NULL,
  failed_at INTEGER NOT NULL,
  PRIMARY KEY (queue, work, message_id, attempt)
) WITHOUT ROWID;

-- Messages that were given up. The message itself lies in R2 under r2_key.
CREATE TABLE dead_letters (
  message_id TEXT PRIMARY KEY,
  queue_name TEXT NOT NULL,
  work TEXT NOT NULL,
  error_type TEXT NOT NULL,
  error_message TEXT NOT NULL,
  retry_count INTEGER NOT NULL,
  failed_at INTEGER NOT NULL,
  worker_version TEXT NOT NULL,
  processing_duration_ms INTEGER NOT NULL,
  r2_key TEXT NOT NULL,
  state TEXT NOT NULL CHECK (state IN ('stored', 'replayed', 'discarded'))
) WITHOUT ROWID;

CREATE INDEX dead_letters_by_state ON dead_letters (state, failed_at);

-- Who may send requests to the hosts of a registrable domain. A released or expired lease stays as
-- a row whose time is over.
CREATE TABLE leases (
  domain TEXT PRIMARY KEY,
  owner TEXT NOT NULL,
  expires_at INTEGER NOT NULL
) WITHOUT ROWID;
