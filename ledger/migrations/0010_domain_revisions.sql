-- Which revision of its document a domain is at, and since when, for the list of domains. Without an index, which would
-- cost a row more for every domain.
ALTER TABLE domains ADD COLUMN revision INTEGER NOT NULL DEFAULT 0; -- 0: not known
ALTER TABLE domains ADD COLUMN changed_at INTEGER NOT NULL DEFAULT 0;
