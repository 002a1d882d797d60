package ledger

import (
	"context"
	"slices"
	"strconv"
	"time"

	"github.com/newsfork/seed-engine/contract"
	"github.com/newsfork/seed-engine/epoch"
)

// DomainChange records what happened to one domain of a partition. Zero fields change nothing.
type DomainChange struct {
	Partition     contract.Partition
	Domain        string
	Queued        time.Time
	RequiredSince time.Time         // as in Queued
	Outcome       *contract.Outcome // of its collection
	SatisfiedUpTo time.Time         // requests made up to then are satisfied
	Excluded      time.Time         // when a message was dropped because the domain is excluded
	GaveUp        time.Time         // when a message was given up
	ErrorType     contract.Kind     // of what was given up
	ErrorMessage  string
	Revision      int       // of its document, if rewritten without a collection
	ChangedAt     time.Time // when that revision was written
}

// Records can arrive in any order and repeatedly: every time column keeps its greatest value, findings come from
// the newest collection, and an error from the newest failure.
const (
	queueDomains = queued + `
INSERT INTO domains (partition, domain, queued_at, needed_at, collected_at, met_at, gave_up_at, excluded_at)
SELECT q.id, n.value, q.queued_at, q.needed_at, 0, 0, 0, 0 FROM q JOIN json_each(q.names) AS n
WHERE true` + laterQueued

	changeDomains = `INSERT INTO domains (partition, domain, queued_at, needed_at, collected_at, met_at, gave_up_at,
excluded_at, reachable, robots, sitemap, barrier, duration_ms, error_type, error_message, revision, changed_at, prior)
SELECT p.id, value->>'domain', value->>'queued_at', value->>'needed_at', value->>'collected_at', value->>'met_at',
value->>'gave_up_at', value->>'excluded_at',
  value->>'reachable', value->>'robots', value->>'sitemap', value->>'barrier', value->>'duration_ms',
value->>'error_type',
value->>'error_message', value->>'revision', value->>'changed_at', '[1]'
FROM json_each(?1) JOIN partitions AS p ON p.country = value->>'country' AND p.category = value->>'category'
AND p.date = value->>'date' WHERE true
ON CONFLICT DO UPDATE SET
  prior = ` + priorOf + `,
  queued_at = max(queued_at, excluded.queued_at),
  needed_at = max(needed_at, excluded.needed_at),
  met_at = max(met_at, excluded.met_at),
  excluded_at = max(excluded_at, excluded.excluded_at),
  reachable = CASE WHEN excluded.collected_at > collected_at THEN excluded.reachable ELSE reachable END,
  robots = CASE WHEN excluded.collected_at > collected_at THEN excluded.robots ELSE robots END,
  sitemap = CASE WHEN excluded.collected_at > collected_at THEN excluded.sitemap ELSE sitemap END,
  barrier = CASE WHEN excluded.collected_at > collected_at THEN excluded.barrier ELSE barrier END,
  duration_ms = CASE WHEN excluded.collected_at > collected_at THEN excluded.duration_ms ELSE duration_ms END,
  error_type = CASE WHEN max(excluded.collected_at, excluded.gave_up_at) > max(collected_at,
gave_up_at) THEN excluded.error_type ELSE error_type END,
  error_message = CASE WHEN max(excluded.collected_at, excluded.gave_up_at) > max(collected_at,
gave_up_at) THEN excluded.error_message ELSE error_message END,
  gave_up_at = max(gave_up_at, excluded.gave_up_at),
  revision = CASE WHEN excluded.changed_at > changed_at THEN excluded.revision ELSE revision END,
  changed_at = max(changed_at, excluded.changed_at),
  collected_at = max(collected_at, excluded.collected_at)`
)

type domainRow struct {
	contract.Partition
	Domain        string       `json:"domain"`
	QueuedAt      epoch.Millis `json:"queued_at"`
	RequiredSince epoch.Millis `json:"needed_at"`
	CollectedAt   epoch.Millis `json:"collected_at"`
	SatisfiedUpTo epoch.Millis `json:"met_at"`
	GaveUpAt      epoch.Millis `json:"gave_up_at"`
	ExcludedAt    epoch.Millis `json:"excluded_at"`
	Reachable     *int64       `json:"reachable"`
	Robots        *int64       `json:"robots"`
	Sitemap       *int64       `json:"sitemap"`
	Barrier       *int64       `json:"barrier"`
	DurationMS    *int64       `json:"duration_ms"`
	ErrorType     *string      `json:"error_type"`
	ErrorMessage  *string      `json:"error_message"`
	Revision      int          `json:"revision"`
	ChangedAt     epoch.Millis `json:"changed_at"`
}

func (c DomainChange) row() domainRow {
	r := domainRow{
		Partition: c.Partition, Domain: c.Domain,
		QueuedAt: epoch.MillisOf(c.Queued), RequiredSince: epoch.MillisOf(c.RequiredSince),
		SatisfiedUpTo: epoch.MillisOf(c.SatisfiedUpTo), GaveUpAt: epoch.MillisOf(c.GaveUp),
		ExcludedAt: epoch.MillisOf(c.Excluded),
		ErrorType:  contract.Text(string(c.ErrorType)), ErrorMessage: contract.Text(clip(c.ErrorMessage)),
		Revision: c.Revision, ChangedAt: epoch.MillisOf(c.ChangedAt),
	}
	if o := c.Outcome; o != nil {
		ms := o.Duration.Milliseconds()
		r.CollectedAt = epoch.MillisOf(o.CollectedAt)
		if !o.ChangedAt.IsZero() {
			r.Revision, r.ChangedAt = o.Revision, epoch.MillisOf(o.ChangedAt)
		}
		r.SatisfiedUpTo = max(r.SatisfiedUpTo, r.CollectedAt)
		r.Reachable, r.Robots, r.Sitemap, r.DurationMS = bit(o.Reachable), bit(o.Robots), bit(o.Sitemap), &ms
		if n := int64(slices.Index(barriers[:], o.Barrier)); n >= 0 {
			r.Barrier = &n
		}
		if c.GaveUp.IsZero() {
			r.ErrorType, r.ErrorMessage = contract.Text(o.ErrorType), contract.Text(clip(o.ErrorMessage))
		}
	}
	return r
}

// barriers are the barriers by their number in the database.
var barriers = [...]contract.Barrier{contract.Clear, contract.Forbidden, contract.Refuses, contract.Empty}

// DomainQuery selects domains of the ledger. Zero fields match all.
type DomainQuery struct {
	Filter       contract.Filter
	State        contract.DomainState
	Robots       *bool
	Sitemap      *bool
	Barrier      contract.Barrier
	ErrorType    string
	SlowerThanMS *int64    // ones that took longer: processed and failed ones, unless State says otherwise
	ChangedSince time.Time // document written then or later; scans, since no index serves it
	Also         *Named    // in addition to those in State; not with SlowestFirst
	SlowestFirst bool      // those with a duration; else by partition, oldest row first, and domain
	Limit        int
	Cursor       string // of the previous page
}

// Named selects domains by name or by the end of their name. No index serves the ends.
type Named struct{ Names, Ends []string }

// domainCursor is the end of a page of domains.
type domainCursor struct {
	DurationMS int64  `json:"t,omitempty"`
	Partition  int64  `json:"p"`
	Domain     string `json:"d"`
}

const domainColumns = `p.country, p.category, p.date, d.partition, d.domain, d.state, d.reachable, d.robots, ` +
	`d.sitemap, d.barrier, d.duration_ms, d.collected_at, d.queued_at, d.error_type, d.error_message, ` +
	`d.revision, d.changed_at`

type domainRecordRow struct {
	contract.Partition
	PartitionID  int64        `json:"partition"`
	Domain       string       `json:"domain"`
	State        string       `json:"state"`
	Reachable    *int64       `json:"reachable"`
	Robots       *int64       `json:"robots"`
	Sitemap      *int64       `json:"sitemap"`
	Barrier      *int64       `json:"barrier"`
	DurationMS   *int64       `json:"duration_ms"`
	CollectedAt  epoch.Millis `json:"collected_at"`
	QueuedAt     epoch.Millis `json:"queued_at"`
	ErrorType    *string      `json:"error_type"`
	ErrorMessage *string      `json:"error_message"`
	Revision     *int         `json:"revision"`
	ChangedAt    epoch.Millis `json:"changed_at"`
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
		CollectedAt: contract.At(r.CollectedAt.Time()), QueuedAt: contract.At(r.QueuedAt.Time()),
		ChangedAt: contract.At(r.ChangedAt.Time()),
	}
	if n := r.Barrier; n != nil && *n >= 0 && *n < int64(len(barriers)) {
		b := barriers[*n]
		allowed := b != contract.Forbidden
		if d.CrawlingAllowed = &allowed; b != contract.Clear {
			d.Barrier = &b
		}
		if d.Barrier != nil && r.State != string(contract.Failed) { // else the error is that of a later attempt
			d.BarrierReason = r.ErrorMessage
		}
	}
	if r.ChangedAt > 0 {
		d.Revision = r.Revision
	}
	if d.State == contract.Failed {
		d.ErrorType, d.ErrorMessage = r.ErrorType, r.ErrorMessage
	}
	return d
}

// statement returns the query of one page. It reads one row more than the page has.
func (q *DomainQuery) statement() (Statement, error) {
	state, err := q.impliedState()
	if err != nil {
		return Statement{}, err
	}
	c := q.conditions(state)
	if err := q.startAfter(&c, state); err != nil {
		return Statement{}, err
	}
	order := `partition, domain`
	if q.SlowestFirst {
		order = slowestFirst
	}
	others := c.clone()
	if q.SlowestFirst && (state == "" || state == contract.Processed) && !q.Filter.Whole() {
		return q.slowest(c, state), nil
	}
	if state == "" && q.timed() {
		from := c.stateFrom(q, contract.Processed)
		return c.union(from, &others, others.stateFrom(q, contract.Failed), order, q.Limit), nil
	}
	from := c.stateFrom(q, state)
	if state == contract.Pending {
		c.and(`p.domains_pending > 0`)
		from, order = pendingFrom(q.Filter), `p.id, d.domain`
	}
	if q.Also == nil || state == "" {
		return c.page(from, order, q.Limit), nil
	}
	others.and(`d.state <> ?`, string(state))
	also := q.Also.from(&others)
	return c.union(from, &others, also, order, q.Limit), nil
}

// timed reports whether only domains with a duration are selected.
func (q *DomainQuery) timed() bool { return q.SlowestFirst || q.SlowerThanMS != nil }

// impliedState returns the state, or the one that other conditions imply, so that the state's index can be used.
func (q *DomainQuery) impliedState() (contract.DomainState, error) {
	switch q.State {
	case contract.Pending, contract.Processed, contract.Failed, contract.Excluded:
		return q.State, nil
	case "":
	default:
		return "", contract.Invalid("state", "%q is not a state; use pending, processed, failed or excluded", q.State)
	}
	switch {
	case q.ErrorType != "":
		return contract.Failed, nil
	case q.Robots != nil || q.Sitemap != nil:
		return contract.Processed, nil
	}
	return "", nil
}

// conditions returns the conditions other than the state and the cursor.
func (q *DomainQuery) conditions(state contract.DomainState) (c conditions) {
	if q.ErrorType != "" {
		c.and("d.error_type = ?", q.ErrorType)
	}
	if n := slices.Index(barriers[:], q.Barrier); n > 0 { // not a parameter, as the state
		c.and("d.barrier > 0 AND d.barrier = " + strconv.Itoa(n))
	}
	c.flag("d.robots", q.Robots)
	c.flag("d.sitemap", q.Sitemap)
	if !q.ChangedSince.IsZero() {
		c.and("d.changed_at >= ?", epoch.MillisOf(q.ChangedSince))
	}
	if q.SlowerThanMS != nil {
		c.and("d.duration_ms > ?", *q.SlowerThanMS)
	}
	if state == contract.Pending { // no index: partitions with pending domains are read one by one
		c.partition(q.Filter)
	} else if f := q.Filter; f.Country != "" || f.Category != "" || f.Date != "" {
		var chosen conditions
		chosen.partition(f)
		c.and(`d.partition IN (SELECT p.id FROM partitions AS p`+chosen.where()+`)`, chosen.args...)
	}
	return c
}

// Processed domains that took slowMS or more are in the index domains_slow.
const (
	slowMS       = 5000
	slow         = `d.duration_ms >= 5000`
	slowestFirst = `duration_ms DESC, partition, domain`
)

// slowest returns the statement of a page of the slowest domains that are processed or, if state is empty, failed. It
// reads processed ones that are not in domains_slow only if those in it do not fill the page: no index has them all.
func (q *DomainQuery) slowest(c conditions, state contract.DomainState) Statement {
	limit := int64(q.Limit) + 1
	of := func(c conditions, from string) Statement {
		return Statement{`SELECT ` + domainColumns + from + c.where(), c.args}
	}
	indexed, others, failed := c.clone(), c.clone(), c.clone()
	indexed.and(`d.state = 'processed' AND ` + slow)
	others.and(`d.state = 'processed' AND d.duration_ms < 5000`)
	const partitions = ` JOIN partitions AS p ON p.id = d.partition`
	parts := []Statement{of(indexed, ` FROM domains AS d INDEXED BY domains_slow`+partitions)}
	if state == "" {
		parts = append(parts, of(failed, failed.stateFrom(q, contract.Failed)))
	}
	if q.SlowerThanMS == nil || *q.SlowerThanMS < slowMS {
		hint := q.index(contract.Processed)
		if q.Barrier != "" {
			hint = ` INDEXED BY domains_by_barrier`
		}
		few := ` FROM (SELECT 1 WHERE (SELECT count(*) FROM (SELECT 1 FROM domains AS d INDEXED BY domains_slow` +
			indexed.where() + ` LIMIT ?)) < ?) CROSS JOIN domains AS d`
		rest := of(others, few+hint+partitions)
		parts = append(parts, Statement{`SELECT * FROM (` + rest.SQL + ` ORDER BY ` + slowestFirst + ` LIMIT ?)`,
			slices.Concat(indexed.args, []any{limit, limit}, rest.Args, []any{limit})})
	}
	var all Statement
	for i, part := range parts {
		if i > 0 {
			all.SQL += ` UNION ALL `
		}
		all.SQL, all.Args = all.SQL+part.SQL, append(all.Args, part.Args...)
	}
	return Statement{all.SQL + ` ORDER BY ` + slowestFirst + ` LIMIT ?`, append(all.Args, limit)}
}

// startAfter adds the conditions of the cursor.
func (q *DomainQuery) startAfter(c *conditions, state contract.DomainState) error {
	if q.Cursor == "" {
		return nil
	}
	var at domainCursor
	if err := contract.DecodeCursor(q.Cursor, &at); err != nil {
		return err
	}
	if q.SlowestFirst {
		c.and("d.duration_ms <= ?", at.DurationMS)
		c.and("(d.duration_ms < ? OR (d.partition, d.domain) > (?, ?))", at.DurationMS, at.Partition, at.Domain)
	} else {
		c.and("(d.partition, d.domain) > (?, ?)", at.Partition, at.Domain)
	}
	if state == contract.Pending {
		c.and("p.id >= ?", at.Partition)
	}
	return nil
}

// flag requires a column to be 1 or 0; nil requires nothing.
func (c *conditions) flag(column string, want *bool) {
	switch {
	case want == nil:
	case *want:
		c.and(column + " = 1")
	default:
		c.and(column + " = 0")
	}
}

// stateFrom returns the FROM clause for domains in a state, or in any if it is empty, and adds the condition to c.
func (c *conditions) stateFrom(q *DomainQuery, state contract.DomainState) string {
	if state != "" {
		c.and(`d.state = '` + string(state) + `'`) // not a parameter: partial indexes are chosen by the text
	}
	if state == contract.Failed && q.timed() {
		c.and(`d.duration_ms IS NOT NULL`) // a domain that was never collected has none
	}
	if q.index(state) == " INDEXED BY domains_slow" {
		c.and(slow)
	}
	return ` FROM domains AS d` + q.index(state) + ` JOIN partitions AS p ON p.id = d.partition`
}

// union returns the statement of a page of two selections that have no domain in common. SQLite merges them.
func (c *conditions) union(from string, others *conditions, othersFrom, order string, limit int) Statement {
	sql := `SELECT ` + domainColumns + from + c.where() + ` UNION ALL SELECT ` + domainColumns + othersFrom +
		others.where() + ` ORDER BY ` + order + ` LIMIT ?`
	return Statement{sql, append(append(c.args, others.args...), int64(limit)+1)}
}

// page returns the statement of a page of domains.
func (c *conditions) page(from, order string, limit int) Statement {
	return Statement{`SELECT ` + domainColumns + from + c.where() + ` ORDER BY ` + order + ` LIMIT ?`,
		append(c.args, int64(limit)+1)}
}

// from returns the FROM clause for named domains and adds their condition to c.
func (n *Named) from(c *conditions) string {
	if len(n.Ends) == 0 { // in each partition by its key
		c.and(`d.domain IN (SELECT value FROM json_each(?))`, string(contract.Encode(n.Names)))
		return ` FROM partitions AS p CROSS JOIN domains AS d ON d.partition = p.id`
	}
	c.and(`(d.domain IN (SELECT value FROM json_each(?)) OR EXISTS (SELECT 1 FROM json_each(?)
WHERE substr(d.domain, length(d.domain) - length(value) + 1) = value))`,
		string(contract.Encode(n.Names)), string(contract.Encode(n.Ends)))
	return ` FROM domains AS d JOIN partitions AS p ON p.id = d.partition`
}

// pendingFrom returns the FROM clause for pending domains: partitions by id, each by its key, so that reading stops
// at the end of the page. An index of partitions helps only for a single one.
func pendingFrom(f contract.Filter) string {
	if f.Whole() {
		return ` FROM partitions AS p CROSS JOIN domains AS d ON d.partition = p.id`
	}
	return ` FROM partitions AS p NOT INDEXED CROSS JOIN domains AS d ON d.partition = p.id`
}

// index returns the hint for the best index, which SQLite does not find without statistics.
func (q *DomainQuery) index(state contract.DomainState) string {
	name := ""
	switch {
	case q.Barrier != "" && !q.SlowestFirst && state != contract.Pending:
		name = "domains_by_barrier"
	// (One partition is sorted quickly.)
	case state == contract.Processed && q.SlowerThanMS != nil && *q.SlowerThanMS >= slowMS && !q.Filter.Whole():
		name = "domains_slow"
	case state == contract.Failed && q.timed() && q.ErrorType == "" && !q.Filter.Whole():
		name = "domains_failed_by_duration"
	case state == contract.Processed && q.Robots != nil && !*q.Robots:
		name = "domains_without_robots"
	case state == contract.Processed && q.Sitemap != nil && !*q.Sitemap:
		name = "domains_without_sitemap"
	case state == contract.Failed && q.ErrorType != "":
		name = "domains_failed"
	case state == contract.Failed || state == contract.Excluded:
		name = "domains_by_state"
	default:
		return ""
	}
	return " INDEXED BY " + name
}

// Domains returns one page of domains.
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
		page.Cursor = contract.EncodeCursor(at)
	}
	for _, r := range rows {
		page.Domains = append(page.Domains, r.record())
	}
	return page, err
}

// selectRetries selects the last failure of each directory. The others of its row are those of the greatest failed_at.
// A database has the failures of one environment.
const selectRetries = `SELECT d.value AS dir, max(f.failed_at) AS failed_at, f.attempt, f.error_type, f.error_message
FROM json_each(?1) AS d JOIN failures AS f ON f.work >= d.value AND f.work < d.value || '~'
AND f.queue = (SELECT queue FROM failures WHERE queue >= ?2 AND queue < ?2 || '~' ORDER BY queue LIMIT 1)
GROUP BY d.value`

// AddRetries adds to each pending domain its last failed attempt since it was queued. delay is the delay of a first
// retry.
func (l *Ledger) AddRetries(ctx context.Context, records []contract.DomainRecord, delay time.Duration) error {
	const op = "ledger.AddRetries"
	pending := map[string]*contract.DomainRecord{}
	dirs := []string{}
	for i := range records {
		if d := &records[i]; d.State == contract.Pending {
			dir := contract.DomainDir{Partition: d.Partition, Domain: d.Domain}.Prefix()
			pending[dir], dirs = d, append(dirs, dir)
		}
	}
	if len(dirs) == 0 {
		return nil
	}
	results, err := l.batch(ctx, op, statement(selectRetries, dirs, contract.QueueName(contract.DomainQueue, "")))
	if err != nil {
		return err
	}
	rows, err := decode[struct {
		Dir          string        `json:"dir"`
		FailedAt     epoch.Millis  `json:"failed_at"`
		Attempt      int           `json:"attempt"`
		ErrorType    contract.Kind `json:"error_type"`
		ErrorMessage string        `json:"error_message"`
	}](op, results[0])
	for _, r := range rows {
		d := pending[r.Dir]
		if d == nil || d.QueuedAt != nil && r.FailedAt.Time().Before(d.QueuedAt.Time) {
			continue // it failed before it was queued again
		}
		d.Retry = &contract.DomainRetry{Attempt: r.Attempt, Of: contract.MaxRetries + 1, ErrorType: r.ErrorType,
			ErrorMessage: r.ErrorMessage, FailedAt: contract.Time{Time: r.FailedAt.Time().UTC()}}
		if r.Attempt <= contract.MaxRetries {
			d.Retry.NextAt = contract.At(r.FailedAt.Add(delay << min(max(r.Attempt-1, 0), 10)).Time().UTC())
		}
	}
	return err
}

// maxPartitionsOfDomain caps the partitions that Domain returns.
const maxPartitionsOfDomain = 100

// Domain returns the records of one domain in the partitions that the filter selects, newest partition first, at
// most 100.
func (l *Ledger) Domain(ctx context.Context, domain string, f contract.Filter) ([]contract.DomainRecord, error) {
	const op = "ledger.Domain"
	var c conditions
	c.and("d.domain = ?", domain)
	c.partition(f)
	results, err := l.batch(ctx, op, Statement{
		`SELECT ` + domainColumns + ` FROM partitions AS p CROSS JOIN domains AS d ON d.partition = p.id` +
			c.where() +
			` ORDER BY p.date DESC, d.collected_at DESC, p.id LIMIT ?`, append(c.args, int64(maxPartitionsOfDomain)),
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
