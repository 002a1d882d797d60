package handlers

import (
	"net/http"

	"github.com/newsfork/seed-engine/contract"
	"github.com/newsfork/seed-engine/httpapi"
)

// reconcile runs the next step of rebuilding a partition's ledger.
func (a *API) reconcile(w http.ResponseWriter, r *http.Request) error {
	if err := onlyQuery(r); err != nil {
		return err
	}
	var body struct {
		contract.Partition
		Cursor string `json:"cursor"`
	}
	if err := httpapi.ReadJSON(r, &body); err != nil {
		return err
	}
	body.Country = country(body.Country)
	if err := body.Validate(""); err != nil {
		return err
	}
	if body.Cursor == "" {
		if err := a.excludeAgain(r); err != nil {
			return err
		}
	}
	done, err := a.Reconciler.Run(r.Context(), body.Partition, body.Cursor)
	if err != nil {
		return err
	}
	httpapi.Succeed(w, http.StatusOK, done)
	return nil
}
