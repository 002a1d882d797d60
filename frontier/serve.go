package frontier

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"

	"github.com/newsfork/seed-engine/contract"
)

// A shard is called by the name of an operation with a request in JSON, and answers with an envelope
// in JSON that has an answer or an error. The fields are those of the Go types. Workers and shards of
// two neighbouring versions call each other while a deploy is under way, so operations and fields are
// only added: a receiver ignores fields that it does not have, and testdata/wire keeps what was sent
// by the versions before.

// Codes of errors in an envelope, besides the kinds of contract.
const (
	codeUnknownOperation = "unknown_operation"
	codeNewer            = "newer_version"
)

// envelope is what a shard answers.
type envelope[Answer any] struct {
	Answer *Answer    `json:"answer,omitempty"`
	Error  *wireError `json:"error,omitempty"`
}

type wireError struct {
	Code    string `json:"code"`
	Field   string `json:"field,omitempty"`
	Message string `json:"message"`
}

// Requests of operations whose methods take more than one argument.
type (
	renewRequest struct {
		Domain, Owner string
		Seconds       int64
	}
	urlRequest     struct{ URL string }
	setHostRequest struct {
		Host   string
		Change HostChange
	}
	excludeRequest struct {
		Exclusion
		Excluded bool
	}
	exportRequest  struct{ From, Taken int64 }
	entriesRequest struct{ Domain string }
	storedRequest  struct{ Date string }
)

// none is the request or answer of an operation that has nothing to say.
type none struct{}

// operations are what a shard can be asked. Names are never changed.
var operations = map[string]func(s *Shard, now int64, request []byte) (answer []byte, err error){
	"put":     operation((*Shard).Put),
	"put_all": operation((*Shard).PutAll),
	"lease":   operation((*Shard).Lease),
	"report":  operation((*Shard).Report),
	"acquire": operation((*Shard).Acquire),
	"renew": operation(func(s *Shard, now int64, r renewRequest) (bool, error) {
		return s.Renew(now, r.Domain, r.Owner, r.Seconds)
	}),
	"release": operation((*Shard).Release),
	"finish":  operation((*Shard).Release), // with changes, which release of the version before would leave out
	"mirror":  operation((*Shard).Mirror),
	"stats":   operation(func(s *Shard, now int64, _ none) (Stats, error) { return s.Stats(now) }),
	"hosts":   operation((*Shard).Hosts),
	"url":     operation(func(s *Shard, now int64, r urlRequest) (URLState, error) { return s.URL(now, r.URL) }),
	"set_host": operation(func(s *Shard, now int64, r setHostRequest) (bool, error) {
		return s.SetHost(now, r.Host, r.Change)
	}),
	"exclude": operation(func(s *Shard, now int64, r excludeRequest) (none, error) {
		return none{}, s.Exclude(now, r.Exclusion, r.Excluded)
	}),
	"export": operation(func(s *Shard, now int64, r exportRequest) (Snapshot, error) {
		page, err := s.Export(now, r.From)
		page.Taken = r.Taken
		return page, err
	}),
	"restore": operation((*Shard).Restore),
	"feed":    operation((*Shard).Feed),
	"changes": operation((*Shard).Changes),
	"changed": operation(func(s *Shard, now int64, r Changed) (none, error) { return none{}, s.Changed(now, r) }),
	"tick":    operation((*Shard).Tick),
	"stored":  operation(func(s *Shard, now int64, r storedRequest) (none, error) { return none{}, s.Stored(now, r.Date) }),

	"pages":   operation((*Shard).Pages),
	"entries": operation(func(s *Shard, now int64, r entriesRequest) (EntriesOf, error) { return s.Entries(now, r.Domain) }),

	"begin_refresh": operation((*Shard).BeginRefresh),
	"end_refresh":   operation((*Shard).EndRefresh),
}

func operation[Request, Answer any](run func(*Shard, int64, Request) (Answer, error)) func(*Shard, int64, []byte) ([]byte, error) {
	return func(s *Shard, now int64, data []byte) ([]byte, error) {
		var request Request
		if err := json.Unmarshal(data, &request); err != nil {
			return nil, &contract.Error{Kind: contract.Parse, Message: "the request is not the JSON of its operation", Err: err}
		}
		answer, err := run(s, now, request)
		if err != nil {
			return nil, err
		}
		return encode(envelope[Answer]{Answer: &answer})
	}
}

// Answer is what a call of a shard gives.
type Answer struct {
	Text  []byte // the envelope
	OK    bool   // otherwise it has an error, and the caller rolls the transaction back
	Alarm int64  // ms since 1970, by when Tick is to be asked; 0: the operation changed nothing about that
}

// Serve runs an operation that a Remote asked for.
func (s *Shard) Serve(now int64, name string, request []byte) Answer {
	run, ok := operations[name]
	if !ok {
		return encodeError(&wireError{Code: codeUnknownOperation, Message: "this version has no such operation"})
	}
	answer, err := run(s, now, request)
	if err != nil {
		return Failure(err)
	}
	return Answer{answer, true, s.alarm}
}

// Failure is the answer when an error keeps an operation from being run.
func Failure(err error) Answer {
	e := &wireError{Code: string(contract.KindOf(err)), Message: err.Error()}
	if errors.Is(err, ErrNewer) {
		e.Code = codeNewer
	}
	var c *contract.Error
	if errors.As(err, &c) {
		e.Field = c.Field
		e.Message = cmp.Or(c.Message, e.Message)
	}
	return encodeError(e)
}

func encodeError(e *wireError) Answer {
	answer, err := encode(envelope[none]{Error: e})
	if err != nil {
		panic(err) // strings always encode
	}
	return Answer{Text: answer}
}

// encode is json.Marshal without the escapes for HTML, which would make URLs longer.
func encode(v any) ([]byte, error) {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	err := e.Encode(v)
	return b.Bytes(), err
}
