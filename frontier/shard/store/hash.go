package store

import "github.com/newsfork/seed-engine/frontier/placement"

// Hash48 identifies a URL of a host by its path, since both schemes give the same page.
func Hash48(path string) uint64 { return placement.Hash64(path) >> 16 }

// MentionOf returns the hash by which a host remembers that pages of other domains named a URL, which is not the same
// as having had it from its own. It stands in the same part of the seen-set.
func MentionOf(hash uint64) uint64 { return hash ^ 1 }

// idMask keeps ids to 40 bits: with 12 bits for the part a key has 52, and JavaScript has 53.
const idMask = 1<<40 - 1
