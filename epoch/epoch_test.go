package epoch

import (
	"testing"
	"time"
)

func TestMillis_Conversions(t *testing.T) {
	at := time.Date(2026, 11, 23, 7, 30, 1, 999e6, time.UTC)
	m := MillisOf(at)
	if got := m.Time(); !got.Equal(at) {
		t.Errorf("Time() = %v, want %v", got, at)
	}
	if got, want := m.Seconds(), SecondsOf(at); got != want {
		t.Errorf("Seconds() = %d, want %d", got, want)
	}
	if got := Millis(-1).Seconds(); got != -1 {
		t.Errorf("the second before 1970 is %d, want -1", got)
	}
	if got := m.Add(90 * time.Second).Sub(m); got != 90*time.Second {
		t.Errorf("Add then Sub = %v", got)
	}
	if got := m.Seconds().Add(time.Minute).Sub(m.Seconds()); got != time.Minute {
		t.Errorf("seconds: Add then Sub = %v", got)
	}
	if got := m.Seconds().Millis(); got != m-999 {
		t.Errorf("Millis() = %d, want %d", got, m-999)
	}
}

func TestMillis_ZeroIsUnset(t *testing.T) {
	if MillisOf(time.Time{}) != 0 || SecondsOf(time.Time{}) != 0 {
		t.Error("the zero time is not 0")
	}
	if !Millis(0).Time().IsZero() || !Seconds(0).Time().IsZero() {
		t.Error("0 is not the zero time")
	}
}

func TestSeconds_Day(t *testing.T) {
	for _, day := range []int64{0, 1, 20_000} {
		first := StartOf(day)
		if first.Day() != day || first.Add(Day-time.Second).Day() != day || first.Add(Day).Day() != day+1 {
			t.Errorf("day %d begins at %d", day, first)
		}
	}
}
