package ledger

import "github.com/newsfork/seed-engine/contract"

// Batches maintain the counts of partitions themselves, since triggers would write four rows per domain.
//
// A batch that queues domains first stores the counts of the named domains in partitions.counting, which disables the
// triggers. After the changes, it adds the differences.
//
// A batch that changes domains keeps what each row counted before in its column prior, a new value of which disables
// the triggers. After the changes, it adds the differences. Collections are counted by the minute, and by the hour in
// the partition's row: hours that are over, or that a batch reports late, are in the table hours.
const (
	namedQueued = queued +
		`, named AS MATERIALIZED (SELECT DISTINCT q.id AS partition, n.value AS domain FROM q
JOIN json_each(q.names) AS n)`

	// counted counts the named domains of each partition.
	counted = `(
  SELECT n.partition,
    count(iif(d.state = 'processed', 1, NULL)) AS processed, count(iif(d.state = 'failed', 1, NULL)) AS failed,
    count(iif(d.state = 'pending', 1, NULL)) AS pending, count(iif(d.state = 'excluded', 1, NULL)) AS excluded,
    ifnull(sum(iif(d.state = 'processed', d.robots, 0)), 0) AS robots, ifnull(sum(iif(d.state = 'processed', d.sitemap, 0)), 0) AS sitemaps,
    ifnull(sum(iif(d.state = 'processed', d.duration_ms, 0)), 0) AS duration_ms
  FROM named AS n LEFT JOIN domains AS d ON d.partition = n.partition AND d.domain = n.domain
GROUP BY n.partition) AS c`

	asArray = `json_array(c.processed, c.failed, c.pending, c.excluded, c.robots, c.sitemaps, c.duration_ms)`

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
  updated_at = CASE WHEN counting = ` + asArray + ` THEN updated_at ELSE ` + now + ` END,
  counting = NULL
FROM ` + counted + ` WHERE id = c.partition`

	// priorOf is the next value of a domain's column prior.
	priorOf = `json_array(ifnull(prior->>0, 0) + 1, state, robots, sitemap, duration_ms, barrier, collected_at)`

	// changed selects the domains in the parameter of changeDomains, after it. took is the time of a collection.
	changed = `WITH changed AS MATERIALIZED (
  SELECT p.id AS partition, p.hour AS latest, d.state, d.robots, d.sitemap, d.duration_ms, d.barrier,
prior->>1 AS was, prior->>2 AS robots_was, prior->>3 AS sitemap_was, prior->>4 AS duration_ms_was,
prior->>5 AS barrier_was,
value->>'collected_at' > ifnull(prior->>6, 0) AS finished, value->>'collected_at' AS at,
value->>'collected_at' / 3600000 AS hour, value->>'reachable' AS reachable, value->>'duration_ms' AS took
  FROM json_each(?1) JOIN partitions AS p ON p.country = value->>'country' AND p.category = value->>'category'
AND p.date = value->>'date' JOIN domains AS d ON d.partition = p.id AND d.domain = value->>'domain')
`
	finishedSums = `sum(reachable) AS domains_processed, sum(NOT reachable) AS domains_failed,
sum(reachable * took) AS duration_ms`

	addFinished = `ON CONFLICT DO UPDATE SET domains_processed = domains_processed + excluded.domains_processed,
domains_failed = domains_failed + excluded.domains_failed, duration_ms = duration_ms + excluded.duration_ms`

	countMinutes = changed + `INSERT INTO minutes (minute, domains_processed, domains_failed, duration_ms)
SELECT at / 60000 AS minute, ` + finishedSums + ` FROM changed WHERE finished GROUP BY minute
` + addFinished

	// countHours stores the hours of partitions in which a newer one begins, and counts what belongs to earlier hours.
	countHours = changed + `, newest AS MATERIALIZED (
  SELECT partition, latest, max(hour) AS hour FROM changed WHERE finished GROUP BY partition)
INSERT INTO hours (hour, partition, domains_processed, domains_failed, duration_ms)
SELECT hour, partition, sum(domains_processed), sum(domains_failed), sum(duration_ms) FROM (
  SELECT p.hour, p.id AS partition, p.hour_processed AS domains_processed, p.hour_failed AS domains_failed,
p.hour_duration_ms AS duration_ms
  FROM newest AS n JOIN partitions AS p ON p.id = n.partition WHERE n.hour > p.hour AND p.hour > 0
  UNION ALL SELECT c.hour, c.partition, ` + finishedSums + `
  FROM changed AS c JOIN newest AS n ON n.partition = c.partition
  WHERE finished AND c.hour < max(n.hour, n.latest) GROUP BY c.hour, c.partition)
WHERE true GROUP BY hour, partition
` + addFinished

	// countPartitions is the last statement: the others need the partition's hour as it was.
	countPartitions = changed + `UPDATE partitions SET
  domains_processed = domains_processed + c.processed, domains_failed = domains_failed + c.failed,
  domains_pending = domains_pending + c.pending, domains_excluded = domains_excluded + c.excluded,
  robots_found = robots_found + c.robots, sitemaps_found = sitemaps_found + c.sitemaps,
  domains_duration_ms = domains_duration_ms + c.duration_ms, domains_forbidden = domains_forbidden + c.forbidden,
  domains_refusing = domains_refusing + c.refusing, domains_empty = domains_empty + c.empty,
  hour = max(hour, c.newest),
  hour_processed = iif(c.newest > hour, 0, hour_processed) + c.newly_processed,
  hour_failed = iif(c.newest > hour, 0, hour_failed) + c.newly_failed,
  hour_duration_ms = iif(c.newest > hour, 0, hour_duration_ms) + c.newly_duration_ms,
  updated_at = ` + now + `
FROM (
  SELECT x.partition,
    sum((state = 'processed') - (was IS 'processed')) AS processed, sum((state = 'failed') - (was IS 'failed')) AS failed,
    sum((state = 'pending') - (was IS 'pending')) AS pending, sum((state = 'excluded') - (was IS 'excluded')) AS excluded,
    sum(iif(state = 'processed', ifnull(robots, 0), 0) - iif(was = 'processed', ifnull(robots_was, 0), 0)) AS robots,
    sum(iif(state = 'processed', ifnull(sitemap, 0), 0) - iif(was = 'processed', ifnull(sitemap_was, 0), 0)) AS sitemaps,
    sum(iif(state = 'processed', ifnull(duration_ms, 0), 0) - iif(was = 'processed', ifnull(duration_ms_was, 0), 0)) AS duration_ms,
    sum((barrier IS 1) - (barrier_was IS 1)) AS forbidden, sum((barrier IS 2) - (barrier_was IS 2)) AS refusing,
    sum((barrier IS 3) - (barrier_was IS 3)) AS empty,
    sum(finished) AS finished, n.newest,
    sum(finished AND x.hour = n.counts AND reachable) AS newly_processed,
    sum(finished AND x.hour = n.counts AND NOT reachable) AS newly_failed,
    sum(iif(finished AND x.hour = n.counts, reachable * took, 0)) AS newly_duration_ms
  FROM changed AS x JOIN (
    SELECT partition, max(iif(finished, hour, 0)) AS newest, max(latest, max(iif(finished, hour, 0))) AS counts
    FROM changed GROUP BY partition) AS n ON n.partition = x.partition
  GROUP BY x.partition) AS c
WHERE id = c.partition AND (c.finished, c.processed, c.failed, c.pending, c.excluded, c.robots, c.sitemaps, c.duration_ms,
c.forbidden, c.refusing, c.empty) <> (0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0)`
)

// queuePieces is pieces for queueDomains, enclosed in the statements that count.
func queuePieces(list []queuedRow) (all []Statement) {
	for _, piece := range pieces("", list) {
		for _, sql := range []string{namedQueued + beginCount, queueDomains, namedQueued + endCount} {
			all = append(all, Statement{sql, piece.Args})
		}
	}
	return all
}

// domainPieces is pieces for changeDomains with the statements that count. No piece has a domain twice, since prior
// is of one change.
func domainPieces(list []domainRow) (all []Statement) {
	for len(list) > 0 {
		var once, again []domainRow
		seen := map[contract.DomainDir]bool{}
		for _, r := range list {
			if dir := (contract.DomainDir{Partition: r.Partition, Domain: r.Domain}); seen[dir] {
				again = append(again, r)
			} else {
				seen[dir], once = true, append(once, r)
			}
		}
		for _, piece := range pieces("", once) {
			for _, sql := range []string{changeDomains, countMinutes, countHours, countPartitions} {
				all = append(all, Statement{sql, piece.Args})
			}
		}
		list = again
	}
	return all
}
