package frontier

import (
	"bytes"
	"encoding/json"
	"errors"

	"github.com/newsfork/seed-engine/epoch"
)

// This file is how an operation travels. A caller sends the name of an operation and its request in JSON; the shard
// sends an Envelope in JSON with the answer or an error. The fields are those of the Go types. A receiver ignores
// fields that it does not know, and shard/testdata/wire.txt keeps what earlier versions sent.

// ErrUnknownOperation is returned when the shard runs an older version that lacks the operation, as for some minutes of
// a deploy.
var ErrUnknownOperation = errors.New("frontier: the shard runs an older version, which lacks the operation")

// ErrNewer is returned when the shard was written by a newer version, which this program cannot read.
var ErrNewer = errors.New("frontier: the shard was written by a newer version")

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
