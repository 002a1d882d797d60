package main

import (
	"context"
	"fmt"
	"io"
	"path"
	"slices"

	"github.com/spf13/cobra"

	"github.com/newsfork/seed-engine/cmd/seedctl/internal/client"
	"github.com/newsfork/seed-engine/contract"
)

// deadLetterFlags adds the flags that select dead letters.
func (r *remote) deadLetterFlags() *contract.DeadLetterFilter {
	f := &contract.DeadLetterFilter{}
	r.selected = func() contract.Partition {
		return contract.Partition{Country: f.Country, Category: f.Category, Date: f.Date}
	}
	r.flags.StringVar(&f.Country, "country", "", "two lower-case `LETTERS`, such as sg")
	r.flags.StringVar(&f.Category, "category", "", "`NAME` of a category, such as news")
	r.flags.StringVar(&f.Date, "date", "", "`DAY` as YYYY-MM-DD")
	r.choice(&f.Queue, "queue", "`QUEUE` of the message: seed, domain or webhook", contract.DeadLetterRoles...)
	r.choice(&f.ErrorType, "error-type", "`TYPE` of the error, such as timeout_error", contract.Kinds...)
	r.flags.Func("domain", "`DOMAIN` of the message, or a host of it", func(name string) error {
		f.Domain = hostOf(name)
		if registrable, ok := contract.RegistrableDomain(f.Domain); ok {
			f.Domain = registrable
		}
		return nil
	})
	return f
}

func dlqListCommand() *cobra.Command {
	r := newRemote(&cobra.Command{
		Use:   "list",
		Short: "dead letters, newest first",
		Args:  noArgs,
		Long: `A dead letter is a message that was given up after its last attempt. Those that wait for a decision
are "stored"; --state stored shows them alone.

With --json each line is a dead letter {"id", "state", "resolved_at", "resolved_by", "work",
"partition_info", "domain", "excluded", "key", "error_type", "error_message", "retry_count",
"failed_at", "queue_name", "queue_role", "worker_version", "processing_duration_ms"}.`,
		Example: `  seedctl dlq list --state stored
  seedctl dlq list --queue domain --error-type timeout_error --json`,
	})
	f := r.deadLetterFlags()
	var state string
	r.choice(&state, "state", "`STATE`: stored, replayed or discarded", "stored", "replayed", "discarded")
	limit := r.limitFlag()
	return r.command(func(ctx context.Context, _ []string) error {
		query := queryOf("state", state, "queue", f.Queue, "error_type", f.ErrorType, "country", f.Country, "category",
			f.Category, "date", f.Date, "domain", f.Domain)
		return list(ctx, r, []string{"dlq"}, query, *limit,
			func(p *contract.DeadLetterPage) ([]contract.DeadLetterRecord, *string) {
				return p.DeadLetters, p.Cursor
			},
			deadLetterHeader, deadLetterRow)
	})
}

const deadLetterHeader = "ID\tSTATE\tFAILED\tQUEUE\tPARTITION\tWORK\tRETRIES\tERROR"

func deadLetterRow(d *contract.DeadLetterRecord) string {
	work := path.Base(d.Work) // of a raw file: its partition has a column
	switch {
	case d.QueueRole != nil && *d.QueueRole == contract.WebhookQueue:
		work = d.Work // the URL of the item
	case d.Domain != nil:
		work = *d.Domain
	}
	state := plain(string(d.State))
	if d.State == contract.Stored && d.Excluded != nil && *d.Excluded { // not replayed
		state += ", " + string(contract.Excluded)
	}
	return fmt.Sprintf("%s\t%s\t%s\t%s\t%s\t%s\t%d\t%s: %s", plain(d.ID), state, moment(contract.At(d.FailedAt)),
		plain(d.QueueName),
		partitionText(d.Partition), plain(work), d.RetryCount, plain(string(d.ErrorType)), plain(d.ErrorMessage))
}

func dlqShowCommand() *cobra.Command {
	r := newRemote(&cobra.Command{
		Use:   "show [flags] ID",
		Short: "one dead letter with its reason, message and history",
		Long: `The first characters of the ID are enough, four at least, where no other begins so.

Shows why a message was given up, every attempt that is on record for the same work, its other dead
letters, and the message itself. With --json it is a DeadLetterDetail of /openapi.json.`,
		Example: `  seedctl dlq show 4f1c8d --json | jq .letter.original_message`,
	})
	return r.command(func(ctx context.Context, args []string) error {
		if len(args) != 1 {
			return usageError("name the ID of one dead letter; \"seedctl dlq list\" shows them")
		}
		if len(args[0]) < 4 {
			return usageError("give at least the first four characters of the ID")
		}
		var d contract.DeadLetterDetail
		if err := r.Call(ctx, client.Request{Method: "GET", Path: []string{"dlq", args[0]}}, &d); err != nil {
			return err
		}
		return r.show(d, func(w io.Writer) error { return writeDeadLetter(w, &d) })
	})
}

func attemptRow(a *contract.Attempt) string {
	return fmt.Sprintf("%d\t%s\t%d\t%s\t%s: %s", a.Attempt, moment(&a.FailedAt), a.DurationMS, plain(a.MessageID),
		plain(string(a.ErrorType)), plain(a.ErrorMessage))
}

func writeDeadLetter(w io.Writer, d *contract.DeadLetterDetail) error {
	var rows []string
	add := func(label, format string, args ...any) { rows = append(rows, label+"\t"+fmt.Sprintf(format, args...)) }
	add("id", "%s", plain(d.ID))
	if d.ResolvedAt == nil {
		add("state", "%s", plain(string(d.State)))
	} else {
		add("state", "%s %s by %s", plain(string(d.State)), moment(d.ResolvedAt), or(d.ResolvedBy))
	}
	add("error", "%s: %s", plain(string(d.ErrorType)), plain(d.ErrorMessage))
	add("failed", "%s, after %s, %d ms", moment(contract.At(d.FailedAt)), retries(d.RetryCount), d.ProcessingDurationMS)
	add("queue", "%s", plain(d.QueueName))
	add("worker", "%s", plain(d.WorkerVersion))
	add("work", "%s", plain(d.Work))
	add("partition", "%s", partitionText(d.Partition))
	add("domain", "%s", or(d.Domain))
	add("key", "%s", plain(d.Key))
	err := tables(w, rows,
		listTable("ATTEMPT\tFAILED\tMS\tMESSAGE\tERROR", d.Attempts, attemptRow),
		listTable(deadLetterHeader, d.History, deadLetterRow),
	)
	if err != nil {
		return err
	}
	if d.Letter == nil {
		_, err := fmt.Fprintln(w, "\nThe message itself is gone from the bucket.")
		return err
	}
	fmt.Fprintln(w)
	return writeJSON(w, d.Letter.OriginalMessage)
}

func retries(n int) string {
	if n == 1 {
		return "1 retry"
	}
	return fmt.Sprintf("%d retries", n)
}

func dlqReplayCommand() *cobra.Command {
	return resolveCommand("replayed", &cobra.Command{
		Use:   "replay [flags] ID… | --all",
		Short: "send dead letters to their queue again",
		Long: `Sends the dead letters with these ids, or the stored ones that the flags select, or all stored ones.
What was replayed or discarded before is skipped, so that a replay twice is harmless. A letter about
an excluded domain stays: take the exclusion back first, or discard the letter. Items that the
webhook skipped are not replayed: give them to its receiver in another way, and discard them. A
message that fails again becomes a new dead letter that knows its history.

With --json it prints {"done", "skipped", "failed": [{"id", "code", "message"}], "remaining"}. If
one failed, or some remain, the exit code is 1.`,
		Example: `  seedctl dlq replay 4f1c8d
  seedctl dlq replay --queue domain --error-type timeout_error`,
	})
}

func dlqDiscardCommand() *cobra.Command {
	return resolveCommand("discarded", &cobra.Command{
		Use:   "discard [flags] ID… | --all",
		Short: "mark dead letters as not worth a replay",
		Long: `Marks the dead letters with these ids, or the stored ones that the flags select, or all stored ones.
They stay on the list as discarded, and no longer count for the alarm. The raw file of one is
discarded with it, and all other letters of that file: it is queued no more, not even with --force,
until "seedctl upload --replace" mends it.

With --json it prints {"done", "skipped", "failed": [{"id", "code", "message"}], "remaining"}. If
one failed, or some remain, the exit code is 1.`,
		Example: `  seedctl dlq discard 4f1c8d
  seedctl dlq discard --domain gone.example`,
	})
}

// resolveCommand completes a command that replays or discards what the arguments choose.
func resolveCommand(done string, cmd *cobra.Command) *cobra.Command {
	verb := cmd.Name()
	r := newRemote(cmd)
	f := r.deadLetterFlags()
	all := r.flags.Bool("all", false, "all that are stored")
	return r.command(func(ctx context.Context, ids []string) error {
		chosen := 0
		for _, b := range []bool{*all, len(ids) > 0, *f != contract.DeadLetterFilter{}} {
			if b {
				chosen++
			}
		}
		if chosen != 1 {
			return usageError("name either ids, or flags that select, or --all")
		}
		if verb == "replay" && f.Queue == contract.WebhookQueue {
			return usageError("items that the webhook skipped are not replayed; give them to the receiver in another " +
				"way if it needs them, then \"seedctl dlq discard --queue webhook\"")
		}
		sum := contract.Resolved{Failed: []contract.Unresolved{}}
		var err error
		if len(ids) == 0 {
			choice := contract.DeadLetterChoice{All: *all}
			if !*all {
				choice.Filter = f
			}
			err = r.resolveAll(ctx, verb, choice, &sum)
			r.progress.clear()
		} else {
			slices.Sort(ids)
			for some := range slices.Chunk(slices.Compact(ids), contract.MaxResolved) {
				if _, err = r.resolveOnce(ctx, verb, contract.DeadLetterChoice{IDs: some}, &sum); err != nil {
					break
				}
			}
			sum.Remaining = 0 // of the ids none
		}
		if err != nil {
			if sum.Done > 0 {
				r.complain("%s %s before the error", count(int(sum.Done), "dead letter"), done)
			}
			return err
		}
		if err := r.show(sum, func(w io.Writer) error {
			_, err := fmt.Fprintf(w, "%s %s, %d skipped, %d failed, %d remaining\n",
				count(int(sum.Done), "dead letter"), done,
				sum.Skipped, len(sum.Failed), sum.Remaining)
			return err
		}); err != nil {
			return err
		}
		for _, u := range sum.Failed {
			r.complain("%s: %s (%s)", plain(u.ID), plain(u.Message), plain(u.Code))
		}
		if len(ids) == 0 && sum.Done == 0 && len(sum.Failed) == 0 {
			r.hint(ctx)
		}
		if len(sum.Failed) > 0 || sum.Remaining > 0 {
			return errReported
		}
		return nil
	})
}

// resolveOnce adds the outcome of one call to sum, and gives how many it resolved.
func (r *remote) resolveOnce(ctx context.Context, verb string, choice contract.DeadLetterChoice,
	sum *contract.Resolved) (int64, error) {
	var one contract.Resolved
	if err := r.Call(ctx, client.Request{Method: "POST", Path: []string{"dlq", verb}, Body: choice}, &one); err != nil {
		return 0, err
	}
	sum.Done += one.Done
	sum.Skipped += one.Skipped
	for _, u := range one.Failed { // what fails stays, and fails in the next call too
		if !slices.ContainsFunc(sum.Failed, func(failed contract.Unresolved) bool { return failed.ID == u.ID }) {
			sum.Failed = append(sum.Failed, u)
		}
	}
	sum.Remaining = one.Remaining
	return one.Done, nil
}

// resolveAll calls until nothing remains or nothing more is done. It ends with as many as were there
// at the beginning: what fails again while it works would otherwise keep it busy for ever.
func (r *remote) resolveAll(ctx context.Context, verb string, choice contract.DeadLetterChoice,
	sum *contract.Resolved) error {
	there := int64(0)
	for {
		done, err := r.resolveOnce(ctx, verb, choice, sum)
		if there == 0 {
			there = sum.Done + sum.Remaining
		}
		if err != nil || sum.Remaining == 0 || done == 0 || sum.Done >= there {
			return err
		}
		r.progress.update(float64(sum.Done)/float64(there), fmt.Sprintf("%d of %d dead letters", sum.Done, there))
	}
}
