package handlers

import (
	"context"
	"net/http"
	"strings"

	"github.com/newsfork/seed-engine/contract"
	"github.com/newsfork/seed-engine/httpapi"
	"github.com/newsfork/seed-engine/ledger"
)

// listDeadLetters shows one page of dead letters, newest first.
func (a deadLetterRoutes) listDeadLetters(w http.ResponseWriter, r *http.Request) error {
	q, err := readQuery(r, "state", "queue", "error_type", "country", "category", "date", "domain", "limit", "cursor")
	if err != nil {
		return err
	}
	f := q.filter()
	want := ledger.DeadLetterQuery{
		Filter: contract.DeadLetterFilter{
			Queue: q.oneOf("queue", contract.DeadLetterRoles...), ErrorType: q.errorType(),
			Country: f.Country, Category: f.Category, Date: f.Date, Domain: strings.ToLower(q.text("domain")),
		},
		State: contract.DeadLetterState(q.oneOf("state", "stored", "replayed", "discarded")),
		Limit: q.limit(), Cursor: q.text("cursor"),
	}
	if q.err != nil {
		return q.err
	}
	page, err := a.Ledger.DeadLetters(r.Context(), want)
	if err != nil {
		return err
	}
	x := a.excluded(r.Context())
	for i := range page.DeadLetters {
		markLetter(&page.DeadLetters[i], x)
	}
	httpapi.Succeed(w, http.StatusOK, page)
	return nil
}

// showDeadLetter shows one dead letter with its reason, its message and its history.
func (a deadLetterRoutes) showDeadLetter(w http.ResponseWriter, r *http.Request) error {
	if err := onlyQuery(r); err != nil {
		return err
	}
	detail, err := a.Ledger.DeadLetter(r.Context(), r.PathValue("id"))
	if err != nil {
		return err
	}
	if detail == nil {
		return httpapi.NotFound("no dead letter has this id; GET /api/v1/dlq lists them")
	}
	if detail.Letter, err = a.DeadLetters.Read(r.Context(), detail.Key); err != nil {
		return err
	}
	x := a.excluded(r.Context())
	markLetter(&detail.DeadLetterRecord, x)
	for i := range detail.History {
		markLetter(&detail.History[i], x)
	}
	httpapi.Succeed(w, http.StatusOK, detail)
	return nil
}

// markLetter sets whether the domain of a dead letter is excluded, unless x is nil (unknown).
func markLetter(d *contract.DeadLetterRecord, x *contract.Exclusions) {
	if x != nil {
		out := d.About(x)
		d.Excluded = &out
	}
}

func (a deadLetterRoutes) replay(w http.ResponseWriter, r *http.Request) error {
	return a.resolve(w, r, a.DeadLetters.Replay)
}

func (a deadLetterRoutes) discard(w http.ResponseWriter, r *http.Request) error {
	return a.resolve(w, r, a.DeadLetters.Discard)
}

// resolve replays or discards the dead letters that the body chooses.
func (a deadLetterRoutes) resolve(w http.ResponseWriter, r *http.Request,
	do func(ctx context.Context, choice contract.DeadLetterChoice, by string) (contract.Resolved, error)) error {
	if err := onlyQuery(r); err != nil {
		return err
	}
	var choice contract.DeadLetterChoice
	if err := httpapi.ReadJSON(r, &choice); err != nil {
		return err
	}
	if err := choice.Validate(); err != nil {
		return err
	}
	done, err := do(r.Context(), choice, httpapi.Actor(r))
	if err != nil {
		return err
	}
	httpapi.Succeed(w, http.StatusOK, done)
	return nil
}
