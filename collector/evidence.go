package collector

import (
	"context"
	"crypto/md5"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"hash"
	"sync/atomic"
	"time"

	"github.com/newsfork/seed-engine/contract"
	"github.com/newsfork/seed-engine/epoch"
	"github.com/newsfork/seed-engine/fetch"
	"github.com/newsfork/seed-engine/r2"
)

// bodyUpload stores a body while it is read.
type bodyUpload struct {
	upload r2.Upload
	sum    hash.Hash
	etag   hash.Hash // MD5; nil unless an earlier collection might have stored the same
	size   int64
	err    error // of the bucket
}

// backgroundPuts stores objects in the background. Puts of one key keep their order. It is used by one goroutine.
type backgroundPuts struct {
	last   map[string]chan struct{} // by key; closed when the last one is stored
	failed atomic.Pointer[failure]
}

// failure is the reason why an object was not stored.
type failure struct {
	err      error
	panicked any
}

// evidencePause delays a put, so that the event's requests are sent first: there is one thread, which works while they
// wait for answers.
const evidencePause = time.Millisecond

// begin starts storing the object of a key by calling put.
func (s *backgroundPuts) begin(ctx context.Context, clock fetch.Clock, key string, put func() error) {
	before, done := s.last[key], make(chan struct{})
	if s.last == nil {
		s.last = map[string]chan struct{}{}
	}
	s.last[key] = done
	go func() {
		defer close(done)
		if before != nil {
			<-before
		}
		f := &failure{}
		defer func() {
			if f.panicked = recover(); f.panicked != nil || f.err != nil {
				s.failed.CompareAndSwap(nil, f)
			}
		}()
		_ = clock.Sleep(ctx, evidencePause) // put fails, too, when ctx is over
		f.err = put()
	}()
}

// err returns the first failure so far.
func (s *backgroundPuts) err() error {
	f := s.failed.Load()
	if f == nil {
		return nil
	}
	if f.panicked != nil {
		panic(f.panicked)
	}
	return f.err
}

// wait waits until all objects are stored, and returns the first failure.
func (s *backgroundPuts) wait() error {
	for _, stored := range s.last {
		<-stored
	}
	return s.err()
}

// createUpload starts storing a body under a key.
func (s *store) createUpload(ctx context.Context, key string) (*bodyUpload, error) {
	u, err := s.Create(ctx, key, &r2.PutOptions{ContentType: "application/xml"})
	if err != nil {
		return nil, contract.Wrap(contract.Storage, "collector.evidence", err)
	}
	return &bodyUpload{upload: u, sum: sha256.New()}, nil
}

func (e *bodyUpload) Write(p []byte) (int, error) {
	e.sum.Write(p)
	if e.etag != nil {
		e.etag.Write(p)
	}
	e.size += int64(len(p))
	n, err := e.upload.Write(p)
	if err != nil {
		e.err = contract.Wrap(contract.Storage, "collector.evidence", err)
		return n, e.err
	}
	return n, nil
}

// maxEvidenceAge is the age from which evidence is stored again even if it has not changed: rules of the bucket that
// delete old objects must not delete it while its document is kept up to date.
const maxEvidenceAge = 30 * epoch.Day

// has reports whether the bucket has an object with the MD5 sum, which is the ETag of an object that was stored by
// one put. It reports false for one that has to be stored again for its age. A look costs a twelfth of a put.
func (s *store) has(ctx context.Context, key string, sum []byte) bool {
	o, err := s.Head(ctx, key)
	return err == nil && o.ETag == hex.EncodeToString(sum) && s.clock.Now().Sub(o.Uploaded) < maxEvidenceAge
}

// putEvidence stores a file; again is true if an earlier collection might have stored the same.
func (s *store) putEvidence(ctx context.Context, key string, data []byte, again bool) error {
	if sum := md5.Sum(data); again && s.has(ctx, key, sum[:]) {
		return nil
	}
	_, err := s.putRetry(ctx, key, data, &r2.PutOptions{ContentType: "text/plain"})
	return err
}

// commitEvidence stores an uploaded file unless an earlier collection stored the same.
func (s *store) commitEvidence(ctx context.Context, key string, e *bodyUpload) error {
	if e.etag != nil && e.size <= r2.PartSize && s.has(ctx, key, e.etag.Sum(nil)) {
		return e.abort(nil)
	}
	_, err := e.upload.Commit()
	return contract.Wrap(contract.Storage, "collector.sitemap", err)
}

// abort discards the body. It returns cause, joined with the error of discarding.
func (e *bodyUpload) abort(cause error) error {
	return errors.Join(cause, contract.Wrap(contract.Storage, "collector.evidence", e.upload.Abort()))
}
