-- A batch that changes domains wrote two rows of each partition, one of its hour and one of the minute. Now it writes one of
-- the partition and one of the minute: what it replaces of a domain is kept in the domain's row, and what is collected in a
-- partition's newest hour is counted in the partition's row, until a newer hour begins (ledger/count.go).
--
-- In the minutes of a deploy the trend of the version before lacks that hour.

-- What the row counted before the batch that wrote it last, as a JSON array that begins with the number of such batches;
-- null if there was none.
ALTER TABLE domains ADD COLUMN prior TEXT;

ALTER TABLE partitions ADD COLUMN hour INTEGER NOT NULL DEFAULT 0; -- since 1970
ALTER TABLE partitions ADD COLUMN hour_processed INTEGER NOT NULL DEFAULT 0; -- domains, as the next one
ALTER TABLE partitions ADD COLUMN hour_failed INTEGER NOT NULL DEFAULT 0;
ALTER TABLE partitions ADD COLUMN hour_duration_ms INTEGER NOT NULL DEFAULT 0; -- of the processed ones

-- The triggers count what others write, as before.
DROP TRIGGER domain_inserted;
DROP TRIGGER domain_updated;
DROP TRIGGER domain_collected_first;
DROP TRIGGER domain_collected;
DROP TRIGGER domain_barrier_inserted;
DROP TRIGGER domain_barrier_updated;

CREATE TRIGGER domain_inserted AFTER INSERT ON domains
WHEN NEW.prior IS NULL AND (SELECT counting FROM partitions WHERE id = NEW.partition) IS NULL BEGIN
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
WHEN (NEW.state, NEW.robots, NEW.sitemap, NEW.duration_ms) IS NOT (OLD.state, OLD.robots, OLD.sitemap, OLD.duration_ms)
AND NEW.prior IS OLD.prior AND (SELECT counting FROM partitions WHERE id = NEW.partition) IS NULL BEGIN
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

CREATE TRIGGER domain_collected_first AFTER INSERT ON domains
WHEN NEW.collected_at > 0 AND NEW.prior IS NULL AND (SELECT counting FROM partitions WHERE id = NEW.partition) IS NULL BEGIN
  INSERT INTO finished VALUES (NEW.collected_at, NEW.partition, 0, 0, NEW.reachable, NOT NEW.reachable, NEW.reachable * NEW.duration_ms);
END;

CREATE TRIGGER domain_collected AFTER UPDATE ON domains
WHEN NEW.collected_at <> OLD.collected_at AND NEW.prior IS OLD.prior AND (SELECT counting FROM partitions WHERE id = NEW.partition) IS NULL BEGIN
  INSERT INTO finished VALUES (NEW.collected_at, NEW.partition, 0, 0, NEW.reachable, NOT NEW.reachable, NEW.reachable * NEW.duration_ms);
END;

CREATE TRIGGER domain_barrier_inserted AFTER INSERT ON domains
WHEN NEW.barrier > 0 AND NEW.prior IS NULL AND (SELECT counting FROM partitions WHERE id = NEW.partition) IS NULL BEGIN
  UPDATE partitions SET
    domains_forbidden = domains_forbidden + (NEW.barrier = 1),
    domains_refusing = domains_refusing + (NEW.barrier = 2),
    domains_empty = domains_empty + (NEW.barrier = 3)
  WHERE id = NEW.partition;
END;

CREATE TRIGGER domain_barrier_updated AFTER UPDATE OF barrier ON domains
WHEN ifnull(NEW.barrier, 0) <> ifnull(OLD.barrier, 0)
AND NEW.prior IS OLD.prior AND (SELECT counting FROM partitions WHERE id = NEW.partition) IS NULL BEGIN
  UPDATE partitions SET
    domains_forbidden = domains_forbidden + (NEW.barrier IS 1) - (OLD.barrier IS 1),
    domains_refusing = domains_refusing + (NEW.barrier IS 2) - (OLD.barrier IS 2),
    domains_empty = domains_empty + (NEW.barrier IS 3) - (OLD.barrier IS 3)
  WHERE id = NEW.partition;
END;
