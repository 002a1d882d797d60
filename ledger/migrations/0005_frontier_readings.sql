-- What the cron reads of the frontier's shards every few minutes, for the alarms.

CREATE TABLE frontier_readings (
  minute INTEGER PRIMARY KEY, -- since 1970
  oldest_entry INTEGER NOT NULL, -- since when the entry point that is due longest waits, in milliseconds; 0 for none
  answers INTEGER, -- reported to all shards since the beginning; null where one of them did not answer
  faults INTEGER -- of these
);
