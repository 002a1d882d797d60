package main

import (
	"context"
	"fmt"
	"io"
	"math"
	"strconv"
	"time"

	"github.com/spf13/cobra"

	"github.com/newsfork/seed-engine/cmd/seedctl/internal/client"
	"github.com/newsfork/seed-engine/contract"
)

// resource has the platform's price of one of its services. docs/scale.md names the sources.
type resource struct {
	name     string
	usd      float64 // a million of it; a GB-month of what is stored
	included float64 // a month
	domain   float64 // of it, for a domain that is collected; MB of what is stored
	look     float64 // for a look at an entry point
	page     float64 // for a page that is leased and reported, in fives
}

// operations are charged per use.
var operations = []resource{
	{"Workers requests", 0.30, 10e6, 0.2, 0.2, 0.02},
	{"Workers CPU", 0.02, 30e6, 25, 5, 0.2},
	{"Queues operations", 0.40, 1e6, 3, 0.5, 0},
	{"R2 class A", 4.50, 1e6, 4, 0, 0},
	{"R2 class B", 0.36, 10e6, 1.2, 0.2, 0},
	{"D1 rows written", 1.00, 50e6, 2.4, 0, 0},
	{"D1 rows read", 0.001, 25e9, 38, 0, 0},
	{"Durable Objects requests", 0.15, 1e6, 4, 1.33, 0.02},
	{"Durable Objects duration", 12.50, 400_000, 0.004, 0.002, 0.00001},
	{"Durable Objects rows written", 1.00, 50e6, 7.2, 1.32, 0.4},
	{"Durable Objects rows read", 0.001, 25e9, 57, 20, 3},
}

// storage is charged by bytes and months.
var storage = []resource{
	{name: "R2 storage", usd: 0.015, included: 10, domain: 0.1},
	{name: "D1 storage", usd: 0.75, included: 5, domain: 0.0005},
	{name: "Durable Objects storage", usd: 0.20, included: 5}, // the shards say how large they are
}

const (
	planUSD   = 5.0 // of Workers Paid, a month
	monthDays = 30
)

// work counts the actions of the engine.
type work struct {
	Domains float64 `json:"domains"`
	Looks   float64 `json:"looks"`
	Pages   float64 `json:"pages"`
}

func (r *resource) of(w work) float64 { return r.domain*w.Domains + r.look*w.Looks + r.page*w.Pages }

// costOf is a row of the printed table.
type costOf struct {
	Name     string  `json:"name"`
	Today    float64 `json:"today"` // of operations; GB of what is stored
	Day      float64 `json:"a_day"`
	USDToday float64 `json:"usd_today"`
	USDMonth float64 `json:"usd_a_month"`
}

// cost is the result of the command.
type cost struct {
	Until     contract.Time `json:"until"` // from 00:00 UTC
	Today     work          `json:"today"`
	Day       work          `json:"a_day"`
	Resources []costOf      `json:"resources"`
	USDToday  float64       `json:"usd_today"`
	USDMonth  float64       `json:"usd_a_month"`
	Billed    float64       `json:"usd_billed_a_month"` // the plan, and what is beyond what it includes
	Missing   []string      `json:"unavailable"`        // shards that did not answer
}

func costCommand() *cobra.Command {
	r := newRemote(&cobra.Command{
		Use:   "cost",
		Short: "what the engine costs today, and a month at this pace",
		Args:  noArgs,
		Long: `Multiplies what the engine did since 00:00 UTC by the operations and prices of docs/scale.md, in
USD: domains that were collected, its looks at entry points, and pages that scrapers reported. A
month has 30 days like this one: as many domains as in the last 24 hours, and looks and pages at
today's pace, of an hour at least. What is stored is that of the shards, and of the domains.

The first sums leave out what Workers Paid includes; the last line is the plan's 5 USD and what is
beyond it, as if nothing else ran in the account. Not counted: raw files, what people and dashboards
ask for, the feed and its webhook, Workers Logs, and the Info service. The platform's bill decides.

With --json it prints one object {"until", "today": {"domains", "looks", "pages"}, "a_day",
"resources": [{"name", "today", "a_day", "usd_today", "usd_a_month"}], "usd_today", "usd_a_month",
"usd_billed_a_month", "unavailable"}.`,
		Example: `  seedctl cost
  seedctl cost --json | jq .usd_billed_a_month`,
	})
	return r.command(func(ctx context.Context, _ []string) error {
		var status contract.Status
		if err := r.Call(ctx, client.Request{Method: "GET", Path: []string{"seeds", "status"},
			Query: queryOf("trend", "24")}, &status); err != nil {
			return err
		}
		var stats contract.FrontierStats
		if err := r.Call(ctx, client.Request{Method: "GET", Path: []string{"frontier", "stats"}}, &stats); err != nil {
			return err
		}
		c := costsOf(&status, &stats)
		return r.show(c, func(w io.Writer) error { return writeCost(w, &c) })
	})
}

// costsOf computes what an engine costs from what it counts.
func costsOf(status *contract.Status, stats *contract.FrontierStats) cost {
	now := status.UpdatedAt.Time.UTC()
	midnight := now.Truncate(24 * time.Hour)
	c := cost{Until: status.UpdatedAt, Missing: stats.Unavailable,
		Today: work{Looks: float64(stats.RefreshedToday), Pages: float64(stats.AnsweredToday)}}
	for i := range status.Trend {
		h := &status.Trend[i]
		n := float64(h.DomainsProcessed + h.DomainsFailed)
		c.Day.Domains += n
		if !h.Hour.Time.Before(midnight) {
			c.Today.Domains += n
		}
	}
	pace := 24 / max(now.Sub(midnight).Hours(), 1)
	c.Day.Looks, c.Day.Pages = c.Today.Looks*pace, c.Today.Pages*pace
	c.Billed = planUSD
	add := func(row costOf, beyond, usd float64) {
		c.Resources = append(c.Resources, row)
		c.USDToday += row.USDToday
		c.USDMonth += row.USDMonth
		c.Billed += max(beyond, 0) * usd
	}
	for i := range operations {
		o := &operations[i]
		today, day, usd := o.of(c.Today), o.of(c.Day), o.usd/1e6
		add(costOf{o.name, today, day, today * usd, day * monthDays * usd}, day*monthDays-o.included, usd)
	}
	for i := range storage {
		s := &storage[i]
		gigabytes := s.domain * float64(status.Processing.DomainsTotal) / 1000
		if s.domain == 0 {
			gigabytes = float64(stats.Bytes) / 1e9
		}
		add(costOf{s.name, gigabytes, gigabytes, gigabytes * s.usd / monthDays, gigabytes * s.usd},
			gigabytes-s.included, s.usd)
	}
	return c
}

func writeCost(w io.Writer, c *cost) error {
	rows := []string{"WORK\tTODAY\tA DAY"}
	for _, row := range [...]struct {
		name       string
		today, day float64
	}{{"domains collected", c.Today.Domains, c.Day.Domains}, {"looks at entry points", c.Today.Looks, c.Day.Looks},
		{"pages reported", c.Today.Pages, c.Day.Pages}} {
		rows = append(rows, fmt.Sprintf("%s\t%s\t%s", row.name, amount(row.today), amount(row.day)))
	}
	if err := table(w, rows...); err != nil {
		return err
	}
	rows = []string{"\nRESOURCE\tTODAY\tA DAY\tUSD TODAY\tUSD A MONTH"}
	for _, o := range c.Resources {
		unit := ""
		switch o.Name {
		case "Workers CPU":
			unit = " ms"
		case "Durable Objects duration":
			unit = " GB-s"
		case "R2 storage", "D1 storage", "Durable Objects storage":
			unit = " GB"
		}
		rows = append(rows, fmt.Sprintf("%s\t%s%s\t%s%s\t%s\t%s", o.Name, amount(o.Today), unit, amount(o.Day), unit,
			dollars(o.USDToday), dollars(o.USDMonth)))
	}
	rows = append(rows, fmt.Sprintf("together\t\t\t%s\t%s", dollars(c.USDToday), dollars(c.USDMonth)))
	if err := table(w, rows...); err != nil {
		return err
	}
	_, err := fmt.Fprintf(w, "\nToday is from 00:00 UTC to %s. Billed: %s USD a month, with the plan's %g USD and "+
		"what it includes.\nNot counted: raw files, what people and dashboards ask for, the feed, Workers Logs, the "+
		"Info service.\n", moment(&c.Until), strconv.FormatFloat(c.Billed, 'f', 2, 64), planUSD)
	for _, name := range c.Missing {
		if err == nil {
			_, err = fmt.Fprintf(w, "%s does not answer: its looks, pages and bytes are not counted.\n", plain(name))
		}
	}
	return err
}

// amount writes a number with three digits, or as a whole number.
func amount(v float64) string {
	if v < 100 {
		return strconv.FormatFloat(v, 'g', 3, 64)
	}
	return strconv.FormatFloat(math.Round(v), 'f', 0, 64)
}

// dollars writes USD with two digits that say something.
func dollars(v float64) string {
	if v == 0 || v >= 0.01 {
		return strconv.FormatFloat(v, 'f', 2, 64)
	}
	return strconv.FormatFloat(v, 'f', 1-int(math.Floor(math.Log10(v))), 64)
}
