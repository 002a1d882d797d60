package frontier

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"strconv"
	"strings"
	"time"

	"github.com/newsfork/seed-engine/contract"
	"github.com/newsfork/seed-engine/frontier/idle"
	"github.com/newsfork/seed-engine/frontier/placement"
)

// Caller takes calls to the shard with a name, which runs them by Shard.Serve: one call, one
// transaction. An error means that no answer came; the call may have been done all the same.
type Caller interface {
	Call(ctx context.Context, shard, operation string, request []byte) (answer []byte, err error)
}

// CallTimeout is the time that a Caller waits for an answer. A shard answers in milliseconds, one that has
// to start in a tenth of a second; of one that does not answer, nothing may be fetched from.
const CallTimeout = 5 * time.Second

// Remotes is the frontier: all its shards.
type Remotes struct {
	Caller Caller
	Shards int          // how many there are; see placement.ShardOf
	Idle   *idle.Shards // what Lease remembers of them; nil: nothing
}

// Of returns the shard of a registrable domain.
func (r Remotes) Of(domain string) Remote { return r.Shard(placement.ShardOf(domain, r.Shards)) }

// Shard returns a shard by its number, from 0.
func (r Remotes) Shard(n int) Remote { return Remote{r.Caller, shardName(n)} }

// ShardNumber returns the number of the shard with a name.
func ShardNumber(name string) (n int, ok bool) {
	n, err := strconv.Atoi(strings.TrimPrefix(name, "shard-"))
	return n, err == nil && n >= 0 && name == shardName(n)
}

// shardName is under which name the platform finds a shard again, with all that is stored there.
func shardName(n int) string { return "shard-" + strconv.Itoa(n) }

// Remote is a Shard at a distance, with the same operations; its clock is the one that counts.
//
// Errors are contract.Errors of the kinds that the shard gave. Where it gave no answer, or where one
// of the two is too old for the other, the kind is Storage: the same call may succeed later.
type Remote struct {
	caller Caller
	name   string
}

// Name is the name of the shard.
func (r Remote) Name() string { return r.name }

// ErrUnknownOperation is given when the shard runs an older version that lacks the operation, as for
// some minutes of a deploy.
var ErrUnknownOperation = errors.New("frontier: the shard runs an older version, which lacks the operation")

func (r Remote) Put(ctx context.Context, p Put) (PutAnswer, error) {
	return ask[PutAnswer](ctx, r, "put", p)
}

func (r Remote) PutAll(ctx context.Context, p PutAll) ([]PutAnswer, error) {
	return ask[[]PutAnswer](ctx, r, "put_all", p)
}

func (r Remote) Lease(ctx context.Context, l LeaseRequest) (Lease, error) {
	return ask[Lease](ctx, r, "lease", l)
}

func (r Remote) Report(ctx context.Context, p Report) (ReportAnswer, error) {
	return ask[ReportAnswer](ctx, r, "report", p)
}

func (r Remote) RenewLease(ctx context.Context, p RenewLease) (RenewedLease, error) {
	return ask[RenewedLease](ctx, r, "renew_lease", p)
}

func (r Remote) ReleaseLease(ctx context.Context, p ReleaseLease) (items int, err error) {
	return ask[int](ctx, r, "release_lease", p)
}

func (r Remote) Acquire(ctx context.Context, a AcquireRequest) (Acquired, error) {
	return ask[Acquired](ctx, r, "acquire", a)
}

func (r Remote) Renew(ctx context.Context, domain, owner string, seconds int64) (kept bool, err error) {
	return ask[bool](ctx, r, "renew", RenewRequest{domain, owner, seconds})
}

func (r Remote) Release(ctx context.Context, p ReleaseRequest) (released bool, err error) {
	return ask[bool](ctx, r, "release", p)
}

func (r Remote) Mirror(ctx context.Context, m MirrorRequest) (MirrorAnswer, error) {
	return ask[MirrorAnswer](ctx, r, "mirror", m)
}

func (r Remote) Stats(ctx context.Context) (Stats, error) { return ask[Stats](ctx, r, "stats", None{}) }

func (r Remote) Hosts(ctx context.Context, h HostsRequest) (HostsPage, error) {
	return ask[HostsPage](ctx, r, "hosts", h)
}

func (r Remote) URL(ctx context.Context, url string) (URLState, error) {
	return ask[URLState](ctx, r, "url", UrlRequest{url})
}

// URLs returns the states of URLs of a domain, in the same order.
func (r Remote) URLs(ctx context.Context, domain string, urls []string) ([]string, error) {
	answer, err := ask[URLStates](ctx, r, "urls", URLsRequest{domain, urls})
	if err == nil && len(answer.States) != len(urls) {
		err = contract.Wrap(contract.Storage, "frontier.urls", errEnvelope)
	}
	return answer.States, err
}

// Host describes a host; its name is "" if there is none.
func (r Remote) Host(ctx context.Context, host string) (HostDetail, error) {
	return ask[HostDetail](ctx, r, "host", HostRequest{host})
}

func (r Remote) SetHost(ctx context.Context, host string, change HostChange) (found bool, err error) {
	return ask[bool](ctx, r, "set_host", SetHostRequest{host, change})
}

func (r Remote) Exclude(ctx context.Context, x Exclusion, excluded bool) error {
	_, err := ask[None](ctx, r, "exclude", ExcludeRequest{x, excluded})
	return err
}

func (r Remote) Export(ctx context.Context, from int64) (Snapshot, error) {
	return ask[Snapshot](ctx, r, "export", ExportRequest{From: from})
}

// Quarantine lists damaged rows, oldest first.
func (r Remote) Quarantine(ctx context.Context, q QuarantineRequest) (QuarantinePage, error) {
	return ask[QuarantinePage](ctx, r, "quarantine", q)
}

// DropRow deletes a damaged row, and reports whether there is one.
func (r Remote) DropRow(ctx context.Context, id int64) (found bool, err error) {
	return ask[bool](ctx, r, "drop_row", QuarantinedID{id})
}

// RestoreRow puts a damaged row back that can be read, and reports whether there is one.
func (r Remote) RestoreRow(ctx context.Context, id int64) (found bool, err error) {
	return ask[bool](ctx, r, "restore_row", QuarantinedID{id})
}

func (r Remote) Restore(ctx context.Context, page Snapshot) (restored int, err error) {
	return ask[int](ctx, r, "restore", page)
}

// OrderSnapshot makes the shard store a snapshot soon, and reports whether it has anything to store.
func (r Remote) OrderSnapshot(ctx context.Context) (ordered bool, err error) {
	return ask[bool](ctx, r, "snapshot", None{})
}

func (r Remote) Feed(ctx context.Context, f FeedRequest) (FeedPage, error) {
	return ask[FeedPage](ctx, r, "feed", f)
}

func (r Remote) Changes(ctx context.Context, c ChangesRequest) (ChangesPage, error) {
	return ask[ChangesPage](ctx, r, "changes", c)
}

func (r Remote) Changed(ctx context.Context, c Changed) error {
	_, err := ask[None](ctx, r, "changed", c)
	return err
}

func (r Remote) Entries(ctx context.Context, domain string) ([]EntryInfo, error) {
	answer, err := ask[EntryList](ctx, r, "entries", EntriesRequest{domain})
	return answer.Entries, err
}

func (r Remote) Pages(ctx context.Context, p PagesRequest) ([]PageInfo, error) {
	answer, err := ask[PageList](ctx, r, "pages", p)
	return answer.Pages, err
}

func (r Remote) BeginRefresh(ctx context.Context, b RefreshRequest) (RefreshGrant, error) {
	return ask[RefreshGrant](ctx, r, "begin_refresh", b)
}

func (r Remote) EndRefresh(ctx context.Context, e RefreshResult) (RefreshEnd, error) {
	return ask[RefreshEnd](ctx, r, "end_refresh", e)
}

var errEnvelope = errors.New("the answer is not one of a shard")

func ask[Answer any](ctx context.Context, r Remote, name string, request any) (answer Answer, err error) {
	err = r.ask(ctx, name, request, &answer)
	return answer, err
}

// ask decodes the answer of an operation. It is not compiled for each type of answer, of which there are many.
func (r Remote) ask(ctx context.Context, name string, request, answer any) error {
	op := "frontier." + name + " (" + r.name + ")"
	data, err := Encode(request)
	if err != nil {
		return contract.Wrap(contract.Internal, op, err)
	}
	data, err = r.caller.Call(ctx, r.name, name, data)
	if err != nil {
		return contract.Wrap(contract.Storage, op, err)
	}
	e := Envelope{Answer: answer}
	if err := json.Unmarshal(data, &e); err != nil {
		return contract.Wrap(contract.Storage, op, err)
	}
	switch {
	case e.Error != nil:
		return e.Error.received(op)
	case e.Answer == nil || !bytes.Contains(data, []byte(`"answer"`)):
		return contract.Wrap(contract.Storage, op, errEnvelope)
	}
	return nil
}

// shardKinds are the codes of errors that keep their kind. What a later version adds counts as Storage.
var shardKinds = []contract.Kind{contract.Validation, contract.Parse, contract.Network, contract.Timeout,
	contract.Storage, contract.Internal}
