package main

import (
	"flag"
	"fmt"
	"math"
	"os"
	"regexp"
	"strconv"
	"strings"
	"testing"
)

var update = flag.Bool("update", false, "write the computed parts of docs/scale.md")

const scalePage = "docs/scale.md"

// TestScale recomputes the figures of docs/scale.md from its tables.
func TestScale(t *testing.T) {
	page := read(t, scalePage)
	s := scale{t: t, page: page}
	s.read()
	want := page
	for name, figures := range map[string]string{"unit": s.unit(), "rates": s.rates(), "bill": s.bill(), "limits": s.limits()} {
		mark := regexp.MustCompile(`(?s)(<!-- computed: ` + name + ` -->\n).*?(<!-- end -->)`)
		if !mark.MatchString(want) {
			t.Fatalf("%s has no mark for %q", scalePage, name)
		}
		want = mark.ReplaceAllString(want, "${1}"+strings.ReplaceAll(figures, "$", "$$")+"${2}")
	}
	switch {
	case want == page:
	case *update:
		if err := os.WriteFile(scalePage, []byte(want), 0o666); err != nil {
			t.Fatal(err)
		}
	default:
		t.Errorf("%s is out of date; run go test . -run TestScale -update", scalePage)
		for line := range strings.Lines(want) {
			if !strings.Contains(page, line) {
				t.Logf("now: %s", line)
			}
		}
	}
}

// TestScaleCountsWhatIsCounted: the operations from which docs/scale.md computes are the ones that
// other tests count.
func TestScaleCountsWhatIsCounted(t *testing.T) {
	s := scale{t: t, page: read(t, scalePage)}
	s.read()
	cost := section(t, "docs/operations.md", "## Cost")
	for row, documented := range map[string]string{
		"Queues operations": "Queues", "R2 class A": "R2 class A", "R2 class B": "R2 class B", "D1 rows written": "D1 rows written", "D1 rows read": "D1 rows read",
		"Durable Objects requests": "Durable Object requests", "Durable Objects rows written": "Durable Object rows written", "Durable Objects rows read": "Durable Object rows read",
	} {
		m := regexp.MustCompile(`(?m)^\| ` + documented + ` \| ([\d.]+)`).FindStringSubmatch(cost)
		if m == nil {
			t.Errorf("docs/operations.md, Cost, has no %q", documented)
			continue
		}
		want := number(t, m[1])
		if row == "R2 class B" {
			want += s.operations["Workers requests"]["domain"] // each event reads pause and exclusions
		}
		if got := s.operations[row]["domain"]; math.Abs(got-want) > 1e-9 {
			t.Errorf("%s: %s of a domain are %v, docs/operations.md says %v", scalePage, row, got, want)
		}
	}
	ceilings := read(t, "frontier/rows_test.go") + read(t, "frontier/frontiertest/rows.go") + read(t, "frontier/frontiertest/frontiertest.go")
	for column, list := range map[string][]string{
		"look":         {`"a refresh that found nothing", [^\n]*, ([\d.]+)\)`, `"its share of the ticks", [^\n]*, ([\d.]+)\)`},
		"page":         {`a URL, one a host", rowsOfAURL\(([\d.]+),`},
		"page of five": {`a URL, five a host", rowsOfAURL\(([\d.]+),`},
	} {
		want := 0.0
		for _, ceiling := range list {
			m := regexp.MustCompile(ceiling).FindStringSubmatch(ceilings)
			if m == nil {
				t.Fatalf("no test of the frontier has the ceiling %s", ceiling)
			}
			want += number(t, m[1])
		}
		if got := s.operations["Durable Objects rows written"][column]; got != want {
			t.Errorf("%s: rows written of a %s are %v, the tests of the frontier allow %v", scalePage, column, got, want)
		}
	}
	bytes := regexp.MustCompile(`"bytes a URL", [^\n]*, ([\d.]+)\)`).FindStringSubmatch(ceilings)
	if bytes == nil || math.Abs(number(t, bytes[1])*500/1e6-s.stored["Durable Objects storage"]["MB a domain"]) > 1e-9 {
		t.Errorf("%s: the bytes of a page are not those that frontier/rows_test.go allows: %v", scalePage, bytes)
	}
}

// cells are the numbers of a table by the names of their rows and columns.
type cells map[string]map[string]float64

// scale is what the page's tables say.
type scale struct {
	t    *testing.T
	page string

	resources  []string // in the order of the prices
	price      map[string]float64
	operations cells
	stored     cells
	work       cells
	sizes      []string
	names      []string // of limits, in their order
	most       cells
}

func (s *scale) read() {
	var order []string
	var prices cells
	prices, s.resources, _ = s.table("resource | unit | USD")
	s.price = map[string]float64{}
	for _, name := range s.resources {
		per := 1e6
		if strings.HasSuffix(name, "storage") {
			per = 1
		}
		s.price[name] = prices[name]["USD"] / per
	}
	s.operations, order, _ = s.table("resource | domain")
	for _, name := range order {
		if _, ok := s.price[name]; !ok {
			s.t.Errorf("%s has no price of %s", scalePage, name)
		}
	}
	s.stored, _, _ = s.table("stored |")
	s.work, _, s.sizes = s.table(" | base")
	s.most, s.names, _ = s.table("limit | value")
}

// table reads a table whose header begins so. Cells that are no numbers are left out.
func (s *scale) table(header string) (found cells, rows, columns []string) {
	s.t.Helper()
	_, after, ok := strings.Cut(s.page, "\n| "+strings.TrimPrefix(header, " "))
	if !ok {
		s.t.Fatalf("%s has no table %q", scalePage, header)
	}
	head, body, _ := strings.Cut(after, "\n")
	columns = split("| " + strings.TrimPrefix(header, " ") + head)
	found = cells{}
	for line := range strings.Lines(body) {
		if !strings.HasPrefix(line, "|") {
			break
		}
		values := split(line)
		if strings.HasPrefix(values[0], "---") {
			continue
		}
		rows = append(rows, values[0])
		found[values[0]] = map[string]float64{}
		for i, v := range values[1:] {
			if n, err := strconv.ParseFloat(strings.ReplaceAll(v, ",", ""), 64); err == nil {
				found[values[0]][columns[i+1]] = n
			}
		}
	}
	return found, rows, columns[1:]
}

func split(line string) []string {
	list := strings.Split(strings.Trim(strings.TrimSpace(line), "|"), "|")
	for i := range list {
		list[i] = strings.TrimSpace(list[i])
	}
	return list
}

func number(t *testing.T, text string) float64 {
	t.Helper()
	n, err := strconv.ParseFloat(text, 64)
	if err != nil {
		t.Fatal(err)
	}
	return n
}

// kinds are the columns of the operations.
var kinds = []string{"domain", "look", "page", "page of five"}

// unit prices a million of each kind of work.
func (s *scale) unit() string {
	var b strings.Builder
	b.WriteString("| a million of | " + strings.Join(kinds, " | ") + " |\n| --- | --- | --- | --- | --- |\n")
	total := map[string]float64{}
	for _, name := range s.resources {
		row, ok := s.operations[name]
		if !ok {
			continue
		}
		fmt.Fprintf(&b, "| %s |", name)
		for _, kind := range kinds {
			usd := row[kind] * s.price[name] * 1e6
			total[kind] += usd
			fmt.Fprintf(&b, " %s |", money(usd))
		}
		b.WriteByte('\n')
	}
	b.WriteString("| **together** |")
	for _, kind := range kinds {
		fmt.Fprintf(&b, " **%s** |", money(total[kind]))
	}
	b.WriteString("\n")
	return b.String()
}

// load is the work of a domain a month, by the kinds of operations.
func (s *scale) load(size, pages string) map[string]float64 {
	return map[string]float64{
		"domain": s.work["collections of each, a month"][size],
		"look":   s.work["looks at its entry points, a month"][size],
		pages:    s.work["pages of it fetched, a month"][size],
	}
}

// of is how much of a resource a domain uses a month.
func (s *scale) of(resource, size string) (n float64) {
	load := s.load(size, "page of five")
	for _, kind := range kinds { // in their order, so that sums are always rounded alike
		n += load[kind] * s.operations[resource][kind]
	}
	return n
}

const month = 30 * 86_400.0

func (s *scale) rates() string {
	var b strings.Builder
	b.WriteString("| a second | " + strings.Join(s.sizes, " | ") + " |\n|" + strings.Repeat(" --- |", len(s.sizes)+1) + "\n")
	for _, row := range []struct {
		name string
		rate func(size string) float64 // of a domain, a month
	}{
		{"domains collected", func(size string) float64 { return s.load(size, "")["domain"] }},
		{"entry points looked at", func(size string) float64 { return s.load(size, "")["look"] }},
		{"pages leased and reported", func(size string) float64 { return s.load(size, "page")["page"] }},
		{"messages of the domain queue", s.messages},
		{"calls of shards", func(size string) float64 { return s.of("Durable Objects requests", size) }},
		{"rows that shards write", func(size string) float64 { return s.of("Durable Objects rows written", size) }},
		{"rows that the ledger writes", func(size string) float64 { return s.of("D1 rows written", size) }},
		{"objects put into R2", func(size string) float64 { return s.of("R2 class A", size) }},
	} {
		fmt.Fprintf(&b, "| %s |", row.name)
		for _, size := range s.sizes {
			fmt.Fprintf(&b, " %s |", figure(row.rate(size)*s.work["domains"][size]/month))
		}
		b.WriteByte('\n')
	}
	return b.String()
}

// messages are those of a domain a month: each is written, read and deleted.
func (s *scale) messages(size string) float64 { return s.of("Queues operations", size) / 3 }

func (s *scale) bill() string {
	var b strings.Builder
	b.WriteString("| | " + strings.Join(s.sizes, " | ") + " |\n|" + strings.Repeat(" --- |", len(s.sizes)+1) + "\n")
	total := map[string]float64{}
	for _, name := range s.resources {
		fmt.Fprintf(&b, "| %s |", name)
		for _, size := range s.sizes {
			usd := s.price[name] * s.work["domains"][size] * s.of(name, size)
			if strings.HasSuffix(name, "storage") {
				usd = s.price[name] * s.gigabytes(name, size) * s.work["domains"][size]
			}
			total[size] += usd
			fmt.Fprintf(&b, " %s |", money(usd))
		}
		b.WriteByte('\n')
	}
	b.WriteString("| **together** |")
	for _, size := range s.sizes {
		fmt.Fprintf(&b, " **%s** |", money(total[size]))
	}
	b.WriteString("\n| a domain |")
	for _, size := range s.sizes {
		fmt.Fprintf(&b, " %s |", money(total[size]/s.work["domains"][size]))
	}
	b.WriteString("\n")
	return b.String()
}

// gigabytes are what a domain takes of a storage.
func (s *scale) gigabytes(storage, size string) float64 {
	n := s.stored[storage]["MB a domain"] / 1000
	if storage != "Durable Objects storage" {
		n *= s.work["partitions that are kept"][size]
	}
	return n
}

// limits says at how many domains each limit is reached, and what share of it the sizes use.
func (s *scale) limits() string {
	load := map[string]func(size string) float64{ // of a domain, in the unit of the limit
		"storage of the shards":         func(size string) float64 { return s.gigabytes("Durable Objects storage", size) },
		"calls of the shards":           func(size string) float64 { return s.of("Durable Objects requests", size) / month },
		"storage of the ledger":         func(size string) float64 { return s.gigabytes("D1 storage", size) },
		"writes of the ledger":          func(size string) float64 { return s.load(size, "")["domain"] / month },
		"messages of the domain queue":  func(size string) float64 { return s.messages(size) / month },
		"consumers of the domain queue": func(size string) float64 { return s.messages(size) / month },
		"refreshes":                     func(size string) float64 { return s.load(size, "")["look"] / month * 60 },
		"refreshes of a day":            func(size string) float64 { return s.load(size, "")["look"] / 30 },
	}
	var b strings.Builder
	b.WriteString("| limit | reached at domains | " + strings.Join(s.sizes, " | ") + " |\n|" + strings.Repeat(" --- |", len(s.sizes)+2) + "\n")
	for _, name := range s.names {
		of, ok := load[name]
		if !ok {
			s.t.Errorf("%s: no load for the limit %q", scalePage, name)
			continue
		}
		most := s.most[name]["value"]
		fmt.Fprintf(&b, "| %s | %s |", name, figure(most/of(s.sizes[0])))
		for _, size := range s.sizes {
			share := of(size) * s.work["domains"][size] / most
			text := figure(share*100) + " %"
			if share > 1 {
				text = "**" + figure(share) + " ×**"
			}
			fmt.Fprintf(&b, " %s |", text)
		}
		b.WriteByte('\n')
	}
	return b.String()
}

// money is an amount in USD: cents up to a hundred, then whole dollars.
func money(usd float64) string {
	switch {
	case usd == 0:
		return "–"
	case usd < 0.005:
		return figure(usd)
	case usd < 100:
		return strconv.FormatFloat(usd, 'f', 2, 64)
	}
	return grouped(math.Round(usd))
}

// figure is a number with two or three figures that count.
func figure(n float64) string {
	if n >= 100 {
		unit := math.Pow(10, math.Floor(math.Log10(n))-2)
		return grouped(math.Round(n/unit) * unit)
	}
	if n == 0 {
		return "0"
	}
	return strconv.FormatFloat(n, 'f', max(0, 1-int(math.Floor(math.Log10(n)))), 64)
}

func grouped(n float64) string {
	text := strconv.FormatFloat(n, 'f', 0, 64)
	for at := len(text) - 3; at > 0; at -= 3 {
		text = text[:at] + "," + text[at:]
	}
	return text
}
