package contract

import (
	"fmt"
	"testing"
	"time"
)

// CheckDate agrees with time.Parse on existing and non-existing days of common and leap years.
func TestCheckDate(t *testing.T) {
	same := func(s string) {
		if _, err := time.Parse(time.DateOnly, s); (err == nil) != IsDate(s) {
			t.Errorf("%q: %t, time.Parse: %v", s, IsDate(s), err)
		}
	}
	for _, year := range []int{0, 1, 4, 100, 1900, 2000, 2023, 2024, 2026, 9999} {
		for month := range 14 {
			for day := range 33 {
				same(fmt.Sprintf("%04d-%02d-%02d", year, month, day))
			}
		}
	}
	for _, s := range []string{
		"", "2026", "2026-1-28", "2026-01-28 ", " 2026-01-2", "2026/01/28", "20260-1-28", "2026-01--8", "+026-01-28",
		"2026-01-2x",
		"２０２６-01", "2026-01-28T00:00:00Z", "----------", "2026-0a-28",
	} {
		same(s)
	}
}
