-- How much of the day's refreshes is used up, for the alarm before the ceiling.

ALTER TABLE frontier_readings ADD COLUMN used INTEGER NOT NULL DEFAULT 0; -- in thousandths
