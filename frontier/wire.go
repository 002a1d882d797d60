package frontier

import (
	"bytes"
	"encoding/json"
	"errors"
	"slices"

	"github.com/newsfork/seed-engine/contract"
	"github.com/newsfork/seed-engine/epoch"
)

func (e *WireError) received(op string) error {
	switch e.Code {
	case CodeUnknownOperation:
		return contract.Wrap(contract.Storage, op, ErrUnknownOperation)
	case CodeNewer:
		return contract.Wrap(contract.Storage, op, ErrNewer)
	}
	kind := contract.Kind(e.Code)
	if !slices.Contains(shardKinds, kind) {
		kind = contract.Storage
	}
	return &contract.Error{Kind: kind, Op: op, Field: e.Field, Message: e.Message}
}

// ErrNewer is given when the shard was written by a version that this program cannot read.
var ErrNewer = errors.New("frontier: the shard was written by a newer version")

// A shard is called by the name of an operation with a request in JSON, and answers with an envelope
// in JSON that has an answer or an error. The fields are those of the Go types. Workers and shards of
// two neighbouring versions call each other while a deploy is under way, so operations and fields are
// only added: a receiver ignores fields that it does not have, and testdata/wire keeps what was sent
// by the versions before.

// Codes of errors in an envelope, besides the kinds of contract.
const (
	CodeUnknownOperation = "unknown_operation"
	CodeNewer            = "newer_version"
)

// Envelope wraps a shard's answer.
type Envelope struct {
	Answer any        `json:"answer,omitempty"` // of the operation's type; to decode it, a pointer to it
	Error  *WireError `json:"error,omitempty"`
}

type WireError struct {
	Code    string `json:"code"`
	Field   string `json:"field,omitempty"`
	Message string `json:"message"`
}

// Requests of operations whose methods take more than one argument.
type (
	RenewRequest struct {
		Domain, Owner string
		Seconds       int64
	}
	UrlRequest     struct{ URL string }
	HostRequest    struct{ Host string }
	SetHostRequest struct {
		Host   string
		Change HostChange
	}
	ExcludeRequest struct {
		Exclusion
		Excluded bool
	}
	ExportRequest struct {
		From  int64
		Taken epoch.Millis
	}
	EntriesRequest struct{ Domain string }
	StoredRequest  struct {
		Date  string // of the snapshot
		Taken epoch.Millis
		Page  int   // number of the last page that is stored, from 1
		Next  int64 // start of the next page; 0 when all are stored
	}
)

// None is the request or answer of an operation that has nothing to say.
type None struct{}

// Encode is json.Marshal without the escapes for HTML, which would make URLs longer.
func Encode(v any) ([]byte, error) {
	if p, ok := v.(Put); ok {
		return appendPut(nil, &p)
	}
	return encode(v)
}

func encode(v any) ([]byte, error) {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	err := e.Encode(v)
	return bytes.TrimSuffix(b.Bytes(), []byte("\n")), err
}
