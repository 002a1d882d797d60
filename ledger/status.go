package ledger

import (
	"cmp"
	"context"
	"encoding/base64"
	"encoding/json"
	"math"
	"slices"
	"strings"
	"time"

	"github.com/newsfork/seed-engine/contract"
)

// conditions collects the WHERE clause of a query and its parameters.
type conditions struct {
	terms []string
	args  []any
}

// and adds a term in which ? stands for each of the values.
func (c *conditions) and(term string, values ...any) {
	c.terms = append(c.terms, term)
	c.args = append(c.args, values...)
}

// partition restricts the columns of partitions, which the query calls p.
func (c *conditions) partition(f contract.Filter) {
	for column, v := range map[string]string{"p.country": f.Country, "p.category": f.Category, "p.date": f.Date} {
		if v != "" {
			c.and(column+" = ?", v)
		}
	}
}

func (c *conditions) where() string {
	if len(c.terms) == 0 {
		return ""
	}
	return " WHERE " + strings.Join(c.terms, " AND ")
}

// StatusQuery says what Status is to tell.
type StatusQuery struct {
	Filter      contract.Filter
	Now         time.Time
	ByPartition bool
	ByError     bool
	TrendHours  int
	Windows     []int // of the AlarmReading, in minutes up to Now
}

const (
	partitionSums = `total(p.files_processed) AS files_processed, total(p.files_failed) AS files_failed, total(p.files_pending) AS files_pending,
  total(p.files_timed) AS files_timed, total(p.files_duration_ms) AS files_duration_ms,
  total(p.domains_processed) AS domains_processed, total(p.domains_failed) AS domains_failed, total(p.domains_pending) AS domains_pending,
  total(p.domains_excluded) AS domains_excluded, total(p.robots_found) AS robots_found, total(p.sitemaps_found) AS sitemaps_found,
  total(p.domains_duration_ms) AS domains_duration_ms`
)

// counts is a row of partitionSums.
type counts struct {
	contract.Partition
	FilesProcessed    float64 `json:"files_processed"`
	FilesFailed       float64 `json:"files_failed"`
	FilesPending      float64 `json:"files_pending"`
	FilesTimed        float64 `json:"files_timed"`
	FilesDurationMS   float64 `json:"files_duration_ms"`
	DomainsProcessed  float64 `json:"domains_processed"`
	DomainsFailed     float64 `json:"domains_failed"`
	DomainsPending    float64 `json:"domains_pending"`
	DomainsExcluded   float64 `json:"domains_excluded"`
	RobotsFound       float64 `json:"robots_found"`
	SitemapsFound     float64 `json:"sitemaps_found"`
	DomainsDurationMS float64 `json:"domains_duration_ms"`
	UpdatedAt         int64   `json:"updated_at"`
}

func (c *counts) stats() contract.Stats {
	s := contract.Stats{
		Processing: contract.ProcessingStats{
			FilesTotal:     int64(c.FilesProcessed + c.FilesFailed + c.FilesPending),
			FilesProcessed: int64(c.FilesProcessed), FilesFailed: int64(c.FilesFailed), FilesPending: int64(c.FilesPending),
			DomainsTotal:     int64(c.DomainsProcessed + c.DomainsFailed + c.DomainsPending),
			DomainsProcessed: int64(c.DomainsProcessed), DomainsFailed: int64(c.DomainsFailed), DomainsPending: int64(c.DomainsPending),
		},
		Collection: contract.CollectionStats{
			RobotsFound: int64(c.RobotsFound), SitemapFound: int64(c.SitemapsFound),
			AvgProcessingMS: average(c.DomainsDurationMS, c.DomainsProcessed),
		},
		Excluded: int64(c.DomainsExcluded),
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

// Status is what the ledger tells of the pipeline.
type Status struct {
	contract.Stats
	AlarmReading
	FilesTimed int64 // processed files whose duration is known
	AvgFileMS  int64 // of these
	Partitions []contract.PartitionStats
	Errors     []contract.ErrorCount
	Trend      []contract.TrendHour
}

// Status reads the numbers of the partitions that the filter selects.
func (l *Ledger) Status(ctx context.Context, q StatusQuery) (*Status, error) {
	const op = "ledger.Status"
	var c conditions
	c.partition(q.Filter)
	where := c.where()
	statements := append([]Statement{{SQL: `SELECT ` + partitionSums + ` FROM partitions AS p` + where, Args: c.args}},
		alarmStatements(q.Now, q.Windows)...)
	add := func(wanted bool, sql string, args ...any) (index int) {
		if !wanted {
			return -1
		}
		statements = append(statements, Statement{sql, args})
		return len(statements) - 1
	}
	byPartition := add(q.ByPartition, `SELECT p.country, p.category, p.date, p.updated_at, `+partitionSums+
		` FROM partitions AS p`+where+` GROUP BY p.id ORDER BY p.date DESC, p.country, p.category LIMIT ?`, append(c.args[:len(c.args):len(c.args)], int64(contract.MaxPartitions))...)
	byError := add(q.ByError, `SELECT e.error_type, total(e.files) AS files, total(e.domains) AS domains
FROM partitions AS p JOIN error_counts AS e ON e.partition = p.id`+where+` GROUP BY e.error_type HAVING total(e.files) + total(e.domains) > 0`, c.args...)
	hour := q.Now.UnixMilli() / time.Hour.Milliseconds()
	first := hour - int64(q.TrendHours) + 1
	trend := c
	trend.and("h.hour >= ?", first)
	byHour := add(q.TrendHours > 0, `SELECT h.hour, total(h.files_processed) AS files_processed, total(h.files_failed) AS files_failed,
  total(h.domains_processed) AS domains_processed, total(h.domains_failed) AS domains_failed, total(h.duration_ms) AS duration_ms
FROM hours AS h JOIN partitions AS p ON p.id = h.partition`+trend.where()+` GROUP BY h.hour`, trend.args...)

	results, err := l.batch(ctx, op, statements...)
	if err != nil {
		return nil, err
	}
	s := &Status{}
	r := reader{op: op, results: results}
	for _, row := range read[counts](&r, 0) {
		s.Stats = row.stats()
		s.FilesTimed, s.AvgFileMS = int64(row.FilesTimed), average(row.FilesDurationMS, row.FilesTimed)
	}
	s.AlarmReading = readAlarms(&r, 1)
	if byPartition >= 0 {
		s.Partitions = []contract.PartitionStats{}
		for _, row := range read[counts](&r, byPartition) {
			s.Partitions = append(s.Partitions, contract.PartitionStats{Partition: row.Partition, Stats: row.stats(), UpdatedAt: *moment(row.UpdatedAt)})
		}
	}
	if byError >= 0 {
		s.Errors = []contract.ErrorCount{}
		for _, row := range read[errorCount](&r, byError) {
			s.Errors = append(s.Errors, contract.ErrorCount{ErrorType: row.ErrorType, Files: int64(row.Files), Domains: int64(row.Domains)})
		}
		slices.SortFunc(s.Errors, func(a, b contract.ErrorCount) int { // the most frequent first
			return cmp.Or(cmp.Compare(b.Files+b.Domains, a.Files+a.Domains), cmp.Compare(a.ErrorType, b.ErrorType))
		})
	}
	if byHour >= 0 {
		s.Trend = make([]contract.TrendHour, q.TrendHours)
		for i := range s.Trend {
			s.Trend[i].Hour = contract.Time{Time: time.UnixMilli((first + int64(i)) * time.Hour.Milliseconds()).UTC()}
		}
		for _, row := range read[hourRow](&r, byHour) {
			if i := row.Hour - first; i < int64(len(s.Trend)) { // a clock that is ahead may have counted beyond
				h := &s.Trend[i]
				h.FilesProcessed, h.FilesFailed = int64(row.FilesProcessed), int64(row.FilesFailed)
				h.DomainsProcessed, h.DomainsFailed = int64(row.DomainsProcessed), int64(row.DomainsFailed)
				h.AvgProcessingMS = average(row.DurationMS, row.DomainsProcessed)
			}
		}
	}
	return s, r.err
}

// reader decodes results and keeps the first error.
type reader struct {
	op      string
	results []Result
	err     error
}

func read[Row any](r *reader, i int) []Row {
	rows, err := decode[Row](r.op, r.results[i])
	if r.err == nil {
		r.err = err
	}
	return rows
}

type stateCount struct {
	State string `json:"state"`
	Count int64  `json:"count"`
}

func deadLetterCounts(rows []stateCount) (c contract.DeadLetterCounts) {
	for _, r := range rows {
		switch contract.DeadLetterState(r.State) {
		case contract.Stored:
			c.Stored = r.Count
		case contract.Replayed:
			c.Replayed = r.Count
		case contract.Discarded:
			c.Discarded = r.Count
		}
	}
	return c
}

type errorCount struct {
	ErrorType string  `json:"error_type"`
	Files     float64 `json:"files"`
	Domains   float64 `json:"domains"`
}

type hourRow struct {
	Hour int64 `json:"hour"`
	Window
}

// DomainQuery selects domains of the ledger. Zero fields match all.
type DomainQuery struct {
	Filter       contract.Filter
	State        contract.DomainState
	Robots       *bool
	Sitemap      *bool
	ErrorType    string
	SlowerThanMS *int64 // processed, and took longer
	SlowestFirst bool   // else by partition, in the order in which the ledger met them, and domain
	Limit        int
	Cursor       string // of the page before
}

// domainCursor is where a page of domains ends.
type domainCursor struct {
	DurationMS int64  `json:"t,omitempty"`
	Partition  int64  `json:"p"`
	Domain     string `json:"d"`
}

const domainColumns = `p.country, p.category, p.date, d.partition, d.domain, d.state, d.reachable, d.robots, d.sitemap, d.duration_ms, d.collected_at, d.queued_at, d.error_type, d.error_message`

type domainRecordRow struct {
	contract.Partition
	PartitionID  int64   `json:"partition"`
	Domain       string  `json:"domain"`
	State        string  `json:"state"`
	Reachable    *int64  `json:"reachable"`
	Robots       *int64  `json:"robots"`
	Sitemap      *int64  `json:"sitemap"`
	DurationMS   *int64  `json:"duration_ms"`
	CollectedAt  int64   `json:"collected_at"`
	QueuedAt     int64   `json:"queued_at"`
	ErrorType    *string `json:"error_type"`
	ErrorMessage *string `json:"error_message"`
}

func (r *domainRecordRow) record() contract.DomainRecord {
	flag := func(n *int64) *bool {
		if n == nil {
			return nil
		}
		b := *n != 0
		return &b
	}
	d := contract.DomainRecord{
		Domain: r.Domain, Partition: r.Partition, State: contract.DomainState(r.State),
		Robots: flag(r.Robots), Sitemap: flag(r.Sitemap), DurationMS: r.DurationMS,
		CollectedAt: moment(r.CollectedAt), QueuedAt: moment(r.QueuedAt),
	}
	if d.State == contract.Failed {
		d.ErrorType, d.ErrorMessage = r.ErrorType, r.ErrorMessage
	}
	return d
}

// statement gives the query of one page, which reads one row more than the page has.
func (q *DomainQuery) statement() (Statement, error) {
	var c conditions
	if f := q.Filter; f.Country != "" || f.Category != "" || f.Date != "" {
		var chosen conditions
		chosen.partition(f)
		c.and(`d.partition IN (SELECT p.id FROM partitions AS p`+chosen.where()+`)`, chosen.args...)
	}
	state := string(q.State)
	switch { // what only holds for one state names it, so that its index is found
	case q.ErrorType != "" && state == "":
		state = string(contract.Failed)
	case (q.Robots != nil || q.Sitemap != nil || q.SlowerThanMS != nil || q.SlowestFirst) && state == "":
		state = string(contract.Processed)
	}
	if state != "" {
		if !oneOfStates(state) {
			return Statement{}, contract.Invalid("state", "%q is not a state; send pending, processed, failed or excluded", state)
		}
		c.and(`d.state = '` + state + `'`) // not a parameter: partial indexes are chosen by the text
	}
	if q.ErrorType != "" {
		c.and("d.error_type = ?", q.ErrorType)
	}
	for _, flag := range []struct {
		column string
		want   *bool
	}{{"d.robots", q.Robots}, {"d.sitemap", q.Sitemap}} {
		switch {
		case flag.want == nil:
		case *flag.want:
			c.and(flag.column + " = 1")
		default:
			c.and(flag.column + " = 0")
		}
	}
	if q.SlowerThanMS != nil {
		c.and("d.duration_ms > ?", *q.SlowerThanMS)
	}
	order := `d.partition, d.domain`
	if q.SlowestFirst {
		order = `d.duration_ms DESC, d.partition, d.domain`
	}
	if q.Cursor != "" {
		var at domainCursor
		if err := decodeCursor(q.Cursor, &at); err != nil {
			return Statement{}, err
		}
		if q.SlowestFirst {
			c.and("d.duration_ms <= ?", at.DurationMS)
			c.and("(d.duration_ms < ? OR (d.partition, d.domain) > (?, ?))", at.DurationMS, at.Partition, at.Domain)
		} else {
			c.and("(d.partition, d.domain) > (?, ?)", at.Partition, at.Domain)
		}
	}
	from := ` FROM domains AS d` + q.index(state) + ` JOIN partitions AS p ON p.id = d.partition`
	sql := `SELECT ` + domainColumns + from + c.where() + ` ORDER BY ` + order + ` LIMIT ?`
	return Statement{sql, append(c.args, int64(q.Limit)+1)}, nil
}

// index names the index that serves the query best, which SQLite does not find without statistics.
func (q *DomainQuery) index(state string) string {
	whole := q.Filter.Country != "" && q.Filter.Category != "" && q.Filter.Date != ""
	name := ""
	switch {
	case state == string(contract.Processed) && (q.SlowestFirst || q.SlowerThanMS != nil) && !whole: // one partition is sorted soon
		name = "domains_by_duration"
	case state == string(contract.Processed) && q.Robots != nil && !*q.Robots:
		name = "domains_without_robots"
	case state == string(contract.Processed) && q.Sitemap != nil && !*q.Sitemap:
		name = "domains_without_sitemap"
	case state == string(contract.Failed) && q.ErrorType != "":
		name = "domains_failed"
	case state != "":
		name = "domains_by_state"
	default:
		return ""
	}
	return " INDEXED BY " + name
}

func oneOfStates(s string) bool {
	switch contract.DomainState(s) {
	case contract.Pending, contract.Processed, contract.Failed, contract.Excluded:
		return true
	}
	return false
}

// Domains gives one page of domains.
func (l *Ledger) Domains(ctx context.Context, q DomainQuery) (contract.DomainPage, error) {
	const op = "ledger.Domains"
	page := contract.DomainPage{Domains: []contract.DomainRecord{}}
	s, err := q.statement()
	if err != nil {
		return page, err
	}
	results, err := l.batch(ctx, op, s)
	if err != nil {
		return page, err
	}
	rows, err := decode[domainRecordRow](op, results[0])
	if len(rows) > q.Limit {
		rows = rows[:q.Limit]
		last := rows[q.Limit-1]
		at := domainCursor{Partition: last.PartitionID, Domain: last.Domain}
		if q.SlowestFirst && last.DurationMS != nil {
			at.DurationMS = *last.DurationMS
		}
		page.Cursor = encodeCursor(at)
	}
	for _, r := range rows {
		page.Domains = append(page.Domains, r.record())
	}
	return page, err
}

// maxPlaces is how many partitions Domain lists.
const maxPlaces = 100

// Domain gives the records of one domain in the partitions that the filter selects, the newest
// partition first, at most 100.
func (l *Ledger) Domain(ctx context.Context, domain string, f contract.Filter) ([]contract.DomainRecord, error) {
	const op = "ledger.Domain"
	var c conditions
	c.and("d.domain = ?", domain)
	c.partition(f)
	results, err := l.batch(ctx, op, Statement{
		`SELECT ` + domainColumns + ` FROM domains AS d JOIN partitions AS p ON p.id = d.partition` + c.where() +
			` ORDER BY p.date DESC, d.collected_at DESC, p.id LIMIT ?`, append(c.args, int64(maxPlaces)),
	})
	if err != nil {
		return nil, err
	}
	rows, err := decode[domainRecordRow](op, results[0])
	records := make([]contract.DomainRecord, len(rows))
	for i := range rows {
		records[i] = rows[i].record()
	}
	return records, err
}

var cursorText = base64.RawURLEncoding

// encodeCursor makes a cursor for the caller, who sends it back as it is.
func encodeCursor(v any) *string {
	b, err := json.Marshal(v)
	if err != nil {
		panic(err) // strings and integers always marshal
	}
	return contract.Text(cursorText.EncodeToString(b))
}

func decodeCursor(cursor string, v any) error {
	b, err := cursorText.DecodeString(cursor)
	if err == nil {
		err = json.Unmarshal(b, v)
	}
	if err != nil {
		return contract.Invalid("cursor", "is not the cursor of an answer; send it as it was given, or none")
	}
	return nil
}
