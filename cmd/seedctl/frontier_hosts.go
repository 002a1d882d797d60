package main

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"math"
	"net/url"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/newsfork/seed-engine/cmd/seedctl/internal/client"
	"github.com/newsfork/seed-engine/contract"
)

func frontierHostsCommand() *cobra.Command {
	r := newRemote(&cobra.Command{
		Use:   "hosts",
		Short: "hosts, what waits there, and when they may be asked",
		Args:  noArgs,
		Long: `Lists the hosts of all shards: those due longest first with --sort due, those with most pages first
with --sort size, else by domain. With --blocked --unblock it ends the block of every blocked host.

With --json each line is a host {"host", "domain", "urls", "entries", "due", "done", "failed",
"traps", "delay_seconds", "ready_at", "due_at", "leased_until", "blocked_until",
"robots_expires_at", "unresolved_until", "excluded", "failures", "refusals",
"last_failure": {"at", "status", "error"}, "forbids_all", "robots_unreadable"}.`,
		Example: `  seedctl frontier hosts --sort size --limit 20
  seedctl frontier hosts --blocked
  seedctl frontier hosts --blocked --unblock`,
	})
	var sort string
	r.choice(&sort, "sort", "`ORDER`: due or size", "due", "size")
	blocked := r.flags.Bool("blocked", false, "only those that an operator blocked")
	unblock := r.flags.Bool("unblock", false, "with --blocked: end all blocks")
	limit := r.limitFlag()
	return r.command(func(ctx context.Context, _ []string) error {
		query := queryOf("sort", sort)
		switch {
		case *unblock && !*blocked:
			return usageError("--unblock ends all blocks, and takes --blocked; " +
				"\"seedctl frontier host HOST --unblock\" ends one")
		case *unblock && (sort != "" || r.cmd.Flags().Changed("limit")):
			return usageError("--unblock ends all blocks; leave --sort and --limit out")
		case *unblock:
			return r.unblockAll(ctx)
		}
		if *blocked {
			query.Set("blocked", "true")
		}
		return list(ctx, r, []string{"frontier", "hosts"}, query, *limit,
			func(p *contract.FrontierHostPage) ([]contract.FrontierHost, *string) {
				for _, name := range p.Unavailable {
					r.complain("%s does not answer; its hosts are missing", plain(name))
				}
				return p.Hosts, p.Cursor
			},
			"HOST\tDOMAIN\tURLS\tENTRIES\tDUE\tTRAPS\tDELAY\tREADY\tBLOCKED UNTIL\tTROUBLE",
			func(h *contract.FrontierHost) string {
				ready := moment(h.ReadyAt)
				if h.Excluded {
					ready = "excluded"
				}
				return fmt.Sprintf("%s\t%s\t%d\t%d\t%d\t%d\t%g s\t%s\t%s\t%s", plain(h.Host), plain(h.Domain), h.URLs,
					h.Entries,
					h.Due, h.Traps, h.Delay, ready, moment(h.BlockedUntil), troubleText(h))
			})
	})
}

// troubleText describes a host's trouble: a robots.txt that forbids everything, or the failures in a row with the
// last one.
func troubleText(h *contract.FrontierHost) string {
	n, what := h.Failures, "failure"
	if n == 0 {
		n, what = h.Refusals, "refusal"
	}
	switch {
	case h.ForbidsAll:
		return "robots.txt forbids everything"
	case h.RobotsUnreadable:
		return "robots.txt could not be read"
	case n == 0:
		return "-"
	case h.LastFailure == nil:
		return count(int(n), what)
	}
	return count(int(n), what) + ", the last: " + failureText(h.LastFailure)
}

// failureText describes a failed request.
func failureText(f *contract.FrontierFailure) string {
	switch {
	case f.Status != nil:
		return fmt.Sprintf("status %d", *f.Status)
	case f.Error != nil && *f.Error == contract.ReportNoRobots:
		return "robots.txt could not be read"
	case f.Error != nil:
		return "no answer: " + plain(*f.Error)
	}
	return "no answer"
}

// nextText says when the next request to a host may be made: once something is due, the host is ready, and its name may
// resolve again.
func nextText(h *contract.FrontierHost) string {
	if h.DueAt == nil {
		return "nothing of it waits"
	}
	at := h.DueAt
	for _, t := range []*contract.Time{h.ReadyAt, h.UnresolvedUntil, h.BlockedUntil} {
		if t != nil && t.After(at.Time) {
			at = t
		}
	}
	return moment(at)
}

// unblockAll ends all blocks. Hosts are collected before any changes, since that would move those of later pages.
func (r *remote) unblockAll(ctx context.Context) error {
	var hosts []string
	query := queryOf("blocked", "true")
	query.Set("limit", "200")
	away := false
	collect := func(page *contract.FrontierHostPage) (*string, error) {
		for i := range page.Hosts {
			hosts = append(hosts, page.Hosts[i].Host)
		}
		for _, name := range page.Unavailable {
			away = true
			r.complain("%s does not answer; its hosts stay blocked", plain(name))
		}
		return page.Cursor, nil
	}
	if err := eachPage(ctx, r, []string{"frontier", "hosts"}, query, collect); err != nil {
		return err
	}
	if err := r.changeHosts(ctx, hosts, map[string]any{"block_until": nil}); err != nil {
		return err
	}
	if len(hosts) == 0 && !r.asJSON {
		fmt.Fprintln(r.out, "no host is blocked")
	}
	if away {
		return errReported
	}
	return nil
}

// changeHosts changes hosts one after another.
func (r *remote) changeHosts(ctx context.Context, hosts []string, body map[string]any) error {
	for _, host := range hosts {
		var changed contract.FrontierHostChanged
		if err := r.Call(ctx, client.Request{Method: "POST", Path: []string{"frontier", "hosts", host}, Body: body},
			&changed); err != nil {
			return err
		}
		if err := r.show(changed, func(w io.Writer) error {
			_, err := fmt.Fprintf(w, "changed %s\n", plain(changed.Host))
			return err
		}); err != nil {
			return err
		}
	}
	return nil
}

// span is a flag for a time with a unit, days among them: 30s, 1d, 1d12h. Numbers without a unit are in unit, or
// refused if that is 0.
type span struct {
	time.Duration
	unit time.Duration
	set  bool
}

func (s *span) String() string { return "" }
func (s *span) Type() string   { return "time" }

// Set parses a span.
func (s *span) Set(text string) error {
	days, rest, hasDays := strings.Cut(text, "d")
	if !hasDays {
		days, rest = "0", text
	}
	n, err := strconv.ParseFloat(days, 64)
	total := n * float64(24*time.Hour)
	if number, bare := strconv.ParseFloat(rest, 64); bare == nil && s.unit > 0 && !hasDays {
		total = number * float64(s.unit)
	} else if rest != "" || !hasDays {
		more, bad := time.ParseDuration(rest)
		total, err = total+float64(more), cmp.Or(err, bad)
	}
	if err != nil || math.IsNaN(total) || math.Abs(total) > float64(maxSpan) {
		return fmt.Errorf("%q is no time, such as 30s, 90m, 12h or 1d", text)
	}
	s.Duration, s.set = time.Duration(total), true
	return nil
}

// maxSpan is the longest span, some 100 years.
const maxSpan = 36_500 * 24 * time.Hour

func frontierHostCommand() *cobra.Command {
	r := newRemote(&cobra.Command{
		Use:   "host [flags] HOST…",
		Short: "show a host, block it, slow it down, empty or forget it",
		Long: `Without flags it shows what the frontier has of the host. What no flag names stays as it is. --empty
drops the pages that wait at the host; for 30 days they return only with a newer date. --forget
failures ends its rest after failures; --forget traps says that nothing of it is a trap; --forget
all lets every page of it be fetched again.

With --json each line is {"host"}, or the host as /openapi.json describes it.`,
		Example: `  seedctl frontier host www.mom.gov.sg
  seedctl frontier host www.mom.gov.sg --block 1d
  seedctl frontier host www.mom.gov.sg --unblock --delay 30s`,
	})
	var block span
	r.flags.Var(&block, "block", "nobody asks it for this `TIME`, such as 12h or 1d")
	unblock := r.flags.Bool("unblock", false, "ends a block")
	delay := span{unit: time.Second}
	r.flags.Var(&delay, "delay",
		"this `TIME` between two requests, such as 30s or 30, whatever the host asks for; 0 for what it asks for")
	empty := r.flags.Bool("empty", false, "drops the pages that wait")
	forget := r.flags.String("forget", "", "forgets `WHAT` became of it: failures, traps or all")
	return r.command(func(ctx context.Context, hosts []string) error {
		body := map[string]any{}
		switch {
		case len(hosts) == 0:
			return usageError("name a HOST; \"seedctl frontier hosts\" shows them")
		case block.set && *unblock:
			return usageError("either --block or --unblock")
		case block.set && block.Duration <= 0:
			return usageError("--block must be above 0, such as 1d")
		case block.set:
			body["block_until"] = time.Now().Add(block.Duration).UTC().Format(time.RFC3339)
		case *unblock:
			body["block_until"] = nil
		}
		switch {
		case delay.set && delay.Duration < 0:
			return usageError("--delay must be at least 0, such as 30s")
		case delay.set:
			body["delay_seconds"] = delay.Seconds()
		}
		if *empty {
			body["empty"] = true
		}
		if *forget != "" {
			body["forget"] = *forget
		}
		if len(body) == 0 {
			return r.showHosts(ctx, hosts)
		}
		return r.changeHosts(ctx, hosts, body)
	})
}

// showHosts shows hosts in full.
func (r *remote) showHosts(ctx context.Context, hosts []string) error {
	for i, host := range hosts {
		var d contract.FrontierHostDetail
		if err := r.Call(ctx, client.Request{Method: "GET", Path: []string{"frontier", "hosts", host}},
			&d); err != nil {
			return err
		}
		if i > 0 && !r.asJSON {
			fmt.Fprintln(r.out)
		}
		if err := r.show(d, func(w io.Writer) error { return writeHost(w, &d) }); err != nil {
			return err
		}
	}
	return nil
}

func writeHost(w io.Writer, d *contract.FrontierHostDetail) error {
	var rows []string
	add := func(label, format string, args ...any) { rows = append(rows, label+"\t"+fmt.Sprintf(format, args...)) }
	add("host", "%s", plain(d.Host))
	add("domain", "%s, %d of at most %d pages wait", plain(d.Domain), d.Of.URLs, d.Of.Limit)
	if n := len(d.Of.MoreStored); n > 0 {
		add("stored", "more pages, of %s", count(n, "partition"))
	}
	if d.Of.MirrorOf != nil {
		add("mirror of", "%s", plain(*d.Of.MirrorOf))
	}
	add("pages", "%d wait, %d fetched, %d failed or gone", d.URLs, d.Done, d.Failed)
	add("entry points", "%d", d.Entries)
	add("delay", "%g s", d.Delay)
	add("ready", "%s", moment(d.ReadyAt))
	add("next request", "%s", nextText(&d.FrontierHost))
	if d.UnresolvedUntil != nil {
		add("unresolved", "its name did not resolve; it is asked again at %s", moment(d.UnresolvedUntil))
	}
	if d.BlockedUntil != nil {
		add("blocked until", "%s", moment(d.BlockedUntil))
	}
	if d.ForbidsAll {
		add("robots.txt", "forbids everything")
	}
	if d.RobotsUnreadable {
		add("robots.txt", "could not be read, so nothing is fetched until it can")
	}
	if d.Failures > 0 {
		add("failures", "%d in a row", d.Failures)
	}
	if d.Refusals > 0 {
		add("refusals", "%d in a row", d.Refusals)
	}
	if d.LastFailure != nil {
		add("last failure", "%s: %s", moment(&d.LastFailure.At), failureText(d.LastFailure))
	}
	if len(d.Leased) > 0 {
		add("leased", "%s until %s", count(len(d.Leased), "URL"), moment(d.LeasedUntil))
	}
	next := ""
	if d.Revisits.NextAt != nil {
		next = ", the next at " + moment(d.Revisits.NextAt)
	}
	add("fetched again", "%s%s; newer dates %s", count(int(d.Revisits.Scheduled), "page"), next,
		map[bool]string{true: "are believed", false: "proved untrue"}[d.Revisits.LastmodTrusted])
	if d.Trap != nil {
		add("traps", "%s refused, the last %s", count(int(d.Traps), "URL"), plain(*d.Trap))
	}
	for _, k := range d.Patterns {
		state := "pattern"
		if k.Refused {
			state = "trap"
		}
		seen := fmt.Sprintf("%s: %d given, %d fetched, %d gone, %d copied", plain(k.Pattern), k.Given, k.Fetched,
			k.Gone, k.Copied)
		if k.Closed > 0 {
			seen += fmt.Sprintf(", %d closed", k.Closed)
		}
		if k.ChangeHours != nil {
			seen += fmt.Sprintf("; changes every %.4g h", *k.ChangeHours)
		}
		add(state, "%s", seen)
	}
	return table(w, rows...)
}

func frontierExportCommand() *cobra.Command {
	r := newRemote(&cobra.Command{
		Use:   "export [flags] SHARD…",
		Short: "all that a shard has",
		Long: `Prints pages of what a shard has, one JSON object a line, as the daily snapshots in R2 have them.
Names of shards are as "seedctl frontier stats" shows them. It takes the API_TOKEN.`,
		Example: `  seedctl frontier export shard-3 > shard-3.jsonl`,
	})
	return r.command(func(ctx context.Context, shards []string) error {
		if len(shards) == 0 {
			return usageError("name a SHARD, such as shard-0; \"seedctl frontier stats\" shows them")
		}
		for _, name := range shards {
			if err := r.export(ctx, name); err != nil {
				return err
			}
		}
		return nil
	})
}

// export writes the pages of a shard.
func (r *remote) export(ctx context.Context, shard string) error {
	return eachPage(ctx, r, []string{"frontier", "shards", shard, "export"}, url.Values{},
		func(page *contract.FrontierExport) (*string, error) {
			return page.Cursor, writeJSON(r.out, page.Snapshot)
		})
}

func frontierRestoreCommand() *cobra.Command {
	r := newRemote(&cobra.Command{
		Use:   "restore [flags] SHARD | --all",
		Short: "give shards back what their last snapshots have",
		Long: `Restores a shard that was lost, or all of them, in as many calls as that takes. What a shard has
already stays, and hosts that exist get what they lack, so this may run while the pipeline does, and
be repeated. Each host goes to the shard that its domain has now. With --live it moves what the
shards have now, instead of what their snapshots have: after a change of FRONTIER_SHARDS, while the
pipeline is paused. Removed shards that have no snapshot yet are not known: name them. When it is
interrupted it says the cursor with which to go on.

With --json it prints {"snapshots": [{"shard", "date"}], "pages", "hosts", "done", "cursor"}, summed
over the calls.`,
		Example: `  seedctl frontier restore shard-3
  seedctl frontier restore --all --live`,
	})
	all := r.flags.Bool("all", false, "all shards")
	live := r.flags.Bool("live", false, "what shards have now, not their snapshots")
	cursor := r.flags.String("cursor", "", "`CURSOR` of an interrupted call")
	return r.command(func(ctx context.Context, shards []string) error {
		if *all != (len(shards) == 0) || len(shards) > 1 {
			return usageError("name either one SHARD or --all")
		}
		body := struct {
			Shard  string `json:"shard,omitempty"`
			Live   bool   `json:"live,omitempty"`
			Cursor string `json:"cursor,omitempty"`
		}{Live: *live, Cursor: *cursor}
		if !*all {
			body.Shard = shards[0]
		}
		sum := contract.Restored{Snapshots: []contract.Snapshotted{}}
		for !sum.Done {
			var one contract.Restored
			err := r.Call(ctx, client.Request{Method: "POST", Path: []string{"frontier", "restore"}, Body: body}, &one)
			if err == nil && !one.Done && (one.Cursor == nil || *one.Cursor == body.Cursor) {
				err = r.Unexpected("does not get on with the snapshots")
			}
			if err != nil {
				if body.Cursor != *cursor {
					r.complain("to go on: --cursor %q", body.Cursor)
				}
				return err
			}
			sum.Snapshots = append(sum.Snapshots, one.Snapshots...)
			sum.Pages += one.Pages
			sum.Hosts += one.Hosts
			if sum.Done, sum.Cursor = one.Done, one.Cursor; one.Cursor != nil {
				body.Cursor = *one.Cursor
			}
			r.progress.update(-1, restoredText(&sum, *live))
		}
		r.progress.clear()
		return r.show(sum, func(w io.Writer) error {
			text := restoredText(&sum, *live)
			if *all && *live {
				text += "\nremoved shards that have no snapshot are not known; name each that had hosts, " +
					"such as \"seedctl frontier restore shard-7 --live\""
			}
			_, err := fmt.Fprintln(w, text)
			return err
		})
	})
}

func restoredText(s *contract.Restored, live bool) string {
	if live {
		return fmt.Sprintf("%s of shards read, %s moved", count(int(s.Pages), "page"), count(int(s.Hosts), "host"))
	}
	return fmt.Sprintf("%s read of %s, %s restored", count(int(s.Pages), "page"), count(len(s.Snapshots), "snapshot"),
		count(int(s.Hosts), "host"))
}
