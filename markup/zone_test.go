package markup

import (
	"slices"
	"strings"
	"testing"
	"time"
	_ "time/tzdata"
)

// The rules are those of the zone database, hour by hour around all changes of two years.
func TestZone(t *testing.T) {
	var names []string
	for line := range strings.Lines(zoneRules) {
		names = append(names, strings.Fields(line)[1:]...)
	}
	for i, name := range names {
		if slices.Contains(names[:i], name) {
			t.Errorf("%s is there twice", name)
		}
		want, err := time.LoadLocation(name)
		if err != nil {
			t.Fatal(err)
		}
		got, ok := Zone(name)
		if !ok {
			t.Errorf("%s cannot be read", name)
			continue
		}
		for at := time.Date(2025, 1, 1, 0, 30, 0, 0, time.UTC); at.Year() < 2027; at = at.Add(time.Hour) {
			_, a := at.In(want).Zone()
			if _, b := at.In(got).Zone(); a != b {
				t.Errorf("%s: %d seconds ahead at %s, not %d", name, b, at, a)
				break
			}
		}
	}
	if _, ok := Zone("Asia/Nowhere"); ok {
		t.Error("a zone that does not exist")
	}
}

func TestCountryZone(t *testing.T) {
	words := strings.Fields(countries)
	for i := 0; i+1 < len(words); i += 2 {
		if CountryZone("a."+words[i]) == nil {
			t.Errorf("%s: there is no zone %s", words[i], words[i+1])
		}
	}
	for host, want := range map[string]string{"www.moe.go.kr": "Asia/Seoul", "NEWS.CO.UK": "Europe/London",
		"example.jp.": "Asia/Tokyo", "example.com": "", "example.us": "", "example.ai": "", "": "",
		"kr.example.org": ""} {
		got := ""
		if zone := CountryZone(host); zone != nil {
			got = zone.String()
		}
		if got != want {
			t.Errorf("%q is in %q, not %q", host, got, want)
		}
	}
}

func TestParseDateIn(t *testing.T) {
	seoul, _ := Zone("Asia/Seoul")
	berlin, _ := Zone("Europe/Berlin")
	for _, c := range []struct {
		text string
		zone *time.Location
		want string
	}{
		{"2026-01-28 09:00:00", seoul, "2026-01-28T00:00:00Z"},
		{"2026-01-28T09:00:00", seoul, "2026-01-28T00:00:00Z"},
		{"Wed, 28 Jan 2026 09:00:00", seoul, "2026-01-28T00:00:00Z"},
		{"2026.01.28 오후", seoul, ""},
		{"2026-01-28", seoul, "2026-01-27T15:00:00Z"},
		{"20260128090000", seoul, "2026-01-28T00:00:00Z"},
		{"2026-01-28 24:00:00", seoul, "2026-01-28T15:00:00Z"},
		{"2026-07-28 09:00", berlin, "2026-07-28T07:00:00Z"},
		{"2026-01-28 09:00", berlin, "2026-01-28T08:00:00Z"},
		// These name a zone, or need none.
		{"2026-01-28T09:00:00Z", seoul, "2026-01-28T09:00:00Z"},
		{"2026-01-28 09:00:00 UTC", seoul, "2026-01-28T09:00:00Z"},
		{"Wed, 28 Jan 2026 09:00:00 GMT", seoul, "2026-01-28T09:00:00Z"},
		{"Wed, 28 Jan 2026 09:00:00 +0100", seoul, "2026-01-28T08:00:00Z"},
		{"2026-01-28T09:00:00+09:00", berlin, "2026-01-28T00:00:00Z"},
		{"1769590800", seoul, "2026-01-28T09:00:00Z"},
		{"2026-01-28 09:00:00", nil, "2026-01-28T09:00:00Z"},
	} {
		at, ok := ParseDateIn([]byte(c.text), c.zone)
		got := ""
		if ok {
			got = at.Format(time.RFC3339)
		}
		if got != c.want {
			t.Errorf("%q in %v is %q, not %q", c.text, c.zone, got, c.want)
		}
	}
}
