package handlers_test

import (
	"errors"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/newsfork/seed-engine/contract"
	"github.com/newsfork/seed-engine/handlers"
)

// sampleLine is a line of Prometheus' text format.
var sampleLine = regexp.MustCompile(`^[a-z_]+(\{[a-z_]+="(\\.|[^"\\])*"(,[a-z_]+="(\\.|[^"\\])*")*\})? -?[0-9.]+$`)

func TestMetrics(t *testing.T) {
	f := open(t)
	text := func() string {
		w := f.raw(t, "GET", "/metrics", "")
		return w.Body.String()
	}
	f.now = f.now.Add(90 * time.Second) // a page of the frontier is due since
	all := text()
	families := map[string]bool{}
	for line := range strings.Lines(all) {
		line = strings.TrimSuffix(line, "\n")
		if name, ok := strings.CutPrefix(line, "# TYPE "); ok {
			families[strings.Fields(name)[0]] = true
			continue
		}
		if strings.HasPrefix(line, "# HELP ") {
			continue
		}
		name, _, _ := strings.Cut(strings.Fields(line)[0], "{")
		if !sampleLine.MatchString(line) || !families[name] {
			t.Errorf("not a sample of a family: %s", line)
		}
	}
	for _, line := range []string{
		`newsfork_seed_ledger_up 1`, `newsfork_seed_files{state="failed"} 1`,
		`newsfork_seed_domains{state="excluded"} 1`, `newsfork_seed_dead_letters{state="stored"} 3`,
		`newsfork_seed_domain_processing_average_seconds 1.25`, `newsfork_seed_file_processing_average_seconds 0.4`,
		`newsfork_seed_alarm_firing{alarm="dead_letters"} 0`,
		`newsfork_seed_queue_messages{queue="seed"} 3`, `newsfork_seed_queue_oldest_seconds{queue="domain"} 60`,
		`newsfork_seed_exclusions 2`, `newsfork_seed_paused 0`,
		`newsfork_seed_pool_events_total{instance="reused"} 5`, `newsfork_seed_pool_dropped_total{reason="memory"} 1`,
		`newsfork_seed_pool_memory_bytes 3145728`, `newsfork_seed_pool_memory_peak_bytes 5242880`,
		`newsfork_seed_collections_timed_total 4`,
		`newsfork_seed_collection_stage_seconds_total{stage="sitemaps"} 2.25`,
		`newsfork_seed_pool_reserved_bytes 14680064`, `newsfork_seed_pool_refused_total{reason="memory"} 3`,
		`newsfork_seed_frontier_shard_up{shard="shard-0"} 1`, `newsfork_seed_frontier_hosts 3`,
		`newsfork_seed_frontier_quarantined 1`,
		`newsfork_seed_frontier_urls{kind="page"} 2`, `newsfork_seed_frontier_urls{kind="entry"} 0`,
		`newsfork_seed_frontier_due{kind="page"} 2`, `newsfork_seed_frontier_leased 1`,
		`newsfork_seed_frontier_oldest_due_seconds{kind="page"} 90`,
		`newsfork_seed_frontier_oldest_due_seconds{kind="entry"} 0`,
		`newsfork_seed_frontier_pages_total{state="done"} 0`, `newsfork_seed_frontier_answers_total 0`,
		`newsfork_seed_frontier_faults_total 0`,
		`newsfork_seed_info{version="` + contract.Version + `",environment="development"} 1`,
	} {
		if !strings.Contains(all, "\n"+line+"\n") {
			t.Errorf("missing: %s", line)
		}
	}
	if strings.Contains(all, `queue="dlq"`) {
		t.Error("a queue without a backlog from the platform is there")
	}
	f.shards.frozen["shard-1"] = true
	if all := text(); !strings.Contains(all, `newsfork_seed_frontier_shard_up{shard="shard-1"} 0`) ||
		!strings.Contains(all, "\nnewsfork_seed_frontier_hosts ") {
		t.Errorf("without a shard: %s", all)
	}
	f.shards.frozen[""] = true
	if all := text(); !strings.Contains(all, `newsfork_seed_frontier_shard_up{shard="shard-0"} 0`) ||
		strings.Contains(all, "newsfork_seed_frontier_hosts") {
		t.Errorf("without any shard: %s", all)
	}
	f.db.Fail = func() error { return errors.New("D1 is away") }
	f.api.Pool = func() (handlers.PoolStats, error) { return handlers.PoolStats{}, errors.New("no pool") }
	if all := text(); !strings.Contains(all, "newsfork_seed_ledger_up 0\n") ||
		strings.Contains(all, "newsfork_seed_files") || strings.Contains(all, "pool") ||
		!strings.Contains(all, "newsfork_seed_queue_messages") {
		t.Errorf("without the ledger: %s", all)
	}
}
