-- Why the last post of the pending delivery failed; '' for none.
ALTER TABLE feed_delivery ADD COLUMN error TEXT NOT NULL DEFAULT '';
