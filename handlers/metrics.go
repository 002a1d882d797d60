package handlers

import (
	"maps"
	"net/http"
	"slices"
	"sync"
	"time"

	"github.com/newsfork/seed-engine/alarms"
	"github.com/newsfork/seed-engine/contract"
	"github.com/newsfork/seed-engine/epoch"
	"github.com/newsfork/seed-engine/frontier"
	"github.com/newsfork/seed-engine/frontier/client"
	"github.com/newsfork/seed-engine/ledger"
	"github.com/newsfork/seed-engine/prometheus"
)

// PoolStats describes the instance pool of the isolate that answers; see worker.Stats.
type PoolStats struct {
	Created   int            `json:"created"`
	Reused    int            `json:"reused"`
	Waited    int            `json:"waited"`
	Refused   map[string]int `json:"refused"`
	Dropped   map[string]int `json:"dropped"`
	Recovered map[string]int `json:"recovered"`
	Live      int            `json:"live"`
	Idle      int            `json:"idle"`
	Waiting   int            `json:"waiting"`
	Reserved  int            `json:"reserved"`
	Memory    []int          `json:"memory"`
	Peak      int            `json:"peak"`

	// Collections that were timed, and the sum of their times by stage; see collector.Stages.
	Timed   int                `json:"timed"`
	Seconds map[string]float64 `json:"seconds"`
}

// metrics answers in Prometheus' text format. Values that cannot be read are left out.
func (a *API) metrics(w http.ResponseWriter, r *http.Request) error {
	if err := onlyQuery(r); err != nil {
		return err
	}
	var status *ledger.Status
	var controls contract.Controls
	var statusErr, controlsErr error
	var backlogs map[string]*contract.Backlog
	var stats client.AllStats
	var frontierErr error
	var wg sync.WaitGroup
	wg.Go(func() { stats, frontierErr = a.Frontier.Stats(r.Context()) })
	wg.Go(func() {
		status, statusErr = a.Ledger.Status(r.Context(), ledger.StatusQuery{Now: a.Now(), Windows: alarms.Windows()})
	})
	wg.Go(func() { controls, _, controlsErr = a.Controls.Read(r.Context()) })
	wg.Go(func() { backlogs = a.backlogs(r.Context()) })
	wg.Wait()
	for what, err := range map[string]error{"ledger_failed": statusErr, "controls_failed": controlsErr,
		"frontier_failed": frontierErr} {
		if err != nil {
			a.Log.Warn(what, "error_type", contract.KindOf(err), "error", err.Error())
		}
	}
	e := &exposition{}
	e.Family("newsfork_seed_info", "gauge", "The program and where it runs.")
	e.Sample(1, "version", contract.Version, "environment", a.Settings.Environment)
	e.Family("newsfork_seed_ledger_up", "gauge", "1 when the ledger answered; without it its numbers are missing.")
	e.Sample(prometheus.Flag(statusErr == nil))
	if statusErr == nil {
		e.status(status)
	}
	if controlsErr == nil {
		e.Family("newsfork_seed_paused", "gauge", "1 while the pipeline is paused.")
		e.Sample(prometheus.Flag(controls.Pipeline.Paused))
		e.Family("newsfork_seed_exclusions", "gauge", "Exclusions in force.")
		e.Sample(float64(len(controls.Exclusions)))
	}
	e.shards(&stats)
	if frontierErr == nil {
		e.frontier(&stats.Total, epoch.MillisOf(a.Now()))
	}
	e.backlogs(backlogs, a.Now())
	pool, err := a.Pool()
	if err != nil {
		a.Log.Warn("pool_failed", "error_type", contract.KindOf(err), "error", err.Error())
	} else {
		e.pool(pool)
	}
	e.WriteAnswer(w)
	return nil
}

// exposition writes the metrics of the engine.
type exposition struct{ prometheus.Text }

func (e *exposition) status(s *ledger.Status) {
	p, c := s.Processing, s.Collection
	e.Family("newsfork_seed_files", "gauge", "Raw files by state.")
	e.Sample(float64(p.FilesProcessed), "state", "processed")
	e.Sample(float64(p.FilesFailed), "state", "failed")
	e.Sample(float64(p.FilesPending), "state", "pending")
	e.Sample(float64(s.Discarded), "state", "discarded")
	e.Family("newsfork_seed_records", "gauge", "Records of the processed raw files.")
	e.Sample(float64(s.Records))
	e.Family("newsfork_seed_records_rejected", "gauge",
		"Records of the processed raw files that were rejected; a listing of the files says why.")
	e.Sample(float64(s.RecordsRejected))
	e.Family("newsfork_seed_domains", "gauge", "Domains of partitions by state.")
	e.Sample(float64(p.DomainsProcessed), "state", "processed")
	e.Sample(float64(p.DomainsFailed), "state", "failed")
	e.Sample(float64(p.DomainsPending), "state", "pending")
	e.Sample(float64(s.Excluded), "state", "excluded")
	e.Family("newsfork_seed_domains_barred", "gauge",
		"Domains whose last collection found nothing that may be fetched.")
	e.Sample(float64(s.Barred.Forbidden), "barrier", "forbidden")
	e.Sample(float64(s.Barred.Refuses), "barrier", "refuses")
	e.Sample(float64(s.Barred.Empty), "barrier", "nothing")
	e.Family("newsfork_seed_robots_txt_found", "gauge", "Processed domains with robots.txt.")
	e.Sample(float64(c.RobotsFound))
	e.Family("newsfork_seed_sitemap_xml_found", "gauge", "Processed domains with a sitemap.")
	e.Sample(float64(c.SitemapFound))
	e.Family("newsfork_seed_domain_processing_average_seconds", "gauge",
		"Average processing of a processed domain, politeness waits left out.")
	e.Sample(float64(c.AvgProcessingMS) / 1000)
	e.Family("newsfork_seed_file_processing_average_seconds", "gauge",
		"Average processing of a processed raw file whose duration is known.")
	e.Sample(float64(s.AvgFileMS) / 1000)
	e.Family("newsfork_seed_dead_letters", "gauge", "Dead letters by state.")
	e.Sample(float64(s.DeadLetters.Stored), "state", "stored")
	e.Sample(float64(s.DeadLetters.Replayed), "state", "replayed")
	e.Sample(float64(s.DeadLetters.Discarded), "state", "discarded")
	e.Family("newsfork_seed_alarm_firing", "gauge", "1 while the alarm fires.")
	for _, alarm := range alarms.Judge(s.AlarmReading) {
		e.Sample(prometheus.Flag(alarm.State == contract.AlarmFiring), "alarm", alarm.Name)
	}
}

func (e *exposition) shards(all *client.AllStats) {
	e.Family("newsfork_seed_frontier_shard_up", "gauge",
		"1 when a shard of the frontier answered; without it its numbers are missing.")
	for _, s := range all.Shards {
		e.Sample(prometheus.Flag(s.Answered), "shard", s.Name)
	}
	e.Family("newsfork_seed_frontier_shard_bytes", "gauge", "Size of a shard's database; the platform allows it 10 GB.")
	for _, s := range all.Shards {
		if s.Answered {
			e.Sample(float64(s.Stats.Bytes), "shard", s.Name)
		}
	}
}

func (e *exposition) frontier(total *frontier.Stats, now epoch.Millis) {
	e.Family("newsfork_seed_frontier_hosts", "gauge", "Hosts of the frontier.")
	e.Sample(float64(total.Hosts))
	e.Family("newsfork_seed_frontier_urls", "gauge",
		"What the frontier has: pages that wait or are leased, and entry points.")
	e.Sample(float64(total.URLs), "kind", frontier.KindPage)
	e.Sample(float64(total.Entries), "kind", frontier.KindEntry)
	e.Family("newsfork_seed_frontier_leased", "gauge", "Pages and entry points that are leased.")
	e.Sample(float64(total.Leased))
	kind := func(lane int) string {
		if lane < frontier.Bands {
			return frontier.KindPage
		}
		return frontier.KindEntry
	}
	due, oldest := map[string]int64{}, map[string]time.Duration{}
	for lane, n := range total.Due[:frontier.VisitLane] { // visits wait for their budget
		due[kind(lane)] += n
		if at := total.OldestDue[lane]; at > 0 {
			oldest[kind(lane)] = max(oldest[kind(lane)], now.Sub(at))
		}
	}
	e.Family("newsfork_seed_frontier_due", "gauge", "Hosts with something that may be fetched now.")
	e.Sample(float64(due[frontier.KindPage]), "kind", frontier.KindPage)
	e.Sample(float64(due[frontier.KindEntry]), "kind", frontier.KindEntry)
	e.Family("newsfork_seed_frontier_oldest_due_seconds", "gauge",
		"How long the first of them has waited; 0 when nothing is due.")
	e.Sample(oldest[frontier.KindPage].Seconds(), "kind", frontier.KindPage)
	e.Sample(oldest[frontier.KindEntry].Seconds(), "kind", frontier.KindEntry)
	e.Family("newsfork_seed_frontier_pages_total", "counter", "Finished pages by outcome.")
	e.Sample(float64(total.Done), "state", "done")
	e.Sample(float64(total.Failed), "state", "failed")
	e.Family("newsfork_seed_frontier_answers_total", "counter", "Answers reported by scrapers.")
	e.Sample(float64(total.Answers))
	e.Family("newsfork_seed_frontier_faults_total", "counter",
		"Reported answers without use: none, 5xx, or any failure of an entry point.")
	e.Sample(float64(total.Faults))
	e.Family("newsfork_seed_frontier_quarantined", "gauge", "Damaged rows of the frontier in quarantine.")
	e.Sample(float64(total.Quarantined))
	e.Family("newsfork_seed_frontier_withheld_total", "counter",
		"Pages that were not announced since their domain had ANNOUNCEMENTS_PER_DOMAIN that day.")
	e.Sample(float64(total.Withheld))
	e.Family("newsfork_seed_frontier_scheduled", "gauge", "Fetched pages that are to be fetched again.")
	e.Sample(float64(total.Scheduled))
	e.Family("newsfork_seed_frontier_revisits_total", "counter", "Pages that were given again on schedule.")
	e.Sample(float64(total.Revisited))
}

func (e *exposition) backlogs(backlogs map[string]*contract.Backlog, now time.Time) {
	for _, f := range []struct {
		name, help string
		value      func(b *contract.Backlog) float64
	}{
		{"newsfork_seed_queue_messages", "Messages that wait in a queue.",
			func(b *contract.Backlog) float64 { return float64(b.Messages) }},
		{"newsfork_seed_queue_bytes", "Bytes that wait in a queue.",
			func(b *contract.Backlog) float64 { return float64(b.Bytes) }},
		{"newsfork_seed_queue_oldest_seconds", "Age of the oldest message of a queue; 0 when it is empty.",
			func(b *contract.Backlog) float64 {
				if b.Oldest == nil {
					return 0
				}
				return max(0, now.Sub(b.Oldest.Time)).Seconds()
			}},
	} {
		e.Family(f.name, "gauge", f.help)
		for _, role := range contract.QueueRoles {
			if b := backlogs[role]; b != nil {
				e.Sample(f.value(b), "queue", role)
			}
		}
	}
}

// pool writes the counters of one isolate. The platform runs many isolates, and restarts them.
func (e *exposition) pool(s PoolStats) {
	e.Family("newsfork_seed_pool_events_total", "counter",
		"Events of the answering isolate, by how they came to a Go instance.")
	e.Sample(float64(s.Created), "instance", "created")
	e.Sample(float64(s.Reused), "instance", "reused")
	e.Family("newsfork_seed_pool_waited_total", "counter",
		"Events of the answering isolate that waited for an instance.")
	e.Sample(float64(s.Waited))
	e.Family("newsfork_seed_pool_refused_total", "counter",
		"Events of the answering isolate that found no instance, by what lacked.")
	e.counts("reason", s.Refused)
	e.Family("newsfork_seed_pool_dropped_total", "counter", "Instances not used again, by reason.")
	e.counts("reason", s.Dropped)
	e.Family("newsfork_seed_pool_panics_total", "counter", "Panics recovered, by where.")
	e.counts("where", s.Recovered)
	e.Family("newsfork_seed_pool_instances", "gauge", "Instances of the answering isolate.")
	e.Sample(float64(s.Live), "state", "live")
	e.Sample(float64(s.Idle), "state", "idle")
	e.Family("newsfork_seed_pool_waiting", "gauge", "Events that wait for an instance.")
	e.Sample(float64(s.Waiting))
	e.Family("newsfork_seed_pool_memory_bytes", "gauge", "Linear memory of all instances of the answering isolate.")
	memory := 0
	for _, n := range s.Memory {
		memory += n
	}
	e.Sample(float64(memory))
	e.Family("newsfork_seed_pool_memory_peak_bytes", "gauge", "The most that it was after an event.")
	e.Sample(float64(s.Peak))
	e.Family("newsfork_seed_pool_reserved_bytes", "gauge", "Memory that the events in work have or may come to need.")
	e.Sample(float64(s.Reserved))
	e.Family("newsfork_seed_collections_timed_total", "counter", "Collections of the answering isolate.")
	e.Sample(float64(s.Timed))
	e.Family("newsfork_seed_collection_stage_seconds_total", "counter",
		"Time that they took by stage, with the work on other domains meanwhile.")
	for _, stage := range slices.Sorted(maps.Keys(s.Seconds)) {
		e.Sample(s.Seconds[stage], "stage", stage)
	}
}

func (e *exposition) counts(label string, counts map[string]int) {
	for _, name := range slices.Sorted(maps.Keys(counts)) {
		e.Sample(float64(counts[name]), label, name)
	}
}
