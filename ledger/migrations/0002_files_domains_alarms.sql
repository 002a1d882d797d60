-- What became of raw files and domains, counted by triggers so that a status is a sum over
-- partitions. The columns that end in _at only ever grow, and a row's state is derived from them: whatever
-- order records arrive in, and however often, they end in the same state. Times are milliseconds
-- since 1970-01-01 UTC, 0 for never.

CREATE TABLE partitions (
  id INTEGER PRIMARY KEY,
  country TEXT NOT NULL,
  category TEXT NOT NULL,
  date TEXT NOT NULL,
  files_processed INTEGER NOT NULL DEFAULT 0,
  files_failed INTEGER NOT NULL DEFAULT 0,
  files_pending INTEGER NOT NULL DEFAULT 0,
  files_timed INTEGER NOT NULL DEFAULT 0, -- processed files whose duration is known
  files_duration_ms INTEGER NOT NULL DEFAULT 0, -- of all of these
  domains_processed INTEGER NOT NULL DEFAULT 0,
  domains_failed INTEGER NOT NULL DEFAULT 0,
  domains_pending INTEGER NOT NULL DEFAULT 0,
  domains_excluded INTEGER NOT NULL DEFAULT 0,
  robots_found INTEGER NOT NULL DEFAULT 0, -- of the processed domains, as the next two
  sitemaps_found INTEGER NOT NULL DEFAULT 0,
  domains_duration_ms INTEGER NOT NULL DEFAULT 0,
  updated_at INTEGER NOT NULL DEFAULT (CAST(unixepoch('subsec') * 1000 AS INTEGER)),
  UNIQUE (country, category, date)
);

CREATE INDEX partitions_by_date ON partitions (date);

CREATE TABLE files (
  partition INTEGER NOT NULL,
  name TEXT NOT NULL, -- raw_NNNN
  queued_at INTEGER NOT NULL, -- when it was last sent to its queue
  needed_at INTEGER NOT NULL, -- what was processed before then has to be processed again
  processed_at INTEGER NOT NULL,
  met_at INTEGER NOT NULL, -- needs up to then are met
  gave_up_at INTEGER NOT NULL, -- when its message became a dead letter
  duration_ms INTEGER, -- null when it is not known
  error_type TEXT, -- why it was given up
  error_message TEXT,
  state TEXT NOT NULL GENERATED ALWAYS AS (CASE
    WHEN processed_at > 0 AND met_at >= needed_at THEN 'processed'
    WHEN gave_up_at > 0 AND gave_up_at >= queued_at THEN 'failed'
    ELSE 'pending' END) STORED,
  PRIMARY KEY (partition, name)
) WITHOUT ROWID;

CREATE INDEX files_failed ON files (error_type) WHERE state = 'failed';

CREATE TABLE domains (
  partition INTEGER NOT NULL,
  domain TEXT NOT NULL,
  queued_at INTEGER NOT NULL,
  needed_at INTEGER NOT NULL, -- what was collected before then has to be collected again
  collected_at INTEGER NOT NULL,
  met_at INTEGER NOT NULL,
  gave_up_at INTEGER NOT NULL,
  excluded_at INTEGER NOT NULL, -- when a message was dropped because the domain is excluded
  reachable INTEGER, -- null, as the next three, before it was collected
  robots INTEGER,
  sitemap INTEGER,
  duration_ms INTEGER,
  error_type TEXT, -- why it was given up, or could not be reached
  error_message TEXT,
  state TEXT NOT NULL GENERATED ALWAYS AS (CASE
    WHEN collected_at > 0 AND met_at >= needed_at THEN CASE WHEN reachable THEN 'processed' ELSE 'failed' END
    WHEN excluded_at > 0 AND excluded_at >= queued_at AND excluded_at >= gave_up_at THEN 'excluded'
    WHEN gave_up_at > 0 AND gave_up_at >= queued_at THEN 'failed'
    ELSE 'pending' END) STORED,
  PRIMARY KEY (partition, domain)
) WITHOUT ROWID;

CREATE INDEX domains_by_state ON domains (state, partition, domain);
CREATE INDEX domains_by_name ON domains (domain, partition);
CREATE INDEX domains_failed ON domains (error_type, partition, domain) WHERE state = 'failed';
CREATE INDEX domains_without_robots ON domains (partition, domain) WHERE state = 'processed' AND robots = 0;
CREATE INDEX domains_without_sitemap ON domains (partition, domain) WHERE state = 'processed' AND sitemap = 0;
CREATE INDEX domains_by_duration ON domains (duration_ms DESC, partition, domain) WHERE state = 'processed';

-- What was finished when: by hour and partition for trends, by minute for alarms.
CREATE TABLE hours (
  hour INTEGER NOT NULL, -- since 1970
  partition INTEGER NOT NULL,
  files_processed INTEGER NOT NULL DEFAULT 0,
  files_failed INTEGER NOT NULL DEFAULT 0,
  domains_processed INTEGER NOT NULL DEFAULT 0,
  domains_failed INTEGER NOT NULL DEFAULT 0,
  duration_ms INTEGER NOT NULL DEFAULT 0, -- of the processed domains
  PRIMARY KEY (hour, partition)
) WITHOUT ROWID;

CREATE TABLE minutes (
  minute INTEGER PRIMARY KEY, -- since 1970
  files_processed INTEGER NOT NULL DEFAULT 0,
  files_failed INTEGER NOT NULL DEFAULT 0,
  domains_processed INTEGER NOT NULL DEFAULT 0,
  domains_failed INTEGER NOT NULL DEFAULT 0,
  duration_ms INTEGER NOT NULL DEFAULT 0
);

CREATE TRIGGER file_inserted AFTER INSERT ON files BEGIN
  UPDATE partitions SET
    files_processed = files_processed + (NEW.state = 'processed'),
    files_failed = files_failed + (NEW.state = 'failed'),
    files_pending = files_pending + (NEW.state = 'pending'),
    files_timed = files_timed + (NEW.state = 'processed' AND NEW.duration_ms IS NOT NULL),
    files_duration_ms = files_duration_ms + iif(NEW.state = 'processed', ifnull(NEW.duration_ms, 0), 0),
    updated_at = CAST(unixepoch('subsec') * 1000 AS INTEGER)
  WHERE id = NEW.partition;
END;

CREATE TRIGGER file_updated AFTER UPDATE ON files WHEN (NEW.state, NEW.duration_ms) IS NOT (OLD.state, OLD.duration_ms) BEGIN
  UPDATE partitions SET
    files_processed = files_processed + (NEW.state = 'processed') - (OLD.state = 'processed'),
    files_failed = files_failed + (NEW.state = 'failed') - (OLD.state = 'failed'),
    files_pending = files_pending + (NEW.state = 'pending') - (OLD.state = 'pending'),
    files_timed = files_timed + (NEW.state = 'processed' AND NEW.duration_ms IS NOT NULL) - (OLD.state = 'processed' AND OLD.duration_ms IS NOT NULL),
    files_duration_ms = files_duration_ms + iif(NEW.state = 'processed', ifnull(NEW.duration_ms, 0), 0) - iif(OLD.state = 'processed', ifnull(OLD.duration_ms, 0), 0),
    updated_at = CAST(unixepoch('subsec') * 1000 AS INTEGER)
  WHERE id = NEW.partition;
END;

CREATE TRIGGER file_deleted AFTER DELETE ON files BEGIN
  UPDATE partitions SET
    files_processed = files_processed - (OLD.state = 'processed'),
    files_failed = files_failed - (OLD.state = 'failed'),
    files_pending = files_pending - (OLD.state = 'pending'),
    files_timed = files_timed - (OLD.state = 'processed' AND OLD.duration_ms IS NOT NULL),
    files_duration_ms = files_duration_ms - iif(OLD.state = 'processed', ifnull(OLD.duration_ms, 0), 0)
  WHERE id = OLD.partition;
END;

CREATE TRIGGER domain_inserted AFTER INSERT ON domains BEGIN
  UPDATE partitions SET
    domains_processed = domains_processed + (NEW.state = 'processed'),
    domains_failed = domains_failed + (NEW.state = 'failed'),
    domains_pending = domains_pending + (NEW.state = 'pending'),
    domains_excluded = domains_excluded + (NEW.state = 'excluded'),
    robots_found = robots_found + iif(NEW.state = 'processed', NEW.robots, 0),
    sitemaps_found = sitemaps_found + iif(NEW.state = 'processed', NEW.sitemap, 0),
    domains_duration_ms = domains_duration_ms + iif(NEW.state = 'processed', NEW.duration_ms, 0),
    updated_at = CAST(unixepoch('subsec') * 1000 AS INTEGER)
  WHERE id = NEW.partition;
END;

CREATE TRIGGER domain_updated AFTER UPDATE ON domains
WHEN (NEW.state, NEW.robots, NEW.sitemap, NEW.duration_ms) IS NOT (OLD.state, OLD.robots, OLD.sitemap, OLD.duration_ms) BEGIN
  UPDATE partitions SET
    domains_processed = domains_processed + (NEW.state = 'processed') - (OLD.state = 'processed'),
    domains_failed = domains_failed + (NEW.state = 'failed') - (OLD.state = 'failed'),
    domains_pending = domains_pending + (NEW.state = 'pending') - (OLD.state = 'pending'),
    domains_excluded = domains_excluded + (NEW.state = 'excluded') - (OLD.state = 'excluded'),
    robots_found = robots_found + iif(NEW.state = 'processed', NEW.robots, 0) - iif(OLD.state = 'processed', OLD.robots, 0),
    sitemaps_found = sitemaps_found + iif(NEW.state = 'processed', NEW.sitemap, 0) - iif(OLD.state = 'processed', OLD.sitemap, 0),
    domains_duration_ms = domains_duration_ms + iif(NEW.state = 'processed', NEW.duration_ms, 0) - iif(OLD.state = 'processed', OLD.duration_ms, 0),
    updated_at = CAST(unixepoch('subsec') * 1000 AS INTEGER)
  WHERE id = NEW.partition;
END;

CREATE TRIGGER domain_deleted AFTER DELETE ON domains BEGIN
  UPDATE partitions SET
    domains_processed = domains_processed - (OLD.state = 'processed'),
    domains_failed = domains_failed - (OLD.state = 'failed'),
    domains_pending = domains_pending - (OLD.state = 'pending'),
    domains_excluded = domains_excluded - (OLD.state = 'excluded'),
    robots_found = robots_found - iif(OLD.state = 'processed', OLD.robots, 0),
    sitemaps_found = sitemaps_found - iif(OLD.state = 'processed', OLD.sitemap, 0),
    domains_duration_ms = domains_duration_ms - iif(OLD.state = 'processed', OLD.duration_ms, 0)
  WHERE id = OLD.partition;
END;

-- What is inserted here is counted, in the hour and the minute of its time.
CREATE VIEW finished AS
SELECT at, partition, files_processed, files_failed, domains_processed, domains_failed, duration_ms
FROM (SELECT 0 AS at), hours WHERE false;

CREATE TRIGGER finish INSTEAD OF INSERT ON finished BEGIN
  INSERT INTO hours (hour, partition, files_processed, files_failed, domains_processed, domains_failed, duration_ms)
    VALUES (NEW.at / 3600000, NEW.partition, NEW.files_processed, NEW.files_failed, NEW.domains_processed, NEW.domains_failed, NEW.duration_ms)
    ON CONFLICT DO UPDATE SET
      files_processed = files_processed + excluded.files_processed, files_failed = files_failed + excluded.files_failed,
      domains_processed = domains_processed + excluded.domains_processed, domains_failed = domains_failed + excluded.domains_failed,
      duration_ms = duration_ms + excluded.duration_ms;
  INSERT INTO minutes (minute, files_processed, files_failed, domains_processed, domains_failed, duration_ms)
    VALUES (NEW.at / 60000, NEW.files_processed, NEW.files_failed, NEW.domains_processed, NEW.domains_failed, NEW.duration_ms)
    ON CONFLICT DO UPDATE SET
      files_processed = files_processed + excluded.files_processed, files_failed = files_failed + excluded.files_failed,
      domains_processed = domains_processed + excluded.domains_processed, domains_failed = domains_failed + excluded.domains_failed,
      duration_ms = duration_ms + excluded.duration_ms;
END;

-- A finish is counted once: when its time becomes known.
CREATE TRIGGER file_processed_first AFTER INSERT ON files WHEN NEW.processed_at > 0 BEGIN
  INSERT INTO finished VALUES (NEW.processed_at, NEW.partition, 1, 0, 0, 0, 0);
END;

CREATE TRIGGER file_processed AFTER UPDATE ON files WHEN NEW.processed_at <> OLD.processed_at BEGIN
  INSERT INTO finished VALUES (NEW.processed_at, NEW.partition, 1, 0, 0, 0, 0);
END;

CREATE TRIGGER file_given_up_first AFTER INSERT ON files WHEN NEW.gave_up_at > 0 AND NEW.state = 'failed' BEGIN
  INSERT INTO finished VALUES (NEW.gave_up_at, NEW.partition, 0, 1, 0, 0, 0);
END;

CREATE TRIGGER file_given_up AFTER UPDATE ON files WHEN NEW.gave_up_at <> OLD.gave_up_at AND NEW.state = 'failed' BEGIN
  INSERT INTO finished VALUES (NEW.gave_up_at, NEW.partition, 0, 1, 0, 0, 0);
END;

CREATE TRIGGER domain_collected_first AFTER INSERT ON domains WHEN NEW.collected_at > 0 BEGIN
  INSERT INTO finished VALUES (NEW.collected_at, NEW.partition, 0, 0, NEW.reachable, NOT NEW.reachable, NEW.reachable * NEW.duration_ms);
END;

CREATE TRIGGER domain_collected AFTER UPDATE ON domains WHEN NEW.collected_at <> OLD.collected_at BEGIN
  INSERT INTO finished VALUES (NEW.collected_at, NEW.partition, 0, 0, NEW.reachable, NOT NEW.reachable, NEW.reachable * NEW.duration_ms);
END;

CREATE TRIGGER domain_given_up_first AFTER INSERT ON domains WHEN NEW.gave_up_at > 0 AND NEW.collected_at = 0 AND NEW.state = 'failed' BEGIN
  INSERT INTO finished VALUES (NEW.gave_up_at, NEW.partition, 0, 0, 0, 1, 0);
END;

CREATE TRIGGER domain_given_up AFTER UPDATE ON domains
WHEN NEW.gave_up_at <> OLD.gave_up_at AND (NEW.collected_at = 0 OR NEW.met_at < NEW.needed_at) AND NEW.state = 'failed' BEGIN
  INSERT INTO finished VALUES (NEW.gave_up_at, NEW.partition, 0, 0, 0, 1, 0);
END;

ALTER TABLE dead_letters ADD COLUMN country TEXT; -- null, as the next three, when the message does not say
ALTER TABLE dead_letters ADD COLUMN category TEXT;
ALTER TABLE dead_letters ADD COLUMN date TEXT;
ALTER TABLE dead_letters ADD COLUMN domain TEXT;
ALTER TABLE dead_letters ADD COLUMN resolved_at INTEGER; -- when it was replayed or discarded
ALTER TABLE dead_letters ADD COLUMN resolved_by TEXT; -- the name of the token that asked for it

CREATE INDEX dead_letters_by_time ON dead_letters (failed_at, message_id);
CREATE INDEX dead_letters_by_work ON dead_letters (queue_name, work);

CREATE TABLE dead_letter_counts (
  state TEXT PRIMARY KEY,
  count INTEGER NOT NULL
) WITHOUT ROWID;

INSERT INTO dead_letter_counts (state, count)
  SELECT state, (SELECT count(*) FROM dead_letters WHERE dead_letters.state = states.state)
  FROM (SELECT 'stored' AS state UNION ALL SELECT 'replayed' UNION ALL SELECT 'discarded') AS states;

CREATE TRIGGER dead_letter_inserted AFTER INSERT ON dead_letters BEGIN
  UPDATE dead_letter_counts SET count = count + 1 WHERE state = NEW.state;
END;

CREATE TRIGGER dead_letter_updated AFTER UPDATE OF state ON dead_letters BEGIN
  UPDATE dead_letter_counts SET count = count + (state = NEW.state) - (state = OLD.state) WHERE state IN (NEW.state, OLD.state);
END;

CREATE TRIGGER dead_letter_deleted AFTER DELETE ON dead_letters BEGIN
  UPDATE dead_letter_counts SET count = count - 1 WHERE state = OLD.state;
END;

-- The state of every alarm, and its changes until the webhook has confirmed them.
CREATE TABLE alarms (
  name TEXT PRIMARY KEY,
  state TEXT NOT NULL,
  since INTEGER NOT NULL
) WITHOUT ROWID;

CREATE TABLE alarm_changes (
  id TEXT PRIMARY KEY,
  body TEXT NOT NULL, -- JSON, as it is posted
  at INTEGER NOT NULL,
  claimed_until INTEGER NOT NULL, -- who claimed it is posting it
  sent_at INTEGER NOT NULL
) WITHOUT ROWID;

CREATE INDEX alarm_changes_unsent ON alarm_changes (at) WHERE sent_at = 0;
