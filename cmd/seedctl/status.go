package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/newsfork/seed-engine/cmd/seedctl/internal/client"
	"github.com/newsfork/seed-engine/contract"
)

func statusCommand() *cobra.Command {
	r := newRemote(&cobra.Command{
		Use:   "status",
		Short: "how far the pipeline is, its alarms and queues",
		Args:  noArgs,
		Long: `Shows how many files and domains of the selected partitions are processed, failed and pending, the
rates of robots.txt and sitemaps, and of the whole engine the dead letters, queues and alarms. Of
one partition --files adds the raw files, those that failed first.

With --watch it is shown again whenever something changed, until Ctrl-C, which then is no failure.
With --json it prints one object, the Status of /openapi.json, with "files" as "seedctl files list"
prints them; with --watch once for each change.`,
		Example: `  seedctl status --country sg --by partition
  seedctl status --country sg --category news --date 2026-01-28 --files
  seedctl status --watch
  seedctl status --json | jq .processing_stats`,
	})
	var p contract.Partition
	r.partitionFlags(&p)
	by := r.flags.String("by", "", "add the numbers by partition, error_type or both: `NAME`[,NAME]")
	completeFlag(r.cmd, "by", oneOf("partition", "error_type", "partition,error_type"))
	trend := r.flags.Int("trend", 0, "add the last `HOURS`, up to 168")
	withFiles := r.flags.Bool("files", false, "add the raw files of one partition, with their states")
	watch := r.flags.Bool("watch", false, "show it again whenever something changed")
	interval := r.flags.Duration("interval", 2*time.Second, "`TIME` between two looks of --watch")
	return r.command(func(ctx context.Context, _ []string) error {
		if *interval <= 0 {
			return usageError("--interval must be above 0, such as 2s")
		}
		if *withFiles {
			if err := wholePartition(p); err != nil {
				return err
			}
		}
		query := partitionQuery(p)
		if *by != "" {
			query["by"] = strings.Split(*by, ",")
		}
		if *trend != 0 {
			query.Set("trend", strconv.Itoa(*trend))
		}
		before := ""
		var files []rawFile
		for {
			s, err := r.status(ctx, query)
			now := before
			if err == nil {
				now = numbers(*s)
			}
			if *withFiles && now != before {
				files, err = r.files(ctx, p)
			}
			if err != nil {
				if *watch && ctx.Err() != nil {
					return nil
				}
				return err
			}
			if before == "" && s.Processing == (contract.ProcessingStats{}) {
				r.hint(ctx)
			}
			drawn := *watch && !r.asJSON && isTerminal(r.out)
			if drawn {
				fmt.Fprint(r.out, "\x1b[H\x1b[2J") // to the upper left, and all erased
			}
			if now != before || drawn {
				before = now
				if err := r.show(partitionStatus{s, files}, func(w io.Writer) error {
					return errors.Join(r.writeStatus(ctx, w, s), writeFiles(w, files))
				}); err != nil {
					return err
				}
			}
			if !*watch || !sleep(ctx, *interval) {
				return nil
			}
		}
	})
}

// partitionStatus is the --json form of a status. Files is nil without --files.
type partitionStatus struct {
	*contract.Status
	Files []rawFile `json:"files,omitzero"`
}

// status requests the numbers that query selects.
func (r *remote) status(ctx context.Context, query url.Values) (*contract.Status, error) {
	var s contract.Status
	err := r.Call(ctx, client.Request{Method: "GET", Path: []string{"seeds", "status"}, Query: query}, &s)
	return &s, err
}

func partitionQuery(p contract.Partition) url.Values {
	return queryOf("country", p.Country, "category", p.Category, "date", p.Date)
}

// queryOf makes a query of names and values, without those that are empty.
func queryOf(pairs ...string) url.Values {
	query := url.Values{}
	for i := 0; i < len(pairs); i += 2 {
		if pairs[i+1] != "" {
			query.Set(pairs[i], pairs[i+1])
		}
	}
	return query
}

// numbers is equal for statuses that differ in nothing but the time. That of an alarm changes with its state alone, or
// while no cron has seen it yet.
func numbers(s contract.Status) string {
	s.UpdatedAt = contract.Time{}
	s.Alarms = slices.Clone(s.Alarms)
	for i := range s.Alarms {
		s.Alarms[i].Since = nil
	}
	var b strings.Builder
	writeJSON(&b, s) // cannot fail
	return b.String()
}

// doneOf is the part of the work that is done, 0 to 1. Files that wait bring domains that are
// not counted yet.
func doneOf(p contract.ProcessingStats) float64 {
	part := func(finished, total int64) float64 {
		if total == 0 {
			return 1
		}
		return float64(finished) / float64(total)
	}
	if p.FilesTotal+p.DomainsTotal == 0 {
		return 0
	}
	return part(p.FilesProcessed+p.FilesFailed, p.FilesTotal) * part(p.DomainsProcessed+p.DomainsFailed, p.DomainsTotal)
}

// progressLine is the same in words.
func progressLine(s *contract.Status, elapsed time.Duration) string {
	part := func(processed, failed, total int64) string {
		text := fmt.Sprintf("%d/%d", processed+failed, total)
		if failed > 0 {
			text += fmt.Sprintf(" (%d failed)", failed)
		}
		return text
	}
	p := s.Processing
	text := "files " + part(p.FilesProcessed, p.FilesFailed, p.FilesTotal) + "  domains " +
		part(p.DomainsProcessed, p.DomainsFailed, p.DomainsTotal)
	if s.Paused {
		text += "  paused"
	}
	return text + "  " + elapsed.Round(time.Second).String()
}

// writeStatus is the status for people.
func (r *remote) writeStatus(ctx context.Context, w io.Writer, s *contract.Status) error {
	return tables(w,
		totals(&s.Processing),
		r.numbers(ctx, s),
		listTable("FILE\tRECORD\tOFFSET\tREASON", s.Rejections, rejectedIn),
		listTable(partitionHeader, s.Partitions, partitionRow),
		listTable("ERROR\tFILES\tDOMAINS", s.Errors, errorRow),
		listTable("HOUR\tFILES\tFAILED\tDOMAINS\tFAILED\tAVERAGE MS", s.Trend, hourRow),
	)
}

// lines are those of a table; one without any is not shown.
type lines []string

func (l *lines) add(format string, args ...any) { *l = append(*l, fmt.Sprintf(format, args...)) }

func totals(p *contract.ProcessingStats) lines {
	t := lines{"\ttotal\tprocessed\tfailed\tpending"}
	t.add("files\t%d\t%d\t%d\t%d", p.FilesTotal, p.FilesProcessed, p.FilesFailed, p.FilesPending)
	t.add("domains\t%d\t%d\t%d\t%d", p.DomainsTotal, p.DomainsProcessed, p.DomainsFailed, p.DomainsPending)
	return t
}

// numbers are all that stand alone: rates, queues, the pipeline, alarms.
func (r *remote) numbers(ctx context.Context, s *contract.Status) lines {
	t := lines{""}
	t.add("excluded\t%s", count(int(s.Excluded), "domain"))
	if b := s.Barred; b != (contract.BarrierCounts{}) {
		t.add("not fetched\t%d forbidden, %d refuse, %d with nothing to fetch", b.Forbidden, b.Refuses, b.Empty)
	}
	t.add("discarded\t%s", count(int(s.Discarded), "raw file"))
	t.add("rejected\t%d of %s", s.RecordsRejected, count(int(s.Records), "record"))
	robots, sitemap := "-", "-" // of nothing there are none
	var averages []string
	if c := s.Collection; s.Processing.DomainsTotal > 0 {
		robots, sitemap = found(c.RobotsFound, c.RobotsRate), found(c.SitemapFound, c.SitemapRate)
	}
	if s.AvgFileMS > 0 {
		averages = append(averages, fmt.Sprintf("%d ms a file", s.AvgFileMS))
	}
	if s.Processing.DomainsProcessed > 0 {
		averages = append(averages, fmt.Sprintf("%d ms a domain", s.Collection.AvgProcessingMS))
	}
	t.add("robots.txt\t%s", robots)
	t.add("sitemap\t%s", sitemap)
	t.add("average\t%s", cmp.Or(strings.Join(averages, ", "), "-"))
	t.add("dead letters\t%d stored, %d replayed, %d discarded", s.DeadLetters.Stored, s.DeadLetters.Replayed,
		s.DeadLetters.Discarded)
	for _, name := range slices.Sorted(maps.Keys(s.Queues)) {
		switch b := s.Queues[name]; {
		case b == nil:
			t.add("queue %s\tunknown", plain(name))
		case b.Oldest == nil:
			t.add("queue %s\t%s", plain(name), count(int(b.Messages), "message"))
		default:
			t.add("queue %s\t%s, the oldest from %s", plain(name), count(int(b.Messages), "message"), moment(b.Oldest))
		}
	}
	t.add("pipeline\t%s", r.pipelineState(ctx, s.Paused))
	for _, a := range s.Alarms {
		if a.Since != nil && a.Since.Equal(s.UpdatedAt.Time) {
			a.Since = nil // no cron has seen it yet
		}
		t.add("alarm\t%s", alarmText(a))
	}
	t.add("updated\t%s UTC", moment(&s.UpdatedAt))
	return t
}

// pipelineState requests the reason of a pause. If that fails, the pause is shown without it.
func (r *remote) pipelineState(ctx context.Context, paused bool) string {
	if !paused {
		return "running"
	}
	state := "paused"
	var why contract.Pipeline
	if r.Call(ctx, client.Request{Method: "GET", Path: []string{"pipeline"}}, &why) == nil && why.Paused {
		state = pipelineText(&why)
	}
	return state + "; \"seedctl resume\" lets it go on"
}

// tables writes tables one after the other.
func tables(w io.Writer, list ...lines) error {
	for _, t := range list {
		if err := tableIf(len(t) > 0, w, t); err != nil {
			return err
		}
	}
	return nil
}

// listTable is a table with a row for each element; none for an empty list.
func listTable[Element any](header string, list []Element, row func(*Element) string) lines {
	if len(list) == 0 {
		return nil
	}
	t := lines{"", header}
	for i := range list {
		t = append(t, row(&list[i]))
	}
	return t
}

func rejectedIn(x *contract.FileRejection) string {
	return rejectionRow(partitionText(&x.Partition)+"/"+x.Chunk, x.Rejection)
}

const partitionHeader = "PARTITION\tFILES\tFAILED\tPENDING\tDOMAINS\tFAILED\tPENDING\tMS A FILE\tMS A DOMAIN\tUPDATED"

func partitionRow(s *contract.PartitionStats) string {
	p := s.Processing
	return fmt.Sprintf("%s\t%d\t%d\t%d\t%d\t%d\t%d\t%s\t%s\t%s", partitionText(&s.Partition), p.FilesTotal,
		p.FilesFailed, p.FilesPending, p.DomainsTotal, p.DomainsFailed, p.DomainsPending, averageText(s.AvgFileMS),
		averageText(s.Collection.AvgProcessingMS), moment(&s.UpdatedAt))
}

// averageText is "-" for 0, the average of nothing.
func averageText(ms int64) string {
	if ms == 0 {
		return "-"
	}
	return strconv.FormatInt(ms, 10)
}

func errorRow(e *contract.ErrorCount) string {
	return fmt.Sprintf("%s\t%d\t%d", plain(e.ErrorType), e.Files, e.Domains)
}

func hourRow(h *contract.TrendHour) string {
	return fmt.Sprintf("%s\t%d\t%d\t%d\t%d\t%d", moment(&h.Hour), h.FilesProcessed, h.FilesFailed, h.DomainsProcessed,
		h.DomainsFailed, h.AvgProcessingMS)
}

func found(n int64, rate float64) string { return fmt.Sprintf("%d found, %.0f %%", n, 100*rate) }

func tableIf(shown bool, w io.Writer, rows []string) error {
	if !shown {
		return nil
	}
	return table(w, rows...)
}

func alarmText(a contract.AlarmState) string {
	value := "too few finished or reported"
	if a.Value != nil {
		value = a.Number(*a.Value)
	}
	text := fmt.Sprintf("%s %s: %s, fires above %s", plain(a.Name), plain(a.State), value, a.Number(a.Threshold))
	if a.Window != nil {
		text += fmt.Sprintf(" over %d minutes", *a.Window)
	}
	if a.Since != nil {
		text += ", since " + moment(a.Since)
	}
	return text
}

func partitionText(p *contract.Partition) string {
	if p == nil {
		return "-"
	}
	return plain(p.Country + "/" + p.Category + "/" + p.Date)
}
