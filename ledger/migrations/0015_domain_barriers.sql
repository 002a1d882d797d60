-- Why the last collection of a domain found nothing that may be fetched: 1 robots.txt forbids it, 2 the site refuses, 3
-- there is nothing; 0 it found something, null it was not asked. Partitions count the domains of each, in any state:
-- versions before this one change states, and leave the barrier.
ALTER TABLE domains ADD COLUMN barrier INTEGER;
ALTER TABLE partitions ADD COLUMN domains_forbidden INTEGER NOT NULL DEFAULT 0;
ALTER TABLE partitions ADD COLUMN domains_refusing INTEGER NOT NULL DEFAULT 0;
ALTER TABLE partitions ADD COLUMN domains_empty INTEGER NOT NULL DEFAULT 0;

-- Costs a row more for such a domain alone.
CREATE INDEX domains_by_barrier ON domains (barrier, partition, domain) WHERE barrier > 0;

CREATE TRIGGER domain_barrier_inserted AFTER INSERT ON domains
WHEN NEW.barrier > 0 AND (SELECT counting FROM partitions WHERE id = NEW.partition) IS NULL BEGIN
  UPDATE partitions SET
    domains_forbidden = domains_forbidden + (NEW.barrier = 1),
    domains_refusing = domains_refusing + (NEW.barrier = 2),
    domains_empty = domains_empty + (NEW.barrier = 3)
  WHERE id = NEW.partition;
END;

CREATE TRIGGER domain_barrier_updated AFTER UPDATE OF barrier ON domains
WHEN ifnull(NEW.barrier, 0) <> ifnull(OLD.barrier, 0)
AND (SELECT counting FROM partitions WHERE id = NEW.partition) IS NULL BEGIN
  UPDATE partitions SET
    domains_forbidden = domains_forbidden + (NEW.barrier IS 1) - (OLD.barrier IS 1),
    domains_refusing = domains_refusing + (NEW.barrier IS 2) - (OLD.barrier IS 2),
    domains_empty = domains_empty + (NEW.barrier IS 3) - (OLD.barrier IS 3)
  WHERE id = NEW.partition;
END;

CREATE TRIGGER domain_barrier_deleted AFTER DELETE ON domains WHEN OLD.barrier > 0 BEGIN
  UPDATE partitions SET
    domains_forbidden = domains_forbidden - (OLD.barrier = 1),
    domains_refusing = domains_refusing - (OLD.barrier = 2),
    domains_empty = domains_empty - (OLD.barrier = 3)
  WHERE id = OLD.partition;
END;
