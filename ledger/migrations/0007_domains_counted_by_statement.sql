-- Rows written are the price, and an entry of an index is one more. What a batch changes of domains is now counted
-- once for all of them, by its statements (ledger/count.go); the triggers count what other writers change.
--
-- In the minutes of a deploy the version before finds its lists of processed and of pending domains without the index
-- that it names.

-- Within a batch that counts for itself, what its domains counted before it, as a JSON array; else null.
ALTER TABLE partitions ADD COLUMN counting TEXT;

DROP TRIGGER domain_inserted;
DROP TRIGGER domain_updated;
DROP TRIGGER domain_collected_first;
DROP TRIGGER domain_collected;

CREATE TRIGGER domain_inserted AFTER INSERT ON domains
WHEN (SELECT counting FROM partitions WHERE id = NEW.partition) IS NULL BEGIN
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
AND (SELECT counting FROM partitions WHERE id = NEW.partition) IS NULL BEGIN
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
WHEN NEW.collected_at > 0 AND (SELECT counting FROM partitions WHERE id = NEW.partition) IS NULL BEGIN
  INSERT INTO finished VALUES (NEW.collected_at, NEW.partition, 0, 0, NEW.reachable, NOT NEW.reachable, NEW.reachable * NEW.duration_ms);
END;

CREATE TRIGGER domain_collected AFTER UPDATE ON domains
WHEN NEW.collected_at <> OLD.collected_at AND (SELECT counting FROM partitions WHERE id = NEW.partition) IS NULL BEGIN
  INSERT INTO finished VALUES (NEW.collected_at, NEW.partition, 0, 0, NEW.reachable, NOT NEW.reachable, NEW.reachable * NEW.duration_ms);
END;

-- Every domain is pending once, and most are processed then: lists of these follow the table's own order, those of
-- pending ones in the partitions that have any.
DROP INDEX domains_by_state;
CREATE INDEX domains_by_state ON domains (state, partition, domain) WHERE state = 'failed' OR state = 'excluded';

-- A domain is looked up in each partition.
DROP INDEX domains_by_name;
