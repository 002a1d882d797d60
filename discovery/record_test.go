package discovery

import (
	"hash/fnv"
	"slices"
	"testing"
)

// TestKeyOf: keys of URLs of any length are those that were stored before.
func TestKeyOf(t *testing.T) {
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

// TestSeen_CraftedKeys: keys chosen so that they agree in their lowest or highest bits, as a hostile sitemap could
// have them, do not gather in one place of the table. Some of the random factors spread some keys badly, so the median
// of several tables counts.
func TestSeen_CraftedKeys(t *testing.T) {
	const n = 20_000
	for name, key := range map[string]func(i uint64) uint64{
		"lowest":  func(i uint64) uint64 { return i << 20 },
		"highest": func(i uint64) uint64 { return i },
		"middle":  func(i uint64) uint64 { return i<<40&(1<<keyBits-1) | i>>8 | 1 },
	} {
		var averages []int
		for range 9 {
			var s seen
			for i := range uint64(n) {
				if s.find(key(i+1)) == nil {
					s.put(key(i+1), record{})
				}
			}
			mask, steps := len(s.keys)-1, 0
			for i, k := range s.keys {
				if k != 0 {
					steps += (i - int(k*s.factor>>s.shift)) & mask
				}
			}
			averages = append(averages, steps/s.count)
		}
		slices.Sort(averages)
		if median := averages[len(averages)/2]; median >= 20 {
			t.Errorf("%s: look-ups take %d steps on average", name, averages)
		}
	}
}
