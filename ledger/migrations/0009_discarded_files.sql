-- A raw file may be discarded or replaced by operators, and says how many of its records were rejected. The state
-- depends on that, and a generated column cannot be changed: the table is built once more, with the triggers of 0002 and 0003.

ALTER TABLE partitions ADD COLUMN files_discarded INTEGER NOT NULL DEFAULT 0;
ALTER TABLE partitions ADD COLUMN records INTEGER NOT NULL DEFAULT 0; -- of the processed files, as the next one
ALTER TABLE partitions ADD COLUMN records_rejected INTEGER NOT NULL DEFAULT 0;

CREATE TABLE files_now (
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
  replaced_at INTEGER NOT NULL DEFAULT 0, -- what was before then is about another file of the name
  discarded_at INTEGER NOT NULL DEFAULT 0, -- when an operator discarded its dead letter
  records INTEGER NOT NULL DEFAULT 0, -- when it was processed, as the next one
  rejected INTEGER NOT NULL DEFAULT 0,
  rejections TEXT, -- the first of them, a JSON array
  state TEXT NOT NULL GENERATED ALWAYS AS (CASE
    WHEN processed_at > 0 AND processed_at >= replaced_at AND met_at >= needed_at THEN 'processed'
    WHEN discarded_at > 0 AND discarded_at >= replaced_at AND discarded_at >= queued_at THEN 'discarded'
    WHEN gave_up_at > 0 AND gave_up_at >= replaced_at AND gave_up_at >= queued_at THEN 'failed'
    ELSE 'pending' END) STORED,
  PRIMARY KEY (partition, name)
) WITHOUT ROWID;

INSERT INTO files_now (partition, name, queued_at, needed_at, processed_at, met_at, gave_up_at, duration_ms, error_type, error_message)
  SELECT partition, name, queued_at, needed_at, processed_at, met_at, gave_up_at, duration_ms, error_type, error_message FROM files;

DROP TRIGGER file_inserted;
DROP TRIGGER file_updated;
DROP TRIGGER file_deleted;
DROP TRIGGER file_processed_first;
DROP TRIGGER file_processed;
DROP TRIGGER file_given_up_first;
DROP TRIGGER file_given_up;
DROP TRIGGER file_error_inserted;
DROP TRIGGER file_error_updated;
DROP TRIGGER file_error_deleted;
DROP TABLE files;
ALTER TABLE files_now RENAME TO files;

CREATE INDEX files_failed ON files (error_type) WHERE state = 'failed';
CREATE INDEX files_rejected ON files (partition, name) WHERE rejected > 0;

CREATE TRIGGER file_inserted AFTER INSERT ON files BEGIN
  UPDATE partitions SET
    files_processed = files_processed + (NEW.state = 'processed'),
    files_failed = files_failed + (NEW.state = 'failed'),
    files_pending = files_pending + (NEW.state = 'pending'),
    files_discarded = files_discarded + (NEW.state = 'discarded'),
    files_timed = files_timed + (NEW.state = 'processed' AND NEW.duration_ms IS NOT NULL),
    files_duration_ms = files_duration_ms + iif(NEW.state = 'processed', ifnull(NEW.duration_ms, 0), 0),
    records = records + NEW.records,
    records_rejected = records_rejected + NEW.rejected,
    updated_at = CAST(unixepoch('subsec') * 1000 AS INTEGER)
  WHERE id = NEW.partition;
END;

CREATE TRIGGER file_updated AFTER UPDATE ON files
WHEN (NEW.state, NEW.duration_ms, NEW.records, NEW.rejected) IS NOT (OLD.state, OLD.duration_ms, OLD.records, OLD.rejected) BEGIN
  UPDATE partitions SET
    files_processed = files_processed + (NEW.state = 'processed') - (OLD.state = 'processed'),
    files_failed = files_failed + (NEW.state = 'failed') - (OLD.state = 'failed'),
    files_pending = files_pending + (NEW.state = 'pending') - (OLD.state = 'pending'),
    files_discarded = files_discarded + (NEW.state = 'discarded') - (OLD.state = 'discarded'),
    files_timed = files_timed + (NEW.state = 'processed' AND NEW.duration_ms IS NOT NULL) - (OLD.state = 'processed' AND OLD.duration_ms IS NOT NULL),
    files_duration_ms = files_duration_ms + iif(NEW.state = 'processed', ifnull(NEW.duration_ms, 0), 0) - iif(OLD.state = 'processed', ifnull(OLD.duration_ms, 0), 0),
    records = records + NEW.records - OLD.records,
    records_rejected = records_rejected + NEW.rejected - OLD.rejected,
    updated_at = CAST(unixepoch('subsec') * 1000 AS INTEGER)
  WHERE id = NEW.partition;
END;

CREATE TRIGGER file_deleted AFTER DELETE ON files BEGIN
  UPDATE partitions SET
    files_processed = files_processed - (OLD.state = 'processed'),
    files_failed = files_failed - (OLD.state = 'failed'),
    files_pending = files_pending - (OLD.state = 'pending'),
    files_discarded = files_discarded - (OLD.state = 'discarded'),
    files_timed = files_timed - (OLD.state = 'processed' AND OLD.duration_ms IS NOT NULL),
    files_duration_ms = files_duration_ms - iif(OLD.state = 'processed', ifnull(OLD.duration_ms, 0), 0),
    records = records - OLD.records,
    records_rejected = records_rejected - OLD.rejected
  WHERE id = OLD.partition;
END;

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

CREATE TRIGGER file_error_inserted AFTER INSERT ON files WHEN NEW.state = 'failed' BEGIN
  INSERT INTO error_counts (partition, error_type, files, domains) VALUES (NEW.partition, ifnull(NEW.error_type, ''), 1, 0)
    ON CONFLICT DO UPDATE SET files = files + 1;
END;

CREATE TRIGGER file_error_updated AFTER UPDATE ON files
WHEN (NEW.state, NEW.error_type) IS NOT (OLD.state, OLD.error_type) AND 'failed' IN (NEW.state, OLD.state) BEGIN
  UPDATE error_counts SET files = files - 1
    WHERE OLD.state = 'failed' AND partition = OLD.partition AND error_type = ifnull(OLD.error_type, '');
  INSERT INTO error_counts (partition, error_type, files, domains)
    SELECT NEW.partition, ifnull(NEW.error_type, ''), 1, 0 WHERE NEW.state = 'failed'
    ON CONFLICT DO UPDATE SET files = files + 1;
END;

CREATE TRIGGER file_error_deleted AFTER DELETE ON files WHEN OLD.state = 'failed' BEGIN
  UPDATE error_counts SET files = files - 1 WHERE partition = OLD.partition AND error_type = ifnull(OLD.error_type, '');
END;
