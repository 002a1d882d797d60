// Package idle remembers for some seconds which shards of the frontier had nothing to lease, and which did not answer,
// so that scrapers that find little do not ask all of them each time.
package idle

import "sync"

const (
	maxEmpty  = 5000   // ms for which a shard that had nothing is not asked again
	silentFor = 30_000 // ms for one that did not answer, the time included for which it was waited for
	maxWants  = 1024   // entries of Shards
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

// pause is the time that a shard is not asked, and from when on it may have something, ms.
type pause struct{ until, again int64 }

// Left reports whether a shard need not be asked for what is wanted, in how many ms it may have something, and whether
// that is because it did not answer. now is in ms since 1970.
func (s *Shards) Left(shard int, wants string, now int64) (ms int64, idle, silent bool) {
	if s == nil {
		return 0, false, false
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, k := range [...]key{{shard, ""}, {shard, wants}} {
		p := s.pauses[k]
		if ms := p.until - now; ms > 0 && ms <= silentFor { // more when the clock went back
			return p.again - now, true, k.wants == ""
		}
	}
	return 0, false, false
}

// Silent notes that a shard did not answer.
func (s *Shards) Silent(shard int, now int64) {
	s.note(key{shard, ""}, pause{now + silentFor, now + silentFor})
}

// Empty notes that a shard has nothing of what is wanted before again, in ms since 1970.
func (s *Shards) Empty(shard int, wants string, now, again int64) {
	s.note(key{shard, wants}, pause{min(again, now+maxEmpty), again})
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
