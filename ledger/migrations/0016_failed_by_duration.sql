-- The slowest domains include failed ones. Costs a row more for such a domain alone.
CREATE INDEX domains_failed_by_duration ON domains (duration_ms DESC, partition, domain)
WHERE state = 'failed' AND duration_ms IS NOT NULL;
