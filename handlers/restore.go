package handlers

import (
	"net/http"

	"github.com/newsfork/seed-engine/httpapi"
)

// restore runs the next step of restoring shards of the frontier from their snapshots.
func (a frontierRoutes) restore(w http.ResponseWriter, r *http.Request) error {
	if err := onlyQuery(r); err != nil {
		return err
	}
	var body struct {
		Shard  string `json:"shard"`
		Live   bool   `json:"live"`
		Cursor string `json:"cursor"`
	}
	if err := httpapi.ReadJSON(r, &body); err != nil {
		return err
	}
	if body.Cursor == "" {
		if err := a.excludeAgain(r); err != nil {
			return err
		}
	}
	done, err := a.Restorer.Run(r.Context(), body.Shard, body.Live, body.Cursor)
	if err == nil && done.Done { // exclusions confirmed meanwhile might have missed the new rows
		err = a.excludeAgain(r)
	}
	if err != nil {
		return err
	}
	httpapi.Succeed(w, http.StatusOK, done)
	return nil
}
