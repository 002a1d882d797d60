-- How many files and domains of a partition failed with an error, counted by triggers: a status by error
-- then reads a few rows a partition, however many failed.

CREATE TABLE error_counts (
  partition INTEGER NOT NULL,
  error_type TEXT NOT NULL, -- '' when it is not known
  files INTEGER NOT NULL,
  domains INTEGER NOT NULL,
  PRIMARY KEY (partition, error_type)
) WITHOUT ROWID;

INSERT INTO error_counts (partition, error_type, files, domains)
  SELECT partition, error_type, sum(files), sum(domains) FROM (
    SELECT partition, ifnull(error_type, '') AS error_type, 1 AS files, 0 AS domains FROM files WHERE state = 'failed'
    UNION ALL SELECT partition, ifnull(error_type, ''), 0, 1 FROM domains WHERE state = 'failed')
  GROUP BY partition, error_type;

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

CREATE TRIGGER domain_error_inserted AFTER INSERT ON domains WHEN NEW.state = 'failed' BEGIN
  INSERT INTO error_counts (partition, error_type, files, domains) VALUES (NEW.partition, ifnull(NEW.error_type, ''), 0, 1)
    ON CONFLICT DO UPDATE SET domains = domains + 1;
END;

CREATE TRIGGER domain_error_updated AFTER UPDATE ON domains
WHEN (NEW.state, NEW.error_type) IS NOT (OLD.state, OLD.error_type) AND 'failed' IN (NEW.state, OLD.state) BEGIN
  UPDATE error_counts SET domains = domains - 1
    WHERE OLD.state = 'failed' AND partition = OLD.partition AND error_type = ifnull(OLD.error_type, '');
  INSERT INTO error_counts (partition, error_type, files, domains)
    SELECT NEW.partition, ifnull(NEW.error_type, ''), 0, 1 WHERE NEW.state = 'failed'
    ON CONFLICT DO UPDATE SET domains = domains + 1;
END;

CREATE TRIGGER domain_error_deleted AFTER DELETE ON domains WHEN OLD.state = 'failed' BEGIN
  UPDATE error_counts SET domains = domains - 1 WHERE partition = OLD.partition AND error_type = ifnull(OLD.error_type, '');
END;

CREATE TRIGGER partition_deleted AFTER DELETE ON partitions BEGIN
  DELETE FROM error_counts WHERE partition = OLD.id;
END;
