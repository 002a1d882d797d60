package handlers

import (
	"net/http"

	"github.com/newsfork/seed-engine/contract"
	"github.com/newsfork/seed-engine/httpapi"
)

func (a controlRoutes) pipeline(w http.ResponseWriter, r *http.Request) error {
	if err := onlyQuery(r); err != nil {
		return err
	}
	c, _, err := a.Controls.Read(r.Context())
	if err != nil {
		return err
	}
	httpapi.Succeed(w, http.StatusOK, c.Pipeline)
	return nil
}

func (a controlRoutes) pause(w http.ResponseWriter, r *http.Request) error {
	return a.setPaused(w, r, true)
}

func (a controlRoutes) resume(w http.ResponseWriter, r *http.Request) error {
	return a.setPaused(w, r, false)
}

// setPaused pauses or resumes the pipeline. If it is already in that state, only a new reason is stored.
func (a controlRoutes) setPaused(w http.ResponseWriter, r *http.Request, paused bool) error {
	if err := onlyQuery(r); err != nil {
		return err
	}
	why, err := reason(r)
	if err != nil {
		return err
	}
	c, err := a.Controls.Change(r.Context(), func(c *contract.Controls) error {
		switch {
		case c.Pipeline.Paused != paused:
			c.Pipeline = contract.Pipeline{Paused: paused, Since: contract.At(a.Now().UTC()),
				By: contract.Text(httpapi.Actor(r)), Reason: why}
		case why != nil:
			c.Pipeline.By, c.Pipeline.Reason = contract.Text(httpapi.Actor(r)), why
		}
		return nil
	})
	if err != nil {
		return err
	}
	a.Log.Warn("pipeline_changed", "paused", c.Pipeline.Paused, "by", httpapi.Actor(r))
	httpapi.Succeed(w, http.StatusOK, c.Pipeline)
	return nil
}
