package handlers

import (
	"context"
	"net/http"
	"strings"
	"sync"

	"github.com/newsfork/seed-engine/alarms"
	"github.com/newsfork/seed-engine/contract"
	"github.com/newsfork/seed-engine/httpapi"
	"github.com/newsfork/seed-engine/ledger"
)

const maxTrendHours = 168

// status shows the progress of the pipeline.
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
			q.fail(contract.Invalid("by", "%q is not accepted; use partition or error_type", by))
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
	httpapi.Succeed(w, http.StatusOK, contract.Status{
		Stats: s.Stats, DeadLetters: s.DeadLetters, Alarms: alarms.Judge(s.AlarmReading), Queues: backlogs,
		Webhook:   a.alarmWebhook(s.Refused),
		Paused:    controls.Pipeline.Paused,
		UpdatedAt: contract.Time{Time: want.Now}, Partitions: s.Partitions, Errors: s.Errors, Trend: s.Trend,
		Rejections: s.Rejections,
	})
	return nil
}

// alarmWebhook describes the receiver of changes of alarms. What waited when it was taken away is not refused.
func (a *API) alarmWebhook(refused *contract.AlarmsRefused) contract.AlarmWebhook {
	hook := contract.AlarmWebhook{Enabled: a.Settings.AlertWebhookURL != "",
		Signed: a.Settings.AlertWebhookSecret != ""}
	if hook.Enabled {
		hook.Refused = refused
	}
	return hook
}

// backlogs returns the platform's count of each queue, nil for queues without an answer.
func (a *API) backlogs(ctx context.Context) map[string]*contract.Backlog {
	list, errs := a.Backlogs(ctx)
	backlogs := make(map[string]*contract.Backlog, len(list))
	for i, role := range contract.QueueRoles {
		backlogs[role] = nil
		if err := errs[i]; err != nil {
			a.Log.Warn("backlog_failed", "error_type", contract.KindOf(err), "error", err.Error(), "queue", role)
			continue
		}
		backlogs[role] = &list[i]
	}
	return backlogs
}
