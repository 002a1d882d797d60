-- The size of the largest shard of the frontier in bytes, for its alarm: of those that answered.
ALTER TABLE frontier_readings ADD COLUMN largest_shard INTEGER;
