-- Of a change that the webhook of alarms did not take: how often it was posted, since when, and why the last post failed.
ALTER TABLE alarm_changes ADD COLUMN attempts INTEGER NOT NULL DEFAULT 0;
ALTER TABLE alarm_changes ADD COLUMN failing_since INTEGER NOT NULL DEFAULT 0;
ALTER TABLE alarm_changes ADD COLUMN error TEXT NOT NULL DEFAULT '';
