package placement

import (
	"fmt"
	"testing"
)

func TestShardOf(t *testing.T) {
	const domains = 20_000
	counts, moved := make([]int, 16), 0
	for i := range domains {
		name := fmt.Sprintf("d%d.example", i)
		before, after := ShardOf(name, 16), ShardOf(name, 17)
		counts[before]++
		if before != after {
			if moved++; after != 16 {
				t.Fatalf("%s moved from %d to %d, which is not the new shard", name, before, after)
			}
		}
	}
	for shard, n := range counts {
		if n < domains/16*8/10 || n > domains/16*12/10 {
			t.Errorf("shard %d has %d of %d domains", shard, n, domains)
		}
	}
	if moved < domains/17*8/10 || moved > domains/17*12/10 {
		t.Errorf("%d of %d domains move to the 17th shard", moved, domains)
	}
	// Domains lie where this says: another answer would lose them.
	if got := ShardOf("newsfork.com", 16); got != 10 {
		t.Errorf("newsfork.com is in shard %d", got)
	}
}
