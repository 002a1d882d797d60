-- How far the feed was delivered to FEED_WEBHOOK_URL: one row, or none before the first delivery.

CREATE TABLE feed_delivery (
  id INTEGER PRIMARY KEY CHECK (id = 1),
  version INTEGER NOT NULL, -- grows with every change: of two runs that read the same one, one may write
  cursor TEXT NOT NULL, -- up to which it was delivered
  pending TEXT NOT NULL, -- up to which the delivery goes that was begun and not confirmed; '' for none
  failures INTEGER NOT NULL, -- in a row
  next_at INTEGER NOT NULL, -- when it may be tried again, in milliseconds
  failing_since INTEGER NOT NULL -- in milliseconds; 0 for not at all
);
