package main

import (
	"context"
	"fmt"
	"io"

	"github.com/spf13/cobra"

	"github.com/newsfork/seed-engine/cmd/seedctl/internal/client"
	"github.com/newsfork/seed-engine/contract"
)

func collectCommand() *cobra.Command {
	r := newRemote(&cobra.Command{
		Use:   "collect [flags] DOMAIN",
		Short: "have one domain asked again",
		Long: `Queues a domain that has a document, whether it could be reached or not. Everything is asked for
again, and its URLs stay. It is done in its newest partition unless flags name another. A domain
without a document was never collected: what was given up of it is sent again by "seedctl dlq
replay --domain DOMAIN".

With --json it prints {"domain", "partition_info", "requested_at"}.`,
		Example: `  seedctl collect gone.example
  seedctl collect gone.example --country sg --category news --date 2026-01-28`,
	})
	var p contract.Partition
	r.partitionFlags(&p)
	return r.command(func(ctx context.Context, args []string) error {
		if len(args) != 1 {
			return usageError("name one DOMAIN; \"seedctl domains --state failed\" shows those that failed")
		}
		f := contract.Filter{Country: p.Country, Category: p.Category, Date: p.Date}
		var q contract.DomainQueued
		if err := r.Call(ctx, client.Request{Method: "POST",
			Path: []string{"seeds", "domains", hostOf(args[0]), "collect"},
			Body: f}, &q); err != nil {
			return r.perhaps(ctx, hostOf(args[0]), err)
		}
		return r.show(q, func(w io.Writer) error {
			_, err := fmt.Fprintf(w, "queued %s of %s\n", plain(q.Domain), partitionText(&q.Partition))
			return err
		})
	})
}
