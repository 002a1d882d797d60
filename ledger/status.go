package ledger

import (
	"cmp"
	"context"
	"math"
	"slices"
	"time"

	"github.com/tidwall/gjson"

	"github.com/newsfork/seed-engine/contract"
	"github.com/newsfork/seed-engine/epoch"
)

// StatusQuery selects what Status reads.
type StatusQuery struct {
	Filter      contract.Filter
	Now         time.Time
	ByPartition bool
	ByError     bool
	TrendHours  int
	Windows     []int // of the AlarmReading, in minutes up to Now
}

const (
	partitionSums = `total(p.files_processed) AS files_processed, total(p.files_failed) AS files_failed,
total(p.files_pending) AS files_pending,
  total(p.files_discarded) AS files_discarded, total(p.records) AS records,
total(p.records_rejected) AS records_rejected,
  total(p.files_timed) AS files_timed, total(p.files_duration_ms) AS files_duration_ms,
  total(p.domains_processed) AS domains_processed, total(p.domains_failed) AS domains_failed,
total(p.domains_pending) AS domains_pending,
  total(p.domains_excluded) AS domains_excluded, total(p.robots_found) AS robots_found,
total(p.sitemaps_found) AS sitemaps_found,
  total(p.domains_duration_ms) AS domains_duration_ms, total(p.domains_forbidden) AS domains_forbidden,
  total(p.domains_refusing) AS domains_refusing, total(p.domains_empty) AS domains_empty`
)

// counts is a row of partitionSums.
type counts struct {
	contract.Partition
	FilesProcessed    float64
	FilesFailed       float64
	FilesPending      float64
	FilesDiscarded    float64
	Records           float64
	RecordsRejected   float64
	FilesTimed        float64
	FilesDurationMS   float64
	DomainsProcessed  float64
	DomainsFailed     float64
	DomainsPending    float64
	DomainsExcluded   float64
	RobotsFound       float64
	SitemapsFound     float64
	DomainsDurationMS float64
	DomainsForbidden  float64
	DomainsRefusing   float64
	DomainsEmpty      float64
	UpdatedAt         epoch.Millis
}

func (c *counts) set(column string, v gjson.Result) {
	switch column {
	case "country":
		c.Country = v.Str
	case "category":
		c.Category = v.Str
	case "date":
		c.Date = v.Str
	case "files_processed":
		c.FilesProcessed = v.Num
	case "files_failed":
		c.FilesFailed = v.Num
	case "files_pending":
		c.FilesPending = v.Num
	case "files_discarded":
		c.FilesDiscarded = v.Num
	case "records":
		c.Records = v.Num
	case "records_rejected":
		c.RecordsRejected = v.Num
	case "files_timed":
		c.FilesTimed = v.Num
	case "files_duration_ms":
		c.FilesDurationMS = v.Num
	case "domains_processed":
		c.DomainsProcessed = v.Num
	case "domains_failed":
		c.DomainsFailed = v.Num
	case "domains_pending":
		c.DomainsPending = v.Num
	case "domains_excluded":
		c.DomainsExcluded = v.Num
	case "robots_found":
		c.RobotsFound = v.Num
	case "sitemaps_found":
		c.SitemapsFound = v.Num
	case "domains_duration_ms":
		c.DomainsDurationMS = v.Num
	case "domains_forbidden":
		c.DomainsForbidden = v.Num
	case "domains_refusing":
		c.DomainsRefusing = v.Num
	case "domains_empty":
		c.DomainsEmpty = v.Num
	case "updated_at":
		c.UpdatedAt = epoch.Millis(v.Int())
	}
}

func (c *counts) stats() contract.Stats {
	s := contract.Stats{
		Processing: contract.ProcessingStats{
			FilesTotal:     int64(c.FilesProcessed + c.FilesFailed + c.FilesPending),
			FilesProcessed: int64(c.FilesProcessed), FilesFailed: int64(c.FilesFailed),
			FilesPending:     int64(c.FilesPending),
			DomainsTotal:     int64(c.DomainsProcessed + c.DomainsFailed + c.DomainsPending),
			DomainsProcessed: int64(c.DomainsProcessed), DomainsFailed: int64(c.DomainsFailed),
			DomainsPending: int64(c.DomainsPending),
		},
		Collection: contract.CollectionStats{
			RobotsFound: int64(c.RobotsFound), SitemapFound: int64(c.SitemapsFound),
			AvgProcessingMS: average(c.DomainsDurationMS, c.DomainsProcessed),
		},
		Excluded: int64(c.DomainsExcluded),
		Barred: contract.BarrierCounts{Forbidden: int64(c.DomainsForbidden), Refuses: int64(c.DomainsRefusing),
			Empty: int64(c.DomainsEmpty)},
		Discarded: int64(c.FilesDiscarded),
		Records:   int64(c.Records), RecordsRejected: int64(c.RecordsRejected),
		AvgFileMS: average(c.FilesDurationMS, c.FilesTimed),
	}
	if n := float64(s.Processing.DomainsTotal); n > 0 {
		s.Collection.RobotsRate, s.Collection.SitemapRate = rate(c.RobotsFound/n), rate(c.SitemapsFound/n)
	}
	return s
}

// rate rounds to the two decimals of the workflow document.
func rate(v float64) float64 { return math.Round(v*100) / 100 }

func average(sum, n float64) int64 {
	if n == 0 {
		return 0
	}
	return int64(math.Round(sum / n))
}

// Status is the state of the pipeline.
type Status struct {
	contract.Stats
	AlarmReading
	Refused    *contract.AlarmsRefused // what the webhook of alarms does not take
	FilesTimed int64                   // processed files whose duration was measured
	Partitions []contract.PartitionStats
	Errors     []contract.ErrorCount
	Trend      []contract.TrendHour
	Rejections []contract.FileRejection
}

// Status reads the numbers of the partitions that the filter selects.
func (l *Ledger) Status(ctx context.Context, q StatusQuery) (*Status, error) {
	const op = "ledger.Status"
	s := &Status{Rejections: []contract.FileRejection{}}
	parts := q.parts(s)
	alarms := alarmStatements(q.Now, q.Windows)
	statements := append([]Statement{q.sums()}, alarms...)
	for _, p := range parts {
		statements = append(statements, p.statement)
	}
	results, err := l.batch(ctx, op, statements...)
	if err != nil {
		return nil, err
	}
	r := reader{op: op, results: results}
	for _, row := range readColumns[counts](&r, 0) {
		s.Stats = row.stats()
		s.FilesTimed = int64(row.FilesTimed)
	}
	s.AlarmReading = readAlarms(&r, 1, q.Now)
	for i, p := range parts {
		p.read(&r, 1+len(alarms)+i)
	}
	return s, r.err
}

// statusPart is an optional statement of a status. read decodes its result.
type statusPart struct {
	statement Statement
	read      func(r *reader, result int)
}

// parts returns the wanted parts, which fill s.
func (q *StatusQuery) parts(s *Status) (parts []statusPart) {
	if q.ByPartition {
		parts = append(parts, statusPart{q.byPartition(), func(r *reader, result int) {
			s.Partitions = []contract.PartitionStats{}
			for _, row := range readColumns[counts](r, result) {
				s.Partitions = append(s.Partitions, contract.PartitionStats{Partition: row.Partition,
					Stats: row.stats(), UpdatedAt: *contract.At(row.UpdatedAt.Time())})
			}
		}})
	}
	if q.ByError {
		parts = append(parts, statusPart{q.byError(), func(r *reader, result int) {
			s.Errors = readErrors(r, result)
		}})
	}
	if q.TrendHours > 0 {
		parts = append(parts, statusPart{q.byHour(), func(r *reader, result int) {
			s.Trend = readTrend(r, result, q.firstHour(), q.TrendHours)
		}})
	}
	parts = append(parts, statusPart{Statement{SQL: selectRefused}, func(r *reader, result int) {
		s.Refused = readRefused(r, result)
	}})
	return append(parts, statusPart{q.rejections(), func(r *reader, result int) {
		for _, row := range read[rejectionRow](r, result) {
			s.Rejections = append(s.Rejections, row.list()...)
		}
		s.Rejections = s.Rejections[:min(len(s.Rejections), contract.MaxRejections)]
	}})
}

// conditions returns those of the filter.
func (q *StatusQuery) conditions() (c conditions) {
	c.partition(q.Filter)
	return c
}

func (q *StatusQuery) sums() Statement {
	c := q.conditions()
	return Statement{`SELECT ` + partitionSums + ` FROM partitions AS p` + c.where(), c.args}
}

func (q *StatusQuery) byPartition() Statement {
	c := q.conditions()
	return Statement{`SELECT p.country, p.category, p.date, p.updated_at, ` + partitionSums + `
FROM partitions AS p` +
		c.where() + ` GROUP BY p.id ORDER BY p.date DESC, p.country, p.category LIMIT ?`,
		append(c.args, int64(contract.MaxPartitions))}
}

func (q *StatusQuery) byError() Statement {
	c := q.conditions()
	return Statement{`SELECT e.error_type, total(e.files) AS files, total(e.domains) AS domains
FROM partitions AS p JOIN error_counts AS e ON e.partition = p.id` + c.where() + `
GROUP BY e.error_type HAVING total(e.files) + total(e.domains) > 0`, c.args}
}

// firstHour returns the first hour of the trend, counted since 1970.
func (q *StatusQuery) firstHour() int64 {
	return q.Now.UnixMilli()/time.Hour.Milliseconds() - int64(q.TrendHours) + 1
}

func (q *StatusQuery) byHour() Statement {
	over, newest := q.conditions(), q.conditions()
	over.and("h.hour >= ?", q.firstHour())
	newest.and("p.hour >= ?", q.firstHour())
	return Statement{`SELECT hour, total(files_processed) AS files_processed, total(files_failed) AS files_failed,
total(domains_processed) AS domains_processed, total(domains_failed) AS domains_failed,
total(duration_ms) AS duration_ms
FROM (
  SELECT h.hour, h.files_processed, h.files_failed, h.domains_processed, h.domains_failed, h.duration_ms
  FROM hours AS h JOIN partitions AS p ON p.id = h.partition` + over.where() + `
  UNION ALL SELECT p.hour, 0, 0, p.hour_processed, p.hour_failed, p.hour_duration_ms FROM partitions AS p` +
		newest.where() + `)
GROUP BY hour`, append(over.args, newest.args...)}
}

func (q *StatusQuery) rejections() Statement {
	c := q.conditions()
	c.and("p.records_rejected > 0")
	c.and("f.rejected > 0")
	return Statement{`SELECT p.country, p.category, p.date, f.name, f.rejections
FROM partitions AS p CROSS JOIN files AS f INDEXED BY files_rejected ON f.partition = p.id` + c.where() + `
ORDER BY p.id DESC, f.name LIMIT ?`, append(c.args, int64(contract.MaxRejections))}
}

// readErrors decodes the counts by error type, most frequent first.
func readErrors(r *reader, result int) []contract.ErrorCount {
	list := []contract.ErrorCount{}
	for _, row := range read[errorCount](r, result) {
		list = append(list, contract.ErrorCount{ErrorType: row.ErrorType, Files: int64(row.Files),
			Domains: int64(row.Domains)})
	}
	slices.SortFunc(list, func(a, b contract.ErrorCount) int {
		return cmp.Or(cmp.Compare(b.Files+b.Domains, a.Files+a.Domains), cmp.Compare(a.ErrorType, b.ErrorType))
	})
	return list
}

// readTrend decodes n hours from first, counted since 1970. Hours without a row are zero.
func readTrend(r *reader, result int, first int64, n int) []contract.TrendHour {
	trend := make([]contract.TrendHour, n)
	for i := range trend {
		trend[i].Hour = contract.Time{Time: time.UnixMilli((first + int64(i)) * time.Hour.Milliseconds()).UTC()}
	}
	for _, row := range readColumns[windowRow](r, result) {
		if i := row.hour - first; i < int64(n) { // clocks that are ahead can count later hours
			h := &trend[i]
			h.FilesProcessed, h.FilesFailed = int64(row.FilesProcessed), int64(row.FilesFailed)
			h.DomainsProcessed, h.DomainsFailed = int64(row.DomainsProcessed), int64(row.DomainsFailed)
			h.AvgProcessingMS = average(row.DurationMS, row.DomainsProcessed)
		}
	}
	return trend
}

// rejectionRow is a raw file with rejected records.
type rejectionRow struct {
	contract.Partition
	Name       string `json:"name"`
	Rejections string `json:"rejections"`
}

func (row *rejectionRow) list() (list []contract.FileRejection) {
	for _, r := range contract.ParseRejections(row.Rejections) {
		list = append(list, contract.FileRejection{Partition: row.Partition, Chunk: row.Name, Rejection: r})
	}
	return list
}

type errorCount struct {
	ErrorType string  `json:"error_type"`
	Files     float64 `json:"files"`
	Domains   float64 `json:"domains"`
}
