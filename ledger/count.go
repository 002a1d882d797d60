package ledger

// A batch that changes domains maintains the counts of their partitions itself. It first stores the counts of the
// named domains in partitions.counting, which disables the triggers. After the changes, it adds the differences. That
// writes two rows per partition, where the triggers write four per domain.
const (
	// namedDomains selects the domains in the parameter of changeDomains, namedQueued those of queueDomains.
	namedDomains = `WITH named AS MATERIALIZED (
  SELECT DISTINCT p.id AS partition, value->>'domain' AS domain
  FROM json_each(?1) JOIN partitions AS p ON p.country = value->>'country' AND p.category = value->>'category'
AND p.date = value->>'date')`

	namedQueued = queued +
		`, named AS MATERIALIZED (SELECT DISTINCT q.id AS partition, n.value AS domain FROM q
JOIN json_each(q.names) AS n)`

	// counted counts the named domains of each partition.
	counted = `(
  SELECT n.partition,
    count(iif(d.state = 'processed', 1, NULL)) AS processed, count(iif(d.state = 'failed', 1, NULL)) AS failed,
    count(iif(d.state = 'pending', 1, NULL)) AS pending, count(iif(d.state = 'excluded', 1, NULL)) AS excluded,
    ifnull(sum(iif(d.state = 'processed', d.robots, 0)), 0) AS robots, ifnull(sum(iif(d.state = 'processed', d.sitemap, 0)), 0) AS sitemaps,
    ifnull(sum(iif(d.state = 'processed', d.duration_ms, 0)), 0) AS duration_ms,
    count(iif(d.barrier = 1, 1, NULL)) AS forbidden, count(iif(d.barrier = 2, 1, NULL)) AS refusing,
    count(iif(d.barrier = 3, 1, NULL)) AS empty
  FROM named AS n LEFT JOIN domains AS d ON d.partition = n.partition AND d.domain = n.domain
GROUP BY n.partition) AS c`

	asArray = `json_array(c.processed, c.failed, c.pending, c.excluded, c.robots, c.sitemaps, c.duration_ms,
c.forbidden, c.refusing, c.empty)`

	beginCount = `
UPDATE partitions SET counting = ` + asArray + ` FROM ` + counted + ` WHERE id = c.partition`

	endCount = `
UPDATE partitions SET
  domains_processed = domains_processed + c.processed - (counting->>0),
  domains_failed = domains_failed + c.failed - (counting->>1),
  domains_pending = domains_pending + c.pending - (counting->>2),
  domains_excluded = domains_excluded + c.excluded - (counting->>3),
  robots_found = robots_found + c.robots - (counting->>4),
  sitemaps_found = sitemaps_found + c.sitemaps - (counting->>5),
  domains_duration_ms = domains_duration_ms + c.duration_ms - (counting->>6),
  domains_forbidden = domains_forbidden + c.forbidden - (counting->>7),
  domains_refusing = domains_refusing + c.refusing - (counting->>8),
  domains_empty = domains_empty + c.empty - (counting->>9),
  updated_at = CASE WHEN counting = ` + asArray + ` THEN updated_at ELSE ` + now + ` END,
  counting = NULL
FROM ` + counted + ` WHERE id = c.partition`

	// finishDomains counts new collections by the minute.
	finishDomains = `INSERT INTO finished (at, partition, files_processed, files_failed, domains_processed,
domains_failed, duration_ms)
SELECT collected_at, partition, 0, 0, sum(reachable), sum(NOT reachable), sum(reachable * duration_ms)
FROM (
  SELECT p.id AS partition, value->>'domain' AS domain, value->>'collected_at' AS collected_at,
value->>'reachable' AS reachable, value->>'duration_ms' AS duration_ms
  FROM json_each(?1) JOIN partitions AS p ON p.country = value->>'country' AND p.category = value->>'category'
AND p.date = value->>'date'
  LEFT JOIN domains AS d ON d.partition = p.id AND d.domain = value->>'domain'
  WHERE value->>'collected_at' > ifnull(d.collected_at, 0)
  GROUP BY p.id, value->>'domain', value->>'collected_at')
GROUP BY partition, collected_at / 60000`
)

// countedPieces is like pieces for statements that change domains, and encloses them in those that count.
func countedPieces[Row any](named string, statements []string, list []Row) (all []Statement) {
	statements = append(append([]string{named + beginCount}, statements...), named+endCount)
	for _, piece := range pieces("", list) {
		for _, sql := range statements {
			all = append(all, Statement{sql, piece.Args})
		}
	}
	return all
}
