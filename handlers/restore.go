package handlers

import (
	"errors"
	"net/http"
	"runtime"

	"github.com/newsfork/seed-engine/contract"
	"github.com/newsfork/seed-engine/frontier"
	"github.com/newsfork/seed-engine/frontier/client"
	"github.com/newsfork/seed-engine/httpapi"
)

// restore runs the next step of restoring shards of the frontier from their snapshots.
func (a frontierRoutes) restore(w http.ResponseWriter, r *http.Request) error {
	if err := onlyQuery(r); err != nil {
		return err
	}
	var body struct {
		Shard  string `json:"shard"`
		Live   bool   `json:"live"`
		Cursor string `json:"cursor"`
	}
	if err := httpapi.ReadJSON(r, &body); err != nil {
		return err
	}
	if body.Cursor == "" {
		if err := a.excludeAgain(r); err != nil {
			return err
		}
	}
	done, err := a.Restorer.Run(r.Context(), body.Shard, body.Live, body.Cursor)
	if err == nil && done.Done { // exclusions confirmed meanwhile might have missed the new rows
		err = a.excludeAgain(r)
	}
	if err != nil {
		return err
	}
	httpapi.Succeed(w, http.StatusOK, done)
	return nil
}

// snapshot makes a shard, or all of them, store a snapshot soon.
func (a frontierRoutes) snapshot(w http.ResponseWriter, r *http.Request) error {
	if err := onlyQuery(r); err != nil {
		return err
	}
	var body struct {
		Shard *string `json:"shard"`
	}
	if err := httpapi.ReadJSON(r, &body); err != nil {
		return err
	}
	answer := contract.SnapshotsOrdered{Shards: []string{}, Unavailable: []string{}}
	if body.Shard == nil {
		ordered, silent, err := a.Frontier.OrderSnapshots(r.Context())
		if err != nil {
			return shardAway(w, err)
		}
		answer.Shards, answer.Unavailable = append(answer.Shards, ordered...), append(answer.Unavailable, silent...)
		httpapi.Succeed(w, http.StatusAccepted, answer)
		return nil
	}
	n, ok := client.ShardNumber(*body.Shard)
	if !ok {
		return contract.Invalid("shard",
			"%.80q is not the name of a shard; send a name such as \"shard-3\", or none for all",
			*body.Shard)
	}
	ordered, err := a.Frontier.Shard(n).OrderSnapshot(r.Context())
	if err != nil {
		return shardAway(w, err)
	}
	if !ordered {
		return contract.Invalid("shard", "%s has no hosts; send the name of one that has, up to shard-%d", *body.Shard,
			a.Frontier.Shards-1)
	}
	answer.Shards = append(answer.Shards, *body.Shard)
	httpapi.Succeed(w, http.StatusAccepted, answer)
	return nil
}

// importLimits are those of an imported page: a shard takes 16 MB, and a host is never divided. A page has at most 500
// hosts of some dozen values, and one host of 12 MB has few.
var importLimits = httpapi.Limits{Bytes: 12 << 20, Values: 20_000}

// importPage restores a line of an export, or some of its hosts.
func (a frontierRoutes) importPage(w http.ResponseWriter, r *http.Request) error {
	if err := onlyQuery(r); err != nil {
		return err
	}
	if err := a.reserve(w, r, importLimits.Bytes, pageMemory); err != nil {
		return err
	}
	var page frontier.Snapshot
	if err := httpapi.ReadJSONWithin(r, importLimits, &page); err != nil {
		return err
	}
	if page.Version < 1 {
		return contract.Invalid("version", "is missing; send a line as the export of a shard has it")
	}
	runtime.GC() // the body and the decoder's copies of it make room for the calls of shards
	hosts, err := a.Restorer.Import(r.Context(), page)
	if errors.Is(err, frontier.ErrNewer) {
		return contract.Invalid("version", "%d is of a later version of the engine; deploy that first", page.Version)
	}
	if err == nil && page.Next == 0 { // the last page: exclusions made since the export
		err = a.excludeAgain(r)
	}
	if err != nil {
		return shardAway(w, err)
	}
	httpapi.Succeed(w, http.StatusOK, contract.FrontierImported{Hosts: hosts})
	return nil
}
