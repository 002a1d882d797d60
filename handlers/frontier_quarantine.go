package handlers

import (
	"context"
	"net/http"
	"strconv"

	"github.com/newsfork/seed-engine/contract"
	"github.com/newsfork/seed-engine/frontier"
	"github.com/newsfork/seed-engine/frontier/client"
	"github.com/newsfork/seed-engine/httpapi"
)

// maxQuarantineRows is the number of rows on a page.
const maxQuarantineRows = 100

// shardOf returns the shard that the path names.
func (a frontierRoutes) shardOf(r *http.Request) (shard client.Shard, name string, err error) {
	name = r.PathValue("shard")
	n, ok := client.ShardNumber(name)
	if !ok || n >= a.Frontier.Shards {
		return shard, name, httpapi.NotFound("no such shard; use shard-0 to shard-%d", a.Frontier.Shards-1)
	}
	return a.Frontier.Shard(n), name, nil
}

// quarantine lists the damaged rows of a shard.
func (a frontierRoutes) quarantine(w http.ResponseWriter, r *http.Request) error {
	q, err := readQuery(r, "cursor")
	if err != nil {
		return err
	}
	request := frontier.QuarantineRequest{Limit: maxQuarantineRows}
	if n := q.number("cursor", 0, frontier.MaxExport); n != nil {
		request.After = *n
	}
	if q.err != nil {
		return q.err
	}
	shard, name, err := a.shardOf(r)
	if err != nil {
		return err
	}
	page, err := shard.Quarantine(r.Context(), request)
	if err != nil {
		return shardAway(w, err)
	}
	answer := contract.FrontierQuarantine{Shard: name, Rows: []contract.FrontierQuarantinedRow{}}
	for _, row := range page.Rows {
		answer.Rows = append(answer.Rows, contract.FrontierQuarantinedRow{ID: row.ID,
			At: *contract.AtMillis(max(row.At, 1)), Table: row.Table, Key: row.Key, Name: row.Name, Reason: row.Reason,
			Bytes: row.Bytes})
	}
	if page.Next > 0 {
		answer.Cursor = contract.Text(strconv.FormatInt(page.Next, 10))
	}
	httpapi.Succeed(w, http.StatusOK, answer)
	return nil
}

func (a frontierRoutes) dropRow(w http.ResponseWriter, r *http.Request) error {
	return a.changeRow(w, r, "dropped", client.Shard.DropRow)
}

func (a frontierRoutes) restoreRow(w http.ResponseWriter, r *http.Request) error {
	return a.changeRow(w, r, "restored", client.Shard.RestoreRow)
}

// changeRow drops or restores a damaged row.
func (a frontierRoutes) changeRow(w http.ResponseWriter, r *http.Request, done string,
	change func(client.Shard, context.Context, int64) (bool, error)) error {
	if err := onlyQuery(r); err != nil {
		return err
	}
	shard, name, err := a.shardOf(r)
	if err != nil {
		return err
	}
	id, err := strconv.ParseInt(r.PathValue("id"), 10, 53)
	if err != nil || id < 1 {
		return contract.Invalid("id", "%.40q is not the number of a row", r.PathValue("id"))
	}
	found, err := change(shard, r.Context(), id)
	if err != nil {
		return shardAway(w, err)
	}
	if !found {
		return httpapi.NotFound("the quarantine of %s has no row %d", name, id)
	}
	a.Log.Warn("quarantine_changed", "shard", name, "row", id, "done", done, "by", httpapi.Actor(r))
	httpapi.Succeed(w, http.StatusOK, contract.FrontierQuarantineChanged{Shard: name, ID: id})
	return nil
}
