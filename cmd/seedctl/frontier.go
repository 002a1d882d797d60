package main

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/newsfork/seed-engine/cmd/seedctl/internal/client"
	"github.com/newsfork/seed-engine/contract"
)

// defaultLeaseSeconds is the length of the command line's leases.
const defaultLeaseSeconds = 60

func frontierStatsCommand() *cobra.Command {
	r := newRemote(&cobra.Command{
		Use:   "stats",
		Short: "how much waits, by shard",
		Args:  noArgs,
		Long: `Shows for each shard its hosts, the pages and entry points that wait, the hosts of which something
may be fetched now, what is leased, and since when the first of the due hosts waits. Shards that do
not answer are named. Scrapers follow by the names that they give themselves (X-Scraper), and those
without a name in one line: the URLs that they were given (LEASED), that were answered, also with
404 or 429 (FETCHED), and that got no answer or 5xx but 503 (FAILED). The rest was given back, is
forbidden by robots.txt, or not reported. All count since the scraper was seen first.

With --json it prints the same as one object, a FrontierStats of /openapi.json.`,
		Example: `  seedctl frontier stats
  seedctl frontier stats --json | jq .oldest_due`,
	})
	return r.command(func(ctx context.Context, _ []string) error {
		var s contract.FrontierStats
		if err := r.Call(ctx, client.Request{Method: "GET", Path: []string{"frontier", "stats"}}, &s); err != nil {
			return err
		}
		return r.show(s, func(w io.Writer) error { return writeFrontierStats(w, &s) })
	})
}

func writeFrontierStats(w io.Writer, s *contract.FrontierStats) error {
	rows := []string{"SHARD\tHOSTS\tURLS\tENTRIES\tDUE\tLEASED\tDONE\tFAILED\tAGAIN\tOLDEST DUE"}
	add := func(name string, c *contract.FrontierCounts) {
		rows = append(rows, fmt.Sprintf("%s\t%d\t%d\t%d\t%d\t%d\t%d\t%d\t%d\t%s", plain(name), c.Hosts, c.URLs,
			c.Entries, c.Due,
			c.Leased, c.Done, c.Failed, c.Scheduled, moment(c.OldestDue)))
	}
	for i := range s.Shards {
		add(s.Shards[i].Name, &s.Shards[i].FrontierCounts)
	}
	add("total", &s.FrontierCounts)
	for _, name := range s.Unavailable {
		rows = append(rows, plain(name)+"\tdoes not answer")
	}
	if err := table(w, rows...); err != nil || len(s.Scrapers) == 0 {
		return err
	}
	rows = []string{"\nSCRAPER\tLEASED\tFETCHED\tFAILED\tLAST SEEN"}
	for i := range s.Scrapers {
		c := &s.Scrapers[i]
		name := cmp.Or(plain(c.Name), "(no name)")
		rows = append(rows, fmt.Sprintf("%s\t%d\t%d\t%d\t%s", name, c.Leased, c.Fetched, c.Failed,
			moment(&c.Last)))
	}
	return table(w, rows...)
}

// leaseBody is the body of a lease.
type leaseBody struct {
	Max      int      `json:"max"`
	Seconds  int      `json:"lease_seconds"`
	Country  string   `json:"country,omitempty"`
	Category string   `json:"category,omitempty"`
	Types    []string `json:"types,omitempty"`
	Kinds    []string `json:"kinds,omitempty"`
	PerHost  int      `json:"per_host,omitempty"`
	MaxHosts int      `json:"max_hosts,omitempty"`
	Domain   string   `json:"domain,omitempty"`
	Host     string   `json:"host,omitempty"`
	MinScore float64  `json:"min_score,omitempty"`
}

func frontierLeaseCommand() *cobra.Command {
	r := newRemote(&cobra.Command{
		Use:   "lease",
		Short: "URLs to fetch, as a scraper gets them",
		Args:  noArgs,
		Long: `Leases URLs: nobody else is given them until they are reported or --seconds are over. Their hosts
are to be asked one request after another, with the delay that is shown.

With --json it prints {"lease_id", "expires_at", "items", "retry_after_seconds", "stopped_by"}.`,
		Example: `  seedctl frontier lease --max 5 --seconds 60 --country sg
  seedctl frontier lease --types news,press_release --per-host 5 --json`,
	})
	var body leaseBody
	r.flags.IntVar(&body.Max, "max", 10, "`N` URLs at most, 1 to 500")
	r.flags.IntVar(&body.Seconds, "seconds", defaultLeaseSeconds, "`SECONDS` until they must be reported, 10 to 900")
	r.flags.StringVar(&body.Country, "country", "", "two lower-case `LETTERS`, such as sg")
	r.flags.StringVar(&body.Category, "category", "", "`NAME` of a category, such as news")
	types := r.flags.String("types", "", "only these content types: `TYPE`[,TYPE…]")
	completeFlag(r.cmd, "types", contentTypes)
	kinds := r.flags.String("kinds", "", "`KIND`: page, entry or both; page without it")
	completeFlag(r.cmd, "kinds", oneOf("page", "entry", "page,entry"))
	r.flags.StringVar(&body.Domain, "domain", "", "only hosts of this registrable `DOMAIN`")
	r.flags.StringVar(&body.Host, "host", "", "only this `HOST`")
	r.flags.Float64Var(&body.MinScore, "min-score", 0, "only URLs with at least this `PRIORITY`, 0 to 1")
	r.flags.IntVar(&body.PerHost, "per-host", 1, "`N` URLs of a host at most, 1 to 20")
	r.flags.IntVar(&body.MaxHosts, "max-hosts", 0, "`N` hosts at most, 1 to 500; as many as there are URLs without it")
	return r.command(func(ctx context.Context, _ []string) error {
		body.Types, body.Kinds = commaList(*types), commaList(*kinds)
		var l contract.FrontierLease
		// A lease whose answer was lost ends by itself: repeating the request costs nothing but its time.
		if err := r.Call(ctx, client.Request{Method: "POST", Path: []string{"frontier", "lease"}, Body: body},
			&l); err != nil {
			return err
		}
		return r.show(l, func(w io.Writer) error { return writeLease(w, &l) })
	})
}

// commaList splits a list at its commas.
func commaList(list string) []string {
	return strings.FieldsFunc(list, func(r rune) bool { return r == ',' || r == ' ' })
}

func writeLease(w io.Writer, l *contract.FrontierLease) error {
	if len(l.Items) == 0 {
		nothing := "nothing to fetch"
		if l.StoppedBy != nil {
			nothing += ": " + stopText(l.StoppedBy)
		}
		_, err := fmt.Fprintf(w, "%s; ask again in %s s\n", nothing, number(l.RetryAfter))
		return err
	}
	fmt.Fprintf(w, "lease %s, until %s\n\n", or(l.LeaseID), moment(l.ExpiresAt))
	rows := []string{"ID\tKIND\tTYPE\tPRIORITY\tDELAY\tPARTITION\tURL"}
	for i := range l.Items {
		item := &l.Items[i]
		kind := item.Kind
		if item.Method != nil {
			kind += " " + *item.Method
		}
		rows = append(rows, fmt.Sprintf("%s\t%s\t%s\t%.3f\t%g s\t%s\t%s", plain(item.ID), plain(kind), plain(item.Type),
			item.Priority, item.CrawlDelay, partitionText(&item.Partition), plain(item.URL)))
	}
	return table(w, rows...)
}

func frontierReportCommand() *cobra.Command {
	r := newRemote(&cobra.Command{
		Use:               "report --lease ID [flags] [FILE…]",
		ValidArgsFunction: files,
		Short:             "what became of leased URLs",
		Long: `Reads results from files, or from standard input, each a JSON object on a line of its own: {"id",
"status" or "error", "fetched_at", "etag", "last_modified", "sha256", "redirected_to",
"retry_after_seconds", "urls": [{"url", "title"}]}. Only id and one of status and error are needed.
A report may be repeated, which changes nothing.

With --json it prints {"accepted", "unknown", "added"}.`,
		Example: `  seedctl frontier report --lease 7.mkx1c3b0 results.jsonl`,
	})
	lease := r.flags.String("lease", "", "`ID` of the lease")
	return r.command(func(ctx context.Context, files []string) error {
		if *lease == "" {
			return usageError("--lease is missing; \"seedctl frontier lease\" shows the id of a lease")
		}
		var sum contract.FrontierReported
		err := batches(files, r.in, "results", 500, func(lines []json.RawMessage) error {
			body := struct {
				LeaseID string            `json:"lease_id"`
				Results []json.RawMessage `json:"results"`
			}{*lease, lines}
			var one contract.FrontierReported
			err := r.Call(ctx, client.Request{Method: "POST", Path: []string{"frontier", "report"}, Body: body}, &one)
			sum.Accepted += one.Accepted
			sum.Unknown += one.Unknown
			sum.Added += one.Added
			return err
		})
		if err != nil {
			return err
		}
		return r.show(sum, func(w io.Writer) error {
			_, err := fmt.Fprintf(w, "%s accepted, %d unknown; %s added\n", count(sum.Accepted, "result"), sum.Unknown,
				count(sum.Added, "found URL"))
			return err
		})
	})
}

func frontierPutCommand() *cobra.Command {
	r := newRemote(&cobra.Command{
		Use:               "put --country LETTERS --category NAME --date DAY [flags] [FILE…]",
		ValidArgsFunction: files,
		Short:             "queue URLs",
		Long: `Reads URLs from files, or from standard input, one a line: the URL alone, or a JSON object {"url",
"title", "type", "priority", "lastmod"} of which only url is needed. What the frontier has seen
already stays as it is; with --refetch, pages come back that were fetched or are gone, and all of
them come before the others of their hosts. If some are rejected, the exit code is 1.

With --json it prints {"accepted", "duplicates", "rejected": [{"url", "reason"}]}.`,
		Example: `  seedctl frontier put --country sg --category news --date 2026-01-28 urls.txt`,
	})
	var p contract.Partition
	r.partitionFlags(&p)
	refetch := r.flags.Bool("refetch", false, "bring back what was fetched or is gone, and have all come first")
	return r.command(func(ctx context.Context, files []string) error {
		if err := wholePartition(p); err != nil {
			return err
		}
		sum := contract.FrontierPut{Rejected: []contract.RejectedURL{}}
		err := batches(files, r.in, "urls", 1000, func(lines []json.RawMessage) error {
			if *refetch {
				if err := refetched(lines); err != nil {
					return err
				}
			}
			body := struct {
				URLs      []json.RawMessage  `json:"urls"`
				Partition contract.Partition `json:"partition_info"`
			}{lines, p}
			var one contract.FrontierPut
			err := r.Call(ctx, client.Request{Method: "POST", Path: []string{"frontier", "urls"}, Body: body}, &one)
			sum.Accepted += one.Accepted
			sum.Duplicates += one.Duplicates
			sum.Rejected = append(sum.Rejected, one.Rejected...)
			return err
		})
		if err != nil {
			return err
		}
		if err := r.show(sum, func(w io.Writer) error {
			_, err := fmt.Fprintf(w, "%s accepted, %s, %d rejected\n", count(sum.Accepted, "URL"),
				count(sum.Duplicates, "duplicate"), len(sum.Rejected))
			return err
		}); err != nil {
			return err
		}
		for _, x := range sum.Rejected {
			r.complain("%s: %s", plain(x.URL), plain(x.Reason))
		}
		if len(sum.Rejected) > 0 {
			return errReported
		}
		return nil
	})
}

// refetched adds "refetch" to URLs of a put.
func refetched(lines []json.RawMessage) error {
	for i, line := range lines {
		var one map[string]any
		if err := json.Unmarshal(line, &one); err != nil {
			return err
		}
		one["refetch"] = true
		lines[i] = contract.Encode(one)
	}
	return nil
}

func frontierRemoveCommand() *cobra.Command {
	r := newRemote(&cobra.Command{
		Use:               "remove --country LETTERS --category NAME --date DAY [flags] [FILE…]",
		ValidArgsFunction: files,
		Short:             "take URLs out",
		Long: `Reads URLs as "frontier put" does, and takes them out: they are gone, and for 30 days come back only
with a newer date or by "frontier put --refetch". If some are not taken out, the exit code is 1. It
takes the API_TOKEN.

With --json it prints {"removed", "rejected": [{"url", "reason"}]}.`,
		Example: `  seedctl frontier remove --country sg --category news --date 2026-01-28 urls.txt`,
	})
	var p contract.Partition
	r.partitionFlags(&p)
	return r.command(func(ctx context.Context, files []string) error {
		if err := wholePartition(p); err != nil {
			return err
		}
		sum := contract.FrontierRemoved{Rejected: []contract.RejectedURL{}}
		err := batches(files, r.in, "urls", 1000, func(lines []json.RawMessage) error {
			body := struct {
				URLs      []json.RawMessage  `json:"urls"`
				Partition contract.Partition `json:"partition_info"`
			}{lines, p}
			var one contract.FrontierRemoved
			err := r.Call(ctx, client.Request{Method: "DELETE", Path: []string{"frontier", "urls"}, Body: body}, &one)
			sum.Removed += one.Removed
			sum.Rejected = append(sum.Rejected, one.Rejected...)
			return err
		})
		if err != nil {
			return err
		}
		if err := r.show(sum, func(w io.Writer) error {
			_, err := fmt.Fprintf(w, "%s removed, %d not\n", count(sum.Removed, "URL"), len(sum.Rejected))
			return err
		}); err != nil {
			return err
		}
		for _, x := range sum.Rejected {
			r.complain("%s: %s", plain(x.URL), plain(x.Reason))
		}
		if len(sum.Rejected) > 0 {
			return errReported
		}
		return nil
	})
}

func frontierURLCommand() *cobra.Command {
	r := newRemote(&cobra.Command{
		Use:   "url [flags] URL…",
		Short: "the state of a URL",
		Long: `Shows whether a URL is due, waiting, leased, fetched, gone, known (seen, never fetched), excluded,
forbidden by robots.txt or unknown to the frontier, why, what its score is the sum of,
and of an entry point the last checks.

With --json each line is a URL as /openapi.json describes its state.`,
		Example: `  seedctl frontier url https://www.mom.gov.sg/newsroom`,
	})
	return r.command(func(ctx context.Context, urls []string) error {
		if len(urls) == 0 {
			return usageError("name a URL")
		}
		for i, url := range urls {
			var s contract.FrontierURL
			if err := r.Call(ctx,
				client.Request{Method: "GET", Path: []string{"frontier", "url"}, Query: queryOf("url", url)},
				&s); err != nil {
				return err
			}
			if i > 0 && !r.asJSON {
				fmt.Fprintln(r.out)
			}
			if err := r.show(s, func(w io.Writer) error { return writeURLState(w, &s) }); err != nil {
				return err
			}
		}
		return nil
	})
}

// stopText returns what keeps URLs from being given, whose decision it is, and why.
func stopText(s *contract.FrontierStop) string {
	text := plain(s.Kind)
	for _, part := range []struct {
		label string
		value *string
	}{{"", s.Rule}, {"by ", s.By}} {
		if part.value != nil {
			text += " " + part.label + plain(*part.value)
		}
	}
	if s.Since != nil {
		text += " since " + moment(s.Since)
	}
	if s.Until != nil {
		text += " until " + moment(s.Until)
	}
	if s.Reason != nil {
		text += " (" + plain(*s.Reason) + ")"
	}
	return text
}

func writeURLState(w io.Writer, s *contract.FrontierURL) error {
	var rows []string
	add := func(label, format string, args ...any) { rows = append(rows, label+"\t"+fmt.Sprintf(format, args...)) }
	add("url", "%s", plain(s.URL))
	add("state", "%s", plain(s.State))
	if s.Why != "" {
		add("why", "%s", plain(s.Why))
	}
	if s.StoppedBy != nil {
		add("stopped by", "%s", stopText(s.StoppedBy))
	}
	if s.DueAt != nil {
		add("due", "%s", moment(s.DueAt))
	}
	if s.Reason != nil {
		add("reason", "%s", plain(*s.Reason))
	}
	if s.Priority != nil {
		add("score", "%.3f", *s.Priority)
	}
	if s.ScoreWhy != nil {
		add("", "= %s", plain(*s.ScoreWhy))
	}
	if s.Attempts > 0 {
		add("attempts", "%d", s.Attempts)
	}
	if s.LastStatus != nil && len(s.Checks) == 0 {
		add("last answer", "%d", *s.LastStatus)
	}
	if s.LastFailure != nil {
		add("last failure", "%s: %s", moment(&s.LastFailure.At), failureText(s.LastFailure))
	}
	if s.Fetched != nil {
		add("last fetched", "%s", moment(s.Fetched))
	}
	if s.LeaseUntil != nil {
		add("leased until", "%s", moment(s.LeaseUntil))
	}
	if e := s.Entry; e != nil {
		add("entry point", "%s, checked every %s", plain(e.Method), time.Duration(e.Interval)*time.Second)
		add("changed", "%s", moment(e.ChangedAt))
		add("failures", "%d in a row", e.Failures)
	}
	if err := table(w, rows...); err != nil || len(s.Checks) == 0 {
		return err
	}
	rows = []string{"", "CHECKED\tSTATUS\tCONTENT"}
	for _, c := range slices.Backward(s.Checks) {
		status, content := "no answer", "-"
		if c.Status != nil {
			status, content = strconv.Itoa(*c.Status), "the same"
		}
		if c.Changed {
			content = "changed"
		}
		rows = append(rows, fmt.Sprintf("%s\t%s\t%s", moment(&c.At), status, content))
	}
	return table(w, rows...)
}
