package handlers

import (
	"net/http"

	"github.com/newsfork/seed-engine/contract"
	"github.com/newsfork/seed-engine/httpapi"
)

// orchestrate runs step 1 over the partitions of its filter.
func (a *API) orchestrate(w http.ResponseWriter, r *http.Request) error {
	var f contract.Filter
	if err := onlyQuery(r); err != nil {
		return err
	}
	if err := httpapi.ReadJSON(r, &f); err != nil {
		return err
	}
	f.Country = country(f.Country)
	if err := f.Validate(""); err != nil {
		return err
	}
	result, err := a.Orchestrator.Run(r.Context(), contract.Continuation{Filter: f, RequestedAt: a.Now().UTC()})
	if err != nil {
		a.server().Fail(w, r, err, result)
		return nil
	}
	httpapi.Succeed(w, http.StatusOK, result)
	return nil
}
