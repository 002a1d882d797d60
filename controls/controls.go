// Package controls stores the decisions of operators: the pause and the exclusions.
package controls

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"math/rand/v2"
	"slices"
	"sync"
	"time"

	"github.com/newsfork/seed-engine/contract"
	"github.com/newsfork/seed-engine/r2"
)

// maxConflicts caps the attempts to write after a conflict, or after R2 refused a second write to the key within a
// second.
const maxConflicts = 5

// Bucket is the object store; see r2.Bucket.
type Bucket interface {
	Head(ctx context.Context, key string) (*r2.Object, error)
	Get(ctx context.Context, key string) (*r2.Body, error)
	Put(ctx context.Context, key string, data []byte, o *r2.PutOptions) (*r2.Object, error)
}

// Store reads and writes the decisions. They are in R2 rather than D1, so that a pause and exclusions stay in force
// while D1 is down. Errors have the kind contract.Storage unless a method says otherwise.
type Store struct {
	Bucket Bucket
	Sleep  func(ctx context.Context, d time.Duration) error

	mu         sync.Mutex
	etag       string // of the cached object; "" if there was none
	cached     contract.Controls
	exclusions *contract.Exclusions // compiled from cached; nil before the first read
}

// Read returns the current decisions and the compiled exclusions. The caller must not modify them.
func (s *Store) Read(ctx context.Context) (contract.Controls, *contract.Exclusions, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	o, err := s.Bucket.Head(ctx, contract.ControlsKey)
	switch {
	case errors.Is(err, r2.ErrNotFound):
		s.cache("", contract.Controls{})
		err = nil
	case err == nil && (s.exclusions == nil || o.ETag != s.etag):
		err = s.load(ctx)
	}
	return s.cached, s.exclusions, contract.Wrap(contract.Storage, "controls.Store", err)
}

// WasPaused reports whether the pipeline was paused at the last Read.
func (s *Store) WasPaused() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.cached.Pipeline.Paused
}

// Exclusions returns the current exclusions.
func (s *Store) Exclusions(ctx context.Context) (*contract.Exclusions, error) {
	_, exclusions, err := s.Read(ctx)
	return exclusions, err
}

func (s *Store) load(ctx context.Context) error {
	body, err := s.Bucket.Get(ctx, contract.ControlsKey)
	if errors.Is(err, r2.ErrNotFound) {
		s.cache("", contract.Controls{})
		return nil
	}
	if err != nil {
		return err
	}
	defer body.Close()
	data, err := io.ReadAll(body)
	if err != nil {
		return err
	}
	var read contract.Controls
	if err := json.Unmarshal(data, &read); err != nil {
		return &contract.Error{Kind: contract.Storage, Field: contract.ControlsKey,
			Message: "the stored object cannot be parsed; correct or delete it", Err: err}
	}
	s.cache(body.ETag, read)
	return nil
}

func (s *Store) cache(etag string, controls contract.Controls) {
	s.etag, s.cached, s.exclusions = etag, controls, contract.NewExclusions(controls.Exclusions)
}

// Change applies change to the stored decisions and writes the result. After a conflict it starts over, so change may
// be called more than once. It returns an error of change unchanged, and one of kind contract.Timeout if the context
// ends.
func (s *Store) Change(ctx context.Context, change func(*contract.Controls) error) (contract.Controls, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for try := 0; ; try++ {
		if err := s.load(ctx); err != nil {
			return contract.Controls{}, contract.Wrap(contract.Storage, "controls.Store", err)
		}
		next := s.cached
		next.Exclusions = slices.Clone(s.cached.Exclusions)
		if err := change(&next); err != nil {
			return contract.Controls{}, err
		}
		body := encode(next)
		if bytes.Equal(body, encode(s.cached)) {
			return next, nil
		}
		o, err := s.Bucket.Put(ctx, contract.ControlsKey, body,
			&r2.PutOptions{If: r2.Condition{ETag: s.etag, Absent: s.etag == ""}, ContentType: "application/json"})
		if err == nil {
			s.cache(o.ETag, next)
			return next, nil
		}
		if try == maxConflicts {
			return contract.Controls{}, contract.Wrap(contract.Storage, "controls.Store", err)
		}
		if err := s.Sleep(ctx, time.Second+rand.N(time.Second/2)); err != nil {
			return contract.Controls{}, contract.Wrap(contract.Timeout, "controls.Store", err)
		}
	}
}

func encode(c contract.Controls) []byte {
	body, err := json.MarshalIndent(c, "", "  ")
	if err != nil {
		panic(err) // it is plain data
	}
	return body
}
