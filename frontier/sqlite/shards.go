package sqlite

import (
	"context"
	"errors"
	"sync"

	"github.com/newsfork/seed-engine/epoch"
	"github.com/newsfork/seed-engine/frontier/shard"
)

// Shards is a frontier of shards in memory, for tests of what calls it. A shard is made when it is first
// called. The caller closes them.
type Shards struct {
	// Fail, when set, is asked before every call: with an error the call is not done, and fails with it.
	Fail     func(shard, operation string) error
	Settings shard.Settings

	mu    sync.Mutex
	open  map[string]*DB
	calls map[string]int // by operation
}

var errRefused = errors.New("the answer is an error")

// Call implements client.Caller.
func (s *Shards) Call(_ context.Context, name, operation string, request []byte) ([]byte, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.calls == nil {
		s.open, s.calls = map[string]*DB{}, map[string]int{}
	}
	s.calls[operation]++
	if s.Fail != nil {
		if err := s.Fail(name, operation); err != nil {
			return nil, err
		}
	}
	db := s.open[name]
	if db == nil {
		var err error
		if db, err = Open(); err != nil {
			return nil, err
		}
		s.open[name] = db
	}
	sh := shard.Shard{DB: db, Settings: s.Settings}
	var answer shard.Answer
	err := db.Transaction(func() error {
		if answer = sh.Serve(epoch.Now(), operation, request); !answer.OK {
			return errRefused
		}
		return nil
	})
	if errors.Is(err, errRefused) {
		err = nil
	}
	return answer.Text, err
}

// Calls returns the number of calls of an operation, failed ones included.
func (s *Shards) Calls(operation string) int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.calls[operation]
}

// Written is the number of rows all shards wrote so far.
func (s *Shards) Written() (rows int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, db := range s.open {
		rows += db.Written
	}
	return rows
}

// Close frees the databases.
func (s *Shards) Close() {
	for _, db := range s.open {
		db.Close()
	}
}
