package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/newsfork/seed-engine/cmd/seedctl/internal/client"
	"github.com/newsfork/seed-engine/contract"
	"github.com/newsfork/seed-engine/orchestrator"
)

// orchestrated is the --json form.
type orchestrated struct {
	Orchestrated orchestrator.Result `json:"orchestrated"`
	Status       *contract.Status    `json:"status"`
}

func orchestrateCommand() *cobra.Command {
	r := newRemote(&cobra.Command{
		Use:   "orchestrate",
		Short: "queue raw files that are not finished, and watch them",
		Args:  noArgs,
		Long: `Queues the raw files that the flags select, all without any, and leaves out what is finished, was
discarded, is in flight (queued less than ten minutes ago) or broken (it could not be parsed, and is
the same file). With --force what is finished is done again, and what is in flight or broken is
queued again, such as after a restart of "make dev", whose queues are lost with it.

With --watch it stays until nothing of the selection is pending, with a progress bar on a terminal
and a line every ten seconds elsewhere, both on standard error. It then ends with 0 only if every
file and domain of the selection is processed, and with 1 if one stands as failed, from before or
now, if the ledger misses files, or if nothing has moved for --timeout. Ctrl-C ends the watching,
not the work.

With --json it prints {"orchestrated": {"files_found", "sent", "skipped", "finished"?,
"discarded"?, "in_flight"?, "broken"?, "failed"?, "continued"?}, "status": …}; status is what
"seedctl status --json" prints, or null without --watch.`,
		Example: `  seedctl orchestrate --country sg --category news --date 2026-01-28 --watch
  seedctl orchestrate --date 2026-01-28 --force`,
	})
	var p contract.Partition
	r.partitionFlags(&p)
	force := r.flags.Bool("force", false, "do finished files and domains again")
	watch := r.flags.Bool("watch", false, "stay until all is finished")
	interval := r.flags.Duration("interval", 2*time.Second, "`TIME` between two looks of --watch")
	timeout := r.flags.Duration("timeout", 15*time.Minute, "`TIME` without any movement after which --watch gives up")
	return r.command(func(ctx context.Context, _ []string) error {
		if *interval <= 0 || *timeout <= 0 {
			return usageError("--interval and --timeout must be above 0, such as 2s and 15m")
		}
		result, err := r.orchestrate(ctx, contract.Filter{Country: p.Country, Category: p.Category, Date: p.Date,
			Force: *force})
		if err != nil {
			return err
		}
		if result.FilesFound == 0 {
			r.hint(ctx)
		}
		answer := orchestrated{Orchestrated: result}
		if !*watch || result.FilesFound == 0 {
			if err := r.show(answer, func(w io.Writer) error {
				_, err := fmt.Fprintln(w, orchestratedText(result))
				return err
			}); err != nil {
				return err
			}
			r.sayWhyNothingMoves(ctx, p, result)
			return nil
		}
		if !r.asJSON {
			if _, err := fmt.Fprintln(r.out, orchestratedText(result)); err != nil {
				return err
			}
		}
		var verdict error
		answer.Status, verdict = r.watch(ctx, p, result, *interval, *timeout)
		if answer.Status == nil {
			return verdict
		}
		if err := r.show(answer, func(w io.Writer) error { return r.writeStatus(ctx, w, answer.Status) }); err != nil {
			return err
		}
		return verdict
	})
}

// orchestrate queues the files that f selects. If some sends failed, it shows the part that was done.
func (r *remote) orchestrate(ctx context.Context, f contract.Filter) (result orchestrator.Result, err error) {
	err = r.Call(ctx, client.Request{Method: "POST", Path: []string{"seeds", "orchestrate"}, Body: f, Once: f.Force},
		&result)
	var answer *client.Error
	if errors.As(err, &answer) && answer.Data != nil && json.Unmarshal(answer.Data, &result) == nil {
		r.complain("%s before the error", orchestratedText(result))
	}
	return result, err
}

// sayWhyNothingMoves complains about what keeps the work of a partition from going on: a pause; or messages that are
// lost, as with the queues of "make dev", of files that are finished, which only a forced request queues again.
func (r *remote) sayWhyNothingMoves(ctx context.Context, p contract.Partition, o orchestrator.Result) {
	if o.FilesFound == 0 {
		return
	}
	s, err := r.status(ctx, partitionQuery(p))
	if err != nil {
		return // the answer was shown, and this is only a hint
	}
	pending := s.Processing.DomainsPending
	switch {
	case s.Paused && o.Sent+o.InFlight+int(s.Processing.FilesPending+pending) > 0:
		r.complain("the pipeline is paused, so they wait; \"seedctl resume\" lets it go on")
	case pending > 0 && o.Sent+o.InFlight == 0 && !waiting(s.Queues):
		r.complain("%s pending; if nothing works on that, as when the queue was lost, --force queues it again",
			count(int(pending), "domain"))
	}
}

// waiting reports whether the platform says of a queue that it has messages.
func waiting(queues map[string]*contract.Backlog) bool {
	for role, b := range queues {
		if role != contract.DeadLetterQueue && b != nil && b.Messages > 0 {
			return true
		}
	}
	return false
}

func orchestratedText(o orchestrator.Result) string {
	if o.FilesFound == 0 {
		return "no raw files there"
	}
	s := fmt.Sprintf("%s found, %d queued, %d skipped", count(o.FilesFound, "raw file"), o.Sent, o.Skipped)
	var why []string
	for _, c := range []struct {
		n    int
		what string
	}{{o.Finished, "finished"}, {o.Discarded, "discarded"}, {o.InFlight, "in flight"}, {o.Broken, "broken"}} {
		if c.n > 0 {
			why = append(why, fmt.Sprintf("%d %s", c.n, c.what))
		}
	}
	if len(why) > 0 {
		s += " (" + strings.Join(why, ", ") + ")"
	}
	if o.Failed > 0 {
		s += fmt.Sprintf(", %d failed", o.Failed)
	}
	if o.Continued {
		s += "; the rest follows by itself"
	}
	return s
}

// Looks in a row that must show the same before watch believes that nothing follows: between a
// file's end and the first record of its domains nothing is pending. More of them where the ledger
// lacks files, or may.
const (
	looks     = 3
	manyLooks = 30
)

// watch polls the status of a partition until nothing is pending, and returns the last one. The error says why not
// everything finished well.
func (r *remote) watch(ctx context.Context, p contract.Partition, o orchestrator.Result, interval,
	timeout time.Duration) (*contract.Status, error) {
	defer r.progress.end()
	start := time.Now()
	moved, same := start, 0
	var before contract.ProcessingStats
	for first := true; ; first = false {
		s, err := r.status(ctx, partitionQuery(p))
		if err != nil {
			if ctx.Err() != nil {
				r.complain("the pipeline goes on; \"seedctl status --watch\" looks again")
			}
			return nil, err
		}
		now := s.Processing
		if same++; now != before {
			before, moved, same = now, time.Now(), 1
		}
		r.progress.update(doneOf(now), progressLine(s, time.Since(start)))
		if first {
			r.progress.show()
		}

		complete := now.FilesTotal+s.Discarded >= int64(o.FilesFound)
		enough := looks
		if !complete || o.Continued {
			enough = manyLooks
		}
		pending := now.FilesPending > 0 || now.DomainsPending > 0
		switch {
		case !pending && same >= enough && !complete:
			return s, fmt.Errorf("the ledger has %d of the %s; \"seedctl reconcile\" completes it",
				now.FilesTotal+s.Discarded,
				count(o.FilesFound, "raw file"))
		case !pending && same >= enough && now.FilesFailed+now.DomainsFailed > 0:
			return s, fmt.Errorf("%s and %s failed; \"seedctl dlq list\" and \"seedctl domains --state "+
				"failed\" say why",
				count(int(now.FilesFailed), "file"), count(int(now.DomainsFailed), "domain"))
		case !pending && same >= enough:
			return s, nil
		case time.Since(moved) > timeout && s.Paused:
			return s, errors.New("the pipeline is paused; \"seedctl resume\" lets it go on")
		case time.Since(moved) > timeout:
			return s, fmt.Errorf("nothing has moved for %v; what queues lost, --force queues again", timeout)
		}
		if !sleep(ctx, interval) {
			r.complain("the pipeline goes on; \"seedctl status --watch\" looks again")
			return nil, ctx.Err()
		}
	}
}
