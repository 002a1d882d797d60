package handlers

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"sync"

	"github.com/newsfork/seed-engine/alarms"
	"github.com/newsfork/seed-engine/contract"
	"github.com/newsfork/seed-engine/ledger"
	"github.com/newsfork/seed-engine/r2"
)

// queueRoles are the queues whose backlog a status tells.
var queueRoles = []string{"seed", "domain", "dlq"}

const (
	maxTrendHours = 168
	defaultLimit  = 50
	maxLimit      = 200
)

// query reads query parameters and keeps the first error.
type query struct {
	values url.Values
	err    error
}

func (q *query) fail(err error) {
	if q.err == nil {
		q.err = err
	}
}

// text gives the value of a parameter; sent twice it is an error.
func (q *query) text(name string) string {
	if len(q.values[name]) > 1 {
		q.fail(contract.Invalid(name, "is there %d times; send it once", len(q.values[name])))
	}
	return q.values.Get(name)
}

// filter reads country, category and date.
func (q *query) filter() contract.Filter {
	f := contract.Filter{Country: strings.ToLower(q.text("country")), Category: q.text("category"), Date: q.text("date")}
	if err := f.Validate(""); err != nil {
		q.fail(err)
	}
	return f
}

func (q *query) oneOf(name string, values ...string) string {
	v := q.text(name)
	if v != "" && !slices.Contains(values, v) {
		q.fail(contract.Invalid(name, "%q is none of them; send %s", v, strings.Join(values, ", ")))
	}
	return v
}

// flag is nil when the parameter is not there.
func (q *query) flag(name string) *bool {
	v := q.oneOf(name, "true", "false")
	if v == "" {
		return nil
	}
	b := v == "true"
	return &b
}

// number is nil when the parameter is not there.
func (q *query) number(name string, least, most int64) *int64 {
	v := q.text(name)
	if v == "" {
		return nil
	}
	n, err := strconv.ParseInt(v, 10, 64)
	if err != nil || n < least || n > most {
		q.fail(contract.Invalid(name, "%q is not possible; send a whole number from %d to %d", v, least, most))
	}
	return &n
}

func (q *query) limit() int {
	if n := q.number("limit", 1, maxLimit); n != nil {
		return int(*n)
	}
	return defaultLimit
}

// readQuery takes the parameters of a route that knows these alone.
func readQuery(r *http.Request, known ...string) (*query, error) {
	return &query{values: r.URL.Query()}, onlyQuery(r, known...)
}

// status tells how far the pipeline is.
func (a *API) status(w http.ResponseWriter, r *http.Request) error {
	q, err := readQuery(r, "country", "category", "date", "by", "trend")
	if err != nil {
		return err
	}
	want := ledger.StatusQuery{Filter: q.filter(), Now: a.Now(), Windows: alarms.Windows()}
	for _, by := range strings.FieldsFunc(strings.Join(q.values["by"], ","), func(r rune) bool { return r == ',' }) {
		switch by {
		case "partition":
			want.ByPartition = true
		case "error_type":
			want.ByError = true
		default:
			q.fail(contract.Invalid("by", "%q is not possible; send partition or error_type", by))
		}
	}
	if n := q.number("trend", 1, maxTrendHours); n != nil {
		want.TrendHours = int(*n)
	}
	if q.err != nil {
		return q.err
	}
	var controls contract.Controls
	var controlsErr error
	var backlogs map[string]*contract.Backlog
	var wg sync.WaitGroup
	wg.Go(func() { controls, _, controlsErr = a.Controls.Read(r.Context()) })
	wg.Go(func() { backlogs = a.backlogs(r.Context()) })
	s, err := a.Ledger.Status(r.Context(), want)
	wg.Wait()
	if err == nil {
		err = controlsErr
	}
	if err != nil {
		return err
	}
	succeed(w, http.StatusOK, contract.Status{
		Stats: s.Stats, DeadLetters: s.DeadLetters, Alarms: alarms.Judge(s.AlarmReading), Queues: backlogs, Paused: controls.Pipeline.Paused,
		UpdatedAt: contract.Time{Time: want.Now}, Partitions: s.Partitions, Errors: s.Errors, Trend: s.Trend,
	})
	return nil
}

// backlogs asks the platform what waits in each queue; nil for one that it does not tell of.
func (a *API) backlogs(ctx context.Context) map[string]*contract.Backlog {
	all := make([]*contract.Backlog, len(queueRoles))
	var wg sync.WaitGroup
	for i, role := range queueRoles {
		wg.Go(func() {
			b, err := a.Backlog(ctx, role)
			if err != nil {
				a.Log.Warn("backlog_failed", "error_type", contract.KindOf(err), "error", err.Error(), "queue", role)
				return
			}
			all[i] = &b
		})
	}
	wg.Wait()
	backlogs := map[string]*contract.Backlog{}
	for i, role := range queueRoles {
		backlogs[role] = all[i]
	}
	return backlogs
}

// listDomains shows one page of the ledger's domains.
func (a *API) listDomains(w http.ResponseWriter, r *http.Request) error {
	q, err := readQuery(r, "country", "category", "date", "state", "robots", "sitemap", "error_type", "slower_than_ms", "sort", "limit", "cursor")
	if err != nil {
		return err
	}
	want := ledger.DomainQuery{
		Filter: q.filter(), State: contract.DomainState(q.oneOf("state", "pending", "processed", "failed", "excluded")),
		Robots: q.flag("robots"), Sitemap: q.flag("sitemap"), ErrorType: q.text("error_type"),
		SlowerThanMS: q.number("slower_than_ms", 0, 1<<40),
		Limit:        q.limit(), Cursor: q.text("cursor"),
	}
	switch q.oneOf("sort", "domain", "duration") {
	case "duration":
		want.SlowestFirst = true
	case "": // what is selected by its duration comes in the order of durations, in which it is found at once
		want.SlowestFirst = want.SlowerThanMS != nil && (want.State == "" || want.State == contract.Processed)
	}
	if want.ErrorType != "" && want.State != "" && want.State != contract.Failed {
		q.fail(contract.Invalid("error_type", "only failed domains have one; send state=failed or no state"))
	}
	if want.SlowestFirst && want.State != "" && want.State != contract.Processed {
		q.fail(contract.Invalid("sort", "only processed domains have a duration; send state=processed or no state"))
	}
	if q.err != nil {
		return q.err
	}
	page, err := a.Ledger.Domains(r.Context(), want)
	if err != nil {
		return err
	}
	succeed(w, http.StatusOK, page)
	return nil
}

// showDomain shows one domain of one partition: the one that the query names, else the newest one.
func (a *API) showDomain(w http.ResponseWriter, r *http.Request) error {
	q, err := readQuery(r, "country", "category", "date")
	if err != nil {
		return err
	}
	f := q.filter()
	if q.err != nil {
		return q.err
	}
	detail, err := a.domain(r, f)
	if err != nil {
		return err
	}
	succeed(w, http.StatusOK, detail)
	return nil
}

// domain gives what is known of the path's domain in the partition that f names whole, else in the
// newest of those that it selects.
func (a *API) domain(r *http.Request, f contract.Filter) (*contract.DomainDetail, error) {
	domain, err := r2.SanitizeDomain(r.PathValue("domain"))
	if err != nil {
		return nil, err
	}
	detail := &contract.DomainDetail{Domain: domain, Partitions: []contract.Partition{}}
	records, err := a.Ledger.Domain(r.Context(), domain, f)
	whole := f.Country != "" && f.Category != "" && f.Date != ""
	switch {
	case whole: // the ledger is not needed to find the document
		detail.Partition = contract.Partition{Country: f.Country, Category: f.Category, Date: f.Date}
		if err != nil {
			a.Log.Warn("ledger_failed", "error_type", contract.KindOf(err), "error", err.Error())
		}
	case err != nil:
		return nil, err
	case len(records) > 0:
		detail.Partition = records[0].Partition
	}
	unknown := &failure{http.StatusNotFound, "not_found", "nothing is known of " + domain + " there; GET /api/v1/seeds/domains lists the domains"}
	if len(records) == 0 && !whole {
		return nil, unknown
	}
	for i := range records {
		detail.Partitions = append(detail.Partitions, records[i].Partition)
		if records[i].Partition == detail.Partition {
			detail.Record = &records[i]
		}
	}
	detail.Key = r2.DomainDir{Partition: detail.Partition, Domain: domain}.Document()
	if detail.Document, err = a.document(r.Context(), detail.Key); err != nil {
		return nil, err
	}
	if detail.Document == nil && detail.Record == nil {
		return nil, unknown
	}
	return detail, nil
}

// document reads a stored JSON document; nil when there is none.
func (a *API) document(ctx context.Context, key string) (json.RawMessage, error) {
	body, err := a.Bucket.Get(ctx, key)
	if errors.Is(err, r2.ErrNotFound) {
		return nil, nil
	}
	if err != nil {
		return nil, contract.Wrap(contract.Storage, "handlers.document", err)
	}
	defer body.Close()
	data, err := io.ReadAll(body)
	if err == nil && !json.Valid(data) {
		err = errors.New("the stored document is not JSON")
	}
	return data, contract.Wrap(contract.Storage, "handlers.document", err)
}

// reconcile does the next piece of work of rebuilding a partition's ledger.
func (a *API) reconcile(w http.ResponseWriter, r *http.Request) error {
	if err := onlyQuery(r); err != nil {
		return err
	}
	var body struct {
		contract.Partition
		Cursor string `json:"cursor"`
	}
	if err := readJSON(r, &body); err != nil {
		return err
	}
	body.Country = strings.ToLower(body.Country)
	if err := body.Validate(""); err != nil {
		return err
	}
	done, err := a.Reconciler.Run(r.Context(), body.Partition, body.Cursor)
	if err != nil {
		return err
	}
	succeed(w, http.StatusOK, done)
	return nil
}

// openAPI publishes the description of this API.
func (a *API) openAPI(w http.ResponseWriter, r *http.Request) error {
	w.Header().Set("Content-Type", "application/json")
	w.Header().Set("Cache-Control", "public, max-age=3600")
	w.Write(contract.OpenAPI)
	return nil
}
