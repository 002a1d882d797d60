package client

import (
	"cmp"
	"context"
	"slices"

	"github.com/newsfork/seed-engine/contract"
	"github.com/newsfork/seed-engine/frontier"
)

// AllHosts is a page of the hosts of all shards.
type AllHosts struct {
	frontier.HostsPage
	Missing []string // names of shards that did not answer, whose hosts the page lacks
}

// Hosts lists hosts of all shards, in the order that is asked for. The cursor says for each shard where
// to go on. It is an error only if none of the shards that have more answers.
func (r Frontier) Hosts(ctx context.Context, request frontier.HostsRequest) (page AllHosts, err error) {
	cursors, err := r.hostCursors(request.Cursor)
	if err != nil {
		return page, err
	}
	pages := make([]frontier.HostsPage, r.Shards)
	answered := make([]bool, r.Shards)
	errs := each(r.Shards, func(n int) (err error) {
		if cursors[n] == ended {
			return nil
		}
		one := request
		one.Cursor = cursors[n]
		pages[n], err = r.Shard(n).Hosts(ctx, one)
		answered[n] = err == nil
		return err
	})
	if err := refused(errs); err != nil {
		return page, err
	}
	for n, err := range errs {
		if err != nil {
			page.Missing = append(page.Missing, shardName(n))
		}
	}
	if len(page.Missing) > 0 && !slices.Contains(answered, true) {
		return page, errSilent("frontier.Hosts", errs...)
	}
	page.HostsPage = merge(pages, cursors, &request, errs)
	return page, nil
}

// ended stands in a cursor for a shard that has no more hosts.
const ended = "-"

// hostCursors takes a cursor apart: those of the shards.
func (r Frontier) hostCursors(cursor string) ([]string, error) {
	cursors := make([]string, r.Shards)
	if cursor == "" {
		return cursors, nil
	}
	if err := contract.DecodeCursor(cursor, &cursors); err != nil || len(cursors) != r.Shards {
		return nil, contract.BadCursor()
	}
	return cursors, nil
}

// merge takes the first hosts of the shards' pages, and moves the shards' cursors behind what it took.
func merge(pages []frontier.HostsPage, cursors []string, request *frontier.HostsRequest,
	errs []error) (merged frontier.HostsPage) {
	for len(merged.Hosts) < request.Limit {
		first := -1
		for n := range pages {
			if len(pages[n].Hosts) > 0 && (first < 0 || before(request, &pages[n].Hosts[0], &pages[first].Hosts[0])) {
				first = n
			}
		}
		if first < 0 {
			break
		}
		p := &pages[first]
		cursors[first] = p.Hosts[0].Cursor
		merged.Hosts = append(merged.Hosts, p.Hosts[0])
		p.Hosts = p.Hosts[1:]
	}
	for n := range pages {
		if errs[n] == nil && len(pages[n].Hosts) == 0 && pages[n].Next == "" {
			cursors[n] = ended
		}
	}
	if slices.ContainsFunc(cursors, func(c string) bool { return c != ended }) {
		merged.Next = *contract.EncodeCursor(cursors)
	}
	return merged
}

// before reports whether a host comes first. What has no order is by name, so that pages are stable.
func before(r *frontier.HostsRequest, a, b *frontier.HostInfo) bool {
	switch r.Sort {
	case "due":
		return a.DueAt < b.DueAt
	case "size":
		return a.URLs > b.URLs
	}
	return cmp.Or(cmp.Compare(a.Domain, b.Domain), cmp.Compare(a.Host, b.Host)) < 0
}
