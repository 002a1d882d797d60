package store

import "github.com/newsfork/seed-engine/frontier/placement"

// Hash48 identifies a URL of a host by its path, since both schemes give the same page.
func Hash48(path string) uint64 { return placement.Hash64(path) >> 16 }

// idMask keeps ids to 40 bits: with 12 bits for the part a key has 52, and JavaScript has 53.
const idMask = 1<<40 - 1
