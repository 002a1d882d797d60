-- The size of the largest shard of the frontier in bytes, for its alarm; null if the reading is incomplete.
ALTER TABLE frontier_readings ADD COLUMN largest_shard INTEGER;
