//go:build js && wasm

// Newsfork Seed Engine: a Cloudflare Worker that turns discovered URLs into crawl contracts at the
// edge. This file only wires: bindings in, handlers and consumers out.
package main

import (
	"cmp"
	"context"
	"errors"
	"log/slog"
	"net/http"
	"sync"
	"time"

	"github.com/syumai/workers/cloudflare/cron"
	library "github.com/syumai/workers/cloudflare/queues"

	"github.com/newsfork/seed-engine/alarms"
	"github.com/newsfork/seed-engine/bindings"
	"github.com/newsfork/seed-engine/collector"
	"github.com/newsfork/seed-engine/contract"
	"github.com/newsfork/seed-engine/controls"
	"github.com/newsfork/seed-engine/handlers"
	"github.com/newsfork/seed-engine/ledger"
	"github.com/newsfork/seed-engine/orchestrator"
	"github.com/newsfork/seed-engine/processor"
	"github.com/newsfork/seed-engine/queues"
	"github.com/newsfork/seed-engine/reconcile"
	"github.com/newsfork/seed-engine/settings"
	"github.com/newsfork/seed-engine/sitemap"
	"github.com/newsfork/seed-engine/worker"
)

func main() {
	log := contract.NewLogger(worker.Console{})
	sitemap.PlatformDecoder = bindings.Decoder
	// Variables can be read only within an event, so the first one builds the program.
	program := sync.OnceValues(func() (*seedEngine, error) { return build(log) })
	worker.Run(
		http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			p, err := program()
			if err != nil {
				log.Error("settings_failed", "error_type", contract.Validation, "error", err.Error())
				handlers.Misconfigured(w, err)
				return
			}
			p.handler.ServeHTTP(w, r)
		}),
		func(ctx context.Context, batch *library.MessageBatch) {
			p, err := program()
			if err != nil {
				log.Error("settings_failed", "error_type", contract.Validation, "error", err.Error())
				batch.RetryAll(library.WithRetryDelay(misconfiguredDelay))
				return
			}
			p.consumer.Handle(ctx, batch.Queue, bindings.Messages(batch))
		},
		func(ctx context.Context, event *cron.Event) error {
			p, err := program()
			if err != nil {
				return err
			}
			return p.everyMinute(ctx, event.ScheduledTime)
		},
		"/health", "/health/live",
	)
}

// misconfiguredDelay gives whoever deployed a wrong setting time to correct it before messages are
// given up.
const misconfiguredDelay = 5 * time.Minute

type seedEngine struct {
	handler   http.Handler
	consumer  *queues.Consumer
	alarms    *alarms.Watch
	records   *ledger.Ledger
	retention time.Duration
}

// everyMinute is what the cron starts. Once an hour the ledger is rid of what is old.
func (e *seedEngine) everyMinute(ctx context.Context, at time.Time) error {
	err := e.alarms.Run(ctx)
	if at.Minute() == 0 {
		err = errors.Join(err, e.records.Prune(ctx, at.Add(-e.retention)))
	}
	return err
}

func build(log *slog.Logger) (*seedEngine, error) {
	s, err := settings.Read(bindings.Variable)
	if err != nil {
		return nil, err
	}
	bucket := bindings.NewBucket("DATASETS_BUCKET")
	seedQueue, domainQueue, dlq := bindings.NewProducer("SEED_QUEUE"), bindings.NewProducer("DOMAIN_QUEUE"), bindings.NewProducer("DLQ")
	records := ledger.New(bindings.NewDatabase("METADATA_DB"))
	decisions := &controls.Store{Bucket: bucket, Sleep: worker.Sleep}
	steps := &orchestrator.Orchestrator{Bucket: bucket, Queue: seedQueue, Ledger: records, Log: log, Now: time.Now, Sleep: worker.Sleep}
	continued := *steps
	continued.MaxTime = orchestrator.MaxTimeQueued
	domains := &collector.Collector{
		Bucket: bucket, Transport: bindings.Transport{}, Clock: bindings.Clock{}, Settings: s, Log: log,
	}
	version := cmp.Or(bindings.Version(), contract.Version)
	letters := &queues.DeadLetters{Ledger: records, Bucket: bucket, Version: version, Log: log}
	tally := &queues.Tally{Queue: domainQueue, Ledger: records, Log: log}
	consumer := &queues.Consumer{
		Orchestrator: &continued,
		Processor:    &processor.Processor{Store: bucket, Sender: tally, Log: log, Version: contract.Version},
		NewBatch:     func(excluded func(string) bool) queues.Batch { return domains.NewBatch(excluded) },
		DeadLetters:  letters,
		Ledger:       records,
		Leases:       &queues.Leases{Ledger: records, Queue: domainQueue, Sleep: worker.Sleep, Log: log, Now: time.Now},
		Controls:     decisions, Tally: tally, Seeds: seedQueue, Domains: domainQueue, DLQ: dlq, Version: version,
		RetryDelay: s.RetryDelay, Log: log, Now: time.Now,
	}
	api := &handlers.API{
		Settings: s, Orchestrator: steps, Bucket: bucket, Seeds: seedQueue, Domains: domainQueue,
		Ledger:      records,
		DeadLetters: &queues.Replays{Ledger: records, Letters: letters, Seeds: seedQueue, Domains: domainQueue, Now: time.Now},
		Controls:    decisions,
		Reconciler:  &reconcile.Reconciler{Bucket: bucket, DeadLetters: letters, Ledger: records, Now: time.Now},
		Backlog: func(ctx context.Context, role string) (contract.Backlog, error) {
			b, err := map[string]queues.Producer{contract.SeedQueue: seedQueue, contract.DomainQueue: domainQueue, contract.DeadLetterQueue: dlq}[role].Backlog(ctx)
			return contract.Backlog{Messages: b.Messages, Bytes: b.Bytes, Oldest: contract.At(b.Oldest)}, err
		},
		Pool:  bindings.Pool,
		Local: sync.OnceValue(func() bool { return handlers.Local(time.Now) }),
		Log:   log, Now: time.Now,
	}
	watch := &alarms.Watch{
		Ledger: records, Webhook: bindings.Webhook{UserAgent: s.UserAgent}, URL: s.AlertWebhookURL, Environment: s.Environment, Log: log, Now: time.Now,
	}
	return &seedEngine{api.Handler(), consumer, watch, records, s.LedgerRetention}, nil
}
