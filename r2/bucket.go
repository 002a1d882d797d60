// Package r2 is the object store: the Bucket interface, the platform's limits, and a twin in memory that enforces
// them. Package contract has the keys of objects.
package r2

import (
	"context"
	"errors"
	"io"
	"time"
)

// Limits of the platform (developers.cloudflare.com/r2/platform/limits/).
const (
	MaxKeyBytes      = 1024    // length of a key
	MaxMetadataBytes = 8192    // custom metadata of one object, names and values together
	MaxListKeys      = 1000    // keys and common prefixes of one listing page
	MaxDeleteKeys    = 1000    // keys of one Delete
	PartSize         = 5 << 20 // every part of a multipart upload but the last has this size
)

var (
	// ErrNotFound is returned for a key without an object.
	ErrNotFound = errors.New("r2: no such object")
	// ErrPrecondition is returned by a Put whose condition does not hold.
	ErrPrecondition = errors.New("r2: condition not met")
)

// Object describes a stored object.
type Object struct {
	Key      string
	Size     int64  // bytes
	ETag     string // without quotes
	Uploaded time.Time
	Metadata map[string]string // custom metadata; from List only when asked for
}

// Body is an object with its content. The caller closes it.
type Body struct {
	Object
	io.ReadCloser
}

// Condition restricts a Put. The zero value is no condition.
type Condition struct {
	ETag   string // the object must exist with this ETag
	Absent bool   // the object must not exist
}

// PutOptions may be nil.
type PutOptions struct {
	If          Condition
	ContentType string
	Metadata    map[string]string // custom metadata, at most MaxMetadataBytes
}

// ListOptions selects what a listing shows.
type ListOptions struct {
	Prefix     string
	Delimiter  string // groups the keys beyond Prefix up to it into Prefixes
	Cursor     string // of the previous page; "" for the first
	StartAfter string // only keys that sort after it
	Limit      int    // 0 means MaxListKeys; a page may have fewer and still be Truncated
	Metadata   bool   // fill Object.Metadata
}

// Page is one page of a listing, in lexicographic order of keys.
type Page struct {
	Objects   []Object
	Prefixes  []string
	Truncated bool
	Cursor    string // for the next page when Truncated
}

// Bucket is the object store. Errors other than ErrNotFound and ErrPrecondition have the kind
// contract.Storage and may go away on a retry (one key takes one write a second), or
// contract.Validation for a key or option over the platform's limits, or contract.Timeout when ctx
// was done before the operation began.
type Bucket interface {
	// Head describes an object, or returns ErrNotFound.
	Head(ctx context.Context, key string) (*Object, error)
	// Get opens an object for streaming, or returns ErrNotFound.
	Get(ctx context.Context, key string) (*Body, error)
	// List returns one page of keys.
	List(ctx context.Context, o ListOptions) (*Page, error)
	// Put stores data whole, or returns ErrPrecondition.
	Put(ctx context.Context, key string, data []byte, o *PutOptions) (*Object, error)
	// Create starts storing a body of unknown length. Nothing is visible before Commit. It takes no
	// condition: the platform has none for multipart uploads.
	Create(ctx context.Context, key string, o *PutOptions) (Upload, error)
	// Delete removes up to MaxDeleteKeys objects; keys that do not exist are no error.
	Delete(ctx context.Context, keys ...string) error
}

// Upload is a body being stored: any number of Writes, then exactly one Commit or Abort. Bodies up
// to PartSize are stored with one put, larger ones as a multipart upload of equal parts. Write
// does not keep p. A failed Commit leaves nothing behind.
type Upload interface {
	io.Writer
	Commit() (*Object, error)
	Abort() error
}
