package queues

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

// controlsKey is the object with the decisions of operators.
const controlsKey = "control/pipeline.json"

// maxConflicts is how often a decision is written anew because another was written in between, or
// because one key takes one write a second.
const maxConflicts = 5

// ControlBucket keeps the decisions of operators.
type ControlBucket interface {
	Head(ctx context.Context, key string) (*r2.Object, error)
	Get(ctx context.Context, key string) (*r2.Body, error)
	Put(ctx context.Context, key string, data []byte, o *r2.PutOptions) (*r2.Object, error)
}

// Controls reads and writes the decisions of operators. They lie in R2 and not in D1, so that what is
// excluded is never fetched and a pause holds while D1 is away. Its errors have the kind
// contract.Storage.
type Controls struct {
	Bucket ControlBucket
	Sleep  func(ctx context.Context, d time.Duration) error

	mu         sync.Mutex
	etag       string // of what is held
	held       contract.Controls
	exclusions *contract.Exclusions
}

// Read gives the decisions as they stand. What it returns must not be changed.
func (c *Controls) Read(ctx context.Context) (contract.Controls, *contract.Exclusions, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	o, err := c.Bucket.Head(ctx, controlsKey)
	switch {
	case errors.Is(err, r2.ErrNotFound):
		c.hold("", contract.Controls{})
		err = nil
	case err == nil && (c.exclusions == nil || o.ETag != c.etag):
		err = c.load(ctx)
	}
	return c.held, c.exclusions, contract.Wrap(contract.Storage, "queues.Controls", err)
}

func (c *Controls) load(ctx context.Context) error {
	body, err := c.Bucket.Get(ctx, controlsKey)
	if errors.Is(err, r2.ErrNotFound) {
		c.hold("", contract.Controls{})
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
		return &contract.Error{Kind: contract.Storage, Field: controlsKey, Message: "the stored object cannot be read; put it right or delete it", Err: err}
	}
	c.hold(body.ETag, read)
	return nil
}

func (c *Controls) hold(etag string, controls contract.Controls) {
	c.etag, c.held, c.exclusions = etag, controls, contract.NewExclusions(controls.Exclusions)
}

// Change applies a decision to what is stored, and again if another came in between. An error of
// change ends it.
func (c *Controls) Change(ctx context.Context, change func(*contract.Controls) error) (contract.Controls, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for try := 0; ; try++ {
		if err := c.load(ctx); err != nil {
			return contract.Controls{}, contract.Wrap(contract.Storage, "queues.Controls", err)
		}
		next := c.held
		next.Exclusions = slices.Clone(c.held.Exclusions)
		if err := change(&next); err != nil {
			return contract.Controls{}, err
		}
		body := encode(next)
		if bytes.Equal(body, encode(c.held)) {
			return next, nil
		}
		o, err := c.Bucket.Put(ctx, controlsKey, body, &r2.PutOptions{If: r2.Condition{ETag: c.etag, Absent: c.etag == ""}, ContentType: "application/json"})
		if err == nil {
			c.hold(o.ETag, next)
			return next, nil
		}
		if try == maxConflicts {
			return contract.Controls{}, contract.Wrap(contract.Storage, "queues.Controls", err)
		}
		if err := c.Sleep(ctx, time.Second+rand.N(time.Second/2)); err != nil {
			return contract.Controls{}, contract.Wrap(contract.Timeout, "queues.Controls", err)
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
