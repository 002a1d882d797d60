package shard

import (
	"cmp"
	"encoding/json"
	"errors"

	"github.com/newsfork/seed-engine/contract"
	"github.com/newsfork/seed-engine/epoch"
	"github.com/newsfork/seed-engine/frontier"
)

// operations maps names to operations. Names never change.
var operations = map[string]func(s *Shard, now epoch.Millis, request []byte) (answer []byte, err error){
	"put":     operation((*Shard).Put),
	"put_all": operation((*Shard).PutAll),
	"lease":   operation((*Shard).Lease),
	"report":  operation((*Shard).Report),
	"acquire": operation((*Shard).Acquire),

	"renew_lease":   operation((*Shard).RenewLease),
	"release_lease": operation((*Shard).ReleaseLease),

	"renew": operation(func(s *Shard, now epoch.Millis, r frontier.RenewRequest) (bool, error) {
		return s.Renew(now, r.Domain, r.Owner, r.Seconds)
	}),
	"release": operation((*Shard).Release),
	"mirror":  operation((*Shard).Mirror),
	"stats": operation(func(s *Shard, now epoch.Millis, _ frontier.None) (frontier.Stats,
		error) {
		return s.Stats(now)
	}),
	"hosts": operation((*Shard).Hosts),
	"url": operation(func(s *Shard, now epoch.Millis, r frontier.UrlRequest) (frontier.URLState,
		error) {
		return s.URL(now, r.URL)
	}),
	"urls": operation((*Shard).URLs),
	"host": operation(func(s *Shard, now epoch.Millis, r frontier.HostRequest) (frontier.HostDetail, error) {
		return s.Host(now, r.Host)
	}),
	"set_host": operation(func(s *Shard, now epoch.Millis, r frontier.SetHostRequest) (bool, error) {
		return s.SetHost(now, r.Host, r.Change)
	}),
	"exclude": operation(func(s *Shard, now epoch.Millis, r frontier.ExcludeRequest) (frontier.None, error) {
		return frontier.None{}, s.Exclude(now, r.Exclusion, r.Excluded)
	}),
	"export": operation(func(s *Shard, now epoch.Millis, r frontier.ExportRequest) (frontier.Snapshot, error) {
		page, err := s.Export(now, r.From)
		page.Taken = r.Taken
		return page, err
	}),
	"restore":  operation((*Shard).Restore),
	"snapshot": operation((*Shard).OrderSnapshot),

	"quarantine":  operation((*Shard).Quarantine),
	"drop_row":    operation((*Shard).DropRow),
	"restore_row": operation((*Shard).RestoreRow),

	"feed":    operation((*Shard).Feed),
	"changes": operation((*Shard).Changes),
	"changed": operation(func(s *Shard, now epoch.Millis, r frontier.Changed) (frontier.None, error) {
		return frontier.None{}, s.Changed(now, r)
	}),
	"tick": operation((*Shard).Tick),
	"stored": operation(func(s *Shard, now epoch.Millis, r frontier.StoredRequest) (frontier.None, error) {
		return frontier.None{}, s.Stored(now, r)
	}),

	"pages": operation((*Shard).Pages),
	"entries": operation(func(s *Shard, now epoch.Millis, r frontier.EntriesRequest) (frontier.EntryList, error) {
		return s.Entries(now, r.Domain)
	}),

	"begin_refresh":   operation((*Shard).BeginRefresh),
	"begin_refreshes": operation((*Shard).BeginRefreshes),
	"end_refresh":     operation((*Shard).EndRefresh),
}

func operation[Request, Answer any](run func(*Shard, epoch.Millis, Request) (Answer, error)) func(*Shard, epoch.Millis,
	[]byte) ([]byte, error) {
	return func(s *Shard, now epoch.Millis, data []byte) ([]byte, error) {
		var request Request
		if err := parse(data, &request); err != nil {
			return nil, err
		}
		answer, err := run(s, now, request)
		if err != nil {
			return nil, err
		}
		return frontier.Encode(frontier.Envelope{Answer: &answer})
	}
}

func parse(data []byte, request any) error {
	decode := json.Unmarshal
	if put, ok := request.(*frontier.Put); ok {
		decode = func(data []byte, _ any) error { return frontier.UnmarshalPut(data, put) }
	}
	if err := decode(data, request); err != nil {
		return &contract.Error{Kind: contract.Parse, Message: "the request is not the JSON of its operation", Err: err}
	}
	return nil
}

// Answer is the result of a call.
type Answer struct {
	Text  []byte       // the envelope
	OK    bool         // otherwise it has an error, and the caller rolls the transaction back
	Alarm epoch.Millis // by when Tick must be called; 0: as before the operation
}

// Serve runs an operation that a client.Shard requested.
func (s *Shard) Serve(now epoch.Millis, name string, request []byte) Answer {
	run, ok := operations[name]
	if !ok {
		return encodeError(&frontier.WireError{Code: frontier.CodeUnknownOperation,
			Message: "this version has no such operation"})
	}
	answer, err := run(s, now, request)
	if err != nil {
		return Failure(err)
	}
	return Answer{answer, true, s.alarm}
}

// Failure returns the answer for an error.
func Failure(err error) Answer {
	e := &frontier.WireError{Code: string(contract.KindOf(err)), Message: err.Error()}
	if errors.Is(err, frontier.ErrNewer) {
		e.Code = frontier.CodeNewer
	}
	var c *contract.Error
	if errors.As(err, &c) {
		e.Field = c.Field
		e.Message = cmp.Or(c.Message, e.Message)
	}
	return encodeError(e)
}

func encodeError(e *frontier.WireError) Answer {
	answer, err := frontier.Encode(frontier.Envelope{Error: e})
	if err != nil {
		panic(err) // strings always encode
	}
	return Answer{Text: answer}
}
