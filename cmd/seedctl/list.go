package main

import (
	"cmp"
	"context"
	"net/url"
	"strconv"

	"github.com/newsfork/seed-engine/cmd/seedctl/internal/client"
)

// pageSize is the engine's maximum for one page.
const pageSize = 200

// limitFlag adds the flag that ends a list.
func (r *remote) limitFlag() *int {
	return r.flags.Int("limit", 50, "`N` entries at most; 0 shows all")
}

// list shows the entries of a list, page by page, until limit of them are shown. entries takes a
// page apart into its entries and the cursor of the next page; header and row are a line of columns
// each, aligned by page.
func list[Page, Entry any](ctx context.Context, r *remote, path []string, query url.Values, limit int,
	entries func(*Page) ([]Entry, *string), header string, row func(*Entry) string) error {
	if limit < 0 {
		return usageError("--limit must not be below 0")
	}
	rows := []string{header}
	for shown := 0; ; {
		size := cmp.Or(r.target.page, pageSize)
		if limit > 0 {
			size = min(size, limit-shown)
		}
		query.Set("limit", strconv.Itoa(size))
		var page Page
		if err := r.Call(ctx, client.Request{Method: "GET", Path: path, Query: query}, &page); err != nil {
			return err
		}
		found, cursor := entries(&page)
		found = found[:min(len(found), size)]
		for i := range found {
			if !r.asJSON {
				rows = append(rows, row(&found[i]))
			} else if err := writeJSON(r.out, &found[i]); err != nil {
				return err
			}
		}
		if !r.asJSON {
			if err := table(r.out, rows...); err != nil {
				return err
			}
		}
		rows = nil
		shown += len(found)
		switch {
		case cursor == nil || *cursor == "":
			if shown == 0 {
				r.hint(ctx)
			}
			return nil
		case limit > 0 && shown >= limit:
			if !r.asJSON {
				r.complain("there are more; --limit 0 shows all")
			}
			return nil
		case *cursor == query.Get("cursor"):
			return r.Unexpected(samePage)
		}
		query.Set("cursor", *cursor)
	}
}

// eachPage requests a list page by page. see takes a page and returns the cursor of the next one; nil or "" ends the
// list.
func eachPage[Page any](ctx context.Context, r *remote, path []string, query url.Values,
	see func(*Page) (next *string, err error)) error {
	for {
		var page Page
		if err := r.Call(ctx, client.Request{Method: "GET", Path: path, Query: query}, &page); err != nil {
			return err
		}
		next, err := see(&page)
		switch {
		case err != nil || next == nil || *next == "":
			return err
		case *next == query.Get("cursor"):
			return r.Unexpected(samePage)
		}
		query.Set("cursor", *next)
	}
}

// samePage describes a list that does not end.
const samePage = "gives the same page again"
