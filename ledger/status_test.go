package ledger_test

import (
	"context"
	"encoding/json"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/newsfork/seed-engine/contract"
	"github.com/newsfork/seed-engine/ledger"
)

// Operators' queries use indexes. A status never reads files or domains, so it takes as long with a million domains
// as with one.
func TestQueries_Plans(t *testing.T) {
	no := false
	slow := int64(5000)
	filter := contract.Filter{Country: "sg", Category: "news", Date: "2026-01-28"}
	domains := func(q ledger.DomainQuery) func(*ledger.Ledger) error {
		return func(l *ledger.Ledger) error { q.Limit = 50; _, err := l.Domains(ctx, q); return err }
	}
	cursor := "eyJ0Ijo1MDAwLCJwIjoxLCJkIjoiYS5zZyJ9"
	status := func(q ledger.StatusQuery) func(*ledger.Ledger) error {
		return func(l *ledger.Ledger) error { q.Now = noon; _, err := l.Status(ctx, q); return err }
	}
	const rejected = `SEARCH f USING INDEX files_rejected \(partition=\?\)` // few files have any
	for _, c := range []struct {
		what  string
		run   func(*ledger.Ledger) error
		index string // access to the table of files or domains; "" for none
	}{
		{"status", status(ledger.StatusQuery{}), rejected},
		{"status of a partition", status(ledger.StatusQuery{Filter: filter, TrendHours: 24}), rejected},
		{"status by partition", status(ledger.StatusQuery{ByPartition: true, TrendHours: 168}), rejected},
		{"status by error", status(ledger.StatusQuery{ByError: true}), rejected},
		{"domains", domains(ledger.DomainQuery{}), "d USING INTEGER PRIMARY KEY|d USING PRIMARY KEY|SCAN d"},
		{"the next domains", domains(ledger.DomainQuery{Cursor: cursor}), "SEARCH d USING PRIMARY KEY"},
		{"domains of a partition", domains(ledger.DomainQuery{Filter: filter}), "SEARCH d USING PRIMARY KEY"},
		{"failed", domains(ledger.DomainQuery{State: contract.Failed, Cursor: cursor}),
			"SEARCH d USING (COVERING )?INDEX (domains_by_state|domains_failed)"},
		{"pending of a partition", domains(ledger.DomainQuery{State: contract.Pending, Filter: filter}),
			"SEARCH d USING PRIMARY KEY"},
		{"pending", domains(ledger.DomainQuery{State: contract.Pending, Cursor: cursor}),
			"SEARCH d USING PRIMARY KEY"},
		{"the first pending", domains(ledger.DomainQuery{State: contract.Pending}), "SEARCH d USING PRIMARY KEY"},
		{"pending of a country", domains(ledger.DomainQuery{State: contract.Pending,
			Filter: contract.Filter{Country: "sg"}}), "SEARCH d USING PRIMARY KEY"},
		{"processed", domains(ledger.DomainQuery{State: contract.Processed, Cursor: cursor}),
			"SEARCH d USING PRIMARY KEY"},
		{"excluded", domains(ledger.DomainQuery{State: contract.Excluded, Cursor: cursor}),
			"SEARCH d USING (COVERING )?INDEX domains_by_state"},
		{"excluded by name", domains(ledger.DomainQuery{State: contract.Excluded, Cursor: cursor,
			Also: &ledger.Named{Names: []string{"a.sg"}}}),
			"SEARCH d USING (PRIMARY KEY|INDEX domains_by_state|COVERING INDEX domains_by_state)"},
		{"without robots.txt", domains(ledger.DomainQuery{Robots: &no, Cursor: cursor}),
			"d USING (COVERING )?INDEX domains_without_robots"},
		{"without sitemap", domains(ledger.DomainQuery{Sitemap: &no, Cursor: cursor}),
			"d USING (COVERING )?INDEX domains_without_sitemap"},
		{"of an error", domains(ledger.DomainQuery{ErrorType: "network_error", Cursor: cursor}),
			"SEARCH d USING (COVERING )?INDEX domains_failed"},
		{"slow ones", domains(ledger.DomainQuery{SlowerThanMS: &slow, SlowestFirst: true, Cursor: cursor}),
			"SEARCH d USING (COVERING )?INDEX domains_(slow|failed_by_duration)"},
		{"the slowest", domains(ledger.DomainQuery{SlowestFirst: true}),
			"d USING (COVERING )?INDEX domains_(slow|failed_by_duration)|^SCAN d$"}, // see TestDomains_Slowest
		{"the slowest without robots.txt", domains(ledger.DomainQuery{SlowestFirst: true, Robots: &no}),
			"d USING (COVERING )?INDEX domains_(slow|without_robots)"},
		{"the slowest behind a barrier",
			domains(ledger.DomainQuery{SlowestFirst: true, State: contract.Processed, Barrier: contract.Empty}),
			"d USING (COVERING )?INDEX domains_(slow|by_barrier)"},
		{"the slowest failed", domains(ledger.DomainQuery{SlowestFirst: true, State: contract.Failed, Cursor: cursor}),
			"SEARCH d USING (COVERING )?INDEX domains_failed_by_duration"},
		{"the slowest of a partition", domains(ledger.DomainQuery{SlowestFirst: true, Filter: filter}),
			"SEARCH d USING (PRIMARY KEY|INDEX domains_by_state)"},
		{"one domain", func(l *ledger.Ledger) error {
			_,
				err := l.Domain(ctx, "a.sg", contract.Filter{})
			return err
		}, "SEARCH d USING PRIMARY KEY"},
		{"files of a page", func(l *ledger.Ledger) error {
			_, err := l.Files(ctx, contract.Partition{}, []string{"raw_0001"})
			return err
		}, "SEARCH f USING PRIMARY KEY"},
		{"standings of files", func(l *ledger.Ledger) error {
			_, err := l.Standings(ctx, []contract.RawFile{{}}, noon, noon)
			return err
		}, "SEARCH f USING PRIMARY KEY"},
	} {
		db := &recorder{DB: open(t)}
		must(t, c.run(ledger.New(db)))
		var plan []string
		for _, s := range db.statements {
			for _, row := range rows(t, db.DB, "EXPLAIN QUERY PLAN "+s.SQL, s.Args...) {
				plan = append(plan, row["detail"].(string))
			}
		}
		text := strings.Join(plan, "\n")
		touched := regexp.MustCompile(`(?m)^(SCAN|SEARCH) (files|domains|d|f)\b.*$`).FindAllString(text, -1)
		for _, line := range touched {
			if c.index == "" || !regexp.MustCompile(c.index).MatchString(line) {
				t.Errorf("%s: %s, want %q\n%s", c.what, line, c.index, text)
			}
		}
		if c.index != "" && len(touched) == 0 {
			t.Errorf("%s: no table was found in\n%s", c.what, text)
		}
		if strings.Contains(c.what, "pending") &&
			(strings.Contains(text, "SUBQUERY") || strings.Index(text, " p") > strings.Index(text, " d ")) {
			t.Errorf("%s: partitions are not read one by one:\n%s", c.what, text)
		}
		few := strings.HasPrefix(c.what, "status") || c.what == "one domain" || c.what == "excluded by name" ||
			c.what == "the slowest of a partition"
		indexed, _, _ := strings.Cut(text, "CO-ROUTINE") // the others, see TestDomains_Slowest
		if strings.Contains(indexed, "TEMP B-TREE FOR ORDER BY") && !few {
			t.Errorf("%s is sorted after it was read:\n%s", c.what, text)
		}
	}
}

// garbled is a database that answers every statement with the same rows.
type garbled struct{ rows string }

func (g garbled) Batch(_ context.Context, statements []ledger.Statement) ([]ledger.Result, error) {
	results := make([]ledger.Result, len(statements))
	for i := range results {
		results[i].Rows = json.RawMessage(g.rows)
	}
	return results, nil
}

// Rows that are not JSON are a fault of the database for every reader.
func TestStatus_GarbledRows(t *testing.T) {
	for _, rows := range []string{"", "nonsense", `[{"files_processed":1}`, `[{"files_processed":1}]]`,
		`[{"minutes":`} {
		_, err := ledger.New(garbled{rows}).Status(ctx,
			ledger.StatusQuery{Now: noon, ByPartition: true, ByError: true, TrendHours: 24})
		if contract.KindOf(err) != contract.Storage {
			t.Errorf("%s: %v", rows, err)
		}
	}
	if _, err := ledger.New(garbled{"[]"}).Status(ctx, ledger.StatusQuery{Now: noon, ByPartition: true}); err != nil {
		t.Error(err)
	}
}

// The time of a status does not grow with the number of domains. bench/status measures it with a million.
func TestStatus_ManyDomains(t *testing.T) {
	if testing.Short() {
		t.Skip("fills a database")
	}
	db := open(t)
	l := ledger.New(db)
	const partitions, few, many = 50, 10, 600
	rows(t, db, `WITH RECURSIVE n(i) AS (SELECT 0 UNION ALL SELECT i + 1 FROM n WHERE i + 1 < ?1)
INSERT INTO partitions (id, country, category, date) SELECT i + 1, 'sg', 'c' || i, '2026-01-28'
FROM n`, int64(partitions))
	best := func(each int64) time.Duration {
		rows(t, db, `WITH RECURSIVE n(i) AS (SELECT 0 UNION ALL SELECT i + 1 FROM n WHERE i + 1 < ?1)
INSERT OR IGNORE INTO domains (partition, domain, queued_at, needed_at, collected_at, met_at, gave_up_at,
excluded_at, reachable, robots, sitemap, duration_ms)
SELECT i % ?2 + 1, 'd' || i || '.sg', 1, 0, 1 + i, 1 + i, 0, 0, i % 10 > 0, i % 3 > 0, i % 5 > 0, i % 7000
FROM n`, partitions*each, int64(partitions))
		best := time.Hour
		for range 10 {
			started := time.Now()
			s, err := l.Status(ctx, ledger.StatusQuery{Now: noon, ByPartition: true, ByError: true, TrendHours: 24})
			best = min(best, time.Since(started))
			must(t, err)
			if s.Processing.DomainsTotal != partitions*each || len(s.Partitions) != partitions ||
				s.Errors[0].Domains != partitions*each/10 {
				t.Fatalf("%+v", s.Processing)
			}
		}
		return best
	}
	if small, large := best(few), best(many); large > 4*small {
		t.Errorf("a status takes %v with %d domains, and %v with %d", small, partitions*few, large, partitions*many)
	}
}
