package main

import (
	"context"
	"fmt"
	"io"

	"github.com/spf13/cobra"

	"github.com/newsfork/seed-engine/cmd/seedctl/internal/client"
	"github.com/newsfork/seed-engine/contract"
)

func webhookStatusCommand() *cobra.Command {
	r := newRemote(&cobra.Command{
		Use:   "status",
		Short: "how far the feed was posted, and what its receiver has not accepted",
		Args:  noArgs,
		Long: `Shows the delivery that the receiver of FEED_WEBHOOK_URL has not accepted. No other is posted before
it. With --json it is a FeedWebhook of /openapi.json.`,
		Example: `  seedctl webhook status`,
	})
	return r.command(func(ctx context.Context, _ []string) error {
		var s contract.FeedWebhook
		if err := r.Call(ctx, client.Request{Method: "GET", Path: []string{"feed", "webhook"}}, &s); err != nil {
			return err
		}
		return r.show(s, func(w io.Writer) error { return writeWebhook(w, &s) })
	})
}

func writeWebhook(w io.Writer, s *contract.FeedWebhook) error {
	var rows, urls lines
	add := func(label, format string, args ...any) { rows = append(rows, label+"\t"+fmt.Sprintf(format, args...)) }
	add("posted", "%s", yesNo(&s.Enabled))
	add("cursor", "%s", or(s.Cursor))
	add("batch size", "%d", s.BatchSize)
	if s.Held == nil {
		add("held", "-")
	} else {
		add("held", "%s", plain(s.Held.ID))
		add("failing", "since %s, %s, next %s", moment(s.Held.FailingSince), count(s.Held.Attempts, "attempt"),
			moment(s.Held.NextAttempt))
		if s.Held.Error != "" { // of an earlier version's attempt it is not known
			add("error", "%s", plain(s.Held.Error))
		}
		urls = lines{"URL"}
		for _, url := range s.Held.URLs {
			urls = append(urls, plain(url))
		}
	}
	return tables(w, rows, urls)
}

func webhookSkipCommand() *cobra.Command {
	r := newRemote(&cobra.Command{
		Use:   "skip [flags] ID",
		Short: "give up a delivery that the receiver does not accept",
		Long: `Each item of the delivery becomes a dead letter of the queue webhook. The next delivery is posted
within a minute. The ID keeps a repeated command from skipping another one.

With --json it prints {"id", "skipped", "cursor"}.`,
		Example: `  seedctl webhook skip 9f3c41d07a5be2680d1f4c7b9ae35812`,
	})
	return r.command(func(ctx context.Context, args []string) error {
		if len(args) != 1 {
			return usageError("name the ID of the held delivery; \"seedctl webhook status\" shows it")
		}
		var s contract.FeedSkipped
		if err := r.Call(ctx, client.Request{Method: "POST", Path: []string{"feed", "webhook", args[0], "skip"}},
			&s); err != nil {
			return err
		}
		return r.show(s, func(w io.Writer) error {
			_, err := fmt.Fprintf(w, "%s skipped; \"seedctl dlq list\" shows the dead letters\n",
				count(s.Skipped, "item"))
			return err
		})
	})
}
