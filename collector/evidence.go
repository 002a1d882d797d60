package collector

import (
	"context"
	"crypto/sha256"
	"errors"
	"hash"
	"sync/atomic"
	"time"

	"github.com/newsfork/seed-engine/contract"
	"github.com/newsfork/seed-engine/fetch"
	"github.com/newsfork/seed-engine/r2"
)

// bodyUpload stores a body while it is read.
type bodyUpload struct {
	upload r2.Upload
	sum    hash.Hash
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
	e.size += int64(len(p))
	n, err := e.upload.Write(p)
	if err != nil {
		e.err = contract.Wrap(contract.Storage, "collector.evidence", err)
		return n, e.err
	}
	return n, nil
}

// abort discards the body. It returns cause, joined with the error of discarding.
func (e *bodyUpload) abort(cause error) error {
	return errors.Join(cause, contract.Wrap(contract.Storage, "collector.evidence", e.upload.Abort()))
}
