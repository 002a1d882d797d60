package collector

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"io"
	"iter"
	"slices"
	"time"

	"github.com/newsfork/seed-engine/contract"
	"github.com/newsfork/seed-engine/fetch"
	"github.com/newsfork/seed-engine/r2"
)

// sameKeyPause separates two writes to one key: R2 allows one a second.
const sameKeyPause = 1100 * time.Millisecond

// store is the bucket as the collections of one event use it. They share its connections.
type store struct {
	r2.Bucket
	clock fetch.Clock
}

func newStore(bucket r2.Bucket, clock fetch.Clock, limiter *fetch.Limiter) *store {
	return &store{&connectedBucket{bucket, limiter}, clock}
}

// putRetry stores an object, and retries once: two messages of one domain might write the same key within a second,
// which the platform rejects.
func (s *store) putRetry(ctx context.Context, key string, data []byte, o *r2.PutOptions) (*r2.Object, error) {
	stored, err := s.Put(ctx, key, data, o)
	if err == nil || errors.Is(err, r2.ErrPrecondition) {
		return stored, err
	}
	if contract.KindOf(err) == contract.Storage {
		if err := s.clock.Sleep(ctx, sameKeyPause); err != nil {
			return nil, err
		}
		stored, err = s.Put(ctx, key, data, o)
	}
	return stored, contract.Wrap(contract.Storage, "collector.putRetry", err)
}

// entries iterates over all URLs of a document, which may be nil. It has one list in memory at a time.
func (s *store) entries(ctx context.Context, d *contract.Document) iter.Seq2[contract.DocumentURL, error] {
	return func(yield func(contract.DocumentURL, error) bool) {
		if d == nil {
			return
		}
		for _, e := range normalized(slices.Clone(d.URLs)) {
			if !yield(e, nil) {
				return
			}
		}
		for _, key := range d.URLsFiles {
			var list []contract.DocumentURL
			if err := s.readJSON(ctx, key, &list); err != nil {
				yield(contract.DocumentURL{}, err)
				return
			}
			for _, e := range normalized(list) {
				if !yield(e, nil) {
					return
				}
			}
		}
	}
}

// storeList stores a list of URLs under a digest of its content, and returns its key.
func (s *store) storeList(ctx context.Context, dir contract.DomainDir, list []contract.DocumentURL) (string, error) {
	body, err := json.Marshal(list)
	if err != nil {
		panic(err) // strings always marshal
	}
	sum := sha256.Sum256(body)
	key := dir.SortedList(hex.EncodeToString(sum[:16]))
	_, err = s.Put(ctx, key, body, &r2.PutOptions{If: r2.Condition{Absent: true}, ContentType: "application/json"})
	if errors.Is(err, r2.ErrPrecondition) {
		err = nil // it exists with this content
	}
	return key, err
}

// missingList returns the error for a URL list that does not exist with the remedy, and other errors unchanged.
func missingList(key string, err error) error {
	if errors.Is(err, r2.ErrNotFound) {
		return contract.Invalid("urls_path", "there is no object under %q; queue the raw file again", key)
	}
	return err
}

// readJSON decodes a stored object.
func (s *store) readJSON(ctx context.Context, key string, v any) error {
	body, err := s.Get(ctx, key)
	if err != nil {
		return missingList(key, err)
	}
	defer body.Close()
	data, err := io.ReadAll(body)
	if err != nil {
		return contract.Wrap(contract.Storage, "collector.readJSON", err)
	}
	if err := json.Unmarshal(bytes.TrimSpace(data), v); err != nil {
		return &contract.Error{Kind: contract.Parse, Op: "collector.readJSON", Field: key,
			Message: "the stored object is not the JSON it should be", Err: err}
	}
	return nil
}

// read returns the content of an object, or nil if it does not exist.
func (s *store) read(ctx context.Context, key string) ([]byte, error) {
	body, err := s.Get(ctx, key)
	if errors.Is(err, r2.ErrNotFound) {
		return nil, nil
	}
	if err != nil {
		return nil, contract.Wrap(contract.Storage, "collector.read", err)
	}
	defer body.Close()
	data, err := io.ReadAll(body)
	return data, contract.Wrap(contract.Storage, "collector.read", err)
}

// document reads the stored document and its ETag, or returns nil.
func (s *store) document(ctx context.Context, dir contract.DomainDir) (*contract.Document, string, error) {
	body, err := s.Get(ctx, dir.Document())
	if errors.Is(err, r2.ErrNotFound) {
		return nil, "", nil
	}
	if err != nil {
		return nil, "", contract.Wrap(contract.Storage, "collector.document", err)
	}
	defer body.Close()
	data, err := io.ReadAll(body)
	if err != nil {
		return nil, "", contract.Wrap(contract.Storage, "collector.document", err)
	}
	d := &contract.Document{}
	if err := json.Unmarshal(data, d); err != nil {
		return nil, "", &contract.Error{Kind: contract.Parse, Op: "collector.document", Field: dir.Document(),
			Message: "the stored document cannot be read", Err: err}
	}
	return d, body.ETag, nil
}

// connectedBucket waits for a connection before every call of the bucket.
type connectedBucket struct {
	bucket  r2.Bucket
	limiter *fetch.Limiter
}

// connected waits for a connection and makes a call.
func connected[T any](ctx context.Context, l *fetch.Limiter, call func() (T, error)) (result T, err error) {
	release, err := l.Connect(ctx)
	if err != nil {
		return result, err
	}
	defer release()
	return call()
}

func (b *connectedBucket) Head(ctx context.Context, key string) (*r2.Object, error) {
	return connected(ctx, b.limiter, func() (*r2.Object, error) { return b.bucket.Head(ctx, key) })
}

func (b *connectedBucket) Get(ctx context.Context, key string) (*r2.Body, error) {
	return connected(ctx, b.limiter, func() (*r2.Body, error) { return b.bucket.Get(ctx, key) })
}

func (b *connectedBucket) List(ctx context.Context, o r2.ListOptions) (*r2.Page, error) {
	return connected(ctx, b.limiter, func() (*r2.Page, error) { return b.bucket.List(ctx, o) })
}

func (b *connectedBucket) Put(ctx context.Context, key string, data []byte, o *r2.PutOptions) (*r2.Object, error) {
	return connected(ctx, b.limiter, func() (*r2.Object, error) { return b.bucket.Put(ctx, key, data, o) })
}

func (b *connectedBucket) Create(ctx context.Context, key string, o *r2.PutOptions) (r2.Upload, error) {
	u, err := b.bucket.Create(ctx, key, o)
	if err != nil {
		return nil, err
	}
	return &connectedUpload{u, ctx, b.limiter}, nil
}

func (b *connectedBucket) Delete(ctx context.Context, keys ...string) error {
	_, err := connected(ctx, b.limiter, func() (struct{}, error) { return struct{}{}, b.bucket.Delete(ctx, keys...) })
	return err
}

type connectedUpload struct {
	upload  r2.Upload
	ctx     context.Context // of Create
	limiter *fetch.Limiter
}

func (u *connectedUpload) Write(p []byte) (int, error) {
	return connected(u.ctx, u.limiter, func() (int, error) { return u.upload.Write(p) })
}

func (u *connectedUpload) Commit() (*r2.Object, error) {
	return connected(u.ctx, u.limiter, u.upload.Commit)
}

// Abort works even if the upload's context is done.
func (u *connectedUpload) Abort() error {
	_, err := connected(context.WithoutCancel(u.ctx), u.limiter,
		func() (struct{}, error) { return struct{}{}, u.upload.Abort() })
	return err
}
