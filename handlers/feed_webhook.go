package handlers

import (
	"net/http"

	"github.com/newsfork/seed-engine/httpapi"
)

// feedWebhook shows the state of the feed's webhook.
func (a *API) feedWebhook(w http.ResponseWriter, r *http.Request) error {
	if err := onlyQuery(r); err != nil {
		return err
	}
	state, err := a.Webhook.State(r.Context())
	if err != nil {
		return err
	}
	httpapi.Succeed(w, http.StatusOK, state)
	return nil
}

// skipDelivery skips the delivery that the webhook's receiver has not accepted.
func (a *API) skipDelivery(w http.ResponseWriter, r *http.Request) error {
	if err := onlyQuery(r); err != nil {
		return err
	}
	skipped, err := a.Webhook.Skip(r.Context(), r.PathValue("id"), httpapi.Actor(r))
	if err != nil {
		return err
	}
	if skipped == nil {
		return httpapi.NotFound("the webhook holds no delivery with this id")
	}
	httpapi.Succeed(w, http.StatusOK, skipped)
	return nil
}
