//go:build js && wasm

// Command collector is the Worker that collects the Info service's articles, by cron or on request.
package main

import (
	"context"
	"time"

	"github.com/syumai/workers/cloudflare/cron"

	"github.com/newsfork/seed-engine/alarms"
	"github.com/newsfork/seed-engine/bindings"
	"github.com/newsfork/seed-engine/contract"
	"github.com/newsfork/seed-engine/info/service"
	"github.com/newsfork/seed-engine/markup"
	"github.com/newsfork/seed-engine/settings"
	"github.com/newsfork/seed-engine/worker"
)

func main() {
	markup.PlatformDecoder = bindings.Decoder
	c := service.NewCollector(service.Platform{
		Bound:      bindings.Bound,
		D1:         bindings.NewDatabase("INFO_DB"),
		KV:         bindings.NewNamespace("INFO_CACHE"),
		Hyperdrive: func() string { return bindings.Hyperdrive("HYPERDRIVE") },
		Dial:       bindings.Dial,
		Variable:   bindings.Variable,
		Log:        contract.NewLogger(worker.Console{}),
		Now:        time.Now,
		Sleep:      bindings.Clock{}.Sleep,
		Extend:     worker.ExtendDeadline,
		Transport:  bindings.Transport{},
		Sign:       bindings.Sign,
		Webhook:    func(userAgent string) alarms.Webhook { return bindings.Webhook{UserAgent: userAgent} },
		Engine:     bindings.Transport{Service: "SEED_ENGINE"},
		Local:      func() bool { return settings.Local(time.Now) },
	})
	worker.Run(c, nil, func(ctx context.Context, event *cron.Event) error { return c.Cron(ctx, event.Cron) })
}
