package collector

import (
	"context"
	"crypto/sha256"
	"errors"
	"hash"

	"github.com/newsfork/seed-engine/contract"
	"github.com/newsfork/seed-engine/r2"
)

// evidence stores a body while it is read.
type evidence struct {
	upload r2.Upload
	sum    hash.Hash
	size   int64
	err    error // of the bucket
}

// evidence begins to store a body under a key.
func (s *store) evidence(ctx context.Context, key string) (*evidence, error) {
	u, err := s.Create(ctx, key, &r2.PutOptions{ContentType: "application/xml"})
	if err != nil {
		return nil, contract.Wrap(contract.Storage, "collector.evidence", err)
	}
	return &evidence{upload: u, sum: sha256.New()}, nil
}

func (e *evidence) Write(p []byte) (int, error) {
	e.sum.Write(p)
	e.size += int64(len(p))
	n, err := e.upload.Write(p)
	if err != nil {
		e.err = contract.Wrap(contract.Storage, "collector.evidence", err)
		return n, e.err
	}
	return n, nil
}

// abort discards the body. It returns cause, and the error of discarding if that fails too.
func (e *evidence) abort(cause error) error {
	return errors.Join(cause, contract.Wrap(contract.Storage, "collector.evidence", e.upload.Abort()))
}
