package store

import (
	"slices"

	"github.com/newsfork/seed-engine/epoch"
	"github.com/newsfork/seed-engine/frontier"
)

// What a shard announced within the last hours is counted with its other counters, in a row that is written with every
// page anyway: whoever wants to see it need not read the feed.

// countedHours is the number of hours that are counted, including the current one.
const countedHours = 24

// foundHour is a FoundHour as it is stored.
type foundHour struct {
	hour  int64 // hours since 1970
	types [maxTypes]int64
}

const hourMS = 3_600_000

func hourOf(at epoch.Millis) int64 { return int64(at / hourMS) }

// countFound counts a URL that is announced now.
func (s *State) countFound(now epoch.Millis, kind uint8) {
	hour := hourOf(now)
	s.lately = slices.DeleteFunc(s.lately, func(f foundHour) bool { return f.hour <= hour-countedHours })
	at := slices.IndexFunc(s.lately, func(f foundHour) bool { return f.hour >= hour })
	if at < 0 {
		at = len(s.lately)
	}
	if at == len(s.lately) || s.lately[at].hour > hour { // a clock may go back
		s.lately = slices.Insert(s.lately, at, foundHour{hour: hour})
	}
	s.lately[at].types[kind&(maxTypes-1)]++
}

// FoundLately lists the hours that are counted now.
func (s *State) FoundLately(now epoch.Millis) (hours []frontier.FoundHour) {
	for _, f := range s.lately {
		if f.hour <= hourOf(now)-countedHours {
			continue
		}
		h := frontier.FoundHour{Hour: epoch.Millis(f.hour * hourMS), Types: map[string]int64{}}
		for kind, n := range f.types {
			if n > 0 {
				h.Types[TypeName(uint8(kind))] += n
			}
		}
		hours = append(hours, h)
	}
	return hours
}

// appendFound encodes each hour as its number, how many types follow, and of each its number and count.
func appendFound(b []byte, hours []foundHour) []byte {
	for _, f := range hours {
		var types []byte
		some := int64(0)
		for kind, n := range f.types {
			if n > 0 {
				types = appendUint(appendUint(types, int64(kind)), n)
				some++
			}
		}
		b = append(appendUint(appendUint(b, f.hour), some), types...)
	}
	return b
}

func decodeFound(record string) (hours []foundHour, err error) {
	d := &decoder{text: record}
	for d.at < len(d.text) && d.err == nil {
		f := foundHour{hour: d.int()}
		for n := d.int(); n > 0 && d.err == nil; n-- {
			kind := d.uint() & (maxTypes - 1)
			f.types[kind] = d.int()
		}
		hours = append(hours, f)
	}
	return hours, d.err
}
