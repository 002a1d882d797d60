//go:build js && wasm

// Newsfork Seed Engine: a Cloudflare Worker that turns discovered URLs into crawl contracts at the
// edge. This file gives the engine the platform's bindings.
package main

import (
	"context"
	"time"

	"github.com/syumai/workers/cloudflare/cron"
	library "github.com/syumai/workers/cloudflare/queues"

	"github.com/newsfork/seed-engine/alarms"
	"github.com/newsfork/seed-engine/bindings"
	"github.com/newsfork/seed-engine/classify"
	"github.com/newsfork/seed-engine/contract"
	"github.com/newsfork/seed-engine/engine"
	"github.com/newsfork/seed-engine/epoch"
	"github.com/newsfork/seed-engine/markup"
	"github.com/newsfork/seed-engine/settings"
	"github.com/newsfork/seed-engine/worker"
)

func main() {
	assets := bindings.Assets("ASSETS")
	markup.PlatformDecoder = bindings.Decoder
	e := engine.New(engine.Platform{
		Bucket:  bindings.NewBucket("DATASETS_BUCKET"),
		Seeds:   bindings.NewProducer("SEED_QUEUE"),
		Domains: bindings.NewProducer("DOMAIN_QUEUE"),
		DLQ:     bindings.NewProducer("DLQ"),
		Backlogs: func(context.Context) ([]contract.Backlog, []error) {
			return bindings.Backlogs("SEED_QUEUE", "DOMAIN_QUEUE", "DLQ")
		},
		Database:  bindings.NewDatabase("METADATA_DB"),
		Frontier:  bindings.NewFrontier("FRONTIER"),
		Transport: bindings.Transport{},
		Sign:      bindings.Sign,
		Clock:     bindings.Clock{},
		Model:     classify.NewLoader(assets.Read).Model,
		Asset:     assets.Read,
		Webhook:   func(userAgent string) alarms.Webhook { return bindings.Webhook{UserAgent: userAgent} },
		Variable:  bindings.Variable,
		Version:   bindings.Version,
		Pool:      bindings.Pool,
		Timed:     worker.AddTimes,
		Reserve:   worker.Reserve,
		Local:     func() bool { return settings.Local(time.Now) },
		Log:       contract.NewLogger(worker.Console{}),
	})
	consume := func(ctx context.Context, batch *library.MessageBatch) error {
		return e.Consume(ctx, batch.Queue, bindings.Messages(batch))
	}
	everyMinute := func(ctx context.Context, event *cron.Event) error { return e.Cron(ctx, event.ScheduledTime) }
	worker.HandleCalls(func(now epoch.Millis, shard, operation string, request []byte) worker.Answer {
		a := e.CallShard(bindings.ShardDatabase{}, shard, epoch.Millis(now), operation, request)
		return worker.Answer{Text: a.Text, OK: a.OK, Alarm: epoch.Millis(a.Alarm)}
	})
	worker.Run(e, consume, everyMinute, "/health", "/health/live")
}
