-- Damaged rows in the quarantines of the frontier's shards, for their alarm; null if the reading is incomplete.
ALTER TABLE frontier_readings ADD COLUMN quarantined INTEGER;
