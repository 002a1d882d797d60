-- Since when the value of a firing alarm has been well below its limit; 0 while it is not. An alarm ends only after ten
-- minutes of that.
ALTER TABLE alarms ADD COLUMN calm_since INTEGER NOT NULL DEFAULT 0;
