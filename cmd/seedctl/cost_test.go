package main

import (
	"encoding/json"
	"math"
	"os"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/newsfork/seed-engine/contract"
)

// TestCost_Prices: prices and operations are those of docs/scale.md.
func TestCost_Prices(t *testing.T) {
	page, err := os.ReadFile("../../docs/scale.md")
	if err != nil {
		t.Fatal(err)
	}
	section := func(title string) string {
		_, text, found := strings.Cut(string(page), "\n## "+title+"\n")
		if !found {
			t.Fatalf("no section %q", title)
		}
		text, _, _ = strings.Cut(text, "\n## ")
		return text
	}
	prices, counts := section("Prices"), section("Operations")
	counts, _, _ = strings.Cut(counts, "\nPer million in USD:") // a table of the same names
	rows := func(text string) map[string][]string {
		found := map[string][]string{}
		for line := range strings.Lines(text) {
			if cells := strings.Split(line, "|"); len(cells) > 3 {
				found[strings.TrimSpace(cells[1])] = cells[2:]
			}
		}
		return found
	}
	is := func(what, cell string, n float64) {
		t.Helper()
		cell = strings.ReplaceAll(strings.TrimSpace(cell), ",", "")
		cell, _, _ = strings.Cut(cell, " ") // the unit
		if v, err := strconv.ParseFloat(cell, 64); err != nil || v != n {
			t.Errorf("%s is %v, and %q in docs/scale.md", what, n, cell)
		}
	}
	price, work := rows(prices), rows(counts)
	charged := 0
	for name := range price {
		if name != "resource" && name != "---" {
			charged++
		}
	}
	if n := len(operations) + len(storage); n != charged {
		t.Errorf("%d resources, and %d in docs/scale.md", n, charged)
	}
	for _, o := range append(append([]resource(nil), operations...), storage...) {
		if price[o.name] == nil || work[o.name] == nil {
			t.Errorf("%s is not in docs/scale.md", o.name)
			continue
		}
		is("the price of "+o.name, price[o.name][1], o.usd)
		is("what is included of "+o.name, price[o.name][2], o.included)
		if name := o.name; !strings.HasSuffix(name, " storage") {
			is(name+" of a domain", work[name][0], o.domain)
			is(name+" of a look", work[name][1], o.look)
			is(name+" of a page", work[name][3], o.page)
		} else if o.domain > 0 {
			is(name+" of a domain", work[name][0], o.domain)
		}
	}
}

// TestCost_Sizes: the month of 10,000 domains is that of docs/scale.md.
func TestCost_Sizes(t *testing.T) {
	status := contract.Status{UpdatedAt: contract.Time{Time: time.Date(2026, 1, 28, 12, 0, 0, 0, time.UTC)}}
	status.Processing.DomainsTotal = 40_000
	status.Trend = []contract.TrendHour{ // 10,000 domains four times a month, half of a day's before midnight
		{Hour: contract.Time{Time: status.UpdatedAt.Add(-20 * time.Hour)}, DomainsProcessed: 600, DomainsFailed: 67},
		{Hour: contract.Time{Time: status.UpdatedAt.Add(-12 * time.Hour)}, DomainsProcessed: 667},
	}
	var stats contract.FrontierStats
	stats.RefreshedToday, stats.AnsweredToday = 10_000, 5_000_000/60 // in half a day
	stats.Bytes = 500_000_000
	c := costsOf(&status, &stats)
	if c.Today.Domains != 667 || c.Day.Domains != 1334 || c.Day.Looks != 20_000 {
		t.Errorf("%+v, %+v", c.Today, c.Day)
	}
	for what, pair := range map[string][2]float64{"a month": {c.USDMonth, 4.68}, "billed": {c.Billed, 5.01}} {
		if math.Abs(pair[0]-pair[1]) > 0.02 {
			t.Errorf("%s: %.3f, and %.2f in docs/scale.md", what, pair[0], pair[1])
		}
	}
	if sum := c.USDToday; sum <= 0 || sum > c.USDMonth/30 {
		t.Errorf("%.3f USD today", sum)
	}

	// A minute after midnight a day has no thousand times as much.
	status.UpdatedAt.Time = time.Date(2026, 1, 28, 0, 1, 0, 0, time.UTC)
	if c := costsOf(&status, &stats); c.Day.Pages != 24*c.Today.Pages {
		t.Errorf("%v pages a day, %v in a minute", c.Day.Pages, c.Today.Pages)
	}
}

func TestCost_JSON(t *testing.T) {
	newEngine(t)
	code, out, _ := seedctl("", "cost", "--json")
	var c cost
	if err := json.Unmarshal([]byte(out), &c); err != nil || code != exitOK || len(c.Resources) != 14 ||
		c.Today.Domains != 1220 || len(c.Missing) != 1 {
		t.Errorf("%d %v %s", code, err, out)
	}
}
