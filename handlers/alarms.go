package handlers

import (
	"context"
	"errors"
	"net/http"

	"github.com/newsfork/seed-engine/alarms"
	"github.com/newsfork/seed-engine/contract"
	"github.com/newsfork/seed-engine/httpapi"
	"github.com/newsfork/seed-engine/settings"
)

// AlarmWatch posts trials to the webhook of alarms.
type AlarmWatch interface {
	Trial(ctx context.Context, by string) (contract.AlarmTrial, error)
}

// AlarmsPage returns the URL of the dashboard's page of alarms, or "" if the engine's own address is not known.
func AlarmsPage(s *settings.Settings) string {
	if s.PublicURL == "" {
		return ""
	}
	return s.PublicURL + "/dashboard/#/alarms"
}

// tryAlarms posts a trial to the webhook of alarms.
func (a *API) tryAlarms(w http.ResponseWriter, r *http.Request) error {
	if err := onlyQuery(r); err != nil {
		return err
	}
	trial, err := a.Alarms.Trial(r.Context(), httpapi.Actor(r))
	var failed *contract.Error
	switch {
	case errors.Is(err, alarms.ErrNoWebhook):
		return httpapi.Errorf(http.StatusConflict, "no_webhook", "%s; alarms are only logged", err)
	case errors.As(err, &failed):
		return httpapi.Errorf(http.StatusBadGateway, "webhook_refused", "%s", failed.Message)
	case err != nil:
		return err
	}
	httpapi.Succeed(w, http.StatusOK, trial)
	return nil
}
