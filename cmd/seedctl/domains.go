package main

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/newsfork/seed-engine/cmd/seedctl/internal/client"
	"github.com/newsfork/seed-engine/contract"
	"github.com/newsfork/seed-engine/frontier"
)

func domainsCommand() *cobra.Command {
	r := newRemote(&cobra.Command{
		Use:   "domains [flags] [DOMAIN]",
		Short: "domains and how they ended; the document of one",
		Long: `Lists the domains that the flags select, by partition and name. With a DOMAIN it shows what is
known of that one, in its newest partition unless flags name another; with --history when its entry
points were looked at, what they answered, and when they are asked next.

With --json each line is a domain {"domain", "partition_info", "state", "robots_exists",
"sitemap_exists", "processing_duration_ms", "collected_at", "queued_at", "error_type",
"error_message", "crawling_allowed", "barrier", "barrier_reason", "retry"}; with a DOMAIN it is one
object that holds its domain_metadata.json as "document".`,
		Example: `  seedctl domains --state failed --date 2026-01-28
  seedctl domains --barrier forbidden
  seedctl domains --sort duration --slower-than 5s
  seedctl domains mom.gov.sg --json | jq .document
  seedctl domains mom.gov.sg --history`,
	})
	var p contract.Partition
	r.partitionFlags(&p)
	var state, robots, sitemap, barrier, errorType, sort string
	r.choice(&state, "state", "`STATE`: pending, processed, failed or excluded", "pending", "processed", "failed",
		"excluded")
	r.choice(&robots, "robots", "`true` or false: with or without robots.txt", "true", "false")
	r.choice(&sitemap, "sitemap", "`true` or false: with or without a sitemap", "true", "false")
	r.choice(&barrier, "barrier", "`WHY` nothing may be fetched: forbidden, refuses or nothing", "forbidden", "refuses",
		"nothing")
	r.choice(&errorType, "error-type", "`TYPE` of the error of failed domains, such as timeout_error",
		contract.Kinds...)
	slower := r.flags.Duration("slower-than", 0, "processed or failed, and took longer than this `TIME`, such as 5s")
	r.choice(&sort, "sort",
		"`ORDER`: domain, by partition and name, or duration, the slowest first", "domain",
		"duration")
	history := r.flags.Bool("history", false,
		"of a DOMAIN, when its entry points were looked at and what they answered")
	limit := r.limitFlag()
	return r.command(func(ctx context.Context, args []string) error {
		query := partitionQuery(p)
		switch len(args) {
		case 0:
		case 1:
			return r.domain(ctx, hostOf(args[0]), query, *history)
		default:
			return usageError("one DOMAIN at a time")
		}
		for name, value := range map[string]string{"state": state, "robots": robots, "sitemap": sitemap,
			"barrier": barrier, "error_type": errorType, "sort": sort} {
			if value != "" {
				query.Set(name, value)
			}
		}
		if *slower != 0 {
			query.Set("slower_than_ms", strconv.FormatInt(slower.Milliseconds(), 10))
		}
		return list(ctx, r, []string{"seeds", "domains"}, query, *limit,
			func(p *contract.DomainPage) ([]contract.DomainRecord, *string) { return p.Domains, p.Cursor },
			"DOMAIN\tPARTITION\tSTATE\tCRAWLING\tSITEMAP\tMS\tCOLLECTED\tERROR", domainRow)
	})
}

func domainRow(d *contract.DomainRecord) string {
	why := or(d.ErrorType)
	if d.BarrierReason != nil && d.ErrorType == nil {
		why = plain(*d.BarrierReason)
	}
	if d.ErrorMessage != nil {
		why += ": " + or(d.ErrorMessage)
	}
	if x := d.Retry; x != nil {
		why = fmt.Sprintf("attempt %d of %d: %s", x.Attempt, x.Of, retryText(x))
	}
	return fmt.Sprintf("%s\t%s\t%s\t%s\t%s\t%s\t%s\t%s", plain(d.Domain), partitionText(&d.Partition), stateText(d),
		yesNo(d.CrawlingAllowed), yesNo(d.Sitemap), number(d.DurationMS), moment(d.CollectedAt), why)
}

// retryText describes why an attempt failed, and when the next one is.
func retryText(x *contract.DomainRetry) string {
	text := plain(string(x.ErrorType)) + ": " + plain(x.ErrorMessage)
	if x.NextAt != nil {
		text += "; again at " + moment(x.NextAt)
	}
	return text
}

// stateText is the state of a domain; what operators rule out now is excluded, also where no message of it was dropped
// yet, and one that was processed in vain says why.
func stateText(d *contract.DomainRecord) string {
	if d.Excluded != nil && *d.Excluded {
		return string(contract.Excluded)
	}
	if d.State == contract.Processed && d.Barrier != nil {
		if *d.Barrier == contract.Empty {
			return "nothing to fetch"
		}
		return plain(string(*d.Barrier))
	}
	return plain(string(d.State))
}

func yesNo(b *bool) string {
	switch {
	case b == nil:
		return "-"
	case *b:
		return "yes"
	}
	return "no"
}

func number(n *int64) string {
	if n == nil {
		return "-"
	}
	return strconv.FormatInt(*n, 10)
}

// domain shows one domain.
func (r *remote) domain(ctx context.Context, name string, query map[string][]string, history bool) error {
	var d contract.DomainDetail
	if err := r.Call(ctx, client.Request{Method: "GET", Path: []string{"seeds", "domains", name}, Query: query},
		&d); err != nil {
		return r.perhaps(ctx, name, err)
	}
	return r.show(d, func(w io.Writer) error {
		if history {
			return writeHistory(w, d.EntryPoints)
		}
		return writeDomain(w, &d)
	})
}

// writeHistory shows of each entry point the last looks at it, oldest first: a status, with + where there was
// something new, - where nothing answered. Collections of the whole domain have no status.
func writeHistory(w io.Writer, entries []contract.EntryHistory) error {
	if entries == nil {
		_, err := fmt.Fprintln(w, "the frontier does not answer")
		return err
	}
	rows := []string{"METHOD\tEVERY\tCHECKED\tCHANGED\tNEXT\tLAST CHECKS\tURL"}
	for _, e := range entries {
		var checks []string
		for _, c := range e.Checks {
			text := "-"
			switch {
			case c.Status == nil:
			case e.Method == frontier.MethodCollect:
				text = "done"
			default:
				text = strconv.Itoa(*c.Status)
			}
			if c.Changed {
				text += "+"
			}
			checks = append(checks, text)
		}
		every := strings.TrimSuffix((time.Duration(e.Interval) * time.Second).String(), "0s")
		rows = append(rows, fmt.Sprintf("%s\t%s\t%s\t%s\t%s\t%s\t%s", plain(e.Method), every, moment(e.CheckedAt),
			moment(e.ChangedAt), moment(e.NextCheckAt),
			cmp.Or(strings.Join(checks, " "), "-"), plain(e.URL)))
	}
	return table(w, rows...)
}

func writeDomain(w io.Writer, d *contract.DomainDetail) error {
	var rows []string
	add := func(label, format string, args ...any) { rows = append(rows, label+"\t"+fmt.Sprintf(format, args...)) }
	add("domain", "%s", plain(d.Domain))
	add("partition", "%s", partitionText(&d.Partition))
	if e := d.Record; e != nil {
		add("state", "%s", stateText(e))
		if e.ErrorType != nil || e.ErrorMessage != nil {
			add("error", "%s: %s", or(e.ErrorType), or(e.ErrorMessage))
		}
		if x := e.Retry; x != nil {
			add("retried", "attempt %d of %d failed at %s: %s", x.Attempt, x.Of, moment(&x.FailedAt), retryText(x))
		}
		if e.State == contract.Failed {
			addNextTry(d.EntryPoints, add)
		}
		add("queued", "%s", moment(e.QueuedAt))
		add("collected", "%s, in %s ms", moment(e.CollectedAt), number(e.DurationMS))
	} else {
		add("state", "the ledger lacks it; \"seedctl reconcile\" completes it")
	}
	var doc *contract.Document
	switch err := json.Unmarshal(d.Document, &doc); {
	case err != nil:
		add("document", "cannot be read: %s", plain(err.Error()))
	case doc == nil:
		add("document", "none yet")
	default:
		addDocument(doc, add)
		add("urls", "%d from %s", doc.Processing.TotalURLs, count(len(doc.Source.RawFilePaths), "raw file"))
	}
	add("key", "%s", plain(d.Key))
	var others []string
	for _, p := range d.Partitions {
		if p != d.Partition {
			others = append(others, partitionText(&p))
		}
	}
	if len(others) > 0 {
		add("also in", "%s", strings.Join(others, ", "))
	}
	return table(w, rows...)
}

// addNextTry adds when a failed domain is collected again to a table.
func addNextTry(entries []contract.EntryHistory, add func(label, format string, args ...any)) {
	for _, e := range entries {
		if e.Method == frontier.MethodCollect && e.NextCheckAt != nil {
			add("next try", "%s, after %s in a row", moment(e.NextCheckAt), count(max(e.Failures, 1), "failure"))
		}
	}
}

// unread returns why a file was not read. Only an unusable answer has a status, whatever the document says: otherwise
// nothing answered, nothing was requested, or the reason names it.
func unread(status int, f contract.Failure) string {
	if f.ErrorType != nil && *f.ErrorType != string(contract.Parse) {
		return or(f.Error)
	}
	if text := or(f.Error); text != fmt.Sprintf("HTTP %d", status) {
		return fmt.Sprintf("status %d, %s", status, text)
	}
	return fmt.Sprintf("status %d", status)
}

// addDocument adds what a document says to a table.
func addDocument(doc *contract.Document, add func(label, format string, args ...any)) {
	flags := ""
	if !doc.Reachable {
		flags += ", nothing answered"
	}
	if doc.Partial {
		flags += ", cut short"
	}
	add("document", "revision %d, valid until %s%s", doc.Revision, moment(&doc.ValidUntil), flags)
	switch {
	case doc.Excluded:
		add("excluded", "by operators of the engine: nobody is to fetch anything")
	case doc.Blocked:
		add("blocked", "it refuses every page, sitemap and feed that was asked for: %s", or(doc.BlockedReason))
	}
	if doc.MovedTo != nil {
		add("moved to", "%s", plain(*doc.MovedTo))
	}
	add("robots.txt", "%s", robotsText(doc))
	add("sitemap", "%s", sitemapText(doc))
	for _, f := range doc.Technical.Feeds {
		add("feed", "%s, %s, %s, updated %s", plain(f.URL), plain(f.Kind), count(f.ItemCount, "item"),
			moment(f.LastUpdated))
	}
	server := doc.Technical.ServerInfo
	https := "no https"
	if server.SupportsHTTPS {
		https = "https"
	}
	requests := count(server.Requests, "request")
	if !doc.Reachable {
		add("server", "nothing answered %s", requests)
		return
	}
	add("server", "%s at %s, %s, %s ms, %s", or(server.Server), or(server.EffectiveHost), https,
		number(server.ResponseTimeAvgMS), requests)
}

func robotsText(doc *contract.Document) string {
	robots := doc.Technical.RobotsTxt
	switch {
	case robots.Error != nil:
		why := unread(doc.Robots.StatusCode, robots.Failure)
		if robots.AllowsCrawling { // RFC 9309, section 2.3.1.3
			why += ", which forbids nothing"
		}
		return why
	case !robots.Exists:
		return fmt.Sprintf("none, status %d", doc.Robots.StatusCode)
	}
	verdict := "forbids crawling"
	switch {
	case doc.Excluded:
		verdict = "moot while excluded"
	case robots.AllowsCrawling:
		verdict = "allows crawling"
	}
	if robots.CrawlDelaySeconds != nil {
		verdict += fmt.Sprintf(", delay %g s", *robots.CrawlDelaySeconds)
	}
	return count(int(robots.Size), "byte") + ", " + verdict
}

func sitemapText(doc *contract.Document) string {
	robots, sitemap := doc.Technical.RobotsTxt, doc.Technical.SitemapXML
	switch {
	case sitemap.Error != nil && robots.Error != nil && doc.Robots.StatusCode == 0 && *sitemap.Error == *robots.Error:
		return "not asked for, since robots.txt could not be read"
	case sitemap.Error != nil:
		return unread(doc.Sitemap.StatusCode, sitemap.Failure)
	case !sitemap.Exists:
		return fmt.Sprintf("none, status %d", doc.Sitemap.StatusCode)
	}
	notRead := ""
	if sitemap.NotRead > 0 {
		notRead = ", " + count(sitemap.NotRead, "sitemap") + " not read"
	}
	return fmt.Sprintf("%s, %s, %s, updated %s%s", or(doc.Sitemap.URL), or(sitemap.Kind),
		count(sitemap.URLCount, "URL"), moment(sitemap.LastUpdated), notRead)
}
