package main

import (
	"context"
	"fmt"
	"io"

	"github.com/spf13/cobra"

	"github.com/newsfork/seed-engine/cmd/seedctl/internal/client"
	"github.com/newsfork/seed-engine/contract"
)

func alarmsListCommand() *cobra.Command {
	r := newRemote(&cobra.Command{
		Use:     "list",
		Short:   "the alarms, and whether their changes are posted",
		Args:    noArgs,
		Long:    `Lists every alarm, firing or not. With --json it prints {"alarms", "alarm_webhook"} of the status.`,
		Example: `  seedctl alarms list`,
	})
	return r.command(func(ctx context.Context, _ []string) error {
		var s contract.Status
		if err := r.Call(ctx, client.Request{Method: "GET", Path: []string{"seeds", "status"}}, &s); err != nil {
			return err
		}
		listed := struct {
			Alarms  []contract.AlarmState `json:"alarms"`
			Webhook contract.AlarmWebhook `json:"alarm_webhook"`
		}{s.Alarms, s.Webhook}
		return r.show(listed, func(w io.Writer) error { return writeAlarms(w, &s) })
	})
}

func writeAlarms(w io.Writer, s *contract.Status) error {
	rows := []string{"ALARM\tSTATE\tVALUE\tFIRES ABOVE\tSINCE"}
	for i := range s.Alarms {
		a := &s.Alarms[i]
		value := "-"
		if a.Value != nil {
			value = a.Number(*a.Value)
		}
		since := a.Since
		if since != nil && since.Equal(s.UpdatedAt.Time) {
			since = nil // no cron has seen it yet
		}
		rows = append(rows, fmt.Sprintf("%s\t%s\t%s\t%s\t%s", plain(a.Name), plain(a.State), value,
			a.Number(a.Threshold), moment(since)))
	}
	if err := table(w, rows...); err != nil {
		return err
	}
	posted := "not posted: ALERT_WEBHOOK_URL is not set"
	switch {
	case s.Webhook.Signed:
		posted = "posted and signed"
	case s.Webhook.Enabled:
		posted = "posted, not signed: ALERT_WEBHOOK_SECRET is not set"
	}
	if _, err := fmt.Fprintf(w, "\nchanges are %s\n", posted); err != nil || s.Webhook.Refused == nil {
		return err
	}
	r := s.Webhook.Refused
	_, err := fmt.Fprintf(w, "the webhook has not taken them since %s: %s, posted in vain %s; to be posted: %s\n",
		moment(&r.Since), plain(r.Error), count(int(r.Attempts), "time"), count(int(r.Waiting), "change"))
	return err
}

func alarmsTestCommand() *cobra.Command {
	r := newRemote(&cobra.Command{
		Use:   "test",
		Short: "post a trial to the webhook of alarms",
		Args:  noArgs,
		Long: `Posts a change of the alarm "trial" to ALERT_WEBHOOK_URL, so that you see whether it arrives.

With --json it prints {"id", "signed"}.`,
		Example: `  seedctl alarms test`,
	})
	return r.command(func(ctx context.Context, _ []string) error {
		var trial contract.AlarmTrial
		if err := r.Call(ctx, client.Request{Method: "POST", Path: []string{"alarms", "test"},
			Once: true}, &trial); err != nil {
			return err
		}
		return r.show(trial, func(w io.Writer) error {
			signed := "not signed"
			if trial.Signed {
				signed = "signed"
			}
			_, err := fmt.Fprintf(w, "the webhook took the trial %s, %s\n", plain(trial.ID), signed)
			return err
		})
	})
}
