// Package idle remembers for some seconds which shards of the frontier had nothing to lease, and which did not answer,
// so that scrapers that find little do not ask all of them each time.
package idle

import (
	"sync"
	"time"

	"github.com/newsfork/seed-engine/epoch"
)

const (
	maxEmpty  = 5 * time.Second  // for which a shard that had nothing is not asked again
	silentFor = 30 * time.Second // for one that did not answer, the time included for which it was waited for
	maxWants  = 1024             // entries of Shards
)

// Shards is the memory of one process: what another put meanwhile is found when the seconds are over. The zero value
// is ready, and nil remembers nothing. It is safe for concurrent use.
type Shards struct {
	mu     sync.Mutex
	pauses map[key]pause
}

// key is a shard and what was wanted of it; "" stands for everything.
type key struct {
	shard int
	wants string
}

// pause is the time that a shard is not asked, and from when on it may have something.
type pause struct{ until, again epoch.Millis }

// Left reports whether a shard need not be asked for what is wanted, after which time it may have something, and
// whether that is because it did not answer.
func (s *Shards) Left(shard int, wants string, now epoch.Millis) (left time.Duration, idle, silent bool) {
	if s == nil {
		return 0, false, false
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, k := range [...]key{{shard, ""}, {shard, wants}} {
		p := s.pauses[k]
		if left := p.until.Sub(now); left > 0 && left <= silentFor { // more when the clock went back
			return p.again.Sub(now), true, k.wants == ""
		}
	}
	return 0, false, false
}

// Silent notes that a shard did not answer.
func (s *Shards) Silent(shard int, now epoch.Millis) {
	s.note(key{shard, ""}, pause{now.Add(silentFor), now.Add(silentFor)})
}

// Empty notes that a shard has nothing of what is wanted before again.
func (s *Shards) Empty(shard int, wants string, now, again epoch.Millis) {
	s.note(key{shard, wants}, pause{min(again, now.Add(maxEmpty)), again})
}

func (s *Shards) note(k key, p pause) {
	if s == nil {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.pauses == nil || len(s.pauses) >= maxWants {
		s.pauses = map[key]pause{}
	}
	s.pauses[k] = p
}

// Forget ends the pause of a shard that has new pages or free hosts.
func (s *Shards) Forget(shard int) {
	if s == nil {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	for k := range s.pauses {
		if k.shard == shard {
			delete(s.pauses, k)
		}
	}
}
