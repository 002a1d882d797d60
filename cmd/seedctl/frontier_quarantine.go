package main

import (
	"context"
	"fmt"
	"io"
	"net/url"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"github.com/newsfork/seed-engine/cmd/seedctl/internal/client"
	"github.com/newsfork/seed-engine/contract"
)

// quarantinedRow is a row as it is listed.
type quarantinedRow struct {
	Shard string `json:"shard"`
	contract.FrontierQuarantinedRow
}

func frontierQuarantineCommand() *cobra.Command {
	r := newRemote(&cobra.Command{
		Use:   "quarantine [flags] [SHARD…|SHARD/ROW…]",
		Short: "damaged rows of shards",
		Long: `Lists rows that could not be read, of all shards unless some are named. Their shards go on without
them. --drop deletes rows for good; --restore puts rows back that the engine can read after all.

With --json each line is a row with its shard.`,
		Example: `  seedctl frontier quarantine
  seedctl frontier quarantine --drop shard-3/1`,
	})
	drop := r.flags.Bool("drop", false, "delete the rows")
	restore := r.flags.Bool("restore", false, "put the rows back")
	return r.command(func(ctx context.Context, args []string) error {
		switch {
		case *drop && *restore:
			return usageError("either --drop or --restore")
		case (*drop || *restore) && len(args) == 0:
			return usageError("name a SHARD/ROW; \"seedctl frontier quarantine\" lists them")
		case *drop || *restore:
			return r.changeRows(ctx, args, *drop)
		}
		return r.listQuarantine(ctx, args)
	})
}

// changeRows drops or restores rows.
func (r *remote) changeRows(ctx context.Context, rows []string, drop bool) error {
	for _, name := range rows {
		shard, row, ok := strings.Cut(name, "/")
		if _, err := strconv.ParseUint(row, 10, 53); !ok || err != nil {
			return usageError(fmt.Sprintf("%q is not a SHARD/ROW such as shard-3/1", name))
		}
		path := []string{"frontier", "shards", shard, "quarantine", row}
		request, done := client.Request{Method: "DELETE", Path: path}, "dropped"
		if !drop {
			request, done = client.Request{Method: "POST", Path: append(path, "restore")}, "restored"
		}
		var changed contract.FrontierQuarantineChanged
		if err := r.Call(ctx, request, &changed); err != nil {
			return err
		}
		if err := r.show(changed, func(w io.Writer) error {
			_, err := fmt.Fprintf(w, "%s %s/%d\n", done, plain(changed.Shard), changed.ID)
			return err
		}); err != nil {
			return err
		}
	}
	return nil
}

func (r *remote) listQuarantine(ctx context.Context, shards []string) error {
	if len(shards) == 0 {
		var s contract.FrontierStats
		if err := r.Call(ctx, client.Request{Method: "GET", Path: []string{"frontier", "stats"}}, &s); err != nil {
			return err
		}
		for i := range s.Shards {
			if s.Shards[i].Quarantined > 0 {
				shards = append(shards, s.Shards[i].Name)
			}
		}
	}
	lines := []string{"ROW\tTABLE\tNAME\tBYTES\tSINCE\tREASON"}
	for _, shard := range shards {
		show := func(page *contract.FrontierQuarantine) (*string, error) {
			for _, row := range page.Rows {
				if r.asJSON {
					if err := writeJSON(r.out, quarantinedRow{page.Shard, row}); err != nil {
						return nil, err
					}
				}
				lines = append(lines, fmt.Sprintf("%s/%d\t%s\t%s\t%d\t%s\t%s", plain(page.Shard), row.ID,
					plain(row.Table), plain(row.Name), row.Bytes, moment(&row.At), plain(row.Reason)))
			}
			return page.Cursor, nil
		}
		path := []string{"frontier", "shards", shard, "quarantine"}
		if err := eachPage(ctx, r, path, url.Values{}, show); err != nil {
			return err
		}
	}
	if r.asJSON {
		return nil
	}
	return table(r.out, lines...)
}
