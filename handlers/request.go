package handlers

import (
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/newsfork/seed-engine/contract"
	"github.com/newsfork/seed-engine/httpapi"
)

// maxURLsBytes limits bodies with lists of URLs.
const maxURLsBytes = 1 << 20

// Bytes of memory that a byte of a body takes until it is answered, beyond what each event has. They were measured on
// workerd.
const (
	listMemory = 20 // with the classifier's model, which is loaded for the first URL
	pageMemory = 6  // the body, the decoder's copies of it, the page and the calls of shards
)

// busyRetryAfter is the Retry-After of requests for which the instance pool has no room, in seconds.
const busyRetryAfter = "5"

// reserve takes the memory for a request's body of up to limit bytes out of the instance pool, before the body is
// read: perByte times its size. What a body of httpapi.MaxBodyBytes takes, each request has.
func (a *API) reserve(w http.ResponseWriter, r *http.Request, limit, perByte int64) error {
	size := r.ContentLength
	if size < 0 || size > limit {
		size = limit
	}
	if size <= httpapi.MaxBodyBytes || a.Reserve == nil || a.Reserve(perByte*size) {
		return nil
	}
	w.Header().Set("Retry-After", busyRetryAfter)
	return httpapi.Errorf(http.StatusServiceUnavailable, "busy",
		"other requests and files leave no memory for a body of %d KB; try again in a few seconds", size>>10)
}

// onlyQuery refuses query parameters other than names.
func onlyQuery(r *http.Request, names ...string) error {
	_, err := readQuery(r, names...)
	return err
}

const (
	defaultLimit = 50
	maxLimit     = 200
)

// query reads parameters and keeps the first error.
type query struct {
	values url.Values
	err    error
}

func (q *query) fail(err error) {
	if q.err == nil {
		q.err = err
	}
}

// text returns the value of a parameter. A repeated parameter is an error.
func (q *query) text(name string) string {
	if len(q.values[name]) > 1 {
		q.fail(contract.Invalid(name, "appears %d times; send it once", len(q.values[name])))
	}
	return q.values.Get(name)
}

// filter reads country, category and date.
func (q *query) filter() contract.Filter {
	f := contract.Filter{Country: country(q.text("country")), Category: q.text("category"), Date: q.text("date")}
	if err := f.Validate(""); err != nil {
		q.fail(err)
	}
	return f
}

// partition reads a partition as in a key ("country=sg/category=news/date=2026-01-28") or in short
// ("sg/news/2026-01-28").
func (q *query) partition() (f contract.Filter) {
	text := q.text("partition")
	if text == "" {
		return f
	}
	parts := strings.Split(strings.Trim(text, "/"), "/")
	if len(parts) != 3 {
		q.fail(contract.Invalid("partition",
			"%q is not a partition; use country, category and date, such as sg/news/2026-01-28", text))
		return f
	}
	for i, name := range []string{"country=", "category=", "date="} {
		parts[i] = strings.TrimPrefix(parts[i], name)
	}
	f = contract.Filter{Country: strings.ToLower(parts[0]), Category: parts[1], Date: parts[2]}
	if err := f.Validate("partition."); err != nil {
		q.fail(err)
	}
	return f
}

// readPartition reads the query of a route about one domain. Beside names it accepts partition, or any of country,
// category and date. Errors of parameters are in the query.
func readPartition(r *http.Request, names ...string) (*query, contract.Filter, error) {
	q, err := readQuery(r, append(names, "country", "category", "date", "partition")...)
	if err != nil {
		return nil, contract.Filter{}, err
	}
	f, whole := q.filter(), q.partition()
	switch {
	case whole == contract.Filter{}:
		return q, f, nil
	case f != contract.Filter{}:
		q.fail(contract.Invalid("partition", "includes country, category and date; leave those out"))
	}
	return q, whole, nil
}

// time reads a time, zero if the parameter is absent.
func (q *query) time(name string) time.Time {
	v := q.text(name)
	if v == "" {
		return time.Time{}
	}
	at, err := time.Parse(time.RFC3339, v)
	if err != nil {
		at, err = time.Parse(time.DateOnly, v)
	}
	if err != nil {
		q.fail(contract.Invalid(name, "%q is not a time; use a form such as 2026-01-28T10:00:00Z", v))
	}
	return at
}

func (q *query) oneOf(name string, values ...string) string {
	v := q.text(name)
	if v != "" && !slices.Contains(values, v) {
		q.fail(contract.Invalid(name, "%q is not accepted; use %s", v, strings.Join(values, " or ")))
	}
	return v
}

// errorType reads the name of a contract.Kind.
func (q *query) errorType() string {
	return q.oneOf("error_type", contract.Kinds...)
}

// flag returns nil if the parameter is absent.
func (q *query) flag(name string) *bool {
	v := q.oneOf(name, "true", "false")
	if v == "" {
		return nil
	}
	b := v == "true"
	return &b
}

// number returns nil if the parameter is absent.
func (q *query) number(name string, min, max int64) *int64 {
	v := q.text(name)
	if v == "" {
		return nil
	}
	n, err := strconv.ParseInt(v, 10, 64)
	if err != nil || n < min || n > max {
		q.fail(contract.Invalid(name, "must be a whole number between %d and %d, got %q", min, max, v))
	}
	return &n
}

func (q *query) limit() int {
	if n := q.number("limit", 1, maxLimit); n != nil {
		return int(*n)
	}
	return defaultLimit
}

// readQuery reads a query and refuses parameters other than names. A malformed query is an error: without its
// cursor or filter the caller would get something it did not ask for.
func readQuery(r *http.Request, names ...string) (*query, error) {
	values, err := url.ParseQuery(r.URL.RawQuery)
	if err != nil {
		return nil, contract.Invalid("query",
			"is malformed; percent-encode special characters and separate parameters with \"&\"")
	}
	for name := range values {
		if !slices.Contains(names, name) {
			return nil, contract.Invalid(name, "is not a query parameter of this route; leave it out")
		}
	}
	return &query{values: values}, nil
}

const maxReason = 500 // characters

// reason reads a body with an optional reason.
func reason(r *http.Request) (*string, error) {
	var body struct {
		Reason string `json:"reason"`
	}
	if err := httpapi.ReadJSON(r, &body); err != nil {
		return nil, err
	}
	if len([]rune(body.Reason)) > maxReason {
		return nil, contract.Invalid("reason", "is longer than %d characters; shorten it", maxReason)
	}
	return contract.Text(body.Reason), nil
}

// country lower-cases a country code. Anything else is returned as it is, for the error message.
func country(code string) string {
	if len(code) != 2 {
		return code
	}
	return strings.ToLower(code)
}
