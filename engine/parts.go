package engine

import (
	"cmp"
	"context"
	"net/http"
	"sync"
	"time"

	"github.com/newsfork/seed-engine/alarms"
	"github.com/newsfork/seed-engine/botauth"
	"github.com/newsfork/seed-engine/collector"
	"github.com/newsfork/seed-engine/contract"
	"github.com/newsfork/seed-engine/controls"
	"github.com/newsfork/seed-engine/deadletters"
	"github.com/newsfork/seed-engine/fetch"
	"github.com/newsfork/seed-engine/frontier"
	"github.com/newsfork/seed-engine/frontier/client"
	"github.com/newsfork/seed-engine/frontier/idle"
	"github.com/newsfork/seed-engine/frontier/shard"
	"github.com/newsfork/seed-engine/handlers"
	"github.com/newsfork/seed-engine/ledger"
	"github.com/newsfork/seed-engine/orchestrator"
	"github.com/newsfork/seed-engine/processor"
	"github.com/newsfork/seed-engine/queues"
	"github.com/newsfork/seed-engine/reconcile"
	"github.com/newsfork/seed-engine/settings"
	"github.com/newsfork/seed-engine/webhook"
)

// parts is an engine with valid settings.
type parts struct {
	handler   http.Handler
	consumer  *queues.Consumer
	alarms    *alarms.Watch
	webhook   *webhook.Sender
	excluded  *controls.Shards
	ledger    *ledger.Ledger
	retention time.Duration
	shard     shard.Settings
}

func assemble(p Platform) (*parts, error) {
	s, err := settings.Read(p.Variable)
	if err != nil {
		return nil, err
	}
	p.Log = contract.SampleLog(p.Log, s.LogSample)
	shards := client.Frontier{Caller: p.Frontier, Shards: s.FrontierShards, Idle: new(idle.Shards)}
	now, sleep := p.Clock.Now, p.Clock.Sleep
	records := ledger.New(p.Database)
	decisions := &controls.Store{Bucket: p.Bucket, Sleep: sleep}
	steps := &orchestrator.Orchestrator{Bucket: p.Bucket, Queue: p.Seeds, Ledger: records, Log: p.Log, Now: now,
		Sleep: sleep}
	continued := *steps
	continued.MaxTime = orchestrator.MaxTimeQueued
	signer := &botauth.Signer{Keys: s.Signing.Keys, Agent: s.Signing.Agent, Form: s.Signing.Form, Sign: p.Sign,
		Now: now}
	web := p.Transport
	if s.Signing.Form != "" {
		web = &fetch.Signed{Transport: p.Transport, Signer: signer, Log: p.Log}
	}
	domains := &collector.Collector{
		Bucket: p.Bucket, Transport: web, Frontier: shards, Clock: p.Clock, Model: p.Model,
		UserAgent: s.UserAgent,
		Limits:    limits(s), Timed: func(s collector.Stages) { p.Timed(s) }, Log: p.Log,
	}
	exclusions := &controls.Shards{Store: decisions, Frontier: shards,
		Documents: &documents{decisions, records, domains}, Log: p.Log, Now: now}
	version := cmp.Or(p.Version(), contract.Version)
	letters := &deadletters.Store{Ledger: records, Bucket: p.Bucket, Version: version, Log: p.Log}
	consumer := &queues.Consumer{
		Orchestrator: &continued,
		Processor:    &processor.Processor{Store: p.Bucket, Log: p.Log, Version: contract.Version},
		NewBatch:     queues.Collections(domains),
		DeadLetters:  letters,
		Ledger:       records,
		Leases:       &queues.Leases{Frontier: shards, Queue: p.Domains, Sleep: sleep, Log: p.Log, Now: now},
		Controls:     decisions, Seeds: p.Seeds, Domains: p.Domains, DLQ: p.DLQ, Version: version,
		RetryDelay: s.RetryDelay, Log: p.Log, Now: now,
	}
	post := p.Webhook(s.UserAgent)
	sender := &webhook.Sender{
		Frontier: shards, Shards: s.FrontierShards, Ledger: records, Poster: post, URL: s.FeedWebhookURL,
		Secret:      s.FeedWebhookSecret,
		Environment: s.Environment, Log: p.Log, Now: now,
		Exclusions: decisions.Exclusions, DeadLetters: letters,
	}
	watch := &alarms.Watch{
		Ledger: records, Webhook: post, URL: s.AlertWebhookURL, Secret: s.AlertWebhookSecret,
		Page: handlers.AlarmsPage(s), Environment: s.Environment, Log: p.Log, Now: now,
		Frontier: func(ctx context.Context) (ledger.FrontierReading, error) {
			return readFrontier(ctx, shards, s)
		},
	}
	api := &handlers.API{
		Settings: s, Orchestrator: steps, Bucket: p.Bucket, Seeds: p.Seeds, Domains: p.Domains,
		Ledger: records,
		DeadLetters: &deadletters.Replayer{Ledger: records, Store: letters, Seeds: p.Seeds, Domains: p.Domains,
			Exclusions: decisions.Exclusions, Now: now},
		Controls:   decisions,
		Exclusions: exclusions,
		Evidence:   domains,
		Reconciler: &reconcile.Reconciler{Bucket: p.Bucket, DeadLetters: letters, Ledger: records, Frontier: shards,
			URLs: s.URLsPerDomain, Now: now},
		Restorer: &reconcile.Restorer{Bucket: p.Bucket, Frontier: shards},
		Webhook:  sender,
		Alarms:   watch,
		Frontier: shards,
		Model:    p.Model,
		Asset:    p.Asset,
		Backlogs: p.Backlogs,
		Pool:     p.Pool,
		Reserve:  p.Reserve,
		Signer:   signer,
		Local:    sync.OnceValue(p.Local),
		Log:      p.Log, Now: now,
	}
	return &parts{api.Handler(), consumer, watch, sender, exclusions, records, s.LedgerRetention, shardSettings(s)},
		nil
}

// shardSettings returns the settings of one shard of the frontier.
func shardSettings(s *settings.Settings) shard.Settings {
	shard := shard.Settings{
		Delay:          s.RequestInterval,
		HostsPerDomain: s.MaxHostsPerDomain,
		URLsPerDomain:  int64(s.URLsPerDomain),
		SectionLimit:   int64(s.SectionLimit),
		Announcements:  int64(s.AnnouncementsPerDomain),
		MinRefresh:     s.MinRefresh,
		MaxRefresh:     s.MaxRefresh,
		Retention:      s.FeedRetention,
		PerDay:         int64(max(s.RefreshesPerDay/s.FrontierShards, 1)),
		VisitsPerDay:   int64(s.RevisitsPerDay / s.FrontierShards),
		Shards:         s.FrontierShards,
	}
	if s.Freshness {
		shard.PerMinute = int64(s.RefreshesPerMinute)
	}
	return shard
}

// documents implements controls.Documents.
type documents struct {
	decisions *controls.Store
	ledger    *ledger.Ledger
	domains   *collector.Collector
}

// Review updates the newest document of a domain, the only one that is kept current.
func (d *documents) Review(ctx context.Context, domain string, lifted bool) error {
	records, err := d.ledger.Domain(ctx, domain, contract.Filter{})
	if err != nil || len(records) == 0 {
		return err
	}
	exclusions, err := d.decisions.Exclusions(ctx)
	if err != nil {
		return err
	}
	p := records[0].Partition
	doc, err := d.domains.NewBatch(exclusions.URL).Review(ctx, p, domain, lifted)
	if err != nil || doc == nil {
		return err
	}
	return d.ledger.Record(ctx, ledger.Changes{Domains: []ledger.DomainChange{
		{Partition: p, Domain: domain, Revision: doc.Revision, ChangedAt: doc.Processing.ProcessedAt.Time},
	}})
}

// readFrontier returns the readings for the alarms. No entry point is overdue while refreshes are off.
func readFrontier(ctx context.Context, shards client.Frontier,
	set *settings.Settings) (reading ledger.FrontierReading, err error) {
	stats, err := shards.Stats(ctx)
	if err != nil {
		return reading, err
	}
	reading = ledger.FrontierReading{Complete: true, Answers: stats.Total.Answers, Faults: stats.Total.Faults,
		Quarantined: stats.Total.Quarantined}
	for _, s := range stats.Shards {
		reading.Complete = reading.Complete && s.Answered
		reading.LargestShard = max(reading.LargestShard, s.Stats.Bytes)
	}
	if at := stats.Total.OldestDue[frontier.Bands]; at > 0 && set.Freshness { // of entry points, after those of pages
		reading.OldestEntry = at.Time()
	}
	reading.Used = 1000 * stats.Total.Refreshed / int64(set.RefreshesPerDay)
	return reading, nil
}

// limits returns the settings that bound the collection of a domain.
func limits(s *settings.Settings) collector.Limits {
	return collector.Limits{
		RequestInterval: s.RequestInterval, MaxCrawlDelay: s.MaxCrawlDelay,
		MaxRequestsPerDomain: s.MaxRequestsPerDomain,
		RobotsTimeout:        s.RobotsTimeout, SitemapTimeout: s.SitemapTimeout, PageTimeout: s.PageTimeout,
		MaxSitemapBytes: s.MaxSitemapBytes,
		FetchRetries:    s.FetchRetries, FetchRetryBase: s.FetchRetryBase, DomainDeadline: s.DomainDeadline,
		PageProbes: s.PageProbes, URLsPerDomain: s.URLsPerDomain, ReuseWindow: s.ReuseWindow,
	}
}
