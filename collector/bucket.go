package collector

import (
	"context"
	"errors"
	"time"

	"github.com/newsfork/seed-engine/contract"
	"github.com/newsfork/seed-engine/r2"
)

// sameKeyPause is a little more than the second that the platform wants between two writes of a key.
const sameKeyPause = 1100 * time.Millisecond

// put stores an object, and once more when the bucket failed: two messages of one domain may write
// its objects within the second that one key allows.
func (c *Collector) put(ctx context.Context, key string, data []byte, o *r2.PutOptions) (*r2.Object, error) {
	stored, err := c.Bucket.Put(ctx, key, data, o)
	if err == nil || errors.Is(err, r2.ErrPrecondition) {
		return stored, err
	}
	if contract.KindOf(err) == contract.Storage {
		if err := c.Clock.Sleep(ctx, sameKeyPause); err != nil {
			return nil, err
		}
		stored, err = c.Bucket.Put(ctx, key, data, o)
	}
	return stored, contract.Wrap(contract.Storage, "collector.put", err)
}

// queued lets one call of an event reach the bucket at a time.
type queued struct {
	bucket r2.Bucket
	turn   chan struct{}
}

func (q *queued) take() (release func()) {
	q.turn <- struct{}{}
	return func() { <-q.turn }
}

func (q *queued) Head(ctx context.Context, key string) (*r2.Object, error) {
	defer q.take()()
	return q.bucket.Head(ctx, key)
}

func (q *queued) Get(ctx context.Context, key string) (*r2.Body, error) {
	defer q.take()()
	return q.bucket.Get(ctx, key)
}

func (q *queued) List(ctx context.Context, o r2.ListOptions) (*r2.Page, error) {
	defer q.take()()
	return q.bucket.List(ctx, o)
}

func (q *queued) Put(ctx context.Context, key string, data []byte, o *r2.PutOptions) (*r2.Object, error) {
	defer q.take()()
	return q.bucket.Put(ctx, key, data, o)
}

func (q *queued) Create(ctx context.Context, key string, o *r2.PutOptions) (r2.Upload, error) {
	defer q.take()()
	u, err := q.bucket.Create(ctx, key, o)
	if err != nil {
		return nil, err
	}
	return &queuedUpload{u, q}, nil
}

func (q *queued) Delete(ctx context.Context, keys ...string) error {
	defer q.take()()
	return q.bucket.Delete(ctx, keys...)
}

type queuedUpload struct {
	upload r2.Upload
	queue  *queued
}

func (u *queuedUpload) Write(p []byte) (int, error) {
	defer u.queue.take()()
	return u.upload.Write(p)
}

func (u *queuedUpload) Commit() (*r2.Object, error) {
	defer u.queue.take()()
	return u.upload.Commit()
}

func (u *queuedUpload) Abort() error {
	defer u.queue.take()()
	return u.upload.Abort()
}
