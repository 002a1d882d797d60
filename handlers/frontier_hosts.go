package handlers

import (
	"encoding/json"
	"math"
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/newsfork/seed-engine/contract"
	"github.com/newsfork/seed-engine/epoch"
	"github.com/newsfork/seed-engine/frontier"
	"github.com/newsfork/seed-engine/httpapi"
)

// frontierHosts shows one page of the hosts.
func (a frontierRoutes) frontierHosts(w http.ResponseWriter, r *http.Request) error {
	q, err := readQuery(r, "sort", "blocked", "limit", "cursor")
	if err != nil {
		return err
	}
	want := frontier.HostsRequest{Sort: q.oneOf("sort", "due", "size"), Limit: q.limit(), Cursor: q.text("cursor")}
	if blocked := q.flag("blocked"); blocked != nil {
		want.Blocked = *blocked
	}
	if q.err != nil {
		return q.err
	}
	page, err := a.Frontier.Hosts(r.Context(), want)
	if err != nil {
		return shardAway(w, err)
	}
	answer := contract.FrontierHostPage{Hosts: make([]contract.FrontierHost, len(page.Hosts)),
		Cursor: contract.Text(page.Next), Unavailable: append([]string{}, page.Missing...)}
	for i := range page.Hosts {
		answer.Hosts[i] = hostOf(&page.Hosts[i])
	}
	httpapi.Succeed(w, http.StatusOK, answer)
	return nil
}

func hostOf(h *frontier.HostInfo) contract.FrontierHost {
	return contract.FrontierHost{
		Host: h.Host, Domain: h.Domain, URLs: h.URLs, Entries: h.Entries, Due: h.Due, Done: h.Done, Failed: h.Failed,
		Traps:   h.Traps,
		Delay:   seconds(h.Delay),
		ReadyAt: contract.AtMillis(h.ReadyAt), DueAt: contract.AtMillis(h.DueAt),
		LeasedUntil: contract.AtMillis(h.LeasedUntil), BlockedUntil: contract.AtMillis(h.BlockedUntil),
		RobotsExpiresAt: contract.AtMillis(h.RobotsExpires), UnresolvedUntil: contract.AtMillis(h.Unresolved),
		Excluded: h.Excluded,
	}
}

// changeHost blocks a host, sets its delay, or empties its queue.
func (a frontierRoutes) changeHost(w http.ResponseWriter, r *http.Request) error {
	if err := onlyQuery(r); err != nil {
		return err
	}
	host, err := frontierHost(r.PathValue("host"))
	if err != nil {
		return err
	}
	change, err := readHostChange(r)
	if err != nil {
		return err
	}
	found, err := a.Frontier.SetHost(r.Context(), host, change)
	if err != nil {
		return shardAway(w, err)
	}
	if !found {
		return httpapi.NotFound("the frontier has no host %s; GET /api/v1/frontier/hosts lists all hosts", host)
	}
	a.Log.Warn("host_changed", "host", host, "blocked", change.BlockUntil != nil, "delayed", change.Delay != nil,
		"emptied", change.Empty, "by", httpapi.Actor(r))
	httpapi.Succeed(w, http.StatusOK, contract.FrontierHostChanged{Host: host})
	return nil
}

// frontierHost returns a host, perhaps with a port, as the frontier spells it.
func frontierHost(name string) (string, error) {
	name, port, hasPort := strings.Cut(name, ":")
	host, err := sanitizeDomain(name)
	if n, bad := strconv.Atoi(port); err != nil || hasPort && (bad != nil || n < 1 || n > 65535) {
		return "", contract.Invalid("host", "%.80q is not a host; use lower-case ASCII labels such as %q", name,
			"www.mom.gov.sg")
	}
	if hasPort {
		host += ":" + port
	}
	return host, nil
}

// maxDelay is the longest crawl delay in seconds: a day.
const maxDelay = 86_400

func readHostChange(r *http.Request) (change frontier.HostChange, err error) {
	var body struct {
		BlockUntil json.RawMessage `json:"block_until"` // null ends a block
		Delay      *float64        `json:"delay_seconds"`
		Empty      bool            `json:"empty"`
	}
	if err := httpapi.ReadJSON(r, &body); err != nil {
		return change, err
	}
	if body.BlockUntil == nil && body.Delay == nil && !body.Empty {
		return change, contract.Invalid("body", "changes nothing; send block_until, delay_seconds or empty")
	}
	change.Empty = body.Empty
	if body.Delay != nil {
		if err := within("delay_seconds", body.Delay, 0, maxDelay); err != nil {
			return change, err
		}
		ms := int64(math.Ceil(*body.Delay * 1000))
		change.Delay = &ms
	}
	if body.BlockUntil != nil {
		var until *time.Time
		if err := json.Unmarshal(body.BlockUntil, &until); err != nil {
			return change, contract.Invalid("block_until",
				"is not a time; send one such as %q, or null to end a block", "2026-01-28T09:00:00Z")
		}
		at := epoch.Millis(0)
		if until != nil {
			at = max(epoch.MillisOf(*until), 0)
		}
		change.BlockUntil = &at
	}
	return change, nil
}

// exportShard returns one page of a shard's content, as in the daily snapshots.
func (a frontierRoutes) exportShard(w http.ResponseWriter, r *http.Request) error {
	q, err := readQuery(r, "cursor")
	if err != nil {
		return err
	}
	from := int64(0)
	if n := q.number("cursor", 0, frontier.MaxExport); n != nil {
		from = *n
	}
	if q.err != nil {
		return q.err
	}
	shard, name, err := a.shardOf(r)
	if err != nil {
		return err
	}
	page, err := shard.Export(r.Context(), from)
	if err != nil {
		return shardAway(w, err)
	}
	if page.Hosts == nil { // [] in JSON, not null
		page.Hosts = []frontier.HostSnapshot{}
	}
	answer := contract.FrontierExport{Shard: name, Snapshot: contract.Encode(page)}
	if page.Next > 0 {
		answer.Cursor = contract.Text(strconv.FormatInt(page.Next, 10))
	}
	httpapi.Succeed(w, http.StatusOK, answer)
	return nil
}
