package main

import (
	"bytes"
	"cmp"
	"fmt"
	"log"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"
)

// slower is the CPU time of WebAssembly, in units of that of native code.
const slower = 4

// once caps the operations of a day that do not grow with the load: ticks are a minute apart, or more, and write the
// same few rows however many hosts are due.
var once = map[string]float64{"tick": 24 * 60, "stored": 1}

// document is docs/scale.md.
type document []byte

// cell returns a number of a table: of the row that begins with a name, in a section, in a column from 1 on. A missing
// one ends the program.
func (d document) cell(section, row string, column int) float64 {
	_, text, _ := bytes.Cut(d, []byte("\n## "+section+"\n"))
	text, _, _ = bytes.Cut(text, []byte("\n## "))
	for line := range strings.Lines(string(text)) {
		cells := strings.Split(line, " | ")
		if strings.TrimPrefix(cells[0], "| ") != row || len(cells) <= column {
			continue
		}
		v, err := strconv.ParseFloat(strings.ReplaceAll(strings.Trim(cells[column], " |\n"), ",", ""), 64)
		if err == nil {
			return v
		}
	}
	log.Fatalf("docs/scale.md: no number in column %d of %q, section %q", column, row, section)
	return 0
}

// figures are those of a day, at the whole load.
type figures struct {
	factor int
	lines  []figure
	limits []limit
}

// figure is one of them.
type figure struct {
	name     string
	value    float64
	measured bool // the time of calls, which does not grow linearly, and depends on the machine
	shared   bool // of what several share, the more the larger the load is
}

// limit is the used share of a limit.
type limit struct {
	name  string
	share float64
}

// figuresOf computes the figures of a day, with the prices, the other operations and the limits of docs/scale.md.
func figuresOf(d *day, doc document) *figures {
	f := &figures{factor: d.factor}
	scale := float64(d.factor)
	const seconds = 86_400
	add := func(name string, value float64) { f.lines = append(f.lines, figure{name: name, value: value}) }
	took := func(name string, list []time.Duration, p int) {
		f.lines = append(f.lines, figure{name: name, value: milliseconds(percentile(list, p)), measured: true})
	}

	// What a shard does in a day, by operation.
	done := map[string]float64{}
	written := map[string]float64{}
	var busy time.Duration
	var all []time.Duration
	for name, o := range d.operations {
		done[name], written[name] = float64(len(o.took))*scale, float64(o.rows)*scale
		if n := float64(len(o.took)); name == "tick" || name == "stored" {
			more := min(scale, once[name]/n)
			done[name], written[name] = n*more, float64(o.rows)*more
		}
		all = append(all, o.took...)
		for _, t := range o.took {
			busy += t
		}
	}
	written["tick"] += done["tick"] // setAlarm
	operations := slices.Collect(maps.Keys(done))
	calls, rows := sum(done, operations...), sum(written, operations...)
	work := map[string]float64{"domain": float64(d.collected), "look": float64(d.looks),
		"page of five": float64(d.fetched)}
	for name := range work {
		work[name] *= scale * shards
	}
	add("domains collected a day", work["domain"])
	add("looks a day", work["look"])
	add("of them, with something new", float64(d.found)*scale*shards)
	add("pages leased a day", work["page of five"])
	add("calls a second and shard", calls/seconds)
	add("rows written a second and shard", rows/seconds)
	each := func(what string, n float64, names ...string) {
		add("rows written for a "+what, sum(written, names...)*shards/n)
		add("calls for a "+what, sum(done, names...)*shards/n)
		for i := len(f.lines) - 2; i < len(f.lines); i++ {
			f.lines[i].shared = what == "look" // messages, and ticks
		}
	}
	each("domain", work["domain"], "acquire", "mirror", "put", "release")
	each("look", work["look"], "begin_refresh", "begin_refreshes", "end_refresh", "tick")
	each("page of five", work["page of five"], "lease", "report")
	gigabytes := float64(d.after) * scale / 1e9
	add("GB stored in a shard, in the evening", gigabytes)
	add("MB that a shard grows in the day", float64(d.after-d.before)*scale/1e6)

	usd := 0.0
	price := func(resource string) float64 { return doc.cell("Prices", resource, 2) / 1e6 }
	column := map[string]int{"domain": 1, "look": 2, "page of five": 4}
	for _, resource := range []string{"Workers requests", "Workers CPU", "Queues operations", "R2 class A",
		"R2 class B", "D1 rows written", "D1 rows read", "Durable Objects duration", "Durable Objects rows read"} {
		for _, what := range slices.Sorted(maps.Keys(work)) {
			usd += work[what] * doc.cell("Operations", resource, column[what]) * price(resource)
		}
	}
	usd += shards * (calls*price("Durable Objects requests") + rows*price("Durable Objects rows written"))
	add("USD a day", usd)

	for _, name := range []string{"lease", "put", "report"} {
		took("ms of a "+name+", 99th percentile", d.operations[name].took, 99)
	}
	took("ms of a call, median", all, 50)
	took("ms of a call, 99th percentile", all, 99)

	perSecond := func(what string) float64 { return work[what] / seconds }
	value := func(name string) float64 { return doc.cell("What is hit first", name, 1) }
	f.limits = []limit{
		{"storage of the shards", gigabytes * shards / value("storage of the shards")},
		{"calls of the shards", calls * shards / seconds / value("calls of the shards")},
		{"time of a shard's one thread, in WebAssembly", busy.Seconds() * scale * slower / seconds},
		{"storage of the ledger, with the rows of LEDGER_RETENTION_DAYS (180)",
			180 * work["domain"] * doc.cell("Operations", "D1 storage", 1) / 1000 / value("storage of the ledger")},
		{"writes of the ledger", perSecond("domain") / value("writes of the ledger")},
		{"messages of the domain queue",
			(perSecond("domain") + float64(d.messages)*scale*shards/seconds) / value("messages of the domain queue")},
		{"consumers of the domain queue", perSecond("domain") / value("consumers of the domain queue")},
	}
	slices.SortFunc(f.limits, func(a, b limit) int { return cmp.Compare(b.share, a.share) })
	return f
}

// sum adds up some operations.
func sum(of map[string]float64, names ...string) (all float64) {
	slices.Sort(names) // a sum of floating-point numbers depends on the order
	for _, name := range names {
		all += of[name]
	}
	return all
}

func milliseconds(d time.Duration) float64 { return float64(d.Microseconds()) / 1000 }

func percentile(list []time.Duration, p int) time.Duration {
	if len(list) == 0 {
		return 0
	}
	sorted := slices.Sorted(slices.Values(list))
	return sorted[(len(sorted)-1)*p/100]
}

// table prints the figures of two sizes; docs/scale.md has those of the larger one.
func table(small, large *figures) []string {
	lines := []string{
		fmt.Sprintf("\n| of the whole load | played at a %dth | at a %dth | ratio |", large.factor, small.factor),
		"| --- | --- | --- | --- |"}
	for i, f := range large.lines {
		ratio := "–"
		if s := small.lines[i].value; s > 0 {
			ratio = fmt.Sprintf("%.2f", f.value/s)
		}
		if f.measured {
			ratio += ", of this machine"
		} else if f.shared {
			ratio += ", falls as messages fill up"
		}
		lines = append(lines,
			fmt.Sprintf("| %s | %s | %s | %s |", f.name, digits(f.value), digits(small.lines[i].value), ratio))
	}
	lines = append(lines, "", "| limit | used |", "| --- | --- |")
	for _, l := range large.limits {
		lines = append(lines, fmt.Sprintf("| %s | %s %% |", l.name, digits(100*l.share)))
	}
	return append(lines, "", fmt.Sprintf("Met first: %s.", large.limits[0].name))
}

// digits writes a number with three digits, and commas.
func digits(v float64) string {
	if v < 100 {
		return strconv.FormatFloat(v, 'g', 3, 64)
	}
	s := strconv.FormatFloat(v, 'f', 0, 64)
	for at := len(s) - 3; at > 0; at -= 3 {
		s = s[:at] + "," + s[at:]
	}
	return s
}
