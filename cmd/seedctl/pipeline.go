package main

import (
	"context"
	"fmt"
	"io"

	"github.com/spf13/cobra"

	"github.com/newsfork/seed-engine/cmd/seedctl/internal/client"
	"github.com/newsfork/seed-engine/contract"
)

func pauseCommand() *cobra.Command {
	return controlCommand(&cobra.Command{
		Use:   "pause",
		Short: "hold all messages back; nothing is lost",
		Args:  noArgs,
		Long: `Raw files and domains wait until "seedctl resume". What is being worked on is finished. With --json
it prints {"paused", "since", "by", "reason"}.`,
		Example: `  seedctl pause --reason "moving the bucket"`,
	})
}

func resumeCommand() *cobra.Command {
	return controlCommand(&cobra.Command{
		Use:     "resume",
		Short:   "let a paused pipeline go on",
		Args:    noArgs,
		Long:    `With --json it prints {"paused", "since", "by", "reason"}.`,
		Example: `  seedctl resume`,
	})
}

// controlCommand completes a command that pauses or resumes the pipeline.
func controlCommand(cmd *cobra.Command) *cobra.Command {
	verb := cmd.Name()
	r := newRemote(cmd)
	reason := reasonFlag(r)
	return r.command(func(ctx context.Context, _ []string) error {
		var p contract.Pipeline
		if err := r.Call(ctx, client.Request{Method: "POST", Path: []string{"pipeline", verb},
			Body: reasonBody(*reason)},
			&p); err != nil {
			return err
		}
		return r.show(p, func(w io.Writer) error {
			_, err := fmt.Fprintln(w, pipelineText(&p))
			return err
		})
	})
}

func pipelineText(p *contract.Pipeline) string {
	state := "running"
	if p.Paused {
		state = "paused"
	}
	if p.Since == nil {
		state = "running, and never paused"
		if p.Reason == nil {
			return state
		}
		return fmt.Sprintf("%s, by %s, reason: %s", state, or(p.By), or(p.Reason))
	}
	return fmt.Sprintf("%s since %s, by %s, reason: %s", state, moment(p.Since), or(p.By), or(p.Reason))
}

func reconcileCommand() *cobra.Command {
	r := newRemote(&cobra.Command{
		Use:   "reconcile --country LETTERS --category NAME --date DAY",
		Short: "rebuild the ledger of a partition from the bucket",
		Args:  noArgs,
		Long: `The bucket is the truth; the ledger, from which status and domains are read, is a view of it that
can miss something after an outage. This reads the whole partition, in as many calls as that takes.
When it is interrupted it says the cursor with which to go on.

With --json it prints {"partition_info", "files", "domains", "dead_letters", "done", "cursor"},
summed over the calls.`,
		Example: `  seedctl reconcile --country sg --category news --date 2026-01-28`,
	})
	var p contract.Partition
	r.partitionFlags(&p)
	cursor := r.flags.String("cursor", "", "`CURSOR` of an interrupted call")
	return r.command(func(ctx context.Context, _ []string) error {
		if err := wholePartition(p); err != nil {
			return err
		}
		sum := contract.Reconciled{Partition: p, Cursor: contract.Text(*cursor)}
		for !sum.Done {
			var one contract.Reconciled
			err := r.Call(ctx, client.Request{Method: "POST", Path: []string{"seeds", "reconcile"}, Body: struct {
				contract.Partition
				Cursor *string `json:"cursor,omitempty"`
			}{p, sum.Cursor}}, &one)
			if err == nil && !one.Done && (one.Cursor == nil || sum.Cursor != nil && *one.Cursor == *sum.Cursor) {
				err = r.Unexpected("does not get on with the partition")
			}
			if err != nil {
				if sum.Cursor != nil && *sum.Cursor != *cursor {
					r.complain("to go on: --cursor %q", *sum.Cursor)
				}
				return err
			}
			sum.Files += one.Files
			sum.Domains += one.Domains
			sum.DeadLetters += one.DeadLetters
			sum.Queued += one.Queued
			sum.Done, sum.Cursor = one.Done, one.Cursor
			r.progress.update(-1, reconciledText(&sum))
		}
		r.progress.clear()
		if sum.Files+sum.Domains+sum.DeadLetters == 0 {
			r.hint(ctx)
		}
		return r.show(sum, func(w io.Writer) error {
			_, err := fmt.Fprintln(w, reconciledText(&sum))
			return err
		})
	})
}

func reconciledText(s *contract.Reconciled) string {
	text := fmt.Sprintf("%s, %s, %s read", count(int(s.Files), "file"), count(int(s.Domains), "domain"),
		count(int(s.DeadLetters), "dead letter"))
	if s.Queued > 0 {
		text += fmt.Sprintf(", %s put back into the frontier", count(int(s.Queued), "URL"))
	}
	return text
}
