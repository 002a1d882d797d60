package settings

import (
	"testing"
	"time"
)

func TestLocal(t *testing.T) {
	if !Local(time.Now) {
		t.Error("this machine's clock stands still")
	}
	reads := 0
	frozen := func() time.Time { reads++; return time.Unix(1_770_000_000, 0) }
	if Local(frozen) || reads < 1000 || reads > 1_000_000 {
		t.Errorf("a clock that stands still passes for a local one, or was read %d times", reads)
	}
	slow := func() time.Time { reads++; return time.Unix(0, int64(reads)*200) } // 5,000 reads a millisecond
	if !Local(slow) {
		t.Error("a clock that moves slowly is not noticed")
	}
}
