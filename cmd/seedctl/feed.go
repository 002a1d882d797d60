package main

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/newsfork/seed-engine/cmd/seedctl/internal/client"
	"github.com/newsfork/seed-engine/contract"
)

func feedCommand() *cobra.Command {
	r := newRemote(&cobra.Command{
		Use:   "feed",
		Short: "new URLs, in the order in which they were found",
		Args:  noArgs,
		Long: `Shows the URLs that the engine found and that are new, the oldest that it keeps first. With
--follow it goes on as more are found, until Ctrl-C. --cursor goes on where another run ended;
--cursor-file keeps the cursor in a file and does so by itself. Nothing is left out and nothing
comes twice, whatever is found meanwhile.

With --json each line is an item {"url", "domain", "host", "title", "type", "priority_score",
"lastmod", "found_at", "found_by", "snippet", "image", "partition_info", "event"}.`,
		Example: `  seedctl feed --type news,press_release --min-score 0.5 --limit 20
  seedctl feed --follow --new --json | jq -r .url`,
	})
	f := r.followFlags()
	types := r.flags.String("type", "", "`TYPES`, separated by commas")
	completeFlag(r.cmd, "type", contentTypes)
	events := r.flags.String("event", "", "`EVENTS` new, updated or removed, separated by commas")
	score := r.flags.Float64("min-score", 0, "the least priority score, `0` to 1")
	country := r.flags.String("country", "", "`LETTERS` of a country")
	category := r.flags.String("category", "", "`NAME` of a category")
	return r.command(func(ctx context.Context, _ []string) error {
		query := url.Values{}
		for name, value := range map[string]string{"type": *types, "event": *events, "country": *country,
			"category": *category} {
			if value != "" {
				query.Set(name, value)
			}
		}
		if *score != 0 {
			query.Set("min_score", strconv.FormatFloat(*score, 'g', -1, 64))
		}
		return follow(ctx, r, f, []string{"feed"}, query,
			func(p *contract.FeedPage) ([]contract.FeedItem, string, bool, contract.Followed) {
				return p.Items, p.NextCursor, p.HasMore, p.Followed
			},
			"FOUND\tTYPE\tSCORE\tURL\tTITLE", func(i *contract.FeedItem) string {
				return fmt.Sprintf("%s\t%s\t%.2f\t%s\t%s", moment(&i.FoundAt), plain(i.Type), i.Priority, plain(i.URL),
					or(i.Title))
			})
	})
}

func changesCommand() *cobra.Command {
	r := newRemote(&cobra.Command{
		Use:   "changes",
		Short: "contracts that were rewritten",
		Args:  noArgs,
		Long: `Shows the contracts that changed, each in its newest revision, the oldest change first. With
--follow it goes on as more change, until Ctrl-C. --cursor and --cursor-file go on where another
run ended.

With --json each line is an item {"domain", "partition_info", "revision", "changed_at",
"reachable", "excluded", "key"}.`,
		Example: `  seedctl changes
  seedctl changes --follow --new --json | jq -r .key`,
	})
	f := r.followFlags()
	return r.command(func(ctx context.Context, _ []string) error {
		return follow(ctx, r, f, []string{"seeds", "changes"}, url.Values{},
			func(p *contract.ChangesPage) ([]contract.ContractChange, string, bool, contract.Followed) {
				return p.Items, p.NextCursor, p.HasMore, p.Followed
			},
			"CHANGED\tDOMAIN\tPARTITION\tREVISION\tREACHABLE\tEXCLUDED", func(c *contract.ContractChange) string {
				return fmt.Sprintf("%s\t%s\t%s\t%d\t%s\t%s", moment(&c.ChangedAt), plain(c.Domain),
					partitionText(&c.Partition),
					c.Revision, yesNo(&c.Reachable), yesNo(&c.Excluded))
			})
	})
}

// following is the flags of what can be followed.
type following struct {
	follow, new bool
	cursor      string
	file        string
	limit       int
	interval    time.Duration
}

func (r *remote) followFlags() *following {
	f := &following{}
	r.flags.BoolVar(&f.follow, "follow", false, "go on as more comes, until Ctrl-C")
	r.flags.BoolVar(&f.new, "new", false, "only what comes from now on; with --follow")
	r.flags.StringVar(&f.cursor, "cursor", "", "`CURSOR` at which another run ended")
	r.flags.StringVar(&f.file, "cursor-file", "", "`FILE` that keeps the cursor from one run to the next")
	completeFlag(r.cmd, "cursor-file", files)
	r.flags.IntVar(&f.limit, "limit", 50, "`N` entries at most without --follow; 0 shows all")
	r.flags.DurationVar(&f.interval, "interval", 5*time.Second, "`TIME` between two looks with --follow")
	return f
}

func (f *following) validate() error {
	switch {
	case f.limit < 0:
		return usageError("--limit must not be below 0")
	case f.new && !f.follow:
		return usageError("--new needs --follow")
	case f.new && f.cursor != "" || f.file != "" && (f.new || f.cursor != ""):
		return usageError("send one of --new, --cursor and --cursor-file")
	case f.interval <= 0:
		return usageError("--interval must be above 0")
	}
	return nil
}

// recall reads the cursor that another run left in the file.
func (f *following) recall() error {
	if f.file == "" {
		return nil
	}
	text, err := os.ReadFile(f.file)
	if errors.Is(err, os.ErrNotExist) {
		_, err = os.Stat(filepath.Dir(f.file)) // the file is made there in the end
		return err
	}
	f.cursor = strings.TrimSpace(string(text))
	return err
}

// remember writes a cursor to the file, whole or not at all: what was shown before is not shown again.
func (f *following) remember(cursor string) error {
	if f.file == "" {
		return nil
	}
	part := f.file + ".part"
	if err := os.WriteFile(part, []byte(cursor+"\n"), 0o644); err != nil {
		return err
	}
	return os.Rename(part, f.file)
}

// follow shows what comes after a cursor.
func follow[Page, Entry any](ctx context.Context, r *remote, f *following, path []string, query url.Values,
	take func(*Page) (entries []Entry, cursor string, more bool, lacks contract.Followed), header string,
	row func(*Entry) string) error {
	if err := f.validate(); err != nil {
		return err
	}
	if err := f.recall(); err != nil {
		return usageError("--cursor-file: " + inWords(err))
	}
	cursor := f.cursor
	rows := []string{header}
	skipping := f.new
	var said contract.Followed
	for shown := 0; ; {
		size := pageSize
		if !f.follow && f.limit > 0 {
			size = min(size, f.limit-shown)
		}
		query.Set("limit", strconv.Itoa(size))
		if cursor != "" {
			query.Set("cursor", cursor)
		}
		var page Page
		if err := r.Call(ctx, client.Request{Method: "GET", Path: path, Query: query}, &page); err != nil {
			return err
		}
		entries, next, more, lacks := take(&page)
		said = r.lacking(lacks, said)
		if skipping {
			entries, skipping = nil, more
		}
		for i := range entries {
			if !r.asJSON {
				rows = append(rows, row(&entries[i]))
			} else if err := writeJSON(r.out, &entries[i]); err != nil {
				return err
			}
		}
		if len(rows) > 0 && !r.asJSON {
			if err := table(r.out, rows...); err != nil {
				return err
			}
		}
		rows, shown = nil, shown+len(entries)
		switch {
		case more && next == cursor && len(entries) == 0:
			return r.Unexpected(samePage)
		case !more && !f.follow:
			return f.remember(next)
		case !f.follow && f.limit > 0 && shown >= f.limit:
			if !r.asJSON {
				r.complain("there are more; --cursor %s goes on, --limit 0 shows all", next)
			}
			return f.remember(next)
		}
		if err := f.remember(next); err != nil {
			return err
		}
		if cursor = next; more {
			continue
		}
		select {
		case <-ctx.Done():
			r.complain("--cursor %s goes on from here", cursor)
			return ctx.Err()
		case <-time.After(f.interval):
		}
	}
}

// lacking describes the gaps of a page, unless the page before had the same.
func (r *remote) lacking(now, before contract.Followed) contract.Followed {
	if len(now.Unavailable) > 0 && !slices.Equal(now.Unavailable, before.Unavailable) {
		r.complain("%s did not answer; what is there comes later", strings.Join(now.Unavailable, ", "))
	}
	if now.Expired && !before.Expired {
		r.complain("the cursor is older than what the engine keeps: something after it is gone")
	}
	return now
}
