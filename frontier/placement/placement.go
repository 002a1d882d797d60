// Package placement says where the frontier keeps what: the shard of a domain, and the hashes by which shards find
// names.
package placement

// Hash64 is FNV-1a with a finishing mix, so that its upper bits are as good as its lower ones. It is
// part of what is stored: a change makes all known URLs and every id wrong.
func Hash64(s string) uint64 {
	h := uint64(14695981039346656037)
	for i := range len(s) {
		h = (h ^ uint64(s[i])) * 1099511628211
	}
	h ^= h >> 32
	h *= 0xd6e8feb86659fd93
	return h ^ h>>32
}

// ShardOf chooses the shard of a registrable domain by rendezvous hashing: the shard whose number
// gives the highest hash with it. From n to n+1 shards one domain in n+1 moves, to the new shard.
func ShardOf(domain string, shards int) int {
	base := Hash64(domain)
	best, most := 0, uint64(0)
	for n := range shards {
		h := mix(base + uint64(n+1)*0x9e3779b97f4a7c15)
		if n == 0 || h > most {
			best, most = n, h
		}
	}
	return best
}

// mix is the finalizer of splitmix64.
func mix(h uint64) uint64 {
	h = (h ^ h>>30) * 0xbf58476d1ce4e5b9
	h = (h ^ h>>27) * 0x94d049bb133111eb
	return h ^ h>>31
}
