-- What a receiver that refuses the content of deliveries leads to: smaller batches, and then skipped items.
ALTER TABLE feed_delivery ADD COLUMN batch INTEGER NOT NULL DEFAULT 0; -- most items of the next delivery; 0 for all
ALTER TABLE feed_delivery ADD COLUMN skip_debt INTEGER NOT NULL DEFAULT 0; -- see ledger.FeedDelivery
