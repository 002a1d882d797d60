package r2

import (
	"context"
	"errors"
	"unicode/utf8"

	"github.com/newsfork/seed-engine/contract"
)

// Every Bucket runs the checks of this file before it sends anything, so that callers' mistakes are told from
// faults of the store, and native tests see what the platform rejects.

// CheckKey refuses a key that the platform would not accept.
func CheckKey(key string) error {
	if key == "" || len(key) > MaxKeyBytes || !utf8.ValidString(key) {
		return contract.Invalid("key", "must have between 1 and %d bytes of UTF-8, got %d", MaxKeyBytes, len(key))
	}
	return nil
}

// CheckPut refuses a Put whose key, condition or metadata the platform would not accept.
func CheckPut(key string, o *PutOptions) error {
	if err := CheckKey(key); err != nil || o == nil {
		return err
	}
	if o.If.Absent && o.If.ETag != "" {
		return contract.Invalid("if", "requires an ETag and absence at once; use one")
	}
	n := 0
	for name, value := range o.Metadata {
		n += len(name) + len(value)
	}
	if n > MaxMetadataBytes {
		return contract.Invalid("metadata", "of %s has %d bytes; at most %d are allowed", key, n, MaxMetadataBytes)
	}
	return nil
}

// CheckCreate refuses a condition: the platform has none for multipart uploads, and one that works only for small
// bodies would be useless.
func CheckCreate(key string, o *PutOptions) error {
	if o != nil && o.If != (Condition{}) {
		return contract.Invalid("if", "cannot be combined with an upload of unknown length; use Put, or Head first")
	}
	return CheckPut(key, o)
}

// CheckList refuses a List that asks for more than a page.
func CheckList(o ListOptions) error {
	if o.Limit < 0 || o.Limit > MaxListKeys {
		return contract.Invalid("limit", "must be between 0 and %d, got %d", MaxListKeys, o.Limit)
	}
	return nil
}

// CheckDelete refuses a Delete of too many keys, or of an invalid one.
func CheckDelete(keys []string) error {
	if len(keys) > MaxDeleteKeys {
		return contract.Invalid("keys", "must be at most %d, got %d", MaxDeleteKeys, len(keys))
	}
	for _, key := range keys {
		if err := CheckKey(key); err != nil {
			return err
		}
	}
	return nil
}

// ErrUploadEnded is returned by an Upload after its Commit or Abort.
var ErrUploadEnded = &contract.Error{Kind: contract.Internal, Message: "the upload was committed or aborted before"}

// Fault adds operation, key and kind to an error of a Bucket. The kind is the error's own, Timeout if the context
// ended, else Storage. ErrNotFound and ErrPrecondition are returned unchanged.
func Fault(op, key string, err error) error {
	var e *contract.Error
	switch {
	case err == nil, errors.Is(err, ErrNotFound), errors.Is(err, ErrPrecondition):
		return err
	case errors.As(err, &e):
		named := *e
		named.Op = op
		return &named
	case errors.Is(err, context.Canceled), errors.Is(err, context.DeadlineExceeded):
		return &contract.Error{Kind: contract.Timeout, Op: op, Field: key, Message: "timed out",
			Err: err}
	}
	return &contract.Error{Kind: contract.Storage, Op: op, Field: key, Message: "the object store failed; try again",
		Err: err}
}
