package discovery

import (
	"hash/fnv"
	"testing"
)

// TestKeys: keys of URLs of any length are those that were stored before.
func TestKeys(t *testing.T) {
	const url = "https://www.example.gov/news/2026/01/28/minister-opens-bridge"
	for n := range len(url) + 1 {
		f := fnv.New64a()
		f.Write([]byte(url[:n]))
		h := f.Sum64()
		h ^= h >> 32
		h *= 0x9E3779B97F4A7C15
		if want := max(h>>(64-keyBits), 1); keyOf(url[:n]) != want || keyOf([]byte(url[:n])) != want {
			t.Errorf("the key of %q is %x, not %x", url[:n], keyOf(url[:n]), want)
		}
	}
}
