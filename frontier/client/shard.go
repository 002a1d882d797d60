package client

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"slices"

	"github.com/newsfork/seed-engine/contract"
	"github.com/newsfork/seed-engine/frontier"
)

// Shard is the client of one shard: it has the operations of shard.Shard without their time, for which the shard uses
// its own clock.
//
// Errors are contract.Errors with the shard's kind. If the shard did not answer, or runs a version too old or too new,
// the kind is Storage: the same call may succeed later.
type Shard struct {
	caller Caller
	name   string
}

// Name returns the name of the shard.
func (s Shard) Name() string { return s.name }

func (s Shard) Put(ctx context.Context, p frontier.Put) (frontier.PutAnswer, error) {
	return ask[frontier.PutAnswer](ctx, s, "put", p)
}

func (s Shard) PutAll(ctx context.Context, p frontier.PutAll) ([]frontier.PutAnswer, error) {
	return ask[[]frontier.PutAnswer](ctx, s, "put_all", p)
}

func (s Shard) Lease(ctx context.Context, l frontier.LeaseRequest) (frontier.Lease, error) {
	return ask[frontier.Lease](ctx, s, "lease", l)
}

func (s Shard) Report(ctx context.Context, p frontier.Report) (frontier.ReportAnswer, error) {
	return ask[frontier.ReportAnswer](ctx, s, "report", p)
}

func (s Shard) RenewLease(ctx context.Context, p frontier.RenewLease) (frontier.RenewedLease, error) {
	return ask[frontier.RenewedLease](ctx, s, "renew_lease", p)
}

func (s Shard) ReleaseLease(ctx context.Context, p frontier.ReleaseLease) (items int, err error) {
	return ask[int](ctx, s, "release_lease", p)
}

func (s Shard) Acquire(ctx context.Context, a frontier.AcquireRequest) (frontier.Acquired, error) {
	return ask[frontier.Acquired](ctx, s, "acquire", a)
}

func (s Shard) Renew(ctx context.Context, domain, owner string, seconds int64) (kept bool, err error) {
	return ask[bool](ctx, s, "renew", frontier.RenewRequest{Domain: domain, Owner: owner, Seconds: seconds})
}

func (s Shard) Release(ctx context.Context, p frontier.ReleaseRequest) (released bool, err error) {
	return ask[bool](ctx, s, "release", p)
}

func (s Shard) Mirror(ctx context.Context, m frontier.MirrorRequest) (frontier.MirrorAnswer, error) {
	return ask[frontier.MirrorAnswer](ctx, s, "mirror", m)
}

func (s Shard) Stats(ctx context.Context) (frontier.Stats, error) {
	return ask[frontier.Stats](ctx, s, "stats", frontier.None{})
}

func (s Shard) Hosts(ctx context.Context, h frontier.HostsRequest) (frontier.HostsPage, error) {
	return ask[frontier.HostsPage](ctx, s, "hosts", h)
}

func (s Shard) URL(ctx context.Context, url string) (frontier.URLState, error) {
	return ask[frontier.URLState](ctx, s, "url", frontier.UrlRequest{URL: url})
}

// URLs returns the states of URLs of a domain, in the same order.
func (s Shard) URLs(ctx context.Context, domain string, urls []string) ([]string, error) {
	answer, err := ask[frontier.URLStates](ctx, s, "urls", frontier.URLsRequest{Domain: domain, URLs: urls})
	if err == nil && len(answer.States) != len(urls) {
		err = contract.Wrap(contract.Storage, "frontier.urls", errEnvelope)
	}
	return answer.States, err
}

// Host describes a host. The name of an unknown host is "".
func (s Shard) Host(ctx context.Context, host string) (frontier.HostDetail, error) {
	return ask[frontier.HostDetail](ctx, s, "host", frontier.HostRequest{Host: host})
}

func (s Shard) SetHost(ctx context.Context, host string, change frontier.HostChange) (found bool, err error) {
	return ask[bool](ctx, s, "set_host", frontier.SetHostRequest{Host: host, Change: change})
}

func (s Shard) Exclude(ctx context.Context, x frontier.Exclusion, excluded bool) error {
	_, err := ask[frontier.None](ctx, s, "exclude", frontier.ExcludeRequest{Exclusion: x, Excluded: excluded})
	return err
}

func (s Shard) Export(ctx context.Context, from int64) (frontier.Snapshot, error) {
	return ask[frontier.Snapshot](ctx, s, "export", frontier.ExportRequest{From: from})
}

// Quarantine lists damaged rows, oldest first.
func (s Shard) Quarantine(ctx context.Context, q frontier.QuarantineRequest) (frontier.QuarantinePage, error) {
	return ask[frontier.QuarantinePage](ctx, s, "quarantine", q)
}

// DropRow deletes a damaged row, and reports whether there is one.
func (s Shard) DropRow(ctx context.Context, id int64) (found bool, err error) {
	return ask[bool](ctx, s, "drop_row", frontier.QuarantinedID{ID: id})
}

// RestoreRow puts a damaged row back that can be read, and reports whether there is one.
func (s Shard) RestoreRow(ctx context.Context, id int64) (found bool, err error) {
	return ask[bool](ctx, s, "restore_row", frontier.QuarantinedID{ID: id})
}

func (s Shard) Restore(ctx context.Context, page frontier.Snapshot) (restored int, err error) {
	return ask[int](ctx, s, "restore", page)
}

// OrderSnapshot makes the shard store a snapshot soon, and reports whether it has anything to store.
func (s Shard) OrderSnapshot(ctx context.Context) (ordered bool, err error) {
	return ask[bool](ctx, s, "snapshot", frontier.None{})
}

func (s Shard) Feed(ctx context.Context, f frontier.FeedRequest) (frontier.FeedPage, error) {
	return ask[frontier.FeedPage](ctx, s, "feed", f)
}

func (s Shard) Changes(ctx context.Context, c frontier.ChangesRequest) (frontier.ChangesPage, error) {
	return ask[frontier.ChangesPage](ctx, s, "changes", c)
}

func (s Shard) Changed(ctx context.Context, c frontier.Changed) error {
	_, err := ask[frontier.None](ctx, s, "changed", c)
	return err
}

func (s Shard) Entries(ctx context.Context, domain string) ([]frontier.EntryInfo, error) {
	answer, err := ask[frontier.EntryList](ctx, s, "entries", frontier.EntriesRequest{Domain: domain})
	return answer.Entries, err
}

func (s Shard) Pages(ctx context.Context, p frontier.PagesRequest) ([]frontier.PageInfo, error) {
	answer, err := ask[frontier.PageList](ctx, s, "pages", p)
	return answer.Pages, err
}

func (s Shard) BeginRefresh(ctx context.Context, b frontier.RefreshRequest) (frontier.RefreshGrant, error) {
	return ask[frontier.RefreshGrant](ctx, s, "begin_refresh", b)
}

// BeginRefreshes is BeginRefresh for several entry points of the shard, with the grants in the same order.
func (s Shard) BeginRefreshes(ctx context.Context, list []frontier.RefreshRequest) ([]frontier.RefreshGrant, error) {
	answer, err := ask[frontier.RefreshGrants](ctx, s, "begin_refreshes", frontier.RefreshRequests{Refreshes: list})
	if err == nil && len(answer.Grants) != len(list) {
		err = contract.Wrap(contract.Storage, "frontier.begin_refreshes", errEnvelope)
	}
	return answer.Grants, err
}

func (s Shard) EndRefresh(ctx context.Context, e frontier.RefreshResult) (frontier.RefreshEnd, error) {
	return ask[frontier.RefreshEnd](ctx, s, "end_refresh", e)
}

var errEnvelope = errors.New("the answer is not one of a shard")

func ask[Answer any](ctx context.Context, s Shard, name string, request any) (answer Answer, err error) {
	err = s.ask(ctx, name, request, &answer)
	return answer, err
}

// ask calls an operation and decodes its answer.
func (s Shard) ask(ctx context.Context, name string, request, answer any) error {
	op := "frontier." + name + " (" + s.name + ")"
	data, err := frontier.Encode(request)
	if err != nil {
		return contract.Wrap(contract.Internal, op, err)
	}
	data, err = s.caller.Call(ctx, s.name, name, data)
	if err != nil {
		return contract.Wrap(contract.Storage, op, err)
	}
	e := frontier.Envelope{Answer: answer}
	if err := json.Unmarshal(data, &e); err != nil {
		return contract.Wrap(contract.Storage, op, err)
	}
	switch {
	case e.Error != nil:
		return received(op, e.Error)
	case e.Answer == nil || !bytes.Contains(data, []byte(`"answer"`)):
		return contract.Wrap(contract.Storage, op, errEnvelope)
	}
	return nil
}

// received returns the error that a shard sent.
func received(op string, e *frontier.WireError) error {
	switch e.Code {
	case frontier.CodeUnknownOperation:
		return contract.Wrap(contract.Storage, op, frontier.ErrUnknownOperation)
	case frontier.CodeNewer:
		return contract.Wrap(contract.Storage, op, frontier.ErrNewer)
	}
	kind := contract.Kind(e.Code)
	if !slices.Contains(shardKinds, kind) {
		kind = contract.Storage
	}
	return &contract.Error{Kind: kind, Op: op, Field: e.Field, Message: e.Message}
}

// shardKinds are the kinds that keep their meaning. A kind that a later version adds counts as Storage.
var shardKinds = []contract.Kind{contract.Validation, contract.Parse, contract.Network, contract.Timeout,
	contract.Storage, contract.Internal}
