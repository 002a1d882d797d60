package handlers

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
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
		Excluded: h.Excluded, Failures: h.Failures, Refusals: h.Refusals, LastFailure: failureOf(h.Fault),
		ForbidsAll: h.Forbidden, RobotsUnreadable: h.NoRobots,
	}
}

func failureOf(f *frontier.Fault) *contract.FrontierFailure {
	if f == nil {
		return nil
	}
	return &contract.FrontierFailure{At: contract.Time{Time: f.At.Time()}, Status: statusOf(f.Status),
		Error: contract.Text(f.Error)}
}

// frontierHost shows one host.
func (a frontierRoutes) frontierHost(w http.ResponseWriter, r *http.Request) error {
	if err := onlyQuery(r); err != nil {
		return err
	}
	host, err := hostIn(r)
	if err != nil {
		return err
	}
	d, err := a.Frontier.Host(r.Context(), host)
	if err != nil {
		return shardAway(w, err)
	}
	if d.Host == "" {
		return noHost(host)
	}
	answer := contract.FrontierHostDetail{
		FrontierHost: hostOf(&d.HostInfo),
		Leased:       append([]string{}, d.Leased...),
		Patterns:     []contract.FrontierPattern{},
		Trap:         contract.Text(d.TrapExample),
		Revisits: contract.FrontierRevisits{
			Scheduled: d.Scheduled, NextAt: contract.AtMillis(d.VisitAt), LastmodTrusted: !d.Stale,
			PerDay: d.Visits.PerDay,
			Made:   d.Visits.Made, ShardScheduled: d.Visits.Scheduled, Threshold: d.Visits.Threshold,
		},
		Of: contract.FrontierDomain{
			URLs: d.DomainURLs, Limit: d.Limit, MoreStored: []contract.Partition{},
			OwnedUntil: contract.AtMillis(d.OwnedUntil),
			MirrorOf:   contract.Text(d.MirrorOf), CollectedAt: contract.AtMillis(d.Evidence.At),
		},
	}
	for _, k := range d.Patterns {
		answer.Patterns = append(answer.Patterns,
			contract.FrontierPattern{Pattern: k.Pattern, Refused: k.Refused, Observed: k.Observed})
	}
	for _, b := range d.Backlogs {
		answer.Of.MoreStored = append(answer.Of.MoreStored, b.Partition)
	}
	if d.Override > 0 {
		delay := seconds(d.Override)
		answer.Override = &delay
	}
	httpapi.Succeed(w, http.StatusOK, answer)
	return nil
}

func noHost(host string) error {
	return httpapi.NotFound("the frontier has no host %s; GET /api/v1/frontier/hosts lists all hosts", host)
}

// changeHost blocks a host, sets its delay, empties its queue, or forgets what it knows of it.
func (a frontierRoutes) changeHost(w http.ResponseWriter, r *http.Request) error {
	if err := onlyQuery(r); err != nil {
		return err
	}
	host, err := hostIn(r)
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
		return noHost(host)
	}
	a.Log.Warn("host_changed", "host", host, "blocked", change.BlockUntil != nil, "delayed", change.Delay != nil,
		"emptied", change.Empty, "forgotten", change.Forget, "by", httpapi.Actor(r))
	httpapi.Succeed(w, http.StatusOK, contract.FrontierHostChanged{Host: host})
	return nil
}

// allowAll is the robots.txt of a host without rules.
const allowAll = "User-agent: *\nAllow: /\n"

// frontierRobots serves the rules of a host's robots.txt that are for the engine's crawlers and scrapers, while the
// engine has all of them and they are at most a day old.
func (a frontierRoutes) frontierRobots(w http.ResponseWriter, r *http.Request) error {
	if err := onlyQuery(r); err != nil {
		return err
	}
	host, err := hostIn(r)
	if err != nil {
		return err
	}
	d, err := a.Frontier.Host(r.Context(), host)
	if err != nil {
		return shardAway(w, err)
	}
	left := d.RobotsExpires.Sub(epoch.MillisOf(a.Now()))
	switch {
	case d.Host == "":
		return noHost(host)
	case left <= 0 || strings.HasPrefix(d.Rules, frontier.PartialRules) || !a.Settings.SameProduct():
		return httpapi.NotFound("the engine has no whole and fresh robots.txt of %s; read it at the host", host)
	}
	text := cmp.Or(d.Rules, allowAll)
	sum := sha256.Sum256([]byte(text))
	tag := `"` + hex.EncodeToString(sum[:16]) + `"`
	h := w.Header()
	h.Set("ETag", tag)
	h.Set("Cache-Control", "private, max-age="+strconv.Itoa(int(left.Seconds())))
	h.Set("X-Content-Type-Options", "nosniff") // the patterns are another site's
	h.Set("Content-Security-Policy", "sandbox")
	if matchesTag(r.Header.Get("If-None-Match"), tag) {
		w.WriteHeader(http.StatusNotModified)
		return nil
	}
	h.Set("Content-Type", "text/plain; charset=utf-8")
	w.WriteHeader(http.StatusOK)
	_, err = w.Write([]byte(text))
	return contract.Wrap(contract.Network, "handlers.frontierRobots", err)
}

// hostIn returns the host in the path of a request, perhaps with a port, as the frontier spells it.
func hostIn(r *http.Request) (string, error) { return sanitizeHost(r.PathValue("host")) }

func sanitizeHost(text string) (string, error) {
	name, port, hasPort := strings.Cut(text, ":")
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

// maxDelay is the longest crawl delay in seconds.
const maxDelay = int64(contract.MaxObeyed / time.Second)

func readHostChange(r *http.Request) (change frontier.HostChange, err error) {
	var body struct {
		BlockUntil json.RawMessage `json:"block_until"` // null ends a block
		Delay      *float64        `json:"delay_seconds"`
		Empty      bool            `json:"empty"`
		Forget     string          `json:"forget"`
	}
	if err := httpapi.ReadJSON(r, &body); err != nil {
		return change, err
	}
	if body.BlockUntil == nil && body.Delay == nil && !body.Empty && body.Forget == "" {
		return change, contract.Invalid("body", "changes nothing; send block_until, delay_seconds, empty or forget")
	}
	if err := frontier.CheckForget(body.Forget); err != nil {
		return change, err
	}
	change.Empty, change.Forget = body.Empty, body.Forget
	if body.Delay != nil {
		if err := within("delay_seconds", body.Delay, 0, float64(maxDelay)); err != nil {
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
